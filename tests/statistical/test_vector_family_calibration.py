"""Calibration by ranks of families of one's own with two statistics: beta, and gamma with two unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from tests.families.own_families import Share, Waiting
from tests.statistical.cases import Case
from tests.statistical.test_engines import check

_GAMMA = dc.priors.Gamma
CASES = [
    Case("beta", Share(), dc.priors.Product(_GAMMA(6, 2), _GAMMA(6, 1.5)), None),  # pyright: ignore[reportArgumentType]
    Case("gamma", Waiting(), dc.priors.Product(_GAMMA(6, 2), _GAMMA(6, 6)), None),  # pyright: ignore[reportArgumentType]
]
SETTINGS = {
    "little noise": {"n": 1000, "epsilon": 2, "missing": "none"},
    "much noise": {"n": 500, "epsilon": 0.3, "missing": "none"},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())
def test_gibbs_is_calibrated(case: Case, setting: Any, rng: np.random.Generator) -> None:
    check(case, rng, engine="gibbs", outside="clip", trials=300, **setting)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_naive_is_rejected(case: Case, rng: np.random.Generator) -> None:
    with pytest.raises(AssertionError):
        check(case, rng, engine="naive", outside="clip", n=500, epsilon=0.3, trials=300, missing="none")
