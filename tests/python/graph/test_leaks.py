"""Where rows leave the rules that protect them: the leak detector over a project.

dbt compiles the models and the detector's query without Spark, which the quick engine
answers.
What is proven of a single query: test_leak_proof.py.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from dbt_common.clients.jinja import get_environment
from projects import ROOT, SAMPLE
from small_project import CONFIG_FILE, documented, small_project

from secure_datasets.engines.duckdb import DuckDB, Rows
from secure_datasets.leaks import spines
from secure_datasets.leaks.audience import is_for_administrators
from secure_datasets.leaks.graph import Graph
from secure_datasets.leaks.graph import _relation as graph_relation
from secure_datasets.leaks.proof import CARRY, GROUP, OWN, UNPROVEN
from secure_datasets.leaks.python import over_relations, what_python_writes_by
from secure_datasets.leaks.texts import Texts
from secure_datasets.sql.statements import NotUnderstood

SCHEMA = "small_leaks"
CONFIG = """\
{% macro secure_datasets_config() %}
    {% set document %}
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: []}
datasets:
    jobs:
        base: all_jobs
        columns: [job_id, team_id]
        unique_key: [job_id]
        tier: team
        keys: {team_id: team_id}
    copies:
        base: pipeline_copy
        columns: [job_id, team_id]
        unique_key: [job_id]
        tier: team
        keys: {team_id: team_id}
POLICIES
    {% endset %}
    {{ return(adapter.secure_datasets().read(document, context)) }}
{% endmacro %}
"""
# A fact that only this query names, on the way to what row security restricts.
COUNTED = """\
    jobs_in_total:
        query:
            fact: counted_fact
            measures: {all_of_them: count(counted_fact.job_id)}
        columns: [all_of_them]
        unique_key: []
        visible_to: everyone
"""
HANDMADE = "".join(
    f"""\
    {name}:
        base: {base}
        columns: [job_id, team_id]
        unique_key: [job_id]
        tier: team
        keys: {{team_id: team_id}}
"""
    for name, base in {
        "asking": "base_that_asks",
        "by_command": "base_with_hooks_by_command",
        "handmade": "all_jobs",
        "calling_java": "base_that_calls_java",
        "copied_out": "base_that_is_copied_out",
        "granted": "base_that_is_granted",
        "only_text": "base_that_is_only_text",
        "writing": "base_that_writes",
        "writing_in_python": "base_that_writes_in_python",
        "versioned": "versioned",
    }.items()
)
POLICIES = """\
policies:
    - role: Auditors
      resource: jobs
      condition: job_id in (select u.user_id from {{ ref('unprotected') }} as u)
    - {role: Auditors, resource: copies.team_id, mask: "0"}
relations:
    a_fact: {kind: fact, columns: {job_id: bigint}}
    counted_fact: {kind: fact, columns: {job_id: bigint}}
    secured_dimension: {kind: dimension, columns: {job_id: bigint}}
    plain_dimension: {kind: dimension, columns: {job_id: bigint}}
    unprotected: {kind: mapping, columns: {user_id: bigint, team_id: bigint}}
row_security:
    - unique_name: jobs_of_users
      object_type: row_security
      label: Jobs of users
      dataset: unprotected
      filter_key_column: team_id
      ids_column: user_id
      id_type: user
      scope: fact
relationships:
    - from: {dataset: secured_dimension, join_columns: [job_id]}
      to: {row_security: jobs_of_users}
    - from: {dataset: counted_fact, join_columns: [job_id]}
      to: {dataset: secured_dimension}
    - from: {dataset: a_fact, join_columns: [job_id]}
      to: {dataset: plain_dimension}
