"""The claims about calibration: figures 1a and 1b, and the introduction's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from scipy.stats import binomtest, norm

from discreet.validation.bands import simultaneous_band

from .cells import Cell, Series
from .claim import CURVES, FALSE_ALARM, NEGLIGIBLE, NOISY, Claim, least_uniform, noise_aware, pairs_of
from .methods import METHODS

# -- figure 1a ---------------------------------------------------------------------------------------------


def _calibrated(cells: Sequence[Cell]) -> Iterator[Claim]:
    for method in (*noise_aware(cells), "non-private"):
        worst, p, limit = least_uniform([(c, c.series[method], 0) for c in cells])
        yield Claim(
            "figure 1a",
            f"{METHODS[method]} is calibrated for all models, n and ε",
            p >= limit,
            f"least p-value {p:.2g} of {len(cells)} (limit {limit:.1g}), KS {worst.series[method].test().ks:.3f} "
            f"at {worst.key}",
            method == "plain",
        )


def _same_level(cells: Sequence[Cell]) -> Iterator[Claim]:
    for method in noise_aware(cells):
        mine = sum(c.series[method].test().ks for c in cells) / len(cells)
        # the same number of replicates for both, because KS shrinks with it
        other = sum(
            _first(c.series["non-private"], len(c.series[method].ranks)).test().ks for c in cells
        ) / len(cells)
        # a KS statistic of uniform ranks has a standard deviation of 0.30 times its mean (Kolmogorov's distribution)
        slack = float(norm.isf(FALSE_ALARM / 2)) * 0.30 * other * math.sqrt(2 / len(cells))
        yield Claim(
            "figure 1a",
            f"{METHODS[method]} has the same calibration level as non-private inference: the same mean KS",
            abs(mine - other) <= slack,
            f"mean KS {mine:.4f} against {other:.4f} (may differ by {slack:.4f})",
            method == "plain",
        )


def _naive_fails(cells: Sequence[Cell]) -> Iterator[Claim]:
    noisy = [c for c in cells if c.key.noise_ratio >= NOISY]
    if noisy:
        weakest = max(noisy, key=lambda c: c.series["naive"].test().p_value)
        test = weakest.series["naive"].test()
        yield Claim(
            "figure 1a",
            f"naive is not calibrated while noise is {NOISY:g} times the spread of the sum or more",
            test.p_value < FALSE_ALARM,
            f"{len(noisy)} cells; least visible KS {test.ks:.3f} (p-value {test.p_value:.1g}) at {weakest.key}",
        )
    quiet = [c for c in cells if c.key.noise_ratio <= NEGLIGIBLE]
    if quiet:
        worst, p, limit = least_uniform([(c, c.series["naive"], 0) for c in quiet])
        yield Claim(
            "figure 1a",
            f"naive becomes calibrated when noise is negligible (below {NEGLIGIBLE:g} of that spread)",
            p >= limit,
            f"{len(quiet)} cells; KS {worst.series['naive'].test().ks:.3f} (p-value {p:.2g}) at {worst.key}",
        )


def _naive_improves(cells: Sequence[Cell]) -> Iterator[Claim]:
    for what, pairs in (
        ("n", pairs_of(cells, lambda a, b: a.key.epsilon == b.key.epsilon, "n_records")),
        ("ε", pairs_of(cells, lambda a, b: a.key.n_records == b.key.n_records, "epsilon")),
    ):
        # from clearly noisy to much less noisy: elsewhere the two differ by chance alone
        telling = [
            (a, b)
            for a, b in pairs
            if a.key.noise_ratio >= NOISY and b.key.noise_ratio <= min(a.key.noise_ratio / 5, NOISY)
        ]
        if telling:
            drops = [(_ks(a) - _ks(b), a, b) for a, b in telling]
            least, a, b = min(drops, key=lambda drop: drop[0])
            yield Claim(
                "figure 1a",
                f"naive gets better calibrated with increasing {what}",
                least > 0,
                f"{len(drops)} pairs of cells; least drop of KS {_ks(a):.3f} to {_ks(b):.3f}, {a.key} to {b.key}",
            )


def _ops_fails(cells: Sequence[Cell]) -> Iterator[Claim]:
    mine = [c for c in cells if "ops" in c.series]
    if not mine:
        return
    weakest = max(mine, key=lambda c: c.series["ops"].test().p_value)
    test = weakest.series["ops"].test()
    yield Claim(
        "figure 1a",
        "OPS is never calibrated",
        test.p_value < FALSE_ALARM,
        f"{len(mine)} cells; least visible KS {test.ks:.3f} (p-value {test.p_value:.1g}) at {weakest.key}",
    )
    ratio, cell = min(
        ((c.series["ops"].sd.mean() / c.series["non-private"].sd.mean(), c) for c in mine),
        key=lambda pair: pair[0],
    )
    yield Claim(
        "figure 1a",
        "OPS samples from an over-dispersed version of the posterior",
        bool(ratio > 1),
        f"least sd {ratio:.2f} times the non-private one's, at {cell.key}",
    )


# -- figure 1b ---------------------------------------------------------------------------------------------


def _curves(cells: Sequence[Cell]) -> Iterator[Claim]:
    shown = [c for c in cells if (c.key.n_records, c.key.epsilon) == CURVES]
    if not shown:
        return
    for method in (*noise_aware(shown), "non-private"):
        size = min(len(c.series[method].ranks) for c in shown)
        band = simultaneous_band(size, 1 - FALSE_ALARM / len(shown))
        out = [c.key.model for c in shown if not band.holds(c.series[method].ranks[:size, 0])]
        yield Claim(
            "figure 1b",
            f"{METHODS[method]} is perfectly calibrated at n = 1,000, ε = 0.01",
            not out,
            f"distribution function leaves its {100 * band.prob:.2f}% band for "
            f"{', '.join(out) or 'none'} of {len(shown)} models",
            method == "plain",
        )
    tails = {c.key.model: 1 - c.series["naive"].central(0.9) for c in shown}
    yield Claim(
        "figure 1b",
        "naive puts the truth in a tail: outside the central 90% in most replicates",
        all(share > 0.5 for share in tails.values()),
        ", ".join(f"{name} {100 * share:.0f}%" for name, share in tails.items()),
    )
    for cell in shown:
        if "ops" in cell.series:
            ranks = cell.series["ops"].ranks[:, 0]
            middle = cell.series["ops"].central(0.5)
            test = binomtest(round(middle * len(ranks)), len(ranks), 0.5, alternative="greater")
            yield Claim(
                "figure 1b",
                "OPS is too diffuse: the truth lies in the middle half of its samples too often",
                bool(test.pvalue < FALSE_ALARM),
                f"{100 * middle:.0f}% of replicates (p-value {test.pvalue:.1g}), {cell.key.model}",
            )


def _all_labels(cells: Sequence[Cell]) -> Iterator[Claim]:
    mine = [c for c in cells if c.key.model == "multinomial"]
    for method in noise_aware(cells) if mine else ():
        looks = [
            (c, c.series[method], label) for c in mine for label in range(c.series[method].ranks.shape[1])
        ]
        worst, p, limit = least_uniform(looks)
        yield Claim(
            "figure 1b",
            f"{METHODS[method]}: calibration holds for all labels of the multinomial",
            p >= limit,
            f"least p-value {p:.2g} of {len(looks)} (limit {limit:.1g}), at {worst.key}",
            method == "plain",
        )


# -- the introduction ------------------------------------------------------------------------------------------


def _only_one(cells: Sequence[Cell]) -> Iterator[Claim]:
    noisy = [c for c in cells if c.key.noise_ratio >= NOISY]
    for method in noise_aware(cells) if noisy else ():
        _, p, limit = least_uniform([(c, c.series[method], 0) for c in noisy])
        rivals = [c.series[m].test().p_value for c in noisy for m in ("naive", "ops") if m in c.series]
        yield Claim(
            "section 1",
            f"{METHODS[method]} is calibrated where noise is large, and neither naive nor OPS is",
            p >= limit and max(rivals) < FALSE_ALARM,
            f"{len(noisy)} cells: least p-value {p:.2g}, the others' largest {max(rivals):.1g}",
            method == "plain",
        )


#: Every check of calibration, in the order of the paper.
CHECKS: tuple[Callable[[Sequence[Cell]], Iterator[Claim]], ...] = (
    _calibrated,
    _same_level,
    _naive_fails,
    _naive_improves,
    _ops_fails,
    _curves,
    _all_labels,
    _only_one,
)


def _first(series: Series, size: int) -> Series:
    return Series(series.ranks[:size], series.sd[:size], series.mmd)


def _ks(cell: Cell) -> float:
    return cell.series["naive"].test().ks
