"""Options that several commands share, and how their text is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.domain.declarations import Domain
    from discreet.mechanisms import PrivateQuantiles
    from discreet.models.base import Model as AnyModel
    from discreet.privacy import Guarantee


def option(metavar: str | None, text: str, *names: str, **more: Any) -> Any:
    """Return an option: what stands for its value in the help, what it means, and names unlike its parameter's."""
    return Option(*names, metavar=metavar, help=text, **more)


def flag(name: str, text: str) -> Any:
    """Return an option that takes no value."""
    return option("", text, name)


def written_option(text: str, **more: Any) -> Any:
    """Return the option that names the file that a command is there to write."""
    return option("FILE", text, "--output", "-o", **more)


#: Options under a heading of their own in the help.
budget_option = partial(option, rich_help_panel="Budget")
engine_option = partial(option, rich_help_panel="How to compute")
output_option = partial(option, rich_help_panel="Output")
people_option = partial(option, rich_help_panel="People with several rows, groups and weights")

Data = Annotated[
    str,
    Argument(
        metavar="DATA",
        help="File: .csv, .tsv (also .gz) or .parquet; or postgresql://user@host/database, with --table or --query.",
    ),
]
Table = Annotated[str | None, option("NAME", "Table of a database.")]
Query = Annotated[str | None, option("SQL", "One SELECT, run read-only in a database.")]
ReleaseFile = Annotated[Path, Argument(metavar="FILE", help="Release file.")]
Model = Annotated[
    str,
    option(
        "MODEL",
        "Model, with its known constants: mean, histogram, bernoulli, normal:variance=4, "
        '"categorical:labels=a|b|c" …, or a file that declares it: survey.toml, survey.json.',
        "--model",
        "-m",
    ),
]
Bins = Annotated[str | None, option("N", "Number of bins of a histogram.", show_default="64")]
Columns = Annotated[
    list[str] | None,
    option(
        "NAME",
        "Column; repeat it for a multivariate family. A model of several columns names its own.",
        "--column",
        "-c",
    ),
]
Bounds = Annotated[
    list[str] | None,
    option("LOW,HIGH", "Public bounds of a numeric column, decided without looking; repeat once per column."),
]
BoughtBounds = Annotated[
    list[str] | None,
    option(
        "LOW,HIGH",
        "Public bounds of a numeric column, decided without looking; repeat once per column. "
        "Or quantiles:LOW,HIGH, bought with --bounds-epsilon.",
    ),
]
Within = Annotated[
    list[str] | None,
    option(
        "LOW,HIGH",
        "With --bounds quantiles:LOW,HIGH: the widest that the bounds can get; once, or once per column.",
    ),
]
BoundsEpsilon = Annotated[
    str | None, budget_option("NUMBER", "Privacy loss of bounds that are bought, beside that of the totals.")
]
FitCheck = Annotated[
    str | None,
    budget_option(
        "SHARE",
        "Share of the budget, such as 0.2, for counts that tell whether the column follows the model.",
        "--fit-check",
    ),
]
Outside = Annotated[
    Literal["redact", "clip"],
    Option(help="Out-of-range values: count as the middle, or move to the nearest bound."),
]
Missing = Annotated[
    Literal["count", "none"],
    Option(help="Missing values: leave out and count privately, or declare that there are none."),
]
Neighbors = Annotated[
    Literal["replace", "add_remove"],
    Option(help="What is protected: a record's content, or also that it is there at all."),
]
Epsilon = Annotated[str | None, budget_option("NUMBER", "Privacy loss.")]
Delta = Annotated[str | None, budget_option("NUMBER", "Failure probability, with epsilon.")]
Rho = Annotated[str | None, budget_option("NUMBER", "Zero-concentrated privacy loss.")]
Unit = Annotated[
    str | None,
    people_option("NAME", "Column that tells people apart: each person, with all rows, is then one record."),
]
PerUnit = Annotated[
    str | None,
    people_option(
        "RULE", "How a person's rows become one record: any, all, mean, sum, max, min, count or last."
    ),
]
MaxRows = Annotated[
    int | None,
    people_option(
        "K", "Instead of --per-unit: at most so many rows of each person count, for a mean of rows."
    ),
]
Weights = Annotated[
    str | None, people_option("NAME", "Column of survey weights, clipped to --weight-bounds; for means.")
]
WeightBounds = Annotated[
    str | None, people_option("LOW,HIGH", "Public bounds of the weights, decided without looking.")
]
RowBounds = Annotated[
    list[str] | None,
    people_option(
        "LOW,HIGH", "What each row is clipped to before the rule; the bounds of the record unless given."
    ),
]
LastBy = Annotated[
    str | None, people_option("NAME", "Column of numbers by which a row is the last, for --per-unit last.")
]
NullUnit = Annotated[
    Literal["leave_out", "own"],
    people_option(None, "Rows without a unit are left out, or each a person of its own."),
]
By = Annotated[
    list[str] | None,
    people_option(
        "NAME=LABEL|LABEL…",
        'Column that makes groups, with its labels: "region=north|south"; repeat it for more columns.',
    ),
]
Groups = Annotated[
    Literal["private"] | None,
    people_option(
        None,
        "Of the column of --by that has no labels: publish those that enough people have; takes --delta.",
    ),
]
MaxGroups = Annotated[
    int | None,
    people_option("G", "In at most how many groups of --by a person counts, with one record in each."),
]
Where = Annotated[
    str | None,
    option(
        "CONDITION",
        "Public filter of rows, such as \"age >= 18 and region = 'north'\"; others count as missing.",
    ),
]
#: The engines of ``infer``, by name; written out here because importing them takes longer than printing help.
EngineName = Literal["auto", "exact", "augment", "gibbs", "plain", "grid", "tree", "naive"]
PriorText = Annotated[
    str | None, option("PRIOR", "Conjugate prior: beta:1,1, gamma:2,0.5 …, or weak.", show_default="weak")
]
Records = Annotated[
    str | None,
    option(
        "LOW,HIGH", "Uniform prior on a private count of usable (not missing) records.", show_default="flat"
    ),
]
MissingShare = Annotated[
    str | None,
    option(
        "SHARE",
        "Prior on missing values: a share (0.05), or a range of shares (0,0.1) or of numbers (0,40).",
        show_default="few",
    ),
]
EngineOption = Annotated[
    EngineName,
    engine_option(
        "ENGINE",
        "auto, exact, augment, gibbs, plain or naive; auto takes the most exact one that will finish soon, "
        "never the last two.",
    ),
]
Draws = Annotated[int, engine_option("N", "Number of draws over all chains.")]
Chains = Annotated[int, engine_option("N", "Number of chains.")]


