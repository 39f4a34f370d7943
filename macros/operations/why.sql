{#
    Prints why a user sees a row of a secure dataset, or an object of a tier, or why not: the
    answer in one line, then every gate with its evidence, then the masks.

    Call     dbt run-operation why --args '{user: hpark, dataset: tests, row: {test_id: 12}}'
    user     a user's id, login name or e-mail address
    dataset  the dataset, with `row`, the row by its unique key
    tier     or the tier, with `object`, the object by the tier's keys
    format   text, or json for one JSON document
#}
{% macro why(user, dataset=none, row=none, tier=none, object=none, format='text') %}
    {%- set questions, config = adapter.access_questions(), secure_datasets.secure_datasets_config() -%}
    {%- set question = questions.question({
        'user': user, 'dataset': dataset, 'row': row, 'tier': tier, 'object': object, 'format': format,
        'number_keys': secure_datasets._number_keys(dataset),
    }, config) -%}
    {% do secure_datasets.check_raw_schema() %}
    {%- set shown = 'vw_secure_dataset_' ~ question.name if question.kind == 'dataset' else config.tiers[question.name].access_view -%}
    {%- set answers, ahead = [], secure_datasets.staged_since([shown] + secure_datasets._relations_of_answer(question, config)) -%}
    {% do secure_datasets.check_built('why', ahead) %}
    {% do question.update({'shown': shown}) %}
    {%- for person in secure_datasets._people(question.user, 'why') -%}
        {%- if question.kind == 'dataset' -%}
            {%- set answer = secure_datasets._answer_about_row(question.name, question['keys'], person, config) -%}
        {%- else -%}
            {%- set answer = secure_datasets._answer_about_object(question.name, question['keys'], person, config) -%}
        {%- endif -%}
        {%- if answer.is_nowhere -%}
            {% do questions.nowhere(question, answer) %}
        {%- endif -%}
        {% do answer.update({'staged_since': ahead.tables, 'made_since': ahead.stored, 'of_before': ahead.of_before}) %}
        {% do answers.append([person, answer]) %}
    {%- endfor -%}
    {%- if format == 'json' -%}
        {{ print(questions.document(question, answers)) }}
    {%- else -%}
        {%- for person, answer in answers -%}
            {{ print('') }}
            {%- for line in questions.lines(question, person, answer) -%}
                {{ print(secure_datasets.printable(line)) }}
            {%- endfor -%}
        {%- endfor -%}
        {{ print('') }}
    {%- endif -%}
{% endmacro %}
