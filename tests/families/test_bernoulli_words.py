"""Yes and no in the column's own words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.errors import UsageError

WORDS = dc.Bernoulli(yes="malignant", no=["benign", "b"])
ROWS = ["malignant", "benign", "b", "b", None, "yes", 1, "Malignant"]


def quiet(rows: Any, model: Any, **how: Any) -> tuple[int, ...]:
    """Totals without noise."""
    return release_with(
        lambda noise: 0, rows, model, dc.mechanisms.Laplace(1), neighbors="add_remove", **how
    ).totals.values


def test_only_the_columns_own_words_are_read():
    assert quiet(ROWS, WORDS) == (3, 1)
    assert quiet(pd.DataFrame({"x": ROWS}), WORDS) == (3, 1)
    assert quiet([1, 2, 2.0, "2", None, 0], dc.Bernoulli(yes=1, no=2)) == (3, 1)
    assert quiet([True, False], dc.Bernoulli(yes=0, no=1)) == (1, 1)


def test_a_file_knows_its_words():
    release = dc.release(ROWS, WORDS, epsilon=1)
    again = dc.Release.from_json(release.to_json())
    assert again == release
    assert again.model == WORDS
    assert again.model.describe() == "bernoulli (yes is malignant, no is benign or b)"
    assert dc.families.parse("bernoulli:yes=malignant,no=benign|b") == WORDS
    assert "; yes is malignant, no is benign or b; " in release.statement()
    posterior = dc.infer(again, rng=1, draws=40)
    assert posterior.draws["p"].shape == (40,)


@pytest.mark.parametrize(
    ("model", "impute", "expected"),
    [
        (WORDS, "malignant", (3, 5)),
        (WORDS, "b", (7, 1)),
        # words that look like the places of others
        (dc.Bernoulli(yes="0", no="1"), "0", (1, 7)),
        (dc.Bernoulli(yes="0", no="1"), 1, (8, 0)),
        (dc.Bernoulli(), True, (1, 7)),
    ],
)
def test_imputed_words(model: dc.Bernoulli, impute: Any, expected: tuple[int, int]):
    rows: list[Any] = ROWS if model == WORDS else ["1", *[None] * 7] if model.yes else ["no", *[None] * 7]
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.1, 0.9))
    release = dc.release(rows, model, mechanism=mechanism, missing="impute", impute=impute)
    assert dc.Release.from_json(release.to_json()) == release
    word = {True: "1"}.get(impute, str(impute) if impute != "b" else "benign")
    assert f"missing and undeclared values were replaced by {word}" in release.statement()
    from discreet.data import summarize

    layout = model.layout(release.domain, "add_remove")
    assert summarize(rows, model, release.domain, layout).values == expected


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ({"yes": "a"}, "both answers"),
        ({"yes": "a", "no": "a"}, "distinct"),
        ({"yes": ["a", "b"], "no": ["b"]}, "distinct"),
        ({"yes": "", "no": "b"}, "empty"),
        ({"yes": [], "no": "b"}, "at least one"),
        ({"yes": True, "no": False}, "texts or whole numbers"),
        ({"yes": np.array(["a"]), "no": 1.5}, "texts or whole numbers|integer"),
    ],
)
def test_words_that_do_not_fit(words: dict[str, Any], wrong: str):
    with pytest.raises(UsageError, match=wrong):
        dc.Bernoulli(**words)


def test_what_is_imputed_is_one_of_the_words():
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.1, 0.9))
    with pytest.raises(UsageError, match="impute must be benign or malignant"):
        dc.release(ROWS, WORDS, mechanism=mechanism, missing="impute", impute="perhaps")
