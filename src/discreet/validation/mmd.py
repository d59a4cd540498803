r"""How far apart two posteriors are, judged by their draws.

The maximum mean discrepancy with a normal kernel k(x, y) = exp(-|x - y|^2 / 2 h^2) is zero exactly if two distributions
are equal. Its square has the unbiased estimate (Gretton et al. 2012, eq. 3), the full U-statistic over all pairs,

    mean_{i != j} k(x_i, x_j) + mean_{i != j} k(y_i, y_j) - 2 mean_{i, j} k(x_i, y_j),

which may be negative where the two agree. Against the posterior of the rows themselves it measures what the noise cost
(Bernstein and Sheldon 2018, section 5, with h = 1).

References
----------
Gretton, Borgwardt, Rasch, Schölkopf and Smola (2012), "A kernel two-sample test", JMLR 13. Efron and Stein (1981), "The
jackknife estimate of variance", Annals of Statistics 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import Rng, generator, numbers, shown
from discreet.errors import UsageError
from discreet.inference.posterior import Posterior

#: More draws than this are replaced by a random choice of this many: time grows with their square.
MOST_DRAWS = 10_000
# Draws among which the median distance is taken, evenly chosen; a bandwidth needs no more.
_MEDIAN_DRAWS = 1_000
# Pairs whose kernel is in memory at one time.
_BLOCK = 1 << 21


@dataclass(frozen=True)
class Discrepancy:
    """The squared maximum mean discrepancy, its standard error, and the bandwidth of the kernel.

    The standard error is the jackknife's, for independent draws; it is too large rather than too small (Efron and
    Stein 1981), by up to a factor of the square root of 2 where the two distributions agree.
    """

    squared: float
    standard_error: float
    bandwidth: float | np.ndarray
    n_draws: tuple[int, int]

    def __float__(self) -> float:
        return self.squared

    def __str__(self) -> str:
        return f"squared MMD {self.squared:.4g}, standard error {self.standard_error:.2g}"


def discrepancy(
    a: Posterior | Any,
    b: Posterior | Any,
    *,
    bandwidth: float | Any = None,
    rng: Rng = None,
) -> Discrepancy:
    """Estimate the squared maximum mean discrepancy between two posteriors, with a normal kernel.

    Parameters
    ----------
    a, b
        Posteriors with the same parameters, or arrays of draws, draws first. All scalars are taken together, as one
        vector.
    bandwidth
        Standard deviation h of the kernel, or one for each scalar. By default the median distance between draws of
        both (Gretton et al. 2012, section 8), which differs from pair to pair: give one to compare several, and 1 for
        the standard normal kernel of Bernstein and Sheldon (2018).
    rng
        A seed or a generator; used only if there are more than 10,000 draws, to choose that many.

    Returns
    -------
    Discrepancy
        With ``squared`` (unbiased, so it can be negative) and ``standard_error``.

    Examples
    --------
    >>> import discreet as dc
    >>> x = np.random.default_rng(0).normal(size=(2, 500))
    >>> found = dc.validation.discrepancy(x[0], x[1] + 3, bandwidth=1)
    >>> found.squared > 10 * found.standard_error
    True
    """
    source = generator(rng)
    x, y = (_chosen(values, source) for values in _matrices(a, b))
    widths = _median_distance(x, y) if bandwidth is None else _checked(bandwidth, x.shape[1])
    x, y = x / widths, y / widths
    xx, yy = _row_sums(x, x) - 1, _row_sums(y, y) - 1
    xy, yx = _row_sums(x, y), _row_sums(y, x)
    m, n = len(x), len(y)
    squared = xx.sum() / (m * (m - 1)) + yy.sum() / (n * (n - 1)) - 2 * xy.sum() / (m * n)
    variance = _jackknife(xx, xy, yy.sum() / (n * (n - 1)), n) + _jackknife(
        yy, yx, xx.sum() / (m * (m - 1)), m
    )
    return Discrepancy(
        float(squared), float(np.sqrt(variance)), widths if widths.ndim else float(widths), (m, n)
    )


def _matrices(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the draws of both as matrices, one column for each scalar."""
    both = isinstance(a, Posterior) and isinstance(b, Posterior)
    if both and list(a.scalars()) != list(b.scalars()):
        raise UsageError("the posteriors do not have the same parameters.")
    pair = _matrix(a), _matrix(b)
    if pair[0].shape[1] != pair[1].shape[1]:
        raise UsageError("the draws must have the same number of components.")
    for values in pair:
        if len(values) < 3:
            raise UsageError("discrepancy needs at least three draws of each.")
        if not np.isfinite(values).all():
            raise UsageError("discrepancy needs finite draws.")
    return pair


def _matrix(values: Any) -> np.ndarray:
    if isinstance(values, Posterior):
        return np.column_stack(list(values.scalars().values()))
    try:
        array = numbers(values, "draws", finite=False)
    except UsageError:
        raise UsageError("discrepancy takes posteriors or arrays of numbers.") from None
    if array.ndim == 0 or array.size == 0:
        raise UsageError("discrepancy needs at least three draws of each.")
    return array.reshape(len(array), -1)


def _chosen(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if len(values) <= MOST_DRAWS:
        return values
    return values[rng.choice(len(values), MOST_DRAWS, replace=False)]


def _checked(bandwidth: Any, width: int) -> np.ndarray:
    try:
        widths = numbers(bandwidth, "bandwidth")
    except UsageError:
        widths = np.array(np.nan)
    if widths.shape not in ((), (width,)) or not ((widths > 0) & np.isfinite(widths)).all():
        raise UsageError(
            f"bandwidth must be a positive number, or one for each of {width} scalars, "
            f"got bandwidth={shown(bandwidth)}."
        )
    return widths


def _median_distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the median distance between pooled draws, as many of one as of the other where there are enough."""
    from scipy.spatial.distance import pdist

    kept = [v[np.linspace(0, len(v) - 1, min(len(v), _MEDIAN_DRAWS)).round().astype(int)] for v in (x, y)]
    middle = np.median(pdist(np.concatenate(kept)))
    if not middle > 0:
        raise UsageError("most draws are equal, so there is no median distance.", hint="give a bandwidth")
    return np.asarray(middle)


def _row_sums(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return sum_j exp(-|x_i - y_j|^2 / 2) for every i."""
    from scipy.spatial.distance import cdist

    out = np.empty(len(x))
    rows = max(_BLOCK // len(y), 1)
    for start in range(0, len(x), rows):
        # differences first: the square of a sum would lose digits far from the origin
        block = cdist(x[start : start + rows], y, "sqeuclidean")
        block *= -0.5
        out[start : start + rows] = np.exp(block, out=block).sum(axis=1)
    return out


def _jackknife(own: np.ndarray, other: np.ndarray, rest: float, n_other: int) -> float:
    """Return the jackknife variance from leaving out each draw of one sample.

    ``own`` and ``other`` are a draw's sums of kernels with its own sample and with the other; ``rest`` is the mean that
    does not change.
    """
    m = len(own)
    left_out = (
        (own.sum() - 2 * own) / ((m - 1) * (m - 2)) + rest - 2 * (other.sum() - other) / ((m - 1) * n_other)
    )
    return float((m - 1) / m * ((left_out - left_out.mean()) ** 2).sum())
