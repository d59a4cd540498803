"""``discreet ledger``: the budgets of data sets, every charge against them, and whether the record is whole."""

from __future__ import annotations

import json as json_
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from discreet.cli.console import (
    guarantee_json,
    paragraph,
    plain,
    print_json,
    print_plain,
    print_wrapped,
    print_written,
    table,
)
from discreet.cli.options import AsJson, Neighbors, option, read_budget, read_by, written_option
from discreet.cli.output_checks import ensure_writable
from discreet.cli.show_result import Plot, check_picture
from discreet.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from discreet.ledger import Account, Ledger
    from discreet.ledger.history import Step

Url = Annotated[str, Argument(metavar="URL", help="sqlite:///budget.db, or postgresql://user@host/database.")]
_amount = partial(option, "NUMBER")
_of_analyst = partial(_amount, rich_help_panel="Budget of each analyst")


def init(
    url: Url,
    epsilon: Annotated[str | None, _amount("Privacy loss that may be spent.")] = None,
    delta: Annotated[str | None, _amount("Failure probability, with epsilon.")] = None,
    rho: Annotated[str | None, _amount("Zero-concentrated privacy loss that may be spent.")] = None,
    neighbors: Neighbors = "replace",
    dataset: Annotated[
        str | None,
        option(
            "NAME",
            "Open this data set, also in a ledger that exists. Without it, the budget is that of every new one.",
        ),
    ] = None,
    renyi_share: Annotated[
        str, option("SHARE", "Share of delta for the Rényi filter, from 0 to 1, with --dataset.")
    ] = "1/2",
    analyst_epsilon: Annotated[str | None, _of_analyst("Privacy loss of one analyst.")] = None,
    analyst_delta: Annotated[str | None, _of_analyst("Failure probability of one.")] = None,
    analyst_rho: Annotated[str | None, _of_analyst("Zero-concentrated loss of one.")] = None,
    json: AsJson = False,
) -> None:
    """Create a ledger with a budget, or open a data set in one.

    Budgets cannot be changed later. To seal the ledger, set DISCREET_LEDGER_KEY to a secret first, and keep it set.
    """
    from discreet.ledger import Ledger

    budget = read_budget(epsilon, delta, rho, neighbors)
    per_analyst = read_budget(analyst_epsilon, analyst_delta, analyst_rho, neighbors, "--analyst-")
    if per_analyst is not None and dataset is None:
        raise UsageError("budgets of analysts belong to a data set: name it with --dataset.")
    if budget is None and dataset is None:
        raise UsageError("give a budget: --epsilon, --epsilon with --delta, or --rho.")
    if dataset is None:
        kept = Ledger(url, budget=budget)
    else:
        # no default budget: a slip in a data set's name must not open a new account
        kept = Ledger.create(url)
        kept.open(dataset, budget, per_analyst, renyi_share=renyi_share)
    if json:
        print_json("ledger-init", {"ledger": kept.id, "head": kept.head, "dataset": dataset})
        return
    print_plain(f"Ledger {kept.id} at {kept.url}.")
    if budget is not None:
        whose = "of any new data set" if dataset is None else f"of {dataset}"
        print_wrapped(f"Budget {whose}: {budget.describe()}.")
    print_plain(f"Head: {kept.head}")


