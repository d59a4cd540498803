r"""Whether noise or the table speaks in a release of a regression, told from the release alone.

The noisy covariance matrix of the terms is that of the table plus a symmetric matrix of noise. Slopes solve equations
with it, so they are known only if noise is small beside its least eigenvalue, along the vector in which the terms vary
least. Noise *dominates* if that eigenvalue is less than two standard deviations of the noise in its direction above 0:
then the table might as well have collinear terms, and what is said of slopes is said by the prior.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.artifact import Release
from discreet.inference.engine import Question
from discreet.inference.regression.moment_readings import Readings
from discreet.models.regression import Regression, bounds_of
from discreet.privacy import PureDP

# standard deviations of the noise that the least eigenvalue should be above 0
CLEAR = 2.0
# an eigenvalue of features that hardly vary, on mapped bounds; what is asked for is enough for it
_USUAL = 0.03
# on mapped bounds: a mean this near to one has nearly all values there; noise below this tells so
_AT_A_BOUND, _TELLS = 0.01, 0.03
# a larger factor is not told from so noisy moments
_MOST_TIMES = 10.0


def clearance(readings: Readings, n: float) -> tuple[float, float]:
    """Return the least eigenvalue of the noisy covariance of all terms, and the sd of the noise in its direction."""
    _, covariance = readings.at_face_value(n)
    mean_sds, product_sds = readings.sds
    # directions are compared in units in which the terms vary alike; how much a term varies is not known below noise
    scale = np.sqrt(np.maximum(np.diag(covariance), np.maximum(np.diag(product_sds) / n, 1e-4)))
    spectrum, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    v = vectors[:, 0] / scale
    mean = np.clip(readings.means / n, -1, 1)
    weights = np.outer(v, v) ** 2
    factor = 2.0 - np.eye(len(v))
    variance = (np.tril(weights * factor**2) * product_sds**2).sum()
    variance += ((2 * v * (v @ mean)) ** 2 * mean_sds**2).sum()
    return float(spectrum[0]), math.sqrt(variance) / n


def noise_headline(question: Question, readings: Readings, counts: np.ndarray) -> str:
    """Return a sentence if noise dominates, with the budget or the number of records that would change it."""
    n = float(np.median(counts))
    least, sd = clearance(readings, n)
    if least > CLEAR * sd:
        return ""
    times = max(CLEAR * sd / max(least, _USUAL), 1.1)
    capped = times > _MOST_TIMES
    times = min(times, _MOST_TIMES)
    promised = question.release.guarantees["statistics"]
    if isinstance(promised, PureDP):
        budget = f"epsilon = {_rounded(float(promised.epsilon) * times)}"
    else:
        rho = getattr(promised, "rho", None)
        budget = (
            f"rho = {_rounded(float(rho) * times**2)}" if rho is not None else f"{times:.2g} times less noise"
        )
    records = f"{_rounded(n * times)} records"
    needed = (
        f"more than {budget} and more than {records} are needed, unless a feature hardly varies within its bounds"
        if capped
        else f"about {budget}, or {records}, would change that"
    )
    return (
        "noise dominates: the noisy moments are not clearly those of any table, and what is said of slopes is mostly "
        f"the prior's; {needed}"
    )


def columns_at_a_bound(release: Release, n: float) -> tuple[str, ...]:
    """Return a warning for each column of numbers whose noisy mean is at a bound, as far as noise tells."""
    model = release.model.require(Regression, "sums of products are read of a regression")
    readings = Readings.of(release)
    sds = readings.sds[0] / n
    near = (1 - np.abs(readings.means / n) < np.maximum(_AT_A_BOUND, 2 * sds)) & (sds < _TELLS)
    found = [
        model.design.by_name[term.numbers[0]]
        for term, is_near in zip(model.design.terms, near, strict=True)
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
