"""What a release says against itself: warnings from its noisy values and declarations alone, so they cost nothing."""

from __future__ import annotations

from discreet.artifact import Release
from discreet.domain.declarations import REDACTED


def redaction(release: Release) -> tuple[str, ...]:
    """Return a warning if values outside the bounds were redacted."""
    return (REDACTED,) if release.model.has_numbers and release.domain.outside == "redact" else ()
