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


{# Controls, line and paragraph separators, and the format characters of Unicode. #}
{% macro _steering_characters() -%}
    {{ return(
        '[\x00-\x1f\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u08e2\u180e\u200b-\u200f'
        ~ '\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]'
    ) }}
{%- endmacro %}
