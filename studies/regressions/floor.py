r"""The least width that noise alone leaves to a slope, by the delta method: what no reading of the release can beat.

Coefficients b solve M b = c, with M the second moments of (1, terms) and c those with the target. Noise E on the sums
moves them, to first order, by M^-1 (E_c - E_M b) / n, which is linear in the noise of each released sum: its quantiles
are simulated, together with the sampling error of least squares. A prior that knows nothing about the slopes cannot
make an interval shorter than that on average.
"""

from __future__ import annotations

import numpy as np

from discreet.curator.publish import sample_with
from discreet.mechanisms import Mechanism
from discreet.samplers.secure import RandomSource

from .populations import Table

_TRIALS = 20_000


def floor(table: Table, n: int, mechanism: Mechanism) -> np.ndarray:
    """Return, for each slope, the width of a 95% interval that only noise and chance move, beside least squares'."""
    # noise is public: that of a release of anything
    rng = np.random.default_rng(0)
    release = sample_with(RandomSource.seeded(rng), table.sample(n, rng)[1], table.model, mechanism)
    model = table.model
    terms = _mapped_terms(table)
    x, y = terms[:, :-1], terms[:, -1]
    moments = x.T @ x / len(x)
    inverse = np.linalg.inv(moments)
    slopes = inverse @ (x.T @ y / len(x))
    errors = (y - x @ slopes).std() * np.sqrt(np.diag(inverse) / n)
    moved = _moved(model.design.index, inverse, np.append(-slopes, 1.0), len(release.noise)) / n
    joint = release.mechanism.joint(release)
    together = joint.sample(_TRIALS, rng) if joint else np.zeros((_TRIALS, 0))
    apart = zip(release.noise[together.shape[1] :], release.totals.steps[together.shape[1] :], strict=True)
    noise = np.column_stack([together, *(one.sample(_TRIALS, rng) * step for one, step in apart)])
    change = noise @ moved.T + rng.standard_normal((_TRIALS, len(slopes))) * errors
    return (np.quantile(np.abs(change), 0.95, axis=0) / (1.96 * errors))[1:]


def _moved(index: np.ndarray, inverse: np.ndarray, by: np.ndarray, size: int) -> np.ndarray:
    """Return how the noise of each released sum moves each coefficient, times the number of records."""
    found = np.zeros((len(inverse), size))
    for i in range(len(inverse)):
        for j in range(len(inverse) + 1):
            # the usable count stands last, and is the product of 1 with itself
            at = size - 1 if i == j == 0 else index[i, j]
            if at >= 0:
                found[:, at] += inverse[:, i] * by[j]
    return found


def _mapped_terms(table: Table) -> np.ndarray:
    """Return 1, the terms and the target of every record, on mapped bounds."""
    model = table.model
    by_name = dict(zip(table.columns, table.clipped.T, strict=True))
    coded = {column.name: by_name[column.name].astype(int) for column in model.label_columns}
    mapped = {
        column.name: 2 * (by_name[column.name] - float(column.low)) / float(column.high - column.low) - 1
        for column in model.numeric_columns
    }
    terms = [model.design.evaluate(term, coded, mapped) for term in model.design.terms]
    return np.stack([np.ones(len(table.clipped)), *terms], axis=1)
