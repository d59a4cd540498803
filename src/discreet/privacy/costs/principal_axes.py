r"""Normal distributions of several columns within limits along their principal axes; how far one record moves them.

Columns are mapped to z in [-1, 1]^d by their bounds. A distribution has mean m and covariance V diag(lambda) V^T, with
a rotation V, eigenvalues lambda_i between ``least`` and ``most``, and a mean whose component along every axis is at
most ``reach`` in size: m = V c with abs(c_i) <= reach.

**Range.** The log-likelihood of a record is -q(z) up to what depends on theta alone, with q(z) = sum_i (v_i . z -
c_i)^2 / (2 lambda_i), which is at least 0 and at most Q = (norm(z) + norm(c))^2 / (2 least) <= d (1 + reach)^2 / (2
least). When z is replaced by z' it changes by q(z) - q(z'), between -Q and Q: the range is at most

    R = 2 Q = d (1 + reach)^2 / least.

It is attained for reach = 1: let z be a corner, z' the opposite one, all eigenvalues the least, and the mean at z' or
at z. Then the change is Q, or -Q. Rounding z_i and z_i z_j to the grid moves either record's log-likelihood by at most
half a step times the sum of its slopes in size, which is at most (d^2 reach + d (d + 1) / 2) / least: twice that, in
steps, is added.

**Why no chain, and no rejection from the conjugate posterior.** Both would need a bound for every table that could have
been. Let all n records be alike. Along an axis the tempered conjugate posterior of the variance is then in proportion
to v^(-m-1) e^(-S / 2v), with m about n / 2T and S of the prior alone. Of its mass, Gamma(m) (S / 2)^-m, at most
least^-m / m lies above ``least``: a share of about (e S T / (n least))^(n / 2T), which falls faster than exponentially
in n / T = n epsilon / R. So does the probability that a proposal is accepted, and the Doeblin constant of a chain whose
proposals do not look at the records; as many proposals as proposition 3 of Foulds et al. (2016) would need cannot be
made. Along principal axes nothing of the kind is needed: given V the posterior is a product over axes, so that a draw
from a large finite set is a few sums (:mod:`discreet.samplers.principal_axes`).

References
----------
Foulds, Geumlek, Welling and Chaudhuri (2016), theorem 2, proposition 3. Dimitrakakis et al. (2017), lemma 23.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import UsageError
from discreet.models.layout import FINE
from discreet.privacy.costs.likelihood_range import range_up

#: Beyond so many columns the directions of axes that can be tried are too few.
MOST_COLUMNS = 4
# What draws may miss their limits by.
_EDGE = 1e-9
_ROUNDING = 1e-14
#: A largest eigenvalue that is more times the least cannot be told from rounding.
_MOST_RATIO = 10**9
_FORM = 'for example support={"normal_mean": (-1, 1), "covariance": (0.02, 1)}'


@dataclass(frozen=True)
class PrincipalAxes:
    """Limits of the mean along every axis, and of the eigenvalues, of ``dim`` columns mapped to [-1, 1]."""

    dim: int
    reach: Fraction
    least: Fraction
    most: Fraction

    @classmethod
    def of(cls, dim: int, support: Sequence[tuple[Fraction, Fraction]]) -> PrincipalAxes:
        """Read a support: of the mean along an axis, and of the eigenvalues of the covariance."""
        if dim > MOST_COLUMNS:
            raise UsageError(
                f"samples of multivariate_normal are of at most {MOST_COLUMNS} columns, got {dim}.",
                hint="declare the possible parameters yourself, with dc.mechanisms.FinitePosterior",
            )
        if len(support) != 2:
            raise UsageError(
                "the support of multivariate_normal is by name: normal_mean and covariance.", hint=_FORM
            )
        (low, high), (least, most) = support
        if low != -high or not high > 0:
            raise UsageError(
                "the support of normal_mean is symmetric about 0, in half-widths of the columns' bounds.",
                hint=_FORM,
            )
        if not 0 < least < most:
            raise UsageError(
                "the support of covariance is the least and the largest eigenvalue, 0 < low < high, in squared "
                "half-widths of the columns' bounds.",
                hint=_FORM,
            )
        if most > _MOST_RATIO * least:
            raise UsageError(
                f"the largest eigenvalue must be at most {_MOST_RATIO:,} times the least.", hint=_FORM
            )
        return cls(dim, high, least, most)

    def range(self) -> Fraction:
        """Return the range of the log-likelihood difference between two records, rounded up."""
        d = self.dim
        steepest = (d * d * self.reach + Fraction(d * (d + 1), 2)) / self.least
        return range_up(float(d * (1 + self.reach) ** 2 / self.least + 2 * FINE * steepest))

    def holds(self, draws: Mapping[str, np.ndarray], shift: np.ndarray, half: np.ndarray) -> bool:
        """Tell whether draws, in the columns' own units, are within the limits."""
        mean, covariance, d = draws["normal_mean"], draws["covariance"], self.dim
        if mean.shape != (len(mean), d) or covariance.shape != (len(mean), d, d):
            return False
        with np.errstate(all="ignore"):
            distance = np.linalg.norm((mean - shift) / half, axis=1)
            mapped = covariance / np.multiply.outer(half, half)
        if not np.isfinite(mapped).all() or not np.allclose(
            mapped, np.swapaxes(mapped, 1, 2), rtol=0, atol=_EDGE
        ):
            return False
        spectrum = np.linalg.eigvalsh(mapped)
        low, high = float(self.least), float(self.most)
        # what an eigenvalue of a matrix in floating point is off by
        room = _EDGE * low + _ROUNDING * high
        # all that the range rests on: the components along all axes together
        near = distance <= float(self.reach) * np.sqrt(d) * (1 + _EDGE)
        return bool(near.all() and (spectrum >= low - room).all() and (spectrum <= high * (1 + _EDGE)).all())
