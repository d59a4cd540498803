"""What a utility must say of itself, and how it reads the draws of a posterior."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.arguments import listed as read_list
from discreet.arguments import numbers
from discreet.errors import UsageError
from discreet.models.base import Draws

if TYPE_CHECKING:
    from discreet.inference.posterior import Posterior

#: A scalar parameter by name (``"rate"``, ``"p[b]"``), or a function of the draws that gives a number for each.
Scalar = str | Callable[[Draws], Any]
#: A comparison as text (``"p > 0.5"``, ``"1 <= rate < 2"``), or a function of the draws that says yes or no for each.
Event = str | Callable[[Draws], Any]

_MOST_NAMES = 12
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BETWEEN = re.compile(rf"\s*({_NUMBER})\s*(<=|<)\s*(.+?)\s*(<=|<)\s*({_NUMBER})\s*")
_BESIDE = re.compile(rf"\s*(.+?)\s*(<=|>=|<|>)\s*({_NUMBER})\s*")
_COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


class Utility(ABC):
    """What each response is worth, for each value of the parameters.

    Subclass it for a utility that scores many candidates at once; for any other, a function
    ``f(draws, candidate)`` that gives a number for each draw is enough.
    """

    #: What the expected utility measures, and whether it does so with a minus sign.
    measure: ClassVar[tuple[str, int]] = ("utility", 1)

    @abstractmethod
    def read(self, posterior: Posterior) -> Any:
        """Return whatever :meth:`score` needs of the draws; called once."""

    @abstractmethod
    def accept(self, candidates: Any) -> Sequence[Any] | np.ndarray:
        """Return the candidates as a sequence that can be sliced, or raise if one cannot be a response."""

    @abstractmethod
    def score(self, read: Any, candidates: Any) -> np.ndarray:
        """Return the utilities, a row for each candidate and a column for each draw."""

    def bounds(self, candidates: Any) -> tuple[float, float] | None:
        """Return a range that these candidates' utilities never leave, whatever the parameters; None if unknown."""
        del candidates
        return None

    def responses(self) -> Sequence[Any] | None:
        """Return all possible responses, if they are few and part of the question."""
        return None

    def best(self, read: Any) -> Any:
        """Return the best of all conceivable responses to these draws."""
        del read
        raise UsageError("this utility needs candidates.", hint="posterior.respond(utility, [r1, r2, ...])")

    def plain(self, candidate: Any) -> Any:
        """Return a candidate as the caller would write it."""
        return candidate


class Function(Utility):
    """Any function ``f(draws, candidate)`` that gives a number for each draw, as a utility."""

    def __init__(self, function: Callable[[Draws, Any], Any]) -> None:
        self._function = function

    def read(self, posterior: Posterior) -> tuple[Draws, int]:
        return posterior.draws, posterior.n_draws

    def accept(self, candidates: Any) -> Sequence[Any]:
        return listed(candidates)

    def score(self, read: tuple[Draws, int], candidates: Sequence[Any]) -> np.ndarray:
        draws, n_draws = read
        return np.stack([one_for_each(self._function(draws, r), n_draws, "the utility") for r in candidates])

    def __str__(self) -> str:
        return called(self._function, "utility")


def listed(candidates: Any) -> list[Any]:
    """Return the candidates as a list with at least one element."""
    made = read_list(candidates, "candidates", "a sequence of possible responses")
    if not made:
        raise UsageError("give at least one candidate.")
    return made


def number_array(candidates: Any, width: int | None, what: str) -> np.ndarray:
    """Return the candidates as finite numbers, ``width`` to each (None: one)."""
    given = candidates if isinstance(candidates, np.ndarray) else listed(candidates)
    try:
        made = numbers(given, "candidates", finite=False).copy()
    except UsageError:
        raise UsageError(f"candidates must be {what}.") from None
    if not made.size:
        raise UsageError("give at least one candidate.")
    if made.shape[1:] != (() if width is None else (width,)) or made.ndim == 0:
        raise UsageError(f"candidates must be {what}, got an array of shape {made.shape}.")
    if not np.isfinite(made).all():
        raise UsageError(f"candidates must be {what}, and finite.")
    made.flags.writeable = False
    return made


def read_scalar(of: Scalar, posterior: Posterior, what: str = "the function of the parameters") -> np.ndarray:
    """Return one finite number for each draw."""
    if not isinstance(of, str):
        return one_for_each(of(posterior.draws), posterior.n_draws, what)
    if of in posterior.draws and posterior.draws[of].ndim == 1:
        return one_for_each(posterior.draws[of], posterior.n_draws, of)
    scalars = posterior.scalars()
    if of not in scalars:
        names = list(scalars)[:_MOST_NAMES]
        hint = f"choose from {', '.join(names)}{' …' if len(scalars) > _MOST_NAMES else ''}"
        if of in posterior.draws:
            raise UsageError(f"{of} has {posterior.draws[of][0].size} components: ask about one.", hint=hint)
        raise UsageError(f"no parameter is named {of!r}.", hint=hint)
    return one_for_each(scalars[of], posterior.n_draws, of)


def read_event(event: Event, posterior: Posterior) -> np.ndarray:
    """Return for each draw whether the event holds."""
    if isinstance(event, str):
        name, comparisons = comparison(event)
        values = read_scalar(name, posterior)
        return np.logical_and.reduce([_COMPARE[sign](values, number) for sign, number in comparisons])
    held = np.asarray(event(posterior.draws))
    if held.shape != (posterior.n_draws,) or held.dtype != bool:
        raise UsageError(
            f"an event must give True or False for each of the {posterior.n_draws} draws, "
            f"got shape {held.shape} of {held.dtype}."
        )
    return held


def comparison(text: str) -> tuple[str, list[tuple[str, float]]]:
    """Split ``"p > 0.5"`` or ``"1 <= rate < 2"`` into a parameter and what it is compared with."""
    if found := _BETWEEN.fullmatch(text):
        low, first, name, second, high = found.groups()
        return name, [(first.replace("<", ">"), float(low)), (second, float(high))]
    if found := _BESIDE.fullmatch(text):
        name, sign, number = found.groups()
        return name, [(sign, float(number))]
    raise UsageError(
        f"cannot read the event {text!r}.",
        hint="compare a parameter with a number, as in 'p > 0.5' or '1 <= rate < 2'",
    )


def one_for_each(values: Any, n_draws: int, what: str) -> np.ndarray:
    """Return ``values`` as floats if there is a finite one for each draw."""
    try:
        made = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise UsageError(f"{what} must give a number for each draw.") from None
    if made.shape != (n_draws,):
        raise UsageError(
            f"{what} must give a number for each of the {n_draws} draws, got shape {made.shape}."
        )
    if not np.isfinite(made).all():
        raise UsageError(f"{what} must be a finite number at every draw.")
    return made


def called(of: str | Callable[..., Any], otherwise: str) -> str:
    """Return the text, or a function's name if it has one."""
    if isinstance(of, str):
        return of
    name = getattr(of, "__name__", "<unnamed>")
    return otherwise if name.startswith("<") else name
