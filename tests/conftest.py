"""What the tests share: a copy of the product, its sample, and one Spark session."""

from __future__ import annotations

import gc
import os
from collections import Counter
from pathlib import Path

import pytest
from parsing_once import parse_texts_once
from postgresql import BINARIES, postgresql
from projects import SAMPLE, copy_project, install_product, local_output
from xdist.scheduler import LoadScopeScheduling

# What asks for the built sample, of which one process has all.
SAMPLE_TESTS = "tests/sample/"
# Few tests, each over many random worlds.
OF_WORLDS = ("tests/meaning/", "tests/python/oracle/")


def pytest_addoption(parser) -> None:
    """Offer to write the golden files anew; see test_golden_sql.py."""
    parser.addoption(
        "--renew-golden",
        action="store_true",
        help="write golden files, and answers on pages, anew",
    )


def pytest_collection_modifyitems(items) -> None:
    """Mark what needs Spark, and begin with the built sample and the dearest files.

    Two processes end at once if what comes last takes milliseconds.
    """
    tests, of_spark = Counter(), Counter()
    for item in items:
        tests[item.path] += 1
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        if item.get_closest_marker("spark"):
            of_spark[item.path] += 1

    def dearest_first(item) -> tuple[int, ...]:
        path = item.path
        is_of_sample = item.nodeid.startswith(SAMPLE_TESTS)
        is_of_worlds = item.nodeid.startswith(OF_WORLDS)
        return not is_of_sample, -of_spark[path], not is_of_worlds, -tests[path]

    items.sort(key=dearest_first)


class SampleInOneProcess(LoadScopeScheduling):
    """Hands out whole files, and all that asks for the built sample to one process."""

    def _split_scope(self, nodeid: str) -> str:
        is_of_sample = nodeid.startswith(SAMPLE_TESTS)
        return SAMPLE_TESTS if is_of_sample else nodeid.split("::", 1)[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Build the sample once for both processes: it takes longer than anything else."""
    if config.getvalue("dist") == "loadscope":
        return SampleInOneProcess(config, log)
    return None


@pytest.fixture(scope="session")
def product(tmp_path_factory) -> Path:
    """A copy of the product, whose Spark is the session of all tests."""
    return copy_project(tmp_path_factory.mktemp("copy") / "product")


@pytest.fixture(scope="session")
def project(product) -> Path:
    """The sample in that copy: the project that is parsed and built for all tests."""
    return install_product(product, product / SAMPLE, "secure_datasets")


@pytest.fixture(scope="session")
def spark(product):
    """The one session: that of the copied product's profile."""
    from dbt_secure_spark.session import start_session

    session = start_session(local_output(product)["server_side_parameters"])
    yield session
    session.stop()


@pytest.fixture(scope="session")
def dbt(project):
    """Call dbt on the sample, in this process: `dbt("run", "-s", "x")`."""
    from dbt.cli.main import dbtRunner
    from dbt.deprecations import reset_deprecations
    from dbt.parser import manifest as parsing
    from dbt.task import runnable

    def call(
        *arguments: str, folder: Path = project, manifest=None, writes_manifest=False
    ):
        # dbt sums up what it warned of in the whole process, other tests' too.
        reset_deprecations()
        place = ["--project-dir", str(folder), "--profiles-dir", str(folder)]
        place += ["--target-path", str(folder / "target")]
        place += ["--log-path", str(folder / "logs")]
        with pytest.MonkeyPatch.context() as patch:
            # It has ten megabytes, which dbt would write at each call, and twice.
            for module in [] if writes_manifest else [parsing, runnable]:
                patch.setattr(module, "write_manifest", lambda *_, **__: None)
            # With a manifest, dbt parses nothing.
            return dbtRunner(manifest=manifest).invoke([*arguments, *place])

    return call


@pytest.fixture(scope="session")
def parsed(dbt):
    """Parse the sample, once for all tests, with warnings as errors: dbt's manifest.

    The product is in it too, as a package. Parsing takes longer than anything else
    that needs no Spark.
    """
    from dbt_common.clients import jinja

    options = ("--quiet", "--no-partial-parse", "--no-write-json")
    # dbt warns of a text when it first takes it apart, for another test perhaps.
    jinja._TESTING_BLOCKS_CACHE.clear()
    result = dbt("--warn-error", "parse", *options)
    assert result.success, result.exception
    return result.result


@pytest.fixture(scope="session", autouse=True)
def _quiet():
    """Keep dbt's usage statistics and colours out of the tests."""
    os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
    os.environ["NO_COLOR"] = "1"


@pytest.fixture(scope="session", autouse=True)
def _parse_once():
    """Let dbt parse each text once: the projects of the tests share most of them."""
    parse_texts_once()


@pytest.fixture(scope="session", autouse=True)
def _collect_seldom():
    """Look for garbage less often: what dbt and pytest keep makes each look dear."""
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(scope="module")
def psql():
    """Run scripts on a PostgreSQL server: `psql("select 1")` gives what it prints."""
    if not BINARIES:
        pytest.skip("no PostgreSQL server: install Debian's package postgresql")
    with postgresql() as run:
        yield run
