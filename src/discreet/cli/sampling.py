"""Options of releases that hold samples."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from discreet.cli.options import budget_option, option
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.models import Model

sampling_option = partial(option, rich_help_panel="Research mechanisms, which release samples")

AnyMechanism = Annotated[
    Literal[
        "laplace",
        "gaussian",
        "k-norm",
        "posterior-sample",
        "finite-posterior",
        "renyi-posterior",
        "statistical-query",
        "private-metropolis",
        "private-annealing",
        "private-gibbs",
        "table-posterior",
        "noisy-sgd",
        "langevin",
    ]
    | None,
    budget_option(
        None,
        "laplace takes epsilon; gaussian takes rho, or epsilon with delta; k-norm takes epsilon, for regressions on "
        "one or two features, and is the default for linear ones. Research mechanisms, with options of "
        "their own: posterior-sample takes epsilon; finite-posterior takes epsilon with --parameter; "
        "renyi-posterior and statistical-query take epsilon with --order; private-metropolis takes epsilon with "
        "--steps; private-annealing takes epsilon. For models of several columns: table-posterior takes epsilon; "
        "private-gibbs epsilon, perhaps with delta, and --steps; noisy-sgd rho, or epsilon with delta; langevin "
        "epsilon with delta and --steps.",
    ),
]
ReadMechanism = Annotated[
    Literal["laplace", "gaussian", "posterior-sample", "renyi-posterior"],
    budget_option(
        None,
        "laplace takes epsilon; gaussian takes rho, or epsilon with delta; posterior-sample takes epsilon with "
        "--support; renyi-posterior takes epsilon with --order.",
    ),
]
Metric = Annotated[
    Literal["absolute"] | None,
    budget_option(
        None, "A promise that fades with the distance between values, for laplace and posterior-sample."
    ),
]
EpsilonPerUnit = Annotated[
    str | None,
    budget_option("NUMBER", "With --metric: privacy loss between records whose values are one unit apart."),
]
AnyOutside = Annotated[
    Literal["redact", "clip"] | None,
    Option(
        help="Out-of-range values: count as the middle, or move to the nearest bound.", show_default="clip"
    ),
]
AnyMissing = Annotated[
    Literal["count", "none", "impute"] | None,
    Option(
        help="Missing values: leave out and count privately, declare that there are none, or, for samples, replace.",
        show_default="count; for samples impute",
    ),
]
Prior = Annotated[
    str | None,
    sampling_option(
        "PRIOR",
        "Conjugate prior: beta:1,1, gamma:2,0.5 … Of finite-posterior one weight for each parameter, "
        "0.5,0.3,0.2, or sensitivity.",
    ),
]
Samples = Annotated[
    int | None, sampling_option("N", "How many draws, for the whole budget.", show_default="1")
]
Steps = Annotated[
    int | None,
    sampling_option(
        "N", "How many updates a private walk makes, for the whole budget; every state is released."
    ),
]
Support = Annotated[
    list[str] | None,
    sampling_option(
        "LOW,HIGH",
        "The possible values of the parameter, decided without looking; repeat once per parameter. For "
        "labels one number, the least probability of any, or LABEL=NUMBER for each; for private-gibbs, too, or "
        "COLUMN=NUMBER for each column.",
    ),
]
Parameters = Annotated[
    list[str] | None,
    sampling_option(
        "VALUES",
        "The possible parameters of finite-posterior, decided without looking: 0.1,0.2,0.5. Of several ones, "
        "mean=2,variance=1, and of labels, 0.2,0.3,0.5, one option for each.",
    ),
]
Impute = Annotated[
    list[str] | None,
    sampling_option(
        "VALUE",
        "Public value or label that stands for missing ones; for a model of several columns one for each, "
        "--impute sex=f --impute age=40.",
    ),
]

Order = Annotated[
    str | None,
    sampling_option(
        "NUMBER",
        "Rényi order of the guarantee, above 1; for noisy-sgd, the order of the records: public or secret.",
    ),
]
Mode = Annotated[
    Literal["direct", "diffused", "concentrated"] | None,
    sampling_option(
        None,
        "The posterior itself, records that count less, or a prior that counts more.",
        show_default="diffused",
    ),
]
With = Annotated[
    list[str] | None,
    sampling_option(
        "NAME=VALUE",
        "Further setting of the mechanism, as in Python: levels=12, evidence_epsilon=0.5, cells=256; repeat.",
        "--with",
    ),
]


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
