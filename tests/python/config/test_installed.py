"""What a root project must leave as it is of the product that it installs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from projects import ROOT

from secure_config.hooks import UNKNOWN, Hooks
from secure_config.installed import FOLDERS, problems_of

CONFIG = {
    "tiers": {"own": {"access_view": "access"}},
    "datasets": {"jobs": {"base": "all_jobs"}, "totals": {}},
    "relations": {
        "fct_runs": {"kind": "fact"},
        "dim_units": {"kind": "dimension"},
        "dim_days": {"kind": "dimension"},
    },
    "relationships": [
        {"from": {"dataset": "fct_runs"}, "to": {"dataset": "dim_units"}},
        {"from": {"dataset": "fct_runs"}, "to": {"dataset": "dim_days"}},
        {"from": {"dataset": "dim_units"}, "to": {"row_security": "units"}},
    ],
}


def model(name: str, folder: str = "own", package: str = "acme", **config) -> dict:
    """Return a model as dbt's graph has it."""
    return {
        "name": name,
        "resource_type": "model",
        "package_name": package,
        "fqn": [package, folder, name],
        "relation_name": f"s.{name}",
        "config": {"materialized": "published_view", **config},
    }


def of_product(name: str, folder: str, **config) -> dict:
    """Return a model of the product."""
    return model(name, folder, "secure_datasets", **config)


FINE = [
    of_product("stg_jobs", "staging"),
    of_product("leaks", "leaks", materialized="view"),
    of_product(
        *("view_outcomes", "view_authorization"), materialized="view", reads_latest=True
    ),
    of_product(
        *("vw_secure_dataset_jobs", "secure"),
        **{"materialized": "view", "inline_views": True, "grants": {"select": ["HR"]}},
    ),
    model("access", grants={"select": ["hr"]}),
    model("all_jobs", grants={"select": ["admins"]}),
    model("report", grants={"select": ["hr"]}, materialized="table"),
    model("dim_days", grants={"select": ["hr"]}),
    of_product("role_permissions", "_seeds", materialized="seed")
    | {"resource_type": "seed"},
]


def test_models_as_they_come_are_no_problem():
    assert list(problems_of(FINE, CONFIG, ["app"])) == []