def read_seed(seed: int | None) -> int | None:
    """Read ``--seed``."""
    if seed is not None and seed < 0:
        raise UsageError(f"the seed must be 0 or more, got --seed={seed}.")
    return seed


Seed = Annotated[int | None, engine_option("N", "Seed, for the same draws again.", callback=read_seed)]
Force = Annotated[bool, flag("--force", "Replace an existing file.")]
AsJson = Annotated[bool, flag("--json", "Print JSON instead of text.")]


def read_model(model: str, bins: str | None = None) -> AnyModel:
    """Read ``--model``, a text or a file, with ``--bins`` as one more constant of a text."""
    from discreet import families
    from discreet.models.model_file import ENDINGS, load
    from discreet.models.registry import MODELS

    name = model.partition(":")[0]
    if model.lower().endswith(ENDINGS) and name.strip().lower() not in families.names():
        if bins is not None:
            raise UsageError("--bins goes with a model that is named: write bins into the file.")
        return load(model)
    if name.strip().lower().replace("-", "_") in MODELS:
        raise UsageError(
            f"{name} has columns of its own, which are declared in a file.", hint="write --model survey.toml"
        )
    if bins is None:
        return families.parse(model)
    return families.parse(f"{model}{',' if ':' in model else ':'}bins={bins}")


def read_columns(columns: list[str] | None, model: AnyModel) -> list[str] | None:
    """Return ``--column``, which only a model that declares its own columns can do without."""
    if not columns and model.read_columns(None) is None:
        raise UsageError("say which column with --column.", hint="for example --column age")
    return columns or None


_BOUNDS_HINT = (
    "write --bounds=LOW,HIGH, as in --bounds=-3,100 or --bounds=2020-01-01,2024-12-31, and repeat it for every "
    "column."
)
_QUANTILES = "quantiles"
_QUANTILES_HINT = "write --bounds quantiles:0.025,0.975 --within=0,1000 --bounds-epsilon 0.1."


def read_bounds(texts: list[str] | None) -> list[tuple[str, str]] | None:
    """Split each ``--bounds`` into two exact decimals, still as text."""
    if not texts:
        return None
    if any(text.startswith(_QUANTILES) for text in texts):
        raise UsageError(
            "only release and calibrate can buy bounds: here they must be numbers.", hint=_BOUNDS_HINT
        )
    return [read_pair(text, "--bounds", _BOUNDS_HINT) for text in texts]


