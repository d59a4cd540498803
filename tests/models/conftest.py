from __future__ import annotations

import pytest

from discreet.artifact import samples
from discreet.models import registry


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files name the toy model and its mechanism."""
    monkeypatch.setitem(registry.MODELS, "toy", "tests.models.toy:Toy")
    monkeypatch.setitem(samples.CHECKS, "toy_means", "tests.models.toy")
    monkeypatch.setitem(samples.WAYS, "toy_means", "the means of the columns, with noise")
