"""The oracle against small worlds whose answers were worked out by hand."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from oracle.contract import (
    BIGINT,
    COLUMNS,
    DECIMAL,
    FLAG,
    STRING,
    TABLES,
    TIMESTAMP,
    UNREADABLE,
    World,
    evaluate,
    read_value,
    read_world,
    write_world,
)

DAY_1, DAY_2, DAY_3 = (f"2026-01-0{day} 00:00:00" for day in (1, 2, 3))
NEW_YEAR = datetime(2026, 1, 1)
ORDERLY = {
    "is_active": "true",
    "date_created": DAY_1,
    "date_modified": DAY_1,
    "created_by": "ann",
    "modified_by": "bob",
    "sf_date_created": DAY_1,
}


def a_world(**tables: list[dict[str, Any]]) -> World:
    """A world of orderly rows, numbered from 1, with the values given."""
    world: World = {table: [] for table in TABLES}
    for table, rows in tables.items():
        for number, values in enumerate(rows, start=1):
            row = dict.fromkeys(TABLES[table]) | {"id": number} | ORDERLY | values
            assert list(row) == list(TABLES[table])
            world[table].append(
                {
                    key: None if value is None else str(value)
                    for key, value in row.items()
                }
            )
    return world


def rows_of(relation: str, world: World, *columns: str) -> list[tuple]:
    """A relation's rows, or these columns of them, sorted as text."""
    names = COLUMNS[relation]
    picked = [names.index(column) for column in columns or names]
    rows = evaluate(world).relations[relation]
    return sorted((tuple(row[index] for index in picked) for row in rows), key=str)


def reasons(world: World) -> list[str]:
    """Why rows were rejected."""
    return [reason for _, _, reason, _ in evaluate(world).rejected]


def names(*deliveries: dict[str, Any]) -> list[str | None]:
    """The names of the jobs that these deliveries of one job leave live."""
    jobs = [{"id": 1, "project_id": 1} | delivery for delivery in deliveries]
    world = a_world(projects=[{}], jobs=jobs)
    return [name for (name,) in rows_of("vw_dataset_jobs", world, "job_name")]


def source_access(**tables: list[dict[str, Any]]) -> list[tuple]:
    """Who sees which data source, and how, in a world with these tables."""
    world = a_world(**tables)
    return rows_of("vw_secure_user_data_source_access", world)


def reads(kind: str, *texts: str) -> list[Any]:
    """The values read."""
    return [read_value(kind, text) for text in texts]


def all_unreadable(kind: str, *texts: str) -> bool:
    """Whether none of the texts is readable."""
    return all(value is UNREADABLE for value in reads(kind, *texts))


# -- 1. reading ------------------------------------------------------------


def test_white_space_is_trimmed_and_what_only_looks_like_it_is_not() -> None:
    ends = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2007\u200a\u2028\u2029\u202f\u205f"
    assert reads(STRING, f"{ends}a b\u3000") == ["a b"]
    assert reads(STRING, "\x1fa\x1c", "\u200ba\ufeff") == ["\x1fa\x1c", "\u200ba\ufeff"]
    assert reads(STRING, "", " \u00a0") == [None, None]
    assert reads(BIGINT, "\u2003 7\n", "\u3000") == [7, None]
    assert all_unreadable(BIGINT, "7\x1f", "\u200b7")


def test_a_bigint_is_ascii_digits_with_a_sign_within_range() -> None:
    assert reads(BIGINT, "007", "+7", "-0", "0" * 30 + "7") == [7, 7, 0, 7]
    assert reads(BIGINT, str(2**63 - 1), str(-(2**63))) == [2**63 - 1, -(2**63)]
    assert all_unreadable(BIGINT, str(2**63), str(-(2**63) - 1), "9" * 5000)
    assert all_unreadable(BIGINT, "5.7", "1e1", "5.0", "+", "+-1", "1_0", "\u0665")


def test_a_flag_is_one_of_four_words_in_any_case() -> None:
    assert reads(FLAG, "true", "TRUE", "tRuE", "1") == [True] * 4
    assert reads(FLAG, "false", "False", "0") == [False] * 3
    assert all_unreadable(FLAG, "yes", "t", "01", "2", "fal\u017fe", "true\x1f")


def test_a_timestamp_is_a_real_moment_cut_to_microseconds() -> None:
    assert reads(TIMESTAMP, "2026-03-08 02:30:00", "2026-03-08T02:30:00.5") == [
        datetime(2026, 3, 8, 2, 30),
        datetime(2026, 3, 8, 2, 30, 0, 500000),
    ]
    assert reads(TIMESTAMP, "9999-12-31 23:59:59.999999999") == [datetime.max]
    assert reads(TIMESTAMP, "0001-01-01 00:00:00") == [datetime.min]
    assert all_unreadable(
        TIMESTAMP,
        *("yesterday", "2026-02-30 00:00:00", "0000-01-01 00:00:00", "2026-01-01"),
        *("2026-01-01 24:00:00", "2026-01-01t00:00:00", "2026-01-01 00:00:00Z"),
        *("2026-01-01 00:00:00.", "2026-01-01 00:00:00.0123456789"),
        *("2025-02-29 00:00:00", "2026-1-1 00:00:00", "2026-01-01 00:00:60"),
        *("2026-01-01\xa000:00:00", "\u0662026-01-01 00:00:00"),
    )


