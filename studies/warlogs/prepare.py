"""Preprocessing as in supplement E.2 of Foulds et al. (2016), row by row, and the declared model.

Nothing here looks at more than one row: casualty counts become indicators, the three harms are merged by "or", and so
are friendly and host-nation forces. Which regions and months are in the model is declared: the two region codes with
next to no data and the month without any are left out because that was known before, and entries in them, should there
be some, fall under the release's policy for missing values. To drop empty months or regions after a look at the
entries, as one might, would be a query outside the budget.
"""

from __future__ import annotations

import numpy as np

import discreet as dc

from .generate import CASUALTIES, CATEGORIES, HARMS, TYPES, Theatre

NO_YES = ("no", "yes")
_MERGED = dict(zip(CASUALTIES, (("friendly", "host_nation"), ("civilian",), ("enemy",)), strict=True))


def prepare(entries: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns that the model declares, a row for each entry."""
    columns = {name: entries[name] for name in ("region", "month", "type", "category")}
    for merged, factions in _MERGED.items():
        hurt = np.zeros(len(entries["region"]), dtype=bool)
        for faction in factions:
            for harm in HARMS:
                hurt |= entries[f"{faction}_{harm}"] > 0
        columns[merged] = np.array(NO_YES, dtype=object)[hurt.astype(int)]
    return columns


def model_of(theatre: Theatre, states: int) -> dc.models.HiddenMarkov:
    """Declare the model: regions are sequences, months are time steps, five features."""
    return dc.models.HiddenMarkov(
        states,
        chain={"region": list(theatre.regions)},
        time={"month": list(theatre.months)},
        features={
            "type": list(TYPES),
            "category": list(CATEGORIES),
            **{name: list(NO_YES) for name in CASUALTIES},
        },
    )
