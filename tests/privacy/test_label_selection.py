"""Labels by a threshold: the guarantee, by enumerating every pair of neighboring tables of a few people."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.privacy.label_selection import is_high_enough, least_threshold, selection_scale

LABELS = "abc"
CASES = [
    (neighbors, g, epsilon, delta)
    for neighbors in ("add_remove", "replace")
    for g in (1, 2)
    for epsilon, delta in [(Fraction(1), Fraction(1, 20)), (Fraction(3), Fraction(1, 100))]
]


def outcomes(n: int, other: int, scale: float, threshold: int) -> list[tuple[float, float]]:
    """Return the probabilities of everything that can be seen of a label with n people, and with ``other`` of them.

    Beyond both numbers the ratio of the two is the same everywhere, so that values from there on are one outcome.
    """
    a = math.exp(-1 / scale)
    end = max(threshold, n, other)

    def mass(k: int, n: int) -> float:
        return float(n == k) if n == 0 else (1 - a) / (1 + a) * a ** abs(k - n)

    def beyond(n: int) -> float:
        # nobody has it: it is never looked at
        return 0.0 if n == 0 else a ** (end - n) / (1 + a)

    seen = [
        (0.0 if n == 0 else mass(k, n), 0.0 if other == 0 else mass(k, other)) for k in range(threshold, end)
    ]
    seen.append((beyond(n), beyond(other)))
    return [*seen, (1 - sum(p for p, _ in seen), 1 - sum(q for _, q in seen))]


def extra(x: Counter[str], y: Counter[str], epsilon: float, scale: float, threshold: int) -> float:
    """Return the least delta with which the published labels of x and y are (epsilon, delta)-indistinguishable."""
    each = [outcomes(x[label], y[label], scale, threshold) for label in LABELS]
    worst = 0.0
    for way in (0, 1):
        total = 0.0
        for combination in itertools.product(*each):
            p = math.prod(one[way] for one in combination)
            q = math.prod(one[1 - way] for one in combination)
            total += max(0.0, p - math.exp(epsilon) * q)
        worst = max(worst, total)
    return worst


def people(g: int) -> list[tuple[str, ...]]:
    return [labels for size in range(g + 1) for labels in itertools.combinations(LABELS, size)]


def tables(neighbors: str, g: int, *, rows: int = 1) -> Iterator[tuple[Counter[str], Counter[str]]]:
    """Return neighbors: every table of up to two others, and the person who comes, or comes for another."""
    others = [
        Counter(),
        *(Counter(one) for one in people(g)),
        *(Counter(one + two) for one, two in itertools.combinations_with_replacement(people(g), 2)),
    ]
    for rest in {tuple(sorted(one.items())): one for one in others}.values():
        for new in people(g):
            if neighbors == "add_remove":
                yield rest, rest + Counter(new * rows)
            else:
                yield from ((rest + Counter(old * rows), rest + Counter(new * rows)) for old in people(g))


def worst(
    neighbors: str, g: int, epsilon: Fraction, scale: Fraction, threshold: int, *, rows: int = 1
) -> float:
    return max(
        extra(x, y, float(epsilon), float(scale), threshold) for x, y in tables(neighbors, g, rows=rows)
    )


@pytest.mark.parametrize(("neighbors", "g", "epsilon", "delta"), CASES)
def test_the_promise_holds_for_all_neighbors_and_is_attained(neighbors, g, epsilon, delta):
    scale = selection_scale(epsilon, g, neighbors)
    threshold = least_threshold(scale, g, delta)
    found = worst(neighbors, g, epsilon, scale, threshold)
    alone = math.exp(-(threshold - 1) / scale) / (1 + math.exp(-1 / scale))
    assert found <= delta
    assert found == pytest.approx(1 - (1 - alone) ** g, rel=1e-9)
    # the threshold is whole: one lower gives 1 / a times as much
    assert found > 0.9 * math.exp(-1 / scale) * float(delta)


@pytest.mark.parametrize(("neighbors", "g", "epsilon", "delta"), CASES)
def test_a_threshold_one_lower_is_not_enough(neighbors, g, epsilon, delta):
    scale = selection_scale(epsilon, g, neighbors)
    threshold = least_threshold(scale, g, delta) - 1
    assert not is_high_enough(threshold, scale, g, delta)
    assert worst(neighbors, g, epsilon, scale, threshold) > delta


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_rows_instead_of_people_are_not_enough(neighbors: str):
    epsilon, delta = Fraction(1), Fraction(1, 20)
    scale = selection_scale(epsilon, 1, neighbors)  # pyright: ignore[reportArgumentType]
    assert worst(neighbors, 1, epsilon, scale, least_threshold(scale, 1, delta), rows=3) > 1.5 * delta


def test_one_group_instead_of_all_is_not_enough():
    epsilon, delta = Fraction(1), Fraction(1, 20)
    scale = selection_scale(epsilon, 1, "add_remove")
    assert worst("add_remove", 2, epsilon, scale, least_threshold(scale, 1, delta)) > 1.2 * delta
    # nor the noise of both with the threshold of one
    scale = selection_scale(epsilon, 2, "add_remove")
    assert worst("add_remove", 2, epsilon, scale, least_threshold(scale, 1, delta)) > 1.2 * delta


def test_a_person_who_comes_for_another_is_not_one_person():
    """Noise for adding one person, and neighbors who replace one: the loss on labels that others have is twice that."""
    epsilon, delta = Fraction(2), Fraction(1, 1000)
    scale = selection_scale(epsilon, 1, "add_remove")
    threshold = least_threshold(scale, 1, delta)
    many = Counter({"a": threshold, "b": threshold})
    x, y = many + Counter("a"), many + Counter("b")
    assert extra(x, y, float(epsilon), float(scale), threshold) > 10 * delta
    wide = selection_scale(epsilon, 1, "replace")
    assert extra(x, y, float(epsilon), float(wide), least_threshold(wide, 1, delta)) <= delta


def test_the_second_condition_is_needed():
    """With a large delta and much noise, p > 1 - a: that a label is not published tells too much."""
    epsilon, g = Fraction(1, 10), 2
    scale = selection_scale(epsilon, g, "replace")
    delta = Fraction(9, 10)
    low = next(
        t for t in range(2, 10**4) if g * math.exp(-(t - 1) / scale) / (1 + math.exp(-1 / scale)) <= delta
    )
    assert not is_high_enough(low, scale, g, delta)
    assert is_high_enough(least_threshold(scale, g, delta), scale, g, delta)


@pytest.mark.parametrize(
    "scale", [Fraction(1, 10**6), Fraction(1, 3), Fraction(7), Fraction(10**6), Fraction(2**50)]
)
@pytest.mark.parametrize("delta", [Fraction(1, 10**30), Fraction(1, 10**6), Fraction(1, 2)])
def test_the_least_threshold_is_the_least(scale: Fraction, delta: Fraction):
    for g in (1, 17, 10**5):
        found = least_threshold(scale, g, delta)
        assert is_high_enough(found, scale, g, delta)
        assert found == 2 or not is_high_enough(found - 1, scale, g, delta)


def test_forged_numbers_take_no_time():
    assert not is_high_enough(1, Fraction(1), 1, Fraction(1, 2))
    assert is_high_enough(10**18, Fraction(1, 10**9), 10**5, Fraction(1, 10**30))
    assert not is_high_enough(10**3, Fraction(10**15), 1, Fraction(1, 10**6))


def test_the_tail_is_that_of_the_noise(rng: np.random.Generator):
    """Against the mass function that noise is drawn from."""
    from discreet.privacy import DiscreteLaplace

    for scale in (0.5, 2.0, 7.3):
        tail = np.exp(DiscreteLaplace(scale).log_mass(np.arange(5, 2000))).sum()
        assert tail == pytest.approx(math.exp(-5 / scale) / (1 + math.exp(-1 / scale)), rel=1e-9)


def test_thresholds_of_the_documentation():
    page = (Path(__file__).parents[2] / "docs/how-to/groups.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+), 1e-6 \| `(\w+)` \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert len(rows) == 5
    for epsilon, neighbors, g, threshold in rows:
        scale = selection_scale(Fraction(epsilon) / 2, int(g), neighbors)
        assert least_threshold(scale, int(g), Fraction(1, 10**6)) == int(threshold)
