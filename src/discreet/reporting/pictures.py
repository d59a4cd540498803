"""Pictures by name: which one shows the posterior of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.inference.posterior import Posterior
    from discreet.models import Model

_Kind = TypeVar("_Kind", bound="Model")

#: Where each picture is drawn, as ``module:function``, by the name that a model gives in ``picture``.
PICTURES: dict[str, str] = {
    "coefficients": "discreet.reporting.coefficients:plot_coefficients",
    "densities": "discreet.reporting.plots:plot_posterior",
    "distribution": "discreet.reporting.distribution:plot_distribution",
    "network": "discreet.reporting.network:plot_network",
    "states": "discreet.reporting.states:plot_hidden_markov",
}


def model_of(posterior: Any, kind: type[_Kind], purpose: str) -> _Kind:
    """Return the model behind a posterior; raise :class:`UsageError` if it has none, or one of another kind."""
    model = getattr(posterior, "model", None)
    if model is None:
        raise UsageError(f"{purpose}.")
    return model.require(kind, purpose)


def picture_of(posterior: Posterior, options: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the function that draws a posterior: its model's picture or, if ``parameters`` are named, densities."""
    model = None if "parameters" in options else posterior.model
    module, _, name = PICTURES["densities" if model is None else model.picture].partition(":")
    return getattr(import_module(module), name)
