"""Utilities of estimates: minus the squared error, the absolute error, the interval score."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.arguments import numbers, probability, shown
from discreet.decisions.base import Scalar, Utility, called, number_array, read_scalar
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.inference.posterior import Posterior


@dataclass(frozen=True)
class _Loss(Utility):
    """Minus a loss that is convex in the estimated number and 0 at best."""

    of: Scalar
    within: tuple[float, float] | None = None

    _width: ClassVar[int | None] = None
    _candidates: ClassVar[str] = "numbers"

    def __post_init__(self) -> None:
        if self.within is None:
            return
        ends = numbers(self.within, "within")
        if ends.shape != (2,) or not ends[0] < ends[1]:
            raise UsageError(
                f"within must be two finite numbers, low and high, got within={shown(self.within)}."
            )
        object.__setattr__(self, "within", (float(ends[0]), float(ends[1])))

    def read(self, posterior: Posterior) -> np.ndarray:
        values = read_scalar(self.of, posterior)
        if self.within is not None:
            low, high = self.within
            if values.min() < low or values.max() > high:
                raise UsageError(
                    f"draws of {called(self.of, 'the function')} lie outside within=({low:g}, {high:g})."
                )
        return values

    def accept(self, candidates: Any) -> np.ndarray:
        return number_array(candidates, self._width, self._candidates)

    @abstractmethod
    def loss(self, values: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Return the loss, a row for each candidate and a column for each value."""

    def score(self, read: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        return -self.loss(read, candidates)

    def bounds(self, candidates: np.ndarray) -> tuple[float, float] | None:
        if self.within is None:
            return None
        # the loss is convex in the estimated number, so it is largest at one end or the other
        return -float(self.loss(np.array(self.within), candidates).max()), 0.0

    def plain(self, candidate: Any) -> Any:
        return float(candidate)


@dataclass(frozen=True)
class SquaredError(_Loss):
    """Minus the squared error of an estimate; the best estimate is the posterior mean.

    Parameters
    ----------
    of
        What is estimated: a parameter by name (``"rate"``, ``"p[b]"``), or a function of the draws (a dict of arrays
        by parameter name, draws first) that gives a number for each draw.
    within
        A range that it never leaves, known without looking at the draws, such as ``(0, 1)`` for a probability. With it
        the utility is bounded, and the response can have a bound.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Posterior
    >>> from discreet.inference import Diagnostics
    >>> posterior = Posterior({"p": np.array([0.1, 0.2, 0.6])}, Diagnostics("exact", independent=True))
    >>> posterior.respond(SquaredError("p"), [0, 0.25, 0.5, 0.75, 1]).candidate
    0.25
    """

    measure = ("squared error", -1)

    def loss(self, values: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        return (values - candidates[:, None]) ** 2

    def best(self, read: np.ndarray) -> float:
        return float(read.mean())

    def __str__(self) -> str:
        return f"estimate of {called(self.of, 'a function')} (squared error)"


@dataclass(frozen=True)
class AbsoluteError(_Loss):
    """Minus the absolute error of an estimate; the best estimate is the posterior median.

    Parameters are those of :class:`SquaredError`.
    """

    measure = ("absolute error", -1)

    def loss(self, values: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        return np.abs(values - candidates[:, None])

    def best(self, read: np.ndarray) -> float:
        return float(np.median(read))

    def __str__(self) -> str:
        return f"estimate of {called(self.of, 'a function')} (absolute error)"


@dataclass(frozen=True)
class IntervalScore(_Loss):
    """Minus the interval score: width, and a price for missing the truth; candidates are pairs (low, high).

    The score of [l, u] at x is (u - l) + (2/a) max(l - x, 0) + (2/a) max(x - u, 0) with a = 1 - ``prob``. The best
    interval is the central one: its ends are the posterior quantiles at a/2 and 1 - a/2.

    Parameters
    ----------
    of, within
        As for :class:`SquaredError`.
    prob
        Probability that the interval is to hold.

    References
    ----------
    Gneiting, Raftery (2007), "Strictly proper scoring rules, prediction, and estimation", JASA 102, eq. 43.
    """

    prob: float = 0.95

    measure = ("interval score", -1)
    _width = 2
    _candidates = "pairs (low, high)"

    def __post_init__(self) -> None:
        super().__post_init__()
        probability(self.prob, "prob")

    def accept(self, candidates: Any) -> np.ndarray:
        made = super().accept(candidates)
        if (made[:, 0] > made[:, 1]).any():
            raise UsageError("candidates must be pairs (low, high) with low at most high.")
        return made

    def loss(self, values: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        low, high = candidates[:, :1], candidates[:, 1:]
        outside = np.maximum(low - values, 0) + np.maximum(values - high, 0)
        return (high - low) + 2 / (1 - self.prob) * outside

    def best(self, read: np.ndarray) -> tuple[float, float]:
        if read.size == 1:
            raise UsageError("one draw has no interval.", hint="ask for several samples in the release")
        # rounded, because a tie between draws must be seen as one
        tail = round((1 - self.prob) / 2, 12)
        # of all definitions of a quantile these are the ones that maximize the sum over the draws
        low, high = np.quantile(read, [tail, 1 - tail], method="averaged_inverted_cdf")
        return float(low), float(high)

    def plain(self, candidate: Any) -> tuple[float, float]:
        return float(candidate[0]), float(candidate[1])

    def __str__(self) -> str:
        return f"{100 * self.prob:.4g}% interval for {called(self.of, 'a function')}"
