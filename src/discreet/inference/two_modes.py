"""Posteriors in two parts: where redacted values leave two explanations, the analyst should hear of both."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.artifact import Release

# The smaller part has at least this share of the draws, and the gap is this many times wider than either is spread.
_LEAST_SHARE = 0.005
_WIDE = 1.5


def doubts(release: Release, draws: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Return a warning for each number whose posterior falls into two parts."""
    if release.domain.bounds is None:
        return ()
    redacted = release.domain.outside == "redact"
    why = (
        "values out of range were redacted, and both explain the totals"
        if redacted
        else "both explain the totals"
    )
    other = ", or a release with outside='clip'" if redacted else ", or a larger budget"
    found = {name: two_parts(values) for name, values in draws.items() if values.ndim == 1}
    return tuple(
        f"the {name} is near {low:.4g} (probability {share:.2g}) or near {high:.4g}: {why}; "
        f"use a prior that rules one out{other}"
        for name, (low, high, share) in ((name, parts) for name, parts in found.items() if parts)
    )


def two_parts(x: np.ndarray) -> tuple[float, float, float] | None:
    """Return the medians of two far parts of the draws and the share of the lower one; None if they are one."""
    x = np.sort(x)
    least = max(int(_LEAST_SHARE * x.size), 2)
    if x.size < 4 * least:
        return None
    cut = least + int(np.argmax(np.diff(x[least - 1 : x.size - least + 1])))
    low, high = x[:cut], x[cut:]
    if not high[0] - low[-1] > _WIDE * max(low.std(), high.std()):
        return None
    return float(np.median(low)), float(np.median(high)), low.size / x.size
