{#
    A text as it may be printed: characters that would steer the terminal, turn what follows
    around or not be seen stand as escapes. Names come from whoever may name something.
#}
{% macro printable(text) -%}
    {%- set shown = namespace(text=text | string) -%}
    {%- for character in modules.re.findall(secure_datasets._steering_characters(), shown.text) | unique -%}
        {#- JSON leaves the one character beyond the printable of ASCII as it is. -#}
        {%- set escaped = '\\u007f' if character == '\x7f' else tojson(character)[1:-1] -%}
        {%- set shown.text = shown.text | replace(character, escaped) -%}
    {%- endfor -%}
    {{ return(shown.text) }}
{%- endmacro %}


{#
    Controls, line and paragraph separators, the format characters of Unicode (Cf), and those
    that are drawn as nothing (Default_Ignorable_Code_Point).
#}
{% macro _steering_characters() -%}
    {{ return(
        '[\x00-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5'
        ~ '\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb'
        ~ '\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'
    ) }}
{%- endmacro %}
