"""Who is a member of what, from a directory's rows to resolved memberships."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import Any

import pytest
from comparison import comparable
from directory_sandbox import (
    SOURCE,
    SOURCES,
    TABLES,
    VIEWS,
    Directory,
    feeds,
    rendered,
)
from feed_sandbox import RAW as FEEDS
from feed_sandbox import SPARK
from loader_tables import RAW
from pipeline import comparable_rows, session_settings

from secure_datasets.config.feeds import problems_of, read_feeds

FIRST, SECOND = "2026-03-01 06:00:00+00", "2026-03-02 06:00:00+00"


def user(key: str, active: Any = True, **more: Any) -> dict[str, Any]:
    """Return a SCIM user who is called as the id says."""
    return {
        "id": key,
        "userName": key,
        "name": {"givenName": key.title(), "familyName": "Ek"},
        "emails": [{"value": f"{key}@example.org", "primary": True}],
        "active": active,
        "meta": {
            "created": "2025-01-01T08:00:00Z",
            "lastModified": "2025-06-01T08:00:00+02:00",
        },
    } | more


def group(key: str, *members: Any, **more: Any) -> dict[str, Any]:
    """Return a SCIM group; a member is an id, or the whole of one."""
    listed = [{"value": each} if isinstance(each, str) else each for each in members]
    return {"id": key, "displayName": key, "members": listed} | more


def listing(
    kind: str, resources: list[Any], loaded_at: str = FIRST, total: int | None = None
) -> list[dict[str, Any]]:
    """Return the rows of one listing of a load."""
    return [
        {
            "loaded_at": loaded_at,
            "resource_type": kind,
            "total_results": len(resources) if total is None else total,
            "resource": each if isinstance(each, str) else json.dumps(each),
        }
        for each in resources
    ]


def load(
    users: list[Any], groups: list[Any], loaded_at: str = FIRST
) -> list[dict[str, Any]]:
    """Return the rows of a whole load."""
    return listing("Users", users, loaded_at) + listing("Groups", groups, loaded_at)


ANN, BEN, CLEO = user("ann"), user("ben"), user("cleo")
PEOPLE = [ANN, BEN, CLEO]


def scim(*rows: list[dict[str, Any]], **more: Any) -> Directory:
    """Return a directory of SCIM listings."""
    return Directory("scim", [row for each in rows for row in each], **more)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([group("g", "ann", "ben")], {"g": "ann ben"}),
        # Nested, in two groups at once, and reached by two ways.
        (
            [
                group("low", "ann"),
                group("left", "low", "ben"),
                group("right", {"value": "low", "type": "Group"}),
                group("top", "left", "right"),
            ],
            {"low": "ann", "left": "ann ben", "right": "ann", "top": "ann ben"},
        ),
        # A group that is a member of itself, below another one.
        (
            [group("self", "self", "ann"), group("top", "self", "ben")],
            {"self": "ann", "top": "ann ben"},
        ),
        # A ring merges no rights, and what is around it stays.
        (
            [
                group("one", "two", "ann"),
                group("two", "three", "ben"),
                group("three", "one", "cleo"),
                group("top", "two"),
            ],
            {"one": "ann", "two": "ben", "three": "cleo", "top": "ben"},
        ),
        # Members who are nobody, are not what they are called, or are no objects.
        (
            [
                group("g", "gone", {"value": "ann", "type": "Group"}, {}, "ben"),
                group("h", {"value": "g", "type": "User"}, {"value": None}),
            ],
            {"g": "ben"},
        ),
        # Without members, without a name, with the same member twice.
        ([{"id": "e", "displayName": "e"}, group("g", "ann", "ann")], {"g": "ann"}),
    ],
)
def test_members_of_scim_groups(groups, expected):
    found = scim(load(PEOPLE, groups))
    assert found.members() == {g: set(who.split()) for g, who in expected.items()}
    assert found.reasons() == []


@pytest.mark.parametrize("active", [False, "False", "0", None, "yes", ""])
def test_a_scim_user_who_is_not_said_to_be_active_is_no_member(active):
    found = scim(load([user("ann", active), BEN], [group("g", "ann", "ben")]))
    assert found.members() == {"g": {"ben"}}


def test_scim_attributes_are_read():
    (found,) = scim(load([ANN], [group("g")])).staged("users")
    assert found["login_name"] == "ann"
    assert (found["first_name"], found["last_name"]) == ("Ann", "Ek")
    assert found["email"] == "ann@example.org"
    assert str(found["date_created"]) == "2025-01-01 08:00:00"
    assert str(found["date_modified"]) == "2025-06-01 06:00:00"


@pytest.mark.parametrize(
    ("users", "groups", "expected"),
    [
        (PEOPLE, [group("g", "ann"), group("h")], {"g": {"ann"}}),
        (PEOPLE, [group("g"), group("h")], {}),
        (PEOPLE, None, {}),
        (
            [ANN, CLEO],
            [group("g", "ann", "ben"), group("h", "cleo")],
            {"g": {"ann"}, "h": {"cleo"}},
        ),
        ([ANN, user("ben", False), CLEO], [group("g", "ann", "ben")], {"g": {"ann"}}),
    ],
    ids=[
        *("a removed member", "all members removed", "no group is left"),
        *("a deleted user", "an inactive user"),
    ],
)
def test_a_later_scim_load_takes_rights_away_and_the_past_keeps_them(
    users, groups, expected
):
    rows = load(PEOPLE, [group("g", "ann", "ben"), group("h")])
    rows += listing("Users", users, SECOND)
    rows += (
        listing("Groups", groups, SECOND)
        if groups
        else [listing("Groups", ["null"], SECOND, 0)[0] | {"resource": None}]
    )
    assert scim(rows).members() == expected
    before = scim(rows, as_of="2026-03-01 12:00:00")
    assert before.members() == {"g": {"ann", "ben"}}


def test_a_deleted_scim_user_who_is_created_again_keeps_the_id():
    groups = [group("g", "ann", "ben")]
    rows = load(PEOPLE, groups) + load([ANN, CLEO], groups, SECOND)
    gone = scim(rows)
    (ben,) = (row for row in gone.staged("users") if row["is_deleted"])
    assert gone.members() == {"g": {"ann"}}
    back = scim(rows, load(PEOPLE, groups, "2026-03-03 06:00:00+00"))
    assert back.members() == {"g": {"ann", "ben"}}
    assert {row["user_id"] for row in back.staged("users")} >= {ben["user_id"]}


@pytest.mark.parametrize(
    "second",
    [
        listing("Users", PEOPLE[:2], SECOND, 3) + listing("Groups", [], SECOND),
        listing("Users", [*PEOPLE, ANN], SECOND, 3),
        # One moved to the next page while the pages were read.
        listing("Users", [ANN, ANN, BEN], SECOND, 3),
        listing("Users", [ANN, user("ann", False), BEN], SECOND, 3),
    ],
    ids=["cut", "more than announced", "one is twice", "one in two versions"],
)
def test_a_scim_listing_that_is_not_whole_is_not_read(second):
    whole = load(PEOPLE, [group("g", "ann", "cleo")])
    # Groups of which a member's listing is not whole.
    second = second + listing("Groups", [group("g", "ann", "ben", "cleo")], SECOND)
    assert scim(whole, second).members() == {"g": {"ann", "cleo"}}


@pytest.mark.parametrize("broken", ["{", '{"userName": "x"}', "null", "[]"])
def test_a_scim_resource_without_an_id_is_rejected(broken):
    found = scim(load([ANN, broken], [group("g", "ann"), broken]))
    assert found.members() == {"g": {"ann"}}
    assert found.reasons() == [
        ("user_groups", "unreadable id"),
        ("users", "unreadable id"),
    ]


@pytest.mark.parametrize("spelled", [str, str.lower, str.upper])
def test_a_scim_member_s_type_is_read_in_any_case(spelled):
    """RFC 7643, 8.7.1: the type of a member is not `caseExact`."""
    groups = [
        group("low", {"value": "ann", "type": spelled("User")}),
        group("top", {"value": "low", "type": spelled("Group")}, "ben"),
        # Each is called what it is not.
        group(
            "odd",
            {"value": "ann", "type": spelled("Group")},
            {"value": "low", "type": spelled("User")},
        ),
    ]
    assert scim(load(PEOPLE, groups)).members() == {
        "low": {"ann"},
        "top": {"ann", "ben"},
    }


def test_an_id_that_a_scim_user_and_a_group_have_is_no_member():
    found = scim(load([ANN, BEN], [group("ann", "ben"), group("g", "ann")]))
    assert "g" not in found.members()


def test_ids_that_collide_are_rejected_and_give_no_right():
    # With one digit of the hash, one of 17 users at least collides.
    people = [user(f"u{number:02}") for number in range(17)]
    found = scim(load(people, [group("g", *(u["id"] for u in people))]), digits=1)
    users = found.staged("users")
    taken = [row["user_id"] for row in users if not row["rejection_reason"]]
    refused = [row for row in users if row["rejection_reason"] == "unreadable id"]
    assert len(refused) >= 2
    assert len(taken) == len({*taken})
    assert len(taken) + len(refused) == 17
    logins = {row["login_name"] for row in users if not row["rejection_reason"]}
    assert found.members().get("g", set()) <= logins
    assert ("user_group_members", "unreadable id") in found.reasons()


ORG = "dc=example,dc=org"


def in_base64(text: str | bytes) -> str:
    """Return a text as LDIF writes what it can't write plainly."""
    raw = text.encode() if isinstance(text, str) else text
    return base64.b64encode(raw).decode()


