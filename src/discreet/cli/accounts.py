"""How ``discreet ledger show`` prints accounts and charges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from discreet.cli.console import paragraph, plain, table

if TYPE_CHECKING:
    from rich.table import Table

    from discreet.ledger import Account
    from discreet.ledger.history import Step

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
