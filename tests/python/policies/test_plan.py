"""What policies say is planned in Python: macros take no text of the config apart."""

from __future__ import annotations

import pytest

from secure_datasets.config import plan
from secure_datasets.sql import expressions


def test_the_steps_that_are_asked_for_come_in_their_order():
    nothing = {"roles": {}, "conditions": [], "masks": {}, "guarded": []}
    nothing |= {"restrictive": []}
    nothing |= {"is_authorized": False}
    assert plan.steps_of(nothing, []) == ["tier_rows"]
    all_of_it = {"roles": {"A": "a"}, "conditions": [{}], "guarded": ["b"]}
    all_of_it |= {"is_authorized": True}
    assert plan.steps_of(nothing | all_of_it, [{}]) == [
        *("held_roles_of_users", "tier_rows", "authorized_rows", "secured_rows"),
        *("rows_with_roles", "guarded_rows", "visible_rows"),
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.b", ["a", "b"]),
        ("c.a.b", None),
        ("b", None),
        ("a.b.c.d", None),
        ("a.", None),
        ("a.b; drop table c", None),
        ("a.b\n", None),
    ],
)
def test_a_relation_s_name_is_taken_apart_where_it_is_one(text, parts):
    assert expressions.schema_and_name(text) == parts


def test_what_policies_say_of_a_dataset_has_the_defaults_filled_in():
    config = {
        "datasets": {"jobs": {"columns": ["id", "Unit"]}, "jobs_too": {}},
        "policies": [
            {"role": " A\u00a0", "resource": "jobs"},
            {
                "role": "a",
                "resource": "jobs.name",
                "mask": False,
                "mask_order": 1,
                "condition": "`unit` <> 'id'",
            },
            {
                "except": ["B"],
                "resource": "jobs.name",
                "mask": " 'x' ",
                "mask_order": 2,
            },
            {"role": "C", "resource": "jobs_too", "condition": "x"},
        ],
    }
    found = plan.policies_on("jobs", config)
    rule = {
        "mask_on_null": "mask", "check": True, "condition": "true", "said": "true",
        "is_except": False,
        "is_constant": True, "shown_to": [], "valid_from": None, "valid_until": None,
        "dataset": "jobs", "asks_reader": False,
    }  # fmt: skip

    def for_role(name: str, before: str = "") -> dict:
        return {"roles": [name], "named": [name], "whom": f'{before}"{name}"'}

    assert found == {
        "conditions": [rule | for_role("A") | {"mask": "", "mask_order": 0}],
        "restrictive": [],
        "needs_role": True,
        "masks": {
            "name": [
                rule
                | for_role("B", "all but ")
                | {"mask": "'x'", "mask_order": 2, "is_except": True},
                rule
                | for_role("a")
                | {"mask": "false", "mask_order": 1}
                | dict.fromkeys(("condition", "said"), "`unit` <> 'id'"),
            ]
        },
        # Spark finds a field whatever the case of its letters.
        "roles": {"A": "1 A", "a": "2 a", "B": "3 B"},
        # What stands in a text is no column.
        "guarded": ["Unit"],
        "is_authorized": False,
    }


@pytest.mark.parametrize("name", ["null", "true", "order", "left", "a b", "A", "1a"])
def test_S3_a_security_object_may_be_called_as_a_word_of_sql(name):
    assert plan.keys_name({"unique_name": name}) == f"`{name}`"
    assert plan.keys_name({"unique_name": "units"}) == "units"
    assert plan.keys_name({"unique_name": name}, "_2") in (f"`{name}_2`", f"{name}_2")


