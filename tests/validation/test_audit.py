"""The audit: bounds that hold, faults that are found, and one clear line for what cannot be audited."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.data.summaries.sums import BlockSums
from discreet.mechanisms import k_norm
from discreet.mechanisms.noise import NoiseMechanism
from discreet.models.product_norm import ProductNorm
from discreet.models.shapes import Interval
from discreet.validation.exact_changes import exact_changes
from discreet.validation.neighboring_tables import Pair, TableSpace
from discreet.validation.outputs import Outputs, tabulated
from discreet.validation.privacy_bounds import (
    delta_at_least,
    divergence_at_least,
    epsilon_at_least,
    share_at_least,
    share_at_most,
)
from discreet.validation.release_runs import ReleaseRuns
from discreet.validation.structure import (
    _agreement,
    _fresh_processes,
    _invariances,
    release_checks,
    support_check,
)
from tests.validation.planted import FAULTS, planted

PAIR = ([0.0], [1.0])
QUICK: dict[str, Any] = {"checks": False, "rng": 1}


def laplace(rng: np.random.Generator, scale: float = 1.0) -> Any:
    """Laplace noise on a grid, as batched functions give it: floating-point noise alone has holes."""
    return lambda table, times: np.round((table[0] + scale * rng.laplace(size=times)) * 2**20) / 2**20


# -- bounds --------------------------------------------------------------------------------------------


def test_bounds_on_shares_are_clopper_and_pearsons() -> None:
    interval = stats.binomtest(7, 50).proportion_ci(0.98, method="exact")
    assert share_at_least(7, 50, 0.01) == pytest.approx(interval.low)
    assert share_at_most(7, 50, 0.01) == pytest.approx(interval.high)
    assert share_at_least(0, 50, 0.01) == 0
    assert share_at_most(50, 50, 0.01) == 1


def test_bounds_follow_from_the_shares() -> None:
    p, q = share_at_least(400, 1000, 0.005), share_at_most(100, 1000, 0.005)
    assert epsilon_at_least(400, 100, 1000, error=0.01) == pytest.approx(np.log(p / q))
    assert epsilon_at_least(400, 100, 1000, error=0.01, delta=0.1) == pytest.approx(np.log((p - 0.1) / q))
    assert delta_at_least(400, 100, 1000, error=0.01, epsilon=0.5) == pytest.approx(p - np.exp(0.5) * q)
    assert epsilon_at_least(100, 400, 1000, error=0.01) == 0


@pytest.mark.parametrize("order", [1.25, 2.0, 16.0])
def test_divergences_of_cells_stay_below_the_true_ones_and_come_near(order: float) -> None:
    """Expected counts of two normal distributions one standard deviation apart, whose divergence is order / 2."""
    runs, cuts = 10**7, np.linspace(-2, 3, 15)
    first, second = (
        np.round(runs * np.diff(np.concatenate([[0], stats.norm.cdf(cuts - at), [1]]))) for at in (1, 0)
    )
    found = divergence_at_least(first.astype(int), second.astype(int), runs, error=0.01, order=order)
    assert 0 < found < order / 2
    if order <= 2:
        assert found > 0.9 * order / 2


# -- functions -----------------------------------------------------------------------------------------


def test_laplace_noise_is_bounded_tightly_and_too_little_is_caught(rng: np.random.Generator) -> None:
    right = dc.audit(laplace(rng), pair=PAIR, epsilon=1, batched=True, **QUICK)
    assert 0.9 <= right.epsilon_lower <= 1
    assert right.passed
    short = dc.audit(laplace(rng, 0.8), pair=PAIR, epsilon=1, batched=True, **QUICK)
    assert 1.15 < short.epsilon_lower <= 1.25
    assert short.violated
    assert "FAILED: the claim is wrong" in short.summary()


@pytest.mark.slow
def test_a_true_claim_is_called_wrong_no_more_often_than_stated(rng: np.random.Generator) -> None:
    repeats, confidence = 200, 0.95
    found = [
        dc.audit(
            laplace(rng), pair=PAIR, epsilon=1, batched=True, confidence=confidence, checks=False, rng=1
        ).epsilon_lower
        for _ in range(repeats)
    ]
    above = sum(bound > 1 for bound in found)
    # as many as that, or more, happen once in a thousand if the error rate is what was stated
    assert above <= stats.binom.isf(1e-3, repeats, 1 - confidence)
    assert np.mean(found) > 0.9


def test_gaussian_noise_is_tested_by_divergences(rng: np.random.Generator) -> None:
    def noisy(sigma: float) -> Any:
        return lambda table, times: np.round((table[0] + sigma * rng.normal(size=times)) * 2**20) / 2**20

    right = dc.audit(noisy(1.0), pair=PAIR, rho=0.5, batched=True, **QUICK)
    assert right.passed
    assert 0.7 * 0.5 < (right.rho_lower or 0) <= 0.5
    assert dc.audit(noisy(0.8), pair=PAIR, rho=0.5, batched=True, **QUICK).violated


def test_vectors_are_put_together_from_all_their_numbers(rng: np.random.Generator) -> None:
    """Each number moves by a quarter; only together do they show most of epsilon."""

    def noisy(table: Any, times: int) -> Any:
        return np.round((np.full(4, table[0] / 4) + rng.laplace(size=(times, 4))) * 2**20) / 2**20

    found = dc.audit(noisy, pair=PAIR, epsilon=1, batched=True, runs=200_000, **QUICK)
    assert 0.5 < found.epsilon_lower <= 1
    assert found.event != "histogram of 0"


def test_holes_in_floating_point_noise_are_found(rng: np.random.Generator) -> None:
    found = dc.audit(
        lambda table, times: table[0] + rng.laplace(size=times),
        pair=PAIR, epsilon=1, batched=True, runs=20_000,
    )  # fmt: skip
    assert found.violated
    assert found.event == "lowest bit of output"
    assert [check.name for check in found.failed] == ["support"]


def test_delta_allows_outputs_that_one_table_never_gives(rng: np.random.Generator) -> None:
    """A label that one table alone gives out in a tenth of the runs: delta = 0.12 allows it, 0.02 does not."""
    labels = [["a"] * 4000, np.where(rng.random(4000) < 0.1, "b", "a").tolist()]
    outputs = tabulated(*labels)
    assert support_check(outputs, 1.0, delta=0.12).passed
    assert not support_check(outputs, 1.0, delta=0.02).passed


def test_outputs_of_any_length_agree_if_their_distribution_does(rng: np.random.Generator) -> None:
    def outputs(size: int, scale: float = 1.0, labels: str = "ab") -> Outputs:
        sides = [
            [
                {"cells": rng.laplace(0, scale, k).tolist(), "label": labels[k % 2]}
                for k in rng.integers(1, 9, size)
            ]
            for _ in range(2)
        ]
        return tabulated(*sides)

    runs = outputs(4000)
    whole = outputs(200)
    assert whole.names != runs.names
    assert _agreement(whole, runs, 400).passed
    assert not _agreement(outputs(200, scale=1.6), runs, 400).passed
    assert not _agreement(outputs(200, labels="aa"), runs, 400).passed


def test_a_deterministic_function_has_an_infinite_epsilon() -> None:
    found = dc.audit(sum, pair=PAIR, epsilon=1, runs=1000)
    assert found.epsilon_lower == math.inf
    assert found.violated
    assert "epsilon is infinite" in found.summary()
    assert found.to_dict()["epsilon_lower"] is None
    assert found.to_dict()["infinite"]
    assert dc.audit(sum, pair=PAIR, runs=1000).violated


def test_a_constant_says_nothing() -> None:
    found = dc.audit(len, pair=PAIR, epsilon=1, runs=1000)
    assert found.epsilon_lower == 0
    assert "says nothing" in found.warnings[0]


def test_texts_and_lists_of_any_length_are_outputs(rng: np.random.Generator) -> None:
    coin = dc.audit(
        lambda bit: "yes" if rng.random() < (0.95 if bit else 0.05) else "no",
        pair=(False, True), epsilon=1, runs=2000, **QUICK,
    )  # fmt: skip
    assert coin.violated
    lengths = dc.audit(
        lambda rows: {"held": rng.normal(size=len(rows)).tolist()},
        pair=([1], [1, 2]), epsilon=1, runs=1000, **QUICK,
    )  # fmt: skip
    assert lengths.violated


def test_a_global_generator_is_noticed(rng: np.random.Generator) -> None:
    found = dc.audit(lambda _: float(np.random.random() < 0.5), pair=PAIR, epsilon=1, runs=1000)  # noqa: NPY002
    assert [check.name for check in found.failed] == ["randomness"]
    found = dc.audit(lambda _: float(rng.random() < 0.5), pair=PAIR, epsilon=1, runs=1000)
    assert not found.failed


def test_tables_are_invented_between_bounds_and_outside_them(rng: np.random.Generator) -> None:
    """A sum that forgets its upper bound is told apart by a value beyond it."""

    def forgetful(rows: Any, times: int) -> Any:
        return np.round((sum(max(x, 0) for x in rows) + rng.laplace(size=times)) * 2**20) / 2**20

    def careful(rows: Any, times: int) -> Any:
        return np.round((sum(min(max(x, 0), 1) for x in rows) + rng.laplace(size=times)) * 2**20) / 2**20

    quick: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "batched": True, "runs": 20_000, **QUICK}
    assert dc.audit(forgetful, **quick).violated
    found = dc.audit(careful, **quick)
    assert 0.8 < found.epsilon_lower <= 1
    assert dc.audit(careful, neighbors="add_remove", **quick).epsilon_lower > 0.8


# -- releases ------------------------------------------------------------------------------------------


def audited(**more: Any) -> dc.validation.Audit:
    return dc.audit(dc.Bernoulli(), **{"epsilon": 1, "runs": 4000, **QUICK, **more})


def test_a_release_keeps_its_promise_and_comes_near_it() -> None:
    # of 2,000 counted runs about 700 and 260 are in the event, so the bound is 0.6 on average, with an sd of 0.08
    found = audited(confidence=0.9999)
    assert 0.25 < found.epsilon_lower <= 1
    assert found.passed
    assert found.subject == "bernoulli of x by Laplace"


def test_half_the_sensitivity_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from fractions import Fraction

    monkeypatch.setattr(Interval, "l1_sensitivity", lambda *_: Fraction(1))
    assert audited().violated


def test_the_draw_that_is_repeated_is_the_one_of_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever spoils the draw of a release spoils the audit's too."""
    right = NoiseMechanism.draws

    def without_noise(self: Any, record: Any, data: Any, source: Any, times: int) -> Any:
        made = right(self, record, data, source, times)
        object.__setattr__(made[0], "values", data.values)
        return made

    monkeypatch.setattr(NoiseMechanism, "draws", without_noise)
    data = {"x": ["0", "1", "1"]}
    assert dc.release(data, dc.Bernoulli(), epsilon=1, column="x").totals.values == (1, 3)


