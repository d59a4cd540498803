"""Other regressions from the release of one: a part of its features, or another of its columns as the target.

The sums of all products of two terms were released, so those of any of them are there. A reading of some of them costs
nothing, and any number of such readings costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from discreet.arguments import generator, whole
from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.inference.analyst import diagnosed
from discreet.inference.engine import LONG, Question, allowed
from discreet.inference.posterior import Posterior
from discreet.inference.record_prior import RecordPrior
from discreet.models.linear_regression import LinearRegression

_MOST_DRAWS = 1_000_000


def regress(
    release: Release | str | Path,
    target: str | None = None,
    features: Sequence[str] | None = None,
    *,
    draws: int = 4000,
    chains: int = 4,
    rng: Any = None,
) -> Posterior:
    """Return the posterior of a linear regression among the columns of a release of one, at no further cost.

    Parameters
    ----------
    release
        A release of a linear regression with noise, or its file.
    target
        A column of numbers of the release; its own target if it is left out.
    features
        Columns of the release, and products and squares that were released as terms; all its other columns, and its
        terms, if they are left out.
    draws, chains, rng
        As :func:`discreet.infer` takes them.
    """
    from discreet.inference.models.linear_regression import draw_as

    rng = generator(rng)
    draws, chains = whole(draws, "draws", most=_MOST_DRAWS), whole(chains, "chains")
    if draws % chains:
        raise UsageError(f"draws must be a multiple of chains, got draws={draws} and chains={chains}.")
    release = release if isinstance(release, Release) else Release.load(release)
    if release.model.groups:
        raise UsageError(
            "other regressions are read from one group at a time.",
            hint=f"for example dc.regress(release.by_group()[{release.model.groups[0]!r:.60}])",
        )
    whole_model = release.model.require(
        LinearRegression, "other regressions are read from the release of a linear one"
    )
    if release.samples is not None:
        raise UsageError(
            "these weights were fitted by gradients: nothing else can be read from them.",
            hint="release with noise: epsilon=1",
        )
    model = whole_model.submodel(target, features)
    question = Question(release, None, RecordPrior(), draws, chains, rng, None)
    with allowed(LONG):
        answer = draw_as(question, model)
    how = cache(partial(diagnosed, question, answer, "gibbs", "asked for", None, is_weak=True))
    return Posterior(
        answer.draws,
        how,
        n_chains=chains,
        labels={"coefficients": model.weight_names[1:]},
        about=f"{model.title(model.column_names)}, from a release of {', '.join(release.columns)}",
        model=model,
        question=f"{model.question} of {model.explained}",
    )
