"""Whether a template may write rows, whichever way a command takes in it."""

from __future__ import annotations

import pytest

from secure_datasets.leaks.writers import may_write

MACROS = {
    "drop_it": [
        "{% macro drop_it() %}{% do adapter.drop_relation(this) %}{% endmacro %}"
    ],
    "asks": ["{% macro asks(sql) %}{% do run_query(sql) %}{% endmacro %}"],
    "values": [
        "{% macro values() %}{% do run_query('select a from s.t') %}{% endmacro %}"
    ],
}
NONE = [
    "select 1 {% if flags.WHICH == 'run' %} where true {% endif %}",
    "{% set n = run_query('select 1') if execute %} select 1",
    "{% set n = dbt.run_query('select a from ' ~ ref('b')) if execute %}",
    "{% set q %} select max(a) from {{ ref('b') }} where b > 'x' {% endset %}"
    "{% set rows = run_query(q) %} {% for row in rows %} {{ row[0] }} {% endfor %}",
    "{% set q = 'select 1' %}{% if flags.FULL_REFRESH %}{% set q = 'select 2' %}"
    "{% endif %}{% do run_query(q) %}",
    "{% set q = 'select a from ' + this %}{% do run_query(q) %}",
    "select {% do values() %} 1",
    "{% do adapter.dispatch('values', 'mine')() %} select 1",
    "{% if adapter.get_relation(none, 's', 't') %} select 1 {% endif %}",
]
SOME = [
    "{% do run_query('create table t as select 1') %}",
    "{% do run_query('with a as (select 1) insert into t select * from a') %}",
    "{% do run_query('select 1; drop table t') %}",
    "{% do run_query('select mine(1)') %}",
    "{% do run_query(var('q')) %}",
    "{% do run_query(q) %}",
    "{% do run_query(sql='select 1') %}",
    "{% set q %}{{ var('a') }} select 1{% endset %}{% do run_query(q) %}",
    "{% set q | upper %}select 1{% endset %}{% do run_query(q) %}",
    "{% set q = 'select 1' %}{% for q in a %}{% do run_query(q) %}{% endfor %}",
    "{% set q, r = a %}{% do run_query(q) %}",
    "{% set q = 'select 1' %}{% if flags.FULL_REFRESH %}{% set q = 'drop table t' %}"
    "{% endif %}{% do run_query(q) %}",
    "{% macro a(q='select 1') %}{% do run_query(q) %}{% endmacro %}",
    "{% set f = run_query %}{% do f('drop table t') %}",
    "{% set f = dbt.run_query %}{% do f('drop table t') %}",
    "{% do dbt['run_query']('drop table t') %}",
    "{% do (dbt | attr('run_query'))('drop table t') %}",
    "{% do context['run_query']('drop table t') %}",
    "{% do builtins.run_query('drop table t') %}",
    "{% call statement() %}select 1{% endcall %}",
    "{% call dbt.statement() %}drop table t{% endcall %}",
    "{% do adapter.execute('select 1') %}",
    "{% set a = adapter %}{% do a.execute('drop table t') %}",
    "{% if flags.WHICH == 'run' %}{% do drop_it() %}{% endif %}",
    "{% do adapter.dispatch('drop_it')() %}",
    "{% do adapter.dispatch('run_query')('drop table t') %}",
    "{% set name = 'run_query' %}{% do (dbt | attr(name))('drop table t') %}",
    "{% do adapter.dispatch('drop' ~ '_it', 'mine')() %}",
    "{% set d = adapter.dispatch %}{% do d('drop' ~ '_it')() %}",
    "{% do adapter.dispatch(name)() %}",
    "{% set this = 'a.b insert into s.t select *' %}{% do run_query('from ' ~ this) %}",
    "{% macro a(ref) %}{% do run_query('select a from ' ~ ref('b')) %}{% endmacro %}",
    "{% for source in a %}{% do run_query('from ' ~ source('b', 'c')) %}{% endfor %}",
    "{% do asks('drop table t') %}",
    "{% do render('{{ drop_it() }}') %}",
    "{% if %}",
]


@pytest.mark.parametrize("code", NONE)
def test_Z4_a_template_writes_no_rows(code):
    assert not may_write(code, MACROS, {"dbt", "mine"})


def test_Z4_a_macro_named_like_the_one_of_dbt_may_write_rows():
    own = "{% macro run_query(sql) %}{% do adapter.execute(sql) %}{% endmacro %}"
    code = "{% do run_query('select 1') %}"
    assert may_write(code, {"run_query": [own]}, {"dbt"})


def test_Z4_a_ref_of_one_s_own_returns_any_text():
    own = "{% macro ref(name) %}a.b insert into s.t select *{% endmacro %}"
    code = "{% do run_query('from ' ~ ref('b')) %}"
    assert may_write(code, {"ref": [own]}, {"dbt"})


@pytest.mark.parametrize("code", SOME)
def test_Z4_a_template_may_write_rows(code):
    assert may_write(code, MACROS, {"dbt", "mine"})
