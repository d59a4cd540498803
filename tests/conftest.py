"""One seed for the whole suite; ``--seed`` tries another."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Generator

import numpy as np
import pytest

from tests.postgres_server import shared_server


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=0, help="seed behind every test's `rng` (default 0)")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Search nothing of what is imported for garbage, neither now nor while tests run: it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """The session's seed."""
    return int(request.config.getoption("--seed"))  # pyright: ignore[reportArgumentType]


@pytest.fixture
def rng(request: pytest.FixtureRequest, seed: int) -> np.random.Generator:
    """A generator of the test's own: it depends on the seed and the test's name, not on which tests ran before."""
    name = hashlib.sha256(request.node.nodeid.encode()).digest()[:8]
    return np.random.default_rng([seed, int.from_bytes(name, "little")])


@pytest.fixture(scope="session")
def postgres() -> str:
    """The URL of a PostgreSQL server that lives as long as the tests of this process."""
    return shared_server()
