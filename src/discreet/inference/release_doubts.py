"""What a release says against itself: warnings from its noisy values and its posterior alone, so they cost nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.artifact import Release
from discreet.domain.declarations import REDACTED
from discreet.families.base import Family
from discreet.inference.engines.naive import noisy_sums
from discreet.rational import plain

# A usable count this many standard deviations of its noise below half of the records is far below them.
_SURE = 4.0
# Draws that records are simulated from, records for each, and shares of them outside the bounds: on average, and under
# nine draws in ten.
_DRAWS, _RECORDS = 60, 100
_OUTSIDE, _LEAST_OUTSIDE = 0.1, 0.05
# Noise, in units of the data's own uncertainty, that is worth a word.
_LARGE = 1.0
# Records whose standard deviation is below this, where the bounds are from -1 to 1, use a small part of them.
_NARROW = 0.15


def few_usable(release: Release) -> tuple[str, ...]:
    """Return a warning if hardly a value was usable; for the curator's screen too, since the count is public."""
    n = release.records
    if n is None or release.samples is not None or release.domain.missing != "count":
        return ()
    if not isinstance(release.model, Family) or not release.layout.rows:
        return ()
    steps = release.layout.usable_weights() * np.array(release.totals.grid, dtype=float)
    read = float(steps @ np.array(release.totals.values, dtype=float))
    sd = float(np.sqrt(sum((step * law.sd) ** 2 for step, law in zip(steps, release.noise, strict=True))))
    if read + _SURE * sd >= n / 2:
        return ()
    about = min(max(round(read), 0), n)
    return (f"about {about:,} of {n:,} values were usable: are the labels or the column right?",)


def doubts(release: Release, draws: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Return warnings about the release behind a posterior."""
    said = [*few_usable(release)]
    if release.model.has_numbers and release.domain.outside == "redact":
        said.append(REDACTED)
    if not isinstance(release.model, Family):
        return tuple(said)
    usable = noisy_sums(release)[1]
    if not release.model.has_numbers:
        return (*said, *_labels_drowned(release, draws, usable))
    if release.domain.bounds is None or not release.family.can_sample:
        return tuple(said)
    records = _simulated(release, draws)
    return (*said, *_out_of_bounds(release, records), *_numbers_drowned(release, records, usable))


def _simulated(release: Release, draws: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return records simulated from some of the draws: draws, records, columns."""
    size = len(next(iter(draws.values())))
    # a stream of its own: whether this is asked must not change the draws
    rng = np.random.default_rng(0)
    return np.stack(
        [
            np.asarray(
                release.family.sample({name: values[i] for name, values in draws.items()}, _RECORDS, rng),
                dtype=float,
            ).reshape(_RECORDS, -1)
            for i in np.linspace(0, size - 1, min(_DRAWS, size)).astype(int)
        ]
    )


def _out_of_bounds(release: Release, records: np.ndarray) -> tuple[str, ...]:
    """Return a warning if the posterior puts many records where the curator said that few are."""
    low, high = np.array(release.domain.bounds, dtype=float).T
    shares = ((records < low) | (records > high)).any(axis=2).mean(axis=1)
    share = float(np.mean(shares))
    if share < _OUTSIDE or np.quantile(shares, 0.1) < _LEAST_OUTSIDE:
        return ()
    return (
        f"this posterior puts {share:.0%} of records outside the bounds {_pairs(release)}: the column may not be "
        f"{_word(release.family)}, or the bounds are too narrow",
    )


def _labels_drowned(release: Release, draws: Mapping[str, np.ndarray], usable: float) -> tuple[str, ...]:
    """Return a warning if the noise on the counts is wider than they scatter by themselves."""
    p = np.mean(draws["p"], axis=0) if "p" in draws else np.zeros(0)
    scatter = usable * float(np.sum(p * (1 - p)))
    laws = [law for name, law in zip(release.totals.names, release.noise, strict=True) if name != "usable"]
    if p.ndim == 0:
        # one count: its double, z = 2 yes - u, is released, or both counts are
        scatter *= 4 if release.records is not None else 2
    return _words(release, "counts", sum(law.sd**2 for law in laws), scatter)


def _numbers_drowned(release: Release, records: np.ndarray, usable: float) -> tuple[str, ...]:
    """Return warnings if the noise on the sum of a column is wider than it scatters by itself."""
    family = release.family
    bounds = release.domain.bounds
    if bounds is None or len(bounds) > 1 or not release.totals.shift or not release.totals.half:
        return ()
    ((low, high),) = np.array(bounds, dtype=float)
    z = (family.measure(np.clip(records[..., 0], low, high)) - float(release.totals.shift[0])) / float(
        release.totals.half[0]
    )
    spread = float(np.median(z.var(axis=1)))
    # the sum of z is one combination of the released coordinates
    rows = np.array([[float(v) for v in row] for row in release.layout.rows])
    weights = np.linalg.lstsq(rows.T, np.eye(rows.shape[1])[1], rcond=None)[0]
    steps = weights * np.array(release.totals.grid, dtype=float)
    noise = sum((step * law.sd) ** 2 for step, law in zip(steps, release.noise, strict=True))
    said = _words(release, "sum", float(noise), usable * spread)
    if said and spread < _NARROW**2:
        said += (
            f"the bounds {_pairs(release)} are so wide that noise drowns the column: narrower ones, from public "
            "knowledge, bring less noise in proportion",
        )
    return said


def _words(release: Release, what: str, noise: float, scatter: float) -> tuple[str, ...]:
    """Say that noise of this variance is larger than the variance that the data have by themselves, if it is."""
    if not noise > _LARGE**2 * scatter:
        return ()
    factor = min(float(np.sqrt(noise / max(scatter, 1e-12))), 1e6)
    return (
        f"noise on the {what} is about {factor:.2g} times the data's own uncertainty; {_halving(release)}",
    )


def _pairs(release: Release) -> str:
    return ", ".join(f"({float(low):g}, {float(high):g})" for low, high in release.domain.bounds or ())


def _halving(release: Release) -> str:
    """Say which budget would halve the noise."""
    budgets = release.guarantees.get("statistics", release.guarantee).budgets()
    if "rho" in budgets:
        return f"rho = {plain(4 * budgets['rho'])} would halve it"
    return f"epsilon = {plain(2 * budgets['epsilon'])} would halve it"


def _word(family: Family) -> str:
    word = family.name.replace("_", " ")
    # named after somebody
    return word.capitalize() if word in ("poisson", "laplace", "bernoulli") else word


def given(release: Release) -> str:
    """Say what a posterior takes for granted, for a line that begins with "exact, given that"."""
    model = release.model
    if not isinstance(model, Family):
        return f"the {model.name.replace('_', ' ')} model holds"
    if not model.has_numbers:
        return "the records are independent"
    return f"the column{'s are' if model.n_columns > 1 else ' is'} {_word(model)}"
