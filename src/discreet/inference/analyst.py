"""The analyst's verb: release in, posterior out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

import numpy as np

from discreet.arguments import MOST_DRAWS, generator, one_of, shown, text, whole
from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.inference import bought_bounds, release_doubts, sampled, two_modes
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.engine import Question, about
from discreet.inference.engines.registry import EngineName, ask, check
from discreet.inference.missing_prior import MissingPrior, missing_prior
from discreet.inference.posterior import Posterior
from discreet.inference.record_prior import record_prior
from discreet.priors.base import Prior

# A prior on records this many standard deviations of the noise away from the reading deserves a warning.
_FAR = 6.0
#: ``infer(prior="weak")`` asks for the prior that is the default.
WEAK = "weak"
# Draws times labels: 0.8 GB of numbers, about twice that while they are drawn, and again for quantiles.
_MOST_NUMBERS = 100_000_000


@overload
def infer(
    release: Release | str | Path,
    *,
    prior: Prior | str | float | Mapping[str, Any] | None = None,
    engine: EngineName = "auto",
    draws: int = 4000,
    chains: int = 4,
    records: Any = None,
    missing: Any = None,
    rng: int | np.random.Generator | None = None,
) -> Posterior: ...


@overload
def infer(
    release: Mapping[str, Release | str | Path],
    *,
    prior: Prior | str | float | Mapping[str, Any] | None = None,
    engine: EngineName = "auto",
    draws: int = 4000,
    chains: int = 4,
    records: Any = None,
    missing: Any = None,
    rng: int | np.random.Generator | None = None,
) -> dict[str, Posterior]: ...


def infer(
    release: Release | str | Path | Mapping[str, Release | str | Path],
    *,
    prior: Prior | str | float | Mapping[str, Any] | None = None,
    engine: EngineName = "auto",
    draws: int = 4000,
    chains: int = 4,
    records: Any = None,
    missing: Any = None,
    rng: int | np.random.Generator | None = None,
) -> Posterior | dict[str, Posterior]:
    """Return the posterior of the model's parameters given a release.

    Parameters
    ----------
    release
        A release, or the path of a release file. Or several, by name: a dictionary of them gives a dictionary of
        posteriors, each from random numbers of its own, as :func:`discreet.release` gives for several models.
        Of a release of samples the posterior is those samples: it takes neither ``prior`` nor ``engine``, and
        ``draws`` and ``rng`` have no effect.
    prior
        The family's conjugate prior, such as ``dc.priors.Beta(1, 1)`` or the text ``"beta:1,1"``. A release of noisy
        totals can be read under any prior, again and again, at no cost. Without one, or with ``"weak"``, a weak prior
        scaled to the bounds is taken, and the summary names it. For one of ``dc.models``, what that model
        takes: for models of labels a positive number, the Dirichlet parameter of every label, or numbers by column.
        With several releases, one prior for all, or a dictionary by the names of the releases.
    engine
        ``"auto"`` takes the most exact engine that will finish in reasonable time, and never ``"naive"``.
        ``"exact"``: no approximation, independent draws; labels, and families with one parameter. ``"augment"``:
        Markov chains over latent records, exact, for small public numbers of records. ``"gibbs"``: a central limit for
        the sums, any family, any size. ``"plain"``: the sampler of Bernstein and Sheldon (2018), to compare with.
        ``"naive"``: the noise ignored, to compare against.
    draws, chains
        Total number of draws, and how many chains they are filed under.
    records
        Prior on the number of *usable* records, those whose value is not missing, where it is private
        (``add_remove``): a tuple ``(low, high)`` for a uniform one, or an array of weights on 0, 1, 2, ...; flat
        by default. A prior that contradicts the release is used as given, and a warning says so. In models of several
        columns it is on all records, whatever they miss; in naive Bayes, on those with a class. With several
        releases, one for all or a dictionary by name.
    missing
        Prior on the number of missing values, where the number of records is public and missing values were counted:
        a share such as ``0.05`` (each value is missing with this probability), an interval of shares ``(0.0, 0.1)`` or
        of whole numbers ``(0, 40)`` (all alike), or an array of weights on 0, 1, 2, ... By default few are expected
        and any number is possible; the diagnostics say how. For models of one column. With several releases, one for
        all or a dictionary by name.
    rng
        A seed (a whole number from 0 on) or a generator.

    Returns
    -------
    Posterior, or a dictionary of one for each release
        Whose ``diagnostics`` say which engine was used, why, and what it approximates.
    """
    rng = generator(rng)
    if isinstance(release, Mapping):
        several = _loaded(release)
        own_prior, own_records = _by_name(prior, "prior", several), _by_name(records, "records", several)
        own_missing = _by_name(missing, "missing", several)
        # in the order of the names, so that the order of the dictionary does not matter
        streams = dict(zip(sorted(several), _spawned(rng, len(several)), strict=True))
        return {
            name: infer(
                each,
                prior=own_prior[name],
                engine=engine,
                draws=draws,
                chains=chains,
                records=own_records[name],
                missing=own_missing[name],
                rng=streams[name],
            )
            for name, each in several.items()
        }
    if isinstance(release, list | tuple | set | frozenset):
        raise UsageError(
            "a list of releases cannot be read together yet: give one release, or a dictionary of them by name.",
        )
    if not isinstance(release, Release):
        release = Release.load(release)
    engine = one_of(engine, "engine", EngineName)
    draws, chains = whole(draws, "draws", most=MOST_DRAWS), whole(chains, "chains")
    if draws % chains:
        raise UsageError(f"draws must be a multiple of chains, got draws={draws} and chains={chains}.")
    if records is not None and release.records is not None and release.samples is None:
        raise UsageError(
            f"records is public in this release ({release.records}), so it takes no prior.",
            hint="leave out records",
        )
    expected = _expected(missing, release)
    said = weak = ""
    if release.samples is not None:
        sampled.check(engine, prior, records)
        answer, name, reason, chains = sampled.answer(release), "samples", "the release holds samples", 1
        warnings = answer.warnings
    else:
        _check_size(release, draws, chains)
        check(release, engine)
        if isinstance(prior, str) and prior == WEAK:
            prior = None
        weak = release.model.weak_prior_in_words(release.domain) if prior is None else ""
        prior = release.model.read_prior(prior, release.domain)
        question = Question(release, prior, record_prior(records), draws, chains, rng, expected)
        name, reason, answer = ask(question, engine)
        said = _said_of_missing(question, name) if answer.missing is None else answer.missing
        warnings = (
            *answer.warnings,
            *two_modes.doubts(release, answer.draws),
            *bought_bounds.doubts(release),
            *(release_doubts.doubts(release, answer.draws) if name != "naive" else ()),
            *_doubts(question),
        )
    how = Diagnostics(
        name,
        answer.approximation,
        reason,
        warnings,
        independent=answer.independent,
        missing=said,
        prior=weak,
        given=release_doubts.given(release) if release.samples is None else "",
    )
    axes = release.model.axis_labels(release.columns)
    labels = {name: words for name, words in axes.items() if name in answer.draws}
    return Posterior(
        answer.draws, how, n_chains=chains, labels=labels, about=about(release), model=release.model
    )


def _expected(missing: Any, release: Release) -> MissingPrior | None:
    """Return the analyst's prior on the number of missing values, None for the default one or where there is none."""
    if missing is None:
        return None
    if release.samples is not None:
        raise UsageError("missing is for noisy totals.", hint="leave out missing")
    if release.records is None:
        raise UsageError(
            "the number of records is private in this release, so missing takes no prior.",
            hint="give records= a prior on the number of usable records",
        )
    if release.domain.missing != "count":
        raise UsageError(
            f"this release was made with missing={release.domain.missing!r}, so the number of missing values takes no "
            "prior.",
            hint="leave out missing",
        )
    return missing_prior(missing, release.records)


