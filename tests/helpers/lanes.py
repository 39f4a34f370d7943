"""The parameters that a test has in `make test`, beside those of the nightly lane."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest


def nightly_but(kept: Collection, parameters: Iterable) -> list:
    """Return the parameters; those that are not kept have the marker `nightly`."""
    parameters = list(parameters)
    assert all(each in parameters for each in kept)
    return [
        each
        if each in kept
        else pytest.param(
            *(each if isinstance(each, tuple) else (each,)), marks=pytest.mark.nightly
        )
        for each in parameters
    ]
