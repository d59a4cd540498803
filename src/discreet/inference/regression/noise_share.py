r"""Whether noise or the table speaks in a release of a regression, told from the release alone.

The noisy covariance matrix of the terms is that of the table plus a symmetric matrix of noise. Slopes solve equations
with it, so they are known only if noise is small beside its least eigenvalue, along the vector in which the terms vary
least. Noise *dominates* if that eigenvalue is less than two standard deviations of the noise in its direction above 0:
then the table might as well have collinear terms, and what is said of slopes is said by the prior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.artifact import Release
from discreet.inference.cautions import few_usable
from discreet.inference.engine import Question
from discreet.inference.regression.moment_readings import Readings
from discreet.models.regression import Regression, bounds_of
from discreet.privacy import PureDP

# standard deviations of the noise that the least eigenvalue should be above 0
CLEAR = 2.0
# an eigenvalue of features that hardly vary, on mapped bounds; what is asked for is enough for it
_USUAL = 0.03
# standard deviations of the noise below which a term's variance is no unit to measure it in
_BELOW = 4.0
# the part of a direction from which on a term is named
_CONCERNED = 0.1
# the variance of a term that hardly varies, on mapped bounds; records for each term that are few
_STILL, _FEW = 0.01, 5
# on mapped bounds: a mean this near to one has nearly all values there; noise below this tells so
_AT_A_BOUND, _TELLS = 0.01, 0.03
# a larger factor is not told from so noisy moments
_MOST_TIMES = 10.0


def clearance(readings: Readings, n: float) -> tuple[float, float, np.ndarray]:
    """Return the least eigenvalue of the noisy covariance of all terms, the noise's sd along it, and each term's part.

    The parts are those of the direction in which the terms vary least, in units in which they vary alike, squared.
    """
    _, covariance = readings.at_face_value(n)
    mean_sds, product_sds = readings.sds
    # how much a term varies is not known below noise: one that may be constant is to be the least direction
    scale = np.sqrt(np.maximum(np.diag(covariance), np.maximum(_BELOW * np.diag(product_sds) / n, 1e-4)))
    spectrum, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    v = vectors[:, 0] / scale
    mean = np.clip(readings.means / n, -1, 1)
    weights = np.outer(v, v) ** 2
    factor = 2.0 - np.eye(len(v))
    variance = (np.tril(weights * factor**2) * product_sds**2).sum()
    variance += ((2 * v * (v @ mean)) ** 2 * mean_sds**2).sum()
    return float(spectrum[0]), math.sqrt(variance) / n, vectors[:, 0] ** 2


def noise_headline(question: Question, readings: Readings, counts: np.ndarray) -> str:
    """Return a sentence if noise dominates: which terms it hides, and the budget or records that would change it."""
    n, few = float(np.median(counts)), few_usable(question.release)
    if few:
        return few[0]
    if n < _FEW * readings.size:
        return (
            f"about {n:.0f} records are usable, hardly enough for {readings.size} terms: if there should be more, "
            "check labels and columns"
        )
    least, sd, parts = clearance(readings, n)
    if least > CLEAR * sd:
        return ""
    mean_sds, product_sds = readings.sds
    _, covariance = readings.at_face_value(n)
    concerned = np.flatnonzero(parts > _CONCERNED)
    names = _listed([readings.names[k] for k in concerned])
    times = CLEAR * sd / max(least, _USUAL)
    # noise is small beside what terms usually vary, by themselves or beside each other
    noise = np.maximum(mean_sds, np.diag(product_sds))[concerned].max() / n
    if times < 1 or (len(concerned) == 1 and CLEAR * noise < _STILL):
        beside = "by themselves or beside each other, " * (len(concerned) > 1)
        return (
            f"noise dominates: within the declared bounds there is too little variation, {beside}of {names}, and what "
            "is said of slopes there is mostly the prior's; leave one out or narrow its bounds, because a larger "
            "budget hardly helps"
        )
    capped = times > _MOST_TIMES
    times = min(max(times, 1.1), _MOST_TIMES)
    budget, records = _budget(question.release, times), f"{_rounded(n * times)} records"
    needed = (
        f"more than {budget} and more than {records}" if capped else f"at least about {budget}, or {records},"
    )
    # a term that may as well be constant
    still = (np.diag(covariance) < CLEAR * np.diag(product_sds) / n)[concerned].any()
    unless = ", unless one of them hardly varies within its bounds" * bool(capped or still)
    return (
        "noise dominates: the noisy moments are not clearly those of any table, and what is said of the slopes of "
        f"{names} is mostly the prior's; {needed} are needed{unless}{_seem_usable(question.release, n)}"
    )


def _budget(release: Release, times: float) -> str:
    """Return the budget of ``times`` less noise."""
    promised = release.guarantees["statistics"]
    if isinstance(promised, PureDP):
        return f"epsilon = {_rounded(float(promised.epsilon) * times)}"
    rho = getattr(promised, "rho", None)
    return f"rho = {_rounded(float(rho) * times**2)}" if rho is not None else f"{times:.2g} times less noise"


def _seem_usable(release: Release, n: float) -> str:
    """Return a question if n of the released records, fewer than half, seem usable."""
    if release.records is None or n >= release.records / 2:
        return ""
    return f"; only about {n:.0f} of {release.records:,} records seem usable: are labels and columns right?"


def _listed(names: Sequence[str]) -> str:
    """Return at most three names, as people list them."""
    some = [f"{name!r:.60}" for name in names[:3]]
    return ", ".join(some[:-1]) + " and " * (len(some) > 1) + some[-1]


def columns_at_a_bound(release: Release, n: float) -> tuple[str, ...]:
    """Return a warning for each column of numbers whose noisy mean is at a bound, as far as noise tells."""
    model = release.model.require(Regression, "sums of products are read of a regression")
    readings = Readings.of(release)
    sds = readings.sds[0] / n
    near = (1 - np.abs(readings.means / n) < np.maximum(_AT_A_BOUND, 2 * sds)) & (sds < _TELLS)
    found = [
        model.design.by_name[term.numbers[0]]
        for term, is_near in zip(model.released_design.terms, near, strict=True)
        if term.is_number and is_near
    ]
    return tuple(
        f"nearly all values of {column.name!r:.60} seem to be at a bound of ({low:g}, {high:g}), beyond it, or so near "
        "that noise drowns the column: are these its bounds, in its units?"
        for column in found
        for low, high in [map(float, bounds_of(column))]
    )


def _rounded(value: float) -> str:
    """Return a number rounded up to two digits."""
    power = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / power) * power:,.12g}"
