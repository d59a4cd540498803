"""What the reference promises: that it lists what is public, and that the examples beside it are good ones."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from discreet.models.registry import MODELS, REGISTERED, kind_named
from discreet.privacy import amplification

DOCS = Path(__file__).parents[2] / "docs"


def listed(page: str, module: str) -> list[str]:
    """Return the names of a module that a page documents, in order."""
    return re.findall(rf"^\.\. auto(?:class|function):: {re.escape(module)}\.(\w+)$", page, re.MULTILINE)


def test_every_export_of_amplification_is_listed_once() -> None:
    page = (DOCS / "reference/python/guarantees.md").read_text()
    assert sorted(listed(page, "discreet.privacy.amplification")) == sorted(amplification.__all__)


def test_every_export_of_amplification_has_an_example() -> None:
    page = (DOCS / "how-to/what-later-noise-adds.md").read_text()
    blocks = "".join(re.findall(r"^```pycon\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    used = set(re.findall(r"amp\.(\w+)", blocks))
    assert used == set(amplification.__all__)


def test_the_keys_of_model_files_are_those_of_the_models() -> None:
    page = (DOCS / "how-to/declare-a-model-in-a-file.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE))
    models = [name for name in (*MODELS, *REGISTERED) if name in rows]
    assert len(models) > 10
    for name in models:
        assert set(re.findall(r"`(\w+)`", rows[name])) == set(inspect.signature(kind_named(name)).parameters)


def test_the_list_is_read_from_the_page() -> None:
    page = ".. autofunction:: a.b.f\n.. autoclass:: a.b.C\n   :members: g\n.. autofunction:: a.c.h\n"
    assert listed(page, "a.b") == ["f", "C"]


def test_bought_bounds_keep_what_they_cut_off() -> None:
    """Bounds at quantiles leave true values outside; redacted, they would make a posterior fall into two parts."""
    page = (DOCS / "how-to/private-bounds.md").read_text()
    blocks = re.findall(r"^```(?:python|console)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    examples = [block for block in blocks if "dc.release(" in block or "discreet release" in block]
    assert len(examples) == 3
    for example in examples:
        # clipping is the default
        assert "redact" not in example


@pytest.mark.parametrize("words", ["20 iterations", "paper runs 200 iterations"])
def test_the_study_says_where_it_falls_short_of_the_paper(words: str) -> None:
    assert words in (DOCS / "explanation/foulds2016-hmm.md").read_text()
