"""What adds up how: totals of charges, and whether a budget allows one more.

Charges are adaptive: what is asked next may depend on what was released. So a budget needs a *filter*, a rule whose
"yes" is safe whatever comes before and after, and the tight composition of a fixed list is not one.

=========================  ======================  ======================  ======================  ===========
budget                     pure charge             approximate charge      zero-concentrated one   Rényi one
=========================  ======================  ======================  ======================  ===========
``PureDP(E)``              sum of epsilon <= E     refused                 refused                 refused
``ZeroConcentratedDP(R)``  epsilon^2 / 2           refused                 sum of rho <= R         refused
``ApproxDP(E, D)``         basic or Rényi          basic or Rényi          Rényi                   Rényi
=========================  ======================  ======================  ======================  ===========

*Basic*: the epsilons of pure and approximate charges sum to at most E, the deltas to at most D less the share f of it
that the Rényi filter holds, and there is no other charge. *Rényi*: at one of the account's orders a, the curves of
all but approximate charges sum to S_a with S_a + conversion(a, f / number of orders) + (sum of epsilon over approximate
charges) <= E, and the deltas sum to at most D - f. A Rényi charge that promises nothing at an order ends that order for
the account; one that promises nothing at any of them is refused.

The share f is fixed once, at the first charge that is not approximate: ``renyi_share`` times D, or what approximate
charges before it have left if that is less. Until then all of D is theirs.

Proof for ``ApproxDP``. Fix neighbors and let L be the privacy loss of all but the approximate releases together.
An (e, d)-DP release is e-DP but for an event of probability d (Kairouz, Oh and Viswanath 2015), so up to events of
expected total probability at most the expectation of sum d, the loss is at most L + sum e. For an order a, the process
M_a = exp((a - 1)(L - S_a)) is a supermartingale that starts at 1, however charges are chosen, since each curve bounds
its conditional moment. For any x, (1 - exp(-x))_+ <= c_a exp((a - 1) x), where c_a is the constant behind
``conversion``. Where order a holds at the end, it held throughout, and (1 - exp(E - L - sum e))_+ <= M_a f / (number of
orders). Where the basic sums hold instead, L + sum e <= E. The orders' shares add up to f, whose expectation M_a does
not raise because f was fixed while M_a was 1. Together delta <= E[sum d] + E[f] <= D.

Why f must be fixed early: let it be what the deltas of approximate charges leave *at the end*, and an adversary who
asks for small pure charges first, and then spends delta on approximate ones only where the loss came out low, exceeds
D; the tests compute by how much.

References
----------
Rogers, Roth, Ullman and Vadhan (2016), Privacy odometers and filters. Feldman and Zrnic (2021), Individual privacy
accounting via a Rényi filter. Lécuyer (2021), Practical privacy filters and odometers with Rényi differential privacy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from discreet.arguments import instance
from discreet.errors import UsageError
from discreet.ledger.partitions import Part, Partition, partition_from
from discreet.ledger.renyi_filter import conversion, default_orders, pure_curve, round_up
from discreet.privacy import ApproxDP, Guarantee, MetricDP, PseudoMetric, PureDP, RenyiDP, ZeroConcentratedDP
from discreet.rational import Number, exact, plain, text

#: Kinds that a ledger keeps account of.
KINDS: dict[str, type[PureDP] | type[ApproxDP] | type[ZeroConcentratedDP] | type[RenyiDP]] = {
    kind.kind: kind for kind in (PureDP, ApproxDP, ZeroConcentratedDP, RenyiDP)
}
Countable = PureDP | ApproxDP | ZeroConcentratedDP | RenyiDP
#: What a charge may be besides: it counts as what it says about neighbors.
Chargeable = Countable | MetricDP

# What a charge adds to a curve where it promises nothing: more than any budget can be.
_ENDED = Fraction(10) ** 301

# Totals stay exact unless their denominators grow beyond this; then they are rounded up, which is safe. No amount that
# can be written has so large a denominator, so a budget is spent to the last digit.
_FINEST = 1 << 1400


@dataclass(frozen=True)
class Terms:
    """What an account allows: its budget and, for an approximate one, how the Rényi filter takes part."""

    budget: Countable
    renyi_share: Fraction = Fraction(0)
    orders: tuple[Fraction, ...] = ()
    partitions: tuple[Partition, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the terms as JSON."""
        orders = [text(order) for order in self.orders]
        return {
            "budget": guarantee_json(self.budget),
            "renyi_share": text(self.renyi_share),
            "orders": orders,
            # absent without them, so that accounts stay what they were
            **({"partitions": [one.to_json() for one in self.partitions]} if self.partitions else {}),
        }


