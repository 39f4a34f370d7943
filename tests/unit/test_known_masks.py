"""The masks by which a narrowed dataset shows a value that one state masks."""

from __future__ import annotations

import pytest
from policy_sandbox import Sandbox, config

LAYERS = """
runs: {base: all_runs, columns: [run_id, team_id, unit], unique_key: [run_id],
       tier: team, keys: {team_id: team_id}}
notes: {base: vw_secure_dataset_runs, columns: [run_id, unit], unique_key: [run_id]}
"""
BELOW = "role: A, resource: runs.unit, mask: \"'*'\""
ABOVE = "role: A, resource: notes.unit, mask: \"'#'\""


@pytest.mark.parametrize(
    ("policies", "known"),
    [
        ([BELOW], {"unit": "'*'"}),
        ([ABOVE], {"unit": "'#'"}),
        # Which of two made a value is not known.
        ([BELOW, ABOVE], {}),
    ],
)
def test_the_one_mask_of_all_layers_is_known(policies, known):
    macros = Sandbox().macros(config(*policies, dataset=LAYERS))
    document = macros.secure_datasets_config()
    assert macros.secure_datasets().known_masks("notes", document) == known
