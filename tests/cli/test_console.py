from __future__ import annotations

import io
import time

import pytest

from discreet.cli import console


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (0.239217, 0.0148, "0.239"),
        (0.239217, 0.148, "0.24"),
        (123456.789, 12.3, "123,457"),
        (123456.789, 1234.0, "123,500"),
        (40.0, None, "40.00"),
        (0.0, None, "0"),
        (0.0, 0.5, "0.00"),
        (1e15, None, "1e+15"),
        (1.5e-12, None, "1.5e-12"),
        (float("inf"), None, "inf"),
        (-0.5, 0.01, "-0.500"),
    ],
)
def test_numbers_show_two_digits_of_their_spread(value: float, spread: float | None, text: str) -> None:
    assert console.number(value, spread) == text


def test_progress_is_for_terminals_and_for_the_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, quick, slow = io.StringIO(), Terminal(), Terminal()
    monkeypatch.setattr(console, "PATIENCE_SECONDS", 0.05)
    for stream, seconds in ((pipe, 0.2), (quick, 0.0), (slow, 0.3)):
        monkeypatch.setattr("sys.stderr", stream)
        with console.busy("Counting sheep …"):
            time.sleep(seconds)
    assert pipe.getvalue() == ""
    assert "Counting" not in quick.getvalue()
    assert "Counting sheep" in slow.getvalue()


def test_an_error_inside_the_block_stops_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(KeyError), console.busy("Counting sheep …"):
        raise KeyError


def test_errors_are_one_line_whatever_the_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert console.report_error("first\nsecond\x1b[31m", "do\nthis", 2, as_json=False) == 2
    assert capsys.readouterr().err == "error: first second\N{REPLACEMENT CHARACTER}[31m\nhint: do this\n"
