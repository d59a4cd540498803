"""Reports drawn from the operating system's random bits, exactly, and in the same number of steps whatever is drawn.

The one module of this room that touches what a person observed. There is no seed. Bits come straight from
``os.urandom`` and not through :mod:`discreet.samplers.csprng`, whose generator exists for floating-point samplers
and asks for its bits one number at a time; here a million numbers are one call.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence

import numpy as np

from discreet.profiles.exact import BITS, WHOLE

# Reports drawn at once; bounds the memory.
_CHUNK = 1 << 18


def system_bits(n: int) -> np.ndarray:
    """Return ``n`` uniform integers below 2^62."""
    return (np.frombuffer(os.urandom(8 * n), dtype="<u8") >> np.uint64(64 - BITS)).astype(np.int64)


def draw(
    table: np.ndarray,
    profiles: np.ndarray,
    values: np.ndarray,
    bits: Callable[[int], np.ndarray] = system_bits,
) -> np.ndarray:
    """Return a report for each observation, as positions of categories.

    Parameters
    ----------
    table
        Integer rows that sum to 2^62, by profile and observed category.
    profiles, values
        Positions, one of each for each report.
    bits
        Where random integers below 2^62 come from; the operating system, except in tests.
    """
    d = table.shape[-1]
    n_steps = max(d - 1, 1).bit_length()
    # entry y is the probability of a report up to y; what is beyond the last category is never reached
    cumulative = np.full((table.shape[0] * d, 1 << n_steps), WHOLE, dtype=np.int64)
    cumulative[:, :d] = table.cumsum(axis=-1).reshape(-1, d)
    flat, rows = cumulative.ravel(), (profiles * d + values) << n_steps
    reports = np.empty(len(rows), dtype=np.int64)
    for begin in range(0, len(rows), _CHUNK):
        part = rows[begin : begin + _CHUNK]
        u, found = bits(len(part)), np.zeros(len(part), dtype=np.int64)
        for step in range(n_steps - 1, -1, -1):
            probe = found + (1 << step)
            found += (flat[part + probe - 1] <= u).astype(np.int64) << step
        reports[begin : begin + _CHUNK] = found
    return reports


def impute(
    weights: Sequence[tuple[np.ndarray, int]],
    profiles: np.ndarray,
    values: np.ndarray,
    below: Callable[[int], int] = secrets.randbelow,
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions without -1: a value drawn from its profile, or with a profile that is drawn uniformly.

    Parameters
    ----------
    weights
        Each profile's distribution in integers, and their sum.
    profiles, values
        Positions, or -1 for what is unknown. The value of an unknown profile is not looked at.
    below
        Draws a uniform integer below another one; the operating system's, except in tests.
    """
    profiles, values = profiles.copy(), values.copy()
    for at in np.flatnonzero((profiles < 0) | (values < 0)):
        if profiles[at] < 0:
            profiles[at] = below(len(weights))
        row, whole = weights[profiles[at]]
        values[at] = np.searchsorted(row.cumsum(), below(whole), side="right")
    return profiles, values
