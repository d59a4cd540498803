"""Options of releases that hold samples, and how their text becomes a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli.options import BUDGET, read_pair
from discreet.cli.record_mechanisms import RECORD_MECHANISMS
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.mechanisms.base import Mechanism
    from discreet.models.base import Model

SAMPLING = "Samples"

AnyMechanism = Annotated[
    Literal[
        "laplace",
        "gaussian",
        "posterior-sample",
        "renyi-posterior",
        "statistical-query",
        "private-metropolis",
        "private-annealing",
        "private-gibbs",
        "table-posterior",
        "noisy-sgd",
        "langevin",
    ],
    typer.Option(
        "--mechanism",
        help="laplace takes epsilon; gaussian takes rho, or epsilon with delta; posterior-sample takes epsilon; "
        "renyi-posterior and statistical-query take epsilon with --order; private-metropolis takes epsilon with "
        "--steps; private-annealing takes epsilon. For models of several columns: table-posterior takes epsilon; "
        "private-gibbs epsilon, perhaps with delta, and --steps; noisy-sgd rho, or epsilon with delta; langevin "
        "epsilon with delta and --steps.",
        rich_help_panel=BUDGET,
    ),
]
ReadMechanism = Annotated[
    Literal["laplace", "gaussian", "posterior-sample", "renyi-posterior"],
    typer.Option(
        "--mechanism",
        help="laplace takes epsilon; gaussian takes rho, or epsilon with delta; posterior-sample takes epsilon with "
        "--support; renyi-posterior takes epsilon with --order.",
        rich_help_panel=BUDGET,
    ),
]
Metric = Annotated[
    Literal["absolute"] | None,
    typer.Option(
        "--metric",
        help="A promise that fades with the distance between values, for laplace and posterior-sample.",
        show_default=False,
        rich_help_panel=BUDGET,
    ),
]
EpsilonPerUnit = Annotated[
    str | None,
    typer.Option(
        "--epsilon-per-unit",
        metavar="NUMBER",
        help="With --metric: privacy loss between records whose values are one unit apart.",
        show_default=False,
        rich_help_panel=BUDGET,
    ),
]
AnyOutside = Annotated[
    Literal["redact", "clip"] | None,
    typer.Option(
        "--outside",
        help="Out-of-range values: count as the middle, or move to the nearest bound.",
        show_default="clip",
    ),
]
AnyMissing = Annotated[
    Literal["count", "none", "impute"] | None,
    typer.Option(
        "--missing",
        help="Missing values: leave out and count privately, declare that there are none, or, for samples, replace.",
        show_default="count; for samples impute",
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(
        "--prior",
        metavar="PRIOR",
        help="Conjugate prior: beta:1,1, gamma:2,0.5 …",
        show_default=False,
        rich_help_panel=SAMPLING,
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples",
        metavar="N",
        help="How many draws, for the whole budget.",
        show_default="1",
        rich_help_panel=SAMPLING,
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps",
        metavar="N",
        help="How many updates a private walk makes, for the whole budget; every state is released.",
        show_default=False,
        rich_help_panel=SAMPLING,
    ),
]
Support = Annotated[
    list[str] | None,
    typer.Option(
        "--support",
        metavar="LOW,HIGH",
        help="The possible values of the parameter, decided without looking; repeat once per parameter. For "
        "labels one number, the least probability of any, or LABEL=NUMBER for each.",
        show_default=False,
        rich_help_panel=SAMPLING,
    ),
]
Impute = Annotated[
    list[str] | None,
    typer.Option(
        "--impute",
        metavar="VALUE",
        help="Public value or label that stands for missing ones; for a model of several columns one for each, "
        "--impute sex=f --impute age=40.",
        show_default=False,
        rich_help_panel=SAMPLING,
    ),
]

Order = Annotated[
    str | None,
    typer.Option(
        "--order",
        metavar="NUMBER",
        help="Rényi order of the guarantee, above 1; for noisy-sgd, the order of the records: public or secret.",
        show_default=False,
        rich_help_panel=SAMPLING,
    ),
]
Mode = Annotated[
    Literal["direct", "diffused", "concentrated"] | None,
    typer.Option(
        "--mode",
        help="The posterior itself, records that count less, or a prior that counts more.",
        show_default="diffused",
        rich_help_panel=SAMPLING,
    ),
]

_SUPPORT_HINT = "write --support=LOW,HIGH, as in --support=0.01,0.99, and repeat it for every parameter."


def choose_mechanism(
    name: str, family: Model, budget: Mapping[str, str | None], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of ``release`` that say which mechanism with which budget."""
    budget = dict(budget)
    per_unit = {option: budget.pop(option) for option in ("metric", "epsilon_per_unit") if option in budget}
    if per_unit:
        if name not in ("laplace", "posterior-sample"):
            raise UsageError(
                f"--metric and --epsilon-per-unit are for laplace and posterior-sample, not {name}."
            )
        for option, value in budget.items():
            if value is not None:
                raise UsageError(f"--epsilon-per-unit is a budget of its own: leave out --{option}.")
        if name == "posterior-sample":
            return {"mechanism": _posterior_sample(family, budget, options, per_unit)}
    build = MECHANISMS.get(name)
    if build is not None:
        return {"mechanism": build(family, budget, options)}
    given = [option for option, value in options.items() if value is not None]
    if given:
        raise UsageError(f"--{given[0]} is for mechanisms that release samples, and {name} adds noise.")
    if per_unit:
        from discreet.mechanisms.noise import Laplace

        return {"mechanism": Laplace(**per_unit)}
    return {"mechanism": name, **budget}