def entry(dn: str, kind: str, uuid: str | None, *lines: str) -> str:
    """Return an entry; a DN that begins with a colon is in base64."""
    own = [f"entryUUID: {uuid}"] if uuid else []
    return "\n".join([f"dn:{dn}", f"objectClass: {kind}", *own, *lines])


def person(uid: str, *lines: str, dn: str | None = None) -> str:
    """Return the entry of a person."""
    dn = dn or f" uid={uid},ou=people,{ORG}"
    return entry(dn, "inetOrgPerson", f"u-{uid}", f"uid: {uid}", *lines)


def names(cn: str, *members: str, dn: str | None = None) -> str:
    """Return the entry of a group; a member without a DN is a person."""
    lines = [
        f"member:{m}" if m[0] in " :" else f"member: uid={m},ou=people,{ORG}"
        for m in members
    ]
    return entry(
        dn or f" cn={cn},ou=groups,{ORG}",
        "groupOfNames",
        f"g-{cn}",
        f"cn: {cn}",
        *lines,
    )


def inside(cn: str) -> str:
    """Return a nested group as a member."""
    return f" cn={cn},ou=groups,{ORG}"


def export(
    *entries: str, announced: int | None = None, result: str = "0 Success"
) -> str:
    """Return an export as ldapsearch writes it."""
    count = len(entries) if announced is None else announced
    body = "\n\n".join(f"# an entry\n{each}" for each in entries)
    return (
        f"# extended LDIF\n#\n# LDAPv3\n\n{body}\n\n# search result\nsearch: 2\n"
        f"result: {result}\n\n# numResponses: {count + 1}\n# numEntries: {count}\n"
    )


