"""M: column masks by role. Each test bears the number of the behaviour."""

from __future__ import annotations

import pytest
from policy_sandbox import Sandbox, SparkSandbox, config, view_name
from pyspark.errors import PySparkException
from rendering import Stopped

from secure_datasets.sql import expressions

ALICE, BEN, CARL = 1, 2, 3
SCHEMA = (
    "run_id bigint, team_id bigint, unit string, result string, amount bigint,"
    " score decimal(9,4), started timestamp, is_final boolean"
)
COLUMNS = [part.split()[0] for part in SCHEMA.split(", ")]
DATASET = (
    f"runs: {{base: all_runs, columns: [{', '.join(COLUMNS)}],"
    " unique_key: [run_id], tier: team, keys: {team_id: team_id}}"
)
FAILS = "role: A, resource: runs, condition: result = 'Failed'"
ORDERED = (
    "role: A, resource: runs.amount, condition: amount >= 2, mask: 1111, mask_order: 1",
    "role: A, resource: runs.amount, condition: amount <= 2, mask: 2222, mask_order: 2",
)


@pytest.fixture(scope="module")
def sandbox():
    """Four runs, seen by three people."""
    return filled(Sandbox())


@pytest.fixture(scope="module")
def in_spark(spark):
    """The same in Spark."""
    return filled(SparkSandbox(spark))


def filled(sandbox: Sandbox) -> Sandbox:
    """Fill a sandbox with them."""
    rows = [
        (1, 10, "X", "Failed", 1, None, None, True),
        (2, 10, "X", "Passed", 2, None, None, True),
        (3, 10, "Y", "Failed", 3, None, None, True),
        (4, 10, None, "Passed", None, None, None, True),
    ]
    sandbox.table("all_runs", SCHEMA, rows)
    members = [(10, user) for user in (ALICE, BEN, CARL)]
    sandbox.table("team_access", "team_id bigint, user_id bigint", members)
    sandbox.table("secret", "unit string", [("X",), ("Z",)])
    return sandbox


@pytest.fixture
def seen(sandbox):
    """What a user sees in a column of the runs under these policies."""

    def call(roles: list[str], *policies: str, column: str = "amount") -> dict:
        sandbox.roles({ALICE: roles, BEN: []})
        view = sandbox.secure(config(*policies, dataset=DATASET), "runs")
        query = f"select run_id, {column} from {view} where user_id = {ALICE}"
        return dict(sandbox.rows(query))

    return call


def test_M1_rows_are_filtered_first_and_by_unmasked_values(seen):
    mask = "role: A, resource: runs.result, mask: \"'Passed'\""
    assert seen(["A"], FAILS, mask, column="result") == {1: "Passed", 3: "Passed"}


def test_M1_a_mask_s_condition_sees_the_unmasked_values_of_other_columns(seen):
    masks = (
        "role: A, resource: runs.unit, mask: \"'*'\"",
        "role: A, resource: runs.amount, condition: unit = 'X', mask: 0,"
        " mask_on_null: pass",
    )
    assert seen(["A"], *masks) == {1: 0, 2: 0, 3: 3, 4: None}


def test_M2_without_a_condition_every_row_is_masked(seen):
    mask = "role: A, resource: runs.amount, mask: 0"
    assert seen(["A"], mask) == {1: 0, 2: 0, 3: 0, 4: 0}


def test_M3_with_a_condition_the_others_keep_their_value(seen):
    mask = (
        "role: A, resource: runs.amount, condition: result = 'Failed', mask: amount * 9"
    )
    assert seen(["A"], mask) == {1: 9, 2: 2, 3: 27, 4: None}


def test_M3_a_mask_is_a_case_with_the_column_as_its_end(sandbox):
    mask = (
        "role: A, resource: runs.amount, condition: result = 'Failed', mask: 0,"
        " mask_on_null: pass"
    )
    sql = sandbox.macros(config(mask, dataset=DATASET)).secure_dataset("runs")
    assert (
        """
    case
        when (
            held_roles['A']
            and (result = 'Failed')
        )
            then try_cast(0 as bigint)
        else amount
    end as amount,
"""
        in sql
    )


