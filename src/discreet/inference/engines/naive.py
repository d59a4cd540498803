"""The naive engine: pretend the noisy statistics are the data.

Noisy sums are projected onto the sums some data set could have (Foulds et al. 2016, eq. 16) and the prior is updated
as usual. Noise, redaction and clipping are all ignored, so the posterior is too narrow and can sit in the wrong place.
It exists to be compared against.
"""

from __future__ import annotations

from discreet.artifact import Release
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
    s, n = question.release.noisy_sums()
    updated = family.update(question.prior, family.project(s, n), n)
    draws = family.draw(updated, question.size, question.rng)
    return Answer(draws, "noise and truncation ignored", (warning(question.release),))


NAIVE = Engine("naive", reads_all, draw, automatic=False, any_noise=True)