READS = "' reads secure datasets and is granted '"
PROBLEMS = {
    "a table": (
        of_product("stg_users", "staging", materialized="table"),
        "'stg_users' of secure_datasets is to be materialized: published_view,"
        " reads_latest: false, inline_views: false, and dbt_project.yml says otherwise",
    ),
    "views that change": (
        of_product("vw_secure_dataset_tests", "secure", materialized="view"),
        "materialized: view, reads_latest: false, inline_views: true, and dbt_project",
    ),
    "quoted": (
        of_product("stg_users", "staging") | {"relation_name": "`s`.`stg_users`"},
        "would be called `s`.`stg_users`, and versions are found by names without",
    ),
    "the latest of a base": (
        model("all_jobs", reads_latest=True),
        "The model 'all_jobs' has reads_latest: true, and a secure dataset is made of",
    ),
    "the latest of rights": (model("access", reads_latest=True), "'access' has reads_"),
    "a base": (model("all_jobs", grants={"select": ["Hr"]}), f"'Hr{READS}all_jobs', w"),
    "a base that is a seed": (
        model("all_jobs", grants={"select": ["hr"]}) | {"resource_type": "seed"},
        f"'hr{READS}all_jobs', which shows the rows of all users",
    ),
    "a seed of the product": (
        of_product("users", "_seeds", materialized="seed", grants={"select": ["hr"]})
        | {"resource_type": "seed"},
        f"'hr{READS}users', which shows the rows of all users",
    ),
    "a fact": (model("fct_runs", grants={"select": ["hr"]}), f"'hr{READS}fct_runs', w"),
    "a dimension with row security": (
        model("dim_units", grants={"select": ["hr"]}),
        f"'hr{READS}dim_units', which shows the rows of all users",
    ),
    "the audit": (
        of_product("audit", "access", grants={"all": ["x", "app"]}),
        f"'app{READS}audit', which shows the rows of all users: let dbt_project.yml",
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_dbt_project_says_of_models_and_must_not_is_a_sentence(name):
    node, sentence = PROBLEMS[name]
    others = [other for other in FINE if other["name"] != node["name"]]
    (told,) = problems_of([*others, node], CONFIG, ["APP"])
    assert sentence in told


GRANTS = "grant select on {{ this }} to analysts"
OF_ALL = "' shows the rows of all users, and a hook of it grants: take the hook away"


@pytest.mark.parametrize("key", ["pre-hook", "post-hook"])
@pytest.mark.parametrize(
    "node",
    [
        of_product("stg_users", "staging"),
        of_product("users", "_seeds", materialized="seed") | {"resource_type": "seed"},
        *map(model, ("all_jobs", "fct_runs", "dim_units")),
    ],
    ids=lambda node: node["name"],
)
def test_no_hook_grants_what_shows_the_rows_of_all_users(node, key):
    node = node | {"config": node["config"] | {key: [{"sql": GRANTS}]}}
    others = [other for other in FINE if other["name"] != node["name"]]
    (told,) = problems_of([*others, node], CONFIG, [])
    assert f"'{node['name']}{OF_ALL}, and let `grants` in dbt_project.yml say" in told


def test_a_hook_may_grant_what_grants_may():
    hook = {"post-hook": [{"sql": GRANTS}]}
    for name in ("report", "dim_days", "access", "vw_secure_dataset_jobs"):
        nodes = [
            node | {"config": node["config"] | hook} if node["name"] == name else node
            for node in FINE
        ]
        assert list(problems_of(nodes, CONFIG, [])) == []


def test_who_is_granted_a_secure_dataset_by_a_hook_reads_it():
    hook = "grant select on {{ this }} to `Analysts`, role other"
    nodes = [
        node | {"config": node["config"] | {"post-hook": [{"sql": hook}]}}
        if node["name"] == "vw_secure_dataset_jobs"
        else node
        for node in FINE
    ]
    base = model("fct_runs", grants={"select": ["analysts"]})
    (told,) = problems_of([*nodes, base], CONFIG, [])
    assert f"'analysts{READS}fct_runs', which shows the rows of all users" in told


def with_hook(hook: str | None) -> dict:
    """Return a node with a hook."""
    return {"config": {"post-hook": [{"sql": hook}]}}


@pytest.mark.parametrize(
    ("hook", "is_grant"),
    [
        (GRANTS, True),
        ("GRANT\nSELECT /* all */ ON TABLE {{ this }} TO `analysts`", True),
        ("analyze table {{ this }}; grant all privileges on {{ this }} to a", True),
        ("{% if target.name == 'prod' %}" + GRANTS + "{% endif %}", True),
        ("{{ 'grant select on ' ~ this ~ ' to analysts' }}", True),
        ("{% do run_query('grant select on ' ~ this ~ ' to a') %}", True),
        ("{{ 'grant' }} {{ privilege }} on {{ this }} to {{ target.user }}", True),
        ("begin grant select on {{ this }} to a; end", True),
        ("execute immediate 'grant select on s.t to a'", True),
        # What can't be read may be one.
        ("grant select on {{ this }} to 'a", True),
        ("grant select on s.t to a {{ ' }}", True),
        ("analyze table {{ this }} compute statistics", False),
        ("-- grant select on {{ this }} to analysts\nanalyze table a", False),
        ("/* grant select on a to b */ analyze table a", False),
        ("{# grant select on a to b #} analyze table a", False),
        ("comment on table a is 'grant select on a to b'", False),
        ("insert into grants select `grant` from a join b on true -- to", False),
        ("revoke select on {{ this }} from analysts", False),
        ("execute immediate r'grant select on s.t to a'", True),
        ("execute immediate 'grant select on ' || t || ' to a'", True),
        ("declare q string default 'grant all on a to b'; execute immediate q", True),
        ("{{ 'grant select on {} to {}'.format(this, var('role')) }}", True),
        ("{{ log(run_query('grant select on ' ~ this ~ ' to a')) }}", True),
        ("grant {{ the_rest(this) }}", True),
        ("grant usage on schema s to a {{ 'grant select on s.t to a' }}", True),
        # dbt's own, whichever adapter's is taken.
        ("{{ apply_grants(this, {'select': ['analysts']}) }}", True),
        ("{{ dbt.get_grant_sql(this, 'select', ['analysts']) }}", True),
        ("{{ default__call_dcl_statements(statements) }}", True),
        ("{% do adapter.dispatch('apply_grants', 'dbt')(this, grants, true) %}", True),
        ("{{ get_show_grant_sql(this) }}", False),
        # dbt stops at a macro that is not there.
        ("{{ grant_to(this) }}", False),
        # What a log tells, nobody runs.
        ("{{ log('no grant on ' ~ this ~ ' to anybody', info=true) }}", False),
        ("{{ print('a grant on {} to {}'.format(this, 'a')) }}", False),
        ("{% do exceptions.warn('a grant on ' ~ this ~ ' to a') %}", False),
        # Nor does a schema that somebody may use show rows.
        ("grant usage on schema {{ target.schema }} to analysts", False),
        ("grant use schema, use catalog on catalog c to analysts", False),
        ("grant usage, create on schema {{ target.schema }} to analysts", False),
        ("grant create table, create view on schema s to analysts", False),
        ("grant create materialized view, create function on schema s to a", False),
        ("grant create schema on catalog main to analysts", False),
        ("grant create volume, create model, browse on catalog main to a", False),
        ("grant read volume, write volume on volume s.landing to analysts", False),
        ("grant usage, select on schema s to analysts", True),
        ("grant create, table on s.t to analysts", True),
        ("grant read on schema s to analysts", True),
        ("grant use schema, {{ privilege }} on schema s to analysts", True),
        # A string of Jinja hides nothing that stands after it.
        ("{%- set rule = '-----' -%}{%- do log(rule) -%}"
         "{%- do run_query('grant select on schema s to a') -%}", True),
        ("{% do told_of(\"Granting today's relations\") %}{% do run_query("
         "'grant select on schema ' ~ target.schema ~ ' to a') %}", True),
        ("{% set sql = '/* all */ grant select on ' %}"
         "{% do run_query(sql ~ this ~ ' to a') %}", True),
        ("{% do run_query('-- all\\ngrant select on s.t to a') %}", True),
        ("{% set begin = '/*' %}{% do run_query('grant all on s.t to a') %}", True),
        ("{% do run_query(\"grant select on s.t to '\" ~ role ~ \"'\") %}", True),
        ("{% set sql = 'grant select on `' ~ this.schema %}"
         "{% do run_query(sql ~ '`.t to a') %}", True),
        ("{{ none | default('grant select on s.t to a') }}", True),
        ("grant select on {{ this | replace(\"'\", '') }} to a", True),
        ("analyze table {{ this }} {{ x | replace(\"'\", '--') }}\n;"
         "grant all on s.t to a", True),
        ("{% set q = \"we don't grant here\" %}select 1", False),
        ("{{ told_of(\"today's\") }}analyze table {{ this }}", False),
        ("comment on table {{ this }} is '{{ \"it's a grant\" }}'", False),
        ("{{ ['vacuum', this] | join(' grant all on a to b -- ' if x else ' ') }}",
         True),
        # Who may execute the readers' functions chooses the user.
        ("grant usage, execute on schema s to analysts", True),
        ("comment on table {{ this }} is 'it''s of `migrants'", False),
        ("select grant from {{ this }}", False),
        ("", False),
        (None, False),
    ],
)  # fmt: skip
def test_a_grant_in_a_hook_is_found_where_spark_would_run_it(hook, is_grant):
    assert bool(Hooks().granted_by(with_hook(hook))) is is_grant


def test_the_hooks_of_a_node_that_has_none_grant_nothing():
    assert Hooks().granted_by({"config": {}}) == {}


def macro(name: str, text: str, package: str = "acme") -> SimpleNamespace:
    """Return a macro as the manifest has it."""
    sql = f"{{% macro {name}(relation, role) %}}{text}{{% endmacro %}}"
    return SimpleNamespace(name=name, package_name=package, macro_sql=sql)


GRANTS_IT = "grant select on {{ relation }} to {{ role }}"
MACROS = [
    macro("grants_base", "{{ grant_select(ref('all_jobs'), role) }}"),
    # What dbt says of its own has no names of a project's.
    macro("run_query", "{{ statement('all_jobs') }}", "dbt"),
    macro("grant_select", GRANTS_IT),
    macro("grant", "{{ return('grant select on %s to %s' % (relation, role)) }}", "x"),
    macro("granted_later", "{% do run_query(grant_select(relation, role)) %}"),
    macro("granted_by_name", "{% set by = context['grant_select'] %}{{ by(this) }}"),
    macro("open_up", "{{ return(adapter.dispatch('open_up')(relation, role)) }}"),
    macro("spark__open_up", GRANTS_IT),
    macro("granted_by_dbt", "{% do apply_grants(relation, {'select': [role]}) %}"),
    macro("round_about", "{{ round_about(relation) }}{{ grant_select() }}"),
    macro("revoke", "revoke select on {{ relation }} from {{ role }}"),
    macro("vacuum", "{{ log('no grant on a to b') }}vacuum {{ relation }}", "x"),
    macro("publish_readers_objects", GRANTS_IT, "secure_datasets"),
    macro("begin_run", "{% do adapter.begin_run() %}", "dbt_secure_spark"),
]


@pytest.mark.parametrize(
    ("hook", "is_grant"),
    [
        ("{{ grant_select(this, 'analysts') }}", True),
        ("{{ acme.grant_select(this, 'analysts') }}", True),
        ("{{ x.grant(this, 'analysts') }}", True),
        ("{% do run_query(grant_select(this, 'analysts')) %}", True),
        ("{{ granted_later(this, 'analysts') }}", True),
        ("{{ granted_by_name(this) }}", True),
        ("{{ open_up(this, 'analysts') }}", True),
        ("{{ adapter.dispatch('open_up', 'acme')(this) }}", True),
        ("{{ granted_by_dbt(this, 'analysts') }}", True),
        ("{{ round_about(this) }}", True),
        ("{% set sql = grant_select %}{{ sql(this, 'analysts') }}", True),
        ("{{ revoke(this, 'analysts') }}", False),
        ("{{ x.vacuum(this) }}", False),
        # That of another package, which has none of this name.
        ("{{ x.grant_select(this, 'analysts') }}", False),
        ("{{ this.grant_select }}", False),
        # The readers' views and functions are for them.
        ("{{ secure_datasets.publish_readers_objects() }}", False),
        ("{{ begin_run() }}", False),
    ],
)
def test_a_macro_that_a_hook_calls_is_searched_for_grants_too(hook, is_grant):
    assert bool(Hooks(MACROS).granted_by(with_hook(hook))) is is_grant


@pytest.mark.parametrize(
    ("hook", "is_grant"),
    [
        ("{{ take(this, 'analysts') }}", False),
        ("{% for granted in rows %}{{ granted }}{% endfor %}", False),
        ("{% set granted = 1 %}{{ granted }}", False),
        ("{% set sql = granted %}{{ sql(this) }}", True),
        ("{% if granted %}{% set granted = 1 %}{% endif %}{{ granted(this) }}", True),
        ("{{ cycler(this) }}", True),
    ],
)
def test_the_names_of_variables_and_arguments_call_no_macro(hook, is_grant):
    hooks = Hooks(
        [
            *(macro("granted", GRANTS_IT), macro("role", GRANTS_IT)),
            # Called as something that Jinja has.
            macro("cycler", GRANTS_IT),
            macro("take", "{% set granted = relation %}{{ granted ~ role }}"),
        ]
    )
    assert bool(hooks.granted_by(with_hook(hook))) is is_grant


def test_a_name_calls_the_macro_that_dbt_takes():
    macros = [
        *(macro("open_up", GRANTS_IT, "x"), macro("open_up", "vacuum", "mine")),
        macro("through", "{{ open_up(relation) }}", "y"),
    ]

    def grants(hook: str, package: str, root: str = "other") -> bool:
        node = with_hook(hook) | {"package_name": package}
        return bool(Hooks(macros, root).granted_by(node))

    assert grants("{{ open_up(this) }}", "x")
    assert not grants("{{ open_up(this) }}", "mine")
    # That of another package, which may be one of dbt's own.
    assert grants("{{ open_up(this) }}", "z")
    assert not grants("{{ open_up(this) }}", "z", root="mine")
    # Whose macro calls it makes no difference to dbt.
    assert not grants("{{ y.through(this) }}", "mine")
    assert grants("{{ y.through(this) }}", "z", root="x")


def test_a_macro_that_is_called_as_what_tells_is_no_such_function():
    hooks = Hooks([macro("log", "{% do run_query(relation) %}")])
    assert hooks.granted_by(with_hook("{{ log('grant select on a to b') }}"))


def operation(hook: str, package: str = "acme", run: str = "on-run-end") -> dict:
    """Return a hook of a project as dbt's graph has it."""
    return {
        "name": f"{package}-{run}-0",
        "resource_type": "operation",
        "package_name": package,
        "fqn": [package, "hooks", f"{package}-{run}-0"],
        "tags": [run],
        "raw_code": hook,
        "config": {},
    }


OF_RUN = "A hook in on-run-end of the project 'acme' grants what is built, or may: take"


@pytest.mark.parametrize(
    ("hook", "is_refused"),
    [
        ("grant select on schema {{ target.schema }} to analysts", True),
        ("grant select on schema S to analysts", True),
        ("grant select on database `s_versions` to analysts", True),
        ("grant select on all tables in schema s to analysts", True),
        ("grant select on catalog main to analysts", True),
        ("grant select on s.all_jobs to analysts", True),
        ("grant select on table main.s.`All_Jobs` to analysts", True),
        ("grant select on all_jobs to analysts", True),
        ("grant select on raw.users to analysts", True),
        ("grant select on {{ ref('all_jobs') }} to analysts", True),
        ("{{ grant_select(ref('all_jobs'), 'analysts') }}", True),
        ("{{ apply_grants(relation, {'select': ['analysts']}) }}", True),
        ("{{ 'grant all on {} to {}'.format(api.Relation.create(), 'a') }}", True),
        ("{% for model in graph.nodes.values() %}{% do run_query('grant select on '"
         " ~ model.relation_name ~ ' to analysts') %}{% endfor %}", True),
        ("grant usage on schema {{ target.schema }} to analysts", False),
        ("grant select on schema somewhere_else to analysts", False),
        ("grant select on somewhere_else.all_jobs to analysts", False),
        # What is called as what there may be of others.
        ("grant select on elsewhere.catalog to analysts", False),
        ("grant select on table main.elsewhere.schema to analysts", False),
        ("grant select on schema view to analysts", False),
        ("grant select on schema.all_jobs to analysts", False),
        ("grant select on view catalog.s.all_jobs to analysts", True),
        ("grant select on catalog to analysts", True),
        ("grant select on any file to analysts", True),
        ("revoke select on schema s from analysts", False),
        ("{{ secure_datasets.publish_readers_objects() }}", False),
        ("{{ log('no grant on schema s to anybody') }}", False),
    ],
)  # fmt: skip
def test_no_hook_of_a_project_grants_what_is_built(hook, is_refused):
    source = {"resource_type": "source", "relation_name": "raw.users"}
    nodes = [*FINE, model("users") | source, operation(hook)]
    told = list(problems_of(nodes, CONFIG, [], Hooks(MACROS)))
    assert [OF_RUN in sentence for sentence in told] == [True] * is_refused


@pytest.mark.parametrize(
    ("hook", "is_refused"),
    [
        ("grant select on schema {{ target.schema }} to analysts", True),
        ("grant select on {{ ref('all_jobs') }} to analysts", True),
        ("grant select on s.stg_jobs to analysts", True),
        ("grant select on {{ this }} to analysts", False),
        ("grant select on s.report to analysts", False),
        ("grant select on schema somewhere_else to analysts", False),
        ("{{ grant_select(this, 'analysts') }}", False),
        # What a macro is given, or a variable holds, has a name elsewhere.
        ("{{ grant_select(ref('all_jobs'), 'analysts') }}", True),
        ("{{ grant_select(relation=ref('All_Jobs'), role='analysts') }}", True),
        ("{{ grant_select('s.all_jobs', 'analysts') }}", True),
        ("{{ grant_select(this, ref('all_jobs')) }}", True),
        ("{{ grant_select(this.schema ~ '.all_jobs', 'analysts') }}", True),
        ("{{ grants_base() }}", True),
        ("{% set r = ref('all_jobs') %}grant select on {{ r }} to analysts", True),
        ("{% set r %}s.all_jobs{% endset %}grant select on {{ r }} to a", True),
        ("{% for r in [ref('all_jobs')] %}grant all on {{ r }} to a{% endfor %}", True),
        ("{% do apply_grants(ref('all_jobs'), {'select': ['analysts']}) %}", True),
        ("{{ 'grant select on %s to a' | format(ref('all_jobs')) }}", True),
        ("{{ 'grant select on {} to a'.format(ref('all_jobs')) }}", True),
        ("grant all on {{ this | replace('report', 'all_jobs') }} to a", True),
        ("{% for n in graph.nodes.values() %}grant select on {{ n.relation_name }}"
         " to a{% endfor %}", True),
        ("{% for n in context['graph'].nodes %}{{ grant_select(n, 'a') }}{% endfor %}",
         True),
        ("{% set r = ref('report') %}grant select on {{ r }} to analysts", False),
        ("{% do apply_grants(this, {'select': ['access', 'all_jobs']}) %}", False),
        ("{{ grant_select(this, 'all_jobs') }}", False),
        ("{{ 'grant select on {} to {}'.format(this, 'all_jobs') }}", False),
        ("grant select on {{ this }} to all_jobs", False),
        ("{{ 'grant select on ' ~ this ~ ' to all_jobs' }}", False),
        ("-- as all_jobs\ngrant select on {{ target.schema }}.report to a", False),
        ("{{ log('all_jobs') }}{{ grant_select(this, 'analysts') }}", False),
        ("{{ counted(ref('all_jobs')) }}grant select on {{ this }} to a", False),
    ],
)  # fmt: skip
def test_a_hook_of_what_may_be_granted_grants_nothing_else(hook, is_refused):
    nodes = [node | {"config": node["config"]} for node in FINE]
    for node in nodes:
        if node["name"] == "report":
            node["config"] = node["config"] | {"post-hook": [{"sql": hook}]}
    told = list(problems_of(nodes, CONFIG, [], Hooks(MACROS)))
    said = "A hook of 'report' grants more than 'report', and with it what shows the"
    assert [said in sentence for sentence in told] == [True] * is_refused


@pytest.mark.parametrize(
    "hook",
    [
        "grant select on {{ ref('all_jobs') }} to analysts",
        "grant select on {{ ref('all_jobs', v=2) }} to analysts",
        "grant select on {{ ref('acme', 'all_jobs') | string }} to analysts",
        "grant select on {{ target.schema }}.jobs_v2 to analysts",
        "grant select on s.jobs_v2 to analysts",
    ],
)
def test_what_a_hook_of_another_grants_is_known_by_its_alias_and_its_name(hook):
    base = model("all_jobs") | {"relation_name": "s.jobs_v2"}
    nodes = [model("report") | with_hook(hook), base, model("access")]
    (told,) = problems_of(nodes, CONFIG, [])
    assert "A hook of 'report' grants more than 'report'" in told


@pytest.mark.parametrize(
    ("hook", "is_refused", "is_refused_beside_views"),
    [
        ("grant select on {{ source('raw', 'users') }} to hr", True, True),
        ("grant select on replica.tbl_users to hr", True, True),
        ("grant select on {{ ref('vw_secure_dataset_jobs') }} to hr", False, True),
        ("grant select on s.access to hr", False, True),
        ("grant select on {{ ref('dim_days') }} to hr", False, False),
    ],
)
def test_no_hook_grants_raw_tables_nor_plain_datasets_beside_readers_views(
    hook, is_refused, is_refused_beside_views
):
    source = {"resource_type": "source", "relation_name": "replica.tbl_users"}
    others = [node for node in FINE if node["name"] != "report"]
    nodes = [*others, model("users") | source, model("report") | with_hook(hook)]
    said = "A hook of 'report' grants more than 'report', and with it what shows the"
    for has_views, is_told in ((False, is_refused), (True, is_refused_beside_views)):
        told = list(problems_of(nodes, CONFIG, [], has_readers_views=has_views))
        assert [said in sentence for sentence in told] == [True] * is_told


def test_a_hook_may_call_its_own_relation_by_name():
    hook = "grant select on s.vw_secure_dataset_jobs to hr"
    node = model("vw_secure_dataset_jobs") | with_hook(hook)
    nodes = [node, model("report")]
    for has_views in (False, True):
        found = problems_of(nodes, CONFIG, [], has_readers_views=has_views)
        assert list(found) == []


@pytest.mark.parametrize(
    ("role", "is_known"),
    [
        ("{{ var('role') }}", False),
        ("`{{ var('analysts_of') }}`", False),
        ("`{{ target.user }}`, others", False),
        ("hr, {{ env_var('READERS') }}", False),
        ("readers_of_{{ target.name }}", False),
        ("{{ 'others' }}", True),
        ("others", True),
    ],
)
def test_a_role_that_only_a_run_knows_may_be_one_that_is_granted_a_base(role, is_known):
    hook = f"grant select on {{{{ this }}}} to {role}"
    nodes = [
        node | {"config": node["config"] | {"post-hook": [{"sql": hook}]}}
        if node["name"] == "vw_secure_dataset_jobs"
        else node
        for node in FINE
    ]
    said = (
        "A hook grants 'vw_secure_dataset_jobs' to a role that only a run knows, and"
        " 'all_jobs', which shows the rows of all users, is granted to 'admins': write"
        " the role out in the hook, or let `grants` in dbt_project.yml say who reads"
        " 'vw_secure_dataset_jobs'."
    )
    assert list(problems_of(nodes, CONFIG, [])) == [said] * (not is_known)
    # With nothing beside it, whoever it is may read.
    alone = [node for node in nodes if node["name"] != "all_jobs"]
    assert list(problems_of(alone, CONFIG, [])) == []


def test_the_roles_of_a_macro_are_known_only_where_it_names_them():
    hooks = Hooks([*MACROS, macro("named", "grant select on {{ relation }} to hr")])
    ((named,),) = hooks.granted_by(with_hook("{{ named(this) }}")).values()
    ((other,),) = hooks.granted_by(with_hook("{{ grant_select(this, 'a') }}")).values()
    assert (named.to, other.to) == (("hr",), (UNKNOWN,))


def test_a_clone_of_the_product_is_asked_what_its_hooks_grant():
    in_it = [
        of_product("report", "reports", materialized="table", grants={"select": ["hr"]})
        | with_hook(GRANTS)
    ]
    assert list(problems_of([*FINE, *in_it], CONFIG, [], is_clone=True)) == []
    (told,) = problems_of(
        [of_product("stg_users", "staging", materialized="table") | with_hook(GRANTS)],
        *(CONFIG, []),
        is_clone=True,
    )
    assert f"'stg_users{OF_ALL}" in told
    hook = operation("grant select on s.stg_jobs to hr", "secure_datasets")
    (told,) = problems_of([*FINE, hook], CONFIG, [], is_clone=True)
    assert "A hook in on-run-end of the project 'secure_datasets' grants what" in told


def test_the_folders_of_the_product_are_known():
    found = {
        path.name
        for part in ("models", "seeds")
        for path in (ROOT / part).iterdir()
        if path.is_dir() and path.name != "_docs"
    }
    assert found == FOLDERS


def test_an_ephemeral_model_is_told_how_it_is_to_be_kept():
    node = of_product("stg_users", "staging", materialized="ephemeral")
    (told,) = problems_of([node | {"relation_name": None}], CONFIG, [])
    assert "is to be materialized: published_view" in told
