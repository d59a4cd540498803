"""What the paper says about its figures, sentence by sentence, as tests that can fail.

Uniformity is judged by the Kolmogorov-Smirnov statistic, as in the paper. "Calibrated" in several cells means that no
p-value is below 0.001 divided by the number of cells: if all are calibrated, that fails once in a thousand studies.
"Not calibrated" means that the p-value is below 0.001 in each cell. Which cells count as noisy follows from the ratio
of two standard deviations, that of the noise and that of the sum it covers, and not from what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .cells import Cell, Series

#: Probability of a false alarm, for each claim as a whole.
FALSE_ALARM = 1e-3
#: Noise this many times the spread of the sum must be seen; below this share of it, it must not be.
NOISY, NEGLIGIBLE = 3.0, 0.25
#: Standard errors by which a noise-aware posterior may be worse than the naive one.
SLACK = 2.0
#: Cell of the empirical distribution functions, figure 1b.
CURVES = (1000, 0.01)
LABELS = ("binomial", "multinomial")
#: Methods that account for the noise.
NOISE_AWARE = ("gibbs", "exact", "plain")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether it holds here, and the figure that decided.

    ``paper_only`` marks what is said of the paper's own sampler: the record of a result, not a promise of ours.
    """

    source: str
    text: str
    holds: bool
    measured: str
    paper_only: bool = False

    def __post_init__(self) -> None:
        # numbers of NumPy compare to booleans that JSON does not know
        object.__setattr__(self, "holds", bool(self.holds))


def noise_aware(cells: Iterable[Cell]) -> list[str]:
    """Return the methods that account for the noise and were run everywhere."""
    return [m for m in NOISE_AWARE if all(m in cell.series for cell in cells)]


def least_uniform(looks: Sequence[tuple[Cell, Series, int]]) -> tuple[Cell, float, float]:
    """Return the cell with the smallest p-value, that p-value, and the limit it must not fall below."""
    p, worst = min(((series.test(c).p_value, cell) for cell, series, c in looks), key=lambda pair: pair[0])
    return worst, p, FALSE_ALARM / len(looks)


def pairs_of(
    cells: Sequence[Cell], alike: Callable[[Cell, Cell], bool], grows: str
) -> list[tuple[Cell, Cell]]:
    """Return pairs of cells of one model that are alike but for something that grows from the first to the second."""
    return [
        (a, b)
        for a in cells
        for b in cells
        if a.key.model == b.key.model and alike(a, b) and getattr(a.key, grows) < getattr(b.key, grows)
    ]
