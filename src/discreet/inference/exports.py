"""A posterior's draws as other libraries hold them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.extras import needed_for
from discreet.inference.posterior import Posterior
from discreet.inference.summary import axes_of

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import DataTree


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


def data_tree(posterior: Posterior) -> DataTree:
    """Return an ArviZ ``DataTree``, with the labels as coordinates."""
    from importlib.metadata import PackageNotFoundError, version

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
    return from_dict(
        {"posterior": dict(how.chains)}, coords=coords, dims=dims, attrs={"posterior": attributes}
    )