@pytest.mark.parametrize("masks", [ORDERED, ORDERED[::-1]])
def test_M4_the_higher_order_comes_first(seen, masks):
    assert seen(["A"], *masks) == {1: 2222, 2: 2222, 3: 1111, 4: 2222}
    passed = [f"{mask}, mask_on_null: pass" for mask in masks]
    assert seen(["A"], *passed) == {1: 2222, 2: 2222, 3: 1111, 4: None}


def test_M4_the_order_counts_across_roles(seen):
    masks = (ORDERED[0].replace("role: A", "role: B"), ORDERED[1])
    assert seen(["A", "B"], *masks) == {1: 2222, 2: 2222, 3: 1111, 4: 2222}
    assert seen(["B"], *masks) == {1: 1, 2: 1111, 3: 1111, 4: 1111}
    assert seen(["A"], *masks) == {1: 2222, 2: 2222, 3: 3, 4: 2222}


@pytest.mark.parametrize("role", ["A", "B"])
@pytest.mark.parametrize("order", ["", ", mask_order: 0"])
def test_M5_the_same_order_twice_on_one_column_is_an_error(seen, role, order):
    masks = (
        "role: A, resource: runs.amount, mask: 0",
        f"role: {role}, resource: runs.amount, condition: amount = 1, mask: 1{order}",
    )
    with pytest.raises(Stopped, match="has a mask with the 'mask_order' 0 already"):
        seen(["A"], *masks)


@pytest.mark.parametrize(
    "condition",
    [
        "unit = 'Y'",
        "unit = 'Y' and result = 'Passed' or unit = 'Y'",
        # Spark takes `in (select ...)` for false where it is null.
        "unit not in (select s.unit from {{ ref('secret') }} as s)",
        "not (unit in (select s.unit from {{ ref('secret') }} as s))",
        "run_id = 3 or unit not in (select s.unit from {{ ref('secret') }} as s)",
    ],
)
def test_M6_a_condition_that_is_null_masks_unless_it_is_to_pass(seen, condition):
    mask = f'role: A, resource: runs.result, condition: "{condition}", mask: "\'*\'"'
    kept = {1: "Failed", 2: "Passed", 3: "*"}
    assert seen(["A"], mask, column="result") == kept | {4: "*"}
    passed = seen(["A"], f"{mask}, mask_on_null: pass", column="result")
    assert passed == kept | {4: "Passed"}


@pytest.mark.parametrize(
    "condition",
    [
        "unit in (select s.unit from {{ ref('secret') }} as s)",
        "run_id = 9 or unit in (select s.unit from {{ ref('secret') }} as s)",
        "run_id > 0 and unit in (select s.unit from {{ ref('secret') }} as s)",
    ],
)
def test_M6_a_null_in_a_subquery_masks_too(seen, condition):
    mask = f'role: A, resource: runs.result, condition: "{condition}", mask: "\'*\'"'
    assert seen(["A"], mask, column="result") == {1: "*", 2: "*", 3: "Failed", 4: "*"}


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize(
    ("column", "mask", "value"),
    [
        ("unit", "17", "17"),
        ("unit", "null", "None"),
        ("amount", "'17'", "17"),
        ("amount", "1.9", "1"),
        # What does not cast is null: the value stays hidden.
        ("amount", "concat('no ', unit)", "None"),
        ("score", "1", "1.0000"),
        ("started", "'2026-01-01'", "2026-01-01 00:00:00"),
        ("is_final", "'false'", "False"),
    ],
)
def test_M7_a_mask_is_cast_to_the_column_s_type_which_stays(
    spark, in_spark, column, mask, value, ansi
):
    sandbox = in_spark
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        sandbox.roles({ALICE: ["A"]})
        policy = f'role: A, resource: runs.{column}, mask: "{mask}"'
        view = sandbox.secure(config(policy, dataset=DATASET), "runs")
        types = sandbox.types["all_runs"]
        found = sandbox.types["vw_secure_dataset_runs"]
        assert {name: found[name] for name in types} == types
        query = f"select {column} from {view} where user_id = {ALICE} and run_id = 1"
        assert [(str(text),) for (text,) in sandbox.rows(query)] == [(value,)]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


