"""The README and the pages do what they say: their code runs, and what they show is what is printed.

``python`` blocks are executed, ``pycon`` blocks are doctests, and of ``console`` blocks every line that starts with
``$`` is run; where output follows, it must be the command's, up to blank lines and trailing blanks. Blocks of one page
share their names and a folder. ``sh`` blocks are not run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet import cli

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/tutorial.md",
    "docs/tutorial-profiles.md",
    *(f"docs/how-to/{p.name}" for p in (ROOT / "docs/how-to").glob("*.md")),
]
# where pages say that a database is
_ADDRESS = "postgresql://curator@db.example.org/clinic"
# what only a shell understands
_SHELL = ("|", " >", "&", "$(", " < ")
_BLOCK = re.compile(r"^```(python|pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder that looks like the repository where the pages refer to it."""
    for part in ("docs/examples", "src/discreet/datasets"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(dc.datasets.clinic_survey(), tmp_path / "clinic.csv")
    monkeypatch.chdir(tmp_path)
    programs = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", programs + os.pathsep + os.environ["PATH"])
    for variable in ("COLUMNS", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_and_print_what_the_page_shows(
    page: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    names: dict[str, Any] = {"dc": dc}
    text = (ROOT / page).read_text()
    if "discreet sign " in text:
        pytest.importorskip("cryptography", reason="cryptography is not there: pip install 'discreet[sign]'")
    if _ADDRESS in text:
        text = text.replace(_ADDRESS, with_visits(request.getfixturevalue("postgres")))
    blocks = _BLOCK.findall(text)
    assert blocks
    for language, code in blocks:
        if language == "python":
            exec(compile(code, page, "exec"), names)
        elif language == "pycon":
            run_doctest(code, page, names)
        else:
            run_console(code)


def with_visits(server: str) -> str:
    """Return a database in which there is the table that pages speak of."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS visits")
        connection.execute(
            "CREATE TABLE visits AS SELECT i % 400 AS patient_id, 50.0 * (i % 7) AS cost, 2020 + i % 5 AS year "
            "FROM generate_series(1, 2000) AS t(i)"
        )
    return server


def run_doctest(code: str, page: str, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(code, names, page, page, 0)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not failed, "".join(report)


def run_console(code: str) -> None:
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command[:-1] + more
        exit_code, printed, trouble = run_command(command)
        assert exit_code == 0, f"{command}\n{trouble}"
        if shown.strip():
            assert lines(printed) == lines(shown), command


def run_command(command: str) -> tuple[int, str, str]:
    """Run one line of a shell, commands of ours without a new process: the exit code, and what was printed."""
    words = shlex.split(command)
    if words[0] != "discreet" or any(mark in command for mark in _SHELL):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr
    out, trouble = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(trouble):
        exit_code = cli.run(words[1:])
    return exit_code, out.getvalue(), trouble.getvalue()


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_a_wrong_number_in_a_page_is_caught(folder: Path) -> None:
    with pytest.raises(AssertionError):
        run_console("$ discreet infer docs/examples/smoking.json --seed 0\np  0.9999\n")
    with pytest.raises(AssertionError):
        run_doctest(">>> 1 + 1\n3\n", "page", {})


def test_the_picture_is_what_its_script_draws(tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    from scripts import make_posterior_picture

    make_posterior_picture.main(tmp_path / "posterior.png")
    drawn, kept = (
        np.asarray(Image.open(path).convert("L"), dtype=float)
        for path in (tmp_path / "posterior.png", make_posterior_picture.TARGET)
    )
    assert drawn.shape == kept.shape
    # other font rasterizers move edges by a pixel; another curve or number moves much more
    assert np.abs(drawn - kept).mean() < 1.0
