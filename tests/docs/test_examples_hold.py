"""The numeric examples of README, tutorial and how-tos, released 200 times each, hold what their text says.

The invented patients of the bundled survey are the population. Each example is run on resamples of it, of the same
size and with the same missing values; intervals must hold the population's value, those of ``posterior.table`` the
resample's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.curator.publish import release_with

pytestmark = pytest.mark.slow

TIMES, ALARM = 200, 1e-3
# Fifteen statements about intervals share the false-alarm rate.
LEAST = int(binom.ppf(ALARM / 15, TIMES, 0.95))


@cache
def survey() -> pd.DataFrame:
    """The table that the examples release."""
    return pd.read_csv(dc.datasets.clinic_survey())


def numbers(column: str) -> np.ndarray:
    """A column, with NaN where no number is."""
    return pd.to_numeric(survey()[column], errors="coerce").to_numpy(float)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue, reportCallIssue, reportReturnType]


def repeated(
    values: np.ndarray, model: Any, how: dict[str, Any], check: Callable[..., dict[str, bool]], rng: Any
) -> dict[str, int]:
    """Release resamples of a column, and count how often each statement held."""
    held: dict[str, int] = {}
    for _ in range(TIMES):
        rows = rng.choice(values, values.size)
        mechanism = dc.mechanisms.Laplace(how["epsilon"])
        given = {name: value for name, value in how.items() if name != "epsilon"}
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            rows,
            model,
            mechanism,
            choose=lambda quantile: quantile.sample(rng),
            **given,
        )
        posterior = dc.infer(release, draws=2000, rng=rng)
        for statement, true in check(posterior, rows, release).items():
            held[statement] = held.get(statement, 0) + int(true)
    return held


def inside(ends: tuple[Any, Any], truth: float) -> bool:
    """Whether an interval holds a number."""
    return bool(ends[0] <= truth <= ends[1])


def test_mean_of_blood_pressure(rng: np.random.Generator) -> None:
    """README, tutorial and "The mean of a column": population and table."""
    pressure = numbers("systolic_bp")
    clipped = np.clip(pressure[np.isfinite(pressure)], 60, 220)

    def check(posterior: Any, rows: np.ndarray, release: Any) -> dict[str, bool]:
        own = np.clip(rows[np.isfinite(rows)], 60, 220)
        ends, table = posterior.interval(), posterior.table.interval()
        return {
            "mean": inside(ends["mean"], clipped.mean()),
            "sd": inside(ends["sd"], clipped.std()),
            "mean of this table": inside(table["mean"], own.mean()),
            "sum of this table": inside(table["sum"], own.sum()),
            "usable": inside(table["usable"], own.size),
        }

    held = repeated(pressure, dc.Mean(), {"epsilon": 0.5, "bounds": (60, 220)}, check, rng)
    assert min(held.values()) >= LEAST, held


def test_distribution_of_waiting_days(rng: np.random.Generator) -> None:
    """ "The distribution of a column": quantiles, the share up to 14 days, the band."""
    days = numbers("waiting_days")
    clipped = np.clip(days[np.isfinite(days)], 0, 60)
    levels = [0.25, 0.5, 0.9]
    truth = np.quantile(clipped, levels, method="inverted_cdf")
    below = (clipped[:, None] <= np.arange(1, 60)).mean(axis=0)

    def check(posterior: Any, rows: np.ndarray, release: Any) -> dict[str, bool]:
        found = posterior.quantiles(levels)
        share, band = posterior.cdf(14), posterior.band()
        return {
            "quantiles": all(q.low <= t <= q.high for q, t in zip(found, truth, strict=True)),
            "at most 14 days": inside((share.low[0], share.high[0]), (clipped <= 14).mean()),
            "band": bool(((band.low <= below + 1e-12) & (below <= band.high + 1e-12)).all()),
        }

    held = repeated(days, dc.Histogram(bins=60), {"epsilon": 0.5, "bounds": (0, 60)}, check, rng)
    assert min(held.values()) >= LEAST, held


def test_share_of_smokers(rng: np.random.Generator) -> None:
    """README and tutorial: the interval holds, the naive one misses far more often than one time in twenty."""
    answers = survey()["smoker"].fillna("").to_numpy(str)
    known = answers[np.isin(answers, ["yes", "no"])]
    truth = float((known == "yes").mean())
    held = {"exact": 0, "naive": 0}
    width = {"exact": 0.0, "naive": 0.0}
    for _ in range(TIMES):
        rows = rng.choice(answers, answers.size)
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            rows,
            dc.Bernoulli(),
            dc.mechanisms.Laplace("0.05"),
        )
        for engine in held:
            ends = dc.infer(release, draws=2000, engine=engine, rng=rng).interval()["p"]  # pyright: ignore[reportArgumentType, reportCallIssue]
            held[engine] += inside(ends, truth)
            width[engine] += (ends[1] - ends[0]) / TIMES
    assert held["exact"] >= LEAST, held
    assert held["naive"] <= binom.ppf(1 - ALARM, TIMES, 0.85), held
    assert 0.35 < width["naive"] / width["exact"] < 0.65, width


def mean_and_sd(values: np.ndarray, bounds: tuple[float, float]) -> Callable[..., dict[str, bool]]:
    """Whether the intervals of mean and sd hold those of the population as clipped."""
    clipped = np.clip(values[np.isfinite(values)], *bounds)

    def check(posterior: Any, rows: np.ndarray, release: Any) -> dict[str, bool]:
        ends = posterior.interval()
        return {"mean": inside(ends["mean"], clipped.mean()), "sd": inside(ends["sd"], clipped.std())}

    return check


def test_declared_bounds(rng: np.random.Generator) -> None:
    """ "Choose bounds": the mean between declared bounds; a tenth of the budget costs what tenfold bounds do."""
    pressure = numbers("systolic_bp")
    how = {"epsilon": 1, "bounds": (60, 220)}
    held = repeated(pressure, dc.Mean(), how, mean_and_sd(pressure, (60, 220)), rng)
    assert min(held.values()) >= LEAST, held

    def noise(epsilon: str, bounds: tuple[int, int]) -> float:
        release = release_with(
            lambda _: 0, pressure, dc.Mean(), dc.mechanisms.Laplace(epsilon), bounds=bounds
        )
        of_the_sum = release.totals.names.index("z")
        width = float(release.totals.grid[of_the_sum] * release.totals.half[0])  # type: ignore[index]
        return release.noise[of_the_sum].sd * width

    assert noise("1", (-580, 1020)) == pytest.approx(noise("0.1", (60, 220)), rel=1e-3)


def test_two_models_of_one_budget(rng: np.random.Generator) -> None:
    """ "Keep a ledger": a quarter of the budget for the share of smokers, three quarters for the mean age."""
    answers, age = survey()["smoker"].fillna("").to_numpy(str), numbers("age")
    share = float((answers == "yes").sum() / np.isin(answers, ["yes", "no"]).sum())
    held = repeated(
        answers,
        dc.Bernoulli(),
        {"epsilon": "0.25"},
        lambda posterior, *_: {"share": inside(posterior.interval()["p"], share)},
        rng,
    )
    how = {"epsilon": "0.75", "bounds": (0, 110)}
    held |= repeated(age, dc.Mean(), how, mean_and_sd(age, (0, 110)), rng)
    assert min(held.values()) >= LEAST, held


def test_bought_bounds(rng: np.random.Generator) -> None:
    """ "Buy bounds": mean and sd of the column as clipped to whatever bounds were bought."""
    pressure = numbers("systolic_bp")
    true = pressure[np.isfinite(pressure)]
    quantiles = dc.mechanisms.PrivateQuantiles(0.025, 0.975, within=(0, 300), epsilon="0.3")

    def check(posterior: Any, rows: np.ndarray, release: Any) -> dict[str, bool]:
        ((low, high),) = release.domain.bounds
        clipped, ends = np.clip(true, float(low), float(high)), posterior.interval()
        return {"mean": inside(ends["mean"], clipped.mean()), "sd": inside(ends["sd"], clipped.std())}

    held = repeated(pressure, dc.Mean(), {"epsilon": "0.7", "bounds": quantiles}, check, rng)
    assert min(held.values()) >= LEAST, held
