"""What several mechanisms on the same rows promise together.

The later ones may depend on what the earlier ones published.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import UsageError
from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP, ZeroConcentratedDP


def compose(*guarantees: Guarantee) -> Guarantee:
    """Add up guarantees for the same neighbors, in the weakest of their kinds.

    Pure guarantees add their epsilons. Beside a zero-concentrated guarantee a pure one counts as rho = epsilon^2 / 2;
    beside an approximate one, as delta = 0.

    References
    ----------
    Dwork and Roth (2014), The algorithmic foundations of differential privacy: theorem 3.16 and appendix B. Bun and
    Steinke (2016), Concentrated differential privacy: proposition 1.4 (pure implies zCDP) and lemma 1.7 (composition).
    """
    if not guarantees:
        raise UsageError("there is no guarantee to add up.")
    if len(guarantees) == 1:
        return guarantees[0]
    pure = [g for g in guarantees if isinstance(g, PureDP)]
    approx = [g for g in guarantees if isinstance(g, ApproxDP)]
    concentrated = [g for g in guarantees if isinstance(g, ZeroConcentratedDP)]
    known = [*pure, *approx, *concentrated]
    if len(known) < len(guarantees) or (approx and concentrated):
        raise UsageError("these kinds of guarantees do not add up.")
    if len({(g.neighbors, g.unit) for g in known}) > 1:
        raise UsageError("guarantees for different neighbors do not add up.")
    neighbors, unit = known[0].neighbors, known[0].unit
    epsilon = sum((g.epsilon for g in (*pure, *approx)), Fraction(0))
    if concentrated:
        rho = sum((g.rho for g in concentrated), Fraction(0))
        rho += sum((g.epsilon**2 / 2 for g in pure), Fraction(0))
        return ZeroConcentratedDP(rho, neighbors=neighbors, unit=unit)
    if approx:
        delta = sum((g.delta for g in approx), Fraction(0))
        return ApproxDP(epsilon, delta, neighbors=neighbors, unit=unit)
    return PureDP(epsilon, neighbors=neighbors, unit=unit)