def partition(
    url: Url,
    dataset: Annotated[str, option("NAME", "The data set.", show_default=False)],
    by: Annotated[
        str,
        option(
            "NAME=LABEL|LABEL…",
            'Column, and its labels, each of which makes a part: "region=north|south".',
            show_default=False,
        ),
    ],
    public_key: Annotated[
        bool, Option("--public-key", help="The part of each record is public and never changes.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Declare parts of a data set, so that releases about different parts count in parallel.

    A release is about a part if its --where says so: "region = 'north'", alone or joined by "and". Under add_remove the
    one largest part counts, under replace the two largest together; releases about all rows add to that.
    """
    from discreet.ledger import Ledger

    ((column, labels),) = (read_by([by]) or {}).items()
    kept = Ledger(url)
    account = kept.declare_partition(dataset, column, labels, key="public" if public_key else "private")
    if json:
        print_json("ledger-partition", {**_facts(kept), "account": _account_json(account)})
        return
    print_wrapped(f"{dataset} has {len(labels):,} parts by {column}.")
    print_plain(f"Head: {kept.head}")


def show(
    url: Url,
    dataset: Annotated[str | None, option("NAME", "Only this data set.")] = None,
    plot: Plot = None,
    json: AsJson = False,
) -> None:
    """Show budgets, what is left of them, and the spend over time."""
    from discreet.ledger import Ledger
    from discreet.ledger.history import history, openings

    check_picture(plot, "--plot")
    kept = Ledger(url)
    accounts = [one for one in kept.accounts() if dataset in (None, one.dataset)]
    if dataset is not None and not accounts:
        raise UsageError(f"the ledger has no data set {dataset!r}.")
    steps = [step for step in history(kept) if dataset in (None, step.dataset)]
    if plot is not None:
        from discreet.reporting.spending import plot_spending

        budgets = {one.dataset: one.budget for one in accounts if one.analyst is None}
        plot_spending(steps, budgets, opened=openings(kept), path=plot)
    if json:
        print_json("ledger-show", {**_facts(kept), "accounts": list(map(_account_json, accounts)),
                                   "charges": [step.to_json() for step in steps]})  # fmt: skip
        return
    print_plain(f"Ledger {kept.id} at {kept.url}")
    print_wrapped(*show_accounts(accounts), *show_charges(steps))
    print_written(plot)
    print_plain(f"Head: {kept.head}")


def verify(
    url: Url,
    against: Annotated[
        list[Path] | None, option("FILE", "Release file charged to this ledger; can be repeated.")
    ] = None,
    head: Annotated[str | None, option("HASH", "A head that was noted earlier.")] = None,
    json: AsJson = False,
) -> None:
    """Check that no entry was edited, removed, inserted or moved, and that every sum holds.

    With release files, a head noted earlier, or DISCREET_LEDGER_KEY, it also finds that the tail was cut off or that
    everything was rewritten; without, it says so. Exits with 4 if something is wrong.
    """
    from discreet.ledger import Ledger

    found = Ledger.audit(url, against=against or (), head=head)
    if json:
        content = {"passed": found.passed, **asdict(found)}
        del content["anchored"]
        print_json("ledger-verify", content)
    else:
        print_wrapped(
            f"{'Sound' if found.passed else 'NOT SOUND'}: {found.entries:,} entries were checked.",
            *(f"problem: {problem}" for problem in found.problems),
            *(f"not checked: {doubt}" for doubt in found.unseen),
        )
        if n := len(found.unreleased):
            print_wrapped(f"{n:,} charge{'s' if n > 1 else ''} without a release: spent all the same.")
        print_plain(f"Head: {found.head}")
    if not found.passed:
        raise typer.Exit(4)


def export(
    url: Url,
    output: Annotated[Path | None, written_option("File to write.", show_default="print")] = None,
    json: AsJson = False,
) -> None:
    """Write all entries as JSON, one on each line, each with its hash."""
    from discreet.ledger import Ledger

    if output is not None:
        ensure_writable(output, replace=False)
    kept = Ledger(url)
    lines = (json_.dumps({"hash": e.hash, **json_.loads(e.text)}, sort_keys=True) for e in kept.entries())
    if output is None and json:
        entries = [json_.loads(line) for line in lines]
        print_json("ledger-export", {"file": None, "entries": len(entries), "content": entries})
        return
    if output is None:
        for line in lines:
            print(line)
        return
    from discreet.artifact.files import replacing

    n = 0
    with replacing(output) as draft, open(draft, "w", encoding="ascii", newline="\n") as out:
        for line in lines:
            n += out.write(line + "\n") > 0
    if json:
        print_json("ledger-export", {"file": str(output), "entries": n})
    else:
        print_written(output, content=f": {n:,} entries")


def _facts(kept: Ledger) -> dict[str, Any]:
    return {"ledger": kept.id, "url": kept.url, "head": kept.head}


def _account_json(one: Account) -> dict[str, Any]:
    from discreet.ledger.filters import spent

    def amounts(values: Any) -> dict[str, str]:
        return {name: str(value) for name, value in values.items()}

    return {
        "dataset": one.dataset,
        "analyst": one.analyst,
        "neighbors": one.budget.neighbors,
        "budget": guarantee_json(one.budget),
        "spent": amounts(one.spent),
        "remaining": amounts(one.remaining),
        "charges": one.totals.charges,
        "partitions": [partition.to_json() for partition in one.terms.partitions],
        "parts": [
            {
                "column": column,
                "label": label,
                "spent": amounts(spent(one.terms, own)),
                "charges": own.charges,
            }
            for (column, label), own in one.parts().items()
        ],
    }


# charges that the table of a terminal shows; --json has them all
_MOST_ROWS = 20


def show_accounts(accounts: Sequence[Account]) -> Iterator[Table | str]:
    """Yield a table with one line for each account, and what it leaves unexplained."""
    from discreet.ledger.amounts import in_words

    shown = table("data set", "analyst", "budget", "spent", "remaining", "charges")
    for one in accounts:
        shown.add_row(
            plain(one.dataset),
            plain(one.analyst or "all"),
            _stacked(in_words(one.budget.budgets())),
            _stacked(in_words(one.spent)),
            _stacked(in_words(one.remaining, down=True)),
            f"{one.totals.charges:,}",
        )
    yield shown
    for one in accounts:
        if one.analyst is None and one.terms.partitions:
            columns = " and by ".join(plain(partition.column) for partition in one.terms.partitions)
            yield (
                f"{plain(one.dataset)} has parts by {columns}: of what was charged about parts, the largest counts, or "
                "the two largest where a record may move from one to another."
            )
    if any(one.totals.renyi_delta for one in accounts):
        yield (
            "Of delta, what the Rényi filter holds to add up charges that are not approximate is neither spent nor "
            "remaining."
        )


def show_charges(steps: Sequence[Step]) -> Iterator[Table | str]:
    """Yield a table with one line for each of the newest charges, and what it leaves unexplained."""
    newest = steps[-_MOST_ROWS:]
    if not newest:
        return
    title = f"the newest {_MOST_ROWS} of {len(steps):,} charges" if len(steps) > _MOST_ROWS else None
    shown = table("entry", "time", "data set", "for", "charged", "spent", title=title)
    for step in newest:
        shown.add_row(
            str(step.sequence),
            plain(step.time[:16].replace("T", "\n")),
            plain(step.dataset),
            plain(", ".join(filter(None, [step.model, step.analyst]))),
            _stacked(step.charged + (" *" if step.counts_as else "")),
            f"{_bar(step.share)} {100 * step.share:.0f}%" + ("" if step.released else "\nunreleased"),
        )
    # numbers stay whole, names may be broken
    for column in shown.columns:
        column.no_wrap = column.header in ("entry", "time", "charged", "spent")
    yield shown
    if any(step.counts_as for step in newest):
        yield (
            "* is about adding or removing a record: replacing one is both, so this budget counts it double (rho: four "
            "times); or it is per unit of distance, and counts once for every unit of the largest distance."
        )


def _stacked(amounts: str) -> str:
    """Put one amount below the other."""
    return paragraph(amounts.replace(", ", "\n").replace(" and ", "\n"))


def _bar(share: float, width: int = 10) -> str:
    filled = min(width, round(width * share))
    return "█" * filled + "░" * (width - filled)
