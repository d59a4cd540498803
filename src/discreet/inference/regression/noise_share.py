r"""Whether noise or the table speaks in a release of a regression, told from the release alone.

The noisy covariance matrix of the terms is that of the table plus a symmetric matrix of noise. Slopes solve equations
with that of the features, so they are known only if noise is small beside its least eigenvalue, along the vector in
which the features vary least. Noise *dominates* if that eigenvalue is less than two standard deviations of the noise in
its direction above 0: then the table might as well have collinear features, and what is said of slopes is said by the
prior. The same of all terms, the target too, decides whether anything is known of what is left unexplained.
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
# how unlikely it should be that half of the records are usable, to ask whether labels and columns are right
_UNLIKELY = 0.025
# the part of a direction from which on a term is named, and how many are
_CONCERNED, _LISTED = 0.1, 3
# the variance of a term that hardly varies, on mapped bounds; records for each coefficient that are few
_STILL, _FEW = 0.01, 5
# on mapped bounds: a mean this near to one has nearly all values there; noise below this tells so
_AT_A_BOUND, _TELLS = 0.01, 0.03
# features from which on Gaussian noise is much smaller than Laplace noise at budgets that are alike
_MANY = 3
# a larger factor is not told from so noisy moments
_MOST_TIMES = 10.0


def square_sds(readings: Readings) -> np.ndarray:
    """Return the noise's sd on the sum of each term's square, or on the sum that it repeats."""
    mean_sds, product_sds = readings.sds
    found = np.diag(product_sds).copy()
    for j in np.flatnonzero(readings.tied.diagonal()):
        a, b = readings.other[j, j]
        if b > 0:
            found[j] = mean_sds[b - 1] if a == 0 else product_sds[a - 1, b - 1]
    return found


def clearance(readings: Readings, n: float) -> tuple[float, float, np.ndarray]:
    """Return the least eigenvalue of the noisy covariance, the noise's sd along it, and its direction.

    They are in units in which the terms vary alike; the direction is the vector v of mapped terms with the eigenvalue
    v'Cv, C their covariance matrix.
    """
    mean, covariance = readings.at_face_value(n)
    mean_sds, product_sds = readings.sds
    scale = _scale(readings, n)
    spectrum, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    v = vectors[:, 0] / scale
    # slopes of v'Cv along the sums; what a tied product repeats moves it in its stead
    of_means, of_products = (
        -2 * v * (v @ np.clip(mean, -1, 1)),
        np.tril(np.outer(v, v) * (2 - np.eye(len(v)))),
    )
    for j, k in np.argwhere(np.tril(readings.tied)):
        a, b = readings.other[j, k]
        if a == 0 and b > 0:
            of_means[b - 1] += of_products[j, k]
        elif a > 0:
            of_products[max(a, b) - 1, min(a, b) - 1] += of_products[j, k]
        of_products[j, k] = 0.0
    variance = (of_products**2 * product_sds**2).sum() + (of_means**2 * mean_sds**2).sum()
    return float(spectrum[0]), math.sqrt(variance) / n, v


def _scale(readings: Readings, n: float) -> np.ndarray:
    """Return how much each term varies: no less than noise tells, so that one that may be constant is found."""
    _, covariance = readings.at_face_value(n)
    return np.sqrt(np.maximum(np.diag(covariance), np.maximum(_BELOW * _variance_sds(readings, n), 1e-4)))


def _variance_sds(readings: Readings, n: float) -> np.ndarray:
    """Return the noise's sd on each term's variance: of a sign only the mean is noisy."""
    mean = np.clip(readings.means / n, -1, 1)
    return np.hypot(square_sds(readings), 2 * mean * readings.sds[0]) / n


def noise_headline(question: Question, readings: Readings, counts: np.ndarray, usable: np.ndarray) -> str:
    """Return a sentence if few records are usable, or if noise hides the slopes: which terms, and what would tell.

    ``readings`` are of the terms on which the slopes depend. ``counts`` are draws of what the sums are divided by, and
    ``usable`` of the number of usable records.
    """
    release, people = question.release, float(np.median(usable))
    few, hardly = few_usable(release), people < _FEW * (readings.size + 1)
    if few:
        return few[0]
    said = "" if hardly else _hidden(release, readings, float(np.median(counts)), people)
    if release.records and not release.where and np.quantile(usable, 1 - _UNLIKELY) < release.records / 2:
        seem = "seems" if round(people) == 1 else "seem"
        asked = (
            f"about {people:,.0f} of {release.records:,} records {seem} usable: are labels and columns right?"
        )
        return f"{asked} If so, {said}" if said else asked
    if hardly:
        are = "one record is" if round(people) == 1 else f"{people:.0f} records are"
        return f"about {are} usable, hardly enough for a regression: if there should be more, check labels and columns"
    return said


def _hidden(release: Release, readings: Readings, n: float, people: float) -> str:
    """Return a sentence if noise hides the slopes, or nothing."""
    least, sd, v = clearance(readings, n)
    if least > CLEAR * sd:
        return ""
    _, covariance = readings.at_face_value(n)
    # parts of the direction where the terms vary alike
    parts = (v * _scale(readings, n)) ** 2
    concerned = np.flatnonzero(parts >= min(_CONCERNED, 0.5 * parts.max()))
    names = _listed([readings.names[k] for k in concerned])
    # noise is small beside what terms usually vary, by themselves or beside each other
    squares = square_sds(readings)
    noise = np.maximum(readings.sds[0], squares)[concerned].max() / n
    if CLEAR * sd < max(least, _USUAL) or (len(concerned) == 1 and CLEAR * noise < _STILL):
        beside = "by themselves or beside each other, " * (len(concerned) > 1)
        return (
            f"noise dominates: within the declared bounds there is too little variation, {beside}of {names}, and what "
            "is said of slopes there is mostly the prior's; leave one out or narrow its bounds, because a larger "
            "budget hardly helps"
        )
    # the least eigenvalue of a noisy matrix lies below the true one, by about so much in d dimensions
    below = sd * math.sqrt(readings.size - 1)
    usual = 0.0 if least + below > sd else _USUAL * float(v @ v)
    times = (CLEAR * sd + below) / max(least + below, usual)
    capped = times > _MOST_TIMES
    times = min(max(times, 1.1), _MOST_TIMES)
    budget, records = _budget(release, times), f"{_rounded(people * times)} records"
    more = "and perhaps more, " * capped
    # a term that may as well be constant, or terms that may as well be one
    still = (np.diag(covariance) < CLEAR * squares / n)[concerned].any()
    alike = " or repeats the others" * (len(concerned) > 1)
    unless = f", unless one of them hardly varies within its bounds{alike}" * bool(capped or still or usual)
    other = "; for so many terms Gaussian noise (rho=) is much smaller" * _pays_by_coordinate(
        release, readings
    )
    return (
        f"noise dominates: the noisy moments are not clearly those of any table, and what is said of {names} is "
        f"mostly the prior's; at least about {budget}, or {records}, {more}are needed{unless}{other}"
    )


def _pays_by_coordinate(release: Release, readings: Readings) -> bool:
    """Return whether the noise is Laplace's on each sum, of so many terms that Gaussian noise is much smaller."""
    by_coordinate = release.noise[0].kind == "laplace" and release.mechanism.joint(release) is None
    return by_coordinate and readings.size >= _MANY


