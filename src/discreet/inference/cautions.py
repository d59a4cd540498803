"""Warnings about a posterior: where the release does not bear out what the model takes for granted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.artifact import Release
from discreet.inference.engine import Answer, Question
from discreet.inference.engines.naive import noisy_sums

# A prior on records this many standard deviations of the noise away from the reading deserves a warning.
_FAR = 6.0
# The smaller part has at least this share of the draws, and the gap is this many times wider than either is spread.
_LEAST_SHARE = 0.005
_WIDE = 1.5
#: Records beyond a quantile times the price of the bounds: posteriors were shown calibrated up to this. Where it is
#: larger the bounds follow the rows closely, and what they say is counted twice.
MOST_PRECISE = 7.5

_FIXED = "the bounds were bought privately from the same records and are treated as fixed"


def warnings_about(question: Question, answer: Answer) -> tuple[str, ...]:
    """Return warnings about two modes, bounds that were bought from the same records, and a prior on records."""
    return (
        *_two_modes(question.release, answer.draws),
        *_bought_bounds(question.release),
        *_record_prior(question),
    )


def _two_modes(release: Release, draws: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Return a warning for each number whose posterior falls into two parts."""
    if release.domain.bounds is None:
        return ()
    redacted = release.domain.outside == "redact"
    why = "values out of range were redacted, and both" if redacted else "both"
    other = "a release with outside='clip'" if redacted else "a larger budget"
    found = {name: two_parts(values) for name, values in draws.items() if values.ndim == 1}
    return tuple(
        f"the {name} is near {low:.4g} (probability {share:.2g}) or near {high:.4g}: {why} explain the "
        f"totals; use a prior that rules one out, or {other}"
        for name, (low, high, share) in ((name, parts) for name, parts in found.items() if parts)
    )


def two_parts(x: np.ndarray) -> tuple[float, float, float] | None:
    """Return the medians of two far parts of the draws and the share of the lower one; None if they are one."""
    x = np.sort(x)
    least = max(int(_LEAST_SHARE * x.size), 2)
    if x.size < 4 * least:
        return None
    cut = least + int(np.argmax(np.diff(x[least - 1 : x.size - least + 1])))
    low, high = x[:cut], x[cut:]
    if not high[0] - low[-1] > _WIDE * max(low.std(), high.std()):
        return None
    return float(np.median(low)), float(np.median(high)), low.size / x.size


def _bought_bounds(release: Release) -> tuple[str, ...]:
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


def _record_prior(question: Question) -> tuple[str, ...]:
    """Return a warning if the prior on records is far from what the release says of their number."""
    release, records = question.release, question.records
    if release.records is not None or not release.layout.rows:
        return ()
    # the usable count is one combination of the released coordinates: one of them, or the sum of the cells
    steps = release.layout.usable_weights() * np.array(release.totals.grid, dtype=float)
    read = round(float(steps @ np.array(release.totals.values, dtype=float)))
    sd = float(np.sqrt(sum((step * law.sd) ** 2 for step, law in zip(steps, release.noise, strict=True))))
    sides = [records.nearest(float(read), above=above) for above in (True, False)]
    gap = min(abs(side - read) for side in sides if side is not None)
    if gap <= _FAR * sd + 1:
        return ()
    return (
        f"the prior on records contradicts the release, which counts about {max(read, 0):,} usable records "
        f"(give or take {2 * sd:,.0f})",
    )
