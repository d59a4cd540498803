"""What adds up how: totals of charges, and whether a budget allows one more.

Charges are adaptive: what is asked next may depend on what was released. So a budget needs a *filter*, a rule whose
"yes" is safe whatever comes before and after, and the tight composition of a fixed list is not one.

=========================  ======================  ======================  ======================
budget                     pure charge             approximate charge      zero-concentrated one
=========================  ======================  ======================  ======================
``PureDP(E)``              sum of epsilon <= E     refused                 refused
``ZeroConcentratedDP(R)``  epsilon^2 / 2           refused                 sum of rho <= R
``ApproxDP(E, D)``         basic or Rényi          basic or Rényi          Rényi
=========================  ======================  ======================  ======================

*Basic*: the epsilons of pure and approximate charges sum to at most E, the deltas to at most D less the share f of it
that the Rényi filter holds, and there is no zero-concentrated charge. *Rényi*: at one of the account's orders a, the
curves of pure and zero-concentrated charges sum to S_a with S_a + conversion(a, f / number of orders) + (sum of epsilon
over approximate charges) <= E, and the deltas sum to at most D - f.

The share f is fixed once, at the first pure or zero-concentrated charge: ``renyi_share`` times D, or what approximate
charges before it have left if that is less. Until then all of D is theirs.

Proof for ``ApproxDP``. Fix neighbors and let L be the privacy loss of all pure and zero-concentrated releases together.
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

from discreet.errors import UsageError
from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP, ZeroConcentratedDP
from discreet.privacy.ledger.renyi import conversion, default_orders, pure_curve, round_up
from discreet.rational import Number, exact, text

#: Kinds that a ledger keeps account of.
KINDS: dict[str, type[PureDP] | type[ApproxDP] | type[ZeroConcentratedDP]] = {
    kind.kind: kind for kind in (PureDP, ApproxDP, ZeroConcentratedDP)
}
Countable = PureDP | ApproxDP | ZeroConcentratedDP

# Totals stay exact unless their denominators grow beyond this; then they are rounded up, which is safe. No amount that
# can be written has so large a denominator, so a budget is spent to the last digit.
_FINEST = 1 << 1400


@dataclass(frozen=True)
class Terms:
    """What an account allows: its budget and, for an approximate one, how the Rényi filter takes part."""

    budget: Countable
    renyi_share: Fraction = Fraction(0)
    orders: tuple[Fraction, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the terms as JSON."""
        orders = [text(order) for order in self.orders]
        return {
            "budget": guarantee_json(self.budget),
            "renyi_share": text(self.renyi_share),
            "orders": orders,
        }


@dataclass(frozen=True)
class Totals:
    """What was charged to an account: exact sums, and Rényi curves at the account's orders rounded up."""

    charges: int = 0
    pure: Fraction = Fraction(0)
    half_squares: Fraction = Fraction(0)
    approx: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    curves: tuple[Fraction, ...] = field(default=())
    renyi_delta: Fraction | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the totals as JSON."""
        amounts = {name: text(getattr(self, name)) for name in _AMOUNTS}
        held = None if self.renyi_delta is None else text(self.renyi_delta)
        curves = [text(s) for s in self.curves]
        return {"charges": self.charges, **amounts, "curves": curves, "renyi_delta": held}


_AMOUNTS = ("pure", "half_squares", "approx", "delta", "rho")


def read_terms(value: Mapping[str, Any]) -> Terms:
    """Read terms from JSON."""
    orders = tuple(Fraction(order) for order in value["orders"])
    return Terms(read_guarantee(value["budget"]), Fraction(value["renyi_share"]), orders)


def read_totals(value: Mapping[str, Any]) -> Totals:
    """Read totals from JSON."""
    amounts = {name: Fraction(value[name]) for name in _AMOUNTS}
    held = None if value["renyi_delta"] is None else Fraction(value["renyi_delta"])
    return Totals(value["charges"], **amounts, curves=tuple(map(Fraction, value["curves"])), renyi_delta=held)


def guarantee_json(guarantee: Countable) -> dict[str, Any]:
    """Return a guarantee as JSON, with its neighbors and unit."""
    amounts = {name: text(value) for name, value in guarantee.budgets().items()}
    return {"kind": guarantee.kind, **amounts, "neighbors": guarantee.neighbors, "unit": guarantee.unit}


def read_guarantee(value: Mapping[str, Any]) -> Countable:
    """Read a guarantee from JSON."""
    rest = dict(value)
    return KINDS[rest.pop("kind")](**rest)


def countable(guarantee: Guarantee, what: str) -> Countable:
    """Return the guarantee if a ledger can keep account of it, or say why not."""
    if not isinstance(guarantee, Countable):
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
    or (2 epsilon, (1 + e^epsilon) delta). Nothing is converted the other way.
    """
    charge = countable(part, "charge")
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
        f"a {_WORDS[budget.kind]} budget takes no {_WORDS[charge.kind]} charge: {_WHY[charge.kind, budget.kind]}."
    )