def test_a_decimal_rounds_half_away_from_zero_and_then_keeps_its_range() -> None:
    assert reads(DECIMAL, "0.00005", "-0.00005", "12.34565", "+007") == [
        Decimal("0.0001"),
        Decimal("-0.0001"),
        Decimal("12.3457"),
        Decimal("7.0000"),
    ]
    assert reads(DECIMAL, "99999.99994") == [Decimal("99999.9999")]
    assert [str(value) for value in reads(DECIMAL, "5", "-0.00004")] == [
        "5.0000",
        "0.0000",
    ]
    assert reads(DECIMAL, "0." + "4" * 50) == [Decimal("0.4444")]
    assert all_unreadable(DECIMAL, "99999.99995", "-100000", "5.", ".5", "1e1", "NaN")


# -- 1. the newest delivery --------------------------------------------------


def test_ids_that_read_the_same_are_one_row() -> None:
    later = {"id": " 007\xa0", "name": "new", "date_modified": DAY_2}
    assert names({"id": "+7", "name": "old"}, later) == ["new"]


def test_the_latest_change_wins_even_if_it_was_loaded_first() -> None:
    new = {"name": "new", "date_modified": DAY_2, "sf_date_created": DAY_1}
    late = {"name": "late", "date_modified": DAY_1, "sf_date_created": DAY_3}
    assert names(new, late) == ["new"]
    assert names(late, new) == ["new"]


def test_of_equal_changes_the_last_loaded_wins() -> None:
    reloaded = {"name": "new", "sf_date_created": "2026-01-01T00:00:00.000001"}
    assert names(reloaded, {"name": "old"}) == ["new"]


def test_of_equal_times_the_one_that_is_not_active_wins() -> None:
    assert names({"name": "a"}, {"is_active": "false"}) == []
    assert names({"name": "a"}, {"is_active": None}) == []
    jobs = [{"id": 1, "project_id": 1}, {"id": 1, "project_id": 1, "is_active": "yes"}]
    assert reasons(a_world(jobs=jobs)) == ["unreadable is_active"]


def test_a_later_load_wins_over_a_revocation_of_the_same_moment() -> None:
    revoked = {"name": "a", "is_active": "false"}
    assert names(revoked, {"name": "b", "sf_date_created": DAY_2}) == ["b"]


def test_an_active_delivery_without_a_time_is_the_oldest() -> None:
    undated = {"name": "undated", "date_modified": None}
    assert names({"name": "dated"}, undated) == ["dated"]
    unloaded = {"name": "unloaded", "sf_date_created": " "}
    assert names({"name": "loaded"}, unloaded) == ["loaded"]
    assert names(undated) == ["undated"]


def test_what_is_only_no_longer_delivered_stays_in_force() -> None:
    # A row that was deleted in the application: the loads after it hold others alone.
    deleted = {"id": 1, "name": "deleted"}
    later = {"id": 2, "name": "later", "date_modified": DAY_3, "sf_date_created": DAY_3}
    assert sorted(names(deleted, later)) == ["deleted", "later"]


def test_a_revocation_without_a_time_is_the_newest() -> None:
    dated = {"name": "dated", "date_modified": "9999-12-31 23:59:59"}
    assert names(dated, {"is_active": "false", "date_modified": None}) == []
    assert names(dated, {"is_active": None, "date_modified": None}) == []
    loaded = {"name": "loaded", "sf_date_created": DAY_3}
    assert names(loaded, {"is_active": "0", "sf_date_created": None}) == []


def test_an_unreadable_time_is_the_newest_and_removes_the_row() -> None:
    dated = {"id": 1, "project_id": 1, "date_modified": DAY_3, "sf_date_created": DAY_3}
    for column in ("date_modified", "sf_date_created"):
        garbled = dated | {column: "yesterday"}
        assert names(dated, garbled) == []
        world = a_world(projects=[{}], jobs=[garbled, dated])
        assert reasons(world) == [f"unreadable {column}"]


def test_an_unreadable_time_ties_with_the_missing_time_of_a_revocation() -> None:
    garbled = {"name": "garbled", "date_modified": "yesterday"}
    missing = {"date_modified": None, "is_active": "false"}
    assert names(garbled, missing) == []
    jobs = [{"id": 1, "project_id": 1} | row for row in (garbled, missing)]
    assert reasons(a_world(jobs=jobs)) == []


def test_the_same_delivery_twice_is_no_conflict() -> None:
    assert names({"name": "a"}, {"name": "a"}) == ["a"]


def test_a_tie_that_differs_in_anything_delivered_is_a_conflict() -> None:
    differences = (
        {"name": "b"},
        {"name": "a "},
        {"created_by": "ANN"},
        {"id": "01"},
        {"is_active": "1"},
        {"date_modified": "2026-01-01T00:00:00"},
        {"sf_date_created": DAY_1 + ".0000009"},
    )
    for difference in differences:
        jobs = [{"id": 1, "project_id": 1, "name": "a"}] * 2
        jobs[1] = jobs[1] | difference
        assert reasons(a_world(projects=[{}], jobs=[*jobs, jobs[0]])) == ["conflict"]
        assert names(*jobs) == []


def test_a_tie_among_older_deliveries_is_no_conflict() -> None:
    newest = {"name": "c", "date_modified": DAY_2}
    assert names({"name": "a"}, {"name": "b"}, newest) == ["c"]


# -- 1. judging the winner ---------------------------------------------------


def test_no_older_delivery_stands_in_for_a_rejected_one() -> None:
    newest = {"project_id": "1e1", "date_modified": DAY_2}
    assert names({"name": "old"}, newest) == []


def test_each_row_without_a_readable_id_is_rejected_by_itself() -> None:
    users = [
        {"id": " x", "sf_date_created": "2026-01-01T00:00:00.0000019"},
        {"id": " x", "sf_date_created": "garbled"},
        {"id": None},
    ]
    assert evaluate(a_world(users=users)).rejected == [
        ("users", " x", "unreadable id", datetime(2026, 1, 1, 0, 0, 0, 1)),
        ("users", " x", "unreadable id", None),
        ("users", None, "unreadable id", NEW_YEAR),
    ]


