"""Raw rows as they are staged: queries that macros ask for.

A file of SQL has places for values.

``reading``     a delivered value, by the type of its column
``order``       which delivery of an id is the newest
``deliveries``  the steps that read all deliveries
``staged``      the newest deliveries, judged
``feeds``       a declared feed as deliveries
``unread``      what a declared feed delivers and staging does not read
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from secure_datasets.render.staging.deliveries import (
    Raw,
    no_rows,
    raw_rows,
    read_deliveries,
    read_id,
)
from secure_datasets.render.staging.feeds import overlapping_periods, relation_of_feed
from secure_datasets.render.staging.order import (
    newest_first,
    was_delivered,
    without_history,
)
from secure_datasets.render.staging.staged import key_of_delivery, staged
from secure_datasets.render.staging.unread import can_be_overtaken, unread_deliveries

# They get the raw table first, as a macro hands it over.
OF_RAW: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        *(staged, key_of_delivery, read_deliveries, relation_of_feed),
        *(overlapping_periods, unread_deliveries),
    )
}
PARTS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        *(raw_rows, no_rows, read_id, was_delivered, newest_first),
        *(without_history, can_be_overtaken),
    )
}


def staging(adapter: Any, what: str, given: Any, *more: Any) -> Any:
    """Return a query or expression of staging: a method for macros."""
    if what in OF_RAW:
        return OF_RAW[what](Raw(**given), *more)
    return PARTS[what](given, *more)