CONSTANTS = [
    *("20240101", "2024-01-01xyz", "2024-01-01 xyz", "2024-01-01T", "2024", "2024-1-1"),
    *("2024-13-01", "2023-02-29", "+2024-01-01", "0000-01-01", "-0001-01-01"),
    *("2024-01-01 12", "2024-01-01 12:30", "2024-01-01 12:30Z", "2024-01-01 24:00:00"),
    *("2024-01-01T1:2:3.123456789Z", "2024-01-01 12:30:00+1:0", "20240101T123000"),
    *("2024-01-01 12:30:00+19:00", "2024-01-01 12:30:00.", "12:30:00", "2024-W01-1"),
    *("99999999", "99999.99994", "99999.99995", "1e3", "1e30", ".5", "5.", " 17 "),
    *("+17", "1_000", "0x10", "9223372036854775808", "127", "128", "true", "y", ""),
]
NUMBERS = ["0", "-17", "1.9", "99999999", "99999.99995", "1e3", "1e30", "127.9"]
TYPES = [
    *("tinyint", "int", "bigint", "double", "boolean", "date", "timestamp", "binary"),
    *("timestamp_ntz", "decimal(9,4)", "decimal", "decimal(2,2)", "numeric(9,4)"),
]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_M7_a_constant_that_passes_is_no_null_in_spark(spark, ansi):
    constants = [("string", text, f"'{text}'") for text in CONSTANTS]
    constants += [("number", text, text) for text in NUMBERS]
    constants += [("boolean", text, text) for text in ("true", "false")]
    casts = [
        f"try_cast({sql} as {data_type})"
        for kind, text, sql in constants
        for data_type in TYPES
        if expressions.casts(kind, text, data_type)
    ]
    assert len(casts) > len(constants)
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        tried = ", ".join(f"{cast} is null" for cast in casts)
        (row,) = spark.sql(f"select {tried}").collect()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert [cast for cast, null in zip(casts, row, strict=True) if null] == []


def test_M7_a_column_without_a_documented_type_can_t_be_masked(sandbox):
    macros = sandbox.macros(
        config("role: A, resource: runs.amount, mask: 0", dataset=DATASET)
    )
    types = sandbox.types["all_runs"]
    sandbox.types["all_runs"] = {}
    try:
        macros = sandbox.macros(
            config("role: A, resource: runs.amount, mask: 0", dataset=DATASET)
        )
        with pytest.raises(Stopped, match="does not say the column's data_type"):
            macros.secure_dataset("runs")
    finally:
        sandbox.types["all_runs"] = types


def test_M8_a_dataset_over_a_secure_dataset_sees_what_its_user_sees_there(sandbox):
    upper = """
        notes:
            base: vw_secure_dataset_runs
            columns: [run_id, unit, amount]
            unique_key: [run_id]
    """
    lower = (
        FAILS,
        "role: B, resource: runs",
        "role: A, resource: runs.amount, mask: amount + 100",
    )
    own = (
        "role: A, resource: notes, condition: amount > 101",
        "role: B, resource: notes, condition: amount > 1",
        "role: B, resource: notes.amount, condition: amount > 2, mask: amount * -1",
    )
    sandbox.roles({ALICE: ["A"], BEN: ["B"], CARL: []})
    document = config(*lower, dataset=DATASET, more=upper)
    sandbox.secure(document, "runs")
    view = sandbox.secure(document, "notes")
    query = f"select user_id, run_id, amount from {view}"
    assert sandbox.rows(query.replace("*", "")) == [
        *((ALICE, 1, 101), (ALICE, 3, 103)),
        *((BEN, 1, 1), (BEN, 2, 2), (BEN, 3, 3), (BEN, 4, None)),
    ]
    view = sandbox.secure(config(*lower, *own, dataset=DATASET, more=upper), "notes")
    # 103 is the masked amount: the upper condition sees no other.
    assert sandbox.rows(query) == [(ALICE, 3, 103), (BEN, 2, 2), (BEN, 3, -3)]


