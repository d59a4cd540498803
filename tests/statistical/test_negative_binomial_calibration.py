"""Calibration of the negative binomial by ranks: parameters from the prior, records clipped, some of them missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from tests.statistical.cases import Case
from tests.statistical.test_engines import check

# a twentieth of the records, or so, is above the upper bound
CASE = Case("negative-binomial", dc.NegativeBinomial(), dc.priors.MeanDispersion(4, 1, 4, 5), (0, 15))  # pyright: ignore[reportArgumentType]
SETTINGS = {
    "200 records": {"n": 200, "epsilon": 0.5, "missing": "none"},
    "1000 records": {"n": 1000, "epsilon": 0.1, "missing": "none"},
    "precise": {"n": 1000, "epsilon": 1, "missing": "none"},
    "private count": {"n": 1000, "epsilon": 0.5, "neighbors": "add_remove"},
    "gaussian": {
        "n": 500,
        "epsilon": None,
        "mechanism": dc.mechanisms.Gaussian(rho="0.05"),
        "missing": "count",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())
def test_gibbs_is_calibrated(setting: Any, rng: np.random.Generator) -> None:
    check(CASE, rng, engine="gibbs", outside="clip", trials=300, **setting)


@pytest.mark.slow
def test_augment_is_calibrated(rng: np.random.Generator) -> None:
    check(CASE, rng, engine="augment", outside="clip", n=20, epsilon=1, trials=300, missing="none")


@pytest.mark.slow
def test_naive_is_rejected(rng: np.random.Generator) -> None:
    with pytest.raises(AssertionError):
        check(CASE, rng, engine="naive", outside="clip", n=200, epsilon=0.5, trials=300, missing="none")