def read_bounds_or_quantiles(
    texts: list[str] | None, within: list[str] | None, epsilon: str | None
) -> list[tuple[str, str]] | PrivateQuantiles | None:
    """Read ``--bounds`` as numbers, or as quantiles to be bought with ``--bounds-epsilon``."""
    if not texts or not any(text.startswith(_QUANTILES) for text in texts):
        if within or epsilon is not None:
            raise UsageError(
                "--within and --bounds-epsilon go with --bounds quantiles:LOW,HIGH.", hint=_QUANTILES_HINT
            )
        return read_bounds(texts)
    if len(texts) > 1:
        raise UsageError("give --bounds quantiles:LOW,HIGH once, for all columns.", hint=_QUANTILES_HINT)
    if not within or epsilon is None:
        missing = "--within" if not within else "--bounds-epsilon"
        raise UsageError(f"--bounds quantiles:LOW,HIGH needs {missing}.", hint=_QUANTILES_HINT)
    from discreet.mechanisms.quantile import PrivateQuantiles
    from discreet.privacy.guarantees import positive_budget

    positive_budget(epsilon, "--bounds-epsilon")
    low, high = read_pair(texts[0].removeprefix(_QUANTILES).removeprefix(":"), "--bounds", _QUANTILES_HINT)
    ranges = [read_pair(text, "--within", _QUANTILES_HINT) for text in within]
    return PrivateQuantiles(low, high, within=ranges, epsilon=epsilon)


def read_budget(
    epsilon: str | None, delta: str | None, rho: str | None, neighbors: Any = "replace", option: str = "--"
) -> Guarantee | None:
    """Read a budget, if there is one, from the options that begin with ``option``."""
    from discreet.privacy.guarantees import ApproxDP, PureDP, ZeroConcentratedDP

    if rho is not None and epsilon is None and delta is None:
        return ZeroConcentratedDP(rho, neighbors=neighbors)
    if rho is not None or (delta is not None and epsilon is None):
        raise UsageError(f"give {option}epsilon, {option}epsilon with {option}delta, or {option}rho alone.")
    if epsilon is None:
        return None
    if delta is None:
        return PureDP(epsilon, neighbors=neighbors)
    return ApproxDP(epsilon, delta, neighbors=neighbors)


def read_by(texts: list[str] | None, groups: str | None = None) -> dict[str, list[str] | str] | None:
    """Read each ``--by NAME=LABEL|LABEL`` as a column and its labels; without labels, they are what ``groups`` says."""
    found: dict[str, list[str] | str] = {}
    for text in texts or ():
        name, sign, labels = text.partition("=")
        if not name or not (labels or (groups and not sign)) or name in found:
            raise UsageError(
                f"cannot read --by {text!r:.60}.",
                hint='for example --by "region=north|south", or --by region --groups private',
            )
        if "," in labels and "|" not in labels:
            raise UsageError(
                f"--by {name:.60} has one label, {labels!r:.60}.",
                hint=f'labels are separated by |, as in --by "{name:.60}={labels.replace(",", "|"):.60}"',
            )
        found[name] = labels.split("|") if labels or groups is None else groups
    if groups is not None and groups not in found.values():
        raise UsageError(f"--groups {groups} is for a column without labels, such as --by region.")
    return found or None


def read_prior(text: str, model: AnyModel, domain: Callable[[], Domain]) -> Any:
    """Read ``--prior``; if it does not fit the model, name one that does."""
    from discreet.priors.base import Prior

    chosen = model.parse_prior(text)
    try:
        model.check_prior(chosen)
    except UsageError as problem:
        weak = model.suggested_prior(domain())
        hint = f"for example --prior {weak}" if isinstance(weak, Prior) else problem.hint
        raise UsageError(problem.message, hint=hint) from None
    return chosen


def read_records(text: str | None) -> tuple[int, int] | None:
    """Read ``--records LOW,HIGH``, the analyst's range for a private record count."""
    if text is None:
        return None
    hint = "write --records=LOW,HIGH with two whole numbers, as in --records=0,5000."
    low, high = read_pair(text, "--records", hint)
    try:
        return int(low), int(high)
    except ValueError:
        raise UsageError(f"cannot read --records {text!r}.", hint=hint) from None


def read_missing(text: str | None) -> float | tuple[float, float] | None:
    """Read ``--missing SHARE`` or ``--missing LOW,HIGH``, what the analyst expects of missing values."""
    if text is None:
        return None
    hint = "write a share, --missing=0.05, or two shares or whole numbers, --missing=0,0.1 or --missing=0,40."
    parts = [text] if "," not in text else list(read_pair(text, "--missing", hint))
    try:
        whole = all(part.strip().isdecimal() for part in parts)
        values = [int(part) if whole and len(parts) == 2 else float(part) for part in parts]
    except ValueError:
        raise UsageError(f"cannot read --missing {text!r}.", hint=hint) from None
    return values[0] if len(values) == 1 else (values[0], values[1])


def read_pair(text: str, option: str, hint: str) -> tuple[str, str]:
    """Split ``LOW,HIGH`` into two texts."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise UsageError(f"cannot read {option} {text!r}.", hint=hint)
    return parts[0], parts[1]
