"""Families of a user's own, in a module that other processes can import."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import discreet as dc
from discreet.errors import UsageError


@dataclass(frozen=True)
class Coin(dc.Bernoulli):
    """Talks while it works."""

    name: ClassVar[str] = "coin"

    def sample(self, theta, size: int, rng: np.random.Generator) -> np.ndarray:
        print("tossing")
        return super().sample(theta, size, rng)


@dataclass(frozen=True)
class RefusingCoin(dc.Bernoulli):
    """Refuses to be tossed where p is large, which is in one trial of ten."""

    name: ClassVar[str] = "refusing_coin"

    def sample(self, theta, size: int, rng: np.random.Generator) -> np.ndarray:
        if theta["p"] > 0.9:
            raise UsageError("this coin cannot be tossed.", hint="take another")
        return super().sample(theta, size, rng)


class OddError(Exception):
    """Cannot be rebuilt from what it says."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


@dataclass(frozen=True)
class OddCoin(dc.Bernoulli):
    """Fails in a way that does not travel between processes."""

    name: ClassVar[str] = "odd_coin"

    def sample(self, theta, size: int, rng: np.random.Generator) -> np.ndarray:
        raise OddError("lost ", "coin")


@dataclass(frozen=True)
class DeadlyCoin(dc.Bernoulli):
    """Ends its process."""

    name: ClassVar[str] = "deadly_coin"

    def sample(self, theta, size: int, rng: np.random.Generator) -> np.ndarray:
        os._exit(3)
