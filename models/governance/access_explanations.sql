{%- do secure_datasets.check_adapter() -%}
{{ adapter.access_questions().explanations(secure_datasets.secure_datasets_config(), secure_datasets.repository_tables(), ref) }}