def test_M8_rows_for_everyone_below_are_looked_at_for_each_user(sandbox):
    both = """
        news:
            base: all_runs
            columns: [run_id, result]
            unique_key: [run_id]
            switch:
                column: result
                cases:
                    Failed: {tier: team, keys: {team_id: run_id}}
                    Passed: {visible_to: everyone}
        notes: {base: vw_secure_dataset_news, columns: [run_id], unique_key: [run_id]}
    """
    both = both.replace("{team_id: run_id}", "{team_id: run_id}")
    sandbox.table("team_access", "team_id bigint, user_id bigint", [(1, ALICE)])
    sandbox.roles({ALICE: ["A"], BEN: ["A"], CARL: []})
    try:
        document = config(dataset=both)
        sandbox.secure(document, "news")
        view = sandbox.secure(document, "notes")
        query = f"select user_id, run_id from {view}"
        assert sandbox.rows(query) == [(1, 1), (None, 2), (None, 4)]
        policy = "role: A, resource: notes, condition: run_id < 3"
        sandbox.secure(config(policy, dataset=both), "notes")
        assert sandbox.rows(query) == [(ALICE, 1), (ALICE, 2), (BEN, 2)]
    finally:
        members = [(10, user) for user in (ALICE, BEN, CARL)]
        sandbox.table("team_access", "team_id bigint, user_id bigint", members)


def test_M9_a_user_in_none_of_the_masking_roles_sees_the_value(sandbox):
    sandbox.roles({ALICE: ["A"], BEN: ["B"]})
    mask = "role: A, resource: runs.amount, mask: 0"
    view = sandbox.secure(config(mask, dataset=DATASET), "runs")
    for user in (BEN, CARL):
        query = f"select run_id, amount from {view} where user_id = {user}"
        assert sandbox.rows(query) == [(1, 1), (2, 2), (3, 3), (4, None)]


EXCEPT_A = "except: [A], resource: runs.amount, mask: 0"
HIDDEN = {1: 0, 2: 0, 3: 0, 4: 0}
SHOWN = {1: 1, 2: 2, 3: 3, 4: None}


@pytest.mark.parametrize(
    ("roles", "found"),
    [(["A"], SHOWN), (["A", "B"], SHOWN), (["B"], HIDDEN), (["a"], HIDDEN)],
)
def test_M12_except_masks_for_everybody_who_holds_none_of_the_roles(seen, roles, found):
    assert seen(roles, EXCEPT_A) == found


def test_M12_a_user_without_any_role_is_masked(seen, sandbox):
    assert seen([], EXCEPT_A) == HIDDEN
    # Carl is not even a user of whom roles are known.
    view = "policies_vw_secure_dataset_runs"
    query = f"select run_id, amount from {view} where user_id = {CARL}"
    assert dict(sandbox.rows(query)) == HIDDEN


def test_M12_a_role_that_nobody_bears_or_that_is_misspelt_hides(seen):
    misspelt = EXCEPT_A.replace("[A]", "[Aa, 'Data Offise']")
    assert seen(["A", "Data Office"], misspelt) == HIDDEN


def test_M12_any_of_several_roles_is_spared_a_global_one_too(seen):
    mask = EXCEPT_A.replace("[A]", '[A, Global Admin, "it\'s B"]')
    for role in ("A", "Global Admin", "it's B"):
        assert seen([role, "C"], mask) == SHOWN
    assert seen(["C"], mask) == HIDDEN


