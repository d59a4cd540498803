"""A response to a question: what was chosen, how much better it is, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath, whole
from discreet.decisions.base import Utility
from discreet.decisions.regret_bound import SamplingBound
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.summary import aligned, decimals_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDE = 100


@dataclass(frozen=True, eq=False, repr=False)
class Response:
    """The candidate with the highest expected utility over the draws of a posterior.

    Parameters
    ----------
    candidate
        The answer. Of candidates that tie it is the first.
    index
        Its place among the candidates.
    candidates
        All that were offered.
    utilities
        Expected utility of each candidate: its average over the draws.
    standard_errors
        Monte Carlo standard error of each average; autocorrelation of chains is accounted for. ``nan`` from a single
        draw (and from chains of fewer than four), 0 where all draws agree, which is not certainty.
    question
        The utility that was asked for.
    bound
        How much expected utility may be lost because there were only so many draws, for independent draws and bounded
        utilities; otherwise None, and ``no_bound`` says why.
    diagnostics
        How the draws were made.
    about
        Which model of which data under which guarantee.
    """

    candidate: Any
    index: int
    candidates: Sequence[Any] | np.ndarray
    utilities: np.ndarray
    standard_errors: np.ndarray
    _: KW_ONLY
    question: Utility
    bound: SamplingBound | None = None
    no_bound: str | None = None
    diagnostics: Diagnostics
    about: str | None = None

    @property
    def expected(self) -> float:
        """Expected utility of the answer."""
        return float(self.utilities[self.index])

    @property
    def standard_error(self) -> float:
        """Monte Carlo standard error of the answer's expected utility."""
        return float(self.standard_errors[self.index])

    @property
    def n_draws(self) -> int:
        """Number of draws behind the answer."""
        return self.diagnostics.n_draws

    def ranked(self, most: int | None = None) -> list[int]:
        """Return the places of the candidates, best first, at most so many; ties keep their order."""
        if most is not None:
            whole(most, "most")
        return [int(i) for i in np.argsort(-self.utilities, kind="stable")[:most]]

    def summary(self, most: int | None = 10) -> ResponseSummary:
        """Return a table of the best candidates (None: all), with the bound in words below."""
        return ResponseSummary(self, most)

    def in_words(self) -> tuple[str, str]:
        """Return the answer, and what it is expected to be worth, each in a few words."""
        name, sign = self.question.measure
        return shown(self.candidate), f"{name} {with_error(sign * self.expected, self.standard_error)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings; what is not a number becomes ``None``, as JSON has no nan."""
        name, sign = self.question.measure
        error = self.standard_error
        return {
            "question": str(self.question),
            "answer": _json_safe(self.candidate),
            "expected_utility": self.expected,
            "standard_error": error if math.isfinite(error) else None,
            "measure": name if sign > 0 else f"minus {name}",
            "n_candidates": len(self.candidates),
            "n_draws": self.n_draws,
            "bound": None if self.bound is None else asdict(self.bound),
            "no_bound": self.no_bound,
        }

    def plot(self, path: FilePath | None = None, **options: Any) -> Figure:
        """Draw the expected utility of the candidates; also write it to ``path`` if one is given.

        ``options`` go to :func:`discreet.reporting.plot_response`.
        """
        from discreet.reporting import plot_response

        return plot_response(self, path=path, **options)

    def __repr__(self) -> str:
        return (
            f"<Response to {self.question}: {shown(self.candidate)}; expected utility "
            f"{with_error(self.expected, self.standard_error)}, {_count(len(self.candidates), 'candidate')}, "
            f"{self.diagnostics.draws_in_words}>"
        )


@dataclass(frozen=True, repr=False)
class ResponseSummary:
    """A response as a table of its best candidates; printing it aligns them."""

    response: Response
    most: int | None = 10

    def __str__(self) -> str:
        made = self.response
        places = made.ranked(self.most)
        cells = [["candidate", "expected utility", "standard error"]]
        spreads = [float(made.standard_errors[i]) for i in places]
        known = [spread for spread in spreads if 0 < spread < math.inf]
        decimals = max(decimals_for(min(known)) - 1, 0) if known else 4
        for place, spread in zip(places, spreads, strict=True):
            utility = float(made.utilities[place])
            error = f"{spread:.{decimals}f}" if decimals <= 8 else f"{spread:.2g}"
            cells.append(
                [
                    shown(made.question.plain(made.candidates[place])),
                    f"{utility:.{decimals}f}" if decimals <= 8 else f"{utility:.6g}",
                    "-" if math.isnan(spread) else error,
                ]
            )
        name, sign = made.question.measure
        what = "" if name == "utility" else f" (utility is {'' if sign > 0 else 'minus '}the {name})"
        lines = [f"{made.question}: {shown(made.candidate)}{what}", ""]
        lines += [line.rstrip() for line in aligned(cells)]
        if len(places) < len(made.candidates):
            lines.append(f"best {len(places)} of {len(made.candidates):,}")
        how = made.diagnostics
        lines += ["", f"{how.engine_in_words}, {how.draws_in_words}"]
        last = f"no bound: {made.no_bound}." if made.bound is None else made.bound.describe()
        lines += wrap(last, _WIDE, break_on_hyphens=False)
        lines += [f"warning: {text}" for text in (*how.warnings, *how.mixing_warnings)]
        return "\n".join(lines)

    # the table is what anybody at a prompt wants to see
    __repr__ = __str__


def shown(candidate: Any) -> str:
    """Return a candidate in a few words."""
    if isinstance(candidate, bool | np.bool_):
        return "yes" if candidate else "no"
    if isinstance(candidate, float | np.floating):
        return f"{candidate:.6g}"
    if isinstance(candidate, tuple) and candidate and all(isinstance(x, float) for x in candidate):
        return " to ".join(f"{x:.6g}" for x in candidate)
    text = " ".join(str(candidate).split())
    return text if len(text) <= 40 else f"{text[:39]}…"


def with_error(value: float, error: float) -> str:
    """Return a number with its standard error, to two digits of it."""
    value += 0.0  # minus zero is zero
    if math.isnan(error):
        return f"{value:.4g}, by one draw"
    if not 0 < error < math.inf:
        return f"{value:.4g}"
    decimals = decimals_for(error) - 1
    if decimals > 8:
        return f"{value:.6g} ± {error:.2g}"
    return f"{value:.{max(decimals, 0)}f} ± {error:.{max(decimals, 0)}f}"


def _count(n: int, what: str) -> str:
    return f"1 {what}" if n == 1 else f"{n:,} {what}s"


def _json_safe(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return [_json_safe(x) for x in value] if isinstance(value, tuple | list) else str(value)
