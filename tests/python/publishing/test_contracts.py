"""When a view's columns are compared with its contract, and when they need not be."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt.adapters.secure_spark import impl
from dbt.include.secure_spark import PACKAGE_PATH
from dbt_common.exceptions import DbtRuntimeError
from jinja2 import Environment
from metastore_double import Relation, RememberedMetastore

from dbt_secure_spark import hooks
from dbt_secure_spark.raw_files import engine_of
from dbt_secure_spark.session import OF_VIEWS
from dbt_secure_spark.unchanged import contract_of

RIGHTS = "s_versions.rights__v20260101000000_0123abcd"
NEWER = RIGHTS.replace("20260101", "20260102")


class SecureView:
    """A view with a contract over a stored relation, and runs that make it."""

    def __init__(self) -> None:
        self.metastore = metastore = RememberedMetastore("s", "s_versions")
        # As a connection is opened.
        metastore.settings = dict(OF_VIEWS)
        self.sql = "select user_id, upper(name) as name from s.rights"
        rights = {"unique_id": "rights", "name": "rights", "alias": "rights"}
        rights |= {"resource_type": "model", "relation_name": "s.rights", "schema": "s"}
        rights |= {"config": {"materialized": "published_view"}, "depends_on": {}}
        self.node = rights | {
            **{"unique_id": "secure", "name": "secure", "alias": "secure"},
            **{"relation_name": "s.secure", "description": ""},
            "columns": {"user_id": {"name": "user_id", "data_type": "bigint"}},
            "config": {"materialized": "view", "contract": {"enforced": True}},
            "depends_on": {"nodes": ["rights"]},
        }
        self.graph = {"nodes": {"rights": rights, "secure": self.node}, "sources": {}}
        self.runs = self.asked = 0
        self.publish(RIGHTS)

    def publish(self, version: str) -> None:
        """Let the stored relation show a version."""
        metastore = self.metastore
        metastore.relations[tuple(version.split("."))] = {"raw_reads": "none"}
        metastore.relations["s", "rights"] = {"kept_versions": "none"}
        metastore.texts["s", "rights"] = f"select * from {version}"

    def run(self) -> list[str]:
        """Make the view in a run of its own; return its statements."""
        self.runs, metastore = self.runs + 1, self.metastore
        name = f"{20260201000000 + self.runs}_0123abcd"
        hooks.begin_run(metastore, name, 20, ["s"], ["s"], ["s.secure"])
        # Once a run, for all nodes.
        engine_of(metastore.dbt_run)
        metastore.dbt_run.state.begin()
        metastore.sent.clear()
        metastore.execute(self.statement())
        # A session is sent no settings.
        sent = [each for each in metastore.sent if not each.startswith("set ")]
        hooks.end_run(metastore)
        return sent

    def statement(self) -> str:
        """Return the statement of the materialization, which asks all others."""
        folder, config = Path(PACKAGE_PATH) / "macros", self.node["config"]
        names = ("secure_spark__create_view_as", "switch_view")
        text = "\n".join((folder / f"{name}.sql").read_text() for name in names)
        methods = {
            name: partial(method, self.metastore)
            for name, method in vars(impl.SecureSparkAdapter).items()
            if getattr(method, "_is_available_", False)
        }
        macros = Environment(extensions=["jinja2.ext.do"]).from_string(
            text,
            {
                "adapter": SimpleNamespace(**methods),
                "config": SimpleNamespace(
                    get=lambda key: SimpleNamespace(**config.get(key, {})),
                    persist_column_docs=lambda: False,
                ),
                "get_assert_columns_equivalent": self.compare,
                "graph": self.graph,
                "model": self.node,
                "relation_comment": lambda: None,
                "return": lambda value: value,
                "run_query": self.metastore.execute,
                "var": lambda _, default: default,
            },
        )
        relation = Relation("s", "secure")
        made = macros.module.secure_spark__create_view_as(relation, self.sql)
        return " ".join(made.split())

    def compare(self, sql: str) -> str:
        """Compare the columns of a query with the contract, as dbt does."""
        self.asked += 1
        # dbt asks for the columns of both.
        for query in (sql, "select cast(null as bigint) as user_id"):
            self.metastore.execute(f"describe query\n{query}")
        return ""


@pytest.fixture
def view(monkeypatch) -> SecureView:
    flags = SimpleNamespace(WHICH="run", DEFER=False)
    monkeypatch.setattr(hooks, "get_flags", lambda: flags)
    monkeypatch.setattr(hooks, "check_session", lambda _: None)
    monkeypatch.setattr(hooks, "option_to_read_some_rows", lambda: None)
    return SecureView()


def edit_column(view: SecureView) -> None:
    """Document another type."""
    view.node["columns"]["user_id"] = {"name": "user_id", "data_type": "string"}


EDITS = {
    "the query": lambda v: setattr(v, "sql", f"{v.sql} where user_id > 0"),
    "a column of the contract": edit_column,
    "the version that it reads": lambda v: v.publish(NEWER),
    "a setting": lambda v: v.metastore.settings.update(
        {"spark.sql.decimalOperations.allowPrecisionLoss": "false"}
    ),
    "Spark": lambda v: setattr(v.metastore, "spark", ("4.0.1", "UTC")),
    "the product": lambda v: setattr(v.metastore, "version", "1.0.1"),
    "the view, dropped": lambda v: v.metastore.drop("s", "secure"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_contract_is_compared_again_only_if_what_decides_it_has_changed(view, edit):
    for _ in range(2):
        view.run()
        assert view.asked == 1
    # Its switch is left: the view is altered whatever it shows.
    (switch,) = view.run()
    assert switch.startswith("alter view s.secure as select ")
    assert f"spark_catalog.{RIGHTS}" in switch
    EDITS[edit](view)
    view.run()
    assert view.asked == 2, view.metastore.sent
    view.run()
    assert view.asked == 2, view.metastore.sent


def read_latest(view: SecureView) -> None:
    """Read a parent by its name: its columns change without a run of the view."""
    view.node["config"]["reads_latest"] = True


def call_their_function(view: SecureView) -> None:
    """Call a function whose result may have another type the next time."""
    view.metastore.functions["`ops`.`named`"] = "Class: com.example.Named"
    view.sql = view.sql.replace("upper(", "ops.named(")


NOT_FIXED = {
    "a parent by its name": read_latest,
    "a table of their own": lambda v: setattr(v, "sql", f"{v.sql} cross join other.t"),
    "a function of their own": call_their_function,
    "a variable": lambda v: setattr(v, "sql", v.sql.replace("name)", "'${name}')")),
    "a header": lambda v: v.node["config"].update(sql_header="set x = 1"),
    "a hook": lambda v: v.node["config"].update({"pre-hook": [{"sql": "set x = 1"}]}),
}


@pytest.mark.parametrize("edit", NOT_FIXED)
def test_columns_that_may_change_under_one_text_are_compared_in_each_run(view, edit):
    NOT_FIXED[edit](view)
    for runs in (1, 2):
        view.run()
        assert view.asked == runs
    assert "contract" not in view.metastore.relations["s", "secure"]


def test_what_a_view_shows_for_now_is_not_what_its_contract_is_held_against(view):
    view.run()
    query = f"select * from {RIGHTS}"
    shown = f"with untested_secure as (\n{query}\n) select * from untested_secure"
    digests = []
    for each in (query, shown):
        hooks.make_run(view.metastore, "run", 20, *[["s"]] * 3)
        digests.append(contract_of(view.metastore, view.node, view.sql, each))
    assert digests[0] is not None
    assert digests[1] is None


def test_a_contract_that_does_not_fit_is_not_noted(view):
    def refuse(sql: str) -> str:
        raise DbtRuntimeError("This model has an enforced contract that failed.")

    compare, view.compare = view.compare, refuse
    for _ in range(2):
        with pytest.raises(DbtRuntimeError, match="contract that failed"):
            view.run()
        hooks.end_run(view.metastore)
    view.compare = compare
    view.run()
    assert view.asked == 1