def test_M12_with_a_condition_only_its_rows_are_masked_and_null_masks(seen):
    mask = f"{EXCEPT_A}, condition: amount >= 2"
    assert seen([], mask) == {1: 1, 2: 0, 3: 0, 4: 0}
    assert seen([], f"{mask}, mask_on_null: pass") == {1: 1, 2: 0, 3: 0, 4: None}
    assert seen(["A"], mask) == SHOWN


@pytest.mark.parametrize(
    ("roles", "found"),
    [
        # Whom both are for gets the higher order, whom one is for that one.
        (["B"], {1: 0, 2: 7, 3: 7, 4: 0}),
        (["A", "B"], {1: 1, 2: 7, 3: 7, 4: None}),
        (["A"], SHOWN),
        ([], HIDDEN),
    ],
)
def test_M12_the_order_counts_among_masks_of_both_forms(seen, roles, found):
    of_role = (
        "role: B, resource: runs.amount, condition: amount >= 2, mask: 7,"
        " mask_order: 1, mask_on_null: pass"
    )
    assert seen(roles, EXCEPT_A, of_role) == found


def test_M12_several_exceptions_each_spare_their_own_roles(seen):
    masks = (
        "except: [A], resource: runs.amount, condition: amount < 3, mask: 7,"
        " mask_order: 1, mask_on_null: pass",
        "except: [A, B], resource: runs.amount, mask: 0",
    )
    assert seen(["A"], *masks) == SHOWN
    assert seen(["B"], *masks) == {1: 7, 2: 7, 3: 3, 4: None}
    assert seen([], *masks) == {1: 7, 2: 7, 3: 0, 4: 0}


@pytest.mark.parametrize("whom", ["except: [B]", "role: B"])
def test_M12_M5_the_same_order_in_both_forms_is_an_error(seen, whom):
    again = f"{whom}, resource: runs.amount, mask: 1"
    with pytest.raises(Stopped, match="has a mask with the 'mask_order' 0 already"):
        seen(["A"], EXCEPT_A, again)


def test_M12_with_conditions_the_rows_stay_those_of_the_conditions(sandbox):
    sandbox.roles({ALICE: ["A"], BEN: ["B"], CARL: []})
    shows = "role: B, resource: runs, condition: result = 'Failed'"
    view = sandbox.secure(config(FAILS, shows, EXCEPT_A, dataset=DATASET), "runs")
    assert sandbox.rows(f"select user_id, run_id, amount from {view}") == [
        *((ALICE, 1, 1), (ALICE, 3, 3)),
        *((BEN, 1, 0), (BEN, 3, 0)),
    ]


def test_M12_rows_for_everyone_are_masked_for_each_user(sandbox):
    public = """
        news:
            base: all_runs
            columns: [run_id, team_id, result, amount]
            unique_key: [run_id]
            switch:
                column: result
                cases:
                    Failed: {tier: team, keys: {team_id: team_id}}
                    Passed: {visible_to: everyone}
    """
    sandbox.roles({ALICE: ["A"], BEN: []})
    mask = "except: [A], resource: news.amount, mask: 0"
    view = sandbox.secure(config(mask, dataset=public), "news")
    found = sandbox.rows(f"select user_id, run_id, amount from {view} where run_id = 2")
    assert found == [(ALICE, 2, 2), (BEN, 2, 0)]


def test_M12_a_view_is_masked_by_transform_and_not_by_allow(sandbox):
    sandbox.roles({ALICE: ["A"], BEN: [], CARL: []})
    sandbox.table(
        "view_outcomes",
        "user_id bigint, view_name string, outcome string",
        [
            (user, "vw_secure_dataset_runs", outcome)
            for user, outcome in (
                (ALICE, "Transform"),
                (BEN, "Transform"),
                (CARL, "Allow"),
            )
        ],
    )
    document = config(EXCEPT_A, dataset=DATASET[:-1] + ", view_authorization: true}")
    view = sandbox.secure(document, "runs")
    found = sandbox.rows(f"select user_id, amount from {view} where run_id = 3")
    assert found == [(ALICE, 3), (BEN, 0), (CARL, 3)]


