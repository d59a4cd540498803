"""Rows in, one exact integer vector out. Private: nothing here is fit to leave the curator's machine.

:func:`summarize` is what a mechanism adds noise to, :func:`count_tables` the same for a model of several columns,
:func:`read_records` what a mechanism gets that reads records one by one, :func:`count_cells` what private bounds are
chosen from. :func:`inspect` is what ``discreet check`` shows the curator.
"""

from discreet.extras import is_installed, missing, needed_for

with needed_for("reading rows"):
    from discreet.data.cells import CellCounts, count_cells
    from discreet.data.coded import CodedBatch, coded_batches
    from discreet.data.records import Records, read_records
    from discreet.data.summary import Inspection, Summary, column_names, inspect, summarize
    from discreet.data.tables import TableSummary, count_tables
    from discreet.data.transitions import count_transitions

# the source of noise, without which a budget must not be charged: rows are read before it is
if not is_installed("opendp"):
    raise missing("opendp", "a release")

__all__ = [
    "CellCounts",
    "CodedBatch",
    "Inspection",
    "Records",
    "Summary",
    "TableSummary",
    "coded_batches",
    "column_names",
    "count_cells",
    "count_tables",
    "count_transitions",
    "inspect",
    "read_records",
    "summarize",
]
