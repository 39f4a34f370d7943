"""The methods that installed packages add to the adapter."""

from __future__ import annotations

from importlib.metadata import entry_points
from types import SimpleNamespace

import pytest
from dbt.adapters.base.meta import AdapterMeta

from dbt_secure_spark import added
from secure_datasets import adapter_methods


def package(*names: str) -> SimpleNamespace:
    """A module that adds methods of these names, and refuses what they name."""

    def check(adapter: object, sql: str) -> None:
        if sql in names:
            raise ValueError(sql)

    methods = {name: lambda adapter, name=name: name for name in names}
    return SimpleNamespace(METHODS=methods, check_statement=check)


@pytest.fixture
def installed(monkeypatch):
    """Return what lets these modules be the installed ones."""

    def install(*modules: SimpleNamespace) -> None:
        monkeypatch.setattr(added, "modules", lambda: modules)

    return install


def test_the_product_is_installed_as_such_a_package():
    names = {point.load() for point in entry_points(group=added.GROUP)}
    assert adapter_methods in names


def test_the_methods_of_all_packages_may_be_called_by_macros(installed):
    installed(package("first"), package("second", "third"))
    base = added.added_methods()
    assert type(base) is AdapterMeta
    assert base._available_ == {"first", "second", "third"}
    assert base.second(None) == "second"


def test_a_method_that_two_packages_add_is_refused(installed):
    installed(package("first", "second"), package("second"))
    with pytest.raises(ImportError, match="add the same methods to dbt: second"):
        added.added_methods()


def test_each_package_looks_at_a_statement(installed):
    installed(package("first"), package("second"))
    added.check_statement(None, "select 1")
    for sql in ("first", "second"):
        with pytest.raises(ValueError, match=sql):
            added.check_statement(None, sql)
