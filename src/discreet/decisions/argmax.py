"""The verb: which candidate has the highest expected utility over the draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import instance
from discreet.decisions.base import Draws, Function, Utility
from discreet.decisions.regret_bound import (
    SamplingBound,
    check_bounds,
    check_confidence,
    sampling_bound,
)
from discreet.decisions.response import Response
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics, mean_ess

if TYPE_CHECKING:
    from discreet.inference.posterior import Posterior

#: Utilities held in memory at once: 8 MB of them.
BLOCK = 1 << 20
# Declared bounds may be missed by the rounding of the utility's own arithmetic, and by no more.
_ROUNDING = 1e-9


def respond(
    posterior: Posterior,
    utility: Utility | Callable[[Draws, Any], Any],
    candidates: Iterable[Any] | None = None,
    *,
    bounds: tuple[float, float] | None = None,
    confidence: float = 0.95,
    questions: int = 1,
) -> Response:
    """Return the candidate with the highest expected utility; see :meth:`discreet.Posterior.respond`."""
    from discreet.inference.posterior import Posterior

    check_confidence(confidence, questions)
    instance(posterior, "posterior", Posterior, "a posterior, as infer returns it")
    declared = None if bounds is None else check_bounds(bounds)
    asked = _utility(utility)
    read = asked.read(posterior)
    finite = candidates is not None or asked.responses() is not None
    if candidates is None:
        candidates = asked.responses() if finite else [asked.best(read)]
    offered = asked.accept(candidates)
    declared = asked.bounds(offered) if declared is None else declared
    averages, errors = _average(posterior, asked, read, offered, declared)
    # the first of equals
    index = int(np.argmax(averages))
    how = posterior.diagnostics
    no_bound = _no_bound(how, finite, declared)
    bound: SamplingBound | None = None
    if declared is not None and no_bound is None:
        bound = sampling_bound(
            declared,
            n_draws=posterior.n_draws,
            n_candidates=len(offered),
            n_questions=int(questions),
            confidence=float(confidence),
            posterior=f"the posterior that the draws come from ({how.engine_in_words})",
        )
    return Response(
        asked.plain(offered[index]),
        index,
        offered if isinstance(offered, np.ndarray) else tuple(offered),
        averages,
        errors,
        question=asked,
        bound=bound,
        no_bound=no_bound,
        diagnostics=how,
        about=posterior.about,
    )


def _utility(utility: Any) -> Utility:
    if isinstance(utility, Utility):
        return utility
    if isinstance(utility, type) or not callable(utility):
        raise UsageError(
            "utility must be one of dc.decisions, or a function of the draws and a candidate.",
            hint='for example dc.decisions.SquaredError("p")',
        )
    return Function(utility)


def _average(
    posterior: Posterior,
    utility: Utility,
    read: Any,
    candidates: Sequence[Any] | np.ndarray,
    bounds: tuple[float, float] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the average utility of each candidate and its standard error, a block of candidates at a time."""
    n_draws = posterior.n_draws
    step = max(BLOCK // n_draws, 1)
    averages, errors = np.empty(len(candidates)), np.empty(len(candidates))
    for start in range(0, len(candidates), step):
        block = candidates[start : start + step]
        # a row of its own in memory is summed the same way whatever the block, so ties do not depend on blocks
        scores = np.ascontiguousarray(utility.score(read, block), dtype=float)
        if scores.shape != (len(block), n_draws):
            raise UsageError(
                "the utility must give a row for each candidate and a column for each draw, "
                f"got shape {scores.shape} for {len(block)} candidates and {n_draws} draws."
            )
        lows, highs = scores.min(axis=1), scores.max(axis=1)
        wrong = ~(np.isfinite(lows) & np.isfinite(highs))
        if wrong.any():
            place = start + int(np.argmax(wrong))
            raise UsageError(f"the utility of candidate {place} is not a finite number at every draw.")
        if bounds is not None:
            slack = _ROUNDING * max(abs(bounds[0]), abs(bounds[1]))
            if lows.min() < bounds[0] - slack or highs.max() > bounds[1] + slack:
                raise UsageError(f"utilities lie outside their bounds ({bounds[0]:g}, {bounds[1]:g}).")
        averages[start : start + step] = scores.mean(axis=1)
        errors[start : start + step] = np.where(lows == highs, 0.0, _standard_errors(scores, posterior))
    if n_draws == 1:
        errors[:] = np.nan
    averages.flags.writeable = errors.flags.writeable = False
    return averages, errors


def _standard_errors(scores: np.ndarray, posterior: Posterior) -> np.ndarray:
    """Return the Monte Carlo standard error of the mean of each row."""
    n_draws = scores.shape[1]
    if n_draws == 1:
        return np.full(len(scores), np.nan)
    effective: Any = n_draws
    if not posterior.diagnostics.independent:
        chains = scores.reshape(len(scores), posterior.n_chains, -1)
        effective = mean_ess(np.moveaxis(chains, 0, -1))
    return scores.std(axis=1, ddof=1) / np.sqrt(effective)


def _no_bound(how: Diagnostics, finite: bool, bounds: tuple[float, float] | None) -> str | None:
    """Return why there is no bound on the loss, or None if there is one."""
    if not finite:
        return "the best of all numbers was taken, and a bound needs candidates fixed beforehand"
    if not how.independent:
        return (
            f"the draws are Markov chains ({how.engine} engine), and the bound is one for independent draws"
        )
    if bounds is None:
        return (
            "the utility has no known bounds: give bounds=(low, high), or within=(low, high) for an estimate"
        )
    return None
