"""Posteriors in two parts are pointed out, and others are not."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.inference.cautions import two_parts


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.standard_normal(4000),
        lambda rng: rng.standard_cauchy(4000),
        lambda rng: rng.lognormal(0, 3, 4000),
        lambda rng: rng.uniform(0, 1, 4000),
        lambda rng: rng.binomial(4, 0.5, 4000).astype(float),
        lambda rng: rng.standard_normal(5),
        lambda rng: np.zeros(4000),
    ],
    ids=["normal", "cauchy", "lognormal", "uniform", "few values", "few draws", "constant"],
)
def test_one_part(draw, rng: np.random.Generator) -> None:
    assert two_parts(draw(rng)) is None


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_two_parts(share: float, rng: np.random.Generator) -> None:
    far = rng.random(4000) < share
    found = two_parts(np.where(far, rng.normal(40, 5, 4000), rng.normal(132, 0.5, 4000)))
    assert found is not None
    low, high, weight = found
    assert abs(low - 40) < 5
    assert abs(high - 132) < 1
    assert weight == far.mean()


def test_an_ambiguous_release_is_pointed_out() -> None:
    """Sums that a mean in range explains, or one so low that nearly all values were redacted."""
    values = np.random.default_rng(4).normal(131, 18, 2000)
    family, prior = dc.Normal(variance=324), dc.priors.Normal(140, 80)
    told = {}
    for outside in ("redact", "clip"):
        release = dc.release(values, family, bounds=(60, 220), epsilon=0.5, outside=outside)
        told[outside] = dc.infer(release, prior=prior, rng=0).diagnostics.warnings
    assert told["clip"] == ()
    warning, policy = told["redact"]
    assert "count as the middle of the range" in policy
    assert warning.startswith("the mean is near ")
    assert "outside='clip'" in warning