"""
PER_USER = "{{ ref('vw_secure_dataset_jobs') }}"
ALL = "{{ ref('all_jobs') }}"
JOBS = "vw_secure_dataset_jobs"
VIEW = "{{ config(materialized='view') }}"
INCREMENTAL = "{{ config(materialized='incremental') }}"
MICROBATCH = (
    "{{ config(materialized='incremental', incremental_strategy='microbatch',"
    " partition_by=['user_id', 'team_id'], event_time='team_id', begin='2026-01-01',"
    " batch_size='day') }}"
)
# A spine whose length differs from day to day.
DAYS = (
    "date_spine('day', \"cast('2024-01-01' as date)\","
    " dbt.dateadd('week', 1, 'current_date'))"
)

MODELS: dict[str, str] = {
    "all_jobs": "select 1 as job_id, 2 as team_id",
    "unprotected": "select 1 as user_id, 2 as team_id",
    "team_access": "select 2 as team_id, 3 as user_id",
    JOBS: "{{ secure_datasets.secure_dataset('jobs') }}",
    # Rules of its own: the base of an entry may read any protected dataset.
    "pipeline_copy": f"select job_id, team_id from {ALL}",
    "vw_secure_dataset_copies": "{{ config(materialized='view') }}"
    "{{ secure_datasets.secure_dataset('copies') }}",
    # Row security is tied to this one; the other two are only on a way.
    "secured_dimension": f"select job_id from {ALL}",
    "plain_dimension": "select 1 as job_id",
    "a_fact": f"select job_id from {ALL}",
    "counted_fact": f"select job_id from {ALL}",
    "reads_a_counted_fact": "select job_id from {{ ref('counted_fact') }}",
    # A dataset's name is not the name of a model.
    "copies": f"select job_id from {ALL}",
    "reads_unprotected": "select 1 as a from {{ ref('unprotected') }}",
    "reads_a_seed_named_like_a_dataset": "select * from {{ ref('jobs') }}",
    "carries": f"select job_id, user_id from {PER_USER}",
    "carries_further": "select job_id, user_id from {{ ref('carries') }}",
    "carries_access": "select * from {{ ref('team_access') }}",
    "drops": f"select job_id from {PER_USER}",
    "drops_as_a_view": f"{VIEW} select job_id from {PER_USER}",
    "documents_what_it_does_not_select": f"select job_id from {PER_USER}",
    "drops_further": "select job_id from {{ ref('carries_further') }}",
    "takes_another": "select u.user_id from {{ ref('drops') }} as d"
    " inner join {{ ref('unprotected') }} as u on true",
    "only_text": "{{ config(materialized='ephemeral') }}"
    f" select job_id, 1 as user_id from {PER_USER}",
    "through_text": "select job_id, user_id from {{ ref('only_text') }}",
    "two_ways": "select c.job_id, c.user_id from {{ ref('carries') }} as c"
    " inner join {{ ref('drops') }} as d on c.job_id = d.job_id",
    "reads_base": f"select job_id from {ALL}",
    "reads_base_as_a_user": f"select job_id, user_id from {ALL}"
    " inner join {{ ref('unprotected') }} on true",
    "reads_base_beside_its_users": f"select j.job_id, j.user_id from {ALL} as a"
    f" inner join {PER_USER} as j on a.job_id = j.job_id",
    "reads_a_secured_dimension": "select job_id from {{ ref('secured_dimension') }}",
    "reads_staging": "select 1 as user_id from {{ ref('stg_users') }}",
    "reads_rejects": "select raw_id from {{ ref('rejected_rows') }}",
    "reads_paths": "select user_id from {{ ref('int_access_paths') }}",
    "reads_audit":
    "select user_id from {{ ref('vw_dataset_effective_user_permissions') }}",
    "reads_roles": "select user_id from {{ ref('vw_secure_user_roles') }}",
    "reads_the_source": "select id from {{ source('repository', 'users') }}",
    "reads_the_sample_of_the_source": "select id from {{ ref('users') }}",
    "reads_another_source": "select day from {{ source('calendar', 'days') }}",
    # Sources over relations of the project, by which nobody may call them open.
    "reads_a_model_as_a_source": "select job_id from {{ source('over', 'all_jobs') }}",
    "reads_the_model_beside_its_source": f"select job_id from {SCHEMA}.all_jobs",
    "carries_over_a_source": "select job_id, user_id from {{ source('over', 'jobs') }}",
    "reads_files_as_a_source": "select job_id from {{ source('files', 'jobs') }}",
    "reads_a_history_as_a_source": "select 1 as n from {{ source('parts', 'files') }}",
    **{
        f"asks_for_{name}": f"select {{% if {asked} %}}job_id{{% else %}}user_id"
        f"{{% endif %}} from {PER_USER}"
        for name, asked in {
            "the_command": "flags.WHICH == 'run'",
            "its_arguments": "invocation_args_dict.which == 'run'",
            "its_arguments_as_text": "'run' in tojson(invocation_args_dict)",
            "its_id": "invocation_id > 'a'",
            "its_beginning": "run_started_at.hour == 3",
            "what_is_selected": "'model.a.b' in selected_resources",
            "the_builtins": "builtins.flags.WHICH == 'run'",
            "the_context": "context['fl' ~ 'ags']['WHICH'] == 'run'",
            "a_resolver": "ref.config.args.which == 'run'",
            "the_adapter": "adapter.config.args.which == 'run'",
            "a_full_refresh": "should_full_refresh()",
            "the_clock": "modules.datetime.datetime.now().hour == 3",
            "the_day": "modules.datetime.date.today().day == 3",
            "the_clock_of_a_bound": "modules.datetime.datetime.min.now().hour == 3",
            "the_day_of_a_part": "modules.datetime.datetime(2020, 1, 1).date().today()",
            "the_clock_of_a_zone": "modules.datetime.datetime(2020, 1, 1).astimezone()"
            ".now().hour == 3",
            "its_batch": "model.batch",
            "having_a_batch": "execute and model.batch is not defined",
            "a_relation_elsewhere": "execute and defer_relation is none",
            "the_making_of_others": "execute and (graph.nodes.values()"
            " | map(attribute='created_at') | max) > 3",
            "the_threads": "target.threads > 3",
            "its_making": "model.created_at > 3",
            "a_relation": "load_relation(this) is none",
            "a_relation_of_the_adapter": "adapter.get_relation('', 's', 'n') is none",
            "rows": "execute and adapter.execute('select 1', fetch=true)",
            "rows_of_dbt": "execute and dbt.run_query('select 1')",
        }.items()
    },
    "asks_for_a_day": "{{ config(alias='of_a_day') }} select job_id, user_id,"
    " '{{ modules.datetime.date(2026, 1, 1) }}' as day"
    f" from {PER_USER}",
    "is_never_incremental": f"select job_id, user_id from {PER_USER}"
    "{% if is_incremental() or dbt.is_incremental() %} where false{% endif %}",
    "incremental_by_dbt": f"{INCREMENTAL} select job_id,"
    f" {{% if dbt.is_incremental() %}}8 as {{% endif %}}user_id from {PER_USER}",
    "writes_when_it_is_incremental": "{{ config(materialized='incremental',"
    " post_hook='{% if is_incremental() %}insert into {{ this }} select 1, 2"
    f" {{% endif %}}') }}}} select job_id, user_id from {PER_USER}",
    "may_be_disabled": "{{ config(enabled=flags.WHICH != 'compile') }}"
    f" select job_id from {PER_USER}",
    "documented_by_command": f"select job_id, user_id from {PER_USER}",
    "documented_by_a_variable": f"select job_id, user_id from {PER_USER}",
    "disabled_where_documented": f"select job_id from {PER_USER}",
    "is_disabled": f"{{{{ config(enabled=false) }}}} select job_id from {PER_USER}",
    "base_with_hooks_by_command": "{% set hook = 'create table t as select 1' %}"
    "{{ config(post_hook=hook if flags.WHICH == 'run' else []) }}"
    f" select job_id, team_id from {ALL}",
    "reads_by_name": f"select job_id from {SCHEMA}.all_jobs",
    "carries_by_name": f"select job_id, user_id from {SCHEMA}.{JOBS}",
    "reads_the_unknown": "select job_id from elsewhere.jobs",
    "reads_a_version": f"select * from {SCHEMA}_versions.{JOBS}__v1",
    "aggregates_in_a_variable": "{% set n = 'count(*)' %}"
    f"select max(user_id) as user_id, {{{{ n }}}} as n from {PER_USER}",
    "aggregates_in_a_macro":
    f"select max(user_id) as user_id, {{{{ counted() }}}} as n from {PER_USER}",
    "aggregates_by_user_in_a_macro":
    f"select user_id, {{{{ counted() }}}} as n from {PER_USER} group by user_id",
    "reads_rows_while_compiled": "{% set n = run_query('select 1') if execute %}"
    f"select user_id, 1 as n from {PER_USER}",
    "days": f"{{{{ dbt.{DAYS} }}}}",
    "days_of_each_user": f"select j.user_id, j.job_id, d.date_day from {PER_USER} as j"
    f" cross join ({{{{ {DAYS} }}}}) as d",
    "days_of_no_user": f"select j.job_id, d.date_day from {PER_USER} as j"
    f" cross join ({{{{ dbt.{DAYS} }}}}) as d",
    "days_up_to_anybody_s": "{{ dbt.date_spine('day', \"date '2026-01-01'\","
    f" '(select max(day) from {SCHEMA}.all_jobs)') }}}}",
    **{
        f"days_{name}": text.replace("DAYS", DAYS)
        + f"select {{% if days %}}job_id{{% endif %}}user_id from {PER_USER}"
        for name, text in {
            "that_are_looked_at": "{% set days = 'p5' in dbt.DAYS %}",
            "that_are_kept": "{% set kept %}{{ dbt.DAYS }}{% endset %}"
            "{% set days = 'p5' in kept %}",
            "that_are_filtered": "{% set days = false %}{{ dbt.DAYS | upper }}",
            "of_a_macro": "{% set days = 'p5' in days_of_a_macro() %}",
            "by_another_name": "{% set days = 'p5' in dbt['date_' ~ 'spine']('day',"
            " 'current_date', 'current_date') %}",
            "that_are_counted": "{% set days = dbt.get_intervals_between("
            "'current_date', 'current_date', 'day') > 5 %}",
            "that_are_left": "with d as ({{ dbt.DAYS }}) {% set days ="
            " load_result('get_intervals_between') is none %}",
        }.items()
    },
    "can_not_be_compiled": "{% if execute %}{% do exceptions.raise_compiler_error("
    f"'not so') %}}{{% endif %}} select user_id from {PER_USER}",
    "writes_in_a_hook": "{{ config(post_hook='insert into {{ this }} select job_id,"
    f" 1 from {SCHEMA}.all_jobs') }}}} select job_id, user_id from {PER_USER}",
    "writes_when_it_is_compiled": "{{ config(post_hook='{% if model.compiled_code %}"
    "insert into {{ this }} select 1, 2{% endif %}') }}"
    f" select job_id, user_id from {PER_USER}",
    # What is known only while a model runs, and is none here.
    **{
        f"writes_by_{name}": "{{ config(post_hook='{% if execute and (" + asked + ")"
        " %}insert into {{ this }} select 1, 2{% endif %}') }}"
        f" select job_id, user_id from {PER_USER}"
        for name, asked in {
            "its_text": "sql",
            "its_text_that_is_none": "sql is not none",
            "its_text_by_another_name": "compiled_code",
            "its_text_of_the_context": 'context["s" ~ "ql"] is not none',
            "its_text_of_the_builtins": 'builtins.get("s" ~ "ql") is not none',
            "its_text_in_a_template": 'render("{% raw %}{{ sql }}{% endraw %}")',
            "its_kind_of_text": "model.compiled_code is string",
            "its_having_a_text": '"compiled_code" in model',
            "the_number_of_its_parts": "model | length > 50",
            "its_configuration": "config.model.compiled_code",
            "the_graph": "graph.nodes[model.unique_id].compiled_code",
            "an_answer": '_sql_results["main"]',
        }.items()
    },
    "deletes_its_old_rows": "{{ config(post_hook='delete from {{ this }} where"
    f" job_id > 5') }}}} select job_id, user_id from {PER_USER}",
    "deletes_by_rows_of_others": "{{ config(post_hook='delete from {{ this }} where"
    f" job_id in (select job_id from {SCHEMA}.all_jobs)') }}}}"
    f" select job_id, user_id from {PER_USER}",
    "looks_after_itself": "{{ config(post_hook='analyze table {{ this }} compute"
    f" statistics') }}}} select job_id, user_id from {PER_USER}",
    # Rules hold what a model makes, and not what its hooks make beside it.
    "base_that_is_copied_out": "{{ config(post_hook='create or replace table"
    " open_jobs as select * from {{ this }}') }}"
    f" select job_id, team_id from {ALL}",
    "base_that_is_granted": "{{ config(pre_hook='analyze table {{ this }} compute"
    " statistics', post_hook='grant select on table {{ this }} to owners') }}"
    f" select job_id, team_id from {ALL}",
    "vw_secure_dataset_copied_out": "{{ config(materialized='view',"
    " post_hook='insert into open_jobs select job_id from {{ this }}') }}"
    "{{ secure_datasets.secure_dataset('copied_out') }}",
    "staging/int_user_group_memberships": "{{ config(post_hook='{% if execute %}"
    "{% do run_query(1) %}{% endif %}') }} select 1 as user_id",
    # What a template does to a database while the detector reads it.
    **{
        f"hook_{name}": f"{{{{ config({key}='{{% do adapter.{call} %}}') }}}}"
        f" select job_id, user_id from {PER_USER}"
        for name, key, call in (
            ("drops_a_relation", "pre_hook", "drop_relation(this)"),
            ("empties_a_relation", "post_hook", "truncate_relation(this)"),
            ("renames_a_relation", "post_hook", "rename_relation(this, this)"),
            ("makes_a_schema", "pre_hook", "create_schema(this)"),
            ("ends_a_run", "post_hook", "end_run([], none)"),
        )
    },
    "drops_a_schema": "{% if execute %}{% do adapter.drop_schema(this) %}{% endif %}"
    f" select job_id, user_id from {PER_USER}",
    # Without a database nobody can say which columns a relation has.
    "takes_the_columns_of_a_relation": "select {% for column in"
    " (adapter.get_columns_in_relation(ref('all_jobs')) if not execute else []) %}"
    f"{{{{ column.name }}}},{{% endfor %}} job_id, user_id from {PER_USER}",
    "base_that_is_only_text": "{{ config(materialized='ephemeral') }}"
    " select day as job_id, day as team_id from {{ source('calendar', 'days') }}",
    "vw_secure_dataset_only_text": f"{VIEW}"
    "{{ secure_datasets.secure_dataset('only_text') }}",
    # It asks for rows, and for the command, but writes none whatever the command is.
    "base_that_asks": "{% set asked %}select max(job_id) as n from"
    " {{ ref('all_jobs') }}{% endset %}"
    "{% set n = run_query(asked) if flags.WHICH == 'run' %}"
    "{% if is_incremental() %}{% endif %}"
    f" select job_id, team_id from {ALL}",
    "base_that_calls_java": "select job_id, reflect('a', 'b', team_id) as team_id"
    f" from {ALL}",
    "base_that_writes": "{% if execute %}{% do run_query('create table open_jobs as"
    f" select 1') %}}{{% endif %}} select job_id, team_id from {ALL}",
    "reads_the_leaks": "select {% if secure_datasets.find_leaks() %}job_id"
    f"{{% else %}}user_id{{% endif %}} from {PER_USER}",
    "versioned_v1": "select 1 as job_id, 2 as team_id",
    "versioned_v2": "select 1 as job_id, 2 as team_id",
    "reads_the_old_version": "select job_id from {{ ref('versioned', v=1) }}",
    "daily_v1": f"select job_id from {PER_USER}",
    "daily_v2": f"select job_id from {PER_USER}",
    **{
        f"merges_by_{name}": "{{ config(materialized='incremental',"
        f" incremental_strategy='merge', unique_key=['user_id'], {setting}) }}}}"
        f" select job_id, user_id from {PER_USER}"
        for name, setting in {
            "an_old_key": "predicates=['job_id > (select max(job_id) from s.t)']",
            "either": "incremental_predicates=['job_id > 5 or job_id is null']",
            "a_comment": "incremental_predicates=['job_id > 5 --']",
            "either_in_brackets": "incremental_predicates=['(job_id > 5 or true)']",
        }.items()
    },
    "merges_by_a_key_with_more": "{{ config(materialized='incremental',"
    " unique_key=['user_id', 'job_id = 1 or 1']) }}"
    f" select job_id, user_id from {PER_USER}",
    "clusters_by_a_limit": "{{ config(materialized='published_view',"
    f" cluster_by=['job_id limit 5']) }}}} select job_id, user_id from {PER_USER}",
    "clusters_by_a_column": "{{ config(materialized='published_view',"
    f" cluster_by=['job_id']) }}}} select job_id, user_id from {PER_USER}",
    "narrows_by_rows_of_all": f"{{{{ config(materialized='view', narrowing="
    "{'unique_key': ['job_id'], 'rows_from': [], 'masks': {'job_id':"
    " '(select max(job_id) from s.t)'}}) }}"
    f" select job_id, user_id from {PER_USER}",
    **{
        f"configured_by_{name}": f"{{{{ config(tags=['a'] if {asked} else []) }}}}"
        f" select job_id, user_id from {PER_USER}"
        for name, asked in {
            "the_context": "context['fl' ~ 'ags'].WHICH == 'run'",
            "the_builtins": "builtins['flags'].WHICH == 'run'",
            "the_adapter": "adapter.config.args.which == 'run'",
            "a_dispatched_macro": "adapter.dispatch('counted')()",
            "the_clock": "modules.datetime.datetime.now().hour == 3",
            "the_clock_by_name": "modules['datetime'].date.today().day == 3",
            "a_pattern": "modules.re.match('a', 'a')",
        }.items()
    },
    "configured_by_a_variable": "{% set f = context %}{{ config(tags=['a'] if"
    " f['fl' ~ 'ags'].WHICH == 'run' else []) }}"
    f" select job_id, user_id from {PER_USER}",
    "of_chance_in_a_set": "select {{ set(['job_id', 'user_id']) | first }} from"
    f" {PER_USER}",
    "reads_the_readers_views": "select test_id from {{ source('readers', 'tests') }}",
    "reads_a_version_as_a_source": "select * from {{ source('kept', 'jobs') }}",
    "reads_a_version_of_another": "select * from {{ source('another', 'jobs') }}",
    "reads_a_past_state": "select * from {{ source('past', 'jobs') }}",
    "reads_what_changed": "select * from {{ source('changed', 'jobs') }}",
    "incremental": f"{INCREMENTAL} select job_id, user_id from {PER_USER}"
    "{% if is_incremental() %} where job_id > 1{% endif %}",
    "incremental_over_all": f"{INCREMENTAL} select job_id, user_id from {PER_USER}"
    "{% if is_incremental() %} where job_id >"
    " (select max(job_id) from {{ this }}){% endif %}",
    "incremental_by_user":
    f"{INCREMENTAL} select j.job_id, j.user_id from {PER_USER} as j"
    "{% if is_incremental() %} where j.job_id > (select max(t.job_id)"
    " from {{ this }} as t where t.user_id = j.user_id){% endif %}",
    "incremental_by_a_key":
    "{{ config(materialized='incremental', unique_key='job_id') }}"
    f" select job_id, user_id from {PER_USER}",
    "incremental_by_a_key_of_the_user": "{{ config(materialized='incremental',"
    " unique_key=['user_id', 'job_id']) }}"
    f" select job_id, user_id from {PER_USER}",
    "overwrites_parts_of_all": "{{ config(materialized='incremental',"
    " incremental_strategy='insert_overwrite', partition_by=['team_id']) }}"
    f" select job_id, user_id, team_id from {PER_USER}",
    "overwrites_batches_of_all": "{{ config(materialized='incremental',"
    " incremental_strategy='microbatch', partition_by=['team_id'],"
    " event_time='team_id', begin='2026-01-01', batch_size='day') }}"
    f" select job_id, user_id, team_id from {PER_USER}",
    "timed": "{{ config(materialized='view', event_time='team_id') }}"
    f" select job_id, user_id, team_id from {PER_USER}",
    "timed_by_rows_of_all": "{{ config(materialized='view',"
    " event_time='(select max(job_id) from s.t)') }}"
    f" select job_id, user_id from {PER_USER}",
    "reads_a_batch": f"{MICROBATCH} select job_id, user_id, team_id"
    " from {{ ref('timed') }}",
    # In a batch `timed` has another name, and both sides are the outer row's.
    "reads_a_batch_by_a_name": f"{MICROBATCH} select a.job_id, a.user_id, a.team_id,"
    " (select max(job_id) from {{ ref('timed') }} where timed.user_id = a.user_id) as n"
    f" from {PER_USER} as a inner join {PER_USER} as timed"
    " on timed.user_id = a.user_id",
    "reads_a_timed_source": "select job_id from {{ source('calendar', 'timed_days') }}",
    "takes_the_flag_by_place": f"select job_id, user_id from {PER_USER} union all"
    " select * from {{ ref('shown_in_time') }}",
    "shown_in_time": "{{ config(in_time='is_live') }}"
    f" select job_id, user_id from {PER_USER}",
    "merges_by_what_others_have": "{{ config(materialized='incremental',"
    " incremental_predicates=['job_id > (select max(a.job_id) from s.t as a)']) }}"
    f" select job_id, user_id from {PER_USER}",
    # Spark puts the columns of folders last.
    "in_folders": "{{ config(materialized='table', partition_by=['team_id']) }}"
    f" select job_id, team_id, user_id from {PER_USER}",
    "takes_folders_by_place": "select * from {{ ref('in_folders') }}"
    f" union all select job_id, team_id, user_id from {PER_USER}",
    "takes_folders_by_name": "select job_id, user_id from {{ ref('in_folders') }}",
    "of_chance": "select {{ ['job_id', 'user_id'] | random }} from"
    f" {PER_USER}",
    "of_chance_in_words": f"select '{{{{ lipsum() }}}}' as said from {PER_USER}",
    "asks_for_a_relation_by_an_old_name": "select {% if adapter.already_exists('a',"
    f" 'b') %}}job_id{{% else %}}user_id{{% endif %}} from {PER_USER}",
    "materialized_unlike_others": "{{ config(materialized='anything') }}"
    f" select job_id, user_id from {PER_USER}",
    "has_a_header": "{{ config(sql_header='create temporary function upper as 1') }}"
    f" select user_id from {PER_USER}",
    # A secure dataset that somebody wrote by hand; those that read it trust it.
    "vw_secure_dataset_handmade": f"select job_id, team_id, 1 as user_id from {ALL}",
    "carries_the_handmade": "select * from {{ ref('vw_secure_dataset_handmade') }}",
    "fails_in_a_macro": "{{ 1 / (0 if execute else 1) }}"
    f" select user_id from {PER_USER}",
    "incremental_and_open": f"{INCREMENTAL} select team_id"
    " from {{ ref('unprotected') }}{% if is_incremental() %} where team_id >"
    " (select max(team_id) from {{ this }}){% endif %}",
    # The folder of the secure datasets excuses nothing.
    "secure/beside_the_datasets": "{{ config(contract={'enforced': false}) }}"
    f" select 1 as user_id, job_id from {ALL}",
    # The product's own, for administrators, whatever they read.
    **dict.fromkeys(
        (
            *("staging/stg_users", "staging/rejected_rows", "staging/int_access_paths"),
            *("staging/user_role_names", "staging/vw_secure_user_roles"),
        ),
        f"select 1 as user_id, 1 as raw_id from {ALL}",
    ),
    "access/vw_dataset_effective_user_permissions": f"select 1 as user_id from {ALL}",
}  # fmt: skip
PYTHON = """\
def model(dbt, session):
    dbt.config(materialized="published_view")
    rows = dbt.ref("vw_secure_dataset_jobs")
    return {}
