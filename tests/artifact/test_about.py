"""Declarations in words: what may be declared, what a file may hold of it, and what registries are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.artifact.about import FIELDS, LONGEST, LONGEST_TOGETHER, load_about
from discreet.artifact.codec import checksum
from discreet.artifact.registry_fields import registry_fields
from discreet.cli import run
from discreet.errors import DataError, ReleaseFileError, UsageError

GOLDEN = sorted((Path(dc.__file__).parent / "artifact" / "golden").glob("*.json"))
SAID = {"curators": "Clinic", "release_type": "one release", "publication_date": "2026-11-17"}


def made(about: Any = None, **more: Any) -> dc.Release:
    return dc.release([1, 0, 1], dc.Bernoulli(), epsilon=1, about=about, **more)


def forged(about: Any) -> str:
    """Return a file with this ``about`` and a seal that fits."""
    body = json.loads(made(SAID).to_json())
    body["about"] = about
    body["sha256"] = checksum(body)
    return json.dumps(body)


def test_declarations_are_in_the_file_as_they_were_made() -> None:
    release = made({"actors": "a\nb", **SAID})
    assert release.about == {**SAID, "curators": ("Clinic",), "actors": "a\nb"}
    assert dc.Release.from_json(release.to_json()) == release
    assert "about" not in json.loads(made().to_json())


def test_declarations_change_nothing_else() -> None:
    said, silent = made(SAID), made()
    assert said.guarantee == silent.guarantee
    assert said.statement() == silent.statement()


def test_all_releases_of_a_call_get_them() -> None:
    both = dc.release(
        {"a": [1, 0], "b": [0, 1]}, {"a": dc.Bernoulli(), "b": dc.Bernoulli()}, epsilon=1, about=SAID
    )
    assert [one.about for one in both.values()] == [{**SAID, "curators": ("Clinic",)}] * 2
    coarser = dc.coarsen(both["a"], epsilon=0.1)
    assert coarser.about == both["a"].about


WRONG: list[tuple[Any, str]] = [
    ({}, "with one at least"),
    ("Clinic", "must be a dictionary"),
    ([("name", "x")], "must be a dictionary"),
    ({"nome": "x"}, "no field 'nome'"),
    ({3: "x"}, "no field 3"),
    ({"name": 3}, "name must be a text"),
    ({"name": ""}, "name must be a text"),
    ({"name": " \n"}, "name must be a text"),
    ({"name": "x" * (LONGEST + 1)}, "shorter than"),
    ({"name": "\x1b[2J"}, "cannot be printed"),
    ({"name": "a\u202eb"}, "cannot be printed"),
    ({"name": "\ud800"}, "cannot be printed"),
    ({"name": ["x"]}, "name must be a text"),
    ({"curators": []}, "takes 1 to 20"),
    ({"curators": ["x"] * 21}, "takes 1 to 20"),
    ({"curators": [["x"]]}, "curators must be a text"),
    ({"release_type": "two releases"}, "must be 'one release' or 'many releases'"),
    ({"publication_date": "17.11.2026"}, "must be a date"),
    ({"publication_date": "20261117"}, "must be a date"),
    (dict.fromkeys((n for n in FIELDS if n not in SAID and n != "data_source_type"), "x" * 1500), "together"),
]


@pytest.mark.parametrize(("about", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_cannot_be_declared_is_one_line_and_nothing_is_spent(
    about: Any, said: str, tmp_path: Path
) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", budget=dc.PureDP(1))
    with pytest.raises(UsageError, match=said) as caught:
        made(about, ledger=ledger, dataset="d")
    assert "\n" not in caught.value.message
    assert all(entry.kind != "charge" for entry in ledger.entries())
    # and a file that holds it is refused, whoever sealed it
    if isinstance(about, dict) and 3 not in about:
        with pytest.raises(ReleaseFileError, match="does not hang together"):
            dc.Release.from_json(forged(about))


def test_a_file_says_it_in_one_way_only() -> None:
    assert LONGEST * len(FIELDS) > LONGEST_TOGETHER
    for about in (None, [], "x", {"curators": "Clinic"}, {"release_type": "one release", "name": "x"}):
        with pytest.raises(ReleaseFileError, match="does not hang together"):
            dc.Release.from_json(forged(about))
    assert dc.Release.from_json(forged({"name": "x", "release_type": "one release"})).about is not None


def test_declarations_from_files(tmp_path: Path) -> None:
    toml = tmp_path / "about.toml"
    toml.write_text('curators = "Clinic"\npublication_date = 2026-11-17\nrelease_type = "one release"\n')
    assert load_about(toml) == {**SAID, "curators": ("Clinic",)}
    other = tmp_path / "about.json"
    other.write_text(json.dumps(SAID))
    assert load_about(other) == load_about(toml)
    for content in (
        "x",
        "name = ",
        "name = 3",
        "[basic]\nname = 'x'",
        "\x00",
        "a" * 100_000,
        "name = 07:32:00",
    ):
        toml.write_text(content)
        with pytest.raises(UsageError) as caught:
            load_about(toml)
        assert "\n" not in caught.value.message
    other.write_text("[" * 100_000)
    with pytest.raises(UsageError):
        load_about(other)
    with pytest.raises(DataError, match="cannot read"):
        load_about(tmp_path / "none.toml")


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_every_release_answers_what_registries_ask(path: Path) -> None:
    release = dc.Release.load(path)
    found = registry_fields(release)
    entry = found.to_dict()["deployment"]
    assert entry["privacy_loss"]["privacy_parameters"].keys() == release.guarantee.budgets().keys()
    assert entry["implementation"]["mechanisms"]
    relation = found.sections["evaluation"]["neighbors"].partition(":")[0]
    assert relation == ("bounded" if release.neighbors == "replace" else "unbounded")
    # every field that is not known could have been declared, and nothing else is unknown
    assert all(field in FIELDS for field in found.unknown.values())
    assert bool(found.unknown) == (release.about is None)


def test_what_is_not_known_is_said_and_not_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made(SAID).save("r.json")
    assert run(["show", "r.json", "--registry", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "discreet/registry/1"
    assert answer["deployment"]["deployment_model"]["release_type"] == "One release"
    assert "actors" not in answer["deployment"]["deployment_model"]
    assert "deployment_model.actors" in answer["unknown"]
    assert "deployment_model.release_type" not in answer["unknown"]
    assert run(["show", "r.json", "--registry"]) == 0
    printed = capsys.readouterr().out
    assert "deployment_model.actors  (actors = …)" in printed
    assert "epsilon = 1" in printed


def test_a_release_on_the_command_line_takes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("smoker\nyes\nno\n")
    Path("about.toml").write_text('name = "Smokers"\n')
    command = "release data.csv -m bernoulli -c smoker --epsilon 1 -o out.json --about about.toml"
    assert run(command.split(" ")) == 0
    assert dc.Release.load("out.json").about == {"name": "Smokers"}
    Path("about.toml").write_text('nam = "Smokers"\n')
    capsys.readouterr()
    assert run([*command.split(" "), "--force"]) == 2
    assert capsys.readouterr().err == "error: about has no field 'nam'.\nhint: name?\n"