def test_the_first_reason_is_the_one_that_counts() -> None:
    faults: dict[str, Any] = {
        "meta_data_source_id": None,
        "user_id": "5.7",
        "user_group_id": "1e1",
        "role_name": "?",
        "modified_by": "x",
    }
    found = []
    for mend in ({}, {"user_id": 1}, {"user_group_id": 1}, {"meta_data_source_id": 1}):
        faults |= mend
        found += reasons(a_world(data_source_permissions=[faults]))
    faults |= {"user_id": None}
    found += reasons(a_world(data_source_permissions=[faults]))
    assert found == [
        "unreadable user_id",
        "unreadable user_group_id",
        "missing meta_data_source_id",
        "holder",
        "role",
    ]


def test_of_two_missing_keys_the_first_in_the_tables_order_is_named() -> None:
    tables = {
        "user_group_members": [{}, {"user_group_id": 1}],
        "project_data_sources": [{}, {"project_id": " "}, {"project_id": 1}],
    }
    assert reasons(a_world(**tables)) == [
        "missing user_group_id",
        "missing user_id",
        "missing project_id",
        "missing project_id",
        "missing meta_data_source_id",
    ]


def test_a_permission_names_exactly_one_holder() -> None:
    holders = ({}, {"user_id": 1, "user_group_id": 1}, {"user_id": 1})
    entries = [{"project_id": 1} | holder for holder in holders]
    assert reasons(a_world(project_permissions=entries)) == ["holder", "holder"]


def test_rows_that_are_not_active_are_judged_too() -> None:
    member = {"user_id": 1, "is_active": "false"}
    world = a_world(user_group_members=[member])
    assert reasons(world) == ["missing user_group_id"]


def test_a_role_is_known_in_any_ascii_case_for_its_own_object_type() -> None:
    def judge(table: str, key: str, *roles: str | None) -> list[str]:
        entries = [{key: 1, "user_id": 1, "role_name": role} for role in roles]
        return reasons(a_world(**{table: entries}))

    source = ("data_source_permissions", "meta_data_source_id")
    assert judge(*source, "viewer", "TESTER", "Viewer\xa0") == []
    assert judge(*source, "Admin", None, "V\u0131ewer", "ViewTe\u017ftResults") == (
        ["role"] * 4
    )
    assert judge("project_permissions", "project_id", None, " ", "ADMIN") == []
    assert judge("project_permissions", "project_id", "Viewer") == ["role"]
    assert judge("report_permissions", "report_id", "View", None) == ["role"]
    powerless = ("Global.SecurityAdmin", "global.configurationadmin")
    known = (*powerless, "Global.CustomMetadataAdmin", "GLOBAL.ADMIN")
    assert judge("user_global_roles", "user_id", *known) == []
    assert judge("user_global_roles", "user_id", "Admin", None) == ["role"] * 2


def test_an_event_needs_a_known_context_and_its_key() -> None:
    events = [
        {"context": "project", "meta_data_source_id": 1},
        {"context": "DATA SOURCE", "project_id": 1},
        {"context": "DataSource"},
        {"context": None},
        {"context": "gLOBAL"},
    ]
    world = a_world(events=events)
    assert reasons(world) == ["context key", "context key", "context", "context"]
    columns = ("event_id", "context")
    assert rows_of("vw_dataset_event_history", world, *columns) == [(5, "Global")]


def test_only_true_is_active() -> None:
    flags = ("true", "TRUE", "1", "false", "0", None)
    projects = [{"is_active": flag} for flag in flags]
    jobs = [{"project_id": number} for number in range(1, 7)]
    world = a_world(projects=projects, jobs=jobs)
    assert rows_of("vw_dataset_jobs", world, "project_id") == [(1,), (2,), (3,)]


def test_dangling_references_count_live_rows_whose_parent_is_not_live() -> None:
    world = a_world(
        users=[{}, {"is_active": "false"}, {"date_last_login": "garbled"}],
        meta_data_sources=[
            {"id": 40, "owner_user_id": 2},
            {"id": 20, "owner_user_id": 3},
            {"id": 30, "owner_user_id": 99},
            {"id": 10, "owner_user_id": 99, "is_active": "false"},
            {"id": 5, "owner_user_id": 1},
            {"id": 4, "owner_user_id": None},
        ],
        events=[{"context": "Global", "project_id": 1}],
        job_executions=[{"job_id": 3, "batch_id": 77}],
    )
    assert evaluate(world).dangling == [
        ("meta_data_sources", "owner_user_id", 3, 20),
        ("job_executions", "job_id", 1, 1),
        ("events", "project_id", 1, 1),
    ]


def test_groups_in_a_ring_are_dangling_and_groups_below_one_are_not() -> None:
    parents = (2, 3, 1, 1, 5, 99, None)
    groups = [{"parent_user_group_id": parent} for parent in parents]
    assert evaluate(a_world(user_groups=groups)).dangling == [
        ("user_groups", "parent_user_group_id", 5, 1)
    ]


# -- 3. who counts -----------------------------------------------------------


def reached(parents: list[int | None], **changes: dict[str, Any]) -> list[int]:
    """The groups whose rights a member of group 1 holds; changes by group_N."""
    groups = [
        {"parent_user_group_id": parent} | changes.get(f"group_{number}", {})
        for number, parent in enumerate(parents, start=1)
    ]
    entries = [
        {"meta_data_source_id": number, "user_group_id": number, "role_name": "Viewer"}
        for number in range(1, len(groups) + 1)
    ]
    access = source_access(
        users=[{}],
        user_groups=groups,
        user_group_members=[{"user_group_id": 1, "user_id": 1}],
        meta_data_sources=[{} for _ in groups],
        data_source_permissions=entries,
    )
    return [data_source for data_source, _, _ in access]


