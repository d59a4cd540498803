"""What the records have in common whose draws were made by a fixed number of proposals."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.privacy import ApproxDP, Guarantee
from discreet.privacy.costs.rejection import MOST_TRIES, bounded_tries

if TYPE_CHECKING:
    from discreet.artifact.release import Release

_TRIES = "tries"


class LimitedTries:
    """A record whose draws are of a sampler that may stop before it is done, if it has the parameter ``tries``."""

    parameters: Mapping[str, Fraction]

    @property
    def tries_names(self) -> tuple[str, ...]:
        """The name of the parameter, if the record has it."""
        return (_TRIES,) if _TRIES in self.parameters else ()

    def explained(self, release: Release) -> list[str]:
        if not self.tries_names:
            return []
        return [
            f"Every draw was made by {int(self.parameters[_TRIES])} proposals, as many for any records. Should none of "
            "them have been accepted, the draw is a fixed point; how probable that is was bounded for all tables that "
            "there could be, and delta is the price of it."
        ]

    def check_tries(self, promised: Guarantee, acceptance: float, draws: int) -> None:
        """Raise ValueError unless delta pays for the limit, and is there exactly if there is one."""
        if isinstance(promised, ApproxDP) != bool(self.tries_names):
            raise ValueError("its guarantee is of another kind")
        if not isinstance(promised, ApproxDP):
            return
        tries = self.parameters[_TRIES]
        if tries.denominator != 1 or not 1 <= tries <= MOST_TRIES or acceptance <= 0:
            raise ValueError("its proposals are no number of proposals")
        charged = bounded_tries(promised.epsilon, acceptance=acceptance, tries=int(tries), draws=draws)
        if charged.delta > promised.delta:
            raise ValueError("its proposals are fewer than its guarantee needs")