def path(**settings: Any) -> tuple[ReleaseRuns, TableSpace, tuple[Any, Any]]:
    """Return a release path, its tables, and two neighboring ones."""
    runs = ReleaseRuns.of(dc.Mean(), {"epsilon": 1, "bounds": (0, 100), **settings})
    space = runs.space(4)
    people = space.people()
    first, second = (space.records((*people[:3], last)) for last in people[:2])
    return runs, space, (first, second)


def test_the_path_of_a_release_passes_every_check(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(ReleaseRuns, "in_fresh_process", lambda *_: None)
    runs, space, tables = path()
    outputs = tabulated(*(runs.draws(table, 2000) for table in tables))
    found = {check.name: check.passed for check in release_checks(runs, tables, outputs, space, 60, rng)}
    # reported, not judged; and the other processes are for the slow tests
    assert found.pop("timing") is None
    assert found.pop("fresh processes") is None
    assert set(found) == {"end to end", "file", "noise", "exact changes", "row order", "chunking", "engine"}
    assert all(found.values())


EXACT = {
    "a share": (dc.Bernoulli(), {"epsilon": 1}),
    "a mean": (dc.Mean(), {"epsilon": 1, "bounds": (0, 100)}),
    "records added": (dc.Mean(), {"epsilon": 1, "bounds": (0, 100), "neighbors": "add_remove"}),
    "Gaussian noise": (dc.Mean(), {"rho": 0.5, "bounds": (0, 100), "mechanism": "gaussian"}),
    "groups": (dc.Mean(), {"epsilon": 1, "bounds": (0, 1), "column": "x", "by": "g", "groups": ["a", "b"]}),
    "several": ({"a": dc.Bernoulli(), "b": dc.Mean()}, {"epsilon": 1, "bounds": {"b": (0, 1)}}),
    "a regression": (
        dc.models.LinearRegression("y", ["x"], bounds={"y": (0, 1), "x": (0, 1)}),
        {"epsilon": 1, "mechanism": "laplace"},
    ),
    "k-norm noise": (
        dc.models.LinearRegression("y", ["x"], bounds={"y": (0, 1), "x": (0, 1)}),
        {"epsilon": 1},
    ),
}


@pytest.mark.parametrize("case", EXACT)
def test_the_worst_pair_costs_all_that_is_promised_and_no_more(case: str, rng: np.random.Generator) -> None:
    model, settings = EXACT[case]
    runs = ReleaseRuns.of(model, settings)
    (found,) = exact_changes(runs, runs.space(4), rng)
    assert found.passed
    # the largest change is among the pairs that are tried, to three digits: no sensitivity is larger than it must be
    words = found.words.split()
    assert float(words[2]) == pytest.approx(float(words[6]), rel=2e-3)


def test_a_sensitivity_that_is_too_small_by_a_tenth_is_caught_exactly(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    right = NoiseMechanism.scales
    monkeypatch.setattr(
        NoiseMechanism, "scales", lambda self, layout: tuple(b * 9 / 10 for b in right(self, layout))
    )
    norm = k_norm.product_norm
    monkeypatch.setattr(
        k_norm,
        "product_norm",
        lambda *given: ProductNorm(norm(*given).forms, tuple(h * 9 / 10 for h in norm(*given).reaches)),
    )
    for model, settings in EXACT.values():
        runs = ReleaseRuns.of(model, settings)
        assert exact_changes(runs, runs.space(4), rng)[0].passed is False


def test_what_is_no_noise_on_totals_has_no_exact_change(rng: np.random.Generator) -> None:
    runs = ReleaseRuns.of(
        dc.Bernoulli(),
        {"mechanism": dc.mechanisms.RenyiPosterior("beta:6,12", order=2, epsilon=1), "impute": 0},
    )
    assert exact_changes(runs, runs.space(4), rng) == []


@pytest.mark.slow
def test_fresh_processes_release_different_things() -> None:
    runs, _, tables = path()
    assert _fresh_processes([runs.in_fresh_process(tables[0], 3) for _ in range(2)]).passed


def test_a_float_sum_is_caught_by_cutting_the_table(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    def unrounded(self: Any, j: int, inputs: Any, out: Any = None) -> Any:
        t = sum(inputs[at] * c for at, c in self._terms[j]) + self._constants[j]
        return np.add(t, 0.5, out=out)

    monkeypatch.setattr(BlockSums, "_steps", unrounded)
    runs, space, _ = path()
    found = {check.name: check.passed for check in _invariances(runs, space, rng)}
    assert found["chunking"] is False


def test_searching_prefers_pairs_that_are_far_apart() -> None:
    from discreet.domain.columns import Labels, Numeric
    from discreet.validation.neighboring_tables import search

    space = TableSpace((Numeric("x", 0, 1), Labels("g", ("a", "b"))), "replace", 3)  # pyright: ignore
    rng = np.random.default_rng(1)

    def draw(people: Any, times: int) -> Any:
        return [
            sum((row[0] or 0) for person in people for row in person) + rng.normal() for _ in range(times)
        ]

    best = search(space, draw, rng, times=30, steps=5)[0]
    assert isinstance(best, Pair)
    moved = [person[0][0] or 0 for person in (best.first, best.second) if person is not None]
    # from far below one bound to far above the other
    assert abs(moved[0] - moved[1]) == pytest.approx(101)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str, tmp_path: Path) -> None:
    assert not planted(FAULTS[fault], tmp_path)["passed"]


# -- what cannot be audited ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "arguments", "words"),
    [
        (3, {}, "a model, a mechanism or a function"),
        (dc.Bernoulli, {"epsilon": 1}, "is a class"),
        (dc.Bernoulli(), {}, "give a budget"),
        (dc.Bernoulli(), {"epsilon": -1}, "epsilon must be positive"),
        (dc.Bernoulli(), {"epsilon": 1, "runs": 10}, "runs must be"),
        (dc.Bernoulli(), {"epsilon": 1, "confidence": 1}, "confidence must be between"),
        (dc.Bernoulli(), {"epsilon": 1, "dataset": "mine"}, "leave out dataset"),
        (dc.Bernoulli(), {"epsilon": 1, "batched": True}, "batched is for functions"),
        (dc.Mean(), {"epsilon": 1}, "bounds"),
        (dc.Mean(), {"epsilon": 1, "bounds": (9, 0)}, "bounds"),
        (dc.mechanisms.Laplace(1), {"epsilon": 1}, "holds its own budget"),
        (sum, {}, "two neighboring tables"),
        (sum, {"bounds": [(0, 1), (0, 1)]}, "one pair of bounds"),
        (sum, {"bounds": (1, 0)}, "bounds"),
        (sum, {"pair": [1]}, "pair must be two"),
        (sum, {"pair": ([1], [2]), "unit": "id"}, "takes no unit"),
        (sum, {"pair": (1, 2)}, "raised TypeError"),
        (sum, {"pair": ([1], [2]), "epsilon": 1, "rho": 1}, "claim either"),
        (lambda _: object(), {"pair": ([1], [2])}, "must return numbers"),
        (lambda _, n: [1.0], {"pair": ([1], [2]), "batched": True}, "returned 1 outputs instead of"),
    ],
)
def test_bad_input_is_one_clear_line(subject: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(dc.DiscreetError, match=words) as problem:
        dc.audit(subject, **arguments)
    assert "\n" not in problem.value.message