def test_M12_a_dataset_above_gets_what_is_masked_below(sandbox):
    upper = """
        notes:
            base: vw_secure_dataset_runs
            columns: [run_id, amount]
            unique_key: [run_id]
    """
    sandbox.roles({ALICE: ["A"], BEN: ["B"], CARL: []})
    own = "except: [B], resource: notes.amount, condition: amount = 0, mask: 5"
    document = config(EXCEPT_A, own, dataset=DATASET, more=upper)
    sandbox.secure(document, "runs")
    view = sandbox.secure(document, "notes")
    found = sandbox.rows(f"select user_id, amount from {view} where run_id = 3")
    assert found == [(ALICE, 3), (BEN, 0), (CARL, 5)]


def test_M10_masks_never_change_the_number_of_rows(sandbox):
    sandbox.roles({ALICE: ["A", "B"], BEN: ["A"]})
    masks = (*ORDERED, "role: B, resource: runs.unit, mask: 'null'")
    count = "select user_id, count(*) from {} group by user_id"
    for conditions in ((), (FAILS,)):
        bare = sandbox.secure(config(*conditions, dataset=DATASET), "runs")
        rows = sandbox.rows(count.format(bare))
        view = sandbox.secure(config(*conditions, *masks, dataset=DATASET), "runs")
        assert sandbox.rows(count.format(view)) == rows


@pytest.mark.parametrize(
    "mask",
    [
        "role: A, resource: runs.amount, condition: result = 'Passed',"
        " mask: \"cast(concat('hidden', amount) as bigint) + amount\"",
        'role: A, resource: runs.amount, mask: \'case when result = "Passed" then'
        ' cast(concat("hidden", amount) as bigint) else 7 end\'',
        "role: A, resource: runs.amount, mask: 0,"
        ' condition: \'if(result = "Passed", cast(concat("hidden", amount) as boolean),'
        " true)'",
    ],
)
def test_M11_a_hidden_row_never_reaches_a_mask(spark, in_spark, mask):
    sandbox = in_spark
    sandbox.roles({ALICE: ["A"], BEN: ["A"]})
    # In ANSI mode, which the product's views have not, these casts fail.
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        view = sandbox.secure(config(FAILS, mask, dataset=DATASET), "runs")
        for query in (
            f"select * from {view}",
            f"select * from {view} where amount = 7",
            f"select run_id from {view} where amount is not null and user_id = 1",
            f"select amount, count(*) from {view} group by amount",
            f"select a.run_id from {view} as a inner join {view} as b"
            " on a.amount = b.amount and a.user_id = b.user_id",
            f"select a.run_id from policies_all_runs as b inner join {view} as a"
            " on a.amount = b.amount",
            f"select run_id from policies_all_runs where amount in"
            f" (select amount from {view})",
            f"select * from {view} order by amount",
        ):
            assert "hidden" not in str(sandbox.rows(query))
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "false")


def test_M11_a_mask_does_reach_a_visible_row(spark, in_spark):
    sandbox = in_spark
    sandbox.roles({ALICE: ["A"]})
    value = "cast(concat('hidden', amount) as bigint) + 1"
    mask = f'role: A, resource: runs.amount, mask: "{value}"'
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        view = sandbox.secure(config(FAILS, mask, dataset=DATASET), "runs")
        with pytest.raises(PySparkException, match="hidden"):
            sandbox.rows(f"select amount from {view}")
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "false")