"""
# Some of these carry user_id through, some don't: of none is it proven.
PYTHON_MODELS = {
    "python_that_carries": "rows",
    "python_constant": 'rows.withColumn("user_id", F.lit(8))',
    "python_select_expr": 'rows.selectExpr("max(user_id) as user_id")',
    "python_sql": 'session.sql("select 8 as user_id from small_leaks.all_jobs")',
    "python_table": 'session.table("small_leaks.all_jobs")',
    "python_pandas": "rows.toPandas()",
    "python_window": 'rows.withColumn("n", F.sum("a").over(Window.orderBy("a")))',
    "python_duplicates": 'rows.dropDuplicates(["job_id"])',
}
WITHOUT_REF = """\
def model(dbt, session):
    dbt.config(materialized="published_view")
    return {}
"""
PYTHON_WITHOUT_REF = WITHOUT_REF.format('session.table("small_leaks.all_jobs")')
# What reads nothing protected, and what hides what it reads.
PYTHON_OVER_OPEN_ROWS = {
    "python_over_open_rows": 'dbt.ref("unprotected").groupBy("team_id").count()',
    "python_over_a_source": 'dbt.source("calendar", "days").where("day > 1")',
    "python_of_itself": 'session.createDataFrame([(1,)], "a bigint")',
    "python_by_an_open_name": 'session.table("small_leaks.unprotected")',
    "python_in_an_open_text": "session.sql("
    '"with a as (select 1 as b) select * from a, small_leaks.unprotected")',
}
PYTHON_THAT_HIDES = {
    "python_of_a_variable": "session.table('small_leaks.' + 'all_jobs')",
    "python_of_a_session": "getattr(session, 'ta' + 'ble')('small_leaks.all_jobs')",
    "python_of_another_session": "dbt.ref('unprotected').sparkSession._jsparkSession",
    "python_of_a_file": "session.createDataFrame([(open('a').read(),)])",
    "python_of_a_schema_unknown": 'session.table("all_jobs")',
    "python_of_a_relation_unknown": 'session.table("elsewhere.all_jobs")',
    "python_of_pandas_over_spark": "dbt.ref('unprotected').pandas_api()"
    ".query('(select max(job_id) from small_leaks.all_jobs) > 3').to_spark()",
    "python_of_a_text_of_pandas": "dbt.ref('unprotected').toPandas()"
    ".query('@session.table(1).count() > 3', engine='python')",
    "python_of_a_text_of_pandas_itself": "dbt.ref('unprotected').toPandas()"
    ".eval('@session.table(1).count()')",
    "python_of_a_view_that_is_dropped": """(
        dbt.ref('unprotected').createOrReplaceTempView('all_jobs'),
        session.catalog.dropTempView('all_jobs'),
        session.table('all_jobs'),
    )[2]""",
    "python_of_a_view_made_too_late": """[
        session.table('all_jobs'),
        dbt.ref('unprotected').createOrReplaceTempView('all_jobs'),
    ][0]""",
    "python_of_another_session_s_view": "[dbt.ref('unprotected')"
    ".createOrReplaceTempView('all_jobs'), session.newSession().table('all_jobs')][1]",
    "python_of_a_global_view": "[dbt.ref('unprotected')"
    ".createGlobalTempView('all_jobs'), session.table('all_jobs')][1]",
    "python_that_changes_the_session": "session.conf.set("
    "'spark.sql.legacy.ctePrecedencePolicy', 'LEGACY') or dbt.ref('unprotected')",
    "python_that_passes_over_files": "session.conf.set("
    "'spark.sql.files.ignoreMissingFiles', 'true') or dbt.ref('unprotected')",
    "python_that_registers_a_function": "session.udf.register('upper', str)"
    " and dbt.ref('unprotected')",
    "python_that_executes": "exec('session.tab' + 'le(1)') or dbt.ref('unprotected')",
}
SNAPSHOT = """\
{% snapshot a_snapshot %}
{{ config(unique_key='job_id', strategy='check', check_cols='all') }}
select job_id from {{ ref('vw_secure_dataset_jobs') }}
{% endsnapshot %}
{% snapshot a_snapshot_by_all %}
{{ config(unique_key=['user_id', 'job_id'], strategy='check', check_cols='all',
          updated_at='max(job_id) over ()') }}
