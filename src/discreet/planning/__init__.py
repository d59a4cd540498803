"""What a budget buys, before it is spent: widths of intervals, the budget for a wanted width, the risk in words."""

from __future__ import annotations

from discreet.planning.division import Division
from discreet.planning.plan import Plan, plan

__all__ = ["Division", "Plan", "plan"]
