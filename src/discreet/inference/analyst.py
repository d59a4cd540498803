"""The analyst's verb: release in, posterior out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np

from discreet.arguments import MOST_DRAWS, generator, one_of, whole
from discreet.artifact import Release
from discreet.errors import EngineError, MissingPackageError, OutOfReachError, UsageError
from discreet.inference import sampled
from discreet.inference.cautions import warnings_about
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.engine import (
    LAST,
    LONG,
    NEVER,
    PATIENCE,
    Answer,
    Engine,
    Question,
    TooLong,
    allowed,
    load,
)
from discreet.inference.engines.registry import ENGINES, EngineName
from discreet.inference.fit_check import FitResult, fit_result, misfit
from discreet.inference.missing_prior import MissingPrior, expected_missing
from discreet.inference.posterior import Posterior
from discreet.inference.posteriors import Posteriors
from discreet.inference.record_prior import RecordPrior, record_prior
from discreet.inference.several import read_several
from discreet.inference.units import Units
from discreet.priors.base import Prior

if TYPE_CHECKING:
    from discreet.inference.group_posteriors import GroupPosteriors

#: ``infer(prior="weak")`` asks for the prior that is the default.
WEAK = "weak"
# Draws times labels: 0.8 GB of numbers, about twice that while they are drawn, and again for quantiles.
_MOST_NUMBERS = 100_000_000
#: Seconds that ``auto`` is willing to spend on a more exact engine.
REASONABLE = 20.0
_One = Release | str | Path


class Asked(TypedDict, total=False):
    """The arguments of :func:`infer` by name, for type checkers; ``pool`` decides what it returns."""

    prior: Prior | str | float | Mapping[str, Any] | None
    engine: EngineName
    draws: int
    chains: int
    records: Any
    missing: Any
    same_table: bool | None
    rng: int | np.random.Generator | None


@overload
def infer(release: _One | Sequence[_One], *, pool: bool, **asked: Unpack[Asked]) -> GroupPosteriors: ...
@overload  # a release has groups or not, which its type does not tell
def infer(release: _One, *, pool: None = None, **asked: Unpack[Asked]) -> Posterior | Any: ...
@overload
def infer(release: Mapping[str, _One], *, pool: None = None, **asked: Unpack[Asked]) -> Posteriors: ...
@overload
def infer(release: Sequence[_One], *, pool: None = None, **asked: Unpack[Asked]) -> Posterior: ...
@overload
def infer(release: Any, *, pool: bool | None, **asked: Unpack[Asked]) -> Any: ...
def infer(
    release: _One | Mapping[str, _One] | Sequence[_One],
    *,
    prior: Prior | str | float | Mapping[str, Any] | None = None,
    engine: EngineName = "auto",
    draws: int = 4000,
    chains: int = 4,
    records: Any = None,
    missing: Any = None,
    pool: bool | None = None,
    same_table: bool | None = None,
    rng: int | np.random.Generator | None = None,
) -> Posterior | Posteriors:
    """Return the posterior of the model's parameters given a release.

    Parameters
    ----------
    release
        A release, or the path of a release file. Or several, by name: a dictionary of them gives a dictionary of
        posteriors, each from random numbers of its own, as :func:`discreet.release` gives for several models. A list is
        read together: institutions whose tables are samples of one population, and see ``pool`` and ``same_table``.
        Released samples of a posterior are evidence like noisy totals are: the records behind them are latent, and
        the posterior is of the parameter given the samples, under any prior. ``engine="naive"`` hands the samples on
        as they are, and so does ``"auto"`` for samples that no engine reads (of chains, of tables, of weights): then
        neither ``prior`` nor ``draws`` nor ``rng`` has a meaning.
    prior
        The family's conjugate prior, such as ``dc.priors.Beta(1, 1)`` or the text ``"beta:1,1"``. A release of noisy
        totals can be read under any prior, again and again, at no cost. Without one, or with ``"weak"``, a weak prior
        scaled to the bounds is taken, and the summary names it. For one of ``dc.models``, what that model
        takes: for models of labels a positive number, the Dirichlet parameter of every label, or numbers by column.
        With several releases, one prior for all, or a dictionary by the names of the releases.
    engine
        ``"auto"`` takes the most exact engine that will finish in reasonable time, and never ``"naive"``.
        ``"exact"``: no approximation, independent draws; labels, and families with one parameter. ``"grid"`` and
        ``"tree"``: independent draws of means and of histograms, nothing assumed of the column. ``"augment"``:
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
    pool
        Of the groups of a table, or of several institutions: True learns what they have in common and lets each borrow
        from the others (partial pooling). False takes groups one by one, which is the default for groups; of
        institutions, None (the default) takes them to share one parameter.
    same_table
        Of a list: True if its releases are about the same table, so that they are readings of the same totals; False
        if about other ones, which must be said if they name the same data set.
    rng
        A seed (a whole number from 0 on) or a generator.

    Returns
    -------
    Posterior, or a dictionary of one for each release
        Whose ``diagnostics`` say which engine was used, why, and what it approximates. Of a release with groups a
        :class:`~discreet.inference.group_posteriors.GroupPosteriors`, which a type checker sees if ``pool`` is given.
    """
    rng = generator(rng)
    engine = one_of(engine, "engine", EngineName)
    draws, chains = whole(draws, "draws", most=MOST_DRAWS), whole(chains, "chains")
    if draws % chains:
        raise UsageError(f"draws must be a multiple of chains, got draws={draws} and chains={chains}.")
    if not isinstance(release, Mapping | list | tuple | set | frozenset | Release):
        release = Release.load(release)  # pyright: ignore[reportArgumentType]
    if not isinstance(release, Release) or release.model.groups:
        asked = Asked(
            prior=prior, engine=engine, draws=draws, chains=chains, records=records, missing=missing, rng=rng
        )
        return read_several(release, infer, asked, pool=pool, same_table=same_table)
    if pool is not None or same_table is not None:
        raise UsageError(
            f"{'pool' if pool is not None else 'same_table'} is for several releases, and this is one without groups.",
            hint="dc.infer([a, b], pool=True), or a release with by=",
        )
    if records is not None and release.records is not None and release.samples is None:
        raise UsageError(
            f"records is public in this release ({release.records}), so it takes no prior.",
            hint="leave out records",
        )
    expected = None if missing is None else expected_missing(missing, release)
    if release.samples is not None and (
        engine == "naive" or all(load(place).refusal(release) is not None for place in places(release))
    ):
        sampled.check(engine, prior, records)
        answer, name, chains, given = sampled.answer(release), "samples", 1, None
        said = (answer.approximation, "the release holds samples", answer.warnings, answer.independent)
        how = partial(Diagnostics, name, *said)
    else:
        _check_size(release, draws, chains)
        _check_engine(release, engine)
        if isinstance(prior, str) and prior == WEAK:
            prior = None
        given = release.model.read_prior(prior, release.domain)
        asked_records = RecordPrior() if records is None else record_prior(records)
        question = Question(release, given, asked_records, draws, chains, rng, expected)
        name, reason, answer = _ask(question, engine)
        fit = None if release.fit_check is None or name == "naive" else fit_result(question, answer.draws)
        how = cache(partial(diagnosed, question, answer, name, reason, fit, is_weak=prior is None))
    return posterior_of(release, answer, name, how, chains, prior=given)


def predicted_seconds(release: Release, draws: int) -> float:
    """Return about how long :func:`infer` would take with its defaults, or raise if no engine reads the release."""
    prior = release.model.read_prior(None, release.domain)
    question = Question(release, prior, RecordPrior(), draws, 1, generator(0), None)
    return _choose(question, "auto")[0].predicted_seconds(question)


def posterior_of(
    release: Release,
    answer: Answer,
    engine: str,
    how: Callable[[], Diagnostics],
    chains: int,
    *,
    prior: Any = None,
    about: str | None = None,
) -> Posterior:
    """Return the posterior that an engine's answer makes, with its labels, its table and its units."""
    axes = dict(answer.labels)
    if any(draws.ndim > 1 for draws in answer.draws.values()):
        axes = {**release.model.axis_labels(release.columns), **axes}
    labels = {name: words for name, words in axes.items() if name in answer.draws}
    return Posterior(
        answer.draws,
        how,
        n_chains=chains,
        labels=labels,
        about=release.title if about is None else about,
        model=release.model,
        distribution=answer.distribution,
        table=None if answer.table is None else _of_table(release, answer, engine, how, chains),
        question=release.question,
        units=Units(release.unit_label, release.domain.dates),
        release=release,
        prior=prior,
        log_prior=answer.log_prior,
    )