@pytest.mark.parametrize(
    ("mask", "condition", "rows"),
    [
        # `mask` puts X for a capital, and knows no other letters than those with one.
        ("mask(unit)", "true", 2),
        ("coalesce(nullif(unit, 'X'), '-')", "true", 2),
        ("coalesce(nullif(unit, 'X'), '-')", "result = 'Failed'", 1),
        ("left(unit, 1)", "true", 2),
        # A constant shows nothing of the value, and null is no value.
        ("'X'", "true", 0),
        ("null", "true", 0),
        ("sha2(unit, 256)", "true", 0),
    ],
)
def test_M14_a_mask_that_gives_the_value_itself_is_said(request, mask, condition, rows):
    # Spark's own function is asked of Spark.
    sandbox = request.getfixturevalue("in_spark" if "mask(" in mask else "sandbox")
    policy = (
        f'except: [B], resource: runs.unit, condition: "{condition}", mask: "{mask}"'
    )
    kept = [
        tuple(row) for row in sandbox.rows(f"select * from {view_name('all_runs')}")
    ]
    chinese = [(*row[:2], "中国人", *row[3:]) if row[0] == 2 else row for row in kept]
    sandbox.table("all_runs", SCHEMA, chinese)
    try:
        # Ben holds the role that is spared; what two others get counts once.
        sandbox.roles({ALICE: [], BEN: ["B"], CARL: []})
        macros = sandbox.macros(config(policy, dataset=DATASET))
        document = macros.secure_datasets_config()
        found = sandbox.rows(macros.rules(document).masks_that_show_values(0))
        said = ("runs.unit", 'mask on unit of all but "B"', rows)
        assert found == ([said] if rows else [])
        assert sandbox.rows(macros.rules(document).masks_that_show_values(rows)) == []
        for user, count in ((ALICE, rows), (BEN, 0)):
            (counts,) = sandbox.rows(macros.rule_counts("runs", document, user))
            assert counts[-1] == count
    finally:
        sandbox.table("all_runs", SCHEMA, kept)


@pytest.mark.parametrize(
    ("roles", "shown"),
    [
        ([], {}),
        (["A"], {1: 1, 2: 2}),
        (["B"], {1: 1, 3: 3}),
        # A user of both sees what either shows, and not what both show.
        (["A", "B"], {1: 1, 2: 2, 3: 3}),
        (["C"], {1: 1, 2: 2, 3: 3, 4: None}),
        ([17], {1: 1}),
    ],
)
def test_M13_a_mask_shows_what_one_of_its_lines_shows(seen, roles, shown):
    lines = [
        "{role: A, where: unit = 'X'}", "{role: B, where: \"result = 'Failed'\"}",
        "{role: C}", "{role: {group: 17}, where: amount = 1}",
    ]  # fmt: skip
    mask = f"resource: runs.amount, mask: 7, shown_to: [{', '.join(lines)}]"
    found = seen(roles, mask)
    assert found == dict.fromkeys(range(1, 5), 7) | shown


def test_M13_everybody_may_be_shown_some_and_a_null_shows_nothing(seen):
    mask = "resource: runs.amount, mask: 7, shown_to: [{role: '*', where: %s}]"
    assert seen([], mask % "amount > 1") == {1: 7, 2: 2, 3: 3, 4: 7}
    listed = "unit in (select s.unit from {{ ref('secret') }} as s)"
    assert seen(["A"], mask % f'"{listed}"') == {1: 1, 2: 2, 3: 7, 4: 7}
    denied = f'"not ({listed})"'
    assert seen(["A"], mask % denied) == {1: 7, 2: 7, 3: 3, 4: 7}


def test_M13_what_is_shown_meets_the_mask_of_the_next_order(seen):
    shown = "resource: runs.amount, mask: 7, mask_order: 2, shown_to: [{role: A}]"
    other = "role: A, resource: runs.amount, condition: unit = 'X', mask: 8"
    assert seen(["A"], shown, f"{other}, mask_on_null: pass") == {
        1: 8,
        2: 8,
        3: 3,
        4: None,
    }


