"""Worlds as the product builds them in the quick engine, and what is asked of them.

The relations are those that the compiled project makes of raw rows. Each is made when
it is first read, so that a test pays for what it asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from compiled import kept_models
from oracle.contract import World
from own_config import PRODUCTS, document_of
from quick import QuickProject, raw_rows, seed_rows
from rendering import ROOT
from why_sandbox import Asked

from secure_datasets.engines.duckdb import DuckDB, as_json


@cache
def project(begins: str) -> QuickProject:
    """Return the compiled project, the names of whose relations begin so."""
    seeds = seed_rows((ROOT / "seeds",))
    return QuickProject(kept_models(), seeds=seeds, layer=begins, raw=f"{begins}of_")


class Built:
    """A world that the product has built, asked in Spark's SQL."""

    def __init__(self) -> None:
        self.engine = DuckDB(fingerprints=True)

    def load(self, world: World, begins: str = "") -> None:
        """Build the project over a world."""
        project(begins).run(world, self.engine)

    def make(self, name: str, query: str) -> None:
        """Work a query out, and keep it under a name."""
        self.engine.store(name, query)

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query as mappings, in the types of JSON."""
        return as_json(self.engine.ask(query))

    def tuples(self, names: Iterable[str], relation: str) -> set[tuple]:
        """Return columns of a relation, each row once."""
        listed = ", ".join(names)
        rows = self.rows(f"select distinct {listed} from {relation}")
        return {tuple(row.values()) for row in rows}


class AskedOfBuilt(Asked):
    """The product's macros over a world that it has built."""

    def __init__(self, world: World, staged: World | None = None, **options: Any):
        self.built = Built()
        self.built.load(world if staged is None else staged)
        super().__init__(document_of(PRODUCTS), self.built, **options)
        self.config = self.secure_datasets_config()

    def read_raw(self) -> None:
        """Make the raw tables of the world, though others may be staged."""
        for table in self.world:
            self.database.engine.put(f"raw_{table}", raw_rows(self.world, table))
