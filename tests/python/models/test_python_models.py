"""The functions of the Python models, each over frames of a few rows."""

from datetime import datetime

import pytest
from pipeline import load_python_model
from projects import ROOT
from pyspark.sql import DataFrame, Row

from secure_datasets.questions.near_misses import GLOBAL_REACH

pytestmark = pytest.mark.spark

MODELS = ROOT / "models"
groups_model = load_python_model(MODELS / "intermediate/int_user_group_ancestors.py")
members_model = load_python_model(MODELS / "intermediate/int_user_group_memberships.py")
paths_model = load_python_model(MODELS / "intermediate/int_access_paths.py")
viewers_model = load_python_model(
    MODELS / "access/vw_secure_user_data_source_access.py"
)
project_model = load_python_model(MODELS / "access/vw_secure_user_project_access.py")
results_model = load_python_model(MODELS / "access/vw_secure_user_results_access.py")

FIRST, LATER = datetime(2026, 1, 1), datetime(2026, 2, 1)


@pytest.fixture(scope="module")
def frame(spark):
    """Make a frame: `frame("user_id bigint", (1,), (2,))`."""

    def make(schema: str, *rows: tuple) -> DataFrame:
        return spark.createDataFrame(list(rows), schema).coalesce(1)

    return make


def assert_same_rows(result: DataFrame, expected, **options: bool) -> None:
    """Compare the rows of a result, in any order, with those that are expected."""
    # It imports pandas, which takes as long as many tests.
    from pyspark.testing import assertDataFrameEqual

    assertDataFrameEqual(result, expected, **options)


def described(result: DataFrame) -> list[str]:
    """The columns of a result with their types, in order."""
    return [f"{field.name} {field.dataType.simpleString()}" for field in result.schema]


# ---------------------------------------------------------------------------
# int_user_group_ancestors
# ---------------------------------------------------------------------------

# Families of groups that have nothing to do with each other, so that one run of the
# doubling serves every test: (group, parent, is live).
GROUP = "user_group_id bigint, parent_user_group_id bigint, is_live boolean"
LONG_CHAIN = [(1000 + place, 1001 + place, True) for place in range(33)]
FOREST = [
    # A group on its own; two levels; three levels.
    (1, None, True),
    (10, 11, True),
    (11, 12, True),
    (12, None, True),
    # A parent that is not there; one that is not live; one that is not live halfway.
    (20, 29, True),
    (21, 22, True),
    (22, 23, False),
    (23, None, True),
    # Rings of one, two and three groups.
    (31, 31, True),
    (41, 42, True),
    (42, 41, True),
    (51, 52, True),
    (52, 53, True),
    (53, 51, True),
    # Chains that end in a ring of three: at its first group, and further below.
    (61, 62, True),
    (62, 63, True),
    (63, 64, True),
    (64, 65, True),
    (65, 63, True),
    (66, 31, True),
    # A ring that one switched-off group opens.
    (71, 72, True),
    (72, 73, False),
    (73, 71, True),
    # A tree: two children share a parent.
    (81, 80, True),
    (82, 80, True),
    (80, None, True),
    *LONG_CHAIN,
    (1033, None, True),
]