def ldif(*contents: str) -> Directory:
    """Return a directory of exports, one a day."""
    days = [FIRST, SECOND, "2026-03-03 06:00:00+00"]
    return Directory(
        "ldif",
        [
            {"loaded_at": day, "content": content}
            for day, content in zip(days, contents, strict=False)
        ],
    )


SOME = [person("ann"), person("ben"), person("cleo")]
COMMA = rf" cn=Ek\, Dora,ou=people,{ORG}"


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([names("g", "ann", "ben")], {"g": "ann ben"}),
        (
            [
                names("low", "ann"),
                names("left", inside("low"), "ben"),
                names("right", inside("low")),
                names("top", inside("left"), inside("right")),
            ],
            {"low": "ann", "left": "ann ben", "right": "ann", "top": "ann ben"},
        ),
        # A group that is a member of itself, and a ring.
        (
            [
                names("self", inside("self"), "ann"),
                names("one", inside("two"), "ben"),
                names("two", inside("one"), "cleo"),
            ],
            {"self": "ann", "one": "ben", "two": "cleo"},
        ),
        # Locked by one of two servers' policies.
        (
            [
                person("eve", "pwdAccountLockedTime: 000001010000Z"),
                person("finn", "nsAccountLock: TRUE"),
                person("gus", "nsAccountLock: false"),
                person("hal", "nsAccountLock:: !!"),
                names("g", "eve", "finn", "gus", "hal"),
            ],
            {"g": "gus"},
        ),
        # One DN with an escaped comma, written in four ways.
        *(
            ([person("dora", dn=COMMA), names("g", written)], {"g": "dora"})
            for written in (
                COMMA,
                rf" CN=Ek\2C Dora, OU=People, {ORG}",
                f": {in_base64(COMMA.strip())}",
                rf" cn=Ek\, Do{chr(10)} ra,ou=people,{ORG}",
            )
        ),
        # The comma that is escaped is no comma between two parts.
        (
            [
                person("dora", dn=rf" cn=a\, ou=x,{ORG}"),
                names("g", f" cn=a,ou=x,{ORG}", rf" cn=a\\,ou=x,{ORG}"),
            ],
            {},
        ),
        # A DN in base64, with what is not ASCII.
        (
            [
                person("zoe", dn=f": {in_base64(f'cn=Zoë,{ORG}')}"),
                names("g", f": {in_base64(f'cn=Zoë,{ORG}')}"),
            ],
            {"g": "zoe"},
        ),
        # Members who can't be read, are nobody, or are the addresses of files.
        (
            [
                names(
                    "g", ": !!", f": {in_base64(bytes([255, 254]))}", " cn=nobody", " "
                ),
                names("h", f":< file:///uid=ann,ou=people,{ORG}", "ben"),
            ],
            {"h": "ben"},
        ),
        # A comment goes on with its next line.
        (
            [names("g", "ann") + f"\n# removed:\n \n member: uid=ben,ou=people,{ORG}"],
            {"g": "ann"},
        ),
    ],
)
def test_members_of_ldif_groups(entries, expected):
    wanted = {g: set(who.split()) for g, who in expected.items()}
    content = export(*SOME, *entries)
    assert ldif(content).members() == wanted
    assert ldif(content.replace("\n", "\r\n")).members() == wanted


