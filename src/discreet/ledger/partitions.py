r"""Partitions of a data set: separate releases about disjoint parts of the rows, and what they cost together.

A partition is declared once: a column and some of its labels. A part is the rows with one label; a release is about
that part if its public filter says so, ``where="region = 'north'"``, alone or together with more conditions by ``and``.
Such a release reads other rows as blanks, so what it publishes does not depend on what they hold.

Proof, for whatever filter of :mod:`discreet.ledger.filters` the account has. Fix two neighboring tables. They differ in
a record r that is there or not (``add_remove``), or in r and r' (``replace``). Of each partition, r is in one part at
most, because one cell has one label, and so is r'. A charge about another part is a release with the same distribution
on both tables, whatever was released before: its loss is 0, and it can be left out of every sum and supermartingale
of the proof there, which holds for adaptive charges. What is left are charges about the whole table, those about the
part of r and, under ``replace``, those about the part of r', which may be another one (ERRATA X2). A filter says yes if
its sums are below limits, so it is enough that they are below them with, for each partition and each sum, the one
largest part (``add_remove``), or the two largest parts (``replace``), instead of all of them; that may be more than
any one pair of parts has. If the key is declared ``public``, a record is replaced by one of the same part only, and one
part counts. Which charges come, and when a partition is declared, may depend on what was released: r and r' do not. The
share of delta that the Rényi filter holds is fixed for the account at its first charge that is not approximate, about
any part: not later than the first that has to do with r.

What the ledger cannot see is the table: the proof takes all releases to be of one. If labels change between two of them
(somebody moves from north to south), a record is in more parts than the proof counts: no partition holds for such a
column, and the curator must not declare one.

People with several rows may have them in several parts, so there are no partitions of a data set that protects people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.arguments import listed, one_of
from discreet.domain.columns import Labels
from discreet.domain.labels import one_spelling
from discreet.domain.where import Comparison, Condition, Joined
from discreet.errors import UsageError
from discreet.privacy import Guarantee
from discreet.privacy.composition import GroupKey

#: A part of a data set: the column of its partition, and its label.
Part = tuple[str, str]

_MOST_PARTS = 10_000


@dataclass(frozen=True)
class Partition:
    """A column, the labels that make parts of it, and whether the part of a record is public and never changes."""

    column: str
    labels: tuple[str, ...]
    key: GroupKey = "private"

    def to_json(self) -> dict[str, Any]:
        """Return the partition as JSON."""
        return {"column": self.column, "labels": list(self.labels), "key": self.key}

    def touched(self, budget: Guarantee) -> int:
        """Return how many parts one change of the table can be about."""
        return 2 if budget.neighbors == "replace" and self.key == "private" else 1

    def label_of(self, one: Comparison) -> str | None:
        """Return the label of the part that a comparison is about, or None if it is about none."""
        if one.column != self.column or one.operator != "=" or not isinstance(one.value, str):
            return None
        return {one_spelling(label): label for label in self.labels}.get(one_spelling(one.value))


def read_partition(column: Any, labels: Any, key: Any = "private") -> Partition:
    """Check a partition, or raise :class:`UsageError`."""
    one_of(key, "key", GroupKey)
    read = Labels(column, tuple(listed(labels, "labels", "a list of texts", most=_MOST_PARTS)))
    different = {one_spelling(label) for label in read.labels}
    if "" in different or len(different) < read.n_labels:
        raise UsageError(
            "two parts would share rows: labels must differ in more than blanks, and 1, 1.0 and true are one.",
        )
    return Partition(read.name, read.labels, key)


def partition_from(value: Mapping[str, Any]) -> Partition:
    """Read a partition from JSON."""
    return read_partition(value["column"], value["labels"], value["key"])


def part_of(partitions: Iterable[Partition], where: Condition | None) -> Part | None:
    """Return the part that a public filter is about: the first partition of which it names a label; None if none."""
    if where is None:
        return None
    together = where.parts if isinstance(where, Joined) and where.word == "and" else (where,)
    for partition in partitions:
        for one in together:
            label = partition.label_of(one) if isinstance(one, Comparison) else None
            if label is not None:
                return partition.column, label
    return None
