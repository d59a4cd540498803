r"""The gibbs engine: the central-limit distribution of the sums, sampled coherently, for every family.

Bernstein and Sheldon's model (2018) with their misprints mended and one distribution in place of two incompatible
conditionals: the sums are normal given theta, the noise is a mixture of normals, and p(theta | y) is sampled with the
sums integrated out. With one or two unknowns the noise variances are integrated out too and a tree of cells proposes
(:mod:`discreet.inference.engines.gibbs.cell_tree`); otherwise many short chains do the work
(:mod:`discreet.inference.engines.gibbs.walkers`). The paper's own sampler, corrected, is in
:mod:`discreet.inference.engines.gibbs.plain`. The cost does not depend on the number of records.

Whether a central limit for the sums can be trusted is judged at the posterior's own draws.
Given theta, reading j is the sum of u independent terms of variance v and third cumulant c, plus noise of variance w.
Two numbers say how far its distribution is from the one that the engine uses:

* c u / (u v + w)^(3/2), the skewness of the **reading**. The error of the limit is of that order (Edgeworth), and wide
  noise makes it small.
* c / (v^(3/2) u^(1/2)), the skewness of the **sum** alone, which for rare events is one over the root of their expected
  number. If it is large the sum sits at the edge of its range. The normal distribution then allows sums that cannot be,
  and that is felt in the tails also where the reading is skewed a little only.

Doubtful is a large product of the two, or a sum at the edge behind noise that does not drown it. The limits were set on
438 settings of Bernoulli, categorical, Poisson and exponential columns (n from 200 to 10,000, epsilon from 0.1 to 10,
weak and strong priors) by comparing the 5, 25, 50, 75 and 95% quantiles with those of the exact engine, in posterior
standard deviations, and the distribution functions. Of settings in which they differ by more than 0.1, or 0.04, 98% are
warned of, and of those in which they agree within 0.05 and 0.02, 3%. A slow test does it again on other ones.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from discreet.artifact import Release
from discreet.families.base import Theta
from discreet.inference.engine import Answer, Engine, Question
from discreet.inference.engines.gibbs import cell_tree, walkers
from discreet.inference.engines.gibbs.box import MOST_COLUMNS
from discreet.inference.engines.gibbs.feature_moments import MOMENTS, affine_map, column_records
from discreet.inference.engines.gibbs.target import Target
from discreet.inference.engines.gibbs.unconstrain import TRANSFORMS

#: Fewest records for which the central limit has been shown calibrated; whether it holds is asked of the draws too.
LEAST_RECORDS = 200

APPROXIMATION = "central limit for the sums"

#: Largest product of the skewness of a sum and that of its reading.
PRODUCT = 0.03
#: Skewness of a sum that is at the edge of its range, where fewer than four of a rare event are expected; and the
#: largest skewness of its reading.
EDGE, AT_EDGE = 0.5, 0.02
# Draws that are looked at, and records simulated for each where there is no quadrature.
_DRAWS, _FEW_DRAWS, _RECORDS = 400, 50, 2000


def refusal(release: Release) -> str | None:
    """Return why this engine cannot read the release, or None if it can."""
    family = release.family
    if family.prior_type not in TRANSFORMS:
        return f"the gibbs engine has no coordinates for the prior of {family.name}"
    columns = family.n_columns
    if columns > 1 and family.closed_form(MOMENTS) is None:
        return f"the gibbs engine does not integrate over the {columns} columns of {family.name}"
    if columns > MOST_COLUMNS:
        return (
            f"the gibbs engine integrates over at most {MOST_COLUMNS} columns, and this release has {columns}"
        )
    return None


def predicted_seconds(question: Question) -> float:
    """Return roughly how long a call will take."""
    columns = question.release.family.n_columns
    if columns > 1:
        return 1.5 if columns == 2 else 20.0
    n_readings = len(question.release.totals.values)
    return 0.05 + 0.01 * n_readings**2


def draw(question: Question) -> Answer:
    """Draw from the posterior under the central-limit distribution."""
    target, x, warnings = coordinates(question)
    return Answer(
        target.theta(x),
        APPROXIMATION,
        (*_too_few(question), *warnings),
        independent=False,
        more_warnings=partial(skewness_warnings, question.release, target, x),
    )


def coordinates(question: Question) -> tuple[Target, np.ndarray, tuple[str, ...]]:
    """Return the target, draws from it in its own coordinates, and warnings about how they were drawn."""
    target = Target(question)
    x, warnings = None, ()
    # few unknowns, and readings whose noise can be integrated out
    if target.dim <= cell_tree.MOST_DIM and target.collapses:
        x = cell_tree.sample(target, question.size, question.chains, question.rng)
    if x is None:
        x, warnings = walkers.sample(target, question.size, question.chains, question.rng)
    return target, x, warnings


def _too_few(question: Question) -> tuple[str, ...]:
    """Return a warning if the number of records is below what the approximation was checked for."""
    n = question.records.high if question.release.records is None else question.release.records
    if n is None or n >= LEAST_RECORDS:
        return ()
    return (f"a central limit for {n} records; it has been shown calibrated from {LEAST_RECORDS} records on",)


def skewness_warnings(release: Release, target: Target, x: np.ndarray) -> tuple[str, ...]:
    """Return a warning if the central limit is doubtful for a released sum, at draws ``x`` of coordinates."""
    most = _FEW_DRAWS if release.family.n_columns > 1 else _DRAWS
    x = x[:: max(len(x) // most, 1)]
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        of_sum, of_reading = _skewness(release, target, x)
    # the middle of the draws says where the sum is, the upper tenth how much it matters
    of_sum, of_reading = np.median(of_sum, axis=0), np.quantile(of_reading, 0.9, axis=0)
    doubtful = (of_sum * of_reading > PRODUCT) | ((of_sum > EDGE) & (of_reading > AT_EDGE))
    if not doubtful.any():
        return ()
    worst = int(np.argmax(np.where(doubtful, of_reading, -1.0)))
    where = "is at the edge of its range" if of_sum[worst] > EDGE else "is skewed"
    return (
        f"a central limit for the released sum {release.layout.names[worst]:.60}, which {where} (skewness "
        f"{of_sum[worst]:.2g}): quantiles may be off; the exact and augment engines, where they apply, need no limit",
    )


def _skewness(release: Release, target: Target, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the absolute skewness of the sums and of the readings, draws by readings; 0 where there is no sum."""
    features, probability = _records(release, target.theta(x))
    each = features @ target.readings.of_features.T
    rest = np.maximum(1 - probability.sum(axis=1), 0.0)[:, None]
    mean = np.einsum("dp,dpr->dr", probability, each)
    off = each - mean[:, None]
    # redacted records are zeros
    variance = np.einsum("dp,dpr->dr", probability, off**2) + rest * mean**2
    third = np.abs(np.einsum("dp,dpr->dr", probability, off**3) - rest * mean**3)
    u = target.usable(x)[:, None]
    of_reading = u * third / (u * variance + target.readings.noise_variance) ** 1.5
    of_sum = third / (variance**1.5 * np.sqrt(u))
    usable = (variance > 0) & (u > 0)
    return np.where(usable, of_sum, 0.0), np.nan_to_num(of_reading)


