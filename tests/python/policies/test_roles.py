"""R14, R21: roles that nobody can hold, or several groups bear; masks in doubt."""

from __future__ import annotations

import json

import pytest
from policy_sandbox import Sandbox, config

from secure_datasets.render.laws.roles import roles_of_policies

GROUPS = (
    "user_group_id bigint, name string, parent_user_group_id bigint, is_live boolean,"
    " rejection_reason string, raw_id string, raw_row string"
)
MEMBERS = (
    "user_group_member_id bigint, user_group_id bigint, user_id bigint,"
    " is_live boolean, rejection_reason string, raw_id string, raw_row string"
)
GLOBAL_ROLES = "rejection_reason string, raw_id string, raw_row string"
BY_ROLE = "role: A, resource: runs.amount, mask: 0"
NOT_BORNE = "no live group bears it"


def group(key: int, name: str | None, parent: int | None = None, is_live=True) -> tuple:
    """A group whose row can be used."""
    return (key, name, parent, is_live, None, None, None)


GARBLED = "unreadable date_created"


def rejected_group(
    key: int, name: str, parent: str = "", reason: str = GARBLED, **more: str
) -> tuple:
    """A group whose row can't be used, with what was delivered."""
    row = {"name": name, "parent_user_group_id": parent, "is_active": "true"} | more
    return (key, None, None, False, reason, str(key), json.dumps(row))


def member(key: int, of_group: int, is_live: bool = True) -> tuple:
    """A membership whose row can be used."""
    return (key, of_group, 1, is_live, None, None, None)


def rejected_member(
    key: int, of_group: str, reason: str = GARBLED, **more: str
) -> tuple:
    """A membership whose row can't be used."""
    row = {"user_group_id": of_group, "user_id": "1", "is_active": "true"} | more
    return (key, None, None, False, reason, str(key), json.dumps(row))


# A, the group below it, and one that has nothing to do with them.
SOUND = [group(1, "A"), group(2, "Below A", 1), group(3, "Other")]


@pytest.fixture
def world():
    """Make the tables of groups, memberships and roles."""
    sandbox = Sandbox()

    def call(groups: list, members: list = (), global_roles: list = ()) -> Sandbox:
        sandbox.table("stg_user_groups", GROUPS, groups)
        sandbox.table("stg_user_group_members", MEMBERS, members)
        sandbox.table("stg_user_global_roles", GLOBAL_ROLES, global_roles)
        live = {row[0]: row[2] for row in groups if row[3]}
        own = [(key, key, 0) for key in live]
        # Chains here have one link; a group that is its parent's parent is in a ring.
        links = [
            (key, parent, 1)
            for key, parent in live.items()
            if parent in live and live[parent] != key
        ]
        schema = "user_group_id bigint, ancestor_user_group_id bigint, depth int"
        sandbox.table("int_user_group_ancestors", schema, own + links)
        sandbox.table(
            "role_permissions",
            "object_type string, role_name string, permission_name string",
            [
                ("Global", "Global.Admin", "Global Admin"),
                ("Global", "Global.DataSourceAdmin", "Global Data Source Admin"),
                ("Global", "Global.SecurityAdmin", None),
                ("Report", "Manage", "Manage Report"),
            ],
        )
        sandbox.roles({1: ["A", "Below A", "Other", "Global Admin", *live]})
        return sandbox

    return call


def not_borne(sandbox: Sandbox, *policies: str, listed=(), are_listed=False) -> list:
    """The roles that no live group bears."""
    macros = sandbox.macros(config(*policies))
    document = macros.secure_datasets_config()
    return sandbox.rows(
        macros.roles_without_a_group(document, list(listed), are_listed=are_listed)
    )


def in_doubt(sandbox: Sandbox, *policies: str, listed=()) -> list[str]:
    """Why the mask by role on `runs.amount` might miss somebody."""
    macros = sandbox.macros(config(*policies))
    document = macros.secure_datasets_config()
    found = sandbox.rows(macros.masks_in_doubt(document, list(listed)))
    assert all(len(row) == 3 and row[1] == "runs.amount" for row in found)
    return sorted(reason for _, _, reason in found)


