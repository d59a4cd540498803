"""A sentence, whether it holds here, and the figure that decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Claim:
    """What a text says, corrected where it is misprinted, as a test that can fail."""

    source: str
    text: str
    holds: bool
    measured: str

    def __post_init__(self) -> None:
        # numbers of NumPy compare to booleans that JSON does not know
        object.__setattr__(self, "holds", bool(self.holds))


@dataclass(frozen=True)
class Panel:
    """One panel of the figure: its numbers by name, and the claims they decide."""

    name: str
    series: dict[str, Any]
    claims: list[Claim] = field(default_factory=list)
