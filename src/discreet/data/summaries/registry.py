"""Summaries by name: which exact integers a model releases about its rows."""

from __future__ import annotations

#: Where each summary is computed, as ``module:function``, by the name that a model gives in ``summary``.
SUMMARIES: dict[str, str] = {
    "bins": "discreet.data.summaries.bin_counts:count_histogram",
    "clusters": "discreet.data.summaries.cluster_sums:sum_clusters",
    "group_products": "discreet.data.summaries.group_products:sum_group_products",
    "groups": "discreet.data.summaries.group_sums:sum_groups",
    "products": "discreet.data.summaries.product_sums:sum_products",
    "scores": "discreet.data.summaries.score_sums:sum_scores",
    "sums": "discreet.data.summaries.sums:summarize",
    "tables": "discreet.data.summaries.cell_counts:count_tables",
    "transitions": "discreet.data.summaries.transitions:count_transitions",
}
