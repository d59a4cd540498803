"""The live picture of a budget: every question is planned once, in the background; a slider reads the curve."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import numpy as np

from discreet.errors import DiscreetError
from discreet.planning.plan import Plan, plan
from discreet.planning.risk import risk_in_words
from discreet.reporting.inline_svg import curves_svg
from discreet.studio.asked_questions import Question
from discreet.studio.drafts import Draft

#: Budgets that a curve covers, by factors of its middle; and how many curves are remembered.
_MIDDLE, _POINTS, _MOST = 0.3, 11, 64


@dataclass(frozen=True)
class Curve:
    """Expected widths of a question's interval against its epsilon; or why there are none."""

    parameter: str = ""
    budgets: tuple[float, ...] = ()
    widths: tuple[float, ...] = ()
    floor: float = 0.0
    ceiling: float = 0.0
    problem: str | None = None

    def width(self, epsilon: float) -> float:
        """Return the expected width at a budget, interpolated on logarithms."""
        return float(np.exp(np.interp(np.log(epsilon), np.log(self.budgets), np.log(self.widths))))


class Plans:
    """Curves of questions, simulated one after the other while the page is looked at."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, Future[Curve]] = {}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="plan")

    def curves(self, draft: Draft) -> dict[str, Curve | None]:
        """Return the curve of every question, None while it is being simulated."""
        return {one.name: self._curve(one, draft) for one in draft.questions}

    def _curve(self, question: Question, draft: Draft) -> Curve | None:
        said = {
            **question.to_json(),
            "name": "",
            "weight": 0,
            "n": draft.records,
            "neighbors": draft.neighbors,
            "delta": str(draft.deltas[question.name]),
        }
        key = json.dumps(said, sort_keys=True)
        with self._lock:
            found = self._known.get(key)
            if found is None:
                while len(self._known) >= _MOST:
                    self._known.pop(next(iter(self._known)))
                found = self._worker.submit(_simulated, question, draft)
                self._known[key] = found
        return found.result() if found.done() else None


def _simulated(question: Question, draft: Draft) -> Curve:
    try:
        made = plan(
            question.model(),
            n=draft.records,
            epsilon=_MIDDLE,
            neighbors=draft.neighbors,
            **question.planned(draft.deltas[question.name]),
        )
    except DiscreetError as problem:
        return Curve(problem=problem.message)
    except Exception as problem:
        return Curve(problem=type(problem).__name__)
    if not isinstance(made, Plan):
        return Curve(problem="no plan")
    budgets, widths = made.curve(_POINTS)
    # what chance makes narrower under a smaller budget is no promise
    widths = np.minimum.accumulate(np.maximum(widths, made.floor))
    return Curve(
        made.parameter, tuple(map(float, budgets)), tuple(map(float, widths)), made.floor, made.ceiling
    )


def picture(curves: Mapping[str, Curve | None], shares: Mapping[str, float], words: str) -> str:
    """Draw the width of every question's interval against the whole budget, as shares of what it is without data."""
    total = sum(shares.values())
    lines = []
    for name, curve in curves.items():
        if curve is None or curve.problem or not curve.budgets:
            continue
        part = shares[name] / total
        whole = [budget / part for budget in curve.budgets]
        widths = [width / curve.ceiling for width in curve.widths]
        lines.append((name, whole, widths, curve.width(shares[name]) / curve.ceiling))
    return curves_svg(lines, total, words) if lines else ""


def rows(
    questions: Sequence[Question], curves: Mapping[str, Curve | None], shares: Mapping[str, float]
) -> list[dict[str, object]]:
    """Return a row for each question: its share of the budget, and what that buys."""
    found = []
    for one in questions:
        curve = curves[one.name]
        known = curve is not None and not curve.problem
        found.append(
            {
                "question": one,
                "epsilon": shares[one.name],
                "plus_minus": curve.width(shares[one.name]) / 2 if known and curve else None,
                "floor": curve.floor / 2 if known and curve else None,
                "problem": None if curve is None else curve.problem,
                "waiting": curve is None,
                "parameter": curve.parameter if known and curve else "",
            }
        )
    return found


def risk(draft: Draft) -> list[str]:
    """Return what all releases together let anybody learn about one person, at worst."""
    return risk_in_words(draft.allowance(draft.epsilon))
