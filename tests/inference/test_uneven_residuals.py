"""Residuals that grow along with the target: where they are expected, and intervals that hold there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.inference.regression import moment_population
from discreet.inference.regression.latent_records import _towards
from discreet.inference.regression.moment_prior import (
    EXCESS,
    EXCESS_SPREAD,
    draw_priors,
    expected_excess,
    towards,
)
from discreet.mechanisms.base import RandomSource


def test_residuals_are_expected_to_grow_where_tails_are_at_a_common_end(rng: np.random.Generator) -> None:
    """The release tells it from means and correlations, whichever end it is; the compiled reference does the same."""
    mean, root = draw_priors(3, 40, rng)
    covariance = root @ root.swapaxes(1, 2)
    found = towards(mean, covariance)
    for at in range(40):
        own = float(covariance[at, -1, -1])
        lower = root[at].copy()
        np.fill_diagonal(lower, np.log(np.diag(lower)))
        state = np.concatenate([mean[at], lower[np.tril_indices(4)]])
        assert _towards(state, 4, own) == pytest.approx(found[at])
    flip = np.array([-1.0, 1.0, 1.0, -1.0])
    assert towards(mean * flip, covariance * np.outer(flip, flip)) == pytest.approx(found)
    # at a common end and together; at opposite ends; apart
    together = np.array([[0.04, 0.036], [0.036, 0.04]])
    ends = np.array([[-0.6, -0.6], [0.6, 0.6], [-0.6, 0.6], [0.0, -0.6]])
    medians, spreads = expected_excess(towards(ends, np.broadcast_to(together, (4, 2, 2))))
    assert medians[0] == medians[1] == pytest.approx(3 * EXCESS)
    assert list(medians[2:]) == [EXCESS, EXCESS]
    assert spreads[0] > 2 * spreads[2] == 2 * EXCESS_SPREAD


def held(rng: np.random.Generator, trials: int) -> int:
    """Count intervals that hold the slope of expenditure on income, of a population like that of many surveys."""
    income = np.exp(rng.normal(0, 0.6, 20_000)) * 800
    spent = income * (0.1 + 0.9 * rng.beta(2, 2, 20_000))
    rows = {"spent": np.clip(spent, 0, 5000), "income": np.clip(income, 0, 5000)}
    truth = np.polyfit(rows["income"], rows["spent"], 1)[0]
    model = dc.models.LinearRegression("spent", ["income"], bounds=dict.fromkeys(rows, (0, 5000)))
    found = 0
    for _ in range(trials):
        at = rng.integers(20_000, size=4000)
        sample = {name: column[at] for name, column in rows.items()}
        release = sample_with(RandomSource.seeded(rng), sample, model, dc.mechanisms.Laplace(epsilon=50))
        low, high = dc.infer(release, rng=rng, draws=400).interval(0.95)["coefficients"]
        found += bool(low[0] <= truth <= high[0])
    return found


def test_intervals_hold_where_residuals_grow_with_the_target(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    # at a true share of 90%, and of 90% for the control, false alarms are below 1e-4
    assert held(rng, 200) >= stats.binom.ppf(1e-4, 200, 0.9)
    monkeypatch.setattr(moment_population, "expected_excess", lambda _: (EXCESS, EXCESS_SPREAD))
    assert held(rng, 200) < stats.binom.ppf(1e-4, 200, 0.9)
