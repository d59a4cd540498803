"""Rows in, one exact integer vector out. Private: nothing here is fit to leave the curator's machine.

:func:`summarize` is what a mechanism adds noise to, :func:`count_cells` what private bounds are chosen from.
:func:`inspect` is what ``discreet check`` shows the curator.
"""

from discreet.data.cells import CellCounts, count_cells
from discreet.data.summary import Inspection, Summary, column_names, inspect, summarize

__all__ = ["CellCounts", "Inspection", "Summary", "column_names", "count_cells", "inspect", "summarize"]
