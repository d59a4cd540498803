"""Mechanisms that release samples, and how the command line's options become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.cli.options import read_pair
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.families import Family
    from discreet.mechanisms import Mechanism
    from discreet.models import Model

_SUPPORT_HINT = "write --support=LOW,HIGH, as in --support=0.01,0.99, and repeat it for every parameter."


class _Taken(NamedTuple):
    """A class of :mod:`discreet.mechanisms`, and the options that it needs, that it can do without, and an example."""

    mechanism: str
    needed: tuple[str, ...]
    optional: tuple[str, ...]
    example: str
    #: Whether it samples the parameter of a family, over a support that has a range for each.
    of_a_family: bool = False
    #: Whether the support may be given for each column of labels.
    by_column: bool = False


_FAMILY = "--epsilon 1 --prior beta:1,1 --support=0.01,0.99"
_FINITE = "--epsilon 1 --parameter 0.1,0.2,0.5 --prior 0.5,0.3,0.2"
_RENYI = "--prior beta:6,12 --order 2 --epsilon 0.1"

#: Mechanisms that release samples, by their name on the command line.
MECHANISMS: Mapping[str, _Taken] = {
    "posterior-sample": _Taken(
        "PosteriorSampling", ("prior", "support", "epsilon"), ("samples", "delta"), _FAMILY, of_a_family=True
    ),
    "finite-posterior": _Taken(
        "FinitePosterior", ("parameter", "epsilon"), ("prior", "samples"), _FINITE, of_a_family=True
    ),
    "private-metropolis": _Taken(
        "PrivateMetropolis",
        ("prior", "support", "steps", "epsilon"),
        (),
        f"{_FAMILY} --steps 20",
        of_a_family=True,
    ),
    "private-annealing": _Taken(
        "PrivateAnnealing", ("prior", "support", "epsilon"), ("samples",), _FAMILY, of_a_family=True
    ),
    "renyi-posterior": _Taken("RenyiPosterior", ("epsilon", "prior", "order"), ("samples", "mode"), _RENYI),
    "statistical-query": _Taken(
        "StatisticalQuery", ("epsilon", "prior", "order"), ("samples", "mode"), _RENYI
    ),
    "table-posterior": _Taken(
        "TablePosterior",
        ("epsilon", "support"),
        ("prior", "samples", "delta"),
        "--epsilon 5 --support=0.01 --prior 1",
    ),
    "private-gibbs": _Taken(
        "PrivateGibbs",
        ("epsilon", "steps"),
        ("delta", "support"),
        "--epsilon 1 --steps 20 --support=0.02",
        by_column=True,
    ),
    "noisy-sgd": _Taken("NoisySGD", (), ("epsilon", "delta", "rho", "order"), "--epsilon 1 --delta 1e-6"),
    "langevin": _Taken(
        "Langevin", ("epsilon", "delta", "steps"), ("samples",), "--epsilon 1 --delta 1e-6 --steps 1000"
    ),
}


_OPTIONS = {option for taken in MECHANISMS.values() for option in taken.needed + taken.optional} | {
    "metric",
    "epsilon_per_unit",
}


def choose_mechanism(
    name: str | None,
    model: Model,
    budget: Mapping[str, str | None],
    options: Mapping[str, Any],
    per_unit: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """Return the arguments of ``release`` that say which mechanism with which budget, or budget ``per_unit``."""
    if per_unit:
        if name not in (None, "laplace", "posterior-sample"):
            raise UsageError(
                f"--metric and --epsilon-per-unit are for laplace and posterior-sample, not {name}."
            )
        for option, value in budget.items():
            if value is not None:
                raise UsageError(f"--epsilon-per-unit is a budget of its own: leave out --{option}.")
    if name is not None and name in MECHANISMS:
        return {"mechanism": _build(name, model, {**budget, **options}, per_unit or {})}
    given = [option for option, value in options.items() if value is not None]
    if given:
        raise UsageError(
            f"--{given[0]} is for mechanisms that release samples, and {name or 'laplace'} adds noise."
        )
    if per_unit:
        from discreet.mechanisms.noise import Laplace

        return {"mechanism": Laplace(**per_unit)}
    return {"mechanism": name, **budget}


def _build(
    name: str, model: Model, options: Mapping[str, Any], per_unit: Mapping[str, str | None]
) -> Mechanism:
    """Return a mechanism, or say which option it does not take or which it needs; ``per_unit`` stands for epsilon."""
    from discreet import mechanisms
    from discreet.families.base import Family

    taken = MECHANISMS[name]
    if taken.of_a_family:
        instead = "models of labels take --mechanism table-posterior"
        model = model.require(Family, f"{name} samples a family of one column", hint=instead)
    given = {option: value for option, value in options.items() if value is not None}
    settings = read_settings(given.pop("with", None))
    for option in given:
        if option not in taken.needed + taken.optional:
            raise UsageError(f"{name} takes no --{option}.", hint=f"for example {taken.example}")
    for option in taken.needed:
        if option not in given and not (per_unit and option == "epsilon"):
            raise UsageError(f"{name} needs --{option}.", hint=f"for example {taken.example}")
    if "support" in given:
        if taken.of_a_family:
            given["support"] = read_support(model, given["support"])
        elif taken.by_column and any("=" in text for text in given["support"]):
            given["support"] = _by_name(given["support"], f"--support of {name}", "column")
        else:
            given["support"] = _one_number(given["support"], name)
    if "parameter" in given:
        family = model.require(Family, f"{name} samples a family of one column")
        given["parameters"] = read_parameters(family, given.pop("parameter"))
        prior = given.pop("prior", None)
        given["weights"] = prior.split(",") if prior is not None and "," in prior else prior
    return getattr(mechanisms, taken.mechanism)(**settings, **given, **per_unit)


def read_parameters(family: Family, texts: list[str]) -> list[Any]:
    """Read ``--parameter``: numbers with commas, or, of labels and of several parameters, one text for each."""
    if family.n_probabilities is not None:
        return [text.split(",") for text in texts]
    if len(family.draw_names) < 2:
        return [value.strip() for text in texts for value in text.split(",")]
    found: list[Any] = []
    for text in texts:
        pairs = [part.partition("=") for part in text.split(",")]
        if not all(name.strip() and equals for name, equals, _ in pairs):
            example = ",".join(f"{name}=…" for name in family.draw_names)
            raise UsageError(f"cannot read --parameter {text!r:.60}.", hint=f"write --parameter {example}")
        found.append({name.strip(): value.strip() for name, _, value in pairs})
    return found


def read_settings(texts: Sequence[str] | None) -> dict[str, Any]:
    """Read ``--with NAME=VALUE``: further arguments of a mechanism; whole numbers, lists with commas, and texts."""
    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        if not equals or not name.isidentifier() or not value:
            example = "write --with NAME=VALUE, as in --with levels=12"
            raise UsageError(f"cannot read --with {text!r:.60}.", hint=example)
        if name in found or name in _OPTIONS:
            raise UsageError(f"--with gives {name} twice, or in place of its own option --{name}.")
        found[name] = value.split(",") if "," in value else int(value) if value.isdecimal() else value
    return found


def _one_number(texts: list[str], name: str) -> str:
    if len(texts) != 1 or "," in texts[0]:
        raise UsageError(
            f"--support of {name} is one number, the least probability of a label.",
            hint="write --support=0.01",
        )
    return texts[0]


def read_support(family: Model, texts: list[str]) -> Any:
    """Read ``--support``: one number for labels, else one pair for each parameter."""
    if family.labels is None:
        return [read_pair(text, "--support", _SUPPORT_HINT) for text in texts]
    if len(texts) == 1 and "," not in texts[0] and "=" not in texts[0]:
        return texts[0]
    return _by_name(texts, "--support of categorical", "label")


def _by_name(texts: list[str], what: str, whose: str) -> dict[str, str]:
    """Read NAME=NUMBER, once for each name."""
    pairs = {name: number for name, _, number in (text.rpartition("=") for text in texts)}
    if len(pairs) < len(texts) or not all(name and number for name, number in pairs.items()):
        raise UsageError(
            f"{what} is one number, or one for each {whose}.",
            hint="write --support=0.01, or --support a=0.01 --support b=0.05 …",
        )
    return pairs