select job_id, user_id from {{ ref('vw_secure_dataset_jobs') }}
{% endsnapshot %}
{% snapshot a_snapshot_by_user %}
{{ config(unique_key=['user_id', 'job_id'], strategy='timestamp',
          updated_at='cast(team_id as timestamp)',
          dbt_valid_to_current="to_date('9999-12-31')") }}
select job_id, team_id, user_id from {{ ref('vw_secure_dataset_jobs') }}
{% endsnapshot %}
{% snapshot a_snapshot_in_another_way %}
{{ config(unique_key=['user_id', 'job_id'], strategy='mine') }}
select job_id, user_id from {{ ref('vw_secure_dataset_jobs') }}
{% endsnapshot %}
"""
PYTHON_OVER_SOURCES = {
    "python_over_a_model_as_a_source": 'dbt.source("over", "all_jobs")',
}
# A base of a dataset.
PYTHON_THAT_WRITES = PYTHON_WITHOUT_REF.replace(
    "return", "dbt.ref('all_jobs').write.saveAsTable('open_jobs')\n    return"
)
# What the product makes outside of dbt's graph, declared as sources: its tables.
OWN_RELATIONS = {
    "readers": (f"{SCHEMA}_readers", {"name": "tests"}),
    "kept": (f"{SCHEMA.upper()}_VERSIONS", {"name": "jobs", "identifier": "stg__v1"}),
    "another": (
        "prod_versions",
        {"name": "jobs", "identifier": "jobs__v20260102030405_0123abcd"},
    ),
    "past": ("prod_as_of_20260501_000000", {"name": "jobs"}),
    "changed": ("access_changes_a_to_b", {"name": "jobs"}),
}
TIMED = {"name": "timed_days", "config": {"event_time": "(select 1 from s.t)"}}
SOURCES = {
    "sources": [
        {"name": "repository", "schema": "raw", "tables": [{"name": "users"}]},
        {"name": "calendar", "schema": "calendar", "tables": [{"name": "days"}, TIMED]},
        {
            "name": "by_command",
            "schema": "{{ 'a' if flags.WHICH == 'compile' else 'b' }}",
            "tables": [{"name": "rows_by_command"}],
        },
        *(
            {"name": name, "schema": schema, "tables": [table]}
            for name, (schema, table) in OWN_RELATIONS.items()
        ),
        {
            "name": "over",
            "schema": SCHEMA,
            "tables": [{"name": "all_jobs"}, {"name": "jobs", "identifier": JOBS}],
        },
        {
            "name": "files",
            "schema": "parquet",
            "tables": [{"name": "jobs", "identifier": f"`/data/{SCHEMA}/all_jobs`"}],
        },
        {
            "name": "parts",
            "schema": f"{SCHEMA}.all_jobs",
            "tables": [{"name": "files"}],
        },
    ]
}
# A seed has its hooks from YAML.
SEEDS = {
    "seeds": [
        {"name": name, "config": {"post_hook": hook}}
        for name, hook in {
            "jobs": "grant select on table {{ this }} to owners",
            "copied_out_seed": "create table open_jobs as select * from all_jobs",
        }.items()
    ]
}
FUNCTIONS = {
    "functions": [
        {
            "name": f"function_{name}",
            "config": config,
            "arguments": [{"name": "a", "data_type": "int"}],
            "returns": {"data_type": "int"},
        }
        for name, config in {
            "of_a_hook": {"post_hook": "create table open_jobs as select 1"},
            "of_a_grant": {"post_hook": "grant select on table a to owners"},
            "of_the_command": {},
        }.items()
    ]
}
# Data tests by name. What one of them finds is stored where its config says so.
TESTS = {
    "assert_and_store": "{{ config(store_failures=true) }}"
    f" select job_id from {PER_USER}",
    "assert_and_store_of_all": "{{ config(store_failures_as='view') }}"
    f" select job_id from {ALL}",
    "assert_and_store_by_user": "{{ config(store_failures=true) }}"
    f" select job_id, user_id from {PER_USER}",
    "assert_and_store_some": "{{ config(store_failures=true, limit=10) }}"
    f" select job_id, user_id from {PER_USER}",
    "assert_and_store_nothing": f"select job_id from {PER_USER}",
}
STORED_TEST = {"name": "stored_test", "config": {"store_failures": True}}
DOCUMENTED = {
    "models": [
        {"name": name, "columns": [{"name": "job_id"}, {"name": "user_id"}]}
        for name in ("documents_what_it_does_not_select",)
    ]
    + [
        {
            "name": "all_jobs",
            "data_tests": [
                {"unique": STORED_TEST | {"arguments": {"column_name": "job_id"}}}
            ],
        },
        {
            "name": "documented_by_command",
            "config": {
                "materialized": "{{ 'view' if flags.WHICH == 'compile' else 'table' }}"
            },
            "data_tests": [
                {"unique": {"arguments": {"column_name": "{{ flags.WHICH }}"}}}
            ],
        },
        {
            "name": "disabled_where_documented",
            "config": {"enabled": "{{ flags.WHICH != 'compile' }}"},
        },
        {
            "name": "documented_by_a_variable",
            "config": {"materialized": "{{ var('a_variable', 'view') }}"},
        },
        {
            "name": "int_user_group_ancestors",
            "config": {"post_hook": "grant select on table {{ this }} to owners"},
        },
        *(
            {"name": name, "latest_version": 2, "versions": [{"v": 1}, {"v": 2}]}
            for name in ("versioned", "daily")
        ),
    ]
}
# The findings of each model: rule, path, and what its problem says.
ALL_USERS = "reads the rows of all users"
NO_USER = "user_id is not among its columns"
PYTHON_MODEL = "it is a Python model"


def over(name: str, model: str, *between: str) -> str:
    """Return a path."""
    return " > ".join((name, *between, model))


EXPECTED: dict[str, set[tuple[str, str, str]]] = {
    **{
        name: set()
        for name in (
            *("reads_unprotected", "carries", "carries_further", "pipeline_copy"),
            *("vw_secure_dataset_copies", "reads_another_source", "only_text"),
            *("carries_access", "carries_by_name", "looks_after_itself"),
            *("carries_over_a_source", "counted_fact", "asks_for_a_day"),
            *("is_never_incremental", "is_disabled", *PYTHON_OVER_OPEN_ROWS),
            *("incremental", "incremental_by_user", "incremental_and_open"),
            "incremental_by_a_key_of_the_user",
            *("aggregates_by_user_in_a_macro", "secured_dimension", JOBS),
            *("reads_a_seed_named_like_a_dataset", "stg_users", "rejected_rows"),
            *("int_access_paths", "vw_dataset_effective_user_permissions"),
            *("base_that_is_granted", "int_user_group_ancestors"),
            *("in_folders", "takes_folders_by_name", "a_snapshot_by_user"),
            *("assert_and_store_by_user", "assert_and_store_nothing"),
            *("takes_the_columns_of_a_relation", "vw_secure_dataset_only_text"),
            *("merges_by_either_in_brackets", "clusters_by_a_column"),
            *("versioned.v1", "versioned.v2", "function_of_a_grant"),
            *("configured_by_a_dispatched_macro", "configured_by_a_pattern"),
            *("base_that_asks", "documented_by_a_variable"),
            *("days", "days_of_each_user", "deletes_its_old_rows"),
            *("timed", "reads_a_batch", "shown_in_time"),
        )
    },
    **{
        f"hook_{name}": {
            (UNPROVEN, over(JOBS, f"hook_{name}"), "its hook may write rows: its text")
        }
        for name in (
            *("drops_a_relation", "empties_a_relation", "renames_a_relation"),
            *("makes_a_schema", "ends_a_run"),
        )
    },
    "timed_by_rows_of_all": {
        (UNPROVEN, over(JOBS, "timed_by_rows_of_all"), "configuration event_time may")
    },
    "reads_a_batch_by_a_name": {
        (GROUP, over(JOBS, "reads_a_batch_by_a_name"), "a subquery reads the rows")
    },
    "timed_days": {(UNPROVEN, "unknown > timed_days", "configuration event_time may")},
    "reads_a_timed_source": {
        (UNPROVEN, "unknown > timed_days > reads_a_timed_source", "")
    },
    "takes_the_flag_by_place": {
        (UNPROVEN, over(JOBS, "takes_the_flag_by_place"), "the columns of a branch")
    },
    **{
        name: {(UNPROVEN, over(JOBS, name), "its text depends on the command")}
        for name in MODELS
        if name.startswith("writes_by_")
    },
    **{
        f"asks_for_{name}": {
            (UNPROVEN, over(JOBS, f"asks_for_{name}"), f"the command: {said}")
        }
        for name, said in {
            "having_a_batch": "model.batch",
            "a_relation_elsewhere": "defer_relation",
            "the_making_of_others": "graph.created_at",
            "the_threads": "target.threads",
        }.items()
    },
    "drops_a_schema": {
        (UNPROVEN, over(JOBS, "drops_a_schema"), "its text calls adapter.drop_schema")
    },
    "base_that_is_only_text": {(UNPROVEN, "base_that_is_only_text", "it is ephemeral")},
    "base_that_calls_java": {
        (UNPROVEN, "base_that_calls_java", "it may write rows elsewhere: reflect(")
    },
    "base_that_writes": {(UNPROVEN, "base_that_writes", "its text is made of rows")},
    "base_that_writes_in_python": {
        (UNPROVEN, "base_that_writes_in_python", "it may write rows elsewhere")
    },
    "deletes_by_rows_of_others": {
        (UNPROVEN, over(JOBS, "deletes_by_rows_of_others"), "its hook may write rows")
    },
    "days_of_no_user": {(CARRY, over(JOBS, "days_of_no_user"), NO_USER)},
    "days_up_to_anybody_s": {
        (UNPROVEN, "unknown > days_up_to_anybody_s", "its text is made of rows")
    },
    **{
        f"days_{name}": {
            (UNPROVEN, over(JOBS, f"days_{name}"), "its text is made of rows")
        }
        for name in (
            *("that_are_looked_at", "that_are_kept", "that_are_filtered"),
            *("of_a_macro", "by_another_name", "that_are_counted", "that_are_left"),
        )
    },
    "reads_the_leaks": {
        (UNPROVEN, over(JOBS, "reads_the_leaks"), "its text calls adapter.find_leaks")
    },
    "reads_the_old_version": {
        (OWN, over("versioned.v1", "reads_the_old_version"), ALL_USERS)
    },
    **{name: {(CARRY, over(JOBS, name), NO_USER)} for name in ("daily.v1", "daily.v2")},
    "merges_by_a_key_with_more": {
        (GROUP, over(JOBS, "merges_by_a_key_with_more"), "rows are replaced by")
    },
    **{
        f"configured_by_{name}": {
            (UNPROVEN, over(JOBS, f"configured_by_{name}"), "its configuration depends")
        }
        for name in (
            *("the_context", "the_builtins", "the_adapter", "a_variable"),
            *("the_clock", "the_clock_by_name"),
        )
    },
    "a_snapshot_in_another_way": {
        (UNPROVEN, over(JOBS, "a_snapshot_in_another_way"), "its strategy mine is not")
    },
    "function_of_a_hook": {
        (UNPROVEN, "unknown > function_of_a_hook", "its hook may write rows: create")
    },
    "function_of_the_command": {
        (UNPROVEN, "unknown > function_of_the_command", "its configuration depends")
    },
    "python_over_a_model_as_a_source": {
        (UNPROVEN, over("all_jobs", "python_over_a_model_as_a_source"), PYTHON_MODEL)
    },
    **{
        name: {(UNPROVEN, name, f"its hook may write rows: {text}")}
        for name, text in {
            "base_that_is_copied_out": "create or replace table open_jobs",
            "vw_secure_dataset_copied_out": "insert into open_jobs",
        }.items()
    },
    "beside_the_datasets": {(OWN, "all_jobs > beside_the_datasets", ALL_USERS)},
    "int_user_group_memberships": {
        (UNPROVEN, "int_user_group_memberships", "its text is made of rows")
    },
    **{
        name: {(UNPROVEN, over(JOBS, name), f"its text depends on {reason}")}
        for name, reason in {
            "asks_for_the_command": "the command: flags",
            "asks_for_its_arguments": "the command: invocation_args_dict",
            "asks_for_its_arguments_as_text": "the command: invocation_args_dict",
            "asks_for_its_id": "the command: invocation_id",
            "asks_for_its_beginning": "the command: run_started_at",
            "asks_for_what_is_selected": "the command: selected_resources",
            "asks_for_the_builtins": "the command: flags",
            "asks_for_the_context": "the command: flags",
            "asks_for_the_adapter": "the command",
            "asks_for_a_full_refresh": "the command: flags",
            "asks_for_the_clock": "the command: the time",
            "asks_for_the_day": "the command: the time",
            "asks_for_the_clock_of_a_bound": "the command: the time",
            "asks_for_the_day_of_a_part": "the command: the time",
            "asks_for_the_clock_of_a_zone": "the command: the time",
            "asks_for_its_batch": "the command: model.batch",
            "asks_for_its_making": "the command: model.created_at",
            "asks_for_a_relation": "which relations are there",
            "asks_for_a_relation_of_the_adapter": "which relations are there",
        }.items()
    },
    **{
        f"asks_for_{name}": {
            (UNPROVEN, over(JOBS, f"asks_for_{name}"), "its text is made of rows")
        }
        for name in ("rows", "rows_of_dbt")
    },
    "asks_for_a_resolver": {
        (UNPROVEN, over(JOBS, "asks_for_a_resolver"), "it can not be compiled")
    },
    "incremental_by_dbt": {
        (CARRY, over(JOBS, "incremental_by_dbt"), "8 AS user_id is not the user_id")
    },
    "writes_when_it_is_incremental": {
        (UNPROVEN, over(JOBS, "writes_when_it_is_incremental"), "its hook may write")
    },
    "writes_when_it_is_compiled": {
        (UNPROVEN, over(JOBS, "writes_when_it_is_compiled"), "its hook may write")
    },
    "documented_by_command": {
        (UNPROVEN, over(JOBS, "documented_by_command"), "its configuration depends")
    },
    "disabled_where_documented": {
        (UNPROVEN, "unknown > disabled_where_documented", "it depends on the command")
    },
    "rows_by_command": {
        (UNPROVEN, "unknown > rows_by_command", "its configuration depends")
    },
    "may_be_disabled": {
        (UNPROVEN, "unknown > may_be_disabled", "it depends on the command whether")
    },
    "base_with_hooks_by_command": {
        (UNPROVEN, "base_with_hooks_by_command", "its configuration depends on the")
    },
    **{
        name: {(UNPROVEN, f"unknown > {name}", "is no relation of this project")}
        for name in ("reads_files_as_a_source", "reads_a_history_as_a_source")
    },
    **{
        name: {(UNPROVEN, f"unknown > {name}", PYTHON_MODEL)}
        for name in PYTHON_THAT_HIDES
    },
    "copied_out_seed": {
        (UNPROVEN, "unknown > copied_out_seed", "its hook may write rows: create")
    },
    **{
        name: {(UNPROVEN, f"unknown > {name}", relation)}
        for name, relation in {
            "reads_the_readers_views": f"{SCHEMA}_readers.tests",
            "reads_a_version_as_a_source": f"{SCHEMA}_versions.stg__v1",
            "reads_a_version_of_another": "prod_versions.jobs__v20260102030405_0123",
            "reads_a_past_state": "prod_as_of_20260501_000000.jobs",
            "reads_what_changed": "access_changes_a_to_b.jobs",
        }.items()
    },
    **{
        name: {(CARRY, over(JOBS, name), NO_USER)}
        for name in (
            *("drops", "drops_as_a_view", "documents_what_it_does_not_select"),
            *("a_snapshot", "assert_and_store"),
        )
    },
    "drops_further": {
        (CARRY, over(JOBS, "drops_further", "carries", "carries_further"), NO_USER)
    },
    "takes_another": {
        (CARRY, over(JOBS, "takes_another", "drops"), f"through drops: {NO_USER}")
    },
    "through_text": {
        (CARRY, over(JOBS, "through_text"), "user_id is not the user_id of")
    },
    "two_ways": {(CARRY, over(JOBS, "two_ways", "drops"), f"through drops: {NO_USER}")},
    **{
        name: {(OWN, over(dataset, name), ALL_USERS)}
        for name, dataset in {
            "reads_base": "all_jobs",
            "assert_and_store_of_all": "all_jobs",
            "stored_test": "all_jobs",
            "vw_secure_dataset_handmade": "all_jobs",
            "reads_base_as_a_user": "all_jobs",
            "reads_base_beside_its_users": "all_jobs",
            "reads_by_name": "all_jobs",
            "a_fact": "all_jobs",
            "copies": "all_jobs",
            "reads_a_secured_dimension": "secured_dimension",
            "reads_a_counted_fact": "counted_fact",
            "reads_a_model_as_a_source": "all_jobs",
            "reads_the_model_beside_its_source": "all_jobs",
            "reads_staging": "stg_users",
            "reads_rejects": "rejected_rows",
            "reads_paths": "int_access_paths",
            "reads_audit": "vw_dataset_effective_user_permissions",
            "reads_roles": "vw_secure_user_roles",
            "reads_the_source": "users",
            "reads_the_sample_of_the_source": "users",
        }.items()
    },
    **{
        name: {(GROUP, over(JOBS, name), "an aggregate without a group by")}
        for name in ("aggregates_in_a_variable", "aggregates_in_a_macro")
    },
    "incremental_over_all": {(GROUP, over(JOBS, "incremental_over_all"), "a subquery")},
    "reads_rows_while_compiled": {
        (UNPROVEN, over(JOBS, "reads_rows_while_compiled"), "its text is made of rows")
    },
    "incremental_by_a_key": {
        (GROUP, over(JOBS, "incremental_by_a_key"), "rows are replaced by job_id")
    },
    "overwrites_parts_of_all": {
        (GROUP, over(JOBS, "overwrites_parts_of_all"), "rows are replaced by team_id")
    },
    "overwrites_batches_of_all": {
        (GROUP, over(JOBS, "overwrites_batches_of_all"), "rows are replaced by team_id")
    },
    "takes_folders_by_place": {
        (UNPROVEN, over(JOBS, "takes_folders_by_place"), "the columns of a branch")
    },
    **{
        name: {(UNPROVEN, over(JOBS, name), "the SQL of its configuration")}
        for name in (
            *(
                "merges_by_what_others_have",
                "a_snapshot_by_all",
                "merges_by_an_old_key",
            ),
            *("merges_by_either", "merges_by_a_comment", "clusters_by_a_limit"),
            "narrows_by_rows_of_all",
        )
    },
    **{
        name: {(UNPROVEN, over(JOBS, name), "its text is made by chance")}
        for name in ("of_chance", "of_chance_in_words", "of_chance_in_a_set")
    },
    "asks_for_a_relation_by_an_old_name": {
        (
            UNPROVEN,
            over(JOBS, "asks_for_a_relation_by_an_old_name"),
            "its text depends on which relations",
        )
    },
    "assert_and_store_some": {
        (GROUP, over(JOBS, "assert_and_store_some"), "a limit over the rows")
    },
    "materialized_unlike_others": {
        (UNPROVEN, over(JOBS, "materialized_unlike_others"), "its materialization")
    },
    "has_a_header": {(UNPROVEN, over(JOBS, "has_a_header"), "its sql_header")},
    "carries_the_handmade": set(),
    "fails_in_a_macro": {
        (UNPROVEN, over(JOBS, "fails_in_a_macro"), "it can not be compiled")
    },
    "can_not_be_compiled": {
        (UNPROVEN, over(JOBS, "can_not_be_compiled"), "it can not be compiled")
    },
    "writes_in_a_hook": {
        (UNPROVEN, over(JOBS, "writes_in_a_hook"), "its hook may write rows: insert")
    },
    "reads_the_unknown": {
        (UNPROVEN, "unknown > reads_the_unknown", "elsewhere.jobs is no relation")
    },
    "reads_a_version": {
        (UNPROVEN, "unknown > reads_a_version", f"{SCHEMA}_versions.{JOBS}__v1 is no")
    },
    **{
        name: {
            (UNPROVEN, over(dataset, name), PYTHON_MODEL)
            for dataset in (JOBS, "all_jobs")[: 1 + ("all_jobs" in text)]
        }
        for name, text in PYTHON_MODELS.items()
    },
    "python_without_ref": {
        (UNPROVEN, over("all_jobs", "python_without_ref"), PYTHON_MODEL)
    },
}


def test_Z4_chance_in_a_macro_that_a_macro_calls_is_found():
    def calls(*macros: str, **more: str) -> SimpleNamespace:
        return SimpleNamespace(depends_on=SimpleNamespace(macros=[*macros]), **more)

    text = "{% macro chosen() %}{{ ['a', 'b'] | random }}{% endmacro %}"
    chosen = calls(package_name="bank", macro_sql=text)
    between = calls("chosen", package_name="bank", macro_sql="{{ chosen() }}")
    graph = Graph.__new__(Graph)
    graph.manifest = SimpleNamespace(macros={"chosen": chosen, "between": between})
    model = calls("between", resource_type="model", raw_code="select 1")
    assert graph.chance(model) == "random"
    # The product's own are known.
    chosen.package_name = "secure_datasets"
    assert graph.chance(model) is None


@pytest.mark.parametrize(
    ("package", "name", "old", "new", "are_of_dbt"),
    [
        (
            "dbt_utils",
            "default__date_spine",
            "dbt.generate",
            "dbt_utils.generate",
            True,
        ),
        ("dbt_utils", "get_powers_of_two", "'dbt'", '"dbt_utils"', True),
        ("dbt_utils", "default__generate_series", "select 0", "select 8", False),
        ("dbt_utils", "default__get_intervals_between", "select", "select 1 +", False),
        ("bank", "default__date_spine", "", "", False),
        ("bank", "spark__generate_series", None, "select 1", False),
        ("bank", "spark__datediff", None, "select 1", False),
        ("bank", "statement", None, "{{ caller() }}", False),
        ("bank", "range", None, "{{ 1 }}", False),
        ("bank", "counted", None, "select 1", True),
    ],
)
def test_Z4_a_spine_of_days_is_of_dbt(parsed, package, name, old, new, are_of_dbt):
    code = f"{{% macro {name}() %}}{new}{{% endmacro %}}"
    if old is not None:
        code = parsed.macros[f"macro.dbt.{name}"].macro_sql.replace(old, new)
    macro = SimpleNamespace(
        name=name,
        package_name=package,
        macro_sql=code,
        depends_on=SimpleNamespace(macros=[]),
    )
    macros = {**parsed.macros, "macro.a": macro}
    assert spines.are_of_dbt(SimpleNamespace(macros=macros)) == are_of_dbt


@pytest.mark.parametrize(
    ("code", "are_only_printed"),
    [
        ("with d as ({{ dbt_utils.SPINE }}) select * from d", True),
        ("{% if a %}{{ dbt.SPINE }}{% else %}{{ SPINE }}{% endif %}", True),
        ("{% for a in b %}{{ dbt.SPINE }}{% endfor %}", True),
        ("{% for a in dbt.SPINE %}{{ a }}{% endfor %}", False),
        ("{{ dbt.SPINE ~ 'a' }}", False),
        ("{{ dbt.SPINE | length }}", False),
        ("{{ dbt.SPINE }}{{ 'p5' in dbt.SPINE }}", False),
        ("{{ dbt.SPINE }}{{ 'p5' in (dbt | attr('date_spine'))() }}", False),
        ("{{ dbt.SPINE }}{{ 'p5' in dbt['date_' ~ 'spine']() }}", False),
        ("{{ dbt.SPINE }}{{ 'p5' in context.dbt['date_' ~ 'spine']() }}", False),
        ("{% filter upper %}{{ dbt.SPINE }}{% endfilter %}", False),
        ("{% set a %}{{ dbt.SPINE }}{% endset %}", False),
        ("{% macro a() %}{{ dbt.SPINE }}{% endmacro %}", False),
        ("{% call a() %}{{ dbt.SPINE }}{% endcall %}", False),
        ("{% set dbt = mine %}{{ dbt.SPINE }}", False),
        ("{{ mine.SPINE }}", False),
        ("{{ dbt.SPINE }}{{ dbt.dateadd('day', 1, 'a') }}", True),
        ("{{ dbt.SPINE }}{{ 'p5' in dbt.get('date_' ~ 'spine')() }}", False),
        ("{% do dbt.update({'generate_series': mine}) %}{{ dbt.SPINE }}", False),
        ("{% for a in dbt.values() %}{{ a }}{% endfor %}{{ dbt.SPINE }}", False),
        (
            "{% for a in [1] recursive %}{% do seen.append(loop([2])) %}{{ dbt.SPINE }}"
            "{% endfor %}",
            False,
        ),
    ],
)
def test_Z4_a_spine_of_days_is_only_printed(code, are_only_printed):
    code = code.replace("SPINE", "date_spine('day', 'a', 'b')")
    assert spines.are_only_printed(code) == are_only_printed


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("{% if sql is none %}a{% endif %}", "sql"),
        ("{{ sneaky('a') }}", "compiled_code"),
        ("{{ of_a_package.sneaky('a') }}", "compiled_code"),
        ("{{ adapter.dispatch('sneaky')('a') }}", "compiled_code"),
        ("{{ harmless('a') }}{{ relation.render() }}", None),
    ],
)
def test_Z4_macros_name_what_is_known_only_while_a_model_runs(code, name):
    macros = {
        "sneaky": "{% macro sneaky(a) %}{{ compiled_code }}{% endmacro %}",
        "harmless": "{% macro harmless(sql) %}{{ sql }}{% endmacro %}",
    }
    graph = Graph.__new__(Graph)
    graph.manifest = SimpleNamespace(
        macros={
            key: SimpleNamespace(name=key, package_name="of_a_package", macro_sql=text)
            for key, text in macros.items()
        }
    )
    assert graph.running(SimpleNamespace(raw_code=code)) == name


@pytest.mark.parametrize(
    ("moment", "code", "reason"),
    [
        (
            "end",
            "{% if results %}insert into a select 1{% endif %}",
            "command: results",
        ),
        ("end", "{% for a in schemas %}{{ a }}{% endfor %}", ": schemas"),
        ("end", "{% if results is none %}insert into a select 1{% endif %}", None),
        ("end", "analyze table a compute statistics", None),
        (
            "start",
            "{% if results is not defined %}insert into a select 1{% endif %}",
            "its hook may write rows: insert",
        ),
    ],
)
def test_Z4_a_hook_of_a_run_looks_at_nothing_that_its_end_alone_knows(
    moment, code, reason
):
    node = SimpleNamespace(
        **{"resource_type": "operation", "package_name": "acme", "name": "a_hook"},
        **{"raw_code": code, "tags": [f"on-run-{moment}"], "schema": "s", "alias": "a"},
        depends_on_nodes=[],
    )
    graph = Graph.__new__(Graph)
    graph.manifest = SimpleNamespace(nodes={"hook": node}, macros={})
    graph.texts = Texts.__new__(Texts)
    graph.texts.refused = None
    graph.texts.text = lambda node, _, **context: (
        get_environment(None).from_string(node.raw_code).render(context)
    )
    found = [model.unproven for _, model in graph.hooks_of_runs()]
    assert len(found) == bool(reason)
    assert not reason or reason in found[0]


@pytest.mark.parametrize(
    ("code", "by"),
    [
        ("rows.write.saveAsTable('a')", "saveAsTable"),
        ("rows.toPandas().to_sql('a', connection)", "to_sql"),
        ("session.sql('create table a as select 1 as b')", "sql"),
        ("f = session.sql\nf('create table a as select 1 as b')", "sql"),
        ("session._jsparkSession", "session._jsparkSession"),
        ("exec('a')", "exec"),
        ("import os\nos.system('a')", "import os"),
        ("from atexit import register\n@register\ndef a(): 1", "from atexit import"),
        ("import pyspark.sql.functions as F\nF.os.system('a')", "F.os"),
        ("rows.rdd.saveAsTextFile('a')", "saveAsTextFile"),
        ("rows.rdd.pipe('a')", "rows.rdd.pipe"),
        ("rows.selectExpr(\"java_method('a', 'b', job_id)\")", "java_method("),
        ("session.sql('select `reflect` (a, b)')", "reflect` ("),
        ("functions.call_function('try_reflect', a)", "try_reflect'"),
        ("functions.expr('ref' + text)", "functions.expr("),
        ("rows.selectExpr(*texts)", "rows.selectExpr("),
        ("help('a_module')", "help"),
        ("rows.toPandas().to_html('a')", "to_html"),
        ("numpy.savez_compressed('a', rows)", "savez_compressed"),
        ("rows.mergeInto('a', condition)", "mergeInto"),
        (
            "import pyspark.sql as p\np.DataFrameWriter(rows).csv('a')",
            "DataFrameWriter",
        ),
        (
            "from pyspark.sql import DataFrameWriter as W\nW(rows).csv('a')",
            "DataFrameW",
        ),
        ("from pyspark.sql import DataFrameWriterV2 as W\nW(a, 'a').append()", "DataF"),
        ("from pyspark.sql import MergeIntoWriter as M\nM(rows, 'a', b).merge()", "M"),
        ("session.sql('select 1 as a')", None),
        ("pyspark.sql.functions.to_date('a')", None),
        ("import math\nfrom pyspark.sql import functions, types, Window", None),
    ],
)
def test_Z4_a_writer_in_a_python_model_with_rules_is_found(code, by):
    assert (what_python_writes_by(code) or "").startswith(by or "none") is bool(by)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("datasets: {{ '{}' if flags.WHICH == 'run' else 'tests: false' }}", "flags"),
        ("datasets: {{ '{}' if context['fl' ~ 'ags'] else '' }}", "context"),
        ("datasets: {{ bank.chosen() }}", "invocation_id"),
        ("datasets: {{ adapter.dispatch('chosen', 'bank')() }}", "invocation_id"),
        ("datasets: {{ '{}' if var('strict', true) else 'tests: false' }}", None),
    ],
)
def test_Z4_a_config_that_depends_on_the_command_is_found(text, asked):
    def macro(name: str, text: str) -> SimpleNamespace:
        text = f"{{% macro {name}() %}}{text}{{% endmacro %}}"
        return SimpleNamespace(name=name, package_name="bank", macro_sql=text)

    config = macro("default__secure_datasets_config", text)
    chosen = macro("default__chosen", "{{ invocation_id }}")
    graph = Graph.__new__(Graph)
    graph.manifest = SimpleNamespace(macros={"a": config, "b": chosen})
    found = [model.unproven for _, model in graph.config_by_command()]
    told = f"what is protected depends on the command: {asked}"
    assert found == ([told] if asked else [])


def compiled_queries(folder: Path, dbt, manifest=None) -> dict[str, str]:
    """Compile the detector without Spark; return the text of the model and the test."""
    names = ("leaks", "assert_nothing_leaks")
    result = dbt(
        *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
        "--no-write-json",
        *("--indirect-selection", "empty", "--select", *names),
        folder=folder,
        manifest=manifest,
    )
    assert result.success, result.exception
    files = (folder / "target/compiled").rglob("*.sql")
    return {file.stem: file.read_text() for file in files if file.stem in names}


@pytest.fixture(scope="module")
def queries(project, tmp_path_factory, dbt) -> dict[str, str]:
    """The compiled detector over the small project."""
    small = small_project(
        tmp_path_factory.mktemp("leaks") / "project",
        project,
        SCHEMA,
        {f"models/{name}.sql": text for name, text in MODELS.items()}
        | {f"models/{n}.py": PYTHON.format(text) for n, text in PYTHON_MODELS.items()}
        | {
            **{
                f"models/{name}.py": WITHOUT_REF.format(text)
                for name, text in (
                    PYTHON_OVER_OPEN_ROWS | PYTHON_OVER_SOURCES | PYTHON_THAT_HIDES
                ).items()
            },
            "models/base_that_writes_in_python.py": PYTHON_THAT_WRITES,
            "functions/_functions.yml": yaml.safe_dump(FUNCTIONS),
            **{
                f"functions/{function['name']}.sql": "{{ config(tags=['a']"
                " if flags.WHICH == 'run' else []) }}"
                * ("command" in function["name"])
                + "a + 1"
                for function in FUNCTIONS["functions"]
            },
            "models/python_without_ref.py": PYTHON_WITHOUT_REF,
            "models/staging/int_user_group_ancestors.py": PYTHON_WITHOUT_REF,
            "models/_models.yml": yaml.safe_dump(DOCUMENTED | SOURCES),
            "seeds/_seeds.yml": yaml.safe_dump(SEEDS),
            "macros/counted.sql": "{% macro counted() %}count(*){% endmacro %}"
            "{% macro default__counted() %}count(*){% endmacro %}",
            "macros/days_of_a_macro.sql": "{% macro days_of_a_macro() %}"
            f"{{{{ return(dbt.{DAYS}) }}}}{{% endmacro %}}",
            "snapshots/a_snapshot.sql": SNAPSHOT,
            **{f"tests/dbt/{name}.sql": text for name, text in TESTS.items()},
            CONFIG_FILE: CONFIG.replace("POLICIES", HANDMADE + COUNTED + POLICIES),
        },
        copied=("models/leaks", "seeds/leaks", "tests/dbt/assert_nothing_leaks.sql"),
        seeds={
            "seeds/jobs.csv": [{"id": "1"}],
            "seeds/copied_out_seed.csv": [{"id": "1"}],
            # The sample has the source's tables as seeds.
            "seeds/raw/users.csv": [{"id": "1"}],
        },
        settings={"seeds": {"secure_datasets": {"raw": {"+schema": "raw"}}}},
    )
    return compiled_queries(small, dbt)


def answers(query: str, schema: str, exceptions: list[tuple]) -> list[tuple]:
    """Answer a query of the detector with these exceptions."""
    columns = dict.fromkeys(("model_name", "owner", "reason"), "string")
    rows = [
        (*texts, date.fromisoformat(day) if day else None) for *texts, day in exceptions
    ]
    relation = Rows({**columns, "expires_on": "date"}, rows)
    engine = DuckDB({f"{schema}.leak_exceptions": relation})
    return [tuple(row.values()) for row in engine.ask(query)]


@pytest.fixture(scope="module")
def found(queries) -> dict[str, set[tuple[str, str, str]]]:
    """The findings of each model, without exceptions."""
    by_model: dict[str, set] = {}
    for name, rule, _, path, problem, *_ in answers(queries["leaks"], SCHEMA, []):
        by_model.setdefault(name, set()).add((rule, path, problem))
    return by_model


@pytest.mark.parametrize("model", EXPECTED)
def test_Z4_a_model_of_a_project(found, model):
    told = {(rule, path) for rule, path, _ in found.get(model, ())}
    assert told == {(rule, path) for rule, path, _ in EXPECTED[model]}
    for _, _, problem in EXPECTED[model]:
        assert any(problem in said for _, _, said in found[model]), found[model]


def test_Z4_a_problem_is_told_in_a_text_that_any_engine_reads(found):
    problems = {problem for told in found.values() for _, _, problem in told}
    assert not any(sign in problem for problem in problems for sign in "'\\\n")


def test_Z4_every_model_of_the_small_project_is_expected(found):
    assert set(found) <= set(EXPECTED)


RENDERED = "{{ secure_datasets.secure_dataset('jobs') }}"


@pytest.mark.parametrize(
    ("text", "is_rendered"),
    [
        (f"{RENDERED}\n", True),
        (f"{{{{ config(tags=['a']) }}}}\n{RENDERED}", True),
        (f"{{# why #}}{RENDERED}", True),
        (RENDERED.replace("jobs", "runs"), False),
        # Without the package's name it may be a macro of the project's own.
        ("{{ secure_dataset('jobs') }}", False),
        ("{{ elsewhere.secure_dataset('jobs') }}", False),
        (f"{{% set secure_datasets = elsewhere %}}{RENDERED}", False),
        (f"select * from ({RENDERED})", False),
        (f"{RENDERED} union all select 1", False),
        (f"{{% if true %}}select 1{{% endif %}}{RENDERED}", False),
        ("{{ secure_datasets.secure_dataset('jobs') | upper }}", False),
        (RENDERED * 2, False),
        ("select 8 as user_id", False),
        ("{{ secure_datasets.secure_dataset('jobs' }}", False),
    ],
)
def test_Z4_a_secure_dataset_is_what_the_macro_renders_and_nothing_else(
    text, is_rendered
):
    graph = Graph.__new__(Graph)
    graph.manifest = SimpleNamespace(macros={})
    node = SimpleNamespace(name=JOBS, raw_code=text)
    assert graph.is_rendered(node) == is_rendered
    # A macro of the project that is called `config` may print anything.
    own = SimpleNamespace(name="config", package_name="acme", macro_sql="")
    graph.manifest.macros["macro.acme.config"] = own
    assert graph.is_rendered(node) == (is_rendered and "config" not in text)


@pytest.mark.parametrize(
    ("package", "name", "is_unproven"),
    [
        ("bank", "create_table_as", True),
        ("bank", "spark__create_table_as", True),
        ("bank", "materialization_table_default", True),
        ("bank", "anything_else", False),
        # Only a package that comes before dbt's own.
        ("elsewhere", "spark__create_table_as", False),
        ("listed", "spark__create_table_as", True),
        ("dbt_spark", "spark__create_table_as", False),
    ],
)
def test_Z4_what_a_projects_own_macro_makes_of_a_text_can_not_be_proven(
    package, name, is_unproven
):
    def macro(package: str, name: str, *called: str) -> SimpleNamespace:
        return SimpleNamespace(
            unique_id=f"macro.{package}.{name}",
            package_name=package,
            name=name,
            depends_on=SimpleNamespace(macros=list(called)),
        )

    table = macro("dbt", "materialization_table_default", "macro.dbt.create_table_as")
    known = [table, macro("dbt", "create_table_as"), macro(package, name)]
    is_another = name == table.name
    manifest = SimpleNamespace(
        sources={},
        macros={each.unique_id: each for each in known},
        nodes={},
        find_materialization_macro_by_name=lambda *_: known[2] if is_another else table,
    )
    config = SimpleNamespace(
        project_name="bank",
        credentials=SimpleNamespace(type="secure_spark"),
        get_macro_search_order=lambda _: ["bank", "listed", "dbt"],
    )
    graph = Graph(manifest, {}, SimpleNamespace(config=config))
    reason = graph.why_materialization_is_unproven(
        "table", SimpleNamespace(package_name="bank")
    )
    assert (reason is not None) == is_unproven
    assert reason is None or reason.endswith(f"{name} of the project {package}")


def test_Z4_no_model_of_a_root_project_is_the_products_for_administrators(parsed):
    models = [n for n in parsed.nodes.values() if n.resource_type == "model"]
    found = {node.name for node in models if is_for_administrators(node)}
    own = {n.name: n for n in models if n.package_name == "secure_datasets"}
    assert found == {n for n in own if not n.startswith("vw_secure_dataset_")}
    in_same_folders = [n for n in models if n.package_name != "secure_datasets"]
    assert {"access", "datasets"} <= {node.fqn[1] for node in in_same_folders}


# The sample's, on which it is judged for ever.
TODAY = date(2026, 7, 1)
LATER, EARLIER = str(TODAY + timedelta(days=30)), str(TODAY - timedelta(days=2))
# Model, owner, reason and last day; and whether the model is excused.
EXCUSES = {
    "holds": (("reads_base", "an owner", "a reason", LATER), True),
    "expired": (("reads_base", "an owner", "a reason", EARLIER), False),
    "has no owner": (("reads_base", " ", "a reason", LATER), False),
    "has no reason": (("reads_base", "an owner", None, LATER), False),
    "never expires": (("reads_base", "an owner", "a reason", None), False),
    "is of another model": (("reads_staging", "an owner", "a reason", LATER), False),
}


@pytest.mark.parametrize(("exception", "excused"), EXCUSES.values(), ids=EXCUSES)
def test_Z4_an_exception_excuses_a_model_while_it(queries, exception, excused):
    unexcused = answers(queries["assert_nothing_leaks"], SCHEMA, [exception])
    paths = {path for _, path, *_ in unexcused}
    assert ("all_jobs > reads_base" not in paths) == excused
    assert "rejected_rows > reads_rejects" in paths


def test_Z4_an_exception_of_the_sample_is_judged_on_its_day_and_others_today(
    dbt, project, tmp_path
):
    settings = yaml.safe_load((ROOT / SAMPLE / "dbt_project.yml").read_text())
    assert settings["vars"]["sample_day"] == str(TODAY)
    copied = ("models/leaks", "seeds/leaks")
    small = small_project(tmp_path / "project", project, SCHEMA, {}, copied)
    # What the variables change is rendered after parsing.
    manifest = dbt("parse", "--quiet", folder=small).result

    def judged(**variables: str) -> str:
        target = ["--select", "leaks", "--vars", json.dumps(variables)]
        options = ["--quiet", "--no-introspect", "--no-populate-cache"]
        options += ["--indirect-selection", "empty"]
        compiled = {
            each.node.name: each.node.compiled_code
            for each in dbt(
                "compile", *options, *target, folder=small, manifest=manifest
            ).result
        }
        return compiled["leaks"].split("exceptions.expires_on >= ")[1]

    assert judged().startswith(f"cast('{TODAY}' as date)")
    # In UTC, whatever the session's time zone.
    today = "cast(date_from_unix_date"
    assert judged(raw_schema="replica").startswith(today)
    assert judged(sample_day="").startswith(today)


def test_Z4_an_exception_does_not_excuse_the_readers_of_the_model(queries):
    row = ("drops", "an owner", "a reason", LATER)
    unexcused = answers(queries["assert_nothing_leaks"], SCHEMA, [row])
    paths = {path for _, path, *_ in unexcused}
    assert f"{JOBS} > drops" not in paths
    assert f"{JOBS} > drops > two_ways" in paths


@pytest.fixture(scope="module")
def own_queries(project, dbt, parsed) -> dict[str, str]:
    """The compiled detector over this project."""
    return compiled_queries(project, dbt, parsed)


@pytest.fixture(scope="module")
def own_exceptions() -> list[tuple]:
    """This project's exceptions."""
    path = ROOT / SAMPLE / "seeds/leaks/leak_exceptions.csv"
    with path.open(encoding="utf-8") as file:
        return [tuple(row.values()) for row in csv.DictReader(file)]


