"""The product in a root project of any name: what works there, and what stops."""

from __future__ import annotations

from pathlib import Path

import pytest
from customer_project import CONFIG, config_macro, customer_project

NINE = [
    *("tables", "columns", "metadata_objects", "tests", "jobs", "job_executions"),
    *("test_executions", "template_test_executions", "event_history"),
]
SECURE = "vw_secure_dataset_"
NOTHING = config_macro("policies: []\n")
# Without a connection dbt compiles no Python model.
COMPILE = (
    *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
    *("--exclude", "file:*.py"),
)


@pytest.fixture(scope="module")
def customer(product, dbt, tmp_path_factory):
    """A root project whose files a test writes; it is parsed in parts, as dbt does."""
    folder = tmp_path_factory.mktemp("customer") / "acme"
    customer_project(folder, product, {CONFIG: NOTHING})

    written: set[str] = set()

    class Customer:
        """The project, and dbt in it."""

        path: Path = folder

        def dbt(self, *arguments: str, manifest=None):
            """Call dbt."""
            return dbt(*arguments, folder=folder, manifest=manifest)

        def parse(self, files: dict[str, str], *arguments: str):
            """Parse the project with these files, and no others."""
            for path in written - {*files}:
                (folder / path).unlink()
            written.clear()
            for path, text in {CONFIG: NOTHING, **files}.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text)
            written.update({*files} - {CONFIG})
            # What dbt knew of the bare project, so that it parses only what is edited.
            known = folder / "target/partial_parse.msgpack"
            if bare := getattr(self, "bare", None):
                known.write_bytes(bare)
            result = dbt("parse", "--quiet", *arguments, folder=folder)
            if not files and result.success:
                Customer.bare = known.read_bytes()
            return result

        def stops(self, files: dict[str, str], *arguments: str) -> str:
            """Return what dbt says where it stops while it parses."""
            result = self.parse(files, *arguments)
            assert not result.success
            return str(result.exception)

    return Customer()


def test_a_project_with_a_profile_and_a_schema_is_enough(customer):
    result = customer.parse({}, "--no-partial-parse")
    assert result.success, result.exception
    names = {node.name for node in result.result.nodes.values()}
    assert {SECURE + name for name in NINE} <= names


@pytest.mark.parametrize("off", [*NINE, "all"])
def test_a_dataset_of_the_product_can_be_switched_off(off, customer):
    names = NINE if off == "all" else [off]
    document = "datasets:\n" + "".join(f"    {name}: false\n" for name in names)
    result = customer.parse({CONFIG: config_macro(document)})
    assert result.success, result.exception
    models = {
        node.name
        for node in result.result.nodes.values()
        if node.resource_type == "model" and node.name.startswith(SECURE)
    }
    assert models == {SECURE + name for name in NINE if name not in names}
    compiled = customer.dbt(*COMPILE, manifest=result.result)
    assert compiled.success, compiled.exception
    for node in compiled.result:
        text = getattr(node.node, "compiled_code", "") or ""
        assert not any(SECURE + name + " " in text for name in names), node.node.name
