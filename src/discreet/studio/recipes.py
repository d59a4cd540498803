"""The command and the Python that do what a page does: the same declarations, guarantee and charge."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from discreet.studio.asked_questions import Question
from discreet.studio.drafts import Draft

_MODELS = {"share": "bernoulli", "average": "mean", "distribution": "histogram", "categories": "categorical"}
#: Arguments of ``release`` that the command line takes under the same name, and as they are.
_PLAIN = (
    "epsilon",
    "delta",
    "mechanism",
    "where",
    "unit",
    "per_unit",
    "max_groups",
    "neighbors",
    "table",
    "dataset",
    "analyst",
    "ledger",
    "unit_label",
)


def command(draft: Draft, question: Question) -> list[str]:
    """Return the words of the command that makes the same release."""
    said = draft.declarations(question)
    words = ["discreet", "release", data_of(draft), "-m", _model_text(question)]
    if question.kind == "distribution":
        words += ["--bins", str(question.model().constants()["bins"])]
    if "column" in said:
        words += ["-c", said["column"]]
    if question.bought and "bounds" in said:
        bought = said["bounds"]
        words += ["--bounds", "quantiles:0.025,0.975", f"--within={question.low},{question.high}"]
        words += ["--bounds-epsilon", _decimal(bought.epsilon)]
    elif "bounds" in said:
        words += [f"--bounds={question.low},{question.high}"]
    if question.private:
        words += ["--by", question.by, "--groups", "private"]
    elif question.by:
        words += ["--by", f"{question.by}={'|'.join(question.groups)}"]
    for name in _PLAIN:
        if name in said and not (name == "neighbors" and said[name] == "replace"):
            words += [f"--{name.replace('_', '-')}", str(said[name])]
    return [*words, "-o", f"{question.name}.json"]


def command_text(draft: Draft) -> str:
    """Return the commands of all questions, and the files that they need, as a shell reads them."""
    lines: list[str] = []
    for one in draft.questions:
        if one.kind == "predicts":
            lines += [f"cat > {shlex.quote(f'{one.name}.toml')} <<'END'", model_file(one).rstrip(), "END"]
        lines.append(_wrapped([shlex.quote(word) for word in command(draft, one)]))
        if draft.key:
            lines.append(f"discreet sign {shlex.quote(f'{one.name}.json')} --key {shlex.quote(draft.key)}")
    return "\n".join(lines) + "\n"


def model_file(question: Question) -> str:
    """Return the file that declares a regression to the command line, in TOML."""
    name = "logistic_regression" if question.labels else "linear_regression"
    lines = [f'model = "{name}"', "", "[target]", *_table(question.target()), "", "[features]"]
    return "\n".join([*lines, *_table(question.declared_features())]) + "\n"


def python_text(draft: Draft) -> str:
    """Return Python that makes the same releases."""
    lines = ["import discreet as dc", ""]
    for one in draft.questions:
        said = draft.declarations(one)
        written = {name: repr(value) for name, value in said.items()}
        if one.bought and "bounds" in said:
            paid = _decimal(said["bounds"].epsilon)
            written["bounds"] = (
                f"dc.mechanisms.PrivateQuantiles('0.025', '0.975', within=[({one.low!r}, {one.high!r})], "
                f"epsilon={paid!r})"
            )
        arguments = [repr(data_of(draft)), _model_code(one), *(f"{k}={v}" for k, v in written.items())]
        listed = ",\n    ".join(arguments)
        key = f", key={draft.key!r}" if draft.key else ""
        lines += [
            f"release = dc.release(\n    {listed},\n)",
            f"release.save({f'{one.name}.json'!r}{key})",
            "",
        ]
    return "\n".join(lines)


def data_of(draft: Draft) -> str:
    """Return what stands for the table in a command: an upload is gone when it is typed."""
    return Path(draft.data).name if draft.uploaded else draft.data


def _model_text(question: Question) -> str:
    if question.kind == "predicts":
        return f"{question.name}.toml"
    name = _MODELS[question.kind]
    if question.kind == "share" and question.labels:
        return f"{name}:yes={question.labels[0]},no={question.labels[1]}"
    return f"{name}:labels={'|'.join(question.labels)}" if question.kind == "categories" else name


def _model_code(question: Question) -> str:
    if question.kind == "share":
        yes_no = f"yes={question.labels[0]!r}, no={question.labels[1]!r}" if question.labels else ""
        return f"dc.Bernoulli({yes_no})"
    if question.kind == "average":
        return "dc.Mean()"
    if question.kind == "distribution":
        return f"dc.Histogram(bins={question.model().constants()['bins']})"
    if question.kind == "categories":
        return f"dc.Categorical({list(question.labels)!r})"
    name = "LogisticRegression" if question.labels else "LinearRegression"
    return f"dc.models.{name}({question.target()!r}, {question.declared_features()!r})"


def _table(columns: dict[str, Any]) -> list[str]:
    lines = []
    for name, declared in columns.items():
        if isinstance(declared, tuple):
            said = f"{{ bounds = [{json.dumps(declared[0])}, {json.dumps(declared[1])}] }}"
        else:
            said = json.dumps(declared, ensure_ascii=False)
        lines.append(f"{json.dumps(name, ensure_ascii=False)} = {said}")
    return lines


def _decimal(value: Any) -> str:
    from discreet.rational import exact, plain

    return plain(exact(value, "epsilon"))


def _wrapped(words: list[str]) -> str:
    """Break a command into lines before its options."""
    lines = [" ".join(words[:3])]
    for word in words[3:]:
        if word.startswith("-"):
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return " \\\n  ".join(lines)