def test_R14_a_role_that_no_live_group_bears_is_named_with_its_resource(world):
    sandbox = world([*SOUND, group(4, "Gone", is_live=False), group(5, None)])
    policies = (
        "role: A, resource: runs",
        "role: a, resource: runs",
        "role: Gone, resource: runs.unit, mask: \"'*'\"",
        "except: [A, Nobody, Global Admin, Global Data Source Admin],"
        " resource: runs.amount, mask: 0",
        'role: "\\u00a0Other\\n", resource: runs',
    )
    assert not_borne(sandbox, *policies) == [
        ("Gone", "runs.unit", NOT_BORNE),
        ("Nobody", "runs.amount", NOT_BORNE),
        ("a", "runs", NOT_BORNE),
    ]


def test_R14_a_group_whose_row_is_rejected_is_named_as_the_reason(world):
    sandbox = world([rejected_group(7, "\u00a0A ")])
    assert not_borne(sandbox, "role: A, resource: runs") == [
        (
            "A",
            "runs",
            "no live group bears it, and the row of user_groups that does, 7, is"
            " rejected: unreadable date_created",
        )
    ]


def test_R14_a_role_that_may_be_missing_is_only_warned_of(world):
    sandbox = world(SOUND)
    policies = ("role: B, resource: runs", "role: C, resource: runs")
    listed = {"listed": ["B ", "A"]}
    assert not_borne(sandbox, *policies, **listed) == [("C", "runs", NOT_BORNE)]
    found = not_borne(sandbox, *policies, **listed, are_listed=True)
    assert found == [("B", "runs", NOT_BORNE)]


ROLES_OF = "{{ ref('vw_secure_user_roles') }} as r where r.user_id = runs.user_id and"


def test_R14_a_role_that_a_subquery_compares_with_is_one_that_must_be_borne(world):
    sandbox = world(SOUND)
    policies = (
        'role: A, resource: runs, condition: "exists (select 1 from '
        f"{ROLES_OF} r.role_name in ('Other', 'Gone ', 'a'))\", check: false",
        "except: [A], resource: runs.unit, mask: \"case when 'Nobody' in (select"
        f' r.role_name from {ROLES_OF} true) then unit end"',
        'except: [A], resource: runs.amount, mask: "case when exists (select 1 from'
        f' {ROLES_OF} r.user_group_id = 99) then amount end"',
        'except: [A], resource: runs.result, mask: "case when exists (select 1 from'
        f" {ROLES_OF} (r.role_name, 1) = ('Tuple', 1) or r.role_name like 'Like'"
        " or array_contains(array('Array'), r.role_name) or r.role_name like 'A%')"
        " and ('Of query', user_id) in (select max(r.role_name), r.user_id from"
        f' {ROLES_OF} true group by r.user_id) then result end"',
        # Another column, and the name of a global role.
        'role: Other, resource: runs, condition: "exists (select 1 from '
        f"{ROLES_OF} r.role_name = 'Global Admin') and unit = 'X'\", check: false",
    )
    assert not_borne(sandbox, *policies) == [
        ("Array", "runs.result", NOT_BORNE),
        ("Gone ", "runs", NOT_BORNE),
        ("Like", "runs.result", NOT_BORNE),
        ("Nobody", "runs.unit", NOT_BORNE),
        ("Of query", "runs.result", NOT_BORNE),
        ("Tuple", "runs.result", NOT_BORNE),
        ("a", "runs", NOT_BORNE),
        ("group 99", "runs.amount", "no live group has this id"),
    ]


def test_R14_a_group_by_its_id_must_be_live(world):
    rejected = rejected_group(7, "B")
    sandbox = world([*SOUND, group(4, "4", is_live=False), group(17, None), rejected])
    policies = (
        "role: {group: 1}, resource: runs",
        "role: {group: 17}, resource: runs",
        "except: [{group: 4}, {group: 7}, {group: 5}], resource: runs.amount, mask: 0",
    )
    named = "no live group bears it, and the row of user_groups that does, 7, is"
    assert not_borne(sandbox, *policies, listed=[{"group": 5}]) == [
        ("group 4", "runs.amount", "no live group has this id"),
        ("group 7", "runs.amount", f"{named} rejected: {GARBLED}"),
    ]


