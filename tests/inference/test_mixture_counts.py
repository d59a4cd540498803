"""The sampler of mixtures from noisy counts, against sums over all tables that could have been."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

from discreet.inference.diagnostics import mean_ess
from discreet.inference.models.mixture_sampler import (
    MixtureCells,
    MixtureDraw,
    by_weight,
    sample_mixture,
)
from discreet.privacy import DiscreteLaplace

NOISE = DiscreteLaplace(4.0)
# false alarms: once in a million for each comparison
SDS = 4.9


def sampled(
    cells: MixtureCells,
    values: np.ndarray,
    n_records: int,
    rng: np.random.Generator,
    *,
    noise: DiscreteLaplace | None,
    sweeps: int = 700,
) -> list[MixtureDraw]:
    sampler = sample_mixture(
        cells,
        values,
        None if noise is None else noise.log_mass,
        0.0 if noise is None else noise.sd,
        n_records,
        chains=4,
        weight_prior=1.0,
        label_prior=[1.0] * len(cells.sizes),
        rng=rng,
    )
    return list(islice(sampler, 200, 200 + sweeps))


def agrees(draws: list[MixtureDraw], truth: float, of: Callable[[MixtureDraw], np.ndarray]) -> bool:
    chains = np.stack([of(draw) for draw in draws], axis=1)
    error = float(chains.std() / np.sqrt(float(mean_ess(chains))))
    return abs(float(chains.mean()) - truth) < SDS * error


def weighed(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the posterior weight of every number of ones, for one component of two labels and a flat prior."""
    n = int(counts.max())
    log = betaln(1 + counts, 1 + n - counts) + gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    log = log + NOISE.log_mass(values[0] - (n - counts)) + NOISE.log_mass(values[1] - counts)
    return np.exp(log - logsumexp(log))


def test_one_component_of_two_labels_is_a_sum_over_counts(rng: np.random.Generator) -> None:
    n, values = 30, np.array([26, 9])
    counts = np.arange(n + 1)
    truth = float(weighed(counts, values) @ ((1 + counts) / (n + 2)))
    draws = sampled(MixtureCells(1, (2,)), values, n, rng, noise=NOISE)
    assert agrees(draws, truth, lambda draw: draw.tables[0][:, 0, 1])
    # control: what comes out if the noise is ignored
    naive = float((1 + 9) / (2 + 35))
    assert not agrees(draws, naive, lambda draw: draw.tables[0][:, 0, 1])


def test_missing_labels_are_counted_and_say_nothing(rng: np.random.Generator) -> None:
    """Two labels and missing: the pattern has a flat prior of its own."""
    n, values = 24, np.array([11, 2, 9])
    total, weight = 0.0, 0.0
    for a in range(n + 1):
        b = np.arange(n - a + 1)
        missing = n - a - b
        log = betaln(1 + a, 1 + b) + betaln(1 + missing, 1 + a + b)
        log = log - gammaln(a + 1) - gammaln(b + 1) - gammaln(missing + 1)
        log = log + sum(NOISE.log_mass(y - m) for y, m in zip(values, (a, b, missing), strict=True))
        mass = np.exp(log)
        weight += float(mass.sum())
        total += float((mass * (1 + a) / (2 + a + b)).sum())
    draws = sampled(MixtureCells(1, (2,), missing=True), values, n, rng, noise=NOISE)
    assert agrees(draws, total / weight, lambda draw: draw.tables[0][:, 0, 0])


def test_two_components_by_enumeration(rng: np.random.Generator) -> None:
    """Seven records without noise: how probable the first label is, over all assignments."""
    first, second = 6, 1
    log, value = [], []
    for a in range(first + 1):
        for b in range(second + 1):
            mine, other = np.array([a, b]), np.array([first - a, second - b])
            ways = gammaln([first + 1, second + 1]).sum() - gammaln([mine + 1, other + 1]).sum()
            sizes = np.array([mine.sum(), other.sum()])
            log.append(ways + gammaln(1 + sizes).sum() + betaln(*(1 + mine)) + betaln(*(1 + other)))
            share = (1 + sizes) / (2 + sizes.sum())
            value.append(share @ ((1 + np.array([a, first - a])) / (2 + sizes)))
    truth = float(np.exp(np.array(log) - logsumexp(log)) @ value)

    def of(draw: MixtureDraw) -> np.ndarray:
        return (draw.weights * draw.tables[0][..., 0]).sum(axis=1)

    draws = sampled(MixtureCells(2, (2,)), np.array([first, second]), 7, rng, noise=None)
    assert agrees(draws, truth, of)
    assert not agrees(draws, 0.5, of)  # as without data
    assert not agrees(draws, truth + 0.03, of)


def test_components_are_numbered_by_weight() -> None:
    draw = MixtureDraw(np.array([[0.2, 0.8]]), (np.array([[[0.1, 0.9], [0.6, 0.4]]]),))
    ordered = by_weight(draw)
    assert ordered.weights.tolist() == [[0.8, 0.2]]
    assert ordered.tables[0][0, 0].tolist() == [0.6, 0.4]


@pytest.mark.parametrize("missing", [False, True])
def test_cells_are_in_the_order_of_the_table(missing: bool) -> None:
    from discreet.models import Mixture

    model = Mixture(2, {"a": 2, "b": 3})
    cells = MixtureCells(2, model.sizes, missing)
    names = model.tables()[0].cells("count" if missing else "none")
    levels = [["0", "1", "<missing>"], ["0", "1", "2", "<missing>"]]
    for name, (a, b) in zip(names, cells.levels.T, strict=True):
        assert name == f"a={levels[0][a]}|b={levels[1][b]}"
