"""Groups that nobody declared: how their labels came into a release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.artifact.possible_totals import LOG_TAIL, MOST_RECORDS, WIDEST_NOISE
from discreet.artifact.readers import COUNT, EXACT, INTEGER, NAME, described, one_of
from discreet.models.grouped import Grouped
from discreet.privacy import ApproxDP, DiscreteLaplace
from discreet.privacy.label_selection import is_high_enough, selection_scale

if TYPE_CHECKING:
    from discreet.artifact.release import Release

#: The only way there is so far.
METHOD = "laplace_threshold"


@dataclass(frozen=True)
class GroupSelection:
    """How the labels of one column were chosen from the data, privately.

    The number of people (of records, without a unit) with each label got discrete Laplace noise of this ``scale``, and
    labels came in whose noisy number reached the ``threshold``; see :mod:`discreet.privacy.label_selection`.
    ``counts`` are these noisy numbers, in the order of the labels; empty before they are drawn. Noise on the groups'
    totals is another one: that a group was chosen says nothing about it, and totals are read as if the groups had
    been declared.
    """

    method: Literal["laplace_threshold"]
    column: str
    epsilon: Fraction
    delta: Fraction
    scale: Fraction
    threshold: int
    counts: tuple[int, ...] = ()


#: A choice in a file.
SELECTION = described(
    GroupSelection,
    "a choice of groups",
    {
        "method": one_of(METHOD),
        "column": NAME,
        "epsilon": EXACT,
        "delta": EXACT,
        "scale": EXACT,
        "threshold": COUNT,
        "counts": INTEGER.listed,
    },
)


def check_selection(release: Release) -> None:
    """Raise unless noise and threshold are enough for what was promised, and the labels could have come of them."""
    made, paid = release.group_selection, release.guarantees.get("groups")
    if made is None or paid is None:
        if made is not None or paid is not None:
            raise ValueError("groups are paid for exactly if they were chosen")
        return
    by = {column.name: column.labels for column in release.model.require(Grouped, "groups were chosen").by}
    labels = by.get(made.column)
    if labels is None or len(labels) != len(made.counts) or list(labels) != sorted(labels):
        raise ValueError("its choice of groups is not that of its labels")
    most = 1 if release.unit is None else release.model.max_groups or release.model.max_rows
    if most is None:
        raise ValueError("its choice of groups does not say in how many of them a person counts")
    if not isinstance(paid, ApproxDP) or (paid.epsilon, paid.delta) != (made.epsilon, made.delta):
        raise ValueError("its groups were chosen at another price")
    if not 0 < made.scale <= WIDEST_NOISE or made.scale < selection_scale(
        made.epsilon, most, release.neighbors
    ):
        raise ValueError("the noise of its choice of groups is less than its guarantee needs")
    if not is_high_enough(made.threshold, made.scale, most, made.delta):
        raise ValueError("the threshold of its groups is lower than its guarantee needs")
    room = math.ceil(DiscreteLaplace(float(made.scale)).reach(LOG_TAIL)) + 1
    highest = (MOST_RECORDS if release.records is None else release.records) + room
    if not all(made.threshold <= n <= highest for n in made.counts):
        raise ValueError("a group is there that cannot have been chosen")