def test_R21_a_role_that_several_live_groups_bear_is_named_with_both(world):
    namesakes = [group(8, "A"), group(4, "Other", is_live=False), group(9, "B")]
    sandbox = world(
        [*SOUND, *namesakes, group(10, "B"), group(11, "C"), group(12, "C")]
    )
    policies = (
        "role: A, resource: runs",
        "role: Other, resource: runs",
        # By its id one of them is meant.
        "role: {group: 9}, resource: runs",
        'except: [A], resource: runs.amount, mask: "case when exists (select 1 from'
        f" {ROLES_OF} r.role_name = 'B') then amount end\"",
    )

    def reason(first: int, second: int) -> str:
        return (
            f"the live groups {first}, {second} bear it, and the members of each hold"
            " it: rename the others, or name the one that is meant by its id, as in"
            f" {{group: {first}}}"
        )

    macros = sandbox.macros(config(*policies))
    document = macros.secure_datasets_config()
    assert sandbox.rows(macros.roles_of_several_groups(document)) == [
        ("A", "runs", reason(1, 8)),
        ("A", "runs.amount", reason(1, 8)),
        ("B", "runs.amount", reason(9, 10)),
    ]
    assert sandbox.rows(sandbox.macros(config()).roles_of_several_groups({})) == []


def test_R17_a_live_group_that_is_called_as_everybody_is_named(world):
    everybody = 'role: "*", resource: runs'
    for policies in ([everybody], [everybody, BY_ROLE], [BY_ROLE]):
        for groups, named in (
            (SOUND, []),
            ([*SOUND, group(4, "*", is_live=False)], []),
            ([*SOUND, group(4, "*")], ["the live group 4 bears the name by which"]),
        ):
            sandbox = world(groups)
            macros = sandbox.macros(config(*policies))
            document = macros.secure_datasets_config()
            found = sandbox.rows(macros.roles_of_several_groups(document))
            assert [reason[:40] for _, _, reason in found] == [n[:40] for n in named]
            # Everybody is no role that a group must bear, nor one that may be missed.
            assert not roles_of_policies(
                {"policies": [{"role": "*", "resource": "runs", "mask": "0"}]},
                str,
                of_masks_by_role=True,
            )


def test_a_mask_by_the_id_of_a_group_is_in_doubt_by_what_could_lead_there(world):
    mask = BY_ROLE.replace("A", "{group: 1}")
    below = rejected_group(7, "B", "2")
    assert in_doubt(world([*SOUND, below]), mask) == [
        f"row 7 of user_groups {UNREADABLE}"
    ]
    assert in_doubt(world([*SOUND, rejected_group(7, "A")]), mask) == []
    assert in_doubt(world(SOUND), BY_ROLE.replace("A", "{group: 3}")) == []
    itself = world([*SOUND[1:], rejected_group(1, "X")])
    reasons = ["nobody holds it", f"row 1 of user_groups {UNREADABLE}"]
    assert in_doubt(itself, BY_ROLE.replace("A", "{group: 1}")) == reasons


def test_R14_without_policies_there_is_nothing_to_say(world):
    sandbox = world(SOUND)
    assert not_borne(sandbox) == not_borne(sandbox, are_listed=True) == []
    assert in_doubt(sandbox) == []


def test_a_mask_by_role_over_sound_groups_is_in_no_doubt(world):
    # Not live is what says so, and what says nothing: a flag that is blank.
    off = [group(4, "Off", is_live=False), group(5, "Below A", 1, is_live=False)]
    # Links of theirs to nothing, and links between them and live groups.
    off += [group(6, "Lost", 99, is_live=False), group(7, "A", 3, is_live=False)]
    below = group(8, "A", 4)
    members = [member(1, 1), member(2, 1, is_live=False), member(3, 99, is_live=False)]
    assert in_doubt(world([*SOUND, *off, below], members), BY_ROLE) == []


UNREADABLE = f"is rejected: {GARBLED}"
CONFLICT = "is rejected: conflict"


