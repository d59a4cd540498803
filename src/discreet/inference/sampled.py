"""Releases of samples: the samples are the posterior's draws, and nothing can be added to them."""

from __future__ import annotations

from fractions import Fraction

from discreet.artifact import Release
from discreet.artifact.samples import DEPENDENT, KINDS
from discreet.errors import EngineError, UsageError
from discreet.inference.engine import Answer

_WORDS = {
    "temperature": "temperature {}",
    "order": "order {}",
    "r": "likelihood weight r = {}",
    "m": "prior weight m = {}",
    "steps": "{} steps",
    "step_size": "step size {}",
}
_CHAIN = (
    "the draws are states of a Markov chain, one after the other, and not independent; it started at the prior, and "
    "nothing in a release can show that it reached its tempered posterior"
)
# What the samples of a mechanism must not be taken for.
_CAUTIONS = {
    "private_gibbs": _CHAIN,
    "private_metropolis": _CHAIN,
    "private_annealing": "draws may repeat: they were chosen among the ends of a few annealed trajectories",
    "langevin": "states of a Langevin walk at a finite step size are neither independent nor exact draws of a "
    "posterior: how far it had come, and what its steps and noise distort, nobody has measured",
    "noisy_sgd": "the last iterate of a descent is one noisy estimate, not a draw of a posterior",
}


def check(engine: str, prior: object, records: object) -> None:
    """Raise if anything is asked of a release of samples that it cannot answer."""
    if engine != "auto":
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
    assert release.samples is not None
    n = release.samples.count
    few = "1 draw" if n == 1 else f"{n} draws"
    warnings = [
        f"a release of samples: {few} in all, from {described(release)}; not noise-aware",
    ]
    if n == 1:
        warnings.append("one draw says nothing of how sure it is: there is no interval and no error")
    if release.sampling_record.name in _CAUTIONS:
        warnings.append(_CAUTIONS[release.sampling_record.name])
    if release.in_floating_point:
        warnings.append("the samples were drawn in floating point")
    independent = release.mechanism.name not in DEPENDENT
    return Answer(release.samples.arrays(), kind(release), tuple(warnings), independent=independent)


def kind(release: Release) -> str:
    """Return in a word or two how the samples differ from those of the posterior."""
    return release.sampling_record.kind


def described(release: Release) -> str:
    """Say from which posterior the samples are."""
    record = release.sampling_record
    numbers = [
        words.format(_short(record.parameters[name]))
        for name, words in _WORDS.items()
        if name in record.parameters
    ]
    prior = [] if record.prior is None else [f"prior {record.prior}"]
    said = ", ".join([*prior, *numbers])
    way = f"a {kind(release)}" if record.name in KINDS else kind(release)
    return f"{way} ({said})" if said else way


def _short(value: Fraction) -> str:
    return f"{float(value):.4g}"
