"""One catalogue of texts: every language says all of it, and pages ask for nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the studio's packages are not there: pip install 'discreet[studio]'")

from discreet.studio import catalogue
from discreet.studio.asked_questions import KINDS, NOISES, RULES
from discreet.studio.catalogue import LANGUAGES, chosen_language, texts
from tests.studio.visitor import Visitor

FOLDER = Path(catalogue.__file__).parent


def test_languages_have_the_same_keys_and_the_same_values_in_braces() -> None:
    english = texts("en")
    assert len(english) > 150
    for language in LANGUAGES:
        other = texts(language)
        assert other.keys() == english.keys()
        for key, text in other.items():
            assert text.strip()
            assert set(re.findall(r"{(\w+)}", text)) == set(re.findall(r"{(\w+)}", english[key])), key
    same = [key for key in english if english[key] == texts("de")[key] and len(english[key]) > 12]
    assert same == ["reading.code"] or len(same) < 4


def test_pages_ask_for_keys_that_are_there_and_no_key_is_left_over() -> None:
    asked: set[str] = set()
    for path in [*FOLDER.glob("templates/*.html"), *FOLDER.glob("*.py")]:
        asked |= set(re.findall(r"\bt\(\s*[\"']([a-z_]+\.[a-z_]+)[\"']", path.read_text()))
        asked |= set(re.findall(r"\bsay\([\"']([a-z_]+\.[a-z_]+)[\"']", path.read_text()))
    asked |= {f"questions.{part}_{kind}" for part in ("kind", "example", "said") for kind in KINDS}
    asked |= {f"rules.{rule}" for rules in RULES.values() for rule in rules}
    asked |= {f"steps.{step}" for step in ("data", "unit", "questions", "budget", "review", "done")}
    asked |= {"questions.said_bought", "questions.said_bounds", *(f"questions.noise_{one}" for one in NOISES)}
    assert {key for key in asked if not key.endswith("_")} == set(texts("en"))


def test_the_language_follows_the_browser_and_can_be_changed(tmp_path: Path) -> None:
    assert [chosen_language(x) for x in ("de-AT,en;q=0.5", "fr,en", "", "xx,de")] == ["de", "en", "en", "de"]
    visitor = Visitor(tmp_path / "studio", analyst=True)
    assert '<html lang="de">' in visitor.get("/", headers={"accept-language": "de"}).text
    assert '<html lang="de">' in visitor.post("/language", {"language": "de", "back": "/read"}).text
    assert visitor.post("/language", {"language": "xx"}).status_code == 400
    assert str(visitor.post("/language", {"language": "en", "back": "//evil.example"}).url).endswith("/")
