"""What inference takes for k-norm noise: the distribution that is drawn, its spread, and how far it goes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.artifact.records.k_norm import KNormRecord
from discreet.domain.declarations import Neighbors
from discreet.mechanisms import KNorm
from discreet.mechanisms.base import Totals
from discreet.models import LinearRegression
from discreet.models.product_norm import FORMS, product_norm
from discreet.privacy import thinned
from discreet.privacy.thinned import ThinnedLaplace, ThinnedMarginal
from discreet.samplers.secure import RandomSource
from tests.models.test_product_norm import CASES, the_model

LINE = LinearRegression({"y": (0, 1)}, {"x": (0, 1)})
#: False alarms of each statistical test.
ALARM = 1e-4


@cache
def planned(neighbors: Neighbors, epsilon: int = 1) -> tuple[KNorm, KNormRecord, Totals]:
    mechanism = KNorm(epsilon).within(LINE, LINE.read_domain(None, "clip", "count"), neighbors)
    model = mechanism.suited(LINE)
    domain = model.read_domain(None, "clip", "count")
    layout = model.layout(domain, neighbors)
    record = mechanism.check(model, domain, layout)
    return mechanism, record, Totals(model, domain, (0,) * len(layout.names), 1, layout)


def joint_of(record: KNormRecord, neighbors: Neighbors, wider: float = 1.0) -> ThinnedLaplace:
    norm = product_norm(LINE.design, neighbors, record.forms)
    scales = tuple(float(one) * wider for one in record.scale[:5])
    return ThinnedLaplace(scales, tuple(map(tuple, norm.scaled / float(record.norm_scale) / wider)))


def seen(noise: np.ndarray, joint: ThinnedLaplace) -> np.ndarray:
    """Return the coordinates of draws, their L1 norm, and the form that is largest: what tells shapes apart."""
    l1 = (np.abs(noise) / np.array(joint.scales)).sum(axis=1)
    return np.column_stack([noise, l1, (noise @ np.array(joint.forms).T).max(axis=1)])


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_the_distribution_that_is_drawn(neighbors: Any, rng: np.random.Generator) -> None:
    mechanism, record, totals = planned(neighbors)
    made = mechanism.draws(record, totals, RandomSource.seeded(rng), 800)
    drawn = np.array([one.values[:5] for one in made]) / 2**24
    joint = joint_of(record, neighbors)

    def least_p_value(other: np.ndarray) -> float:
        pairs = zip(seen(drawn, joint).T, seen(other, joint).T, strict=True)
        found: list[Any] = [stats.ks_2samp(one, two) for one, two in pairs]
        return 7 * min(float(one.pvalue) for one in found)

    assert least_p_value(joint.sample(4000, rng)) > ALARM
    assert least_p_value(joint_of(record, neighbors, 1.2).sample(4000, rng)) < ALARM
    # the Laplace noise that is thinned has another shape
    assert least_p_value(rng.laplace(0, joint.scales, (4000, 5))) < ALARM
    # sds: each has a relative error of about 1 / sqrt(800) with these tails, and 7 standard errors are allowed
    assert joint.sds == pytest.approx(drawn.std(axis=0), rel=7 / np.sqrt(800))
    assert joint.sds != pytest.approx(drawn.std(axis=0) * 1.4, rel=7 / np.sqrt(800))
    # the usable count has Laplace noise of its own
    counts = np.array([one.values[5] for one in made])
    assert (
        stats.kstest(counts + rng.random(800) - 0.5, stats.laplace(0, float(record.scale[5])).cdf)[1] > ALARM
    )


def test_sds_grow_with_the_noise_and_are_found_once() -> None:
    record = planned("replace")[1]
    one, wide = joint_of(record, "replace"), joint_of(record, "replace", 3.0)
    before = thinned._sds.cache_info().misses
    assert wide.sds == pytest.approx(3 * one.sds)
    assert thinned._sds.cache_info().misses <= before + 1
    assert (one.sds < np.sqrt(2) * np.array(one.scales)).all()


def test_marginals_are_in_grid_steps(rng: np.random.Generator) -> None:
    joint = joint_of(planned("replace")[1], "replace")
    noise = ThinnedMarginal(joint, 2, 2.0**-24)
    assert noise.sd * 2.0**-24 == joint.sds[2]
    assert noise.width == noise.sd
    drawn = noise.sample(3000, rng)
    assert (drawn == np.rint(drawn)).all()
    assert drawn.std() == pytest.approx(noise.sd, rel=0.15)
    assert noise.reach(40.0) > 40 * noise.sd / np.sqrt(2)
    assert np.exp(noise.log_mass(np.array([0.0, noise.sd]))) == pytest.approx(
        stats.norm.pdf([0, 1]) / noise.sd
    )


@pytest.mark.parametrize(("name", "neighbors"), CASES)
def test_noise_is_not_thinned_more_than_its_reach_allows_for(
    name: str, neighbors: Any, rng: np.random.Generator
) -> None:
    """A proposal of direction u and gamma length is kept with probability M(u)^-D: a tail is at most so much fatter."""
    model = the_model(name)
    design = model.released_design
    size = len(design.products)
    norm = product_norm(design, neighbors, FORMS[len(design.columns), neighbors])
    layout = model.layout(model.read_domain(None, "clip", "none"), neighbors)
    scales = np.array([float(width) for width in layout.width[:size]]) * float(model.l1_reach(neighbors))
    u = rng.laplace(size=(10_000, size))
    u *= scales / np.abs(u).sum(axis=1, keepdims=True)
    kept = np.maximum((u @ norm.scaled.T).max(axis=1), 1.0) ** -float(size)
    error = kept.std() / np.sqrt(len(kept))
    assert np.log(kept.mean() - 4 * error) > -thinned._THINNED
    # and it is thinned: there is something to be gained
    assert kept.mean() < 0.2