def test_a_member_holds_what_every_ancestor_holds_and_no_descendant() -> None:
    assert reached([2, 3, 4, None, 1]) == [1, 2, 3, 4]


def test_a_chain_stops_at_a_group_that_is_missing_or_not_live() -> None:
    assert reached([2, 99, 1]) == [1, 2]
    assert reached([2, 3, 4, None], group_3={"is_active": "false"}) == [1, 2]
    assert reached([2, 3, 4, None], group_3={"date_created": "garbled"}) == [1, 2]
    assert reached([2, None], group_1={"is_active": None}) == []


def test_a_ring_merges_no_rights() -> None:
    assert reached([1]) == [1]
    assert reached([2, 1]) == [1]
    assert reached([2, 3, 1]) == [1]


def test_a_chain_below_a_ring_ends_with_the_first_group_of_the_ring() -> None:
    assert reached([2, 3, 4, 5, 3]) == [1, 2, 3]
    assert reached([2, 2]) == [1, 2]


def test_a_ring_through_a_group_that_is_not_live_is_a_chain() -> None:
    assert reached([2, 3, 4, 1], group_4={"is_active": "false"}) == [1, 2, 3]
    assert reached([2, 3, 4, 1], group_4={"id": 4, "date_created": "?"}) == [1, 2, 3]


def test_nothing_that_is_not_live_gives_anything() -> None:
    tables: dict[str, list[dict[str, Any]]] = {
        "users": [{}],
        "user_groups": [{}],
        "user_group_members": [{"user_group_id": 1, "user_id": 1}],
        "meta_data_sources": [{}],
        "data_source_permissions": [
            {"meta_data_source_id": 1, "user_group_id": 1, "role_name": "Viewer"}
        ],
    }
    assert source_access(**tables) == [(1, 1, "Group - View Metadata")]
    for table, rows in tables.items():
        for fault in ({"is_active": "false"}, {"is_active": "yes"}, {"id": "x"}):
            assert source_access(**tables | {table: [rows[0] | fault]}) == []
        assert source_access(**tables | {table: []}) == []


def test_a_global_role_that_is_not_live_gives_nothing() -> None:
    for fault in ({"is_active": "false"}, {"is_active": None}, {"user_id": 2}):
        role = {"user_id": 1, "role_name": "Global.Admin"} | fault
        world: dict[str, list[dict[str, Any]]] = {"users": [{}, {"is_active": "0"}]}
        world |= {"meta_data_sources": [{}], "user_global_roles": [role]}
        assert source_access(**world) == []


# -- 4. access-resolution views ----------------------------------------------


def test_data_source_access_names_the_path_or_multiple() -> None:
    def entry(role: str, **holder: int) -> dict[str, Any]:
        return {"meta_data_source_id": 1, "role_name": role} | holder

    assert source_access(
        users=[{} for _ in range(9)],
        user_groups=[{}, {}],
        user_group_members=[
            {"user_group_id": 1, "user_id": 2},
            {"user_group_id": 2, "user_id": 2},
            {"user_group_id": 1, "user_id": 6},
        ],
        user_global_roles=[
            {"user_id": 3, "role_name": "Global.Admin"},
            {"user_id": 4, "role_name": "GLOBAL.DATASOURCEADMIN"},
            {"user_id": 7, "role_name": "Global.SecurityAdmin"},
        ],
        meta_data_sources=[{"owner_user_id": 5}],
        data_source_permissions=[
            entry("Tester", user_id=1),
            entry("ViewMetadata", user_id=1),
            entry("viewmetadata", user_group_id=1),
            entry("Viewer", user_group_id=2),
            entry("Viewer", user_id=6),
            entry("ViewTestResults", user_id=8),
            entry("ManagePermissions", user_id=9),
        ],
    ) == [
        (1, 1, "User - View Metadata"),
        (1, 2, "Group - View Metadata"),
        (1, 3, "Global Admin"),
        (1, 4, "Global Data Source Admin"),
        (1, 5, "Data Source Owner"),
        (1, 6, "Multiple"),
    ]


def test_project_access_takes_any_role_and_no_global_role() -> None:
    world = a_world(
        users=[{}, {}, {}, {}],
        user_groups=[{"parent_user_group_id": 2}, {}],
        user_group_members=[
            {"user_group_id": 1, "user_id": 2},
            {"user_group_id": 1, "user_id": 3},
        ],
        user_global_roles=[{"user_id": 4, "role_name": "Global.Admin"}],
        projects=[{}, {"is_active": "false"}],
        project_permissions=[
            {"project_id": 1, "user_id": 1},
            {"project_id": 1, "user_id": 1, "role_name": "export"},
            {"project_id": 1, "user_group_id": 1, "role_name": "Admin"},
            {"project_id": 1, "user_group_id": 2},
            {"project_id": 1, "user_id": 3},
            {"project_id": 2, "user_id": 1},
        ],
    )
    assert rows_of("vw_secure_user_project_access", world) == [
        (1, 1, "User"),
        (1, 2, "Group"),
        (1, 3, "User and Group"),
    ]