@dataclass(frozen=True)
class Totals:
    """What was charged to an account: exact sums, and Rényi curves at the account's orders rounded up.

    ``parts`` has what was charged about single parts of the account's partitions, which is not in the other sums.
    """

    charges: int = 0
    pure: Fraction = Fraction(0)
    half_squares: Fraction = Fraction(0)
    approx: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    curves: tuple[Fraction, ...] = ()
    renyi_delta: Fraction | None = None
    renyi: int = 0
    parts: Mapping[Part, Totals] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the totals as JSON."""
        amounts = {name: text(getattr(self, name)) for name in _AMOUNTS}
        held = None if self.renyi_delta is None else text(self.renyi_delta)
        curves = [text(s) for s in self.curves]
        # absent without Rényi charges, so that accounts without them stay what they were
        more: dict[str, Any] = {"renyi": self.renyi} if self.renyi else {}
        if self.parts:
            more["parts"] = [[*part, own.to_json()] for part, own in sorted(self.parts.items())]
        return {"charges": self.charges, **amounts, "curves": curves, "renyi_delta": held, **more}


_AMOUNTS = ("pure", "half_squares", "approx", "delta", "rho")


def read_terms(value: Mapping[str, Any]) -> Terms:
    """Read terms from JSON."""
    orders = tuple(Fraction(order) for order in value["orders"])
    budget = countable(read_guarantee(value["budget"]), "budget")
    partitions = tuple(map(partition_from, value.get("partitions", ())))
    return Terms(budget, Fraction(value["renyi_share"]), orders, partitions)


def read_totals(value: Mapping[str, Any]) -> Totals:
    """Read totals from JSON."""
    amounts = {name: Fraction(value[name]) for name in _AMOUNTS}
    held = None if value["renyi_delta"] is None else Fraction(value["renyi_delta"])
    curves = tuple(map(Fraction, value["curves"]))
    parts = {(column, label): read_totals(own) for column, label, own in value.get("parts", ())}
    renyi = value.get("renyi", 0)
    return Totals(value["charges"], **amounts, curves=curves, renyi_delta=held, renyi=renyi, parts=parts)


def guarantee_json(guarantee: Chargeable) -> dict[str, Any]:
    """Return a guarantee as JSON, with its neighbors and unit."""
    amounts: dict[str, Any] = {name: text(value) for name, value in guarantee.budgets().items()}
    if isinstance(guarantee, RenyiDP):
        amounts = {name: [text(v) for v in getattr(guarantee, name)] for name in ("orders", "epsilons")}
    if isinstance(guarantee, MetricDP):
        amounts["metric"] = guarantee.metric.name
    return {"kind": guarantee.kind, **amounts, "neighbors": guarantee.neighbors, "unit": guarantee.unit}


def read_guarantee(value: Mapping[str, Any]) -> Chargeable:
    """Read a guarantee from JSON."""
    rest = dict(value)
    kind = rest.pop("kind")
    if kind == MetricDP.kind:
        return MetricDP(metric=PseudoMetric(rest.pop("metric"), rest.pop("diameter")), **rest)
    return KINDS[kind](**rest)


def chargeable(guarantee: Guarantee) -> Chargeable:
    """Return the guarantee if a ledger can charge it, or say why not."""
    return guarantee if isinstance(guarantee, MetricDP) else countable(guarantee, "charge")


def countable(guarantee: Guarantee, what: str) -> Countable:
    """Return the guarantee if a ledger can keep account of it, or say why not."""
    if not isinstance(guarantee, Countable) or (what == "budget" and isinstance(guarantee, RenyiDP)):
        name = type(guarantee).__name__
        raise UsageError(
            f"a ledger cannot keep account of a {what} of kind {name}: there is no filter for it.",
            hint="give it as PureDP, ApproxDP or ZeroConcentratedDP; a valid conversion is a guarantee of its own",
        )
    return guarantee


def terms_of(budget: Guarantee, renyi_share: Number = Fraction(1, 2)) -> Terms:
    """Return the terms of a new account; orders are fixed here and never change."""
    allowed = countable(budget, "budget")
    share = exact(renyi_share, "renyi_share")
    if not 0 <= share <= 1:
        raise UsageError(f"renyi_share must be between 0 and 1, got renyi_share={renyi_share}.")
    if not isinstance(allowed, ApproxDP) or share == 0:
        return Terms(allowed)
    return Terms(allowed, share, default_orders(allowed.epsilon, share * allowed.delta))


def counted(part: Guarantee, budget: Countable) -> Countable:
    """Return what ``part`` counts as under ``budget``, or say why it cannot be charged there.

    The neighbors must be the budget's. One conversion is made: replacing a record is removing one and adding one, so a
    charge for ``add_remove`` counts against a budget for ``replace`` as group privacy for two says: 2 epsilon, 4 rho,
    or (2 epsilon, (1 + e^epsilon) delta). Nothing is converted the other way. A charge per unit of a distance counts as
    what it says about any two neighbors: epsilon times the largest distance.
    """
    part = instance(part, "charge", Guarantee, "a guarantee such as dc.PureDP(0.5)")
    charge = countable(part.to_neighbors(), "charge")
    if charge.unit != budget.unit:
        raise UsageError(
            f"the budget protects the unit {budget.unit or 'record'}, the charge the unit {charge.unit or 'record'}."
        )
    if charge.neighbors != budget.neighbors:
        if budget.neighbors != "replace":
            raise UsageError(
                f"a charge for neighbors {charge.neighbors} does not count against a budget for neighbors "
                f"{budget.neighbors}: it does not protect the number of records."
            )
        charge = countable(charge.to_replace(), "charge")
    if isinstance(charge, _TAKES[budget.kind]):
        return charge
    raise UsageError(
        f"a {_WORDS[budget.kind]} budget takes no {_WORDS[charge.kind]} charge: {_WHY[charge.kind, budget.kind]}.",
        hint="nothing was charged; release with noise whose guarantee is of the budget's kind",
    )


_WORDS = {
    "pure": "pure",
    "approx": "approximate",
    "zero_concentrated": "zero-concentrated",
    "renyi": "Rényi",
}
_TAKES: dict[str, tuple[type[Guarantee], ...]] = {
    "pure": (PureDP,),
    "zero_concentrated": (PureDP, ZeroConcentratedDP),
    "approx": (PureDP, ApproxDP, ZeroConcentratedDP, RenyiDP),
}
_WHY = {
    ("approx", "pure"): "its delta is more than the budget allows, which is none",
    ("zero_concentrated", "pure"): "its loss has no upper limit",
    ("approx", "zero_concentrated"): "an approximate guarantee implies no zero-concentrated one",
    ("renyi", "pure"): "its loss has no upper limit",
    ("renyi", "zero_concentrated"): "it promises nothing above its largest order",
}


def added(terms: Terms, totals: Totals, parts: Iterable[Guarantee], about: Part | None = None) -> Totals:
    """Return the totals after one more charge, which may have several parts; ``about`` a part of the table, or all."""
    flat = (Fraction(0),) * len(terms.orders)
    delta = together(terms, totals).delta
    whole = replace(totals, charges=totals.charges + 1, curves=totals.curves or flat)
    if about is None:
        return _sums(terms, whole, parts, delta)
    own = totals.parts.get(about, Totals(curves=flat))
    more = _sums(terms, replace(own, charges=own.charges + 1, renyi_delta=totals.renyi_delta), parts, delta)
    kept = {**totals.parts, about: replace(more, renyi_delta=None)}
    return replace(whole, renyi_delta=more.renyi_delta, parts=kept)


def together(terms: Terms, totals: Totals) -> Totals:
    """Return sums that are at least those of any two neighbors: what is about the whole table, and the largest parts.

    See :mod:`discreet.ledger.partitions` for the proof.
    """
    for partition in terms.partitions:
        held = [own for part, own in totals.parts.items() if part[0] == partition.column]
        if not held:
            continue
        count = partition.touched(terms.budget)
        sums = {
            name: getattr(totals, name) + _largest([getattr(own, name) for own in held], count)
            for name in (*_AMOUNTS, "renyi")
        }
        curves = zip(*(own.curves for own in held), strict=True)
        added_up = (s + _largest(each, count) for s, each in zip(totals.curves, curves, strict=True))
        totals = replace(totals, **sums, curves=tuple(added_up))
    return totals


def _largest(values: Iterable[Any], count: int) -> Any:
    return sum(sorted(values, reverse=True)[:count])


def _sums(terms: Terms, total: Totals, parts: Iterable[Guarantee], delta: Fraction) -> Totals:
    """Return sums with one more charge; ``delta`` is what approximate charges have taken before it."""
    before = total.delta
    # amounts of one charge are all known before its first release, so approximate parts may come first
    for part in sorted(
        (counted(part, terms.budget) for part in parts), key=lambda p: p.kind != ApproxDP.kind
    ):
        if isinstance(part, ApproxDP):
            total = replace(
                total, approx=_fine(total.approx + part.epsilon), delta=_fine(total.delta + part.delta)
            )
            continue
        if total.renyi_delta is None and isinstance(terms.budget, ApproxDP):
            taken = delta + total.delta - before
            wanted, left = terms.renyi_share * terms.budget.delta, terms.budget.delta - taken
            total = replace(total, renyi_delta=max(Fraction(0), min(wanted, left)))
        if isinstance(part, PureDP):
            curves = zip(total.curves, terms.orders, strict=True)
            total = replace(
                total,
                pure=_fine(total.pure + part.epsilon),
                half_squares=_fine(total.half_squares + part.epsilon**2 / 2),
                curves=tuple(s + pure_curve(order, part.epsilon) for s, order in curves),
            )
        elif isinstance(part, RenyiDP):
            curves = zip(total.curves, _renyi_curve(terms, part), strict=True)
            total = replace(total, renyi=total.renyi + 1, curves=tuple(_fine(s + more) for s, more in curves))
        else:
            total = replace(total, rho=_fine(total.rho + part.rho))
    return total


def _renyi_curve(terms: Terms, part: RenyiDP) -> list[Fraction]:
    """Return what a Rényi charge adds at each of the account's orders."""
    known = [part.at(order) for order in terms.orders]
    if all(bound is None for bound in known):
        if not terms.orders:
            raise UsageError("the account takes no Rényi charge: its renyi_share is 0.")
        least = plain(-(-min(terms.orders) * 100 // 1) / Fraction(100))
        raise UsageError(
            f"the account counts Rényi divergences of order {least} and more, and the charge promises none above "
            f"order {plain(part.orders[-1])}.",
            hint=f"ask for a guarantee of order {least} or more",
        )
    return [_ENDED if bound is None else bound for bound in known]


def fits(terms: Terms, totals: Totals) -> bool:
    """Tell whether the totals are within the budget."""
    budget, totals = terms.budget, together(terms, totals)
    if isinstance(budget, PureDP):
        return totals.pure <= budget.epsilon
    if isinstance(budget, ZeroConcentratedDP):
        return totals.rho + totals.half_squares <= budget.rho
    assert isinstance(budget, ApproxDP)
    within = totals.delta <= budget.delta - (totals.renyi_delta or 0)
    return within and any(epsilon <= budget.epsilon for epsilon in _epsilons(terms, totals))


def spent(terms: Terms, totals: Totals) -> dict[str, Fraction]:
    """Return what was spent, in the budget's own terms; epsilon by the better of the basic sum and the Rényi filter."""
    budget, totals = terms.budget, together(terms, totals)
    if isinstance(budget, PureDP):
        return {"epsilon": totals.pure}
    if isinstance(budget, ZeroConcentratedDP):
        return {"rho": totals.rho + totals.half_squares}
    assert isinstance(budget, ApproxDP)
    best = min(_epsilons(terms, totals), default=None)
    # a large delta alone may cover small charges; the bound is then below 0
    return {"epsilon": budget.epsilon if best is None else max(best, Fraction(0)), "delta": totals.delta}


def remaining(terms: Terms, totals: Totals) -> dict[str, Fraction]:
    """Return what is left: any pure or approximate charge up to it will be allowed.

    The part of delta that the Rényi filter holds is not left for approximate charges.
    """
    used = spent(terms, totals)
    used["delta"] = used.get("delta", Fraction(0)) + (totals.renyi_delta or 0)
    return {name: max(Fraction(0), limit - used[name]) for name, limit in terms.budget.budgets().items()}


def _epsilons(terms: Terms, totals: Totals) -> list[Fraction]:
    """Return the epsilon of every bound that applies to the totals of an approximate budget."""
    bounds = [] if totals.rho or totals.renyi else [totals.pure + totals.approx]
    if totals.renyi_delta:
        share = totals.renyi_delta / len(terms.orders)
        curves = zip(totals.curves, terms.orders, strict=True)
        bounds += [s + order * totals.rho + conversion(order, share) + totals.approx for s, order in curves]
    return bounds


def _fine(total: Fraction) -> Fraction:
    return total if total.denominator <= _FINEST else round_up(total, _FINEST)
