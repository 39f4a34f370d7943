"""The parameters that a test has in `make test`, beside those of the nightly lane."""

from __future__ import annotations

from collections.abc import Container, Iterable

import pytest


def nightly_but(kept: Container, parameters: Iterable) -> list:
    """Return the parameters; those that are not kept have the marker `nightly`."""
    return [
        each
        if each in kept
        else pytest.param(
            *(each if isinstance(each, tuple) else (each,)), marks=pytest.mark.nightly
        )
        for each in parameters
    ]