def test_M13_a_line_is_read_and_guarded_as_a_condition_is(sandbox):
    where = "unit = '${v}'"
    mask = f'resource: runs.amount, mask: 7, shown_to: [{{role: A, where: "{where}"}}]'
    macros = sandbox.macros(config(mask, dataset=DATASET))
    policies = macros.rules(macros.secure_datasets_config()).policies("runs")
    assert policies["guarded"] == ["unit"]
    # Spark would put a variable in the place of the text.
    assert where not in macros.secure_dataset("runs")


def test_M13_except_is_the_short_form(seen):
    form = "resource: runs.amount, mask: 7, "
    for roles in ([], ["A"], ["B"], ["A", "B"]):
        short = seen(roles, f"{form}except: [A, B]")
        assert seen(roles, f"{form}shown_to: [{{role: A}}, {{role: B}}]") == short


NESTED = """
    tiers: {t: {access_view: access, object_keys: [person_id], carries: []}}
    datasets:
        people:
            base: people
            columns: [person_id, person, mails, notes]
            unique_key: [person_id]
            visible_to: everyone
    policies:
        - {role: "*", resource: people}
        - {except: [A], resource: people.person,
           mask: "named_struct('name', person.name, 'ssn', '*')"}
        - {except: [A], resource: people.mails,
           mask: "transform(mails, x -> concat('*', right(x, 1)))"}
        - {except: [A], resource: people.notes,
           mask: "transform_values(notes, (k, v) -> '*')"}
"""


@pytest.mark.spark
def test_M15_spark_masks_a_field_an_element_and_a_value_and_leaves_the_rest(spark):
    sandbox = SparkSandbox(spark)
    schema = (
        "person_id bigint, person struct<name:string,ssn:string>,"
        " mails array<string>, notes map<string,string>"
    )
    rows = [(1, ("Ann", "12"), ["ab", None], {"k": "v"}), (2, None, None, None)]
    sandbox.table("people", schema, rows)
    sandbox.table("access", "person_id bigint, user_id bigint", [])
    sandbox.roles({ALICE: ["A"], BEN: []})
    view = sandbox.secure(NESTED, "people")
    query = (
        "select user_id, person_id, to_json(person), to_json(mails), to_json(notes)"
        f" from {view} order by 1, 2"
    )
    assert sandbox.rows(query) == [
        (ALICE, 1, '{"name":"Ann","ssn":"12"}', '["ab",null]', '{"k":"v"}'),
        (ALICE, 2, None, None, None),
        (BEN, 1, '{"name":"Ann","ssn":"*"}', '["*b",null]', '{"k":"*"}'),
        (BEN, 2, '{"ssn":"*"}', None, None),
    ]
    assert sandbox.types["vw_secure_dataset_people"]["person"] == (
        "struct<name:string,ssn:string>"
    )


def test_M14_a_mask_of_a_dataset_over_another_one_is_said_too():
    sandbox = Sandbox()
    sandbox.table(
        "all_runs", "run_id bigint, team_id bigint, unit string", [(1, 10, "X")]
    )
    sandbox.table("team_access", "team_id bigint, user_id bigint", [(10, ALICE)])
    sandbox.roles({ALICE: ["A"]})
    sandbox.types["vw_secure_dataset_runs"] = {"run_id": "bigint", "unit": "string"}
    layers = """
        runs: {base: all_runs, columns: [run_id, team_id, unit], unique_key: [run_id],
            tier: team, keys: {team_id: team_id}}
        notes: {base: vw_secure_dataset_runs, columns: [run_id, unit],
            unique_key: [run_id]}
    """
    policy = "role: '*', resource: notes.unit, mask: \"concat(unit, '')\""
    written = config(policy, dataset=layers)
    sandbox.secure(written, "runs")
    macros = sandbox.macros(written)
    query = macros.rules(macros.secure_datasets_config()).masks_that_show_values(0)
    assert sandbox.rows(query) == [("notes.unit", "mask on unit of everybody", 1)]
