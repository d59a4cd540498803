"""A budget for several questions: the least total that meets every wanted width, or the least widths for a total."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.planning.plan import Plan, plan
from discreet.planning.risk import risk_in_words
from discreet.rational import Number, exact

# Parts that a total is cut into: shares are whole numbers of them.
_PARTS = 240
# Budgets at which a width is simulated; in between it is interpolated on logarithms.
_KNOTS = 7
_LEAST_SHARE = 1 / 60


@dataclass(frozen=True)
class Division:
    """A budget divided among several questions: ``plans`` by name, and the weights that ``release(split=)`` takes."""

    plans: Mapping[str, Plan]

    @property
    def split(self) -> dict[str, float]:
        """What ``release`` takes as ``split``: the weight of each question."""
        return {name: float(f"{one.spent:.6g}") for name, one in self.plans.items()}

    @property
    def total(self) -> float:
        """The whole budget: the sum of epsilon, or of rho, over the questions."""
        return float(sum(one.spent for one in self.plans.values()))

    @property
    def loss(self) -> float:
        """The sum of the widths, each as a share of what it would be without data."""
        return float(sum(one.width / one.ceiling for one in self.plans.values()))

    def guarantee(self) -> Any:
        """Return what the releases promise together."""
        one = next(iter(self.plans.values()))
        return one.budget.at(self.total).guarantee(one.neighbors)

    def summary(self) -> str:
        """Return a line for each question, and the total."""
        wide = max(len(name) for name in self.plans)
        varied = next(iter(self.plans.values())).budget.varied
        lines = [f"{'':{wide}}  {varied:>9}  {'width':>9}  {'floor':>9}  parameter"]
        lines += [
            f"{name:{wide}}  {one.spent:9.4g}  {one.width:9.4g}  {one.floor:9.4g}  {one.parameter}"
            for name, one in self.plans.items()
        ]
        lines.append(f"{'in all':{wide}}  {self.total:9.4g}")
        return "\n".join([*lines, *risk_in_words(self.guarantee())])

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {
            "total": self.total,
            "split": self.split,
            "loss": self.loss,
            "questions": {name: one.to_dict() for name, one in self.plans.items()},
        }

    def plot(self, path: Any = None) -> Any:
        """Draw the expected width of every question against its budget, and where the division puts it."""
        from discreet.reporting.planning import plot_division

        return plot_division(self, path=path)


def divide_budget(
    models: Mapping[str, Any],
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
    own: Mapping[str, Any],
    common: Mapping[str, Any],
    seed: int,
) -> Division:
    """Plan several questions: each for its wanted width, or all together for the least widths under one total.

    ``own`` are arguments of ``plan`` that each question has, by name (``width`` among them); ``common`` those of all.
    """
    if not models:
        raise UsageError("there is no model to plan for.")
    width = own["width"]
    for what, given in own.items():
        if given is not None and not isinstance(given, Mapping):
            raise UsageError(f"with several models, {what} must be a dictionary by name.")
        unknown = [name for name in given or {} if name not in models]
        if unknown:
            raise UsageError(f"{what} names {unknown[0]!r:.60}, and there is no model of that name.")

    def planned(name: str, **budget: Any) -> Any:
        said = {what: (given or {}).get(name) for what, given in own.items() if what != "width"}
        return plan(models[name], **common, **said, **budget, rng=seed)

    if width is not None:
        if epsilon is not None or rho is not None:
            raise UsageError("give either a budget or wanted widths.")
        if set(width) != set(models):
            raise UsageError("give every model a wanted width, or all of them one budget.")
        return Division({name: planned(name, width=width[name], delta=delta) for name in models})
    varied, total = ("rho", rho) if rho is not None else ("epsilon", epsilon)
    if total is None:
        raise UsageError("give a budget or a wanted width for every model.", hint="epsilon=1")
    total = float(exact(total, varied))
    equal = {varied: total / len(models)}
    first = {name: planned(name, delta=_part(delta, 1 / len(models)), **equal) for name in models}
    shares = _shares([_relative_widths(one, total) for one in first.values()])
    return Division(
        {
            name: _moved(one, total * share, _part(delta, share))
            for (name, one), share in zip(first.items(), shares, strict=True)
        }
    )


def _part(delta: Number | None, share: float) -> float | None:
    return None if delta is None else float(delta) * share


def _moved(one: Plan, spent: float, delta: float | None) -> Plan:
    """Return a plan under another budget, with the same tables."""
    assert one.tables is not None
    budget = replace(one.budget, delta=delta)
    found = one.tables.width(budget.at(spent))
    return replace(one, **{budget.varied: spent}, delta=delta, width=found.width, sd=found.sd, budget=budget)


def _relative_widths(one: Plan, total: float) -> np.ndarray:
    """Return the width, as a share of what it is without data, under 1, 2, ... parts of the total."""
    from scipy.interpolate import PchipInterpolator

    assert one.tables is not None
    knots = np.geomspace(_LEAST_SHARE, 1.0, _KNOTS)
    widths = [one.tables.width(one.budget.at(total * share)).width for share in knots]
    between = PchipInterpolator(np.log(knots), np.log(widths), extrapolate=True)
    parts = np.arange(1, _PARTS + 1) / _PARTS
    return np.minimum(np.exp(between(np.log(np.maximum(parts, knots[0])))), one.ceiling) / one.ceiling


def _shares(losses: list[np.ndarray]) -> list[float]:
    """Return shares of the total that make the sum of the losses least, exactly on the grid of parts.

    Widths need not be convex in the budget, where noise drowns a question: so no greedy steps, but the least sum over
    the first k questions for every number of parts, question by question.
    """
    best, choices = losses[0].copy(), [np.arange(1, _PARTS + 1)]
    for loss in losses[1:]:
        # sums[t, s]: t parts in all, s of them for this question
        sums = np.full((_PARTS + 1, _PARTS + 1), np.inf)
        for s in range(1, _PARTS):
            sums[s + 1 :, s] = best[: _PARTS - s] + loss[s - 1]
        choices.append(sums[1:].argmin(axis=1))
        best = sums[1:].min(axis=1)
    left, parts = _PARTS, []
    for chosen in reversed(choices):
        parts.append(int(chosen[left - 1]))
        left -= parts[-1]
    return [part / _PARTS for part in reversed(parts)]
