"""A mechanism that sees a random sample of the records, and nobody learns which.

References
----------
Balle, Barthe and Gaboardi (2018), Privacy amplification by subsampling: theorems 8 (Poisson sampling, add or remove)
and 9 (sampling without replacement, replace).
"""

from __future__ import annotations

from typing import Literal

from discreet.checked import checked
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP, pure_or_approx
from discreet.privacy.rounding import log_mixed_up
from discreet.rational import Number, exact

#: Each record joins the sample on its own with a given probability, or a sample of fixed size is drawn.
Sampling = Literal["poisson", "fixed_size"]
#: The neighbor relation that each form of sampling helps.
FITTING: dict[Sampling, Neighbors] = {"poisson": "add_remove", "fixed_size": "replace"}


@checked
def subsample(guarantee: Guarantee, rate: Number, *, sampling: Sampling) -> Guarantee:
    """Return what a mechanism promises if it is run on a secret random sample with this sampling ``rate``.

    Privacy
    -------
    An (epsilon, delta)-DP mechanism becomes (log(1 + rate (e^epsilon - 1)), rate delta)-DP in two cases and no other:

    - ``sampling="poisson"``: every record joins with probability ``rate``, independently, and ``guarantee`` is for
      ``add_remove``;
    - ``sampling="fixed_size"``: a sample without replacement of a public size, ``rate`` times the number of records,
      and ``guarantee`` is for ``replace``.

    The sample must stay secret and be drawn from a cryptographic generator. A mechanism that shows which records it
    used is not helped at all; see :func:`~discreet.privacy.costs.sampler_costs.random_scan`.
    """
    gamma = exact(rate, "rate")
    if not 0 < gamma <= 1:
        raise UsageError(f"rate must be above 0 and at most 1, got rate={rate}.")
    if sampling not in FITTING:
        raise UsageError(f"sampling must be 'poisson' or 'fixed_size', got sampling={sampling!r}.")
    if guarantee.neighbors != FITTING[sampling]:
        raise UsageError(
            f"sampling={sampling!r} helps a guarantee for neighbors={FITTING[sampling]!r} only, "
            f"got neighbors={guarantee.neighbors!r}."
        )
    if not isinstance(guarantee, PureDP | ApproxDP):
        raise UsageError(
            f"{guarantee.describe()} is not helped by this form of sampling.",
            hint="convert it with to_approx(delta) first",
        )
    delta = gamma * guarantee.budgets().get("delta", 0)
    return pure_or_approx(log_mixed_up(gamma, guarantee.epsilon), delta, **guarantee.about)
