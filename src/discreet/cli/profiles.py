"""``discreet profiles fit``, ``audit`` and ``plot``: a graph in, a mechanism for every device out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from discreet.cli.console import busy, number, plain, print_json, print_wrapped, print_written, table
from discreet.cli.options import AsJson, Force, option, written_option
from discreet.cli.output_checks import ensure_output
from discreet.cli.show_result import check_picture
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.profiles import Audit, Bins, FittedMechanism, ProfileGraph, ProfileMechanism

GraphFile = Annotated[Path, Argument(metavar="GRAPH", help="JSON file with profiles and edges.")]
MechanismFile = Annotated[
    Path, Argument(metavar="MECHANISM", help="Mechanism file, from discreet profiles fit.")
]
#: Mechanisms by the name in their files; ``auto`` is the smooth one for the graph.
MechanismName = Literal[
    "auto",
    "one_bit_pair",
    "one_bit_cluster",
    "smooth_one_bit",
    "smooth_categorical",
    "randomized_response",
    "k_randomized_response",
]
MechanismOption = Annotated[
    MechanismName,
    option(
        "NAME",
        "auto, smooth_categorical, smooth_one_bit, one_bit_cluster, one_bit_pair, randomized_response or "
        "k_randomized_response; auto is the smooth one for the graph.",
    ),
]
BinEdges = Annotated[
    str | None,
    option(
        "EDGES",
        "Edges of bins, for observations that are numbers: 0,10,20,50.",
        show_default="observations are categories",
    ),
]
_MOST_EDGES = 10


def fit(
    graph: GraphFile,
    epsilon: Annotated[str, option("NUMBER", "Privacy loss of one report.")],
    output: Annotated[Path, written_option("Mechanism file to write.")],
    mechanism: MechanismOption = "auto",
    objective: Annotated[
        Literal["largest", "expected"],
        Option(help="What smooth mechanisms keep small: the largest corruption, or the expected one."),
    ] = "largest",
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Fit a mechanism to a graph of profiles, checked in exact arithmetic. No data is read, no budget spent.

    The file is what every device carries. The graph is a JSON file: {"profiles": {"ana": [0.2, 0.8],
    "ben": [0.4, 0.6]}, "edges": [["ana", "ben"]]}, with "categories" if they have names; "edges" may also be
    "complete" or "chain".
    """
    from discreet.profiles import ProfileGraph

    ensure_output(output, graph, replace=force)
    profiles = ProfileGraph.load(graph)
    method = _method(mechanism, profiles, objective)
    with busy("Fitting …"):
        fitted = method.fit(profiles, epsilon)
        fitted.save(output)
    if json:
        print_json("profiles-fit", {**_facts(fitted), "file": str(output)})
        return
    print_wrapped(
        *fitted.statement().splitlines(),
        f"A report is wrong with probability {number(float(fitted.corruption.mean()))} on average over the "
        f"profiles, {number(float(fitted.corruption.max()))} for the worst.",
    )
    print_written(output)