_WORDS = {"pure": "pure", "approx": "approximate", "zero_concentrated": "zero-concentrated"}
_TAKES: dict[str, tuple[type[Guarantee], ...]] = {
    "pure": (PureDP,),
    "zero_concentrated": (PureDP, ZeroConcentratedDP),
    "approx": (PureDP, ApproxDP, ZeroConcentratedDP),
}
_WHY = {
    ("approx", "pure"): "its delta is more than the budget allows, which is none",
    ("zero_concentrated", "pure"): "its loss has no upper limit",
    ("approx", "zero_concentrated"): "an approximate guarantee implies no zero-concentrated one",
}


def added(terms: Terms, totals: Totals, parts: Iterable[Guarantee]) -> Totals:
    """Return the totals after one more charge, which may have several parts."""
    total = replace(
        totals, charges=totals.charges + 1, curves=totals.curves or (Fraction(0),) * len(terms.orders)
    )
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
            wanted, left = terms.renyi_share * terms.budget.delta, terms.budget.delta - total.delta
            total = replace(total, renyi_delta=max(Fraction(0), min(wanted, left)))
        if isinstance(part, PureDP):
            curves = zip(total.curves, terms.orders, strict=True)
            total = replace(
                total,
                pure=_fine(total.pure + part.epsilon),
                half_squares=_fine(total.half_squares + part.epsilon**2 / 2),
                curves=tuple(s + pure_curve(order, part.epsilon) for s, order in curves),
            )
        else:
            total = replace(total, rho=_fine(total.rho + part.rho))
    return total


def fits(terms: Terms, totals: Totals) -> bool:
    """Tell whether the totals are within the budget."""
    budget = terms.budget
    if isinstance(budget, PureDP):
        return totals.pure <= budget.epsilon
    if isinstance(budget, ZeroConcentratedDP):
        return totals.rho + totals.half_squares <= budget.rho
    within = totals.delta <= budget.delta - (totals.renyi_delta or 0)
    return within and any(epsilon <= budget.epsilon for epsilon in _epsilons(terms, totals))


def spent(terms: Terms, totals: Totals) -> dict[str, Fraction]:
    """Return what was spent, in the budget's own terms; epsilon by the better of the basic sum and the Rényi filter."""
    budget = terms.budget
    if isinstance(budget, PureDP):
        return {"epsilon": totals.pure}
    if isinstance(budget, ZeroConcentratedDP):
        return {"rho": totals.rho + totals.half_squares}
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
    bounds = [] if totals.rho else [totals.pure + totals.approx]
    if totals.renyi_delta:
        share = totals.renyi_delta / len(terms.orders)
        curves = zip(totals.curves, terms.orders, strict=True)
        bounds += [s + order * totals.rho + conversion(order, share) + totals.approx for s, order in curves]
    return bounds


def _fine(total: Fraction) -> Fraction:
    return total if total.denominator <= _FINEST else round_up(total, _FINEST)
