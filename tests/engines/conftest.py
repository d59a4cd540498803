"""Tests of engines that the default environment has not: `make test-engines` and `make test-spark` run them."""

import os
import sys

import pytest

from tests.engines.sessions import engines

collect_ignore_glob = [] if engines() else ["test_*.py"]
_ended: list[int] = []


def pytest_sessionfinish(exitstatus: int) -> None:
    """Keep what the run came to."""
    _ended.append(int(exitstatus))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """End the process where an engine's server was started in it: its threads would keep it after the last test."""
    if engines() and _ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_ended[-1])
