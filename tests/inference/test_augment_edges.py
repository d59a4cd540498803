"""The augment engine at its edges: the map of records, refusals, absurd readings, extreme priors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.data import summarize
from discreet.inference.engine import Answer
from discreet.inference.engines.augment import augment_engine as augment
from discreet.inference.engines.augment.latent import LatentRecords
from discreet.mechanisms.noise import NoiseMechanism
from tests.contracts.family_cases import CASES, Case, every_family
from tests.inference.augmented import ask, release_of, table, typical_release


@every_family
@pytest.mark.parametrize("outside", ["redact", "clip"])
def test_records_are_mapped_as_the_release_maps_them(
    case: Case, outside: Any, rng: np.random.Generator
) -> None:
    family = case.family
    if family.vocabulary is not None and outside == "clip":
        pytest.skip("labels cannot be clipped")
    domain = family.read_domain(bounds=case.bounds, outside=outside, missing="count")
    release = release_of(table(family, case.thetas[1], rng), family, dc.mechanisms.Laplace(1), rng,
                         bounds=case.bounds, outside=outside)  # fmt: skip
    seed = int(rng.integers(2**32))
    pair = LatentRecords(release).draw(case.thetas[1], 300, np.random.default_rng(seed))
    assert pair is not None
    full, steps = pair
    if isinstance(family, dc.Categorical):
        x = np.array(family.labels)[full.argmax(axis=1)]
    else:
        x = family.sample(case.thetas[1], 300, np.random.default_rng(seed))
    columns: Any = x if family.n_columns == 1 else {f"c{i}": v for i, v in enumerate(x.T)}
    np.testing.assert_array_equal(full, family.sufficient(x))
    expected = summarize(columns, family, domain, release.layout)
    assert tuple(int(v) for v in steps.sum(axis=0)) == expected.values


def test_refusals(rng: np.random.Generator) -> None:
    private = release_of([1, 0], dc.Bernoulli(), dc.mechanisms.Laplace(1), rng, neighbors="add_remove")
    assert "number of records is private" in (augment.refusal(private) or "")
    many = release_of(np.ones(20_001), dc.Bernoulli(), dc.mechanisms.Laplace(1), rng)
    assert "20,001 are too many" in (augment.refusal(many) or "")
    wide = release_of(np.ones(20_000), dc.Categorical(150), dc.mechanisms.Laplace(1), rng)
    assert "too many" in (augment.refusal(wide) or "")


def finite(answer: Answer) -> bool:
    return all(np.isfinite(x).all() for x in answer.draws.values())


@pytest.mark.parametrize(
    "mechanism", [dc.mechanisms.Laplace(1), dc.mechanisms.Gaussian(rho=0.5)], ids=["l", "g"]
)
@pytest.mark.parametrize(
    "case",
    [CASES[0], CASES[4], CASES[-2], pytest.param(CASES[-1], marks=pytest.mark.slow)],
    ids=str,
)
def test_an_absurd_reading(case: Case, mechanism: NoiseMechanism, rng: np.random.Generator) -> None:
    """Forty standard deviations of noise beyond what any data could give: the draws are finite."""
    release = release_of(table(case.family, case.thetas[0], rng), case.family, mechanism, rng,
                         bounds=case.bounds)  # fmt: skip
    far = 3 / release.totals.grid[0] + int(40 * release.noise[0].sd)
    values = (int(far), *release.totals.values[1:])
    absurd = replace(release, statistics=replace(release.totals, values=values))
    answer = augment.draw(ask(absurd, case.prior, 200, rng))
    assert finite(answer)


def test_a_vague_prior(rng: np.random.Generator) -> None:
    """Most of this prior lies below 1e-90: that part is cut off, and a warning says so."""
    data = rng.exponential(1, 5)
    release = release_of(data, dc.Exponential(), dc.mechanisms.Laplace(1), rng, bounds=(0, 4))
    answer = augment.draw(ask(release, dc.priors.Gamma(1e-3, 1e-3), 200, rng))
    assert finite(answer)
    assert "cut off" in answer.warnings[-1]
    assert augment.draw(ask(release, dc.priors.Gamma(1, 1), 200, rng)).warnings == ()


def test_draws_are_reproducible_and_of_the_right_shape(rng: np.random.Generator) -> None:
    case = CASES[-1]
    release = typical_release(case, rng)
    first, again = (
        augment.draw(ask(release, case.prior, 99, np.random.default_rng(5), chains=1)) for _ in range(2)
    )
    assert first.draws["normal_mean"].shape == (99, 2)
    assert first.draws["covariance"].shape == (99, 2, 2)
    np.testing.assert_array_equal(first.draws["covariance"], again.draws["covariance"])
