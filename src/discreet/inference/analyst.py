"""The analyst's verb: release in, posterior out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from discreet.artifact import Release
from discreet.errors import EngineError, UsageError
from discreet.inference import exact, naive
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior
from discreet.inference.records import record_prior
from discreet.priors.base import Prior

Engine = Literal["auto", "exact", "naive"]

_NAIVE_WARNING = (
    "noise and truncation are ignored, so this posterior is over-confident; use it for comparison only"
)


def infer(
    release: Release | str | Path,
    *,
    prior: Prior | None = None,
    engine: Engine = "auto",
    draws: int = 4000,
    chains: int = 4,
    records: Any = None,
    rng: int | np.random.Generator | None = None,
) -> Posterior:
    """Return the posterior of the model's parameters given a release.

    Parameters
    ----------
    release
        A release, or the path of a release file.
    prior
        The family's conjugate prior. A release can be read under any prior, again and again, at no cost.
    engine
        ``"auto"`` takes the most exact engine that applies and never ``"naive"``; ``"exact"``; ``"naive"``.
    draws, chains
        Total number of draws, and how many chains they are filed under.
    records
        Prior on the number of records where that is private (``add_remove``): a tuple ``(low, high)`` for a
        uniform one, or an array of weights on 0, 1, 2, ...; flat by default.
    rng
        A seed or a generator.

    Returns
    -------
    Posterior
        Whose ``diagnostics`` say which engine was used, why, and what it approximates.
    """
    if not isinstance(release, Release):
        release = Release.load(release)
    if engine not in get_args(Engine):
        raise UsageError(
            f"engine must be one of {', '.join(map(repr, get_args(Engine)))}, got engine={engine!r}."
        )
    for name, value in (("draws", draws), ("chains", chains)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise UsageError(f"{name} must be a positive whole number, got {name}={value!r}.")
    if draws % chains:
        raise UsageError(f"draws must be a multiple of chains, got draws={draws} and chains={chains}.")
    if records is not None and release.records is not None:
        raise UsageError(
            f"records is public in this release ({release.records}), so it takes no prior.",
            hint="leave out records",
        )
    prior = _prior(release, prior)
    count_prior = record_prior(records)
    rng = np.random.default_rng(rng)
    if engine == "naive":
        values = naive.draw(release, prior, draws, rng)
        diagnostics = Diagnostics(
            "naive", "noise and truncation ignored", "asked for", (_NAIVE_WARNING,), independent=True
        )
    else:
        _require_exact(release, engine)
        values = exact.draw(release, prior, count_prior, draws, rng)
        reason = (
            "asked for" if engine == "exact" else "counts can be enumerated, so nothing need be approximated"
        )
        diagnostics = Diagnostics("exact", "none", reason, independent=True)
    labels = None if release.family.labels is None else {"p": release.family.labels}
    return Posterior(values, diagnostics, n_chains=chains, labels=labels)


def _prior(release: Release, prior: Prior | None) -> Prior:
    """Return the prior to use: the caller's, checked, or the family's neutral one."""
    family = release.family
    if prior is None:
        prior = family.default_prior
        if prior is None:
            weak = family.suggested_prior(release.domain)
            hint = (
                f"use dc.priors.{family.prior_type.__name__}(...)"
                if weak is None
                else f"a weak one on the scale of this release's bounds is prior=dc.priors.{weak!r}"
            )
            raise UsageError(f"{family.name} has no neutral prior: give one.", hint=hint)
    family.check_prior(prior)
    return prior


def _require_exact(release: Release, engine: str) -> None:
    if exact.applies(release):
        return
    if engine == "exact":
        raise EngineError(f"the exact engine does not read {release.family.name} releases yet.")
    raise EngineError(
        f"no noise-aware engine reads {release.family.name} releases yet.",
        hint="engine='naive' ignores the noise, for comparison only",
    )