def test_Z4_nothing_leaks_in_this_project(own_queries, own_exceptions):
    query = own_queries["assert_nothing_leaks"]
    assert answers(query, "secure_datasets", own_exceptions) == []


def test_Z4_the_sample_has_one_model_that_carries_and_four_that_are_excused(
    own_queries, own_exceptions
):
    rows = answers(own_queries["leaks"], "secure_datasets", own_exceptions)
    assert {(row[0], row[1]) for row in rows} == {
        ("daily_test_results", OWN),
        ("dim_days", OWN),
        ("monthly_test_results", OWN),
        # The access view of a tier of the sample's own.
        ("vw_secure_user_report_access", OWN),
    }
    assert {name for name, *_ in own_exceptions} == {row[0] for row in rows}
    text = (ROOT / SAMPLE / "models/reports/user_test_results.sql").read_text()
    assert "ref('vw_secure_dataset_tests')" in text
    # One with rules of its own over another protected dataset.
    text = (ROOT / "models/datasets/vw_dataset_tests.sql").read_text()
    assert "ref('vw_dataset_test_executions')" in text


def test_Z4_every_rule_has_a_page_with_example_reason_and_remedy():
    for rule in (CARRY, GROUP, OWN, UNPROVEN):
        page = (ROOT / f"docs/rules/{rule}.md").read_text()
        headings = [line for line in page.split("\n") if line.startswith("## ")]
        assert headings == ["## Example", "## Reason", "## Remedy"], rule


