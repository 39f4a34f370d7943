"""What a root project adds to the config, and what is told of mistakes in it."""

from __future__ import annotations

import pytest
import yaml
from config_mistakes import DOCUMENT

from secure_datasets.config.errors import ConfigError
from secure_datasets.macro_methods import SecureDatasets

PRODUCT = yaml.safe_load(DOCUMENT)


def laid(added: str) -> dict:
    """Return the config of the small product with what is added."""
    return SecureDatasets().read(DOCUMENT, None, lambda: added)


def test_what_is_not_named_stays():
    config = laid("policies: []\n")
    own = SecureDatasets().read(DOCUMENT)
    assert config == own
    assert config["switched_off"] == []


def test_entries_are_added_changed_and_taken_away():
    config = laid(
        """
tiers:
    office: {access_view: office_access, object_keys: [office_id], carries: []}
datasets:
    stores: false
    jobs: {tier: office, keys: {office_id: team_id}}
    runs: {second_side: null}
    offices: {base: all_offices, columns: [office_id], unique_key: [office_id],
        tier: office, keys: {office_id: office_id}}
relations:
    shops: {columns: {shop_id: bigint, town: string, country: string}}
"""
    )
    datasets = config["datasets"]
    assert [*config["tiers"]] == [*PRODUCT["tiers"], "office"]
    assert config["switched_off"] == ["stores"]
    names = [name for name in PRODUCT["datasets"] if name != "stores"]
    assert [*datasets] == [*names, "offices"]
    jobs = PRODUCT["datasets"]["jobs"]
    assert datasets["jobs"] == jobs | {
        "tier": "office",
        "keys": {"office_id": "team_id"},
    }
    runs = PRODUCT["datasets"]["runs"]
    assert datasets["runs"] == {k: v for k, v in runs.items() if k != "second_side"}
    assert config["relations"]["shops"]["kind"] == "dimension"


def test_lists_are_appended():
    config = laid("policies:\n    - {role: Clerks, resource: jobs}\n")
    own = PRODUCT["policies"]
    assert [policy["role"] for policy in config["policies"]] == [
        *(policy["role"] for policy in own),
        "Clerks",
    ]


@pytest.mark.parametrize(
    ("added", "sentence"),
    [
        # Entries of a list are counted in their own document.
        ("policies:\n  - {role: A, resource: jobs}\n  - {role: A, resource: jbs}\n",
         "policy 2, role 'A' on 'jbs': unknown dataset 'jbs'", ),
        ("policies:\n  - {role: A, resource: jobs}\n  - {role: B}\n",
         "policy 2: the key 'resource' is missing"),
        ("relationships:\n  - from: {dataset: a, join_columns: [b]}\n    to: {}\n",
         "relationship 1, to: must have"),
        ("datasets:\n  jobs:\n    unique_key: [nothing]\n",
         "dataset 'jobs': 'unique_key' names 'nothing'"),
        ("datasets:\n  jobs:\n    tier: nothing\n", "dataset 'jobs': "),
        ("datasets:\n  jobs: null\n", "dataset 'jobs': must be a mapping"),
        ("datasets:\n  stores: true\n", "dataset 'stores': must be a mapping"),
        ("datasets: []\n", "the config: 'datasets' must map names to entries"),
        ("policies: {}\n", "the config: 'policies' must be a list of entries"),
        ("more: {}\n", "the config: unknown key 'more'"),
        ("datasets:\n  jobs: {base: a, base: b}\n",
         "dataset 'jobs': the key 'base' is there twice"),
        ("- a\n", "the config: is not a YAML mapping"),
        ("tiers:\n  team: {object_keys: [other_id]}\n", "dataset 'jobs': 'keys' "),
        ("datasets:\n  leads: false\n",
         "dataset 'calls': needs the dataset 'leads', which is switched off"),
    ],
)  # fmt: skip
def test_a_mistake_is_told(added, sentence):
    with pytest.raises(ConfigError) as stopped:
        laid(added)
    # Other entries may be wrong because of it.
    assert any(f"{mark}{sentence}" in str(stopped.value) for mark in (": ", "  - "))


def test_the_documents_are_not_changed_by_it():
    before = SecureDatasets().read(DOCUMENT)
    laid(
        "datasets: {stores: false, jobs: {tier: source, keys: {source_id: team_id}}}\n"
    )
    assert SecureDatasets().read(DOCUMENT) == before
    assert before["datasets"]["jobs"]["tier"] == "team"
