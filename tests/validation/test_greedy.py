"""The greedy adversary: never above the worst case, close to it, and as good as any other choice of records."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.validation.greedy import NextRecord
from discreet.validation.sampled_distribution import PosteriorDistribution
from tests.mechanisms.test_posterior_sampling import CASES, points

ONE_PARAMETER = [name for name in CASES if name != "normal"]
# log-masses of float64, up to a thousand of them in size
ROUNDING = 1e-9


def mechanism(name: str, epsilon: Any, cells: int | None = None) -> dc.mechanisms.PosteriorSampling:
    _, prior, _, support, _ = CASES[name]
    return dc.mechanisms.PosteriorSampling(prior, epsilon=epsilon, support=support, cells=cells)


def test_the_figure_of_the_supplement() -> None:
    """A beta posterior truncated at 0.1, records all alike: 4.346 of 2C = 4.394 at 200 records."""
    posterior = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=10, support=("0.1", "0.9"))
    path = dc.validation.adversary(dc.Bernoulli(), mechanism=posterior, records=200)
    assert path.worst == pytest.approx(2 * np.log(9), rel=1e-9)
    assert path.epsilon[[0, -1]] == pytest.approx([np.log(9), 4.346], abs=5e-4)
    assert (np.diff(path.epsilon) > 0).all()
    assert set(path.added) == {1.0}
    assert path.share == pytest.approx(4.3457 / 4.3944, abs=1e-4)
    # a narrower support that is not symmetric has a range of half of 2C, and the adversary finds that too
    narrow = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=10, support=("0.01", "0.5"))
    path = dc.validation.adversary(dc.Bernoulli(), mechanism=narrow, records=300)
    assert path.worst == pytest.approx(np.log(99), rel=1e-9)
    assert 0.99 * path.worst < path.epsilon[-1] <= path.worst


@pytest.mark.parametrize("name", ONE_PARAMETER)
@pytest.mark.parametrize("epsilon", [1, 1000])
def test_the_worst_case_is_approached_and_never_exceeded(name: str, epsilon: int) -> None:
    family, _, bounds, _, _ = CASES[name]
    path = dc.validation.adversary(
        family, mechanism=mechanism(name, epsilon, 512), bounds=bounds, records=400
    )
    assert (path.epsilon <= path.worst + ROUNDING).all()
    assert path.worst <= path.claim + ROUNDING
    assert (np.diff(path.epsilon) > -ROUNDING).all()
    # data bounds that reach beyond the support press the posterior against its end; those of this gamma do not
    assert path.share > (0.9 if name == "gamma" else 0.95)


@pytest.mark.parametrize("name", ONE_PARAMETER)
def test_a_range_that_is_claimed_too_low_is_exceeded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: with a temperature from 90% of the range, the adversary finds a table above the claim."""
    honest = ParameterGrid.range
    monkeypatch.setattr(ParameterGrid, "range", lambda grid: honest(grid) * Fraction(9, 10))
    family, _, bounds, _, _ = CASES[name]
    path = dc.validation.adversary(family, mechanism=mechanism(name, 1, 512), bounds=bounds, records=400)
    assert path.worst == pytest.approx(path.claim, rel=1e-9) == 1
    assert path.epsilon.max() > 1.03 * path.claim


@pytest.mark.parametrize("name", ONE_PARAMETER)
def test_epsilon_is_the_largest_ratio_of_the_distributions_of_releases(name: str) -> None:
    """Against the integer distributions that releases draw from, over all pairs of records on a grid."""
    family, _, bounds, _, cells = CASES[name]
    distribution = PosteriorDistribution.of(family, mechanism(name, 3, cells), bounds)
    after = NextRecord(distribution)
    for total, n in ((Fraction(0), 0), (Fraction(-3, 2), 4), (Fraction(7), 8)):
        logs = np.array([distribution.distribution([total + z], n + 1).log_mass() for (z,) in points(name)])
        widest = max(np.abs(a - b).max() for a, b in itertools.combinations(logs, 2))
        assert after.epsilon(float(total), n) == pytest.approx(widest, abs=1e-7)


@pytest.mark.parametrize("name", ["bernoulli", "exponential", "normal-variance"])
def test_no_record_in_between_is_a_better_choice(name: str) -> None:
    family, _, bounds, _, cells = CASES[name]
    after = NextRecord(PosteriorDistribution.of(family, mechanism(name, 50, cells), bounds))
    for total, n in ((0.0, 1), (-0.7, 3), (2.2, 5)):
        found = [after.epsilon(total + z, n) for z in np.linspace(-1, 1, 21)]
        assert max(found) == pytest.approx(max(found[0], found[-1]), abs=ROUNDING)


def test_any_prior_will_do() -> None:
    for prior in ("beta:1,1", "beta:0.5,20", "beta:300,2"):
        strange = dc.mechanisms.PosteriorSampling(prior, epsilon=10, support=(0.1, 0.9), cells=512)
        path = dc.validation.adversary(dc.Bernoulli(), mechanism=strange, records=400)
        assert 0.9 * path.worst < path.epsilon[-1] <= path.worst + ROUNDING


def test_the_path_prints_and_becomes_plain_numbers() -> None:
    coin = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=3, samples=2, support=(0.1, 0.9), cells=64)
    path = dc.validation.adversary(dc.Bernoulli(), mechanism=coin, records=25)
    assert path.claim == 1.5
    plain = path.to_dict()
    assert len(plain["n_records"]) == len(plain["epsilon"]) == 25
    assert len(plain["added"]) == 24
    text = repr(path)
    assert [line.split()[0] for line in text.splitlines()[3:9]] == ["1", "2", "5", "10", "20", "25"]
    assert path.verdict in text
    assert "statistic" not in dc.validation.adversary(dc.Bernoulli(), mechanism=coin, records=1).verdict


@pytest.mark.parametrize("records", [0, -1, 2.5, True])
def test_a_number_of_records_that_is_none_is_refused(records: Any) -> None:
    with pytest.raises(UsageError, match="records must be"):
        dc.validation.adversary(dc.Bernoulli(), mechanism=mechanism("bernoulli", 1), records=records)


def test_two_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="one parameter"):
        dc.validation.adversary(dc.Normal(), mechanism=mechanism("normal", 1, 8), bounds=(-3, 5))
    with pytest.raises(UsageError, match="give mechanism"):
        dc.validation.adversary(dc.Bernoulli(), mechanism="laplace")  # pyright: ignore[reportArgumentType]