# What the rules are for, on real relations: (job, team), and who may see which team.
STORED_MODELS = {
    "models/all_jobs.sql": "select cast(job_id as bigint) as job_id,"
    " cast(team_id as bigint) as team_id from {{ ref('raw_jobs') }}",
    "models/vw_secure_dataset_jobs.sql": "{{ config(materialized='view') }}"
    "{{ secure_datasets.secure_dataset('jobs') }}",
    "models/a_view.sql": "{{ config(materialized='view') }} select * from " + PER_USER,
    "models/a_copy.sql": "select * from " + PER_USER,
    "models/pipeline_copy.sql": "select job_id, team_id from {{ ref('all_jobs') }}",
    "models/vw_secure_dataset_copies.sql": "{{ config(materialized='view') }}"
    "{{ secure_datasets.secure_dataset('copies') }}",
}
# Seeds are documented under a key of their own.
REFERENCES = {
    "models/references.yml": documented(
        {
            base: {"job_id": "raw_jobs", "team_id": "team_access"}
            for base in ("all_jobs", "pipeline_copy")
        }
    ),
    "seeds/references.yml": documented(
        {
            "team_access": {"team_id": "team_access"},
            "copy_access": {"team_id": "team_access"},
        }
    ).replace("models:", "seeds:"),
}
TIER = "team: {access_view: team_access, object_keys: [team_id], carries: []}"
COPY_TIER = TIER.replace("team:", "copy:").replace("team_access", "copy_access")


