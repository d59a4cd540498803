"""``discreet plan``: which width a budget buys, and which budget a wanted width needs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from typer import Option

from discreet.cli.console import busy
from discreet.cli.options import (
    AsJson,
    Bins,
    Bounds,
    Delta,
    Epsilon,
    MaxRows,
    Missing,
    Model,
    Neighbors,
    PerUnit,
    PriorText,
    Rho,
    Unit,
    option,
    read_bounds,
    read_model,
)
from discreet.cli.show_result import Picture, check_picture, show_result
from discreet.errors import UsageError

_EXPECTED = "What is expected of the table"


def plan(
    model: Model,
    n: Annotated[
        int | None,
        option("N", "About how many records, or people; solved for if both a budget and --width are given."),
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    width: Annotated[
        str | None,
        option(
            "NUMBER",
            "Wanted full width of the interval: 0.04 is plus or minus 0.02. The budget is then solved for.",
        ),
    ] = None,
    mechanism: Annotated[
        Literal["laplace", "gaussian", "k-norm"] | None,
        Option(help="Which noise.", show_default="what a release takes"),
    ] = None,
    bounds: Bounds = None,
    bins: Bins = None,
    missing: Missing = "count",
    neighbors: Neighbors = "replace",
    groups: Annotated[int | None, option("N", "Into how many groups the records fall.")] = None,
    unit: Unit = None,
    per_unit: PerUnit = None,
    max_rows: MaxRows = None,
    prior: PriorText = None,
    public: Annotated[
        list[str] | None,
        option(
            "NAME=NUMBER|FILE",
            "Rough public value of a parameter, such as mean=40; repeat it for others. For a model of several "
            "columns, a CSV, TSV or Parquet file of public records.",
            rich_help_panel=_EXPECTED,
        ),
    ] = None,
    parameter: Annotated[
        str | None, option("NAME", "Which parameter the width is of.", show_default="the first")
    ] = None,
    prob: Annotated[float, option("P", "Probability that the interval holds.")] = 0.95,
    compare: Annotated[
        bool, Option("--compare", help="Also show other declarations under the same budget.")
    ] = False,
    output: Picture = None,
    json: AsJson = False,
) -> None:
    """Say what a budget buys, or which budget a wanted width needs, before any row is read. Nothing is spent.

    Tables are simulated as the prior, or rough public values, let one expect them; they are released and read like
    real ones, and the widths of their intervals averaged.
    """
    family = read_model(model, bins)
    limits = read_bounds(bounds)
    check_picture(output)

    from discreet.planning import plan as planned

    with busy("Simulating …"):
        found = planned(
            family,
            n=n,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            width=_number(width, "--width"),
            mechanism=mechanism,
            bounds=limits,
            missing=missing,
            neighbors=neighbors,
            groups=groups,
            unit=unit,
            per_unit=per_unit,
            max_rows=max_rows,
            prior=None if prior == "weak" else prior,
            public=_public(public, of_columns=family.read_columns(None) is not None),
            parameter=parameter,
            prob=prob,
        )
        shown = _Compared(found) if compare else found
    show_result("plan", shown, output, as_json=json)


class _Compared:
    """A plan, shown beside other declarations under the same budget."""

    def __init__(self, plan: Any) -> None:
        self._plan, self._others = plan, plan.compare()

    def summary(self) -> str:
        wide = max(len(name) for name in self._others)
        rows = [f"  {name:{wide}}  {one.width:.4g}" for name, one in self._others.items()]
        best = f"narrowest: {next(iter(self._others))}"
        return "\n".join([self._plan.summary(), "", "Expected width under the same budget:", *rows, best])

    def to_dict(self) -> dict[str, Any]:
        return {
            **self._plan.to_dict(),
            "compared": {name: one.to_dict() for name, one in self._others.items()},
        }

    def plot(self, path: Any = None) -> Any:
        return self._plan.plot(path)


def _public(texts: list[str] | None, *, of_columns: bool) -> dict[str, float] | str | None:
    """Read every ``--public NAME=NUMBER``, or one ``--public FILE`` where the model has columns."""
    if not texts:
        return None
    if of_columns and len(texts) == 1:
        return texts[0]
    pairs = [text.partition("=") for text in texts]
    if of_columns or any(not name.strip() or not given for name, given, _ in pairs):
        hint = "write --public survey.csv" if of_columns else "write --public mean=40 --public sd=12"
        raise UsageError("cannot read --public.", hint=hint)
    return {name.strip(): _number(value, "--public") or 0.0 for name, _, value in pairs}


def _number(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{option} takes a number, got {text!r:.40}.") from None
