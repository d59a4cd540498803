"""Summaries by name: which exact integers a model releases about its rows."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from discreet.data.summaries.sums import Summary
from discreet.domain.declarations import Domain
from discreet.models.base import Model
from discreet.models.layout import Layout

#: Where each summary is computed, as ``module:function``, by the name that a model gives in ``summary``.
SUMMARIES: dict[str, str] = {
    "bins": "discreet.data.summaries.histogram_counts:count_histogram",
    "sums": "discreet.data.summaries.sums:summarize",
    "tables": "discreet.data.summaries.cell_counts:count_tables",
    "transitions": "discreet.data.summaries.transitions:count_transitions",
}


def summarize(
    data: Any, model: Model, domain: Domain, layout: Layout | None, columns: Sequence[str] | None = None
) -> Summary:
    """Return the exact integers of a model's layout, by the summary that the model names. Private."""
    module, _, name = SUMMARIES[model.summary].partition(":")
    return getattr(import_module(module), name)(data, model, domain, layout, columns)
