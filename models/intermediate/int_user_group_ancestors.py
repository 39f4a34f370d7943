"""One row per live user group and group whose rights it passes on, itself included.

Inputs:  stg_user_groups.
Output:  user_group_id, ancestor_user_group_id, depth (0: the group itself, 1: its
         parent).

A parent that is missing or not live ends the chain. A group that is its own ancestor is
in a ring: its parent link is ignored, so that a chain from below ends with the first
group of the ring, and one bad edit does not merge the rights of a whole ring.
"""

import json

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

ANCESTOR = ["user_group_id", "ancestor_user_group_id", "depth"]
# Each of Spark's rounds takes a second or more, however few groups there are.
MOST_ON_THE_DRIVER = 100_000


def parent_links(groups: DataFrame) -> DataFrame:
    """Return each live group with its live parent, at depth 1."""
    live = groups.where(F.col("is_live"))
    parents = live.select(F.col("user_group_id").alias("ancestor_user_group_id"))
    return (
        live.withColumnRenamed("parent_user_group_id", "ancestor_user_group_id")
        .join(parents, on="ancestor_user_group_id", how="inner")
        .withColumn("depth", F.lit(1))
        .select(*ANCESTOR)
    )


def groups_in_rings(parents: dict[int, int]) -> set[int]:
    """Return the groups that are their own ancestors."""
    rings: set[int] = set()
    # Each group is passed once: with the group at which the walk began.
    passed: dict[int, int] = {}
    for start in parents:
        group = start
        while group in parents and group not in passed:
            passed[group] = start
            group = parents[group]
        if passed.get(group) == start:
            # The walk has come back to a group of its own.
            while group not in rings:
                rings.add(group)
                group = parents[group]
    return rings


def chains(parents: dict[int, int], most: int) -> list[tuple[int, int, int]] | None:
    """Return each group's ancestors with their depths; None if they are too many.

    A group in a ring has none.
    """
    rings = groups_in_rings(parents)
    found = []
    for group in parents.keys() - rings:
        ancestor, depth = group, 0
        while ancestor in parents and ancestor not in rings:
            ancestor, depth = parents[ancestor], depth + 1
            found.append((group, ancestor, depth))
        if len(found) > most:
            return None
    return found


def above_on_the_driver(links: DataFrame) -> DataFrame | None:
    """Return each group with its ancestors; None if they may be too many to do it here.

    What Spark would find.
    """
    rows = links.limit(MOST_ON_THE_DRIVER + 1).collect()
    if len(rows) > MOST_ON_THE_DRIVER:
        return None
    parents = {group: parent for group, parent, _ in rows}
    found = chains(parents, MOST_ON_THE_DRIVER)
    if found is None:
        return None
    # As one literal: createDataFrame would start Python workers to hand the rows over.
    schema = f"array<struct<{', '.join(f'{name}: bigint' for name in ANCESTOR)}>>"
    objects = [dict(zip(ANCESTOR, row, strict=True)) for row in found]
    texts = F.from_json(F.lit(json.dumps(objects)), schema)
    return links.sparkSession.range(1).select(F.inline(texts))


def reachable(links: DataFrame) -> DataFrame:
    """Return every group that can be reached along the links, by the shortest way.

    Each round doubles the length of the ways known, so a chain of n groups takes
    log2(n) rounds. In a ring, a group also reaches itself.
    """
    reached, size = links.localCheckpoint(), -1
    while True:
        near, far = reached.alias("near"), reached.alias("far")
        further = near.join(
            far,
            on=F.col("near.ancestor_user_group_id") == F.col("far.user_group_id"),
            how="inner",
        ).select(
            F.col("near.user_group_id"),
            F.col("far.ancestor_user_group_id"),
            (F.col("near.depth") + F.col("far.depth")).alias("depth"),
        )
        reached = (
            reached.unionByName(further)
            .groupBy("user_group_id", "ancestor_user_group_id")
            .agg(F.min("depth").alias("depth"))
            # Without it each round would compute all the rounds before it again.
            .localCheckpoint()
        )
        previous, size = size, reached.count()
        if size == previous:
            return reached


def without_rings(reached: DataFrame) -> DataFrame:
    """Drop what is reached only through the parent link of a group in a ring."""
    is_own_ancestor = F.col("user_group_id") == F.col("ancestor_user_group_id")
    ring = reached.where(is_own_ancestor).select("user_group_id")
    first_of_ring = (
        reached.join(
            ring.withColumnRenamed("user_group_id", "ancestor_user_group_id"),
            on="ancestor_user_group_id",
            how="left_semi",
        )
        .groupBy("user_group_id")
        .agg(F.min("depth").alias("last_depth"))
    )
    chain_goes_on = F.col("last_depth").isNull() | (
        F.col("depth") <= F.col("last_depth")
    )
    return (
        reached.join(ring, on="user_group_id", how="left_anti")
        .join(first_of_ring, on="user_group_id", how="left")
        .where(chain_goes_on)
        .select(*ANCESTOR)
    )


def user_group_ancestors(groups: DataFrame) -> DataFrame:
    """Return the whole result from the staged groups."""
    own = groups.where(F.col("is_live")).select(
        F.col("user_group_id"),
        F.col("user_group_id").alias("ancestor_user_group_id"),
        F.lit(0).alias("depth"),
    )
    links = parent_links(groups)
    above = above_on_the_driver(links)
    if above is None:
        above = without_rings(reachable(links))
    return own.unionByName(above).select(
        F.col("user_group_id").cast("bigint"),
        F.col("ancestor_user_group_id").cast("bigint"),
        F.col("depth").cast("int"),
    )


def model(dbt, session):
    """Entry point for dbt."""
    dbt.config(materialized="published_view")
    return user_group_ancestors(dbt.ref("stg_user_groups"))
