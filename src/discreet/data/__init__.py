"""Rows in, one exact integer vector out. Private: nothing here is fit to leave the curator's machine.

:func:`summarize` is what a mechanism adds noise to, :func:`count_tables` the same for a model of several columns,
:func:`read_records` what a mechanism gets that reads records one by one, :func:`count_bins` what private bounds are
chosen from. :func:`inspect` is what ``discreet check`` shows the curator.
"""

from discreet.extras import is_installed, missing, needed_for

with needed_for("reading rows"):
    from discreet.data.sources.opening import column_names
    from discreet.data.summaries.bin_counts import BinCounts, count_bins
    from discreet.data.summaries.cell_counts import count_tables
    from discreet.data.summaries.coded import CodedBatch, coded_batches
    from discreet.data.summaries.inspection import Inspection, inspect
    from discreet.data.summaries.records import Records, read_records
    from discreet.data.summaries.sums import Summary, summarize
    from discreet.data.summaries.transitions import count_transitions

# the source of noise, without which a budget must not be charged: rows are read before it is
if not is_installed("opendp"):
    raise missing("opendp", "a release")

__all__ = [
    "BinCounts",
    "CodedBatch",
    "Inspection",
    "Records",
    "Summary",
    "coded_batches",
    "column_names",
    "count_bins",
    "count_tables",
    "count_transitions",
    "inspect",
    "read_records",
    "summarize",
]
