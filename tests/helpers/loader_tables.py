"""Raw tables as each loader really makes them, with its columns and types.

One life, in the way of each loader: user 1 is renamed, user 2 is deleted, user 3 is
deleted and comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from own_config import PRODUCTS, document_of
from rendering import Macros

RAW = Macros(document_of(PRODUCTS)).repository_tables()
TIMES = ("date_last_login", "date_created", "date_modified")
ANN, BEN, CLEO = (
    {"id": n, "login_name": name} for n, name in enumerate(("ann", "ben", "cleo"), 1)
)
RENAMED = ANN | {"login_name": "anna"}


def own(**types: str) -> dict[str, str]:
    """Return the types of the application's own columns, as most loaders bring them."""
    columns = dict.fromkeys(RAW["users"]["columns"], "varchar")
    columns |= {"id": "bigint", "is_active": "boolean"} | dict.fromkeys(
        TIMES, "timestamptz"
    )
    del columns["sf_date_created"]
    return columns | types


def hour(number: int, form: str = "2026-03-01 {:02}:00:00") -> str:
    """Return a moment as a loader writes it."""
    return form.format(number)


ISO = "2026-03-01T{:02}:00:00.000000Z"


def millis(number: int) -> int:
    """Return the same moment in milliseconds."""
    return 1772323200000 + number * 3600000


@dataclass
class Loader:
    """What a loader makes of the life, and how its feed is declared."""

    feed: dict[str, Any]
    types: dict[str, str]
    rows: list[dict[str, Any]]
    # Of the loader's columns, by which the check notices that no feed is declared.
    told: set[str] = field(default_factory=set)


