"""Mechanisms that each look at one group of the records only.

References
----------
McSherry (2009), Privacy integrated queries: theorem 4 (parallel composition).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from discreet.checked import checked
from discreet.errors import UsageError
from discreet.privacy.composition import in_weakest_kind
from discreet.privacy.conversion import Sorted
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.rounding import short_up

#: Who knows the group of a record: it is part of the record and protected, or public and never changes.
GroupKey = Literal["private", "public"]


@checked
def compose_parallel(*guarantees: Guarantee, key: GroupKey = "private") -> Guarantee:
    """Return what mechanisms on disjoint groups of the records promise together; one guarantee for each group.

    Under ``add_remove`` a record enters or leaves one group, and the groups' guarantees count once: the largest. Under
    ``replace`` a record may leave one group and enter another, which changes what two mechanisms see: the two largest
    add up. Only if the ``key`` of the groups is public, so that a record is replaced by one of the same group, does the
    largest count alone.

    Privacy
    -------
    With a private key the sizes of the groups are private too. Each guarantee for ``replace`` must then hold for the
    whole table with the other groups' records as blanks: a record may turn into a blank and a blank into a record. A
    mechanism that publishes its group's size, or divides by it, promises nothing of the kind. Whether a key is
    public is the curator's declaration.
    """
    if key not in ("private", "public"):
        raise UsageError(f"key must be 'private' or 'public', got key={key!r}.")
    if not guarantees:
        raise UsageError("there is no guarantee to add up.")
    if len({(g.neighbors, g.unit) for g in guarantees}) > 1:
        raise UsageError("guarantees for different neighbors do not add up.")
    touched = 2 if guarantees[0].neighbors == "replace" and key == "private" else 1
    by_kind, count = Sorted.of(guarantees), min(touched, len(guarantees))
    if by_kind.approx and by_kind.has_curves:
        raise UsageError(
            "approximate guarantees have no common kind with concentrated or Rényi ones.",
            hint="convert these with to_approx(delta) first",
        )
    return in_weakest_kind(by_kind, lambda values: _largest(values, count), guarantees[0].about)


def _largest(values: list[Fraction], count: int) -> Fraction:
    """Return the sum of the ``count`` largest."""
    return short_up(sum(sorted(values, reverse=True)[:count], Fraction(0)))
