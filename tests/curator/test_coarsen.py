"""A more private version of a release: the same distribution as a release for the smaller budget."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.app import app
from discreet.curator.coarsen import coarsen_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.privacy import DiscreteGaussian, DiscreteLaplace
from discreet.privacy.coarsening import (
    certified_approx,
    certified_rho,
    gaussian_gap,
    zero_probability,
)
from discreet.samplers.secure import RandomSource

SCALES = [(1, 10), (Fraction(1, 2), 1), (3, 4), (2, Fraction(5, 2)), (5, 20)]


def _summed(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the masses of the sum of two integers, each given on a window that is centered at 0."""
    return np.convolve(one, other, mode="same")


def _masses(noise: DiscreteLaplace | DiscreteGaussian, reach: int) -> np.ndarray:
    return np.exp(noise.log_mass(np.arange(-reach, reach + 1)))


@pytest.mark.parametrize(("scale", "wider"), SCALES)
def test_laplace_noise_is_completed_exactly(scale: Fraction, wider: Fraction) -> None:
    reach = int(45 * wider)
    zero = float(zero_probability(Fraction(scale), Fraction(wider)))
    added = (1 - zero) * _masses(DiscreteLaplace(float(wider)), reach)
    added[reach] += zero
    found = _summed(_masses(DiscreteLaplace(float(scale)), reach), added)
    wanted = _masses(DiscreteLaplace(float(wider)), reach)
    middle = slice(reach // 2, 3 * reach // 2 + 1)
    assert np.abs(found - wanted)[middle].max() < 1e-12
    # control: noise of the wider scale added whatever is there already is too much
    too_much = _summed(_masses(DiscreteLaplace(float(scale)), reach), wanted)
    assert np.abs(too_much - wanted)[middle].max() > 1e-4


@pytest.mark.parametrize(("scale", "wider"), SCALES)
def test_the_probability_is_rounded_down(scale: Fraction, wider: Fraction) -> None:
    import mpmath

    with mpmath.workdps(200):
        one, two = (
            mpmath.exp(-mpmath.mpf(Fraction(b).denominator) / Fraction(b).numerator) for b in (scale, wider)
        )
        exact = one / two * ((1 - two) / (1 - one)) ** 2
        zero = zero_probability(Fraction(scale), Fraction(wider))
        short = exact - mpmath.mpf(zero.numerator) / zero.denominator
        assert 0 <= short < mpmath.mpf(2) ** -90


def test_one_release_made_coarser_loses_no_more_than_it_says() -> None:
    """The largest log-ratio of the sum's masses at neighboring integers is 1/b: attained, and not exceeded."""
    scale, wider, reach = Fraction(1), Fraction(10), 600
    zero = float(zero_probability(scale, wider))
    there = _masses(DiscreteLaplace(float(scale)), reach)

    def largest_loss(zero: float) -> float:
        added = (1 - zero) * _masses(DiscreteLaplace(float(wider)), reach)
        added[reach] += zero
        middle = np.log(_summed(there, added)[reach - 100 : reach + 101])
        return float(np.abs(np.diff(middle)).max())

    assert largest_loss(zero) == pytest.approx(0.1, rel=1e-9)
    assert largest_loss(zero / 2) <= 0.1 + 1e-12
    # control: a probability that is rounded up is caught
    assert largest_loss(zero * 1.2) > 0.1 + 1e-4


def test_siblings_add_up_and_a_chain_does_not() -> None:
    """Two files made from one original tell more than either; the coarser one of a chain adds nothing."""
    reach = 120
    there = _masses(DiscreteLaplace(1.0), reach)
    zero = float(zero_probability(Fraction(1), Fraction(10)))
    added = (1 - zero) * _masses(DiscreteLaplace(10.0), 3 * reach)
    added[3 * reach] += zero
    at = np.arange(-reach, reach + 1)

    def joint(center: int) -> np.ndarray:
        """Return the masses of two outputs between -20 and 20, made from one noisy value of a total."""
        outputs = np.arange(-20, 21)
        steps = outputs[:, None] - (center + at)[None, :]
        each = added[np.clip(steps + 3 * reach, 0, 6 * reach)]
        return np.einsum("x,ax,bx->ab", there, each, each)

    loss = np.abs(np.log(joint(0) / joint(1))).max()
    # more than two releases of 0.1 that know nothing of each other, and no more than the original
    assert 0.205 < loss <= 1 + 1e-9


@pytest.mark.parametrize(("sigma", "added"), [(2.0, 3.0), (0.8, 1.0), (1.0, 1.0), (5.0, 1.2)])
def test_a_sum_of_discrete_gaussians_is_within_its_gap_of_one(sigma: float, added: float) -> None:
    reach = 200
    found = _summed(_masses(DiscreteGaussian(sigma), reach), _masses(DiscreteGaussian(added), reach))
    total = float(np.hypot(sigma, added))
    k = np.arange(-int(4 * total), int(4 * total) + 1)
    off = np.abs(np.log(found[reach + k]) - DiscreteGaussian(total).log_mass(k)).max()
    gap = gaussian_gap(sigma, added)
    assert off <= gap + 1e-12
    if gap > 1e-9:
        assert off > gap / 20


def test_the_gap_is_paid_for() -> None:
    """Two parameters of 1/2 look like rho = 1 for a step of 1, and are not: the certified figure is above the truth."""
    reach, sigma = 60, 0.5
    found = _summed(_masses(DiscreteGaussian(sigma), reach), _masses(DiscreteGaussian(sigma), reach))
    k = np.arange(-12, 13)
    p, q = np.log(found[reach + k]), np.log(found[reach + k - 1])
    attained = max(
        float(np.logaddexp.reduce(a * p + (1 - a) * q)) / (a - 1) / a for a in (1.05, 1.2, 1.5, 2.0, 3.0)
    )
    assert attained > 1.05
    gap = gaussian_gap(sigma, sigma)
    assert certified_rho(1.0, gap) >= attained
    assert certified_rho(0.5, 0.0) == 0.5
    epsilon, delta = certified_approx(1.0, 1e-6, 1e-9)
    assert epsilon > 1
    assert delta > 1e-6


ASKED: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "bernoulli": (dc.Bernoulli(), {"epsilon": 1}, {"epsilon": 0.1}),
    "mean": (dc.Mean(), {"epsilon": 1, "bounds": (0, 2)}, {"epsilon": Fraction(1, 3)}),
    "gaussian": (dc.Mean(), {"rho": 0.1, "mechanism": "gaussian", "bounds": (0, 2)}, {"rho": 0.01}),
    "approximate": (
        dc.Bernoulli(),
        {"epsilon": 1, "delta": 1e-6, "mechanism": "gaussian"},
        {"epsilon": 0.5, "delta": 1e-6},
    ),
    "added": (dc.Categorical(["0", "1"]), {"epsilon": 1, "neighbors": "add_remove"}, {"epsilon": 0.5}),
    "groups": (
        dc.Bernoulli(),
        {"epsilon": 1, "by": "g", "groups": ["a", "b"]},
        {"epsilon": 0.25},
    ),
    "people": (dc.Bernoulli(), {"epsilon": 1, "unit": "g", "per_unit": "any"}, {"epsilon": 0.25}),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_coarser_release_is_read_like_any_other(name: str) -> None:
    model, asked, less = ASKED[name]
    rows = {"x": [0, 1, 1, 0, 1] * 100, "g": ["a", "b"] * 250}
    made = dc.release(rows, model, column="x", **asked)
    coarser = dc.coarsen(made, **less)
    again = dc.Release.from_json(coarser.to_json())
    assert again == coarser
    assert again.guarantee.budgets() == {k: Fraction(str(v)) for k, v in less.items()}
    assert again.guarantee.unit == made.guarantee.unit
    assert again.coarsened is not None
    assert again.coarsened.guarantee.budgets() == made.guarantee.budgets()
    assert f"made from the release {made.id}" in again.statement()
    direct = dc.release(rows, model, column="x", **{**asked, **less})
    for mine, other in zip(again.noise_record.scale, direct.noise_record.scale, strict=True):
        assert float(mine) == pytest.approx(float(other), rel=2e-6)
    dc.infer(again, draws=200, rng=0).summary()


def test_values_of_a_coarser_release_have_the_noise_of_a_direct_one(rng: np.random.Generator) -> None:
    """Chi-square tests at 1e-4 of the noise of 4,000 coarsened totals; the noise of the original is the control."""
    labels = [str(i) for i in range(2000)]
    made = dc.release(["0"], dc.Categorical(labels), epsilon=1, missing="none")
    empty = replace(made, statistics=replace(made.totals, values=(0,) * 2000))
    source, p_values = RandomSource.seeded(rng), {}
    fresh = np.concatenate(
        [
            replace(empty, statistics=replace(empty.totals, values=tuple(_drawn(empty, rng)))).totals.values
            for _ in range(2)
        ]
    )
    releases = [replace(empty, statistics=replace(empty.totals, values=tuple(fresh[i::2]))) for i in range(2)]
    coarser = np.concatenate(
        [coarsen_with(source, one, epsilon=Fraction(1, 5)).totals.values for one in releases]
    )
    wide = coarsen_with(source, empty, epsilon=Fraction(1, 5)).noise[0]
    edges = np.arange(-30, 31, 4)
    for name, values in {"coarser": coarser, "original": fresh}.items():
        inside = np.clip(values, edges[0], edges[-1] - 1)
        seen = np.histogram(inside, edges)[0]
        masses = np.exp(wide.log_mass(np.arange(-400, 401)))
        at = np.clip(np.arange(-400, 401), edges[0], edges[-1] - 1)
        expected = np.histogram(at, edges, weights=masses)[0] * len(values)
        p_values[name] = stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue
    assert p_values["coarser"] > 1e-4
    assert p_values["original"] < 1e-10


def _drawn(release: dc.Release, rng: np.random.Generator) -> list[int]:
    return [int(value) for value in release.noise[0].sample(len(release.totals.values), rng)]


def test_ranks_of_coarser_releases_are_uniform(rng: np.random.Generator) -> None:
    source, ranks = RandomSource.seeded(rng), []
    for _ in range(150):
        p = rng.random()
        rows = (rng.random(150) < p).astype(int)
        made = dc.release(rows, dc.Bernoulli(), epsilon=1, missing="none")
        posterior = dc.infer(coarsen_with(source, made, epsilon=Fraction(1, 10)), draws=99, chains=1, rng=rng)
        ranks.append(int(np.sum(posterior.draws["p"] < p)))
    assert stats.kstest((np.array(ranks) + rng.random(150)) / 100, "uniform").pvalue > 1e-4


@pytest.mark.parametrize(
    ("asked", "less", "words"),
    [
        ({"epsilon": 1}, {"epsilon": 2}, "less budget"),
        ({"epsilon": 1}, {"epsilon": 1}, "less budget"),
        ({"epsilon": 1}, {"rho": 0.1}, "takes epsilon"),
        ({"epsilon": 1}, {}, "takes epsilon"),
        ({"epsilon": 1}, {"epsilon": -1}, "positive"),
        ({"epsilon": 1}, {"epsilon": 1e-18}, "64-bit"),
        ({"rho": 5, "mechanism": "gaussian"}, {"rho": 4}, "no Gaussian"),
    ],
)
def test_what_cannot_be_made_coarser(asked: dict[str, Any], less: dict[str, Any], words: str) -> None:
    made = dc.release([0, 1, 1], dc.Bernoulli(), **asked)
    with pytest.raises(UsageError, match=words):
        dc.coarsen(made, **less)


def test_samples_are_not_made_coarser() -> None:
    mechanism = dc.mechanisms.PosteriorSampling(dc.priors.Beta(1, 1), epsilon=1, support=(0.1, 0.9))
    made = dc.release([0, 1, 1], dc.Bernoulli(), mechanism=mechanism, impute=0)
    with pytest.raises(UsageError, match="holds samples"):
        dc.coarsen(made, epsilon=Fraction(1, 10))


def test_bought_bounds_keep_their_price_and_a_fit_check_is_left_out(rng: np.random.Generator) -> None:
    rows = rng.normal(50, 10, 2000)
    bounds = dc.mechanisms.PrivateQuantiles(0.01, 0.99, within=(0, 100), epsilon=Fraction(1, 2))
    made = dc.release(rows, dc.Mean(), bounds=bounds, epsilon=1)
    coarser = dc.coarsen(made, epsilon=Fraction(3, 4))
    assert coarser.guarantee.budgets()["epsilon"] == Fraction(3, 4)
    assert coarser.guarantees["statistics"].budgets()["epsilon"] == Fraction(1, 4)
    with pytest.raises(UsageError, match="bounds were bought"):
        dc.coarsen(made, epsilon=Fraction(1, 2))
    checked = dc.release(rows, dc.Normal(), bounds=(0, 100), epsilon=1, fit_check=0.2)
    assert dc.coarsen(checked, epsilon=Fraction(1, 2)).fit_check is None


@pytest.mark.parametrize(
    "change",
    [
        {"guarantees": [{"kind": "pure", "epsilon": "1/100"}]},
        {"guarantees": []},
        {"guarantees": [{"kind": "zero_concentrated", "rho": "1"}]},
        {"release": "two\nlines"},
        {"more": 1},
    ],
)
def test_forged_origins_are_refused(change: dict[str, Any]) -> None:
    from discreet.artifact.codec import checksum

    body = json.loads(dc.coarsen(dc.release([0, 1], dc.Bernoulli(), epsilon=1), epsilon=0.5).to_json())
    body["coarsened"] |= change
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError):
        dc.Release.from_json(json.dumps(body))