def _records(release: Release, theta: Theta) -> tuple[np.ndarray, np.ndarray]:
    """Return features of possible records, draws by points by features, and the probabilities of the points."""
    family = release.family
    if family.vocabulary is not None:
        p = theta["p"]
        if p.ndim == 1:
            return np.broadcast_to([[-1.0], [1.0]], (len(p), 2, 1)), np.stack([1 - p, p], axis=1)
        return np.broadcast_to(np.eye(p.shape[1]), (len(p), *p.shape[1:] * 2)), p
    if family.n_columns > 1:
        return _simulated(release, theta)
    return column_records(release)(theta)


def _simulated(release: Release, theta: Theta) -> tuple[np.ndarray, np.ndarray]:
    """Return equally probable records of several columns, as far as they are not redacted."""
    shift, half = affine_map(release)
    values, vectors = np.linalg.eigh(theta["covariance"])
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    # the same for every call: a warning is no matter of luck
    standard = np.random.default_rng(0).standard_normal((_RECORDS, len(half)))
    z = (theta["normal_mean"][:, None] + standard @ root.swapaxes(1, 2) - shift) / half
    inside = (np.abs(z) <= 1).all(axis=2) | (release.domain.outside == "clip")
    z = np.clip(z, -1.0, 1.0)
    features = np.stack(release.family.geometry.features(list(np.moveaxis(z, -1, 0))), axis=-1)
    return features, np.asarray(inside / _RECORDS)


GIBBS = Engine("gibbs", refusal, draw, predicted_seconds)
