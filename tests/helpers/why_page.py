"""The page of questions: what is asked, by which call, and what is printed.

    python tests/helpers/why_page.py

writes anew what is printed: read the difference.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from oracle.contract import Groups, Rights, Staging, World, read_world
from own_config import PRODUCTS, document_of, together
from projects import ROOT, SAMPLE
from rendering import ENVIRONMENT
from why_sandbox import Asked, Database, documented_columns, load_world

FILE = ROOT / "docs/why.md"
PAGE = FILE.read_text(encoding="utf-8")
# A question, where it is asked, what it is asked by, and what is printed.
SHOWN = re.findall(
    r"^## ([^\n]*)\n\n```sh\n"
    rf"(?:cd ({SAMPLE})\n)?"
    r"dbt --quiet run-operation why --args '([^\n]*)'\n```\n\n"
    r"```text\n(.*?)\n```$",
    PAGE,
    re.M | re.S,
)
BANK = ROOT / SAMPLE
SEEDS = {
    "user_group_business_units": ("user_group_id", "business_unit"),
    "data_source_business_units": ("meta_data_source_id", "business_unit", "division"),
    "view_decisions": ("user_id", "object_name", "decision"),
}
# In the order in which one reads another.
MODELS = (
    *("datasets/vw_dataset_reports", "access/vw_secure_user_report_access"),
    *("star/fct_test_executions", "star/dim_data_sources", "star/dim_projects"),
    "star/map_user_group_business_units",
)


def sample_asked(
    project: str, world: World | None = None, config: dict[str, Any] | None = None
) -> Asked:
    """Return the question over the sample's raw rows, as a project's config asks it.

    Over other rows with a `world`, and by another `config` than the bank's own.
    """
    world = world or read_world(ROOT / "seeds/repository")
    database = Database()
    staging = load_world(database, world)
    if not project:
        return Asked(document_of(PRODUCTS), database).over(world)
    document = yaml.safe_dump(config or together(), sort_keys=False)
    asked = Asked(document, database, types={})
    columns = ("user_id", "user_group_id", "role_name")
    database.table("vw_secure_user_roles", columns, roles_of_users(staging))
    for seed, names in SEEDS.items():
        (path,) = BANK.glob(f"seeds/*/{seed}.csv")
        lines = path.read_text().splitlines()[1:]
        rows = [[int(v) if v.isdigit() else v for v in x.split(",")] for x in lines]
        database.table(seed, names, rows)
    # Spark's own arithmetic of days is another's concern.
    asked._called["utc_day"] = lambda moment: f"cast({moment} as date)"
    for model in MODELS:
        text = (BANK / f"models/{model}.sql").read_text(encoding="utf-8")
        query = ENVIRONMENT.from_string(text).render(
            ref=str, config=lambda **_: "", secure_datasets=asked._called
        )
        database.make(model.rpartition("/")[2], query)
    documented = documented_columns(*BANK.glob("models/*/_*__models.yml"))
    asked._called["documented_columns"] = lambda: documented
    return asked.over(world)


def roles_of_users(staging: Staging) -> list[tuple]:
    """Return the groups and roles of each live user, by the contract."""
    rights, groups = Rights(staging), Groups(staging)
    through = [
        (user, group, groups.live[group]["name"])
        for group, users in groups.holders().items()
        for user in users
    ]
    kinds = ("Global Admin", "Global Data Source Admin")
    found = [(user, None, kind) for kind in kinds for user in rights.global_roles[kind]]
    return through + found


def renewed() -> str:
    """Return the page with what the operation prints now."""
    page, asked = PAGE, {}
    for _, project, question, shown in SHOWN:
        if project not in asked:
            asked[project] = sample_asked(project)
        lines = asked[project].lines(**yaml.safe_load(question))
        printed = "\n".join(lines).strip("\n")
        block = f"'{question}'\n```\n\n```text\n"
        page = page.replace(f"{block}{shown}\n```", f"{block}{printed}\n```", 1)
    return page


if __name__ == "__main__":
    FILE.write_text(renewed(), encoding="utf-8")