def _said_of_missing(question: Question, engine: str) -> str:
    """Return what was assumed of the number of missing values, in words; nothing if it is known or ignored."""
    usable = question.usable
    return usable.describe() if isinstance(usable, MissingPrior) and engine != "naive" else ""


def _check_size(release: Release, draws: int, chains: int) -> None:
    """Raise if the draws of many labels would fill the memory of a usual machine, before any work is done."""
    labels = release.model.labels
    if labels is None or draws * len(labels) <= _MOST_NUMBERS:
        return
    fewer = _MOST_NUMBERS // len(labels) // chains * chains
    raise UsageError(
        f"{draws:,} draws of {len(labels):,} labels are more than {_MOST_NUMBERS:,} numbers to keep in memory.",
        hint=f"ask for draws={fewer}" if fewer else "ask for chains=1 and fewer draws",
    )


def _loaded(releases: Mapping[Any, Any]) -> dict[str, Release]:
    """Return several releases by name, read from their files where they are paths."""
    if not releases:
        raise UsageError("there is no release to read: the dictionary is empty.")
    for name, release in releases.items():
        text(name, "the name of a release")
        if not isinstance(release, Release | str | Path):
            raise UsageError(
                f"{name!r:.60} must be a release or the path of one, got {type(release).__name__:.40}."
            )
    return {
        name: release if isinstance(release, Release) else Release.load(release)
        for name, release in releases.items()
    }


def _by_name(given: Any, argument: str, releases: Mapping[str, Release]) -> dict[str, Any]:
    """Return what each release is given: its own from a dictionary by name, or the same for all."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(releases, given)
    unknown = [name for name in given if name not in releases]
    if unknown:
        raise UsageError(f"{argument} names {shown(unknown[0])}, and there is no release of that name.")
    return {name: given.get(name) for name in releases}


def _spawned(rng: np.random.Generator, n: int) -> list[np.random.Generator]:
    """Return generators that are independent of each other."""
    try:
        return rng.spawn(n)
    except TypeError:  # made from a bare state, which cannot spawn: seeds from it do as well
        return [np.random.default_rng(seed) for seed in rng.integers(2**63, size=(n, 4))]


def _doubts(question: Question) -> tuple[str, ...]:
    """Return a warning if the prior on records is far from what the release says of their number."""
    release, records = question.release, question.records
    if release.records is not None or not release.layout.rows:
        return ()
    # the usable count is one combination of the released coordinates: one of them, or the sum of the cells
    steps = release.layout.usable_weights() * np.array(release.totals.grid, dtype=float)
    read = round(float(steps @ np.array(release.totals.values, dtype=float)))
    sd = float(np.sqrt(sum((step * law.sd) ** 2 for step, law in zip(steps, release.noise, strict=True))))
    sides = [records.nearest(float(read), above=above) for above in (True, False)]
    gap = min(abs(side - read) for side in sides if side is not None)
    if gap <= _FAR * sd + 1:
        return ()
    return (
        f"the prior on records contradicts the release, which counts about {max(read, 0):,} usable records "
        f"(give or take {2 * sd:,.0f})",
    )
