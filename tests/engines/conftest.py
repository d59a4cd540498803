"""Tests of engines that the default environment has not: `make test-engines` and `make test-spark` run them."""

from tests.engines.sessions import engines

collect_ignore_glob = [] if engines() else ["test_*.py"]