def audit(
    mechanism: MechanismFile,
    graph: Annotated[
        Path | None,
        option(
            "FILE",
            "Another graph with the same profiles: other edges, or how people behave now.",
            show_default="the mechanism's own",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Measure, in exact arithmetic, what one report costs on every edge: the worst edge, its worst report, epsilon.

    Exits with 4 if the promised epsilon is not honored.
    """
    from discreet.profiles import FittedMechanism, ProfileGraph

    fitted = FittedMechanism.load(mechanism)
    measured_on = None if graph is None else ProfileGraph.load(graph)
    found = fitted.audit(measured_on)
    honored = found.honors(fitted.epsilon)
    if json:
        content = {
            **_facts(fitted),
            "achieved": found.to_dict()["epsilon"],
            "honored": honored,
            **found.to_dict(),
        }
        content.pop("epsilon", None)
        print_json("profiles-audit", {**content, "epsilon": str(fitted.epsilon)})
    elif found.worst is None:
        print_wrapped("The graph has no edges: nothing is promised, and nothing is hidden.")
    else:
        _show_audit(fitted, found, honored=honored)
    if not honored:
        raise typer.Exit(4)


def _show_audit(fitted: FittedMechanism, found: Audit, *, honored: bool) -> None:
    rows = table("profiles", "telltale report", "epsilon")
    for edge in found.edges[:_MOST_EDGES]:
        loss = "infinite" if edge.ratio is None else f"{edge.epsilon:.6f}"
        rows.add_row(plain(f"{edge.likelier} over {edge.other}"), plain(str(edge.report)), loss)
    print_wrapped(rows)
    if len(found.edges) > _MOST_EDGES:
        print_wrapped(f"and {len(found.edges) - _MOST_EDGES:,} more edges")
    from discreet.rational import plain as short

    verdict = "honored" if honored else "NOT honored"
    print_wrapped(f"Promised: epsilon = {short(fitted.epsilon)} on every edge. Exactly checked: {verdict}.")


def plot(
    file: Annotated[Path, Argument(metavar="FILE", help="Graph or mechanism file.")],
    output: Annotated[Path, written_option("Picture to write: .png, .pdf or .svg.")],
    kind: Annotated[
        Literal["spread", "costs", "flips"],
        Option(
            help="spread: reports against epsilon, for each profile; costs: for each category; "
            "flips: flipping probability against difference."
        ),
    ] = "spread",
    category: Annotated[
        str | None, option("NAME", "Category whose reports are drawn.", show_default="the last one")
    ] = None,
    mechanism: MechanismOption = "auto",
    json: AsJson = False,
) -> None:
    """Draw what a mechanism does to a graph's reports, beside randomized response."""
    from discreet.profiles import plots

    check_picture(output)
    graph = _graph_of(file)
    if kind == "flips" and graph.n_categories != 2:
        raise UsageError(
            f"--kind flips is for two categories, the graph has {graph.n_categories}.",
            hint="--kind spread and --kind costs take any number",
        )
    with busy("Drawing …"):
        if kind == "flips":
            plots.plot_flips(graph, path=output)
        elif kind == "costs":
            plots.plot_costs(graph, _method(mechanism, graph), path=output)
        else:
            chosen = None if category is None else named(category, graph)
            plots.plot_spread(graph, _method(mechanism, graph), category=chosen, path=output)
    if json:
        print_json("profiles-plot", {"kind": kind, "file": str(output)})
    else:
        print_written(output)


def named(text: str, graph: ProfileGraph) -> Any:
    """Return the category that is written like this."""
    for label in graph.categories:
        if str(label) == text:
            return label
    raise UsageError(f"{text!r:.40} is no category of the graph.")


def read_bins(text: str | None, graph: ProfileGraph | None = None) -> Bins | None:
    """Read ``--bins``, which must be the categories of the graph if there is one."""
    from discreet.profiles import Bins

    if text is None:
        return None
    bins = Bins([edge.strip() for edge in text.split(",")])
    if graph is not None and bins.categories != graph.categories:
        raise UsageError("--bins are not the categories of the mechanism's graph.")
    return bins


def _method(name: str, graph: ProfileGraph, objective: Any = "largest") -> ProfileMechanism:
    from discreet import profiles

    if name == "auto":
        name = "smooth_one_bit" if graph.n_categories == 2 else "smooth_categorical"
    smooth = {"smooth_one_bit": profiles.SmoothOneBit, "smooth_categorical": profiles.SmoothCategorical}
    if name in smooth:
        return smooth[name](objective)
    if objective != "largest":
        raise UsageError("--objective is for the smooth mechanisms.")
    others = (
        profiles.OneBitPair,
        profiles.OneBitCluster,
        profiles.RandomizedResponse,
        profiles.KRandomizedResponse,
    )
    return {one.name: one for one in others}[name]()


def _graph_of(path: Path) -> ProfileGraph:
    """Read a graph, also that of a mechanism file."""
    from discreet.profiles import FittedMechanism
    from discreet.profiles.codec import FORMAT
    from discreet.profiles.graph_file import graph_from_json, load_json

    body = load_json(path)
    if isinstance(body, dict) and body.get("format") == FORMAT:
        return FittedMechanism.load(path).graph
    return graph_from_json(body)


def _facts(fitted: FittedMechanism) -> dict[str, Any]:
    return {
        "method": fitted.method,
        "settings": dict(fitted.settings),
        "epsilon": str(fitted.epsilon),
        "achieved": fitted.achieved,
        "profiles": fitted.graph.n_profiles,
        "categories": fitted.graph.n_categories,
        "edge_count": len(fitted.graph.edges),
        "largest_corruption": fitted.largest_corruption,
        "corruption": dict(zip(map(str, fitted.graph.profiles), fitted.corruption.tolist(), strict=True)),
    }
