"""Rows in, one exact integer vector out. Private: nothing here is fit to leave the curator's machine.

:func:`summarize` is what a mechanism adds noise to. :func:`inspect` is what ``discreet check`` shows the curator.
"""

from discreet.data.summary import Inspection, Summary, column_names, inspect, summarize

__all__ = ["Inspection", "Summary", "column_names", "inspect", "summarize"]
