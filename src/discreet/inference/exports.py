"""A posterior's draws as other libraries hold them."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.extras import needed_for
from discreet.inference.posterior import Posterior
from discreet.inference.summary import axes_of
from discreet.priors.base import Prior

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import DataTree

    from discreet.artifact import Release
    from discreet.inference.group_posteriors import GroupPosteriors

#: Terms of a likelihood times draws that take about a second.
_QUICK = 50_000_000


def tidy_frame(posterior: Posterior) -> DataFrame:
    """Return a tidy pandas data frame: one row for each scalar of each draw."""
    with needed_for("to_pandas"):
        import pandas as pd

    scalars, n_chains = posterior.scalars(), posterior.n_chains
    length = posterior.n_draws // n_chains
    return pd.DataFrame(
        {
            "parameter": np.repeat(np.array(list(scalars), dtype=object), posterior.n_draws),
            "chain": np.tile(np.repeat(np.arange(n_chains), length), len(scalars)),
            "draw": np.tile(np.arange(length), n_chains * len(scalars)),
            "value": np.concatenate(list(scalars.values())),
        }
    )


def tidy_groups(groups: GroupPosteriors) -> DataFrame:
    """Return a tidy pandas data frame: one row for each scalar of each draw of each group."""
    with needed_for("to_pandas"):
        import pandas as pd

    every = dict(groups) if groups.population is None else {"population": groups.population, **groups}
    frames = {name: tidy_frame(one) for name, one in every.items()}
    sizes = [len(frame) for frame in frames.values()]
    whole = pd.concat(list(frames.values()), ignore_index=True)
    codes = np.repeat(np.arange(len(frames)), sizes)
    whole.insert(0, "group", pd.Categorical.from_codes(codes, list(frames)))
    if len(groups.by) > 1:
        labels = list(product(*(column.labels for column in groups.by)))
        for at, column in reversed(list(enumerate(groups.by))):
            of_group = pd.Categorical([one[at] for one in labels], categories=list(column.labels)).codes
            # the population is in no group of its own
            of_group = np.concatenate([[-1] * (len(frames) - len(labels)), of_group]).astype(int)
            name = column.name if column.name not in whole.columns else f"by {column.name}"
            whole.insert(1, name, pd.Categorical.from_codes(of_group[codes], list(column.labels)))
    whole["parameter"] = whole["parameter"].astype("category")
    return whole


def for_arviz(posterior: Posterior) -> DataTree | Any:
    """Return a tree, or what an installed ArviZ before 1.0 holds instead."""
    tree = data_tree(posterior)
    with suppress(PackageNotFoundError):
        if int(version("arviz").partition(".")[0]) < 1:
            from arviz import InferenceData  # pyright: ignore[reportMissingImports]

            return InferenceData.from_datatree(tree)
    return tree


def data_tree(posterior: Posterior) -> DataTree:
    """Return an ArviZ ``DataTree``: the posterior with labels as coordinates, and what it was made from."""
    with needed_for("to_arviz"):
        from arviz_base import from_dict

    how = posterior.diagnostics
    attributes: dict[str, Any] = {
        "engine": how.engine,
        "approximation": how.approximation,
        "reason": how.reason,
        "warnings": "\n".join(how.warnings),
        # netCDF knows no booleans
        "independent": int(how.independent),
        "inference_library": "discreet",
    }
    if posterior.about is not None:
        attributes["about"] = posterior.about
    with suppress(PackageNotFoundError):
        attributes["inference_library_version"] = version("discreet")
    dims = {name: [f"{name}_dim_{i}" for i in range(x.ndim - 1)] for name, x in posterior.draws.items()}
    coords = {
        dim: list(axis)
        for name, words in (posterior.labels or {}).items()
        for dim, axis in zip(dims[name], axes_of(words, len(dims[name])), strict=True)
    }
    groups: dict[str, Any] = {"posterior": dict(how.chains)}
    if (release := posterior.release) is not None and release.statistics is not None:
        groups["observed_data"] = {"released": release.statistics.numbers.copy()}
        dims["released"], coords["statistic"] = ["statistic"], list(release.statistics.names)
        groups |= _from_prior(posterior, release)
    return from_dict(groups, coords=coords, dims=dims, attrs={"posterior": attributes})


def _from_prior(posterior: Posterior, release: Release) -> dict[str, Any]:
    """Return draws from the prior and the log of the joint density, where the model is a family that has them."""
    groups: dict[str, Any] = {}
    if not isinstance(prior := posterior.prior, Prior):
        return groups
    with suppress(DiscreetError):
        family = release.family
        drawn = family.draw(prior, posterior.n_draws, np.random.default_rng(0))
        groups["prior"] = {name: values[None] for name, values in drawn.items()}
        likely = release.likelihood()
        values = posterior.draws[likely.parameter]
        if family.prior_on_parameter and likely.form.terms * posterior.n_draws <= _QUICK:
            density = likely.log_prob(**{likely.parameter: values}) + prior.log_density(values)
            groups["sample_stats"] = {"lp": density.reshape(posterior.n_chains, -1)}
    return groups
