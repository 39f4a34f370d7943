"""Readers beside runs, also runs that are killed: never an error, never a mixture.

The readers are a process of their own, so the metastore is the PostgreSQL one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from beside_runs import (
    ROUNDS,
    RUN,
    SCHEMA,
    Running,
    meet_no_error_and_no_mixture,
)
from harness import Deployment, postgresql_metastore
from projects import TEST_SETTINGS
from states import Answers

pytestmark = [pytest.mark.spark, pytest.mark.deployment]


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[Running]:
    """A project on the shared metastore, built once from the first state."""
    folder = tmp_path_factory.mktemp("never_dark") / "project"
    deployment = Deployment(folder, "shared")
    deployment.parameters.update(TEST_SETTINGS)
    with postgresql_metastore(deployment):
        running = Running(deployment)
        running.build()
        yield running


def test_between_the_switches_a_secure_dataset_is_what_it_was(running):
    before = running.number
    running.deliver_next()
    # As if the run paused here: the base datasets are new, the rights are not yet.
    running.run("--exclude", "path:models/secure", "vw_secure_user_*")
    compiled = running.folder / "target/compiled/secure_datasets/models/secure"
    by_name = {path.stem: path.read_text() for path in compiled.glob("*.sql")}
    assert len(by_name) == 9
    found = running.rows({name: f"select * from {SCHEMA}.{name}" for name in by_name})
    mixed = running.rows(by_name)
    answers = Answers()
    old = {name: answers.of(before, name, None) for name in by_name}
    new = {name: answers.of(running.number, name, None) for name in by_name}
    assert found == old
    # The same queries over the views' names give rows that neither state gives.
    leaks = {name for name in by_name if mixed[name] - old[name] - new[name]}
    assert len(leaks) > 4
    running.run()
    assert running.rows({name: f"select * from {SCHEMA}.{name}" for name in new}) == new
    running.say_valid(running.number)


def test_readers_beside_runs_and_kills_meet_no_error_and_no_mixture(running):
    meet_no_error_and_no_mixture(running, range(ROUNDS), ROUNDS)


def test_of_two_runs_at_once_one_is_refused_with_a_sentence(running):
    running.deliver_next()
    first = running.deployment.start_dbt(*RUN)
    time.sleep(1)
    second = running.deployment.start_dbt(*RUN, "--target-path", "target/second")
    printed = [process.communicate()[0] for process in (first, second)]
    codes = [first.returncode, second.returncode]
    assert sorted(map(bool, codes)) == [False, True], printed[1][-2000:]
    (refused,) = (text for text, code in zip(printed, codes, strict=True) if code)
    assert "Another dbt run is building this schema" in refused
    assert "OK created" not in refused
    running.say_valid(running.number)
    assert running.left_over() == {"tables": set(), "folders": set()}