def _of_table(
    release: Release, answer: Answer, engine: str, how: Callable[[], Diagnostics], chains: int
) -> Posterior:
    """Return what is known of the very table that was released."""
    known = answer.approximation if engine == "naive" else "noise is the only uncertainty"
    left_out = "sum" if release.domain.dates else None  # dates have no sum
    own = {name: values for name, values in (answer.table or {}).items() if name != left_out}
    words = release.model.labels or answer.labels.get("p")
    labels = {"count": words} if words is not None and "count" in own else None
    return Posterior(
        own,
        lambda: replace(how(), approximation=known),
        n_chains=chains,
        labels=labels,
        question=f"{release.question}, in this very table",
        units=Units(release.unit_label, release.domain.dates),
    )


def diagnosed(
    question: Question, answer: Answer, engine: str, reason: str, fit: FitResult | None, *, is_weak: bool
) -> Diagnostics:
    """Say how the draws were made, what they take for granted, and what a careful reader should know about them.

    The posterior asks when its diagnostics are first read, as every summary and picture does.
    """
    release, usable, said = question.release, question.usable, answer.missing
    if said is None:
        # nothing if the number of missing values is known, or ignored
        said = usable.describe() if isinstance(usable, MissingPrior) and engine != "naive" else ""
    found = () if answer.more_warnings is None else answer.more_warnings()
    warnings = (
        *((answer.headline,) if answer.headline else ()),
        *answer.warnings,
        *found,
        *warnings_about(question, answer, engine),
        *misfit(release, fit),
    )
    return Diagnostics(
        engine,
        answer.approximation,
        reason,
        # what is the headline may be a warning too
        tuple(dict.fromkeys(warnings)),
        independent=answer.independent,
        missing=said,
        prior=release.model.weak_prior_in_words(release.domain) if is_weak else "",
        given=release.model.assumption,
        headline=answer.headline,
        fit_check=fit,
    )


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


