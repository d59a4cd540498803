"""What several mechanisms on the same rows promise together.

The later ones may depend on what the earlier ones published; the list of guarantees may not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.arguments import fill, listed, refilled
from discreet.checked import checked
from discreet.errors import UsageError
from discreet.privacy.conversion import Sorted
from discreet.privacy.curves import curve_at
from discreet.privacy.guarantees import Guarantee, ZeroConcentratedDP, pure_or_approx
from discreet.privacy.metric_dp import MetricDP
from discreet.privacy.renyi import RenyiDP
from discreet.privacy.rounding import short_up

#: Who knows the group of a record: it is part of the record and protected, or public and never changes.
GroupKey = Literal["private", "public"]


@dataclass(frozen=True, repr=False)
class ComposedDP(Guarantee):
    """Several guarantees at once, where no single kind can say exactly what they amount to.

    It is made by :func:`compose` of approximate guarantees beside concentrated or Rényi ones. ``to_approx`` says what
    they amount to for a given delta.
    """

    kind = "composed"
    parts: tuple[Guarantee, ...] = ()

    def __init__(self, parts: Sequence[Guarantee]) -> None:
        parts = listed(parts, "parts", "a list of guarantees")
        if not parts or not all(isinstance(part, Guarantee) for part in parts):
            raise UsageError("parts must be guarantees, and at least one.")
        fill(self, parts=tuple(parts), **parts[0].about)

    def budgets(self) -> dict[str, Fraction]:
        totals: dict[str, Fraction] = {}
        for part in self.parts:
            for name, value in part.budgets().items():
                totals[name] = totals.get(name, Fraction(0)) + value
        return totals

    def describe(self) -> str:
        counts = Counter(part.describe() for part in self.parts)
        return "the composition of " + " and ".join(
            words if count == 1 else f"{count} times {words}" for words, count in counts.items()
        )


@checked
def compose(*guarantees: Guarantee) -> Guarantee:
    """Add up guarantees for the same neighbors, in the weakest of their kinds.

    Pure guarantees add their epsilons. Beside an approximate one a pure one counts as delta = 0; beside a
    zero-concentrated one, as rho = epsilon^2 / 2; beside a Rényi curve, as the curve of randomized response. Metric
    guarantees under one metric add up as they are, and otherwise count as what they say about neighbors. Sums are
    exact, but one that takes hundreds of digits is rounded up in the fortieth. The result remembers its parts, so that
    ``to_approx`` can choose the tightest bound for them.

    Guarantees for different neighbor relations or units do not add up; ``to_replace`` turns one for ``add_remove`` into
    one for ``replace``.

    References
    ----------
    Dwork and Roth (2014), The algorithmic foundations of differential privacy: theorem 3.16 and appendix B. Bun and
    Steinke (2016), Concentrated differential privacy: proposition 1.4 (pure implies zCDP) and lemma 1.7 (composition).
    Mironov (2017), Rényi differential privacy: proposition 1. Dimitrakakis et al. (2017): theorem 4.
    """
    if not guarantees:
        raise UsageError("there is no guarantee to add up.")
    if len(guarantees) == 1:
        return guarantees[0]
    parts = [part for guarantee in guarantees for part in guarantee.parts or (guarantee,)]
    if len({part.unit for part in parts}) > 1:
        raise UsageError("guarantees for different units, such as rows and people, do not add up.")
    if len({part.neighbors for part in parts}) > 1:
        raise UsageError(
            "guarantees for different neighbors do not add up.",
            hint="guarantee.to_replace() turns one for add_remove into one for replace",
        )
    return refilled(_total(parts), parts=tuple(parts))


@checked
def compose_parallel(*guarantees: Guarantee, key: GroupKey = "private") -> Guarantee:
    """Return what mechanisms on disjoint groups of the records promise together; one guarantee for each group.

    Under ``add_remove`` a record enters or leaves one group, and the groups' guarantees count once: the largest. Under
    ``replace`` a record may leave one group and enter another, which changes what two mechanisms see: the two largest
    add up. Only if the ``key`` of the groups is public, so that a record is replaced by one of the same group, does the
    largest count alone.

    Privacy
    -------
    With a private key the sizes of the groups are private too. Each guarantee for ``replace`` must then hold for the
    whole table with the other groups' records as blanks: a record may turn into a blank and a blank into a record. A
    mechanism that publishes its group's size, or divides by it, promises nothing of the kind. Whether a key is
    public is the curator's declaration.

    References
    ----------
    McSherry (2009), Privacy integrated queries: theorem 4 (parallel composition).
    """
    if key not in ("private", "public"):
        raise UsageError(f"key must be 'private' or 'public', got key={key!r}.")
    if not guarantees:
        raise UsageError("there is no guarantee to add up.")
    if len({(g.neighbors, g.unit) for g in guarantees}) > 1:
        raise UsageError("guarantees for different neighbors do not add up.")
    touched = 2 if guarantees[0].neighbors == "replace" and key == "private" else 1
    by_kind, count = Sorted.of(guarantees), min(touched, len(guarantees))
    if by_kind.approx and by_kind.has_curves:
        raise UsageError(
            "approximate guarantees have no common kind with concentrated or Rényi ones.",
            hint="convert these with to_approx(delta) first",
        )
    return _in_weakest_kind(
        by_kind, lambda values: _sum(sorted(values, reverse=True)[:count]), guarantees[0].about
    )


def _total(parts: Sequence[Guarantee]) -> Guarantee:
    """Return the sum of the parts, in the weakest of their kinds."""
    about = parts[0].about
    metric = [part for part in parts if isinstance(part, MetricDP)]
    if len(metric) == len(parts) and len({part.metric for part in metric}) == 1:
        epsilon = _sum(part.epsilon for part in metric)
        delta = _sum(part.delta for part in metric)
        return MetricDP(epsilon, delta, metric[0].metric, **about)
    by_kind = Sorted.of(parts)
    if by_kind.approx and by_kind.has_curves:
        return ComposedDP(parts)
    return _in_weakest_kind(by_kind, _sum, about)


def _in_weakest_kind(
    by_kind: Sorted, add: Callable[[list[Fraction]], Fraction], about: dict[str, Any]
) -> Guarantee:
    """Return several guarantees as one of the weakest of their kinds, amounts of that kind put together by ``add``."""
    if by_kind.renyi:
        parts = (*by_kind.pure, *by_kind.concentrated, *by_kind.renyi)
        last = min(curve.orders[-1] for curve in by_kind.renyi)
        orders = sorted({order for curve in by_kind.renyi for order in curve.orders if order <= last})
        epsilons = [add([curve_at(part, order) for part in parts]) for order in orders]
        return RenyiDP(orders, epsilons, **about)
    if by_kind.concentrated:
        rhos = [part.rho for part in by_kind.concentrated] + [part.epsilon**2 / 2 for part in by_kind.pure]
        return ZeroConcentratedDP(add(rhos), **about)
    return pure_or_approx(add(by_kind.epsilons), add([part.delta for part in by_kind.approx]), **about)


def _sum(values: Iterable[Fraction]) -> Fraction:
    return short_up(sum(values, Fraction(0)))
