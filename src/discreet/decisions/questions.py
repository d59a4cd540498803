"""Questions as the command line writes them: ``mean:rate``, ``median:p[b]``, ``interval:rate:0.9``, ``event:p>0.5``."""

from __future__ import annotations

from discreet.decisions.base import Utility
from discreet.decisions.decisions import ZeroOne
from discreet.decisions.loss_functions import AbsoluteError, IntervalScore, SquaredError
from discreet.errors import UsageError

_KINDS = {"mean": SquaredError, "median": AbsoluteError, "event": ZeroOne}
_HINT = "ask mean:NAME, median:NAME, interval:NAME:0.95 or 'event:NAME>0.5'"


def parse_question(text: str) -> Utility:
    """Return the utility whose best response answers the question."""
    kind, _, rest = (part.strip() for part in text.partition(":"))
    if not rest or kind not in (*_KINDS, "interval"):
        raise UsageError(f"cannot read the question {text!r}.", hint=_HINT)
    if kind != "interval":
        return _KINDS[kind](rest)
    name, colon, last = rest.rpartition(":")
    try:
        prob = float(last)
    except ValueError:
        # a label may hold a colon
        return IntervalScore(rest)
    if not colon or not name.strip() or not 0 < prob < 1:
        raise UsageError(f"cannot read the question {text!r}.", hint=_HINT)
    return IntervalScore(name.strip(), prob=prob)
