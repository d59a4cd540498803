"""What a guarantee means for one person, in words and numbers: odds, and how it compares with known deployments."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from discreet.privacy import Guarantee

#: Chance of the exception that a guarantee with delta allows, for comparison.
_DELTA = 1e-6


@dataclass(frozen=True)
class Deployment:
    """A published use of differential privacy, for comparison; epsilon of one person over the whole release."""

    who: str
    what: str
    epsilon: float
    source: str


#: Sources are the publishers' own descriptions.
DEPLOYMENTS = (
    Deployment("LinkedIn", "audience engagement queries, each", 0.15, "Rogers et al. 2020, arXiv:2002.05839"),
    Deployment(
        "Wikimedia Foundation", "page views by country, a day", 1.0, "Adeleye et al. 2023, arXiv:2308.16298"
    ),
    Deployment("Apple", "emoji suggestions, a day (local)", 4.0, "Differential Privacy Overview, 2017"),
    Deployment(
        "Israel, Ministry of Health", "live births 2014", 9.98, "Hod and Canetti 2024, arXiv:2405.00267"
    ),
    Deployment("US Census Bureau", "2020 redistricting data, persons", 17.14, "press release of 2021-06-09"),
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
    stands = f"{len(below)} of {len(DEPLOYMENTS)} published deployments compared here use less"
    return [
        f"risk: whoever thinks something about a person with probability 1% can be led to at most {100 * one:.3g}%, "
        f"and from 50% to {100 * half:.3g}%{exception}",
        f"{stands}; nearest: {nearest.who}, {nearest.what}, epsilon = {nearest.epsilon:g} ({nearest.source})",
    ]