@pytest.mark.parametrize(
    ("groups", "reasons"),
    [
        # It bears the role; it is below it; its parent can't be known.
        ([rejected_group(7, " A")], [f"row 7 of user_groups {UNREADABLE}"]),
        ([rejected_group(7, "B", "1")], [f"row 7 of user_groups {UNREADABLE}"]),
        ([rejected_group(7, "B", " 2 ")], [f"row 7 of user_groups {UNREADABLE}"]),
        ([rejected_group(7, "B", "one")], [f"row 7 of user_groups {UNREADABLE}"]),
        ([rejected_group(7, "B", "99")], [f"row 7 of user_groups {UNREADABLE}"]),
        # It is at the top, elsewhere, or said that it is not active.
        ([rejected_group(7, "B")], []),
        ([rejected_group(7, "B", "3")], []),
        ([rejected_group(7, "A", "1", is_active="FALSE ")], []),
        # Of rows in conflict one is kept: another may say anything.
        (
            [rejected_group(7, "B", "3", "conflict", is_active="false")],
            [f"row 7 of user_groups {CONFLICT}"],
        ),
        # Below a group that is not there; below one that is not live, as it should.
        (
            [group(8, "B", 99)],
            ["row 8 of user_groups names a group that is not there"],
        ),
        ([group(8, "B", 9), group(9, "Off", 1, is_live=False)], []),
        # The rejected parent itself is named, if it may lead to the role.
        (
            [group(8, "B", 7), rejected_group(7, "B", "1")],
            [f"row 7 of user_groups {UNREADABLE}"],
        ),
        ([group(8, "B", 7), rejected_group(7, "B")], []),
        # A ring with the role's group, and one without.
        (
            [group(10, "A", 11), group(11, "B", 10)],
            ["group 10 is in a ring, whose other groups do not hold it"],
        ),
        ([group(10, "C", 11), group(11, "B", 10)], []),
    ],
)
def test_a_mask_by_role_is_in_doubt_by_groups(world, groups, reasons):
    assert in_doubt(world([*SOUND, *groups]), BY_ROLE) == reasons


@pytest.mark.parametrize(
    ("row", "is_in_doubt"),
    [
        (rejected_member(5, "1"), True),
        (rejected_member(5, "+2"), True),
        (rejected_member(5, ""), True),
        (rejected_member(5, "one"), True),
        (rejected_member(5, "99"), True),
        (rejected_member(5, "3"), False),
        (rejected_member(5, "1", is_active="0"), False),
        (rejected_member(5, "1", is_active="no"), True),
        (rejected_member(5, "3", "conflict", is_active="0"), True),
    ],
)
def test_a_mask_by_role_is_in_doubt_by_memberships(world, row, is_in_doubt):
    reason = f"row 5 of user_group_members is rejected: {row[4]}"
    found = in_doubt(world(SOUND, [row]), BY_ROLE)
    assert found == ([reason] if is_in_doubt else [])


def test_a_mask_by_role_is_in_doubt_by_members_of_a_group_that_is_not_there(world):
    found = in_doubt(world(SOUND, [member(5, 99), member(6, 3)]), BY_ROLE)
    assert found == ["row 5 of user_group_members names a group that is not there"]


def test_a_mask_by_a_role_that_nobody_holds_is_in_doubt_unless_listed(world):
    sandbox = world([*SOUND, group(4, "B")])
    mask = BY_ROLE.replace("A", "B")
    assert in_doubt(sandbox, mask) == ["nobody holds it"]
    assert in_doubt(sandbox, mask, listed=["B"]) == []


@pytest.mark.parametrize(
    ("role", "is_in_doubt"),
    [
        ("GLOBAL.ADMIN", True),
        ("Global.Adm1n", True),
        ("", True),
        ("Global.DataSourceAdmin", False),
        ("Global.SecurityAdmin", False),
    ],
)
def test_a_mask_by_a_global_role_is_in_doubt_by_rows_that_might_give_it(
    world, role, is_in_doubt
):
    row = json.dumps({"role_name": role, "is_active": "true"})
    # What is wrong with groups gives nobody a global role, nor takes it away.
    sandbox = world([rejected_group(7, "B", "1")], [], [("role", "8", row)])
    found = in_doubt(sandbox, BY_ROLE.replace("A", "Global Admin"))
    reason = "row 8 of user_global_roles is rejected: role"
    assert found == ([reason] if is_in_doubt else [])


def test_a_mask_by_a_global_role_is_in_doubt_by_rows_in_conflict(world):
    row = json.dumps({"role_name": "Global.SecurityAdmin", "is_active": "false"})
    group = rejected_group(7, "B", reason="conflict")
    sandbox = world([group, *SOUND], [], [("conflict", "8", row)])
    found = in_doubt(sandbox, BY_ROLE.replace("A", "Global Admin"))
    assert found == [f"row 8 of user_global_roles {CONFLICT}"]


def test_only_masks_that_say_role_are_in_doubt(world):
    sandbox = world([rejected_group(7, "A"), *SOUND])
    policies = (
        "except: [A], resource: runs.amount, mask: 0",
        "role: A, resource: runs",
    )
    assert in_doubt(sandbox, *policies) == []