@pytest.fixture(scope="module")
def stored(project, spark, dbt, tmp_path_factory) -> Path:
    """Relations with the rows of two teams: user 1 sees those of the first.

    A stored copy has rules of its own, by which user 2 sees those of the second.
    """
    config = CONFIG.replace("POLICIES", "").replace(TIER, TIER + "\n    " + COPY_TIER)
    head, tail = config.rsplit("tier: team", 1)
    small = small_project(
        tmp_path_factory.mktemp("stored") / "project",
        project,
        SCHEMA,
        STORED_MODELS | REFERENCES | {CONFIG_FILE: head + "tier: copy" + tail},
        copied=("seeds/leaks", "tests/dbt/assert_nothing_leaks.sql"),
        seeds={
            "seeds/raw_jobs.csv": [
                {"job_id": "1", "team_id": "10"},
                {"job_id": "2", "team_id": "20"},
            ],
            "seeds/team_access.csv": [{"team_id": "10", "user_id": "1"}],
            "seeds/copy_access.csv": [{"team_id": "20", "user_id": "2"}],
        },
    )
    result = dbt(
        *("build", "--quiet", "--exclude-resource-type", "test"),
        *("--exclude", "path:seeds/privileges"),
        folder=small,
    )
    assert result.success, result.exception
    return small