def results_world(**tables: list[dict[str, Any]]) -> World:
    """Six members of project 1, each with another right on data source 1."""
    return a_world(
        **{
            "users": [{} for _ in range(7)],
            "user_groups": [{}],
            "user_group_members": [{"user_group_id": 1, "user_id": 2}],
            "user_global_roles": [
                {"user_id": 3, "role_name": "Global.Admin"},
                {"user_id": 4, "role_name": "Global.DataSourceAdmin"},
                {"user_id": 7, "role_name": "Global.Admin"},
            ],
            "meta_data_sources": [{"owner_user_id": 5, "name": "one"}, {"name": "two"}],
            "data_source_permissions": [
                {"meta_data_source_id": 1, "role_name": "ViewTestResults"}
                | {"user_id": 1},
                {"meta_data_source_id": 1, "role_name": "Viewer", "user_group_id": 1},
                {"meta_data_source_id": 1, "role_name": "ViewMetadata", "user_id": 6},
            ],
            "projects": [{"name": "p"}],
            "project_permissions": [
                {"project_id": 1, "user_id": user} for user in range(1, 7)
            ],
            "project_data_sources": [
                {"project_id": 1, "meta_data_source_id": 1},
                {"project_id": 1, "meta_data_source_id": 2},
            ],
            "tests": [{"project_id": 1, "name": "t"}],
        }
        | tables
    )


def test_results_access_needs_the_link_the_membership_and_the_permission() -> None:
    view = "vw_secure_user_results_access"
    assert rows_of(view, results_world()) == [
        *((1, 1, user) for user in (1, 2, 3, 4, 5)),
        *((2, 1, user) for user in (3, 4)),
    ]
    link = {"project_id": 1, "meta_data_source_id": 1}
    for links in ([], [link | {"is_active": "false"}], [link | {"project_id": 2}]):
        assert rows_of(view, results_world(project_data_sources=links)) == []
    assert rows_of(view, results_world(project_permissions=[])) == []
    assert rows_of(view, results_world(projects=[{"is_active": None}])) == []


# -- 5. base datasets ----------------------------------------------------------


def catalogue(**tables: list[dict[str, Any]]) -> World:
    """A column of a table of a schema of a data source."""
    return a_world(
        **{
            "meta_data_sources": [{"id": 1, "name": "d"}],
            "meta_schemas": [{"id": 2, "meta_data_source_id": 1, "name": "s"}],
            "meta_tables": [
                {"id": 3, "meta_schema_id": 2, "name": "t", "table_type": "view"}
                | {"trust_score": "1.00005", "quality_score": "7"}
            ],
            "meta_columns": [
                {"id": 4, "meta_table_id": 3, "name": "c", "data_type": "int"}
            ],
        }
        | tables
    )


def test_the_catalogue_joins_names_down_from_the_data_source() -> None:
    world = catalogue()
    assert rows_of("vw_dataset_tables", world) == [
        (
            *(1, "d", 2, "s", 3, "t", "view", "d.s.t"),
            *(Decimal("1.0001"), Decimal("7.0000"), None),
        )
    ]
    assert rows_of("vw_dataset_columns", world) == [
        (1, "d", 2, "s", 3, "t", 4, "c", "d.s.t.c", "int", None)
    ]
    assert rows_of("vw_dataset_metadata_objects", world) == [
        (1, "d", "Column", 4, "c", "d.s.t.c"),
        (1, "d", "Schema", 2, "s", "d.s"),
        (1, "d", "Table", 3, "t", "d.s.t"),
    ]


def test_a_full_path_is_null_if_any_name_is() -> None:
    world = catalogue(
        meta_schemas=[{"id": 2, "meta_data_source_id": 1, "name": "\xa0"}]
    )
    columns = ("object_type", "object_name", "full_path")
    assert rows_of("vw_dataset_metadata_objects", world, *columns) == [
        ("Column", "c", None),
        ("Schema", None, None),
        ("Table", "t", None),
    ]


def test_the_catalogue_shows_nothing_below_what_is_not_live() -> None:
    sources = catalogue(meta_data_sources=[{"is_active": "false"}])
    assert rows_of("vw_dataset_metadata_objects", sources) == []
    schemas = [{"id": 2, "meta_data_source_id": 1, "is_active": None}]
    assert rows_of("vw_dataset_columns", catalogue(meta_schemas=schemas)) == []
    tables = [{"id": 3, "meta_schema_id": 2, "trust_score": "garbled"}]
    world = catalogue(meta_tables=tables)
    only_schema = [(1, "d", "Schema", 2, "s", "d.s")]
    assert rows_of("vw_dataset_metadata_objects", world) == only_schema
    world = catalogue(meta_tables=[{"id": 3, "meta_schema_id": 2, "is_active": "0"}])
    assert rows_of("vw_dataset_metadata_objects", world) == only_schema


def test_a_test_is_shown_whatever_became_of_its_data_sources() -> None:
    tests = [
        {"project_id": 1, "test_data_source_id": 9, "control_data_source_id": 8},
        {"project_id": 2},
    ]
    world = a_world(projects=[{}], tests=tests)
    columns = ("test_id", "test_data_source_id", "control_data_source_id")
    assert rows_of("vw_dataset_tests", world, *columns) == [(1, 9, 8)]


HISTORY = ("test_id", "test_name", "project_id", "project_name", "test_data_source")


def history(**tables: list[dict[str, Any]]) -> list[tuple]:
    """What an execution of test 1 on data source 1 says of its parents."""
    execution = {"test_id": 1, "test_data_source_id": 1}
    world = results_world(**{"test_executions": [execution]} | tables)
    return rows_of("vw_dataset_test_executions", world, *HISTORY)


