"""Warnings about a posterior, from noisy values and draws alone, so that they cost nothing.

They say where the release does not bear out what the model takes for granted, and where noise drowns the data.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.artifact import Release
from discreet.domain.declarations import REDACTED
from discreet.inference.engine import Answer, Question
from discreet.inference.record_prior import closest
from discreet.rational import plain

# A prior on records this many standard deviations of the noise away from the reading deserves a warning.
_FAR = 6.0
# The smaller part has at least this share of the draws, and the gap is this many times wider than either is spread.
_LEAST_SHARE = 0.005
_WIDE = 1.5
#: Records beyond a quantile times the price of the bounds: posteriors were shown calibrated up to this. Where it is
#: larger the bounds follow the rows closely, and what they say is counted twice.
MOST_PRECISE = 7.5

# A usable count this many standard deviations of its noise below half of the records is far below them.
_SURE = 4.0
# Draws that records are simulated from, records for each, and shares of them outside the bounds: on average, and under
# nine draws in ten.
_DRAWS, _RECORDS = 60, 100
_OUTSIDE, _LEAST_OUTSIDE = 0.1, 0.05
# Noise, in units of the data's own uncertainty, that is worth a word.
_LARGE, _MANY = 1.0, 100
# A mean this near to a bound, as a share of their distance, has nearly all values there.
_AT_A_BOUND = 0.005
# Records whose standard deviation is below this, where the bounds are from -1 to 1, use a small part of them; a column
# is drowned if noise is so many times the data's own uncertainty. Of a family the prior keeps that up if bounds are far
# too wide: less noise counts then, and a small part of the bounds does.
_NARROW, _DROWNS = 0.15, 3.0
_TINY_PART, _DROWNS_FAMILY = 0.06, 1.2
# An interval of the mean over so much of the bounds says next to nothing.
_NOTHING = 1 / 3

_FIXED = "the bounds were bought privately from the same records and are treated as fixed"


def warnings_about(question: Question, answer: Answer, engine: str) -> tuple[str, ...]:
    """Return warnings about the model, its prior on records, and the release, whose noise a naive engine ignores."""
    release = question.release
    if release.samples is not None:
        return _two_modes(release, answer.draws)
    return (
        *_two_modes(release, answer.draws),
        *_bought_bounds(release),
        *_record_prior(question),
        *(() if engine == "naive" else _about_release(release, answer)),
    )


def few_usable(release: Release) -> tuple[str, ...]:
    """Return a warning if hardly a value was usable; for the curator's screen too, since the count is public."""
    n = release.records
    if release.samples is not None or release.foreign or release.domain.missing != "count":
        return ()
    reading = usable_reading(release)
    if reading is None:
        return ()
    read, sd = reading
    if n is None or release.where:
        # of a group, or of what a filter keeps, nobody knows how many there should be: more than none
        if read > 2 * sd:
            return ()
        what = "the filter" if release.where else "a label"
        return (
            f"no more records were counted than noise alone would make (about {max(round(read), 0):,}, give or take "
            f"{2 * sd:,.0f}): is {what} or the column wrong, or is nobody there?",
        )
    if read + _SURE * sd >= n / 2:
        return ()
    about = min(max(round(read), 0), n)
    were = "was" if about == 1 else "were"
    return (f"about {about:,} of {n:,} values {were} usable: are the labels or the column right?",)


def usable_reading(release: Release) -> tuple[float, float] | None:
    """Return the noisy usable count and the standard deviation of its noise; None if it was not released."""
    names = release.totals.names
    if release.layout.rows:
        # one combination of the coordinates: one of them, or the sum of the cells
        weights = release.layout.usable_weights()
    elif names[-1] == "usable":
        weights = np.eye(len(names))[-1]
    else:
        return None
    steps = weights * release.totals.steps
    noise = sum(
        (step * distribution.sd) ** 2 for step, distribution in zip(steps, release.noise, strict=False)
    )
    return float(steps @ np.array(release.totals.values, dtype=float)), float(np.sqrt(noise))


