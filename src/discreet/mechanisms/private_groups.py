"""Groups without a list of them: labels that enough people have, by noise and a threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.artifact.group_selection import METHOD, GroupSelection
from discreet.artifact.possible_totals import WIDEST_NOISE
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.privacy import DiscreteLaplace
from discreet.privacy.guarantees import failure_probability, positive_budget
from discreet.privacy.label_selection import least_threshold, selection_scale
from discreet.rational import Number
from discreet.samplers.secure import RandomSource

# labels whose noise is drawn in one call
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class LabelBudget:
    """What a choice of labels may cost."""

    epsilon: Fraction
    delta: Fraction

    @classmethod
    def divided(
        cls, mechanism: Any, epsilon: Number | None, delta: Number | None, rho: Number | None
    ) -> tuple[LabelBudget, dict[str, Fraction | None]]:
        """Return what the choice may cost, and what is left for the totals: half of epsilon each.

        The choice takes all of delta, or half of it where the noise of the totals needs some too.
        """
        if not isinstance(mechanism, str) or rho is not None or epsilon is None or delta is None:
            raise UsageError(
                "groups='private' divides a budget of epsilon and delta between the choice of groups and their totals.",
                hint="give epsilon=1, delta=1e-6, and the mechanism by its name",
            )
        half, whole = positive_budget(epsilon, "epsilon") / 2, failure_probability(delta)
        if mechanism == "gaussian":
            return cls(half, whole / 2), {"epsilon": half, "delta": whole / 2, "rho": None}
        return cls(half, whole), {"epsilon": half, "delta": None, "rho": None}

    def plan(self, column: str, max_labels: int, neighbors: Neighbors) -> GroupSelection:
        """Return the public record of a choice that is still to be made."""
        scale = selection_scale(self.epsilon, max_labels, neighbors)
        if scale > WIDEST_NOISE:
            raise UsageError("the budget is too small: its noise does not fit 64-bit integers.")
        threshold = least_threshold(scale, max_labels, self.delta)
        return GroupSelection(METHOD, column, self.epsilon, self.delta, scale, threshold)


def choose_groups(
    source: RandomSource,
    counts: np.ndarray,
    spelled: Callable[[np.ndarray], list[str | None]],
    plan: GroupSelection,
    most: int,
    *,
    alone: bool,
) -> tuple[tuple[str, ...], GroupSelection]:
    """Draw which labels are published; return them in order, and the record with their noisy numbers.

    ``counts`` are how many people have each label, at least one; ``spelled`` gives some of the labels as text. At most
    ``most`` are published, those with the largest noisy numbers. Unless their column is ``alone``, labels with a comma
    are left out: they would make names of groups that could be read in two ways.

    Privacy
    -------
    :mod:`discreet.privacy.label_selection` has the theorem. Which labels can be published at all is decided by the
    labels themselves, and which of them are left out after that by the noisy numbers alone. Labels are sorted,
    so that their order tells nothing.
    """
    noise = DiscreteLaplace(float(plan.scale))
    chosen: list[tuple[int, str]] = []
    for start in range(0, len(counts), _AT_ONCE):
        exact = counts[start : start + _AT_ONCE]
        noisy = exact + np.array(source.noises(noise, len(exact)), dtype=np.int64)
        which = np.flatnonzero(noisy >= plan.threshold)
        for label, n in zip(spelled(which + start), noisy[which].tolist(), strict=True):
            if label is not None and (alone or "," not in label):
                chosen.append((n, label))
    kept = sorted(sorted(chosen, key=lambda one: (-one[0], one[1]))[:most], key=lambda one: one[1])
    return tuple(label for _, label in kept), replace(plan, counts=tuple(n for n, _ in kept))
