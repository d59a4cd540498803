"""Columns with nothing in them, one record, or one value: a correct, wide posterior, or one clear line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.curator.publish import release_with

BOUNDS = (0, 10)
COLUMNS: dict[str, tuple[list[Any], float | None]] = {
    "all missing": ([None] * 400, None),
    "one record": ([3.0], 3.0),
    "one missing record": ([None], None),
    "all equal": ([7.0] * 400, 7.0),
    "all on a bound": ([0.0] * 400, 0.0),
    "all outside": ([99.0] * 400, 10.0),
}


def read(column: list[Any], model: Any, neighbors: Any, rng: np.random.Generator) -> Any:
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        np.array(column, dtype=float),
        model,
        dc.mechanisms.Laplace(1),
        bounds=BOUNDS,
        neighbors=neighbors,
    )
    return dc.infer(release, draws=1000, rng=rng)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", COLUMNS)
def test_means_are_wide_where_little_is_known(name: str, neighbors: Any, rng: np.random.Generator) -> None:
    column, truth = COLUMNS[name]
    posterior = read(column, dc.Mean(), neighbors, rng)
    ends = posterior.interval(0.999)
    low, high = ends["mean"]
    assert 0 <= low <= high <= 10
    assert 0 <= ends["sd"][0] <= ends["sd"][1] <= 5
    if len(column) == 1 or truth is None:
        assert high - low > 5
    else:
        # many records: known but for noise, at or next to where they are
        assert low - 0.01 <= truth <= high + 0.01
        assert high - low < 2


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_a_constant_column_has_its_value_and_no_spread_inside(
    value: float, neighbors: Any, rng: np.random.Generator
) -> None:
    """The value itself, at a bound too, and an sd of 0: not next to the interval's end but inside."""
    n_releases = 40
    held = np.zeros(2)
    for _ in range(n_releases):
        ends = read([value] * 400, dc.Mean(), neighbors, rng).interval()
        held += [ends["mean"][0] <= value <= ends["mean"][1], ends["sd"][0] == 0]
    # eight shares of at least 0.9 have a false-alarm rate of 1e-4
    assert (held >= binom.ppf(1e-4 / 8, n_releases, 0.9)).all(), held


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", COLUMNS)
def test_distributions_are_wide_where_little_is_known(
    name: str, neighbors: Any, rng: np.random.Generator
) -> None:
    column, truth = COLUMNS[name]
    posterior = read(column, dc.Histogram(8), neighbors, rng)
    (median,) = posterior.quantiles([0.5], 0.999)
    band = posterior.band()
    assert np.isfinite(posterior.draws["p"]).all()
    assert ((band.low >= 0) & (band.low <= band.high) & (band.high <= 1)).all()
    if len(column) == 1 or truth is None:
        assert median.high - median.low > 5
    else:
        assert median.low <= truth <= median.high
        assert median.high - median.low <= 2.5


@pytest.mark.parametrize("model", [dc.Mean(), dc.Histogram(8)], ids=["mean", "histogram"])
@pytest.mark.parametrize("bounds", [(3, 3), (4, 3), (0, float("nan")), (0, float("inf")), None])
def test_bounds_without_width_are_one_clear_line(model: Any, bounds: Any) -> None:
    with pytest.raises(dc.DiscreetError) as raised:
        dc.release([1.0, 2.0], model, bounds=bounds, epsilon=1)
    assert "bound" in str(raised.value).splitlines()[0]


@pytest.mark.parametrize(
    "how",
    [
        {"edges": [0, 2, 1, 3]},
        {"edges": [0, 1, 1, 3]},
        {"edges": [0, 1]},
        {"edges": []},
        {"edges": [0, float("nan"), 2]},
        {"bins": 1},
        {"bins": 0},
        {"bins": 100_001},
        {"bins": 2.5},
        {"edges": range(100_002)},
    ],
)
def test_bins_that_are_none_are_one_clear_line(how: dict[str, Any]) -> None:
    with pytest.raises(dc.errors.UsageError) as raised:
        dc.Histogram(**how)
    assert len(str(raised.value).splitlines()[0]) < 140
