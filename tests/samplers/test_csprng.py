"""The generator behind floating-point samplers: the operating system's bits, in NumPy's distributions."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from discreet.samplers.csprng import SystemBits, secure_generator, undisturbed

# The bits cannot be seeded: an alarm once in a million runs for each distribution.
ALARM = 1e-6


@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (lambda g: g.random(20_000), stats.uniform()),
        (lambda g: g.normal(size=20_000), stats.norm()),
        (lambda g: g.exponential(size=20_000), stats.expon()),
        (lambda g: g.gamma(2.5, size=20_000), stats.gamma(2.5)),
        (lambda g: g.beta(0.5, 3, size=80_000), stats.beta(0.5, 3)),
    ],
)
def test_distributions(
    draw: Callable[[np.random.Generator], np.ndarray], distribution: stats.rv_continuous
) -> None:
    found = draw(secure_generator())
    assert stats.kstest(found, distribution.cdf).pvalue > ALARM
    # negative control: a scale wrong by a tenth is told apart
    assert stats.kstest(found * 1.1, distribution.cdf).pvalue < ALARM


def test_every_bit_is_used() -> None:
    words = secure_generator().integers(0, 2**64, 4000, dtype=np.uint64)
    halves = secure_generator().integers(0, 2**32, 4000, dtype=np.uint32)
    for numbers, n_bits in ((words, 64), (halves, 32)):
        ones = np.array([int(((numbers >> np.array(k, numbers.dtype)) & 1).sum()) for k in range(n_bits)])
        assert (np.abs(ones - 2000) < stats.norm.isf(ALARM / 256) * np.sqrt(1000)).all()


def test_bits_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda n: b"\x00" * n)
    assert secure_generator().random() == 0.0
    monkeypatch.setattr(os, "urandom", lambda n: b"\xff" * n)
    assert secure_generator().random() == 1 - 2.0**-53


def test_nothing_repeats_and_nothing_can_be_saved() -> None:
    generator = secure_generator()
    gc.collect()
    assert len({generator.random() for _ in range(1000)} | {secure_generator().random()}) == 1001
    for save in (copy.deepcopy, pickle.dumps):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            save(SystemBits())


def test_the_process_ends_rather_than_draw_without_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(Exception):
        pass

    def end(code: int) -> None:
        raise Ended(code)

    def refuse(n: int) -> bytes:
        raise OSError

    monkeypatch.setattr(os, "urandom", refuse)
    monkeypatch.setattr(os, "_exit", end)
    bits = SystemBits()
    with pytest.raises(Ended):
        bits._take(8)


def test_a_signal_interrupts_the_caller_and_no_draw_leaves() -> None:
    """An exception in a callback would be lost: the draw runs where no handler does."""

    # as Ctrl-C: what is no Exception is not taken for a thread that could not be started
    class Struck(BaseException):
        pass

    def strike(*_: object) -> None:
        raise Struck

    def draw(generator: np.random.Generator) -> list[np.ndarray]:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        # ten times as long as the signal waits, or longer: the draw goes on after it
        return [generator.random(50_000) for _ in range(8)]

    before = signal.signal(signal.SIGALRM, strike)
    try:
        for _ in range(5):
            with pytest.raises(Struck):
                undisturbed(draw)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_errors_of_a_sampler_reach_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        undisturbed(lambda generator: 1 / 0)
