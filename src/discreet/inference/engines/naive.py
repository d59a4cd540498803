"""The naive engine: pretend the noisy statistics are the data.

Noisy sums are projected onto the sums some data set could have (Foulds et al. 2016, eq. 16) and the prior is updated
as usual. Noise, redaction and clipping are all ignored, so the posterior is too narrow and can sit in the wrong place.
It exists to be compared against.
"""

from __future__ import annotations

import numpy as np

from discreet.artifact import Release
from discreet.families.record_sums import RecordSums
from discreet.inference.engine import Answer, Engine, Question, reads_all

_USE = "use it for comparison only"


def warning(release: Release) -> str:
    """Say what is wrong with the posterior: its width and, where values may have been changed, its place."""
    if release.domain.bounds is None:
        return f"noise is ignored, so this posterior is over-confident; {_USE}"
    changed = "redacted" if release.domain.outside == "redact" else "clipped"
    return (
        "noise and truncation are ignored, so this posterior is over-confident, and biased if values were "
        f"{changed}; {_USE}"
    )


def draw(question: Question) -> Answer:
    """Draw from the conjugate posterior given the projected statistics."""
    family = question.release.family
    s, n = noisy_sums(question.release)
    updated = family.update(question.prior, family.project(s, n), n)
    draws = family.draw(updated, question.size, question.rng)
    return Answer(draws, "noise and truncation ignored", (warning(question.release),))


def noisy_sums(release: Release) -> tuple[np.ndarray, float]:
    """Return the released statistics in the family's own units, and how many records they stand for."""
    y = np.array([float(v * g) for v, g in zip(release.totals.values, release.totals.grid, strict=True)])
    usable, features = release.layout.inverted(y)
    if usable is None:
        # without a coordinate for it, the usable count is the public one, or the sum of the cells
        usable = float(np.sum(features)) if release.records is None else release.records
    most = np.inf if release.records is None else release.records
    n = float(np.clip(usable, 0, most))
    shift = release.totals.shift or (0,) * len(features)
    half = release.totals.half or (1,) * len(features)
    family = release.model.require(RecordSums, "sums of one record's statistic are needed")
    s = family.geometry.unmap(
        np.array(n),
        features,
        np.array([float(v) for v in shift]),
        np.array([float(v) for v in half]),
    )
    return s, n


NAIVE = Engine("naive", reads_all, draw, automatic=False)
