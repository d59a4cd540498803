"""Thinned Laplace noise: its coin by enumeration, its frequencies against the mass function, and what is tossed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.samplers import thinned
from discreet.samplers.secure import SECURE, RandomSource
from discreet.samplers.thinned import _is_kept, excess_of, thinned_noise

SCALES = (Fraction(5, 2), Fraction(3, 2))
FORMS = np.array([[1, 1], [-1, -1], [2, -1], [-2, 1], [0, 1], [0, -1]])
REACHES = (Fraction(4, 3), Fraction(4, 3), Fraction(2), Fraction(2), Fraction(7, 8), Fraction(7, 8))
WIDE = 60
#: False alarms of this file's statistical tests, each.
ALARM = 1e-4


def log_mass(scales: Sequence[Fraction] = SCALES) -> np.ndarray:
    """Return minus M on a square of the lattice, not normalized: the larger of the L1 norm and of the forms."""
    line = np.arange(-WIDE, WIDE + 1)
    k = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    l1 = (np.abs(k) / np.array([float(one) for one in scales])).sum(axis=-1)
    forms = (k @ FORMS.T / np.array([float(one) for one in REACHES])).max(axis=-1)
    return -np.maximum(l1, forms)


def p_value(found: Sequence[tuple[int, ...]]) -> float:
    """Return the p-value of a chi-square test against the mass function; cells with few draws are one."""
    mass = np.exp(log_mass())
    mass /= mass.sum()
    counts = np.zeros(mass.shape)
    np.add.at(counts, tuple(np.array(found).T + WIDE), 1)
    expected = mass * len(found)
    large = expected >= 5
    observed = [*counts[large], counts[~large].sum()]
    return float(stats.chisquare(observed, [*expected[large], expected[~large].sum()]).pvalue)


def drawn(rng: np.random.Generator, times: int = 6000) -> list[tuple[int, ...]]:
    return thinned_noise(SCALES, FORMS, REACHES, times, RandomSource.seeded(rng))


def test_frequencies_are_those_of_the_mass_function(rng: np.random.Generator) -> None:
    found = drawn(rng)
    assert len(found) == 6000
    assert all(type(value) is int for k in found for value in k)
    assert p_value(found) > ALARM


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        # plain Laplace noise
        ("_is_kept", lambda exponent, source: True),
        # a density that falls with 2/3 M + 1/3 L, or with 2 M - L
        ("excess_of", lambda *given: Fraction(2, 3) * excess_of(*given)),
        ("excess_of", lambda *given: 2 * excess_of(*given)),
        # more tosses that are taken for granted than there are
        ("_SLACK", -0.9),
    ],
    ids=["always kept", "too little", "too much", "too sure"],
)
def test_another_density_is_told_apart(
    name: str, wrong: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thinned, name, wrong)
    assert p_value(drawn(rng)) < ALARM


def test_secure_draws_have_the_same_frequencies() -> None:
    """The operating system's randomness has no seed: a false alarm once in a billion runs."""
    assert p_value(thinned_noise(SCALES, FORMS, REACHES, 1000, SECURE)) > 1e-9


# -- the coin ------------------------------------------------------------------------------------------


class Toss(Exception):
    """Raised where the outcomes that were decided on are used up."""


def kept_between(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds on the probability that it is kept: by every sequence of outcomes that is not too unlikely."""
    kept, open_ = Fraction(0), Fraction(0)
    paths: list[tuple[tuple[bool, ...], Fraction]] = [((), Fraction(1))]
    while paths:
        path, likely = paths.pop()
        if likely < Fraction(1, 10**10):
            open_ += likely
            continue
        asked: list[Fraction] = []

        def coin(probability: Fraction, path: tuple[bool, ...] = path, asked: list[Fraction] = asked) -> bool:
            assert isinstance(probability, Fraction)
            assert 0 <= probability <= 1
            if len(asked) == len(path):
                asked.append(probability)
                raise Toss
            asked.append(probability)
            return path[len(asked) - 1]

        try:
            if _is_kept(exponent, replace(SECURE, coin=coin)):
                kept += likely
        except Toss:
            for outcome, part in ((True, asked[-1]), (False, 1 - asked[-1])):
                if part:
                    paths.append(((*path, outcome), likely * part))
    return kept, kept + open_


@pytest.mark.parametrize("exponent", [0, Fraction(1, 3), Fraction(9, 10), 1, Fraction(4, 3), Fraction(5, 2)])
def test_the_coin_is_exact(exponent: Fraction | int) -> None:
    low, high = kept_between(Fraction(exponent))
    assert high - low < Fraction(1, 10**6)
    assert low - Fraction(1, 10**15) <= Fraction(math.exp(-exponent)) <= high + Fraction(1, 10**15)


# -- what is tossed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [Fraction(1, 2**20), Fraction(1), Fraction(2**40 + 1, 3), Fraction(2**55)])
def test_no_more_tosses_are_taken_for_granted_than_there_are(
    size: Fraction, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of the exponent is never negative, however wide the noise is: floats say how much there is least."""
    scales = [Fraction(float(one * size)) for one in SCALES]
    reaches = [one * size for one in REACHES]
    left: list[Fraction] = []

    def kept(exponent: Fraction, source: RandomSource) -> bool:
        left.append(exponent)
        return True

    monkeypatch.setattr(thinned, "_is_kept", kept)
    found = thinned_noise(scales, FORMS, reaches, 600, RandomSource.seeded(rng))
    assert min(left) >= 0
    # and nothing overflows: of each draw the tosses add up to its exponent
    every = sum(excess_of(np.array(k), scales, FORMS, reaches) for k in found)
    assert sum(left) == every
    monkeypatch.setattr(thinned, "_SLACK", -0.9)
    thinned_noise(scales, FORMS, reaches, 600, RandomSource.seeded(rng))
    assert size < 1 or min(left) < 0


def test_the_density_never_exceeds_that_of_the_proposals(rng: np.random.Generator) -> None:
    """M is at least L, whatever the forms are: of forms that never bind every proposal is kept."""
    k = rng.integers(-50, 50, (200, 2))
    small = [100 * one for one in REACHES]
    assert all(excess_of(one, SCALES, FORMS, small) == 0 for one in k)
    assert any(excess_of(one, SCALES, FORMS, REACHES) > 0 for one in k)
    assert all(excess_of(one, SCALES, FORMS, REACHES) >= 0 for one in k)
