"""The claims about utility: figure 1c and what the text says of large n."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from .cells import Cell
from .claim import LABELS, NOISE_AWARE, SLACK, Claim, noise_aware, pairs_of
from .methods import METHODS


def suspects(cells: Iterable[Cell]) -> dict[Cell, tuple[str, ...]]:
    """Return the cells in which a noise-aware posterior looks worse than naive by more than two standard errors.

    With the methods that do. Where noise is negligible all are the same, so each of many comparisons exceeds two
    standard errors with probability 0.023. A method is only found wanting if fresh replicates say so too.
    """
    out = {}
    for cell in cells:
        mine = [m for m in NOISE_AWARE if m in cell.series and _excess(cell, m) > SLACK]
        if mine and cell.key.model in LABELS:
            out[cell] = tuple(mine)
    return out


def _excess(cell: Cell, method: str, *, fresh: bool = False) -> float:
    """Return how many standard errors a method's squared MMD is above the naive one's."""
    gap, error = cell.worse(method, "naive", fresh=fresh)
    if error > 0:
        return gap / error
    return math.inf if gap > 0 else 0.0


def _useful(cells: Sequence[Cell]) -> Iterator[Claim]:
    mine = [c for c in cells if c.key.model in LABELS and len(c.series["naive"].mmd) > 1]
    for method in noise_aware(cells) if mine else ():
        first = max(mine, key=lambda c: _excess(c, method))
        text = f"worst of {len(mine)} cells {_excess(first, method):+.1f} standard errors at {first.key}"
        fresh = [c for c in mine if c.again is not None and method in c.again and _excess(c, method) > SLACK]
        bad = [c for c in mine if _excess(c, method) > SLACK and c not in fresh]
        for cell in fresh:
            again = _excess(cell, method, fresh=True)
            text += f"; {cell.key} on fresh replicates {again:+.1f}"
            bad += [cell] if again > SLACK else []
        yield Claim(
            "figure 1c",
            f"{METHODS[method]} is at least as useful as naive: MMD never worse by more than {SLACK:g} standard errors",
            not bad,
            text,
            method == "plain",
        )


def _converges(cells: Sequence[Cell]) -> Iterator[Claim]:
    pairs = [
        (a, b)
        for a, b in pairs_of(cells, lambda a, b: a.key.epsilon == b.key.epsilon, "n_records")
        if a.key.noise_ratio >= 1
        and b.key.n_records >= 10 * a.key.n_records
        and len(a.series["naive"].mmd) > 1
    ]
    for method in ("naive", *noise_aware(cells)) if pairs else ():
        # the end of each curve against its highest point
        falls = []
        for end in {(c.key.model, c.key.epsilon): c for _, c in pairs}.values():
            starts = [a for a, b in pairs if b.key == end.key]
            if starts:
                peak = max(a.series[method].utility[0] for a in starts)
                falls.append((end.series[method].utility[0] / peak, end))
        worst, end = max(falls, key=lambda fall: fall[0])
        yield Claim(
            "section 4",
            f"{METHODS[method]} approaches the non-private posterior as n grows: squared MMD falls",
            worst < 1,
            f"to {max(worst, 0):.2g} of its peak at worst, at {end.key}",
            method == "plain",
        )


def _cheating(cells: Sequence[Cell]) -> Iterator[Claim]:
    mine = [c for c in cells if c.key.model == "exponential" and len(c.series["naive"].mmd) > 1]
    for method in noise_aware(cells) if mine else ():
        excess = [_excess(c, method) for c in mine]
        lower, higher = sum(e > SLACK for e in excess), sum(e < -SLACK for e in excess)
        yield Claim(
            "figure 1c",
            f"exponential: the cheating naive method is sometimes more useful than {METHODS[method]}, sometimes less",
            lower > 0 and higher > 0,
            f"more useful in {lower}, less in {higher} of {len(mine)} cells, by over {SLACK:g} standard errors",
            method == "plain",
        )


#: Every check of utility, in the order of the paper.
CHECKS: tuple[Callable[[Sequence[Cell]], Iterator[Claim]], ...] = (_useful, _cheating, _converges)
