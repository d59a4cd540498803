"""What a budget buys, before it is spent: widths of intervals, the budget for a wanted width, the risk in words."""

from __future__ import annotations

from discreet.planning.division import Division
from discreet.planning.draws_needed import draws_for_answers, loss_of_answers
from discreet.planning.plan import Plan, plan
from discreet.planning.risk import deployments

__all__ = ["Division", "Plan", "deployments", "draws_for_answers", "loss_of_answers", "plan"]
