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
from discreet.inference.records import RecordPrior, record_prior
from discreet.priors import parse
from discreet.priors.base import Prior

Engine = Literal["auto", "exact", "naive"]

_NAIVE_WARNING = (
    "noise and truncation are ignored, so this posterior is over-confident; use it for comparison only"
)

# A prior on records this many standard deviations of the noise away from the reading deserves a warning.
_FAR = 6.0


def infer(
    release: Release | str | Path,
    *,
    prior: Prior | str | None = None,
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
        The family's conjugate prior, such as ``dc.priors.Beta(1, 1)`` or the text ``"beta:1,1"``. A release can be
        read under any prior, again and again, at no cost.
    engine
        ``"auto"`` takes the most exact engine that applies and never ``"naive"``; ``"exact"``; ``"naive"``.
    draws, chains
        Total number of draws, and how many chains they are filed under.
    records
        Prior on the number of *usable* records, those whose value is not missing, where it is private
        (``add_remove``): a tuple ``(low, high)`` for a uniform one, or an array of weights on 0, 1, 2, ...; flat
        by default. A prior that contradicts the release is used as given, and a warning says so.
    rng
        A seed (a whole number from 0 on) or a generator.

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
    if engine != "naive" and not exact.applies(release):
        raise _not_yet(release, engine)
    prior = _prior(release, prior)
    count_prior = record_prior(records)
    rng = _generator(rng)
    if engine == "naive":
        values = naive.draw(release, prior, draws, rng)
        diagnostics = Diagnostics(
            "naive", "noise and truncation ignored", "asked for", (_NAIVE_WARNING,), independent=True
        )
    else:
        values = exact.draw(release, prior, count_prior, draws, rng)
        reason = (
            "asked for" if engine == "exact" else "counts can be enumerated, so nothing need be approximated"
        )
        diagnostics = Diagnostics("exact", "none", reason, _doubts(release, count_prior), independent=True)
    about = f"{release.family.name} model of {', '.join(release.columns)}, {release.guarantee.describe()}"
    return Posterior(values, diagnostics, n_chains=chains, labels=_labels(release), about=about)


def _labels(release: Release) -> dict[str, tuple[str, ...]]:
    """Return names for the components of vectors and matrices: the labels of cells, or the columns."""
    if release.family.labels is not None:
        return {"p": release.family.labels}
    return dict.fromkeys(release.family.draw_names, release.columns) if release.family.n_columns > 1 else {}


def _generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise UsageError(
            f"rng must be a seed (a whole number from 0 on) or a generator, got {rng!r}."
        ) from None


def _doubts(release: Release, records: RecordPrior) -> tuple[str, ...]:
    """Return a warning if the prior on records is far from what the release says of their number."""
    if release.records is not None:
        return ()
    # both families of labels release cells under add_remove, and their sum is the usable count
    read = sum(release.statistics.values)
    sd = float(np.sqrt(sum(law.sd**2 for law in release.noise)))
    sides = [records.nearest(float(read), above=above) for above in (True, False)]
    gap = min(abs(side - read) for side in sides if side is not None)
    if gap <= _FAR * sd + 1:
        return ()
    return (
        f"the prior on records contradicts the release, which counts about {max(read, 0):,} usable records "
        f"(give or take {2 * sd:,.0f})",
    )


def _prior(release: Release, prior: Prior | str | None) -> Prior:
    """Return the prior to use: the caller's, checked, or the family's neutral one."""
    family = release.family
    if isinstance(prior, str):
        prior = parse(prior)
    if prior is None:
        prior = family.default_prior
        if prior is None:
            raise UsageError(
                f"{family.name} has no neutral prior: give one.",
                hint=f"a weak one on the scale of this release is {_example_prior(release)}",
            )
    family.check_prior(prior)
    return prior


def _example_prior(release: Release) -> str:
    """Return a weak prior on the scale of the release's bounds, as an argument to paste."""
    weak = release.family.suggested_prior(release.domain)
    return f"prior=dc.priors.{release.family.prior_type.__name__}(...)" if weak is None else f"prior='{weak}'"


def _not_yet(release: Release, engine: str) -> EngineError:
    which = "the exact engine does not read" if engine == "exact" else "no noise-aware engine reads"
    return EngineError(
        f"{which} {release.family.name} releases yet.",
        hint=f"to compare, ignoring the noise: engine='naive', {_example_prior(release)}",
    )