def test_history_reads_the_winning_deliveries_of_its_parents_live_or_not() -> None:
    gone = {"is_active": "false"}
    assert history() == [(1, "t", 1, "p", "one")]
    assert history(
        tests=[
            {"id": 1, "project_id": 1, "name": "old"},
            {"id": 1, "project_id": 2, "name": "new", "date_modified": DAY_2} | gone,
        ],
        projects=[{"name": "p"}, {"name": "q"} | gone],
        meta_data_sources=[{"name": "one"} | gone],
    ) == [(1, "new", 2, "q", "one")]


def test_history_keeps_rows_whose_parents_were_rejected_or_never_came() -> None:
    garbled = {"date_created": "yesterday"}
    assert history(tests=[{"project_id": 1} | garbled]) == [
        (1, None, None, None, "one")
    ]
    assert history(projects=[garbled]) == [(1, "t", 1, None, "one")]
    assert history(tests=[]) == [(1, None, None, None, "one")]
    assert history(meta_data_sources=[garbled]) == [(1, "t", 1, "p", None)]
    assert history(
        tests=[{"id": 1, "project_id": 1, "name": name} for name in "ab"]
    ) == [(1, None, None, None, "one")]


def test_an_execution_that_is_not_live_is_no_history() -> None:
    assert history(test_executions=[{"test_id": 1, "is_active": "0"}]) == []


def test_job_executions_take_their_project_through_the_job() -> None:
    world = a_world(
        projects=[{"name": "p", "is_active": "false"}],
        jobs=[{"project_id": 1, "name": "j", "is_active": None}],
        job_executions=[
            {"job_id": 1, "batch_id": 5, "passed_count": 1, "error_count": "+02"},
            {"job_id": 9},
        ],
    )
    assert rows_of("vw_dataset_job_executions", world) == [
        (1, "p", 1, "j", 1, 5, None, None, None, 1, None, 2),
        (None, None, 9, None, 2, None, None, None, None, None, None, None),
    ]


def test_a_duration_is_cut_toward_zero() -> None:
    start = "2026-01-01 00:00:01.5"
    ends = ("2026-01-01 00:01:02.4", "2026-01-01 00:00:00.4", "2026-01-01 00:00:01")
    runs = [
        {"job_id": 1, "date_started": start, "date_completed": end}
        for end in (*ends, None)
    ]
    world = a_world(job_executions=runs)
    columns = ("job_execution_id", "duration")
    assert rows_of("vw_dataset_job_executions", world, *columns) == [
        (1, 60),
        (2, -1),
        (3, 0),
        (4, None),
    ]


def test_executions_are_numbered_newest_first_with_nulls_last_and_ids_last() -> None:
    runs = [
        {"id": number, "test_id": test, "date_started": started, "is_active": active}
        for number, test, started, active in (
            (1, 1, DAY_2, "true"),
            (2, 1, None, "true"),
            (3, 1, DAY_2, "true"),
            (4, 1, DAY_3, "false"),
            (5, 1, None, "true"),
            (6, 1, DAY_1, "true"),
            (7, 2, None, "true"),
            (8, 3, "0001-01-01 00:00:00", "true"),
            (9, 3, None, "true"),
        )
    ]
    columns = (
        "test_execution_id",
        "latest_test_execution_index",
        "earliest_test_execution_index",
    )
    world = a_world(test_executions=runs)
    assert rows_of("vw_dataset_test_executions", world, *columns) == [
        (1, 2, 4),
        (2, 5, 1),
        (3, 1, 5),
        (5, 4, 2),
        (6, 3, 3),
        (7, 1, 1),
        (8, 1, 2),
        (9, 2, 1),
    ]


def test_the_overall_status_is_the_result_of_the_latest_execution() -> None:
    runs = [
        {"test_id": 1, "code_test_evaluation_result_id": 24, "date_started": DAY_1},
        {"test_id": 1, "code_test_evaluation_result_id": 25, "date_started": DAY_2},
        {"test_id": 2, "code_test_evaluation_result_id": 26, "date_started": DAY_1},
        {"test_id": 2, "code_test_evaluation_result_id": 27, "date_started": DAY_2},
    ]
    world = a_world(projects=[{}], tests=[{"project_id": 1}] * 3, test_executions=runs)
    columns = ("test_id", "overall_result_status")
    assert rows_of("vw_dataset_tests", world, *columns) == [
        (1, "Failed"),
        (2, None),
        (3, None),
    ]
    columns = ("test_execution_id", "result")
    assert rows_of("vw_dataset_test_executions", world, *columns) == [
        (1, "Passed"),
        (2, "Failed"),
        (3, "Error"),
        (4, None),
    ]


# -- 5. effective permissions --------------------------------------------------


def permissions(world: World, *columns: str) -> list[tuple]:
    """Object type, object and permission by default."""
    columns = columns or ("object_type", "object_id", "permission_name")
    return rows_of("vw_dataset_effective_user_permissions", world, *columns)


DATA_SOURCE_NAMES = (
    *("Create Tests", "Edit Metadata", "Manage Connections", "Manage Permissions"),
    *("Manage Profiles", "Run Profile Sets", "Run Tests", "View Metadata"),
    "View Test Results",
)


def test_a_permission_row_describes_the_user_the_object_and_the_entry() -> None:
    world = a_world(
        users=[
            {"login_name": "l", "first_name": "f", "last_name": "n", "email": "e"}
            | {"time_zone": "z", "date_last_login": DAY_3, "created_by": "x"}
        ],
        reports=[{"name": "r"}],
        report_permissions=[
            {"report_id": 1, "user_id": 1, "role_name": "EDIT", "date_modified": DAY_2}
        ],
    )
    assert permissions(world, *COLUMNS["vw_dataset_effective_user_permissions"]) == [
        (
            *(1, "l", "f", "n", "e", datetime(2026, 1, 3), NEW_YEAR, NEW_YEAR),
            *("x", "bob", "z", "Report", 1, "r", "Edit Report"),
            *(NEW_YEAR, datetime(2026, 1, 2), "ann", "bob"),
        )
    ]