def _about_release(release: Release, answer: Answer) -> tuple[str, ...]:
    """Return warnings about what was released: few usable values, redaction, records out of bounds, noise."""
    said = few_usable(release)
    if said and release.records is not None and not release.where:
        # what else there is to say follows from that
        return said
    if release.model.has_numbers and release.domain.outside == "redact":
        said += (REDACTED,)
    if answer.table is not None and "mean" in answer.table:
        return (*said, *_mean_drowned(release, answer.draws["sd"], answer.table))
    if not release.model.can_sample:
        return said + _regressed_at_a_bound(release)
    usable = release.noisy_sums()[1]
    if not release.model.has_numbers:
        return (*said, *_labels_drowned(release, answer.draws, usable))
    if release.domain.bounds is None or not set(release.family.draw_names) <= set(answer.draws):
        return said
    records = _simulated(release, answer.draws)
    return (*said, *_out_of_bounds(release, records), *_numbers_drowned(release, records, usable))


def _mean_drowned(release: Release, sd: np.ndarray, table: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Return warnings if noise moves the mean of a table further than chance does."""
    if release.domain.bounds is None:
        return ()
    ((low, high),) = np.array(release.domain.bounds, dtype=float)
    usable, spread = float(np.median(table["usable"])), float(np.median(sd))
    place = (float(np.median(table["mean"])) - low) / (high - low)
    if min(place, 1 - place) < _AT_A_BOUND and usable > 0:
        return (
            f"nearly all values seem to be at a bound of {_pairs(release)}, beyond it, or so near that noise drowns "
            "the column: are these the bounds of this column, in its units?",
        )
    alike = float(np.median(table.get("design_effect", 1.0)))
    noise, scatter = float(np.var(table["mean"])), alike * spread**2 / max(usable, 1.0)
    said = _words(release, "mean", noise, scatter)
    ends = np.quantile(table["mean"], [0.025, 0.975])
    share = float(ends[1] - ends[0]) / (high - low)
    if share > _NOTHING:
        return (
            *said,
            f"noise drowns the column: the table's mean may be anywhere in {share:.0%} of {_pairs(release)}",
        )
    if not said or spread >= _NARROW * (high - low) / 2:
        return said
    return said + _too_wide(release, drowned=noise > _DROWNS**2 * scatter)


def _regressed_at_a_bound(release: Release) -> tuple[str, ...]:
    """Return warnings about columns of a regression that lie at a bound; the sums of a step do not tell."""
    if release.model.summary != "products":
        return ()
    from discreet.inference.regression.noise_share import columns_at_a_bound

    reading = usable_reading(release)
    n = float(release.records or 0) if reading is None else reading[0]
    return columns_at_a_bound(release, n) if n >= 1 else ()


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
        f"{release.model.in_words}, or the bounds are too narrow",
    )


def _labels_drowned(release: Release, draws: Mapping[str, np.ndarray], usable: float) -> tuple[str, ...]:
    """Return a warning if the noise on the counts is wider than they scatter by themselves."""
    p = np.mean(draws["p"], axis=0) if "p" in draws else np.zeros(0)
    scatter = usable * float(np.sum(p * (1 - p)))
    distributions = [
        distribution
        for name, distribution in zip(release.totals.names, release.noise, strict=False)
        if name != "usable"
    ]
    if p.ndim == 0:
        # one count: its double, z = 2 yes - u, is released, or both counts are
        scatter *= 4 if release.records is not None else 2
    return _words(release, "counts", sum(distribution.sd**2 for distribution in distributions), scatter)


def _numbers_drowned(release: Release, records: np.ndarray, usable: float) -> tuple[str, ...]:
    """Return warnings if the noise on the sum of a column is wider than it scatters by itself."""
    family = release.family
    if family.n_columns > 1 or not release.totals.shift or not release.totals.half:
        return ()
    bounds = release.domain.bounds
    if bounds is None:
        return ()
    low, high = (float(v) for v in bounds[0])
    z = (family.measure(np.clip(records[..., 0], low, high)) - float(release.totals.shift[0])) / float(
        release.totals.half[0]
    )
    spread = float(np.median(z.var(axis=1)))
    # sums of z and of its square are combinations of the released coordinates
    rows = release.layout.matrix
    weights = np.linalg.lstsq(rows.T, np.eye(rows.shape[1])[:, 1:], rcond=None)[0]
    steps = weights * release.totals.steps[:, None]
    noise = sum(
        (step * distribution.sd) ** 2 for step, distribution in zip(steps[:, 0], release.noise, strict=True)
    )
    if steps.shape[1] == 2 and usable > 0:
        # a prior on the scale of wide bounds keeps the posterior's spread up: what was released may be less
        first, second = np.array(release.totals.values, dtype=float) @ steps / usable
        spread = min(spread, max(float(second - first**2), 0.0))
    said = _words(release, "sum", float(noise), usable * spread)
    # records that the bounds cut are alike too
    if said and spread < _NARROW**2 and np.mean(np.abs(z) >= 1) < 0.5:
        loud = float(noise) > _DROWNS_FAMILY**2 * usable * spread
        said += _too_wide(release, drowned=loud or spread < _TINY_PART**2)
    return said


def _too_wide(release: Release, *, drowned: bool) -> tuple[str, ...]:
    how = "so wide that noise drowns the column" if drowned else "wide for this column"
    return (
        f"the bounds {_pairs(release)} are {how}: narrower ones, from public knowledge, bring less noise in proportion",
    )


def _words(release: Release, what: str, noise: float, scatter: float) -> tuple[str, ...]:
    """Say that noise of this variance is larger than the variance that the data have by themselves, if it is."""
    if not noise > _LARGE**2 * scatter:
        return ()
    factor = float(np.sqrt(noise / max(scatter, 1e-12)))
    times = f"about {factor:.2g}" if factor < _MANY else f"more than {_MANY}"
    return (f"noise on the {what} is {times} times the data's own uncertainty; {_halving(release)}",)


def _pairs(release: Release) -> str:
    return ", ".join(f"({float(low):g}, {float(high):g})" for low, high in release.domain.bounds or ())


def _halving(release: Release) -> str:
    """Say which budget of the release would halve the noise; a fit check takes its share of that too."""
    if release.foreign:
        return "whoever published them added it"
    budgets = release.guarantees.get("statistics", release.guarantee).budgets()
    more = release.guarantees["fit_check"].budgets() if "fit_check" in release.guarantees else {}
    if "rho" in budgets:
        return f"rho = {plain(4 * (budgets['rho'] + more.get('rho', 0)))} would halve it"
    whose = " per unit" if "diameter" in budgets else ""
    return f"epsilon = {plain(2 * (budgets['epsilon'] + more.get('epsilon', 0)))}{whose} would halve it"


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
    # squares of absurd draws, as of a naive reading, must not overflow
    unit = max(abs(x[0]), abs(x[-1]), 1.0)
    if not (high[0] - low[-1]) / unit > _WIDE * max((low / unit).std(), (high / unit).std()):
        return None
    return float(np.median(low)), float(np.median(high)), low.size / x.size


def _bought_bounds(release: Release) -> tuple[str, ...]:
    """Return a note if the bounds were bought, and a warning if they were bought more precisely than was checked.

    The chance of a bound that is wrong by some records depends on their number times its price alone
    (``studies/quantile_budget.py`` shows what follows).
    """
    if release.bounds_choice is None:
        return ()
    n = release.noisy_sums()[1] if release.records is None else release.records
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
    """Return a warning if the prior on records, or on missing ones, is far from what the release says of them."""
    release, reading = question.release, usable_reading(question.release)
    if reading is None or (release.records is not None and question.missing is None):
        return ()
    read, sd = round(reading[0]), reading[1]
    if question.missing is not None:
        prior, low, high = "missing", question.missing.low, question.missing.high
        first, last = question.missing.likely
        low, high = (max(low, first), min(high, last)) if first <= last else (low, high)
        gap = max(low - read, read - high, 0)
    else:
        prior = "records"
        gap = abs(closest(question.records, float(read)) - read)
    if gap <= _FAR * sd + 1:
        return ()
    return (
        f"the prior on {prior} contradicts the release, which counts about {max(read, 0):,} usable records "
        f"(give or take {2 * sd:,.0f})",
    )
