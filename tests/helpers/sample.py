"""What is told of the sample, as a person counted it."""

from __future__ import annotations

from typing import Any

import yaml
from projects import ROOT

EXPECTED: dict[Any, Any] = yaml.safe_load(
    (ROOT / "tests/helpers/sample_expectations.yml").read_text()
)
# The data tests that find something in the sample, as they should.
MAY_WARN = {"assert_few_rows_are_rejected", "assert_few_references_dangle"}
# Data tests that the quick engine refuses: the types of a whole row, and the clock.
REFUSED = {
    "assert_secure_datasets_have_the_columns_of_their_base",
    "assert_access_is_resolved_from_the_newest_deliveries",
}