def test_every_project_member_is_a_project_member() -> None:
    entries = [{"project_id": 1, "user_id": 1, "role_name": "LabelManager"}]
    world = a_world(users=[{}], projects=[{}], project_permissions=entries)
    assert permissions(world, "permission_name") == [
        ("Label Manager",),
        ("Project Member",),
    ]


def test_each_role_grants_the_permissions_it_is_made_of() -> None:
    def granted(table: str, objects: str, key: str, role: str) -> list[str]:
        entries = [{key: 1, "user_id": 1, "role_name": role}]
        world = a_world(users=[{}], **{objects: [{}], table: entries})
        return [name for (name,) in permissions(world, "permission_name")]

    source = ("data_source_permissions", "meta_data_sources", "meta_data_source_id")
    viewer = ["View Metadata", "View Test Results"]
    tester = ["Create Tests", "Run Profile Sets", "Run Tests", *viewer]
    assert granted(*source, "Viewer") == viewer
    assert granted(*source, "Tester") == tester
    for name in DATA_SOURCE_NAMES:
        assert granted(*source, name.replace(" ", "")) == [name]
    project = ("project_permissions", "projects", "project_id")
    for name in ("Create Jobs", "Create Tests", "Export", "Import", "Label Manager"):
        role = name.replace(" ", "")
        assert granted(*project, role) == sorted([name, "Project Member"])
    assert granted(*project, "Admin") == ["Project Admin", "Project Member"]
    for name in ("View", "Edit", "Manage"):
        report = ("report_permissions", "reports", "report_id")
        assert granted(*report, name) == [f"{name} Report"]


def test_a_global_admin_holds_every_permission_but_those_of_projects() -> None:
    world = a_world(
        users=[{}],
        user_global_roles=[{"user_id": 1, "role_name": "Global.Admin"}],
        meta_data_sources=[{"id": 5}, {"id": 6, "is_active": "false"}],
        projects=[{"id": 7}],
        reports=[{"id": 8}],
    )
    assert permissions(world) == sorted(
        [
            *(("Data Source", 5, name) for name in DATA_SOURCE_NAMES),
            ("Data Source", 5, "Global Admin"),
            ("Project", 7, "Global Admin"),
            *(("Report", 8, f"{verb} Report") for verb in ("Edit", "Manage", "View")),
            ("Report", 8, "Global Admin"),
        ]
    )


def test_data_source_admins_and_owners_hold_every_permission_of_what_is_theirs() -> (
    None
):
    world = a_world(
        users=[{}, {}],
        user_global_roles=[{"user_id": 1, "role_name": "Global.DataSourceAdmin"}],
        meta_data_sources=[{"owner_user_id": 2}],
        projects=[{}],
        reports=[{"owner_user_id": 2}, {"owner_user_id": 9}],
    )
    sources = ("Global Data Source Admin", "Data Source Owner")
    reports = ("Edit Report", "Manage Report", "Report Owner", "View Report")
    columns = ("user_id", "object_type", "object_id", "permission_name")
    assert permissions(world, *columns) == sorted(
        [
            *(
                (user, "Data Source", 1, name)
                for user in (1, 2)
                for name in (*DATA_SOURCE_NAMES, sources[user - 1])
            ),
            *((2, "Report", 1, name) for name in reports),
        ]
    )


def authors(*entries: dict[str, Any]) -> list[tuple]:
    """The date and author of the one permission that these entries give user 1."""
    rights = [
        {"report_id": 1, "role_name": "View", "created_by": f"entry {number}"} | entry
        for number, entry in enumerate(entries, start=1)
    ]
    world = a_world(
        users=[{}],
        user_groups=[{}, {}],
        user_group_members=[
            {"user_group_id": 1, "user_id": 1},
            {"user_group_id": 2, "user_id": 1},
        ],
        reports=[{}],
        report_permissions=rights,
    )
    return permissions(world, "permission_date_created", "permission_created_by")


def test_a_direct_grant_names_the_dates_before_an_earlier_group_grant() -> None:
    group = {"user_group_id": 1, "date_created": DAY_1}
    assert authors(group, {"user_id": 1, "date_created": DAY_2}) == [
        (datetime(2026, 1, 2), "entry 2")
    ]
    assert authors(group, {"user_id": 1, "date_created": None}) == [(None, "entry 2")]


def test_of_several_grants_the_earliest_then_the_smallest_id_names_the_dates() -> None:
    undated = {"user_id": 1, "date_created": None}
    late, early = ({"user_id": 1, "date_created": day} for day in (DAY_2, DAY_1))
    assert authors(undated, late, early) == [(NEW_YEAR, "entry 3")]
    assert authors(early | {"id": 30}, early | {"id": 4}) == [(NEW_YEAR, "entry 2")]
    assert authors(undated | {"id": 30}, undated | {"id": 4}) == [(None, "entry 2")]
    groups = ({"user_group_id": 1, "date_created": DAY_2}, {"user_group_id": 2})
    assert authors(*groups) == [(NEW_YEAR, "entry 2")]


def test_an_implicit_permission_takes_its_dates_from_a_grant_if_there_is_one() -> None:
    world = a_world(
        users=[{}],
        reports=[{"owner_user_id": 1}],
        report_permissions=[{"report_id": 1, "user_id": 1, "role_name": "View"}],
    )
    columns = ("permission_name", "permission_date_created", "permission_modified_by")
    assert permissions(world, *columns) == [
        ("Edit Report", None, None),
        ("Manage Report", None, None),
        ("Report Owner", None, None),
        ("View Report", NEW_YEAR, "bob"),
    ]