def row(who: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an active user's row."""
    return {"is_active": True, "date_modified": "2026-03-01 00:00:00+00"} | who | more


def fivetran() -> Loader:
    def synced(who: dict, number: int, is_deleted: bool) -> dict:
        return row(
            who, _fivetran_synced=hour(number) + "+00", _fivetran_deleted=is_deleted
        )

    return Loader(
        {"loader": "fivetran"},
        own(_fivetran_synced="timestamptz", _fivetran_deleted="boolean"),
        [synced(RENAMED, 2, False), synced(BEN, 3, True), synced(CLEO, 4, False)],
        {"_fivetran_deleted"},
    )


def fivetran_history() -> Loader:
    def version(who: dict, start: int, end: int | None) -> dict:
        # A version ends a thousandth of a second before the next begins.
        until = (
            hour(end - 1, "2026-03-01 {:02}:59:59.999+00")
            if end
            else "9999-12-31 23:59:59.999+00"
        )
        return row(
            who,
            _fivetran_start=hour(start) + "+00",
            _fivetran_end=until,
            _fivetran_active=end is None,
            _fivetran_synced=hour(9) + "+00",
        )

    return Loader(
        {"loader": "fivetran_history"},
        own(
            _fivetran_start="timestamptz",
            _fivetran_end="timestamptz",
            _fivetran_active="boolean",
            _fivetran_synced="timestamptz",
        ),
        [
            version(ANN, 1, 2),
            version(RENAMED, 2, None),
            version(BEN, 1, 3),
            version(CLEO, 1, 3),
            version(CLEO, 4, None),
        ],
        {"_fivetran_active", "_fivetran_end"},
    )


def airbyte() -> Loader:
    def change(who: dict, number: int, is_deleted: bool = False) -> dict:
        # PostgreSQL's default identity: a deletion has the key alone.
        values = {"id": who["id"]} if is_deleted else row(who)
        return values | {
            "_ab_cdc_updated_at": hour(number, ISO),
            "_ab_cdc_deleted_at": hour(number, ISO) if is_deleted else None,
            "_ab_cdc_lsn": 26524864.0 + number,
            "_airbyte_raw_id": f"raw-{number}",
            "_airbyte_extracted_at": hour(9) + "+00",
            "_airbyte_generation_id": 1,
        }

    return Loader(
        {"loader": "airbyte"},
        own(
            _ab_cdc_updated_at="varchar",
            _ab_cdc_deleted_at="varchar",
            _ab_cdc_lsn="double",
            _airbyte_raw_id="varchar",
            _airbyte_extracted_at="timestamptz",
            _airbyte_generation_id="bigint",
        ),
        life(change),
        {"_ab_cdc_deleted_at"},
    )


def life(change: Callable[..., dict]) -> list[dict]:
    """Return the life as a log."""
    return [
        *(change(who, 1) for who in (ANN, BEN, CLEO)),
        change(RENAMED, 2),
        change(BEN, 3, True),
        change(CLEO, 3, True),
        change(CLEO, 4),
    ]


def debezium() -> Loader:
    def change(who: dict, number: int, is_deleted: bool = False) -> dict:
        values = (
            {"id": who["id"]}
            if is_deleted
            else row(who, date_modified=millis(0) * 1000)
        )
        return values | {
            "__deleted": "true" if is_deleted else "false",
            "__op": "d" if is_deleted else "c",
            "__source_ts_ms": millis(number),
        }

    return Loader(
        {"loader": "debezium", "reads": {"timestamps": "epoch_micros"}},
        own(**dict.fromkeys(TIMES, "bigint"), __deleted="varchar", __op="varchar")
        | {"__source_ts_ms": "bigint"},
        life(change),
        {"__deleted", "__op"},
    )


def dms() -> Loader:
    def change(who: dict, number: int, is_deleted: bool = False) -> dict:
        values = {"id": who["id"]} if is_deleted else row(who)
        # A full load writes no operation.
        operation = "D" if is_deleted else None if number == 1 else "U"
        return values | {
            "Op": operation,
            "committed": hour(number, "2026-03-01 {:02}:00:00.000000"),
        }

    return Loader(
        {"loader": "dms", "moment": "committed"},
        {"Op": "varchar"} | own() | {"committed": "varchar"},
        life(change),
        {"op"},
    )


def dbt_snapshot() -> Loader:
    def version(
        who: dict, start: int, end: int | None, is_deleted: bool = False
    ) -> dict:
        return row(
            who,
            dbt_valid_from=hour(start),
            dbt_valid_to=hour(end) if end else None,
            dbt_updated_at=hour(start),
            dbt_scd_id=f"{who['id']}-{start}",
            dbt_is_deleted=str(is_deleted),
        )

    return Loader(
        {"loader": "dbt_snapshot", "deleted_when": "dbt_is_deleted"},
        own(
            dbt_valid_from="timestamp",
            dbt_valid_to="timestamp",
            dbt_updated_at="timestamp",
            dbt_scd_id="varchar",
            dbt_is_deleted="varchar",
        ),
        [
            version(ANN, 1, 2),
            version(RENAMED, 2, None),
            version(BEN, 1, 3),
            version(BEN, 3, None, True),
            version(CLEO, 1, 3),
            version(CLEO, 3, 4, True),
            version(CLEO, 4, None),
        ],
        {"dbt_valid_to", "dbt_is_deleted"},
    )


def snowflake_stream() -> Loader:
    def change(
        who: dict, number: int, is_deleted: bool = False, is_update: bool = False
    ) -> dict:
        return row(who) | {
            "METADATA$ACTION": "DELETE" if is_deleted else "INSERT",
            "METADATA$ISUPDATE": is_update,
            "METADATA$ROW_ID": f"row-{who['id']}",
            "taken_at": hour(number),
        }

    rows = [each for each in life(change) if each["login_name"] != "anna"]
    # An update is the row as it was, and the row as it is.
    rows += [change(ANN, 2, True, True), change(RENAMED, 2, False, True)]
    return Loader(
        {"loader": "snowflake_stream", "moment": "taken_at"},
        own(id="decimal(38,0)", **dict.fromkeys(TIMES, "timestamp"))
        | {
            "METADATA$ACTION": "varchar",
            "METADATA$ISUPDATE": "boolean",
            "METADATA$ROW_ID": "varchar",
            "taken_at": "timestamp",
        },
        rows,
        {"metadata$action"},
    )


LOADERS = {
    make.__name__: make
    for make in (
        *(fivetran, fivetran_history, airbyte, debezium, dms, dbt_snapshot),
        snowflake_stream,
    )
}