def _posterior_sample(
    family: Model,
    budget: Mapping[str, str | None],
    options: Mapping[str, Any],
    per_unit: Mapping[str, Any] | None = None,
) -> Mechanism:
    from discreet.mechanisms.posterior_sampling import PosteriorSampling

    given = _tempered("posterior-sample", family, budget, options, ("samples",), paid=bool(per_unit))
    return PosteriorSampling(given.pop("prior"), **given, **(per_unit or {}))


def _tempered(
    name: str,
    family: Model,
    budget: Mapping[str, str | None],
    options: Mapping[str, Any],
    optional: Sequence[str],
    needed: Sequence[str] = (),
    *,
    paid: bool = False,
) -> dict[str, Any]:
    """Return what mechanisms with a tempered likelihood take: prior, epsilon, support, and options of their own."""
    from discreet.families.base import Family

    if budget["delta"] is not None or budget["rho"] is not None:
        raise UsageError(f"{name} takes epsilon alone.")
    family = family.require(
        Family,
        f"{name} samples a family of one column",
        hint="models of labels take --mechanism table-posterior",
    )
    taken = ("prior", "support", *needed)
    for option, value in options.items():
        if value is not None and option not in (*taken, *optional):
            raise UsageError(f"{name} takes no --{option}.")
    for option in taken:
        if options[option] is None:
            example = "--prior beta:1,1 --support=0.01,0.99" + "".join(f" --{each} 20" for each in needed)
            raise UsageError(f"{name} needs --{option}.", hint=f"for example {example}")
    if budget["epsilon"] is None and not paid:
        raise UsageError(f"{name} needs --epsilon.")
    own = {option: options[option] for option in (*needed, *optional) if options[option] is not None}
    support = read_support(family, options["support"])
    return {"prior": options["prior"], "epsilon": budget["epsilon"], "support": support, **own}


def _private_metropolis(
    family: Model, budget: Mapping[str, str | None], options: Mapping[str, Any]
) -> Mechanism:
    from discreet.mechanisms.private_metropolis import PrivateMetropolis

    given = _tempered("private-metropolis", family, budget, options, (), ("steps",))
    return PrivateMetropolis(given.pop("prior"), **given)