# -- 6. secure datasets ----------------------------------------------------------


def test_the_catalogue_is_seen_with_data_source_access() -> None:
    world = catalogue(
        users=[{}, {}],
        data_source_permissions=[
            {"meta_data_source_id": 1, "user_id": 2, "role_name": "Viewer"}
        ],
    )
    for name in ("tables", "columns", "metadata_objects"):
        base = rows_of(f"vw_dataset_{name}", world)
        assert rows_of(f"vw_secure_dataset_{name}", world) == [
            (*row, 2, "User - View Metadata") for row in base
        ]


def test_tests_and_jobs_are_seen_with_project_access_alone() -> None:
    world = a_world(
        users=[{}, {}],
        user_global_roles=[{"user_id": 2, "role_name": "Global.Admin"}],
        projects=[{}],
        project_permissions=[{"project_id": 1, "user_id": 1}],
        tests=[{"project_id": 1}],
        jobs=[{"project_id": 1}],
        job_executions=[{"job_id": 1}, {"job_id": 2}],
    )
    for name in ("tests", "jobs", "job_executions"):
        secure = rows_of(f"vw_secure_dataset_{name}", world)
        assert [row[-2:] for row in secure] == [(1, "User")]
        assert secure[0][:-2] == rows_of(f"vw_dataset_{name}", world)[0]


def test_executions_are_seen_with_results_access_on_every_named_side() -> None:
    sides = ((1, None), (1, 1), (1, 2), (2, 1), (None, 1), (None, None), (3, None))
    runs = [
        {"test_id": 1, "test_data_source_id": test, "control_data_source_id": control}
        for test, control in (*sides, (1, 3))
    ]
    world = results_world(test_executions=runs)
    relation = "vw_secure_dataset_test_executions"
    both = (3, 4)
    assert rows_of(relation, world, "test_execution_id", "user_id") == [
        *((1, user) for user in range(1, 6)),
        *((2, user) for user in range(1, 6)),
        *((3, user) for user in both),
        *((4, user) for user in both),
    ]


def test_template_executions_are_seen_by_their_own_two_data_sources() -> None:
    runs = [
        {"test_id": 1, "meta_data_source_id": source, "control_data_source_id": control}
        | {"code_test_evaluation_result_id": 25}
        for source, control in ((1, None), (1, 2), (None, 1))
    ]
    world = results_world(template_test_executions=runs)
    assert rows_of("vw_dataset_template_test_executions", world)[1] == (
        *(2, 1, "t", 1, "p", 1, "one", 2, "two", None, 25, "Failed"),
        *(None, None, None, None),
    )
    relation = "vw_secure_dataset_template_test_executions"
    assert rows_of(relation, world, "template_test_execution_id", "user_id") == [
        *((1, user) for user in range(1, 6)),
        *((2, user) for user in (3, 4)),
    ]


def test_executions_of_a_test_that_moved_are_seen_in_its_new_project() -> None:
    world = results_world(
        projects=[{}, {}],
        tests=[{"project_id": 2, "is_active": "false"}],
        project_permissions=[
            {"project_id": 1, "user_id": 1},
            {"project_id": 2, "user_id": 3},
        ],
        project_data_sources=[
            {"project_id": project, "meta_data_source_id": 1} for project in (1, 2)
        ],
        test_executions=[{"test_id": 1, "test_data_source_id": 1}],
    )
    relation = "vw_secure_dataset_test_executions"
    assert rows_of(relation, world, "project_id", "user_id") == [(2, 3)]


def test_an_event_is_seen_by_its_context() -> None:
    keys = {"project_id": 1, "meta_data_source_id": 1}
    events = [{"context": context} | keys for context in ("PROJECT", "Data source")]
    world = results_world(
        project_permissions=[{"project_id": 1, "user_id": 2}],
        data_source_permissions=[
            {"meta_data_source_id": 1, "user_group_id": 1, "role_name": "Viewer"}
        ],
        user_global_roles=[],
        events=[*events, {"context": "Global"} | keys, {"context": "Global"}],
    )
    columns = ("event_id", "context", "user_id", "access_type")
    assert rows_of("vw_secure_dataset_event_history", world, *columns) == [
        (1, "Project", 2, "User"),
        (2, "Data Source", 2, "Group - View Metadata"),
        (2, "Data Source", 5, "Data Source Owner"),
        (3, "Global", None, None),
        (4, "Global", None, None),
    ]


def test_a_secure_dataset_adds_the_user_and_how_to_every_column() -> None:
    assert len(COLUMNS) == 22
    for relation, columns in COLUMNS.items():
        if relation.startswith("vw_secure_dataset_"):
            base = COLUMNS[relation.replace("vw_secure_", "vw_")]
            extra = [] if "test_executions" in relation else ["access_type"]
            assert columns == [*base, "user_id", *extra]


# -- worlds on disk ----------------------------------------------------------------


def test_a_world_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    odd = 'a "b", c\\\r\nd\ne\r\u2028\x85\x1f'
    users = [{"login_name": odd, "email": " ", "last_name": "null"}, {"id": "'\t"}]
    world = a_world(users=users)
    write_world(world, tmp_path)
    assert read_world(tmp_path) == world
    header = (tmp_path / "user_group_members.csv").read_text(encoding="utf-8")
    assert header.strip() == (
        "id,user_group_id,user_id,is_active,date_created,date_modified,created_by,"
        "modified_by,sf_date_created"
    )
