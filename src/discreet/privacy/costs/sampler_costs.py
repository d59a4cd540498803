"""What posterior sampling costs when the sampler is a Markov chain.

References
----------
Foulds, Geumlek, Welling and Chaudhuri (2016), On the theory and practice of privacy-preserving Bayesian data
analysis: proposition 3 and section 4.1, with two corrections. The failure probability of an approximate sampler is
(1 + e^epsilon) times its total variation error. A random scan shows which variables it moved, so that no pure
guarantee is amplified by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.errors import UsageError
from discreet.privacy.composition import compose
from discreet.privacy.curves import curve_at
from discreet.privacy.guarantees import (
    ApproxDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
    meaningful,
    positive_budget,
)
from discreet.privacy.renyi import RenyiDP
from discreet.privacy.rounding import exp_up, float_result_up
from discreet.rational import Number

#: Orders at which a concentrated update is turned into a Rényi curve.
DEFAULT_ORDERS = (*(Fraction(k, 4) for k in range(5, 33)), *range(9, 17), 20, 24, 32, 48, 64, 128, 256, 512)


def approximate_sampler(exact_draw: PureDP | ApproxDP, *, total_variation: Number) -> ApproxDP:
    """Return what a sampler promises whose distribution is close to that of a private one.

    Privacy
    -------
    If P'_x(E) and P_x(E) differ by at most t for every table x and event E, then

        P'_x(E) <= P_x(E) + t <= e^epsilon P_y(E) + delta + t <= e^epsilon P'_y(E) + delta + (1 + e^epsilon) t.

    ``total_variation`` is that t, half of the L1 distance of the densities. It must be *proven* for every table that
    could have been, not only for the one at hand: an R-hat, an effective sample size or any other diagnostic of a chain
    that ran on the real records is no such proof, and is itself a function of the records.
    """
    error = positive_budget(total_variation, "total_variation")
    if not isinstance(exact_draw, PureDP | ApproxDP):
        raise UsageError("the exact draw must have a pure or an approximate guarantee.")
    factor = exp_up(exact_draw.epsilon)
    known = exact_draw.budgets().get("delta", 0)
    delta = meaningful(None if factor is None else known + (1 + factor) * error)
    return ApproxDP(exact_draw.epsilon, delta, **exact_draw.about)


def sequence_scan(update: Guarantee, *, shared: Sequence[Guarantee] = ()) -> Guarantee:
    """Return the cost of one Gibbs pass that updates every record's latent variable once, in any public order.

    Privacy
    -------
    ``update`` is the guarantee of the update of one variable, for the supremum over everything that it conditions
    on. Latent variable l may read record l and what was already published, and no other record. Then a changed record
    reaches one update of the pass, and the pass costs one update (adaptive parallel composition). Updates of
    parameters that read all records are ``shared``: they are added, once for each time that they are made.
    """
    _for_replace(update)
    return compose(update, *shared)


def random_scan(
    update: Guarantee, *, updated: int, variables: int, shared: Sequence[Guarantee] = ()
) -> Guarantee:
    r"""Return the cost of a Gibbs scan that updates ``updated`` of ``variables`` latent variables, chosen at random.

    Privacy
    -------
    The conditions are those of :func:`sequence_scan`. Everybody sees which variables moved. With probability g =
    updated / variables that of the changed record is among them, and otherwise nothing that is published depends on the
    record. So

    - a pure guarantee stays what it was: given that the variable moved, the whole epsilon is at stake;
    - (epsilon, delta) becomes (epsilon, g delta);
    - a Rényi divergence R of order a becomes log(1 - g + g e^{(a-1) R}) / (a - 1), which is exact.

    For samplers that keep both the variables and the choice secret, see
    :func:`~discreet.privacy.subsampling.subsample`.
    """
    _for_replace(update)
    if not 0 < updated <= variables:
        raise UsageError(
            f"updated must be between 1 and variables, got updated={updated} and variables={variables}."
        )
    return compose(_mixed(update, Fraction(updated, variables)), *shared)


def _mixed(update: Guarantee, share: Fraction) -> Guarantee:
    if isinstance(update, PureDP) or share == 1:
        return update
    if isinstance(update, ApproxDP):
        return ApproxDP(update.epsilon, share * update.delta, unit=update.unit)
    if isinstance(update, RenyiDP | ZeroConcentratedDP):
        orders = [Fraction(a) for a in (update.orders if isinstance(update, RenyiDP) else DEFAULT_ORDERS)]
        return RenyiDP(
            orders, [_mixed_divergence(curve_at(update, a), a, share) for a in orders], unit=update.unit
        )
    raise UsageError(f"{update.describe()} has no known cost in a random scan.")


def _mixed_divergence(divergence: Fraction, order: Fraction, share: Fraction) -> Fraction:
    height, g = float((order - 1) * divergence), float(share)
    # log(1 + g (e^h - 1)), also where e^h is no float
    grown = np.log1p(g * np.expm1(height)) if height < 500 else height + np.log(g) + 1e-12
    return min(divergence, float_result_up(float(grown) / float(order - 1)))


def _for_replace(update: Guarantee) -> None:
    if update.neighbors != "replace":
        raise UsageError("the cost of a scan is known for neighbors='replace' only.")
