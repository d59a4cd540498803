"""Lists of releases: one parameter, borrowed strength, or several readings of one table; against enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2, kstest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.errors import UsageError
from discreet.validation.ranks import rank

# which kind of posterior it is depends on what is read
infer: Any = dc.infer


def released(values: Any, rng: np.random.Generator, model: Any = None, epsilon: float = 1.0, **options: Any):
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        values,
        dc.Bernoulli() if model is None else model,
        dc.mechanisms.Laplace(epsilon),
        **{"missing": "none", "outside": "redact", **options},
    )


def test_one_parameter_behind_three_releases_agrees_with_enumeration(rng: np.random.Generator) -> None:
    made = [
        released(rng.binomial(1, 0.3, 9).tolist(), rng),
        released(rng.binomial(1, 0.3, 25).tolist(), rng, missing="count", neighbors="add_remove"),
        released(rng.binomial(1, 0.3, 14).tolist(), rng, epsilon=0.5),
    ]
    p = (np.arange(2000) + 0.5) / 2000
    log_l = np.zeros(p.size)
    for one in made:
        if one.records is None:
            (y_no, y_yes), noise = one.totals.values, one.noise[0]
            no, yes = (v.ravel() for v in np.meshgrid(np.arange(90), np.arange(90)))
            weight = np.exp(noise.log_mass(no - y_no) + noise.log_mass(yes - y_yes))
            kept = weight > 1e-12 * weight.max()
            chance = binom.pmf(yes[kept][:, None], (no + yes)[kept][:, None], p)
            log_l += np.log(weight[kept] @ chance)
            continue
        yes = np.arange(one.records + 1)
        weight = np.exp(one.noise[0].log_mass(2 * yes - one.records - one.totals.values[0]))
        log_l += np.log(weight @ binom.pmf(yes[:, None], one.records, p))
    mass = np.cumsum(np.exp(log_l - log_l.max()))
    found = infer(made, rng=1, draws=20_000)
    draws = found.draws["p"]
    # the Kolmogorov-Smirnov distance of so many draws exceeds 0.0138 once in a thousand times
    assert kstest(draws, lambda x: np.interp(x, p, mass / mass[-1])).statistic < 0.0138 + 0.002
    assert found.n_chains == 4
    assert "all 3 tables are samples of one population" in str(found.diagnostics)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_two_readings_of_one_table_agree_with_enumeration(mechanism: str, rng: np.random.Generator) -> None:
    rows, n = rng.binomial(1, 0.4, 30).tolist(), 30
    noise = {"laplace": dc.mechanisms.Laplace(0.5), "gaussian": dc.mechanisms.Gaussian(rho=0.05)}[mechanism]
    made = [
        release_with(
            lambda law: int(law.sample(1, rng)[0]),
            rows,
            dc.Bernoulli(),
            noise,
            missing="none",
            outside="redact",
        )
        for _ in range(2)
    ]
    size = 20_000
    found = infer(made, same_table=True, rng=1, draws=size)
    assert found.table is not None
    yes = np.arange(n + 1)
    # a uniform prior on the share is a uniform prior on the count
    weight = np.exp(sum(one.noise[0].log_mass(2 * yes - n - one.totals.values[0]) for one in made))
    expected = size * weight / weight.sum()
    observed = np.bincount(found.table.draws["yes"].astype(int), minlength=n + 1)
    likely = expected > 10
    statistic = ((observed - expected)[likely] ** 2 / expected[likely]).sum()
    assert statistic < chi2.isf(5e-4, likely.sum())
    assert "2 readings of one table" in str(found.about)
    if mechanism == "gaussian":
        # of two Laplace readings that are apart nobody knows which to believe; two Gaussian ones meet in the middle
        one = infer(made[0], rng=1, draws=size)
        assert one.table is not None
        assert found.table.sd()["yes"] < one.table.sd()["yes"]


def twice(values: Any, model: Any, rng: np.random.Generator, **options: Any):
    """Release with Gaussian noise, of which two readings are always better than one."""
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        values,
        model,
        dc.mechanisms.Gaussian(rho=0.02),
        **{"missing": "none", "outside": "redact", **options},
    )


def test_readings_of_labels_and_means(rng: np.random.Generator) -> None:
    labels = rng.choice(["a", "b", "c"], 200).tolist()
    made = [twice(labels, dc.Categorical(["a", "b", "c"]), rng, missing="count") for _ in range(3)]
    both = infer(made, same_table=True, rng=1, draws=2000)
    each = [infer(one, rng=1, draws=2000) for one in made]
    assert (both.table.sd()["count"] < np.min([one.table.sd()["count"] for one in each], axis=0)).all()
    values = rng.normal(50, 10, 400).tolist()
    made = [twice(values, dc.Mean(), rng, bounds=(0, 100), outside="clip") for _ in range(2)]
    both, each = (
        infer(made, same_table=True, rng=1, draws=2000),
        [infer(one, rng=1, draws=2000) for one in made],
    )
    assert both.table.sd()["mean"] < min(one.table.sd()["mean"] for one in each)
    assert abs(both.table.mean()["mean"] - np.mean(values)) < 5 * both.table.sd()["mean"]


def test_ranks_of_one_parameter_and_of_two_readings(rng: np.random.Generator) -> None:
    """A share from its prior; two hospitals of it, or one read twice: its ranks are uniform. Naively taken, not."""
    together, twice, wrong = [], [], []
    for _ in range(25):
        p = rng.random()
        rows = [rng.binomial(1, p, n).tolist() for n in (12, 25)]
        two = [released(values, rng, epsilon=0.7) for values in rows]
        again = [released(rows[0], rng, epsilon=0.7) for _ in range(2)]
        together.append(rank(p, infer(two, rng=rng, draws=200).draws["p"], rng))
        twice.append(rank(p, infer(again, same_table=True, rng=rng, draws=200).draws["p"], rng))
        few = [released(rows[0][:2], rng, epsilon=50) for _ in range(8)]
        wrong.append(rank(p, infer(few, rng=rng, draws=200).draws["p"], rng))
    assert kstest(together, "uniform").pvalue > 5e-4
    assert kstest(twice, "uniform").pvalue > 5e-4
    # eight readings of two records, taken for sixteen records
    ends = np.abs(np.array(wrong) - 0.5) > 0.45
    assert binom.sf(ends.sum() - 1, 25, 0.1) < 1e-2


def test_institutions_that_borrow_and_those_that_disagree(rng: np.random.Generator) -> None:
    made = [
        released(rng.binomial(1, p, 400).tolist(), rng, dataset=name)
        for p, name in ((0.2, "oslo"), (0.7, "rome"), (0.3, "bern"))
    ]
    pooled = infer(made, pool=True, rng=1, draws=400)
    assert list(pooled) == ["oslo", "rome", "bern"]
    assert pooled.compare("rome", "oslo").probability_higher["p"] == 1
    assert pooled.population is not None
    assert list(infer(made, pool=False, rng=1, draws=40)) == ["oslo", "rome", "bern"]
    said = infer(made, rng=1, draws=400).diagnostics.warnings
    assert "do not look like samples of one population" in said[0]
    rates = [
        released(rng.poisson(2, 60).tolist(), rng, dc.Poisson(), bounds=(0, 9), outside="clip")
        for _ in range(2)
    ]
    common, alone = infer(rates, rng=1, draws=400), infer(rates[0], rng=1, draws=400)
    assert common.sd()["rate"] < alone.sd()["rate"]


ONE = dc.release([0, 1, 1], dc.Bernoulli(), epsilon=1, dataset="clinic")
TWO = dc.release([0, 1, 1], dc.Bernoulli(), epsilon=1, dataset="clinic")
MEAN = dc.release([0.0, 1.0], dc.Mean(), bounds=(0, 1), epsilon=1)


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ([ONE], {}, "at least two"),
        ([], {}, "at least two"),
        ([ONE, 3], {}, "releases or paths of them"),
        ([ONE, ONE], {"same_table": True}, "the same release"),
        ([ONE, TWO], {}, "one table, or two"),
        ([ONE, MEAN], {}, "another model"),
        ([MEAN, dc.release([0.0], dc.Mean(), bounds=(0, 2), epsilon=1)], {}, "other bounds"),
        (
            [MEAN, dc.release([0.0], dc.Mean(), bounds=(0, 1), epsilon=1, unit_label="kg")],
            {},
            "another unit",
        ),
        ([ONE, TWO], {"same_table": True, "pool": True}, "nothing to pool"),
        ([ONE, TWO], {"same_table": True, "engine": "gibbs"}, "not read together by engine"),
        (
            [ONE, dc.release([0, 1], dc.Bernoulli(), epsilon=1)],
            {"same_table": True},
            "the same neighbors, number of records",
        ),
        ([ONE, TWO], {"same_table": False, "prior": "beta:1,1"}, "take no prior"),
        ({"a": ONE, "b": TWO}, {"pool": True}, "read one by one"),
        ({"a.json"}, {}, "a set has none"),
    ],
)
def test_what_is_not_read_together(given: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        infer(given, **options)


def test_models_without_a_common_curve_say_so() -> None:
    made = [dc.release(["a", "b"], dc.Categorical(["a", "b"]), epsilon=1) for _ in range(2)]
    with pytest.raises(UsageError, match="categorical is not pooled"):
        infer(made)
    rates = [dc.release([1, 2], dc.Poisson(), bounds=(0, 9), epsilon=1) for _ in range(2)]
    with pytest.raises(UsageError, match="several readings of one poisson table"):
        infer(rates, same_table=True)
