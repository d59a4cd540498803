"""Mechanisms for models of several columns, and how the command line's options become one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.mechanisms.base import Mechanism
    from discreet.models.base import Model

Given = Mapping[str, Any]


def _taken(
    name: str,
    budget: Given,
    options: Given,
    needed: Sequence[str],
    optional: Sequence[str],
    example: str,
) -> dict[str, Any]:
    """Return the options that a mechanism takes, or say which it does not take or which it needs."""
    given = {option: value for option, value in {**budget, **options}.items() if value is not None}
    for option in given:
        if option not in (*needed, *optional):
            raise UsageError(f"{name} takes no --{option}.", hint=f"for example {example}")
    for option in needed:
        if option not in given:
            raise UsageError(f"{name} needs --{option}.", hint=f"for example {example}")
    return given


def _table_posterior(model: Model, budget: Given, options: Given) -> Mechanism:
    from discreet.mechanisms.table_posterior import TablePosterior

    example = "--epsilon 5 --support=0.01 --prior 1"
    given = _taken("table-posterior", budget, options, ("epsilon", "support"), ("prior", "samples"), example)
    support = _one_number(given.pop("support"), "table-posterior")
    return TablePosterior(given.pop("prior", 1), support=support, **given)


def _private_gibbs(model: Model, budget: Given, options: Given) -> Mechanism:
    from discreet.mechanisms.private_gibbs import PrivateGibbs

    example = "--epsilon 1 --steps 20 --support=0.02"
    given = _taken("private-gibbs", budget, options, ("epsilon", "steps", "support"), ("delta",), example)
    return PrivateGibbs(support=_one_number(given.pop("support"), "private-gibbs"), **given)


def _noisy_sgd(model: Model, budget: Given, options: Given) -> Mechanism:
    from discreet.mechanisms.noisy_sgd import NoisySGD

    example = "--epsilon 1 --delta 1e-6"
    return NoisySGD(**_taken("noisy-sgd", budget, options, (), ("epsilon", "delta", "rho", "order"), example))


def _langevin(model: Model, budget: Given, options: Given) -> Mechanism:
    from discreet.mechanisms.langevin import Langevin

    example = "--epsilon 1 --delta 1e-6 --steps 1000"
    return Langevin(
        **_taken("langevin", budget, options, ("epsilon", "delta", "steps"), ("samples",), example)
    )


def _one_number(texts: list[str], name: str) -> str:
    if len(texts) != 1 or "," in texts[0]:
        raise UsageError(
            f"--support of {name} is one number, the least probability of a label.",
            hint="write --support=0.01",
        )
    return texts[0]


#: Mechanisms that read every record of a model of several columns, by their name on the command line.
RECORD_MECHANISMS: Mapping[str, Callable[[Model, Given, Given], Mechanism]] = {
    "table-posterior": _table_posterior,
    "private-gibbs": _private_gibbs,
    "noisy-sgd": _noisy_sgd,
    "langevin": _langevin,
}