def test_ldif_attributes_are_read():
    content = export(
        person(
            "zoe",
            f"sn:: {in_base64('Müller')}",
            "givenName: Zo",
            " e",
            "mail: zoe@example.org",
            "createTimestamp: 20250101080000Z",
        ),
    )
    (found,) = ldif(content).staged("users")
    assert (found["first_name"], found["last_name"]) == ("Zoe", "Müller")
    assert (found["login_name"], found["email"]) == ("zoe", "zoe@example.org")
    assert str(found["date_created"]) == "2025-01-01 08:00:00"


@pytest.mark.parametrize(
    "entries",
    [
        [*SOME, names("g", "ann")],
        [SOME[0], SOME[2], names("g", "ann", "ben")],
    ],
    ids=["a removed member", "a deleted user"],
)
def test_the_newest_ldif_export_takes_rights_away(entries):
    before = export(*SOME, names("g", "ann", "ben"))
    assert ldif(before).members() == {"g": {"ann", "ben"}}
    assert ldif(before, export(*entries)).members() == {"g": {"ann"}}


def test_an_ldif_export_that_is_cut_is_not_read():
    whole = export(*SOME, names("g", "ann"))
    more = export(*SOME, names("g", "ann", "ben"))
    for cut in (more[:-1][: more.index("# search")], more.replace("ies: 4", "ies: 5")):
        assert ldif(whole, cut).members() == {"g": {"ann"}}
        assert ldif(cut).staged("users") == []
    # The blank line between two entries is lost.
    assert ldif(
        whole, more.replace("\n\n# an entry\ndn: cn", "\ndn: cn")
    ).members() == {"g": {"ann"}}


@pytest.mark.parametrize(
    "result",
    [
        *("4 Size limit exceeded", "3 Time limit exceeded", "11 Administrative limit"),
        *("10 Referral", "80 Internal (implementation specific) error"),
    ],
)
def test_an_ldif_export_that_a_limit_cut_deletes_nothing(result):
    """The last comment counts what came, whatever there is."""
    whole = export(*SOME, names("g", "ann", "ben"))
    cut = export(*SOME[:1], names("g", "ann"), result=result)
    for content in (cut, cut.replace("\n", "\r\n")):
        assert ldif(whole, content).members() == {"g": {"ann", "ben"}}
        assert ldif(content).staged("users") == []


def test_an_ldif_export_without_its_result_or_with_a_page_that_failed_is_not_read():
    whole = export(*SOME, names("g", "ann", "ben"))
    told = "search: 2\nresult: 0 Success\n"
    more = export(*SOME, names("g", "cleo"))
    assert ldif(whole, more).members() == {"g": {"cleo"}}
    pages = more.replace(
        told, f"{told}\n# search result\nsearch: 3\nresult: 0 Success\n"
    )
    assert ldif(whole, pages).members() == {"g": {"cleo"}}
    # `ldapsearch -L` leaves the result out.
    for cut in (more.replace(told, ""), pages.replace("3\nresult: 0", "3\nresult: 4")):
        assert ldif(whole, cut).members() == {"g": {"ann", "ben"}}