def residual_headline(readings: Readings, counts: np.ndarray) -> str:
    """Return a sentence if noise hides how much of the target, the last of the terms, is left unexplained."""
    n = float(np.median(counts))
    least, sd, _ = clearance(readings, n)
    if least > CLEAR * sd:
        return ""
    still = readings.at_face_value(n)[1][-1, -1] < CLEAR * _variance_sds(readings, n)[-1]
    return (
        f"noise dominates what the features leave unexplained of {readings.names[-1]!r:.60}: its residual sd and R^2 "
        "lean on the prior, slopes hardly; a larger budget or more records would tell"
        + ", unless it hardly varies within its bounds"
        * bool(still)
    )


def _budget(release: Release, times: float) -> str:
    """Return the budget of ``times`` less noise."""
    promised = release.guarantees["statistics"]
    if isinstance(promised, PureDP):
        return f"epsilon = {_rounded(float(promised.epsilon) * times)}"
    rho = getattr(promised, "rho", None)
    return f"rho = {_rounded(float(rho) * times**2)}" if rho is not None else f"{times:.2g} times less noise"


def _listed(names: Sequence[str]) -> str:
    """Return three names, as people list them, and whether there are others."""
    some = [f"{name!r:.60}" for name in names[:_LISTED]] + ["others"] * (len(names) > _LISTED)
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
