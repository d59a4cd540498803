"""Widths that releases under a plan really have, for nine models: the plan's own is held against them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from common.claim import Claim

import discreet as dc
from discreet.curator.publish import release_with
from discreet.planning.plan import Plan

#: A plan's width may be off by so much of what is achieved.
ALLOWED = 0.05
#: How much wider than under the given budget the interval is wanted, when a budget is solved for.
WIDER = 1.25
_LETTERS = ("a", "b", "c", "d")

Rows = Callable[[np.random.Generator, int], Any]


@dataclass(frozen=True)
class Case:
    """A model, what is publicly known of its table, and how tables like that are drawn."""

    name: str
    model: Any
    n: int
    rows: Rows
    public: Any
    epsilon: float
    declared: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    parameter: str | None = None


@dataclass(frozen=True)
class Found:
    """A plan's width and the mean of those achieved, with its standard error."""

    case: str
    asked: str
    planned: float
    achieved: float
    error: float
    releases: int

    @property
    def off(self) -> float:
        """By which share the plan is off."""
        return self.planned / self.achieved - 1

    @property
    def holds(self) -> bool:
        """Whether it is off by less than is allowed, beyond what chance explains."""
        return abs(self.off) <= ALLOWED + 3 * self.error / self.achieved

    @property
    def claim(self) -> Claim:
        """What is claimed."""
        measured = (
            f"{self.planned:.4g} planned, {self.achieved:.4g} achieved ({self.releases} releases, standard error "
            f"{self.error:.2g}): {100 * self.off:+.1f}%"
        )
        return Claim(self.case, f"{self.asked}: the planned width is within 5%", self.holds, measured)


def _letters(rng: np.random.Generator, n: int) -> list[str]:
    return rng.choice(_LETTERS, n, p=[0.5, 0.3, 0.15, 0.05]).tolist()


def _line(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    age = rng.uniform(18, 90, n)
    return {"pressure": 90 + 0.6 * age + rng.normal(0, 12, n), "age": age}


def _regression() -> Any:
    bounds = {"pressure": (60, 220), "age": (18, 100)}
    return dc.models.LinearRegression(target="pressure", features=["age"], bounds=bounds)


def cases() -> list[Case]:
    """Return the models: of one column, of groups, and a regression."""
    wide, groups = {"bounds": (0, 100)}, ("north", "east", "south", "west")
    known = {"mean": 30, "sd": 12}
    beta = lambda rng, n: rng.beta(4.075, 9.508, n) * 100  # noqa: E731  (mean 30, sd 12)
    return [
        Case("Bernoulli", dc.Bernoulli(), 1000, lambda rng, n: rng.random(n) < 0.3, {"p": 0.3}, 0.1),
        Case("Mean", dc.Mean(), 1000, beta, known, 0.3, wide),
        Case(
            "Categorical", dc.Categorical(list(_LETTERS)), 1000, _letters, {"p": [0.5, 0.3, 0.15, 0.05]}, 0.1
        ),
        Case("Poisson", dc.Poisson(), 1000, lambda rng, n: rng.poisson(3, n), {"rate": 3}, 0.5, {"bounds": (0, 20)}),
        Case("Exponential", dc.Exponential(), 1000, lambda rng, n: rng.exponential(10, n), {"rate": 0.1}, 0.5, wide),
        Case(
            "Geometric", dc.Geometric(), 1000, lambda rng, n: rng.geometric(0.2, n) - 1, {"p": 0.2}, 0.5,
            {"bounds": (0, 40)},
        ),
        Case(
            "Normal", dc.Normal(), 1000, lambda rng, n: rng.normal(40, 12, n), {"mean": 40, "variance": 144}, 0.5, wide
        ),
        Case("Mean, four groups", dc.Mean(), 2000, beta, known, 0.5, wide, groups),
        Case(
            "Bernoulli, four groups", dc.Bernoulli(), 1000, lambda rng, n: rng.random(n) < 0.3, {"p": 0.3}, 0.3,
            groups=groups,
        ),
        Case("LinearRegression", _regression(), 2000, _line, None, 1.0, parameter="coefficients[age]"),
    ]  # fmt: skip


def held(case: Case, releases: int, seed: int) -> list[Found]:
    """Hold a plan for a budget, and one for a wanted width, against releases of fresh tables."""
    rng = np.random.default_rng([seed, sum(map(ord, case.name))])
    public = case.rows(rng, 5000) if case.public is None else case.public
    asked = {"n": case.n, "public": public, "parameter": case.parameter, **case.declared}
    if case.groups:
        asked["groups"] = list(case.groups)
    given = dc.plan(case.model, epsilon=case.epsilon, **asked)
    solved = dc.plan(case.model, width=WIDER * given.width, **asked)
    return [
        _found(case, f"epsilon = {given.epsilon:.3g}", given, given.width, releases, rng),
        _found(case, f"solved, epsilon = {solved.epsilon:.3g}", solved, WIDER * given.width, releases, rng),
    ]


def _found(
    case: Case, asked: str, plan: Plan, width: float, releases: int, rng: np.random.Generator
) -> Found:
    widths = [achieved(case, plan, rng) for _ in range(releases)]
    error = float(np.std(widths, ddof=1)) / np.sqrt(releases)
    return Found(case.name, asked, width, float(np.mean(widths)), error, releases)


def achieved(case: Case, plan: Plan, rng: np.random.Generator) -> float:
    """Return the width of the interval of one release of one fresh table, read with defaults."""
    rows = case.rows(rng, case.n)
    declared = dict(case.declared)
    if case.groups:
        rows = {"value": rows, "group": np.array(case.groups)[np.arange(case.n) % len(case.groups)]}
        declared |= {"column": "value", "by": "group", "groups": list(case.groups)}
    made = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        rows,
        case.model,
        dc.mechanisms.Laplace(plan.epsilon or 0),
        **declared,
    )
    found = dc.infer(made, rng=rng)
    each = list(found.values()) if isinstance(found, Mapping) else [found]
    tails = [(1 - plan.prob) / 2, (1 + plan.prob) / 2]
    widths = []
    for one in each:
        draws = one.draws.get(plan.parameter)
        low, high = np.quantile(one.scalars()[plan.parameter] if draws is None else draws, tails, axis=0)
        widths.append(np.mean(high - low))
    return float(np.mean(widths))
