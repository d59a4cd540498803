"""How many records are usable, as regressions read it: all counts, or some of them with the mass of those between."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.inference.missing_prior import missing_prior
from discreet.inference.record_prior import RecordPrior
from discreet.inference.regression import moment_readings
from discreet.inference.regression.moment_readings import _weighed
from discreet.privacy import DiscreteLaplace


@pytest.mark.parametrize("share", [1.0, 0.97])
def test_some_counts_stand_for_all_of_them(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """None missing has a probability of its own: it must not gain what counts between two others lose."""
    n, noise = 100_000, DiscreteLaplace(2400.0)
    prior, reading = missing_prior(None, n), int(share * n)
    every, weights = _weighed(prior, reading, noise)
    assert len(every) == every[-1] - every[0] + 1
    direct = prior.log_mass(every) + noise.log_mass(reading - every)
    assert weights == pytest.approx(np.exp(direct - direct.max()) / np.exp(direct - direct.max()).sum())
    monkeypatch.setattr(moment_readings, "_MOST_COUNTS", 4000)
    some, rough = _weighed(prior, reading, noise)
    assert len(some) < 5000
    assert rough[-1] == pytest.approx(weights[-1], rel=0.02)
    assert some @ rough == pytest.approx(every @ weights, abs=0.02 * noise.sd)


def test_weights_at_far_counts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moment_readings, "_MOST_COUNTS", 1000)
    given = np.zeros(90_000)
    # only the first is a node of the prior
    given[[12_345, 80_003, 89_999]] = [1.0, 0.5, 0.5]
    prior = RecordPrior(12_345, 89_999, given[12_345:])
    found, weights = _weighed(prior, 12_300, DiscreteLaplace(2400.0))
    assert found[weights.argmax()] == 12_345