@pytest.fixture(scope="module", params=[100_000, 100, 0], ids="up to {}".format)
def ancestors(frame, request) -> DataFrame:
    """What user_group_ancestors makes of the forest, on the driver and by Spark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups_model, "MOST_ON_THE_DRIVER", request.param)
        found = groups_model.user_group_ancestors(frame(GROUP, *FOREST))
    return found.localCheckpoint()


@pytest.mark.parametrize(("most", "is_small"), [(100_000, True), (100, False)])
def test_few_ancestors_are_found_on_the_driver(frame, monkeypatch, most, is_small):
    monkeypatch.setattr(groups_model, "MOST_ON_THE_DRIVER", most)
    links = groups_model.parent_links(frame(GROUP, *FOREST))
    assert links.count() < most
    assert (groups_model.above_on_the_driver(links) is not None) == is_small


def chain(ancestors: DataFrame, group: int) -> list[int]:
    """The groups whose rights a group passes on, nearest first."""
    rows = ancestors.where(f"user_group_id = {group}").orderBy("depth").collect()
    assert [row.depth for row in rows] == list(range(len(rows)))
    return [row.ancestor_user_group_id for row in rows]


def test_a_group_passes_on_its_own_rights_and_those_of_each_ancestor(ancestors):
    assert_same_rows(
        ancestors.where("user_group_id in (1, 10, 11, 12)"),
        [
            Row(user_group_id=1, ancestor_user_group_id=1, depth=0),
            Row(user_group_id=10, ancestor_user_group_id=10, depth=0),
            Row(user_group_id=10, ancestor_user_group_id=11, depth=1),
            Row(user_group_id=10, ancestor_user_group_id=12, depth=2),
            Row(user_group_id=11, ancestor_user_group_id=11, depth=0),
            Row(user_group_id=11, ancestor_user_group_id=12, depth=1),
            Row(user_group_id=12, ancestor_user_group_id=12, depth=0),
        ],
    )


def test_children_of_one_parent_do_not_pass_on_each_other(ancestors):
    assert chain(ancestors, 81) == [81, 80]
    assert chain(ancestors, 82) == [82, 80]
    assert chain(ancestors, 80) == [80]


def test_a_chain_ends_before_a_parent_that_is_missing(ancestors):
    assert chain(ancestors, 20) == [20]


def test_a_chain_ends_before_a_parent_that_is_not_live(ancestors):
    assert chain(ancestors, 21) == [21]


def test_a_group_that_is_not_live_passes_on_nothing(ancestors):
    assert chain(ancestors, 22) == []
    assert chain(ancestors, 23) == [23]


@pytest.mark.parametrize("group", [31, 41, 42, 51, 52, 53])
def test_a_group_in_a_ring_passes_on_only_its_own_rights(ancestors, group):
    assert chain(ancestors, group) == [group]


def test_a_chain_from_below_a_ring_ends_with_the_first_group_of_the_ring(ancestors):
    assert chain(ancestors, 61) == [61, 62, 63]
    assert chain(ancestors, 62) == [62, 63]
    assert chain(ancestors, 66) == [66, 31]


def test_a_ring_with_a_group_that_is_not_live_is_a_chain(ancestors):
    assert chain(ancestors, 73) == [73, 71]
    assert chain(ancestors, 71) == [71]


def test_a_chain_of_33_levels_is_followed_to_its_end(ancestors):
    assert chain(ancestors, 1000) == list(range(1000, 1034))


def test_no_groups_at_all_are_no_ancestors(frame):
    result = groups_model.user_group_ancestors(frame(GROUP))
    assert result.collect() == []
    assert described(result) == [
        "user_group_id bigint",
        "ancestor_user_group_id bigint",
        "depth int",
    ]


# ---------------------------------------------------------------------------
# int_user_group_memberships
# ---------------------------------------------------------------------------

MEMBERSHIP = "user_id bigint, user_group_id bigint, depth int"


def test_memberships_reach_the_ancestors_of_each_group_once(frame):
    users = frame("user_id bigint, is_live boolean", (1, True), (2, False), (3, True))
    members = frame(
        "user_id bigint, user_group_id bigint, is_live boolean",
        # A diamond: both groups lie below 30, and the user is in one of them twice.
        (1, 10, True),
        (1, 10, True),
        (1, 20, True),
        # A user that is not live; a user that is not there.
        (2, 10, True),
        (9, 10, True),
        # A membership that is not live; a group that is not there.
        (3, 20, False),
        (3, 99, True),
        # The nearest way counts: 30 itself rather than through 20.
        (3, 30, True),
    )
    ancestors = frame(
        "user_group_id bigint, ancestor_user_group_id bigint, depth int",
        (10, 10, 0),
        (10, 20, 1),
        (10, 30, 2),
        (20, 20, 0),
        (20, 30, 1),
        (30, 30, 0),
    )
    assert_same_rows(
        members_model.user_group_memberships(users, members, ancestors),
        frame(MEMBERSHIP, (1, 10, 0), (1, 20, 0), (1, 30, 1), (3, 30, 0)),
        ignoreNullable=True,
    )


# ---------------------------------------------------------------------------
# int_access_paths
# ---------------------------------------------------------------------------

PERMISSION = (
    "object_type string, object_id bigint, user_id bigint, user_group_id bigint,"
    " role_name string, grant_table string, grant_id bigint, date_created timestamp,"
    " date_modified timestamp, created_by string, modified_by string"
)
ROLE = "object_type string, role_name string, permission_name string"
GLOBAL_ROLE = (
    "user_global_role_id bigint, user_id bigint, role_name string, is_live boolean,"
    " date_created timestamp, date_modified timestamp, created_by string,"
    " modified_by string"
)
OBJECT = (
    "object_type string, object_id bigint, object_name string, owner_user_id bigint"
)
BY_WHOM = (FIRST, LATER, "ann", "bob")


def permission(object_type, object_id, grant_id, role_name, user=None, group=None):
    """A permission row in the shape of live_permissions."""
    table = object_type.lower().replace(" ", "_") + "_permissions"
    return (
        *(object_type, object_id, user, group, role_name, table, grant_id),
        *BY_WHOM,
    )


def held(paths: DataFrame, *columns: str) -> set[tuple]:
    """These columns of the paths; no path may be there twice."""
    rows = [tuple(row) for row in paths.select(*columns).collect()]
    assert len(rows) == len(set(rows))
    return set(rows)


@pytest.fixture(scope="module")
def roles(frame) -> DataFrame:
    """A part of the role table that has every kind of entry."""
    return frame(
        ROLE,
        ("Data Source", "ViewMetadata", "View Metadata"),
        ("Data Source", "ViewTestResults", "View Test Results"),
        ("Data Source", "Viewer", "View Metadata"),
        ("Data Source", "Viewer", "View Test Results"),
        ("Project", "Admin", "Project Admin"),
        ("Project", None, "Project Member"),
        ("Report", "View", "View Report"),
        ("Global", "Global.Admin", "Global Admin"),
        ("Global", "Global.DataSourceAdmin", "Global Data Source Admin"),
    )


@pytest.fixture(scope="module")
def users(frame) -> DataFrame:
    """Ten live users."""
    return frame("user_id bigint", *[(user,) for user in range(1, 11)])


def test_only_live_permission_rows_are_taken_and_keep_their_dates(frame):
    staged = frame(
        "project_permission_id bigint, project_id bigint, user_id bigint,"
        " user_group_id bigint, role_name string, is_live boolean,"
        " date_created timestamp, date_modified timestamp, created_by string,"
        " modified_by string",
        (1, 7, 3, None, None, True, *BY_WHOM),
        (2, 7, None, 5, "Admin", True, *BY_WHOM),
        (3, 7, 4, None, None, False, *BY_WHOM),
    )
    assert_same_rows(
        paths_model.live_permissions(
            staged, "Project", "project_id", "project_permissions"
        ),
        frame(
            PERMISSION,
            permission("Project", 7, 1, None, user=3),
            permission("Project", 7, 2, "Admin", group=5),
        ),
        ignoreNullable=True,
    )


def test_a_permission_row_reaches_its_user_or_each_member_of_its_group(
    frame, users, roles
):
    permissions = frame(
        PERMISSION,
        permission("Data Source", 1, 11, "ViewMetadata", user=1),
        permission("Data Source", 1, 12, "ViewMetadata", group=50),
        # Neither this user nor anyone of this group is there.
        permission("Data Source", 1, 13, "ViewMetadata", user=99),
        permission("Data Source", 1, 14, "ViewMetadata", group=60),
    )
    memberships = frame("user_id bigint, user_group_id bigint", (2, 50), (3, 50))
    paths = paths_model.explicit_paths(permissions, users, memberships, roles)
    assert held(paths, "user_id", "path_kind", "user_group_id", "grant_id") == {
        (1, "User", None, 11),
        (2, "Group", 50, 12),
        (3, "Group", 50, 12),
    }
    assert held(paths.where("user_id = 1"), *paths_model.GRANT) == {
        ("data_source_permissions", 11, *BY_WHOM)
    }


def test_a_role_brings_its_permissions_and_a_project_entry_also_membership(
    frame, users, roles
):
    permissions = frame(
        PERMISSION,
        permission("Data Source", 1, 11, "ViewMetadata", user=1),
        permission("Data Source", 1, 12, "Viewer", user=2),
        permission("Project", 1, 13, None, user=3),
        permission("Project", 1, 14, "Admin", user=4),
        permission("Report", 1, 15, "View", user=5),
        # A role without an entry brings nothing; on a project it is membership still.
        permission("Data Source", 1, 16, "RunTests", user=6),
        permission("Project", 1, 17, "Export", user=7),
    )
    nobody = frame("user_id bigint, user_group_id bigint")
    paths = paths_model.explicit_paths(permissions, users, nobody, roles)
    assert held(paths, "user_id", "object_type", "permission_name") == {
        (1, "Data Source", "View Metadata"),
        (2, "Data Source", "View Metadata"),
        (2, "Data Source", "View Test Results"),
        (3, "Project", "Project Member"),
        (4, "Project", "Project Admin"),
        (4, "Project", "Project Member"),
        (5, "Report", "View Report"),
        (7, "Project", "Project Member"),
    }


@pytest.fixture(scope="module")
def objects(frame) -> DataFrame:
    """One object of each type, the two that can have an owner owned by user 7."""
    return frame(
        OBJECT,
        ("Data Source", 1, "ledger", 7),
        ("Project", 2, "close", None),
        ("Report", 3, "aging", 7),
        # Nobody owns this one; the owner of the next is not live.
        ("Report", 4, "board", None),
        ("Data Source", 5, "cards", 99),
    )


def test_a_global_role_reaches_every_object_of_the_types_it_governs(
    frame, users, roles, objects
):
    global_roles = frame(
        GLOBAL_ROLE,
        (21, 1, "Global.Admin", True, *BY_WHOM),
        (22, 2, "Global.DataSourceAdmin", True, *BY_WHOM),
        # These hold nothing here, or are not live.
        (23, 3, "Global.SecurityAdmin", True, *BY_WHOM),
        (24, 4, "Global.Admin", False, *BY_WHOM),
        (25, 99, "Global.Admin", True, *BY_WHOM),
    )
    holders = paths_model.holders_by_global_role(global_roles, users, objects, roles)
    columns = ["user_id", "path_kind", "object_type", "object_id", "grant_id"]
    assert held(holders, *columns) == {
        (1, "Global Admin", "Data Source", 1, 21),
        (1, "Global Admin", "Data Source", 5, 21),
        (1, "Global Admin", "Project", 2, 21),
        (1, "Global Admin", "Report", 3, 21),
        (1, "Global Admin", "Report", 4, 21),
        (2, "Global Data Source Admin", "Data Source", 1, 22),
        (2, "Global Data Source Admin", "Data Source", 5, 22),
    }


def test_a_live_owner_holds_the_data_sources_and_reports_owned(users, objects):
    owners = paths_model.holders_by_ownership(objects, users)
    columns = ["user_id", "path_kind", "object_type", "grant_table", "grant_id"]
    assert held(owners, *columns) == {
        (7, "Data Source Owner", "Data Source", "meta_data_sources", 1),
        (7, "Report Owner", "Report", "reports", 3),
    }


HOLDER = (
    "user_id bigint, object_type string, object_id bigint, path_kind string,"
    " user_group_id bigint, grant_table string, grant_id bigint,"
    " date_created timestamp, date_modified timestamp, created_by string,"
    " modified_by string"
)


def test_an_implicit_holder_holds_every_permission_of_the_type_once(frame, roles):
    holders = frame(
        HOLDER,
        (1, "Data Source", 1, "Global Admin", None, "user_global_roles", 21, *BY_WHOM),
        (7, "Report", 3, "Report Owner", None, "reports", 3, *[None] * 4),
    )
    paths = paths_model.implicit_paths(holders, roles)
    assert held(paths, "user_id", "object_type", "permission_name", "grant_id") == {
        (1, "Data Source", "Global Admin", 21),
        (1, "Data Source", "View Metadata", 21),
        (1, "Data Source", "View Test Results", 21),
        (7, "Report", "Report Owner", 3),
        (7, "Report", "View Report", 3),
    }


def test_an_implicit_holder_of_a_project_is_no_member_of_it(frame, roles):
    holders = frame(
        HOLDER,
        (1, "Project", 2, "Global Admin", None, "user_global_roles", 21, *BY_WHOM),
    )
    paths = paths_model.implicit_paths(holders, roles)
    assert held(paths, "object_type", "permission_name") == {
        ("Project", "Global Admin")
    }


def test_all_paths_come_from_live_users_and_live_objects(frame, roles, objects):
    users = frame("user_id bigint, is_live boolean", (1, True), (2, False), (7, True))
    permissions = frame(
        PERMISSION,
        permission("Project", 2, 11, None, user=1),
        permission("Project", 2, 12, None, user=2),
        # A data source has the id 1, but no project or report.
        permission("Project", 1, 13, None, user=1),
        permission("Report", 1, 14, "View", user=1),
    )
    global_roles = frame(GLOBAL_ROLE, (21, 2, "Global.Admin", True, *BY_WHOM))
    memberships = frame(MEMBERSHIP)
    paths = paths_model.access_paths(
        permissions, global_roles, users, memberships, objects, roles
    )
    columns = ["user_id", "object_type", "object_id", "path_kind", "permission_name"]
    assert held(paths, *columns) == {
        (1, "Project", 2, "User", "Project Member"),
        (7, "Data Source", 1, "Data Source Owner", "Data Source Owner"),
        (7, "Data Source", 1, "Data Source Owner", "View Metadata"),
        (7, "Data Source", 1, "Data Source Owner", "View Test Results"),
        (7, "Report", 3, "Report Owner", "Report Owner"),
        (7, "Report", 3, "Report Owner", "View Report"),
    }
    assert described(paths) == [
        "user_id bigint",
        "object_type string",
        "object_id bigint",
        "permission_name string",
        "path_kind string",
        "user_group_id bigint",
        "grant_table string",
        "grant_id bigint",
        "date_created timestamp",
        "date_modified timestamp",
        "created_by string",
        "modified_by string",
    ]


# ---------------------------------------------------------------------------
# The three access views
# ---------------------------------------------------------------------------

PATH = (
    "user_id bigint, object_type string, object_id bigint, permission_name string,"
    " path_kind string, user_group_id bigint"
)


def views(user: int, path_kind: str, group: int | None = None) -> tuple:
    """A path to View Metadata on the data source 1."""
    return (user, "Data Source", 1, "View Metadata", path_kind, group)


def test_data_source_access_names_the_kind_of_path_or_multiple(frame):
    paths = frame(
        PATH,
        views(1, "User"),
        views(2, "Group", 50),
        views(3, "Global Admin"),
        views(4, "Global Data Source Admin"),
        views(5, "Data Source Owner"),
        # Two groups, or two entries, are one kind.
        views(6, "Group", 50),
        views(6, "Group", 60),
        views(7, "User"),
        views(7, "User"),
        views(8, "User"),
        views(8, "Group", 50),
        views(9, "Global Admin"),
        views(9, "Global Data Source Admin"),
    )
    assert_same_rows(
        viewers_model.data_source_access(paths),
        frame(
            "meta_data_source_id bigint, user_id bigint, access_type string",
            (1, 1, "User - View Metadata"),
            (1, 2, "Group - View Metadata"),
            (1, 3, "Global Admin"),
            (1, 4, "Global Data Source Admin"),
            (1, 5, "Data Source Owner"),
            (1, 6, "Group - View Metadata"),
            (1, 7, "User - View Metadata"),
            (1, 8, "Multiple"),
            (1, 9, "Multiple"),
        ),
        ignoreNullable=True,
    )


def test_data_source_access_asks_for_view_metadata_on_a_data_source(frame):
    paths = frame(
        PATH,
        (1, "Data Source", 1, "View Test Results", "User", None),
        (2, "Data Source", 1, "Global Admin", "Global Admin", None),
        (3, "Report", 1, "View Metadata", "User", None),
    )
    assert viewers_model.data_source_access(paths).collect() == []


def test_project_access_is_by_user_by_group_or_both(frame):
    def member(user: int, path_kind: str, group: int | None = None) -> tuple:
        return (user, "Project", 1, "Project Member", path_kind, group)

    paths = frame(
        PATH,
        member(1, "User"),
        member(1, "User"),
        member(2, "Group", 50),
        member(2, "Group", 60),
        member(3, "User"),
        member(3, "Group", 50),
        # The role is no membership, nor is any permission of another type.
        (4, "Project", 1, "Global Admin", "Global Admin", None),
        (5, "Project", 1, "Project Admin", "User", None),
        (6, "Data Source", 1, "Project Member", "User", None),
    )
    assert_same_rows(
        project_model.project_access(paths),
        frame(
            "project_id bigint, user_id bigint, access_type string",
            (1, 1, "User"),
            (1, 2, "Group"),
            (1, 3, "User and Group"),
        ),
        ignoreNullable=True,
    )


def may_see_results(user: int, data_source: int, path_kind: str = "User") -> tuple:
    """A path to View Test Results."""
    return (user, "Data Source", data_source, "View Test Results", path_kind, None)


def test_results_access_takes_a_live_link_a_membership_and_the_permission(frame):
    paths = frame(
        PATH,
        may_see_results(1, 10),
        may_see_results(2, 10),
        may_see_results(1, 20),
        may_see_results(1, 30),
        # View Metadata, and the permission on something else, do not count.
        (3, "Data Source", 10, "View Metadata", "User", None),
        (3, "Report", 10, "View Test Results", "User", None),
    )
    links = frame(
        "project_id bigint, meta_data_source_id bigint, is_live boolean",
        (1, 10, True),
        (1, 20, False),
        (2, 30, True),
    )
    members = frame("project_id bigint, user_id bigint", (1, 1), (1, 3), (2, 2))
    assert_same_rows(
        results_model.results_access(paths, links, members),
        frame(
            "meta_data_source_id bigint, project_id bigint, user_id bigint", (10, 1, 1)
        ),
        ignoreNullable=True,
    )


def test_results_access_has_one_row_however_often_linked_and_permitted(frame):
    paths = frame(
        PATH,
        may_see_results(1, 10),
        may_see_results(1, 10, "Group"),
        may_see_results(1, 10, "Global Admin"),
    )
    links = frame(
        "project_id bigint, meta_data_source_id bigint, is_live boolean",
        *[(1, 10, True)] * 2,
        (2, 10, True),
    )
    members = frame("project_id bigint, user_id bigint", (1, 1), (2, 1))
    result = results_model.results_access(paths, links, members)
    assert held(result, "meta_data_source_id", "project_id", "user_id") == {
        (10, 1, 1),
        (10, 2, 1),
    }


def test_the_answers_of_why_know_what_global_roles_reach():
    # On projects a global role brings its own name, which no tier asks for.
    reach = {
        kind: tuple(name for name in types if name != paths_model.PROJECT)
        for kind, types in paths_model.GLOBAL_ROLE_REACH.items()
    }
    assert reach == GLOBAL_REACH