def test_a_ledger_notes_what_was_made_from_a_release(tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path}/budget.db", budget=dc.PureDP(1))
    made = dc.release([0, 1], dc.Bernoulli(), epsilon=1, ledger=ledger, dataset="d")
    first = dc.coarsen(made, epsilon=0.5, ledger=ledger)
    second = dc.coarsen(first, epsilon=0.1, ledger=ledger)
    found = ledger.verify(against=[made, first, second])
    assert found.passed
    assert not found.unreleased
    assert ledger.account("d").remaining["epsilon"] == 0
    unnoted = dc.coarsen(made, epsilon=0.5)
    assert unnoted.ledger is None
    with pytest.raises(UsageError, match="not charged"):
        dc.coarsen(unnoted, epsilon=0.1, ledger=ledger)
    forged = replace(unnoted, ledger=made.ledger)
    assert not ledger.verify(against=[forged]).passed


def test_analysts_with_budgets_of_their_own_are_not_circumvented(tmp_path: Path) -> None:
    ledger = dc.Ledger.create(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("d", dc.PureDP(2), per_analyst=dc.PureDP(1))
    made = dc.release([0, 1], dc.Bernoulli(), epsilon=1, ledger=ledger, dataset="d", analyst="ann")
    with pytest.raises(UsageError, match="budgets of their own"):
        dc.coarsen(made, epsilon=0.5, ledger=ledger)


def test_the_command(tmp_path: Path) -> None:
    fine, coarse = tmp_path / "fine.json", tmp_path / "coarse.json"
    dc.release([0, 1], dc.Bernoulli(), epsilon=1).save(fine)
    ran = CliRunner().invoke(app, ["coarsen", str(fine), "--epsilon", "0.1", "-o", str(coarse), "--json"])
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout)
    assert said["schema"] == "discreet/coarsen/1"
    assert (said["guarantee"]["epsilon"], said["with_the_original"]["epsilon"]) == ("1/10", "1")
    assert dc.Release.load(coarse).coarsened is not None
