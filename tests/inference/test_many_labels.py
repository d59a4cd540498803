"""Posteriors of many labels: counts summed as a tree, draws that fit into memory, tables that fit onto a screen."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.errors import EngineError, UsageError
from discreet.inference.counts import latent_cells as counting
from discreet.inference.counts.latent_cells import cell_counts
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior
from discreet.inference.record_prior import RecordPrior
from discreet.mechanisms.noise import Laplace
from discreet.privacy import DiscreteGaussian, DiscreteLaplace
from tests.inference.count_probabilities import probability

DISTRIBUTIONS = {"laplace": DiscreteLaplace(1.5), "gaussian": DiscreteGaussian(2.0)}
ALPHA = np.array([1.0, 1.0, 0.5, 1.0, 1.0])
Y = np.array([3, 3, 2, 0, 3])


@pytest.mark.parametrize("usable", [None, 12])
@pytest.mark.parametrize("records", [RecordPrior(11, 11), RecordPrior(0, 15), RecordPrior(0, None)], ids=str)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_tree_gives_the_probabilities_of_a_chain(distribution, records, usable, monkeypatch) -> None:
    """The chain is checked against full enumeration in test_exact.py."""
    noise = DISTRIBUTIONS[distribution]
    reading = None if usable is None else (usable, noise)
    chain = cell_counts(ALPHA, Y, (noise,) * 5, records, reading)
    monkeypatch.setattr(counting, "MANY", 1)
    tree = cell_counts(ALPHA, Y, (noise,) * 5, records, reading)
    assert all(panel.tree is not None and panel.n_cells == 5 for panel in tree.panels)
    (u, p), (v, q) = chain.totals(), tree.totals()
    common = np.intersect1d(u, v)
    assert np.abs(p[np.isin(u, common)] - q[np.isin(v, common)]).max() < 1e-12
    points = np.array([c for c in product(range(6), repeat=5) if 9 <= sum(c) <= 13])
    assert np.abs(probability(chain, points) - probability(tree, points)).max() < 1e-12


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_draws_from_a_tree_have_these_probabilities(distribution, monkeypatch, rng) -> None:
    monkeypatch.setattr(counting, "MANY", 1)
    counts = cell_counts(ALPHA[:3], Y[:3], (DISTRIBUTIONS[distribution],) * 3, RecordPrior(8, 8), None)
    points = np.array([c for c in product(range(9), repeat=3) if sum(c) == 8])
    expected = probability(counts, points)
    assert expected.sum() == pytest.approx(1, abs=1e-10)
    size = 40_000
    drawn = counts.sample(size, rng)
    assert (drawn.sum(axis=1) == 8).all()
    seen = np.array([(drawn == point).all(axis=1).sum() for point in points])
    assert seen.sum() == size
    # a false alarm in 1,000, split over both distributions, the points and both sides
    z = (seen - size * expected) / np.sqrt(size * expected * (1 - expected) + 1e-9)
    common = size * expected > 20
    assert np.abs(z[common]).max() < 4.6
    # the control: the draws of another reading would be seen
    other = cell_counts(
        ALPHA[:3], Y[:3] + np.array([1, 0, 0]), (DISTRIBUTIONS[distribution],) * 3, RecordPrior(8, 8), None
    )
    wrong = probability(other, points)
    assert np.abs((seen - size * wrong) / np.sqrt(size * wrong + 1e-9))[common].max() > 4.6


def test_cells_that_are_alike_share_their_tables(monkeypatch, rng) -> None:
    """The work of 20,000 labels is that of the few readings that differ."""
    weighed = []
    original = counting.Cell.weights
    monkeypatch.setattr(
        counting.Cell, "weights", lambda self, *rest: weighed.append(self.y) or original(self, *rest)
    )
    y = rng.integers(0, 30, 20_000)
    distribution = DiscreteLaplace(2.0)
    found = cell_counts(np.ones(y.size), y, (distribution,) * y.size, RecordPrior(0, None), None)
    # once for each panel that was tried
    assert len(weighed) < 1000
    draws = found.sample(3, rng)
    assert draws.shape == (3, 20_000)
    assert (draws >= 0).all()
    assert len(found.panels[0].partial) == 1


def test_a_posterior_of_many_labels(rng) -> None:
    """The mean of every group of labels is where its records are, within its own standard deviation."""
    k, n = 600, 60_000
    weights = np.repeat([1.0, 3.0], k // 2)
    codes = rng.choice(k, n, p=weights / weights.sum())
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        codes.tolist(),
        dc.Categorical(k),
        Laplace(1),
    )
    posterior = dc.infer(release, draws=400, rng=rng)
    p = posterior.draws["p"]
    assert p.shape == (400, k)
    assert p.sum(axis=1) == pytest.approx(np.ones(400))
    assert posterior.diagnostics.engine == "exact"
    # 600 numbers would fill the screen
    assert posterior.diagnostics.prior == "every Dirichlet parameter is 1"
    counts = np.bincount(codes, minlength=k)
    z = (p.mean(axis=0) - counts / n) / p.std(axis=0)
    assert np.abs(z).max() < 6
    # the mean is off by the noise and by the error of 400 draws; the deviation is that of noise and sampling
    tail = np.exp(-1 / 2)
    noise = 2 * tail / (1 - tail) ** 2
    expected = np.sqrt(np.mean(noise / (noise + counts)) + 1 / 400)
    # the noise's fourth moment is six times its squared variance, so a variance of k of them is off by sqrt(5 / k)
    assert z.std() == pytest.approx(expected, rel=4 * np.sqrt(5 / k) / 2)


def test_too_many_draws_of_labels_are_refused_before_work(monkeypatch, rng) -> None:
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]), ["1"], dc.Categorical(50_000), Laplace(1)
    )
    with pytest.raises(
        UsageError, match=r"4,000 draws of 50,000 labels are more than 100,000,000"
    ) as refused:
        dc.infer(release)
    assert refused.value.hint == "ask for draws=2000"


def test_noise_too_wide_for_many_labels_is_refused_before_work(monkeypatch) -> None:
    monkeypatch.setattr(counting, "_MOST_WEIGHTS", 1000)
    with pytest.raises(EngineError, match="300 counts under noise this wide"):
        cell_counts(np.ones(300), np.arange(300), (DiscreteLaplace(9.0),) * 300, RecordPrior(0, None), None)


def test_a_long_summary_shows_its_first_and_last_lines(rng) -> None:
    names = tuple(f"l{i}" for i in range(5000))
    how = Diagnostics("exact", independent=True)
    summary = Posterior({"p": rng.random((20, 5000))}, how, labels={"p": names}).summary()
    lines = str(summary).splitlines()
    assert len(lines) == 1 + 40 + 1 + 10 + 2
    assert lines[1].startswith("p[l0]")
    assert lines[41] == "... 4,950 rows more, all of them in summary.rows"
    assert lines[42].startswith("p[l4990]")
    assert len(summary) == 5000
    assert summary["p[l777]"].name == "p[l777]"
    with pytest.raises(UsageError, match="no parameter") as wrong:
        summary["q"]
    assert len(str(wrong.value.hint)) < 400


def test_parts_of_a_sum_are_never_above_it() -> None:
    """Wide noise reaches far beyond the number of records; tables do not."""
    distribution = DiscreteLaplace(300.0)
    found = cell_counts(np.ones(300), np.arange(300), (distribution,) * 300, RecordPrior(0, 2000), None)
    (panel, *_) = found.panels
    assert panel.tree is not None
    assert panel.tree.root.table.high <= 2000


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_hundreds_of_labels_at_a_small_epsilon_are_read(neighbors: str, rng) -> None:
    codes = rng.integers(0, 300, 100_000).tolist()
    release = dc.release(codes, dc.Categorical(300), epsilon=0.002, neighbors=neighbors)  # pyright: ignore[reportArgumentType, reportCallIssue]
    assert dc.infer(release, draws=400, rng=rng).diagnostics.engine == "exact"