def _private_annealing(
    family: Model, budget: Mapping[str, str | None], options: Mapping[str, Any]
) -> Mechanism:
    from discreet.mechanisms.private_annealing import PrivateAnnealing

    given = _tempered("private-annealing", family, budget, options, ("samples",))
    return PrivateAnnealing(given.pop("prior"), **given)


def _renyi(name: str, options: Mapping[str, Any], budget: Mapping[str, str | None]) -> dict[str, Any]:
    """Return what both mechanisms with a Rényi guarantee take."""
    if budget["delta"] is not None or budget["rho"] is not None:
        raise UsageError(f"{name} takes epsilon with --order.")
    for option in ("support", "steps"):
        if options.get(option) is not None:
            raise UsageError(f"{name} takes no --{option}.")
    given = {"epsilon": budget["epsilon"], **{option: options[option] for option in ("prior", "order")}}
    for option, value in given.items():
        if value is None:
            example = "--prior beta:6,12 --order 2 --epsilon 0.1"
            raise UsageError(f"{name} needs --{option}.", hint=f"for example {example}")
    samples = 1 if options["samples"] is None else options["samples"]
    return {**given, "samples": samples, "mode": options["mode"] or "diffused"}


def _renyi_posterior(
    family: Model, budget: Mapping[str, str | None], options: Mapping[str, Any]
) -> Mechanism:
    from discreet.mechanisms.renyi_posterior import RenyiPosterior

    return RenyiPosterior(**_renyi("renyi-posterior", options, budget))


def _statistical_query(
    family: Model, budget: Mapping[str, str | None], options: Mapping[str, Any]
) -> Mechanism:
    from discreet.mechanisms.statistical_query import StatisticalQuery

    return StatisticalQuery(**_renyi("statistical-query", options, budget))


#: Mechanisms that release samples, by their name on the command line.
MECHANISMS: Mapping[str, Callable[[Model, Mapping[str, str | None], Mapping[str, Any]], Mechanism]] = {
    "posterior-sample": _posterior_sample,
    "renyi-posterior": _renyi_posterior,
    "statistical-query": _statistical_query,
    "private-metropolis": _private_metropolis,
    "private-annealing": _private_annealing,
    **RECORD_MECHANISMS,
}


def read_support(family: Model, texts: list[str]) -> Any:
    """Read ``--support``: one number for labels, else one pair for each parameter."""
    if family.labels is not None:
        if len(texts) == 1 and "," not in texts[0] and "=" not in texts[0]:
            return texts[0]
        pairs = [text.rpartition("=") for text in texts]
        if not all(label and number for label, _, number in pairs) or len(
            {label for label, *_ in pairs}
        ) < len(pairs):
            raise UsageError(
                "--support of categorical is one number, or one for each label.",
                hint="write --support=0.01, or --support a=0.01 --support b=0.05 …",
            )
        return {label: number for label, _, number in pairs}
    return [read_pair(text, "--support", _SUPPORT_HINT) for text in texts]


def read_impute(texts: list[str] | None, model: Model) -> Any:
    """Read ``--impute``: a value, one for each column in order, or NAME=VALUE for a model of several columns."""
    if not texts:
        return None
    names = model.read_columns(None)
    if names is None:
        return texts[0] if len(texts) == 1 else texts
    found: dict[str, str] = {}
    for text in texts:
        # a name may hold an equals sign, too: the longest one that fits is meant
        fitting = [name for name in names if text.startswith(f"{name}=")]
        if not fitting:
            raise UsageError(
                f"cannot read --impute {text!r:.60}.",
                hint=f"write --impute NAME=VALUE for each of {', '.join(names)}",
            )
        name = max(fitting, key=len)
        if name in found:
            raise UsageError(f"--impute gives {name!r:.60} twice.")
        found[name] = text.removeprefix(f"{name}=")
    return found
