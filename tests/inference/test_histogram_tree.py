"""Draws of bin counts and probabilities agree with enumeration, and their length of work does not depend on n."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, gammaln
from scipy.stats import norm

from discreet.errors import EngineError
from discreet.inference.histogram import Level, band, cdf, draw_histogram, quantiles
from discreet.inference.histogram.messages import KINDS, Concentrations, log_gamma_ratio
from discreet.inference.histogram.tree import build
from discreet.inference.missing_prior import FewMissing
from discreet.inference.record_prior import RecordPrior
from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise

# False alarms: at most 1e-4 for each test below, over all its comparisons.
_ALARM = 1e-4


def _log_split(left: int, right: int, share: float, concentrations: np.ndarray) -> float:
    """Log probability of a split, mixed over concentrations."""
    n = left + right
    terms = []
    for half in concentrations:
        a, b = 2 * half * share, 2 * half * (1 - share)
        choose = gammaln(n + 1) - gammaln(left + 1) - gammaln(right + 1)
        terms.append(choose + betaln(left + a, right + b) - betaln(a, b))
    return float(np.logaddexp.reduce(terms) - np.log(concentrations.size))


def _log_tree(counts: tuple[int, ...], shape: tuple, kind: Concentrations) -> tuple[float, int, int]:
    """Log prior of counts given their total, for a tree of nested pairs of bins; with bins and records below."""
    if isinstance(shape, int):
        return 0.0, 1, counts[shape]
    (log_l, bins_l, c_l), (log_r, bins_r, c_r) = (_log_tree(counts, s, kind) for s in shape)
    bins = bins_l + bins_r
    return log_l + log_r + _log_split(c_l, c_r, bins_l / bins, kind.of(bins)), bins, c_l + c_r


def _enumerate(n_bins, shape, levels, log_prior, most):
    out = {}
    for counts in product(range(most + 1), repeat=n_bins):
        total = sum(counts)
        if total > most or log_prior(total) == -np.inf:
            continue
        kinds = [_log_tree(counts, shape, kind)[0] for kind in KINDS]
        log = log_prior(total) + float(np.logaddexp.reduce(kinds)) - np.log(len(KINDS))
        for level in levels:
            ends = [*list(level.starts)[1:], n_bins]
            for first, last, value in zip(level.starts, ends, level.values, strict=True):
                log += float(level.noise.log_mass(np.array(float(value - sum(counts[first:last])))))
        out[counts] = log
    return out


CASES = {
    "four bins, two levels": (4, ((0, 1), (2, 3)), (range(4), (0, 2))),
    "three bins": (3, (0, (1, 2)), (range(3),)),
    "five bins, groups of two and three": (5, ((0, 1), (2, (3, 4))), (range(5), (0, 2), (0,))),
}


# half of them by default: every pair of two values is there
@pytest.mark.parametrize(
    ("few", "known", "case", "noise"),
    [
        pytest.param(
            few,
            known,
            case,
            noise,
            id=f"{'from all' if few else 'proposed'}-{known}-{case}-{name}",
            marks=[] if (i + j + k + m) % 2 else pytest.mark.slow,
        )
        for i, few in enumerate([1024, 0])
        for j, known in enumerate([True, False])
        for k, case in enumerate(CASES)
        for m, (name, noise) in enumerate(
            {"laplace": DiscreteLaplace(1.3), "gaussian": DiscreteGaussian(1.1)}.items()
        )
    ],
)
def test_draws_match_enumeration(case, noise: Noise, known, few, rng, monkeypatch) -> None:
    # counts are proposed where many are possible: here, where there are a few, both ways are tried
    monkeypatch.setattr("discreet.inference.histogram.draws._FEW", few)
    # pairs of bins are narrow nodes here, and those above them wide ones
    monkeypatch.setattr("discreet.inference.histogram.messages._NARROW", 2)
    n_bins, shape, starts = CASES[case]
    n, n_draws = 4, 40_000
    levels = [Level(s, rng.integers(-1, 4, len(list(s))), noise) for s in starts]
    prior = RecordPrior(n, n) if known else FewMissing(n)
    exact = _enumerate(
        n_bins,
        shape,
        levels,
        lambda total: (0.0 if total == n else -np.inf) if known else float(prior.log_mass(np.array(total))),
        n,
    )
    log_evidence = np.logaddexp.reduce(list(exact.values()))
    draws = draw_histogram(n_bins, levels, prior, n_draws, rng)
    # windows are cut at exp(-18) of the noise's peak
    assert draws.log_evidence == pytest.approx(log_evidence, abs=1e-6)
    wrong = draw_histogram(
        n_bins, [Level(v.starts, v.values, DiscreteLaplace(1.6)) for v in levels], prior, 10, rng
    )
    assert abs(wrong.log_evidence - log_evidence) > 1e-3  # the control: another noise is told apart
    reach = norm.isf(_ALARM / (2 * len(exact)))
    for counts, log in exact.items():
        p = np.exp(log - log_evidence)
        seen = (draws.counts == np.array(counts)).all(axis=1).sum()
        assert abs(seen - n_draws * p) <= reach * np.sqrt(n_draws * p * (1 - p)) + 4


def test_probabilities_given_counts(rng: np.random.Generator) -> None:
    """With almost no noise the posterior is the mixture of betas at the known split."""
    sharp = DiscreteLaplace(0.02)
    draws = draw_histogram(2, [Level((0, 1), (3, 9), sharp)], RecordPrior(12, 12), 40_000, rng)
    assert (draws.counts == [3, 9]).all()
    kinds = [kind.of(2) for kind in KINDS]
    half = np.concatenate(kinds)
    weight = np.exp([betaln(3 + a, 9 + a) - betaln(a, a) for a in half])
    weight *= np.concatenate([np.full(kind.size, 1 / kind.size) for kind in kinds])
    weight /= weight.sum()
    mean = (weight * (3 + half) / (12 + 2 * half)).sum()
    assert abs(draws.p[:, 0].mean() - mean) < 4.5 * draws.p[:, 0].std() / np.sqrt(40_000)
    np.testing.assert_allclose(draws.p.sum(axis=1), 1)


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
def test_large_tables_cover_their_truth(n: int, rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.full(16, 0.4))
    counts = rng.multinomial(n, p)
    noise = DiscreteLaplace(4.0)
    levels = [
        Level(range(16), counts + noise.sample(16, rng), noise),  # pyright: ignore[reportArgumentType]
        Level((0, 4, 8, 12), counts.reshape(4, 4).sum(axis=1) + noise.sample(4, rng), noise),
    ]
    draws = draw_histogram(16, levels, RecordPrior(n, n), 2000, rng)
    assert (draws.counts.sum(axis=1) == n).all()
    assert (draws.counts >= 0).all()
    error = np.abs(draws.counts.mean(axis=0) - counts)
    assert (error < 60).all()  # 15 scales of the noise: exp(-15) for each of 16 bins
    # sharp noise and flat prior: the sd of a count is at most the noise's own
    assert (draws.counts.std(axis=0) < 1.5 * noise.sd).all()


def test_noise_without_data_leaves_the_prior(rng: np.random.Generator) -> None:
    vast = DiscreteLaplace(200.0)
    draws = draw_histogram(2, [Level((0, 1), (5, 5), vast)], RecordPrior(4, 4), 40_000, rng)
    expected = np.mean(
        [np.exp([_log_split(k, 4 - k, 0.5, kind.of(2)) for k in range(5)]) for kind in KINDS], axis=0
    )
    seen = np.bincount(draws.counts[:, 0], minlength=5) / 40_000
    assert (
        np.abs(seen - expected).max() < 0.02 + 4.5 * 0.5 / 200
    )  # noise of 200 tilts by at most exp(8 / 200)


def test_distribution_function_and_quantiles(rng: np.random.Generator) -> None:
    p = rng.dirichlet([5.0, 20.0, 70.0, 5.0], size=4000)
    edges = np.array([0.0, 1.0, 2.0, 5.0, 10.0])
    low, high = cdf(p, edges, [-1.0, 0.0, 1.5, 2.0, 10.0, 11.0])  # pyright: ignore[reportArgumentType]
    assert (low <= high).all()
    np.testing.assert_allclose(low[:, 3], p[:, :2].sum(axis=1))
    np.testing.assert_allclose(high[:, 3], p[:, :2].sum(axis=1))
    np.testing.assert_allclose(high[:, 2], p[:, :2].sum(axis=1))
    np.testing.assert_allclose(low[:, 2], p[:, 0])
    assert (low[:, :2] == 0).all()
    assert (high[:, 0] == 0).all()
    # all of the first bin may lie on the lowest edge
    np.testing.assert_allclose(high[:, 1], p[:, 0])
    np.testing.assert_allclose(low[:, 5], 1)
    median = quantiles(p, edges, np.array([0.5]))[0]
    assert (median.low, median.high) == (2.0, 5.0)
    whole = band(p, np.ones((4000, 4), dtype=int), edges)
    inside = ((np.cumsum(p, axis=1)[:, :-1] >= whole.low) & (np.cumsum(p, axis=1)[:, :-1] <= whole.high)).all(
        axis=1
    )
    assert abs(inside.mean() - 0.95) < 0.01


def test_band_reaches_the_ends_where_the_table_may_be_empty(rng: np.random.Generator) -> None:
    p = rng.dirichlet([0.3, 20.0, 20.0, 0.3], size=2000)
    edges = np.arange(5.0)
    empty = np.tile([0, 10, 10, 0], (2000, 1))
    assert band(p, empty, edges).low[0] == 0
    assert band(p, empty, edges).high[-1] == 1
    some = band(p, empty + 1, edges)
    assert some.low[0] > 0
    assert some.high[-1] < 1


def test_gamma_ratio_is_accurate_for_large_counts() -> None:
    import mpmath

    with mpmath.workdps(60):
        for a in (0.25, 2.0, 30.0, 60.0):
            for c in (0, 3, 2**15 - 1, 2**15 + 2, 10**6, 10**9):
                window = log_gamma_ratio(max(c - 3, 0), c, a)
                assert window.size == c - max(c - 3, 0) + 1
                exact = float(mpmath.loggamma(c + mpmath.mpf(a)) - mpmath.loggamma(c + 1))
                assert window[-1] == pytest.approx(exact, abs=1e-8)


def test_readings_that_no_table_gives(rng: np.random.Generator) -> None:
    """They give the nearest that one could have, or are refused in one line."""
    noise = DiscreteLaplace(1.0)
    for levels, counts in (
        # far more in the bins than in the group, and than there are records
        ([Level(range(4), (900,) * 4, noise), Level((0, 2), (5, 5), noise)], RecordPrior()),
        ([Level(range(4), (900,) * 4, noise)], RecordPrior(0, 10)),
    ):
        assert np.isfinite(draw_histogram(4, levels, counts, 100, rng).p).all()
    with pytest.raises(EngineError, match="contradict each other"):
        draw_histogram(4, [Level(range(4), (0,) * 4, noise)], RecordPrior(5000, 5000), 100, rng)
    wide = [Level(range(64), (0,) * 64, DiscreteLaplace(1e9))]
    with pytest.raises(EngineError, match="noise on the counts is so wide"):
        draw_histogram(64, wide, RecordPrior(), 100, rng)


def test_wide_noise_takes_no_longer_for_more_counts(rng: np.random.Generator) -> None:
    """Windows of tens of thousands of counts, drawn by proposals: the totals and their spread are right."""
    noise = DiscreteLaplace(1500.0)
    truth = np.array([40_000, 10_000, 0, 70_000])
    levels = [Level(range(4), truth, noise), Level((0, 2), (50_000, 70_000), noise)]  # pyright: ignore[reportArgumentType]
    draws = draw_histogram(4, levels, RecordPrior(120_000, 120_000), 2000, rng)
    assert (draws.counts.sum(axis=1) == 120_000).all()
    low, high = np.quantile(draws.counts, [0.005, 0.995], axis=0)
    assert ((low <= truth + 1) & (truth <= high)).all()
    assert (high - low < 12 * 1500).all()


def test_one_bin_and_bad_groups(rng: np.random.Generator) -> None:
    noise = DiscreteLaplace(1.0)
    draws = draw_histogram(1, [Level((0,), (7,), noise)], RecordPrior(), 100, rng)
    assert draws.p.shape == (100, 1)
    assert (draws.p == 1).all()
    for levels in (
        [Level((0, 2), (1, 1), noise)],
        [Level((1, 2), (1, 1), noise)],
        [Level(range(4), range(4), noise), Level((0, 1), (1, 1), noise), Level((0, 2), (1, 1), noise)],
    ):
        with pytest.raises(ValueError, match=r"finest|groups"):
            build(4, levels)