def star(
    key: dict | None = None, levels: list | None = None, links: list | None = None
) -> dict:
    """Return a star of sales whose shops lie in towns and these in countries.

    The key is that of the shops' town, or another relation's.
    """
    key = key or {"dataset": "shops", "join_columns": ["town"]}
    lines = [
        ("sales", ["shop_id"], "shops"),
        ("sales", ["shop_id"], "shop_names"),
        ("sales", ["shop_id", "day"], "prices"),
        ("sales", ["day"], "days"),
        ("shops", ["town"], "towns"),
        ("shops", ["owner"], "owners"),
        ("shops", ["country"], "countries"),
        *(links or []),
    ]
    columns = {
        "sales": ["sale_id", "shop_id", "day", "price"],
        "shops": ["shop_id", "town", "country", "owner"],
        "shop_names": ["shop_id", "shop_name", "chain"],
        "prices": ["shop_id", "day", "list_price"],
        "days": ["day", "month"],
        "towns": ["town", "mayor", "river"],
        "owners": ["owner", "bank"],
        "countries": ["country", "anthem"],
        "staff": ["staff_id", "town", "shop_id"],
    }
    if levels is None:
        levels = [["shop_id"], ["town"], ["country"]]
    level_of = {
        "shops": levels,
        "towns": [["town", "mayor"], ["river"]],
        "shop_names": [["shop_id", "shop_name"], ["chain"]],
    }
    return {
        "relations": {
            name: {
                "kind": {"sales": "fact", "staff": "mapping"}.get(name, "dimension"),
                "columns": dict.fromkeys(names, "string"),
                "levels": level_of.get(name, []),
            }
            for name, names in columns.items()
        },
        "row_security": [
            {
                "unique_name": "keys",
                "dataset": "staff",
                "filter_key_column": key["join_columns"][0],
                "ids_column": "staff_id",
                "id_type": "user",
                "scope": "fact",
                "secure_totals": False,
            }
        ],
        "relationships": [
            *(
                {
                    "from": {"dataset": near, "join_columns": joined},
                    "to": {"dataset": far},
                }
                for near, joined, far in lines
            ),
            {"from": key, "to": {"row_security": "keys"}},
        ],
    }


def is_restricted(config: dict, *dimensions: str) -> bool:
    """Whether the sales by these dimensions are restricted without secure_totals."""
    names = {str(number): place for number, place in enumerate(dimensions)}
    query = {"dimensions": names, "measures": {"total": "sum(sales.price)"}}
    return bool(plan.restrictions_on({"query": query}, config))


OF_FACT = {"dataset": "sales", "join_columns": ["shop_id"]}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("sales.shop_id", True),
        # The same column, by the relationship that joins by it.
        ("shops.shop_id", True),
        ("shop_names.shop_id", True),
        ("shop_names.shop_name", True),
        ("shop_names.chain", False),
        ("shops.town", False),
        ("shops.country", False),
        ("towns.mayor", False),
        # Nothing says that an owner is above a shop.
        ("shops.owner", True),
        ("owners.bank", True),
        # Of each shop there are several prices, which are below it.
        ("prices.list_price", True),
        # Another dimension (S15).
        ("days.day", False),
        ("days.month", False),
    ],
)
def test_S14_a_dimension_joined_by_a_fact_s_key_is_the_secured_level(column, expected):
    assert is_restricted(star(OF_FACT), column) is expected
    assert is_restricted(star(OF_FACT), "days.month", column) is expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("shops.shop_id", True),
        ("shops.town", True),
        ("shops.country", False),
        ("countries.anthem", False),
        # The same column as the key, of a dimension of its own.
        ("towns.town", True),
        ("towns.mayor", True),
        ("towns.river", False),
        ("owners.bank", True),
        # A shop's name lies below its town, wherever it is read.
        ("shop_names.shop_name", True),
        ("shop_names.shop_id", True),
        ("prices.list_price", True),
        ("days.month", False),
    ],
)
def test_S19_what_leads_to_a_dimension_s_key_is_below_the_secured_level(
    column, expected
):
    assert is_restricted(star(), column) is expected


@pytest.mark.parametrize(
    "levels", [[], [["shop_id"], ["country"]], [["shop_id"], ["owner"], ["country"]]]
)
@pytest.mark.parametrize("column", ["shop_id", "town", "owner", "country"])
def test_S20_nothing_is_known_to_be_above_a_key_without_a_level(levels, column):
    assert is_restricted(star(levels=levels), f"shops.{column}")


def test_S20_nothing_is_known_of_a_column_without_a_level():
    config = star(levels=[["shop_id"], ["town"]])
    assert is_restricted(config, "shops.country")
    assert is_restricted(config, "countries.anthem")


def test_S19_the_secured_dimension_s_higher_levels_are_above_it_from_further_away():
    links = [("sales", ["till_id"], "tills"), ("tills", ["shop_id"], "shops")]
    config = star(links=links)
    config["relationships"] = [
        link
        for link in config["relationships"]
        if (link["from"]["dataset"], link["to"].get("dataset")) != ("sales", "shops")
    ]
    config["relations"]["tills"] = {
        "kind": "dimension",
        "columns": dict.fromkeys(["till_id", "shop_id", "maker"], "string"),
        "levels": [["till_id"], ["maker"]],
    }
    assert is_restricted(config, "tills.maker")
    assert is_restricted(config, "shops.town")
    assert not is_restricted(config, "shops.country")
    assert not is_restricted(config, "countries.anthem")
