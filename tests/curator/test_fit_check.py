"""A fit check: what it costs, what it counts, that its bins follow from noisy sums alone, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.declare import declare
from discreet.curator.draw import draw, read
from discreet.curator.publish import release_with
from discreet.families.fit_bins import EQUAL_BINS, bin_layout, chosen_cells, fit_grid
from discreet.mechanisms.base import RandomSource

FAMILIES: list[tuple[Any, Any]] = [
    (dc.Normal(), (-3, 100)),
    (dc.Normal(variance=4), (0, 10)),
    (dc.Normal(mean=3), (0, 10)),
    (dc.Poisson(), (0, 20)),
    (dc.Geometric(), (2, 9)),
    (dc.Exponential(), ("0.001", 60)),
    (dc.Gamma(shape=2), (0, 50)),
    (dc.Laplace(location=1), (-20, 20)),
]
VALUES = [0.0, 1.0, 2.5, 7.0, 19.0, 99.0, 1e300, -1e300, math.inf, -math.inf, math.nan]


def quiet(data: Any, family: Any, bounds: Any, **how: Any) -> dc.Release:
    """Release without noise: what is left is exact."""
    mechanism = how.pop("mechanism", dc.mechanisms.Laplace(1))
    return release_with(lambda _: 0, data, family, mechanism, bounds=bounds, fit_check="0.2", **how)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_the_price_is_the_budget_asked_for(neighbors: Any) -> None:
    x = np.linspace(0, 20, 300)
    how: dict[str, Any] = {"bounds": (0, 20), "neighbors": neighbors, "fit_check": 0.2}
    made = dc.release(x, dc.Exponential(), epsilon=1, **how)
    assert made.guarantee == dc.PureDP(1, neighbors=neighbors)
    assert made.guarantees["statistics"] == dc.PureDP("0.8", neighbors=neighbors)
    assert made.guarantees["fit_check"] == dc.PureDP("0.2", neighbors=neighbors)
    assert made.fit_check is not None
    assert made.fit_check.scale == (10 if neighbors == "replace" else 5)
    rho = dc.release(x, dc.Exponential(), rho="0.1", mechanism="gaussian", **how)
    assert rho.guarantee == dc.ZeroConcentratedDP("0.1", neighbors=neighbors)
    delta = dc.release(x, dc.Exponential(), epsilon="1/3", delta="1e-6", mechanism="gaussian", **how)
    assert delta.guarantee == dc.ApproxDP("1/3", "1e-6", neighbors=neighbors)
    for one in (made, rho, delta):
        assert dc.Release.from_json(one.to_json()) == one


def test_with_bought_bounds_three_parts_add_up() -> None:
    bounds = dc.mechanisms.PrivateQuantiles(0.025, 0.975, within=(0, 100), epsilon=0.1)
    made = dc.release(np.linspace(0, 50, 500), dc.Normal(), bounds=bounds, epsilon=0.5, fit_check=0.2)
    assert made.guarantee == dc.PureDP("0.6")
    assert list(made.guarantees) == ["statistics", "fit_check", "bounds"]
    assert "It has three parts: " in made.statement()
    assert dc.Release.from_json(made.to_json()) == made


def test_the_ledger_is_charged_the_whole_budget(tmp_path: Any) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path}/ledger.db", budget=dc.PureDP(1))
    how: dict[str, Any] = {"bounds": (0, 20), "fit_check": 0.2, "ledger": ledger, "dataset": "days"}
    dc.release([1.0, 2.0, 3.0], dc.Exponential(), epsilon=1, **how)
    with pytest.raises(dc.errors.BudgetError):
        dc.release([1.0, 2.0, 3.0], dc.Exponential(), epsilon="0.01", **how)


@pytest.mark.parametrize(("family", "bounds"), FAMILIES, ids=str)
def test_bins_partition_the_usable_values(family: Any, bounds: Any, rng: np.random.Generator) -> None:
    """Every usable value is in one bin, those beyond the bounds at the ends; a missing one is in none."""
    x = np.append(rng.gamma(2, 3, 400), VALUES)
    made = quiet(x, family, bounds).fit_check
    assert made is not None
    cuts = np.array([float(cut) for cut in made.cuts])
    low, high = (float(end) for end in bounds)
    inside = np.clip(np.floor(x) if family.support.discrete else x, low, high)[~np.isnan(x)]
    expected = np.bincount(np.searchsorted(cuts, inside, side="right"), minlength=len(cuts) + 1)
    assert made.values == tuple(expected.tolist())
    assert sum(made.values) == np.count_nonzero(~np.isnan(x))


@pytest.mark.parametrize(("family", "bounds"), FAMILIES, ids=str)
def test_bins_are_about_equally_likely(family: Any, bounds: Any, rng: np.random.Generator) -> None:
    """Where the family holds and little is clipped, an eighth of the values is in each continuous bin."""
    if family.support.discrete:
        pytest.skip("counts have atoms")
    low, high = (float(end) for end in bounds)
    scale = (high - low) / 20
    theta = {"mean": np.array(low + 10 * scale), "variance": np.array(scale**2), "rate": np.array(1 / scale)}
    theta |= {"variance": np.array(1.0), "mean": np.array(5.0)} if bounds == (0, 10) else {}
    x = family.sample(theta, 20_000, rng)
    made = quiet(x, family, bounds).fit_check
    assert made is not None
    assert len(made.cuts) == EQUAL_BINS + 1
    shares = np.array(made.values) / len(x)
    if family.name != "normal" or "mean" not in family.constants():
        assert np.abs(shares[: EQUAL_BINS - 1] - 1 / EQUAL_BINS).max() < 0.03
    assert 0 < shares[EQUAL_BINS] < 0.03


@pytest.mark.parametrize("missing", ["count", pytest.param("none", marks=pytest.mark.slow)])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize(
    ("family", "bounds"),
    [case if i % 3 == 0 else pytest.param(*case, marks=pytest.mark.slow) for i, case in enumerate(FAMILIES)],
    ids=str,
)
def test_one_record_costs_at_most_the_budget(
    family: Any, bounds: Any, neighbors: Any, missing: Any, rng: np.random.Generator
) -> None:
    """The privacy loss of both vectors together, at the worst output, computed from what is added to the integers.

    Bins are held at those of the first table, as an output that both tables can have demands. A mechanism that spends
    1.2 of the budget is caught.
    """
    base = rng.gamma(2, 3, 30).tolist()
    how: dict[str, Any] = {"bounds": bounds, "neighbors": neighbors, "missing": missing, "fit_check": "0.2"}
    tables = [[*base, value] for value in VALUES]
    read_all = [read(declare(table, family, dc.mechanisms.Laplace(1), **how)) for table in tables]
    others = (
        read_all if neighbors == "replace" else [read(declare(base, family, dc.mechanisms.Laplace(1), **how))]
    )
    budgets = {"exact": Fraction(1), "control": Fraction(6, 5)}
    losses = [_loss(one, other) for one in read_all for other in others]
    worst = {name: spent * max(losses) for name, spent in budgets.items()}
    assert worst["exact"] <= 1
    assert worst["exact"] > Fraction(9, 10)
    assert worst["control"] > 1


def _loss(one: Any, other: Any) -> Fraction:
    """Return the log-ratio of the two releases' probabilities at their worst common output, noise being Laplace's."""
    asked, layout = one.asked, one.asked.layout
    scales = asked.mechanism.scales(layout)
    sums = sum(
        abs(a - b) * grid / scale
        for a, b, grid, scale in zip(one.data.values, other.data.values, layout.grid, scales, strict=True)
    )
    grid = fit_grid(asked.model, asked.domain.bounds)
    counts = [np.array(each.cells.counts[0]) for each in (one, other)]
    # the finest bins that there can be: whatever is joined changes by no more
    change = int(np.abs(counts[0] - counts[1]).sum())
    assert len(counts[0]) == grid.n_cells
    (scale, *_) = asked.checker.scales(bin_layout(2, asked.neighbors))
    return sums + change / scale


def test_bins_follow_from_noisy_sums_alone() -> None:
    """Two tables with the same noisy sums have the same cuts, however their values lie."""
    one, other = [4.0, 4.0, 4.0, 4.0] * 50, [0.0, 8.0, 2.0, 6.0] * 50
    first, second = (quiet(x, dc.Exponential(), (0, 16)) for x in (one, other))
    assert first.totals == second.totals
    assert first.fit_check is not None
    assert second.fit_check is not None
    assert first.fit_check.cuts == second.fit_check.cuts
    assert first.fit_check.values != second.fit_check.values


def test_rows_are_not_read_after_the_first_random_number() -> None:
    rows = {"x": np.linspace(0, 10, 100)}
    reading = read(
        declare(
            rows, dc.Exponential(), dc.mechanisms.Laplace(1), columns=("x",), bounds=(0, 10), fit_check="0.2"
        )
    )
    rows["x"][:] = np.nan
    made = draw(reading, RandomSource(noise=lambda _: 0))
    assert made.fit_check is not None
    assert sum(made.fit_check.values) == 100


@pytest.mark.parametrize(("family", "bounds"), FAMILIES, ids=str)
@pytest.mark.parametrize("sum_", [-1e30, 0.0, 1e30])
def test_absurd_sums_still_make_bins(family: Any, bounds: Any, sum_: float) -> None:
    domain = family.read_domain(bounds, "clip", "count")
    size = len(family.geometry.feature_names)
    for n in (0.0, 1.0, 1e12):
        cells = chosen_cells(family, domain, np.full(size, sum_), n)
        assert cells
        assert list(cells) == sorted(set(cells))
        assert 0 < cells[0] <= cells[-1] < fit_grid(family, domain.bounds).n_cells


@pytest.mark.parametrize(
    ("model", "how", "said"),
    [
        (dc.Bernoulli(), {}, "bernoulli counts labels"),
        (dc.Categorical(3), {}, "categorical counts labels"),
        (dc.Mean(), {"bounds": (0, 1)}, "mean is none"),
        (dc.Histogram(), {"bounds": (0, 1)}, "histogram is none"),
        (dc.MultivariateNormal(2), {"bounds": [(0, 1)] * 2}, "has 2 columns"),
        (dc.models.NaiveBayes({"c": 2}, {"f": 2}), {}, "naive_bayes is none"),
        (dc.Poisson(), {"bounds": (0, 9), "fit_check": 0}, "between 0 and 1"),
        (dc.Poisson(), {"bounds": (0, 9), "fit_check": 1}, "between 0 and 1"),
        (dc.Poisson(), {"bounds": (0, 9), "fit_check": "some"}, "fit_check"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(model: Any, how: Any, said: str) -> None:
    with pytest.raises(dc.errors.UsageError) as caught:
        dc.release([0, 1, 1], model, **{"epsilon": 1, "fit_check": 0.2, **how})  # pyright: ignore[reportArgumentType, reportCallIssue]
    assert said in caught.value.message
    assert "\n" not in caught.value.message


def test_samples_have_no_fit_check() -> None:
    sampled = dc.mechanisms.PosteriorSampling("gamma:1,1", epsilon=1, support=(0.1, 9))
    with pytest.raises(dc.errors.UsageError, match="fit_check is for noisy totals"):
        dc.release([1, 2], dc.Poisson(), mechanism=sampled, bounds=(0, 9), missing="none", fit_check=0.2)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_people_with_several_rows_are_refused(neighbors: Any) -> None:
    """Cells are counted row by row, and the guarantee would be for a person."""
    rows = {"who": ["a", "a", "b"], "x": [1.0, 2.0, 3.0]}
    how: dict[str, Any] = {
        "column": "x",
        "bounds": (0, 9),
        "unit": "who",
        "per_unit": "mean",
        "fit_check": 0.2,
    }
    with pytest.raises(dc.errors.UsageError, match="fit_check is for rows"):
        dc.release(rows, dc.Exponential(), epsilon=1, neighbors=neighbors, **how)


def test_groups_are_refused() -> None:
    rows = {"where": ["n", "s", "s"], "x": [1.0, 2.0, 3.0]}
    how: dict[str, Any] = {"column": "x", "bounds": (0, 9), "by": "where", "groups": ["n", "s"]}
    with pytest.raises(dc.errors.UsageError, match="fit_check compares a column"):
        dc.release(rows, dc.Exponential(), epsilon=1, fit_check=0.2, **how)


def test_several_models_take_it_by_name() -> None:
    rows = {"smoker": [0, 1] * 50, "visits": [0, 2] * 50}
    models = {"smoker": dc.Bernoulli(), "visits": dc.Poisson()}
    made = dc.release(rows, models, epsilon=1, bounds={"visits": (0, 9)}, fit_check={"visits": 0.5})
    assert made["smoker"].fit_check is None
    assert made["visits"].guarantees["fit_check"] == dc.PureDP("1/4")