@pytest.mark.parametrize(
    "wrong",
    [
        # An entry without an entryUUID, with another's, and with two.
        [
            entry(
                f" cn=h,{ORG}", "groupOfNames", None, f"member: uid=ann,ou=people,{ORG}"
            )
        ],
        [names("h", "ann"), names("h", "ben", dn=f" cn=i,{ORG}")],
        [names("h", "ann") + "\nentryUUID: other"],
        # A DN that two entries have, or that can't be read.
        [names("h", "ann"), names("i", "ben", dn=f" CN=h, ou=groups,{ORG}")],
        [names("h", "ann", dn=": !!")],
    ],
)
def test_an_ldif_entry_that_can_t_be_told_apart_is_rejected(wrong):
    found = ldif(export(*SOME, *wrong, names("g", "cleo", inside("h"))))
    assert found.members() == {"g": {"cleo"}}
    assert {*found.reasons()} == {("user_groups", "unreadable id")}


def test_an_ldif_user_whose_dn_two_entries_have_is_in_no_group():
    twin = person("twin", dn=f" UID=ann,ou=people,{ORG}")
    found = ldif(export(*SOME, twin, names("g", "ann", "ben")))
    assert found.members() == {"g": {"ben"}}
    assert found.reasons() == [("users", "unreadable id")] * 2


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", ["scim", "ldif"])
def test_the_raw_tables_have_what_their_feeds_and_the_contract_name(kind, table):
    types = Directory(kind, []).sandbox.types[table]
    feed = read_feeds(feeds(kind), RAW)[table]
    assert list(problems_of(table, feed, types, RAW[table])) == []


BATCH = {
    "scim": [
        *load(
            [*PEOPLE, user("dan", None), "{", '{"userName": 7}'],
            [
                group("low", "ann", {"value": "ben", "type": "User"}, "gone", {}),
                group("left", "low", "left"),
                group("right", "low", {"value": "dan", "type": "Group"}),
                group("top", "left", "right", "one"),
                *(group("one", "two", "ann"), group("two", "one", "cleo")),
                *(group("odd", members="ann"), group("none", members=None)),
                *(group("obj", members={"value": "ann"}), "null"),
                *(group("num", members=[7, "x"]), group("mix", members=[{"value": 7}])),
            ],
        ),
        *load(PEOPLE[:2], [group("low", "ann")], SECOND),
        *listing("Users", PEOPLE, "2026-03-03 06:00:00+00", 9),
    ],
    "ldif": [
        {
            "loaded_at": FIRST,
            "content": export(
                *SOME,
                person("dora", f"sn:: {in_base64('Müller')}", "cn:: !!", dn=COMMA),
                person("eve", "pwdAccountLockedTime: 000001010000Z", "cn:: wyg="),
                person("finn", "nsAccountLock:: !", "createTimestamp: 20250101080000Z"),
                person("twin", dn=f" UID=cleo , ou=people,{ORG}"),
                names("low", "ann", "cleo", rf" CN=Ek\2c Dora, OU=People,{ORG}"),
                names("left", inside("low"), inside("left"), rf" cn=a\\,{ORG}"),
                names("right", inside("low"), ": !!", " ", ":< file:///x"),
                names("top", inside("left"), inside("right"), "eve"),
                names("low2", "ben", dn=rf" cn=\"x\"\+\ ,{ORG}"),
                names("in", rf" cn=\22x\22\2b\20,{ORG}", f": {in_base64(COMMA[1:])}"),
                entry(f" cn=h,{ORG}", "groupOfNames", None),
            ),
        },
        {"loaded_at": SECOND, "content": export(*SOME, announced=4)},
    ],
}


@pytest.mark.nightly
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_makes_the_same_raw_tables(spark, ansi):
    with session_settings(spark, "Pacific/Apia", ansi):
        for kind, rows in BATCH.items():
            quick = Directory(kind, rows)
            types = {
                name: SPARK.get(data_type, data_type)
                for name, data_type in SOURCES[kind].items()
            }
            values = [
                (
                    datetime.fromisoformat(row["loaded_at"] + ":00"),
                    *(row[name] for name in [*types][1:]),
                )
                for row in rows
            ]
            schema = ", ".join(f"{name} {of}" for name, of in types.items())
            spark.createDataFrame(values, schema).createOrReplaceTempView(
                f"directory_{SOURCE[kind]}"
            )
            for view in VIEWS[kind]:
                made = spark.sql(rendered(kind, view, named="directory_{}"))
                # Else each view would be worked out anew where another one reads it.
                frame = spark.createDataFrame(made.collect(), made.schema)
                frame.createOrReplaceTempView(f"directory_{view}")
                found = quick.sandbox.connection.execute(
                    f"select * from {FEEDS}.{view}"
                ).fetchall()
                assert comparable_rows(frame) == comparable(found), view
