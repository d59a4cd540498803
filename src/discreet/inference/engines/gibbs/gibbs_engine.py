"""The gibbs engine: the central-limit law of the sums, sampled coherently, for every family.

Bernstein and Sheldon's model (2018) with their misprints mended and one law in place of two incompatible conditionals:
the sums are normal given theta, the noise is a mixture of normals, and p(theta | y) is sampled with the sums integrated
out. With one or two unknowns the noise variances are integrated out too and a tree of cells proposes
(:mod:`discreet.inference.engines.gibbs.tree`); otherwise many short chains do the work
(:mod:`discreet.inference.engines.gibbs.walkers`). The paper's own sampler, corrected, is in
:mod:`discreet.inference.engines.gibbs.plain`. The cost does not depend on the number of records.
"""

from __future__ import annotations

import numpy as np

from discreet.artifact import Release
from discreet.inference.engine import Answer, Engine, Question
from discreet.inference.engines.gibbs import skewness, tree, walkers
from discreet.inference.engines.gibbs.box import MOST_COLUMNS
from discreet.inference.engines.gibbs.feature_moments import has_moments
from discreet.inference.engines.gibbs.target import Target
from discreet.inference.engines.gibbs.unconstrain import has_chart

#: Fewest records for which the central limit has been shown calibrated; whether it holds is asked of the draws too.
LEAST_RECORDS = 200

APPROXIMATION = "central limit for the sums"


def refusal(release: Release) -> str | None:
    """Return why this engine cannot read the release, or None if it can."""
    family = release.family
    if not has_chart(family.prior_type):
        return f"the gibbs engine has no coordinates for the prior of {family.name}"
    columns = family.n_columns
    if not has_moments(family):
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
    """Draw from the posterior under the central-limit law."""
    target, x, doubts = coordinates(question)
    return Answer(target.theta(x), APPROXIMATION, _too_few(question) + doubts, independent=False)


def coordinates(question: Question) -> tuple[Target, np.ndarray, tuple[str, ...]]:
    """Return the target, draws from it in its own coordinates, and doubts about them."""
    target = Target(question)
    x, doubts = None, ()
    if tree.applies(target):
        x = tree.sample(target, question.size, question.chains, question.rng)
    if x is None:
        x, doubts = walkers.sample(target, question.size, question.chains, question.rng)
    return target, x, (*skewness.doubts(question.release, target, x), *doubts)


def _too_few(question: Question) -> tuple[str, ...]:
    """Return a warning if the number of records is below what the approximation was checked for."""
    n = question.release.records
    if n is None:
        most = question.records.high
        if most is not None and most < LEAST_RECORDS:
            n = most
    if n is None or n >= LEAST_RECORDS:
        return ()
    return (f"a central limit for {n} records; it has been shown calibrated from {LEAST_RECORDS} records on",)


GIBBS = Engine("gibbs", refusal, draw, predicted_seconds)
