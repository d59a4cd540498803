"""What bounds that were bought from the same records do to a posterior that takes them as fixed."""

from __future__ import annotations

from discreet.artifact import Release
from discreet.inference.engines.naive import noisy_sums

#: Records beyond a quantile times the price of the bounds: posteriors were shown calibrated up to this. Where it is
#: larger the bounds follow the rows closely, and what they say is counted twice.
MOST_PRECISE = 7.5

_FIXED = "the bounds were bought privately from the same records and are treated as fixed"


def doubts(release: Release) -> tuple[str, ...]:
    """Return a note if the bounds were bought, and a warning if they were bought more precisely than was checked.

    The chance of a bound that is wrong by some records depends on their number times its price alone
    (``studies/quantile_budget.py`` shows what follows).
    """
    if release.bounds_choice is None:
        return ()
    n = noisy_sums(release)[1] if release.records is None else release.records
    precision = max(
        float(min(made.quantiles[0], 1 - made.quantiles[1]) * made.epsilon) * n
        for made in release.bounds_choice
    )
    if precision <= MOST_PRECISE:
        return (_FIXED,)
    return (
        f"{_FIXED}; they are so precise that intervals may be too narrow: bounds for at most "
        f"{MOST_PRECISE / precision:.2g} times the price were shown calibrated",
    )
