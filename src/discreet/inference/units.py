"""In which units the numbers of a posterior are: a unit that the curator named, or dates."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.domain.dates import shown_day

# draws in the units of the column: places on its scale, and distances
_PLACES, _DISTANCES = ("mean", "normal_mean", "low", "high"), ("sd",)


@dataclass(frozen=True)
class Units:
    """The unit of a column, if it was named, and whether it holds dates, which are drawn as days since 1970-01-01."""

    label: str | None = None
    dates: bool = False

    def is_date(self, full: str) -> bool:
        """Tell whether the draws of this name are dates."""
        return self.dates and _parameter(full) in _PLACES

    def of(self, full: str) -> str:
        """Return the unit of the draws of this name; nothing where they have none, or it is not known."""
        name = _parameter(full)
        if self.dates:
            return "days" if name in _DISTANCES else ""
        return self.label if self.label is not None and name in (*_PLACES, *_DISTANCES) else ""

    def place(self, value: float, digits: str = ".6g") -> str:
        """Return a value of the column itself, such as an edge of a bin."""
        return shown_day(value) if self.dates else f"{value:{digits}}"

    @property
    def note(self) -> str:
        """One line for below a table; nothing if there is nothing to say."""
        if self.dates:
            return "dates: sd in days; draws are days since 1970-01-01"
        return "" if self.label is None else f"unit: {self.label}"


#: Of numbers whose unit nobody named.
UNNAMED = Units()


def _parameter(full: str) -> str:
    return full.partition("[")[0].rpartition(".")[2]
