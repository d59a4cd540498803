"""What a guarantee means for one person, in words and numbers: odds, and how it compares with known deployments."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, log

from discreet.privacy import Guarantee

#: Chance of the exception that a guarantee with delta allows, for comparison.
_DELTA = 1e-6
#: Under k promises of epsilon an error of 5% needs 1 / (1 + exp(k epsilon)) to be that small.
_SURE = log(0.95 / 0.05)


@dataclass(frozen=True)
class Deployment:
    """A published use of differential privacy, for comparison: epsilon for one ``unit``, and where that is said."""

    who: str
    what: str
    unit: str
    epsilon: float
    source: str


#: Sources are the publishers' own descriptions. Where the promise has a delta, or is a rho, epsilon is the one that
#: they name beside it.
DEPLOYMENTS = (
    Deployment(
        "LinkedIn", "audience engagement", "query", 0.15, "Rogers et al. 2020, arXiv:2002.05839"
    ),
    Deployment(
        "Wikimedia Foundation", "page views by country", "day of a device", 1.0,
        "Adeleye et al. 2023, arXiv:2308.16298",
    ),
    Deployment(
        "Google", "community mobility reports", "day of a user", 2.64, "Aktay et al. 2020, arXiv:2004.04145"
    ),
    Deployment(
        "Apple", "emoji suggestions (local)", "day of a user", 4.0, "Differential Privacy Overview, 2017"
    ),
    Deployment(
        "Israel, Ministry of Health", "live births 2014", "birth", 9.98, "Hod and Canetti 2024, arXiv:2405.00267"
    ),
    Deployment(
        "US Census Bureau", "2020 redistricting data", "person", 17.14, "Abowd et al. 2022, arXiv:2204.08986"
    ),
    Deployment(
        "LinkedIn", "audience engagement, all queries", "month of a member", 34.9,
        "Rogers et al. 2020, arXiv:2002.05839",
    ),
)  # fmt: skip


def deployments() -> str:
    """Return the published uses that plans are compared with, as a table with sources, by epsilon."""
    rows = [("epsilon", "unit", "who", "what", "source")]
    rows += [(f"{one.epsilon:g}", one.unit, one.who, one.what, one.source) for one in DEPLOYMENTS]
    wide = [max(len(row[k]) for row in rows) for k in range(4)]
    return "\n".join(
        "  ".join([*(f"{cell:{w}}" for cell, w in zip(row[:4], wide, strict=True)), row[4]]) for row in rows
    )


def posterior_odds(epsilon: float, before: float) -> float:
    """Return the largest probability that somebody with the probability ``before`` can arrive at."""
    odds = before / (1 - before) * exp(min(epsilon, 500.0))
    return odds / (1 + odds)


def risk_in_words(guarantee: Guarantee) -> list[str]:
    """Return what the guarantee keeps an observer from learning about one person, at worst."""
    budgets = guarantee.budgets()
    exception = ""
    if "delta" not in budgets and "epsilon" not in budgets:
        budgets = guarantee.to_approx(_DELTA).guarantee.budgets()
    epsilon = float(budgets["epsilon"])
    if "delta" in budgets:
        exception = f", but for an exception of probability {float(budgets['delta']):.2g}"
    one, half = (posterior_odds(epsilon, before) for before in (0.01, 0.5))
    below = [each for each in DEPLOYMENTS if each.epsilon <= epsilon]
    nearest = min(DEPLOYMENTS, key=lambda each: abs(each.epsilon - epsilon))
    stands = f"{len(below)} of {len(DEPLOYMENTS)} published deployments compared here use no more"
    many = max(1, ceil(_SURE / epsilon))
    return [
        f"risk: whoever thinks something about a person with probability 1% can be led to at most {100 * one:.3g}%, "
        f"and from 50% to {100 * half:.3g}%{exception}",
        "whoever has to guess which of two tables it was, one person apart, "
        + (f"needs at least {many:,} releases like this" if many > 1 else "may need this release alone")
        + " to be right in 95% of cases",
        f"{stands}; nearest: {nearest.who}, {nearest.what}, epsilon = {nearest.epsilon:g} for a {nearest.unit} "
        f"({nearest.source})",
    ]