def rows_of(spark, name: str) -> set[tuple]:
    """A relation's (job, user), or its jobs."""
    frame = spark.table(f"{SCHEMA}.{name}")
    columns = [c for c in ("job_id", "user_id") if c in frame.columns]
    return {tuple(map(int, row)) for row in frame.select(*columns).collect()}


@pytest.fixture
def give_access(stored, dbt) -> Iterator[Callable[[str], None]]:
    """Load other rows of who sees which team, and publish the secure dataset anew."""
    seed = stored / "seeds/team_access.csv"
    before = seed.read_text()

    def publish(rows: str) -> None:
        seed.write_text(rows)
        chosen = ("--select", "team_access", "vw_secure_dataset_jobs")
        result = dbt(
            *("build", "--quiet", "--exclude-resource-type", "test", *chosen),
            folder=stored,
        )
        assert result.success, result.exception

    yield publish
    publish(before)


@pytest.mark.spark
def test_Z1_a_view_is_filtered_at_every_read_and_Z2_a_stored_copy_is_not(
    stored, spark, give_access
):
    before = {(1, 1)}
    assert rows_of(spark, "a_view") == rows_of(spark, "a_copy") == before
    give_access("team_id,user_id\n20,3\n")
    # Z1: without a run of its own, the view shows the rows of today's users.
    assert rows_of(spark, "a_view") == {(2, 3)}
    # Z2: the copy holds what there was when it was stored, for good.
    assert rows_of(spark, "a_copy") == before


@pytest.mark.spark
def test_Z2_a_copy_that_the_pipeline_makes_holds_everything(stored, spark):
    assert rows_of(spark, "pipeline_copy") == {(1,), (2,)}


@pytest.mark.spark
def test_Z3_only_rules_on_the_copy_itself_apply(stored, spark):
    # User 1 may see a job of the original, user 2 none; of the copy it is the reverse.
    assert rows_of(spark, "vw_secure_dataset_jobs") == {(1, 1)}
    assert rows_of(spark, "vw_secure_dataset_copies") == {(2, 2)}


@pytest.mark.spark
def test_Z4_dbt_test_fails_and_names_the_path(stored, dbt, capfd):
    leaky = stored / "models/leaky.sql"
    leaky.write_text("select job_id from {{ ref('a_copy') }}")
    try:
        result = dbt("test", "--select", "assert_nothing_leaks", folder=stored)
    finally:
        leaky.unlink()
    assert not result.success
    assert "vw_secure_dataset_jobs > a_copy > leaky" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("schema", "name", "is_known"),
    [
        ("lake.raw", "users.branch_main", True),
        ("lake.raw.users", "files", True),
        ("Lake.Raw", "users.snapshots", True),
        ("small_leaks.all_jobs", "files", True),
        ("spark_catalog.small_leaks_versions", "all_jobs", True),
        ("lake.raw", "users", False),
        ("lake.other", "users.files", False),
    ],
)
def test_a_part_of_a_relation_is_no_open_source(schema, name, is_known):
    raw = SimpleNamespace(
        **{"package_name": "secure_datasets", "source_name": "repository"},
        **{"schema": "lake.raw", "identifier": "users"},
    )
    model = SimpleNamespace(resource_type="model", schema=SCHEMA, alias="all_jobs")
    credentials = SimpleNamespace(schema=SCHEMA)
    graph = Graph(
        SimpleNamespace(nodes={"all": model}, sources={"raw": raw}),
        {},
        SimpleNamespace(config=SimpleNamespace(credentials=credentials)),
    )
    assert graph.is_of_no_model(graph_relation(schema, name)) is is_known


@pytest.mark.parametrize(
    "query",
    [
        "select id from lake.raw.users.branch_main",
        "select id from users",
        "select id from read_files('x')",
    ],
)
def test_what_a_function_reads_by_other_means_is_not_known(query):
    with pytest.raises(NotUnderstood):
        over_relations(query)
    assert over_relations("with a as (select 1) select * from a, s.t")


def test_the_session_s_catalog_makes_no_other_relation():
    assert graph_relation("Spark_Catalog.S", "T") == graph_relation("s", "t")


@pytest.mark.parametrize(
    ("schema", "name"), [("s", "`t`"), ("`S`", "t"), ("s", "t "), (" s", "` t`")]
)
def test_quotes_and_spaces_make_no_other_relation(schema, name):
    assert graph_relation(schema, name) == ("s", "t")
