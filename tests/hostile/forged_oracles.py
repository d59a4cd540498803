"""What must be true of a forged file that is accepted."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import norm

from discreet.artifact import Release
from discreet.families import Bernoulli, Categorical, Histogram
from discreet.families.base import Family
from discreet.models.column_model import ColumnModel

#: Sentences that begin every statement's parts, in this order; each stands once.
TEMPLATE = (
    "This file describes ",
    "It protects every single record of the table",
    "The promise is ",
    "It holds against anyone, whatever else they know",
    "What was assumed: ",
    "The promise covers this file alone: other releases about the same people add to it.",
)


def lies(release: Release) -> str | None:
    """Return what is wrong with an accepted release and its statement, or None."""
    said = release.statement()
    if not said.isprintable() or len(said.splitlines()) != 1:
        return "the statement is not one printable line"
    # what a forger writes stands within quotes; what is left is the template's
    if said.count("“") != said.count("”"):
        return "the statement does not close its quotes"
    own = re.sub("“[^”]*”", "", said)
    places = [own.find(part) for part in TEMPLATE]
    if -1 in places or places != sorted(places):
        return "the statement lacks a part of its template"
    if any(own.count(part) != 1 for part in TEMPLATE):
        return "the statement says something twice"
    if Release.from_json(release.to_json()) != release:
        return "the release does not survive its own file"
    return _unsupported(release)


def _unsupported(release: Release) -> str | None:
    """Return why the declarations do not support the guarantee, recomputed from first principles where that is easy."""
    if release.samples is not None:
        return _unsupported_samples(release)
    promised = release.guarantees["statistics"]
    change = _changes(release)
    if change is None:
        return None
    scale = np.array([float(s) for s in release.noise_record.scale])
    l1, l2 = (np.abs(change) / scale).sum(axis=1).max(), np.sqrt(((change / scale) ** 2).sum(axis=1).max())
    budget = {name: float(value) for name, value in promised.budgets().items()}
    laplace = release.noise_record.name == "discrete_laplace"
    tiny = 1e-9
    if promised.kind == "pure":
        honest = laplace and l1 <= budget["epsilon"] * (1 + tiny)
    elif promised.kind == "zcdp":
        honest = not laplace and l2**2 / 2 <= budget["rho"] * (1 + tiny)
    elif promised.kind == "approx":
        e = budget["epsilon"]
        delta = norm.cdf(l2 / 2 - e / l2) - math.exp(min(e, 700)) * norm.cdf(-l2 / 2 - e / l2)
        honest = not laplace and delta <= budget["delta"] * (1 + 1e-3) + 1e-300
    else:
        return None
    return None if honest else f"the noise does not support {promised.describe()}"


def _changes(release: Release) -> np.ndarray | None:
    """Return the changes of the totals between neighbors, over many pairs of records, before rounding to the grid."""
    model, count = release.model, release.domain.missing == "count"
    none = np.zeros(len(release.totals.names))
    if isinstance(model, ColumnModel):
        return None
    if isinstance(model, Categorical):
        k = len(model.labels)
        if k > 40:
            return None
        eye = np.eye(k)
        extra = len(none) - k
        records = [np.concatenate([row, np.ones(extra)]) for row in eye]
    elif isinstance(model, Histogram):
        if model.bins > 100:
            return None
        records = [
            np.array([float(_counts(name, one)) for name in release.totals.names])
            for one in range(model.bins)
        ]
    elif model.n_columns == 1:  # pyright: ignore[reportAttributeAccessIssue]
        z = [-1.0, 1.0] if isinstance(model, Bernoulli) else np.linspace(-1, 1, 21)
        records = [_record(release, float(one)) for one in z]
    else:
        return None
    if any(one is None for one in records):
        return None
    if release.neighbors == "add_remove":
        return np.array(records)
    everyone = [*records, none] if count else records
    return np.array([a - b for a, b in combinations(everyone, 2)])


def _counts(name: str, one: int) -> bool:
    """Tell from its name whether a coordinate counts records of a bin: its own, a group's, or all usable ones."""
    first, *last = re.findall("[0-9]+", name) or [one]
    return int(first) <= one <= int(last[0] if last else first)


def _record(release: Release, z: float) -> Any:
    by_name = {
        "z": z, "z2": z * z, "usable": 1.0, "middle": (1 - z * z) / 2,
        "low": (1 - z) ** 2 / 4, "high": (1 + z) ** 2 / 4, "no": (1 - z) / 2, "yes": (1 + z) / 2,
    }  # fmt: skip
    names = release.totals.names
    if set(names) == {"low", "high"}:
        by_name.update(low=(1 - z) / 2, high=(1 + z) / 2)
    return np.array([by_name[name] for name in names]) if set(names) <= set(by_name) else None


def _unsupported_samples(release: Release) -> str | None:
    record, model = release.sampling_record, release.model
    if record.name != "posterior_sample" or not isinstance(model, Family) or record.support is None:
        return None
    (low, high), *_ = record.support
    if isinstance(model, Bernoulli):
        needed = math.log(float(high / (1 - high))) - math.log(float(low / (1 - low)))
    elif isinstance(model, Categorical):
        needed = 2 * math.log(float((1 - (len(model.labels) - 1) * low) / low))
    else:
        return None
    assert release.samples is not None
    cost = release.samples.count * Fraction(needed) / record.parameters["temperature"]
    promised = release.guarantees["samples"].budgets()["epsilon"]
    return (
        None
        if cost <= promised * (1 + Fraction(1, 10**9))
        else "the temperature does not support its epsilon"
    )


def dishonest_draws(draws: dict[str, np.ndarray]) -> str | None:
    """Return what is wrong with a posterior's draws, or None."""
    for name, values in draws.items():
        if not np.isfinite(values).all():
            return f"a draw of {name!r:.20} is not finite"
        if name == "p" and not ((values >= 0) & (values <= 1)).all():
            return "a probability is none"
    return None