def places(release: Release) -> tuple[str, ...]:
    """Return the engines that read a release, most exact first: its model's, or those of its draws."""
    return ENGINES[release.model.engines if release.samples is None else release.sampling_record.engines]


def _refusal(engine: Engine, release: Release) -> str | None:
    """Return why an engine cannot read a release, or None if it can."""
    if release.mechanism.foreign and not engine.any_noise:
        return "it reads discreet's own noise alone"
    return engine.refusal(release)


def _engines_for(release: Release, name: EngineName) -> Iterator[Engine]:
    """Yield the engine asked for, or all automatic ones, most exact first; each is imported when its turn comes."""
    for place in places(release):
        engine = load(place)
        if engine.automatic if name == "auto" else engine.name == name:
            yield engine


def _check_engine(release: Release, name: EngineName) -> None:
    """Raise unless this engine (for ``auto``, at least one) reads the release."""
    if not places(release):
        raise OutOfReachError(f"no engine reads noisy counts of {release.model.name}.")
    reasons = []
    for engine in _engines_for(release, name):
        refusal = _refusal(engine, release)
        if refusal is None:
            return
        reasons.append(f"{engine.name} does not apply: {refusal}")
    if not reasons:
        known = ", ".join(load(place).name for place in places(release))
        reasons.append(f"{name} does not apply: {release.model.name} has {known}")
    others = any(_refusal(engine, release) is None for engine in _engines_for(release, "auto"))
    hint = (
        "use engine='auto', which takes one that does"
        if others
        else "to compare, ignoring the noise: engine='naive'"
    )
    kind = OutOfReachError if name == "auto" else EngineError
    raise kind("; ".join(reasons) + ".", hint=hint)


def _ask(question: Question, name: EngineName) -> tuple[str, str, Answer]:
    """Return which engine answers, why, and its answer; under ``auto`` the next one if the first takes too long."""
    engine, reason = _choose(question, name)
    seconds = engine.predicted_seconds(question)
    if LONG < seconds < NEVER:  # before the work starts; what it refuses, it says itself
        raise TooLong(
            f"{engine.name} would take about {seconds:,.0f} s, and no engine does so much work.",
            hint="to compare, ignoring the noise: engine='naive'",
        )
    if name != "auto":
        with allowed(LONG):
            return engine.name, reason, engine.draw(question)
    # only an engine that takes long has to know whether another would answer in its stead
    following = cache(lambda: _following(question, engine))
    try:
        # nothing more if there is one to turn to before this one has done all that it may
        with _patient(
            engine, PATIENCE, lambda: 0.0 if (n := following()) and not n.last_resort else LAST - PATIENCE
        ):
            return engine.name, reason, engine.draw(question)
    except TooLong:
        if (other := following()) is None:
            raise
    with _patient(other, LAST):
        return other.name, f"{engine.name} would take too long", other.draw(question)


def _patient(
    engine: Engine, seconds: float, more: Callable[[], float] | None = None
) -> AbstractContextManager[None]:
    """Let an engine do so much work; chains over records say beforehand that they take some, and may."""
    return allowed(2 * REASONABLE) if engine.foretold else allowed(seconds, more)


def _following(question: Question, chosen: Engine) -> Engine | None:
    """Return the next automatic engine that reads the release in reasonable time, if there is one."""
    _, *later = dropwhile(lambda place: load(place) is not chosen, places(question.release))
    for place in later:
        try:
            engine = load(place)
        except MissingPackageError:
            continue
        reads = engine.automatic and _refusal(engine, question.release) is None
        if reads and engine.predicted_seconds(question) <= REASONABLE:
            return engine
    return None


def _choose(question: Question, name: EngineName) -> tuple[Engine, str]:
    """Return the engine asked for, or the most exact one whose predicted cost is reasonable; and the reason."""
    passed_over: list[str] = []
    slow: list[tuple[float, Engine]] = []
    for engine in _engines_for(question.release, name):
        refusal, reluctance = _refusal(engine, question.release), engine.reluctance(question.release)
        if name != "auto" and refusal is None:
            return engine, "asked for"
        if refusal is not None or reluctance is not None:
            why = reluctance if refusal is None else f"does not apply ({refusal})"
            passed_over.append(f"{engine.name} {why}")
            continue
        if (seconds := engine.predicted_seconds(question)) <= REASONABLE:
            return engine, "; ".join([*passed_over, f"{engine.name} is the most exact engine that applies"])
        passed_over.append(f"{engine.name} would take about {seconds:,.0f} s")
        slow.append((seconds, engine))
    return min(slow, key=lambda one: one[0])[1], "; ".join(passed_over)
