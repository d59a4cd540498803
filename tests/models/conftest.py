from __future__ import annotations

import pytest

from discreet.artifact.records.registry import RECORDS
from discreet.models import registry
from tests.models.toy import ToyRecord


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files name the toy model and its mechanism."""
    monkeypatch.setitem(registry.MODELS, "toy", "tests.models.toy:Toy")
    monkeypatch.setitem(RECORDS, "toy_means", ToyRecord)
