"""Released samples, handed on as they are: of mechanisms that no engine reads, or for comparison."""

from __future__ import annotations

import numpy as np

from discreet.artifact import Release, Samples
from discreet.errors import EngineError, UsageError
from discreet.inference.engine import Answer

# draws that stand for a few with weights
_WEIGHTED = 1000
_WORDS = {
    "temperature": "temperature {}",
    "order": "order {}",
    "r": "likelihood weight r = {}",
    "m": "prior weight m = {}",
    "steps": "{} steps",
    "step_size": "step size {}",
}


def check(engine: str, prior: object, records: object) -> None:
    """Raise if anything is asked of a release of samples that it cannot answer."""
    if engine not in ("auto", "naive"):
        raise EngineError(
            f"engine={engine!r} does not apply: this release holds samples, which are returned as they are.",
            hint="use engine='auto'",
        )
    if prior is not None:
        raise UsageError(
            "prior is fixed in a release of samples: it is part of their guarantee.", hint="leave out prior"
        )
    if records is not None:
        raise UsageError("records is for noisy totals.", hint="leave out records")


def answer(release: Release) -> Answer:
    """Return the samples, and what a reader must know about them."""
    record = release.sampling_record
    assert release.samples is not None
    n = release.samples.count
    few = "1 draw" if n == 1 else f"{n} draws"
    warnings = [
        f"a release of samples: {few} in all, from {described(release)}; not noise-aware",
    ]
    if n == 1:
        warnings.append("one draw says nothing of how sure it is: there is no interval and no error")
    if record.caution is not None:
        warnings.append(record.caution)
    if release.in_floating_point:
        warnings.append("the samples were drawn in floating point")
    if release.model.released_draws_in_words:
        warnings.append(release.model.released_draws_in_words)
    draws = _weighted(release.samples)
    # hidden states are whole numbers, which files hold as they hold all numbers
    draws |= {name: draws[name].astype(np.int64) for name in release.model.draw_categories}
    return Answer(draws, record.kind, tuple(warnings), independent=record.independent)


def _weighted(samples: Samples) -> dict[str, np.ndarray]:
    """Return the draws; those that have noisy weights as often as these say, negative ones counting as 0."""
    draws, noisy = samples.arrays(), np.array(samples.noisy.get("weights", ()), dtype=float)
    if not (noisy > 0).any():
        return draws
    shares = np.cumsum(np.maximum(noisy, 0))
    chosen = np.searchsorted(shares, (np.arange(_WEIGHTED) + 0.5) / _WEIGHTED * shares[-1])
    return {name: values[chosen] for name, values in draws.items()}


def described(release: Release) -> str:
    """Say from which posterior the samples are."""
    record = release.sampling_record
    numbers = [
        words.format(f"{float(record.parameters[name]):.4g}")
        for name, words in _WORDS.items()
        if name in record.parameters
    ]
    prior = [] if record.prior is None else [f"prior {record.prior}"]
    said = ", ".join([*prior, *numbers])
    way = "a " * record.of_posterior + record.kind
    return f"{way} ({said})" if said else way
