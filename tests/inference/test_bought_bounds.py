"""Bounds that were bought are treated as fixed, and the analyst is told when that was not shown to be harmless."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize(("n", "price", "precise"), [(900, 0.3, False), (1000, 1, True), (10_000, 0.1, True)])
def test_precise_bounds_are_warned_about(n: int, price: float, precise: bool, neighbors: str) -> None:
    release = dc.release(  # pyright: ignore[reportCallIssue]
        np.random.default_rng(5).normal(0, 1, n),
        dc.Normal(variance=1),
        bounds=dc.mechanisms.PrivateQuantiles(0.025, 0.975, within=(-20, 20), epsilon=price),
        # so that a private number of records is read to a few of them
        epsilon=4,
        neighbors=neighbors,  # pyright: ignore[reportArgumentType]
    )
    posterior = dc.infer(release, prior=dc.priors.Normal(0, 2), engine="naive", rng=0)
    (told,) = [warning for warning in posterior.diagnostics.warnings if "bought" in warning]
    assert "treated as fixed" in told
    assert ("too narrow" in told) == precise


def test_declared_bounds_are_not() -> None:
    release = dc.release([0.0, 1.0, 2.0], dc.Normal(variance=1), bounds=(-3, 3), epsilon=1)
    posterior = dc.infer(release, prior=dc.priors.Normal(0, 2), engine="naive", rng=0)
    assert not any("bought" in warning for warning in posterior.diagnostics.warnings)
