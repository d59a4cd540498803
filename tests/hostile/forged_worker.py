"""A process that reads forged files, one JSON line each, and says what came of them; its parent watches the clock.

``python -m tests.hostile.forged_worker [PLANTED]``, where PLANTED is a failure that the harness must find.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.errors import DiscreetError, ReleaseFileError
from tests.hostile.forged_oracles import dishonest_draws, lies
from tests.hostile.forging import MARK, forge

#: Address space, in bytes: libraries map more than they use.
MOST_ADDRESSES = 6 * 2**30


def examine(kind: str, text: str, verbs: tuple[str, ...]) -> dict[str, Any]:
    """Take a file through the verbs; return the outcome of each, and what failed."""
    out: dict[str, Any] = {"verbs": {}, "failure": None}

    def went(verb: str, outcome: str) -> None:
        out["verbs"][verb] = {"outcome": outcome, "seconds": time.process_time() - begun}

    for verb in verbs:
        begun = time.process_time()
        try:
            if kind == "profile":
                _PROFILES[verb](text, out)
            else:
                _RELEASES[verb](text, out)
            went(verb, out.pop("how", "fine"))
        except DiscreetError as error:
            went(verb, "refused" if verb == "load" else f"{type(error).__name__}")
            message, hint = error.message, error.hint or ""
            if len(message.splitlines()) != 1 or len(hint.splitlines()) > 1 or not message.isprintable():
                out["failure"] = f"{verb}: an error of several lines: {message!r:.80}"
            elif len(message) + len(hint) > 2000:
                out["failure"] = f"{verb}: an error of {len(message)} characters"
            elif verb == "load" and not isinstance(error, ReleaseFileError):
                out["failure"] = f"load: {type(error).__name__}: {message:.80}"
            elif error.exit_code != ReleaseFileError.exit_code:
                out["failure"] = f"{verb}: {type(error).__name__}: {message:.80}"
            break
        except Exception as error:
            went(verb, "crash")
            where = traceback.extract_tb(error.__traceback__)[-1]
            mine = [f for f in traceback.extract_tb(error.__traceback__) if "/discreet/" in f.filename]
            at = mine[-1] if mine else where
            out["failure"] = (
                f"{verb}: {type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {error!s:.60}"
            )
            break
        if out["failure"]:
            break
    return out


def _load(text: str, out: dict[str, Any]) -> None:
    out["release"] = dc.Release.from_json(text)


def _show(text: str, out: dict[str, Any]) -> None:
    wrong = lies(out["release"])
    if wrong:
        out["failure"] = f"show: {wrong}"
    repr(out["release"])


def _infer(text: str, out: dict[str, Any]) -> None:
    release = out["release"]
    posterior = dc.infer(release, prior=suitable_prior(release), draws=80, chains=4, rng=1)
    out["posterior"] = posterior
    wrong = dishonest_draws(dict(posterior.draws))
    said = f"{posterior.summary()}\n{posterior!r}"
    if wrong:
        out["failure"] = f"infer: {wrong}"
    elif any(line.strip().startswith(MARK) for line in said.splitlines()):
        out["failure"] = "infer: an invented line is printed"
    out["how"] = posterior.diagnostics.engine


def suitable_prior(release: Any) -> Any:
    """Return a prior for families that have no neutral one."""
    if release.samples is not None:
        return None
    if release.model.name == "naive_bayes" and release.model.numeric_columns:
        return {column.name: "normal_inverse_gamma:0,1,1,1" for column in release.model.numeric_columns}
    if not hasattr(release.model, "default_prior"):
        return None
    return None if release.model.default_prior is not None else release.model.suggested_prior(release.domain)


def _plot(text: str, out: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    try:
        out["posterior"].plot(_scratch(".png"))
    finally:
        plt.close("all")


def _scratch(ending: str) -> str:
    return str(Path(tempfile.gettempdir()) / f"forged-{os.getpid()}{ending}")


def _command(text: str, out: dict[str, Any]) -> None:
    """Go through the command line, in this process: exit codes, and what is printed."""
    from discreet.cli import run

    path = _scratch(".json")
    Path(path).write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        prior = None
        with suppress(DiscreetError):
            prior = suitable_prior(dc.Release.load(path))
        # priors of several columns are for Python
        chosen = [] if prior is None or isinstance(prior, dict) else [f"--prior={prior}"]
        commands = (["show", path], ["infer", path, "--draws", "80", "--seed", "1", *chosen])
        codes = []
        for command in commands:
            printed, complained = io.StringIO(), io.StringIO()
            with redirect_stdout(printed), redirect_stderr(complained):
                codes.append(run(command))
            lines = complained.getvalue().splitlines()
            if codes[-1] not in (0, 4):
                out["failure"] = f"command: {command[0]} exits with {codes[-1]}: {lines[:1]}"
            elif any(
                line.strip(" │").startswith(MARK) for line in (*printed.getvalue().splitlines(), *lines)
            ):
                out["failure"] = f"command: {command[0]} prints an invented line"
            elif codes[-1] and len([line for line in lines if line.startswith("error: ")]) != 1:
                out["failure"] = f"command: {command[0]} does not say what is wrong in one line"
        out["how"] = "/".join(map(str, codes))
    finally:
        Path(path).unlink()


def _load_profile(text: str, out: dict[str, Any]) -> None:
    path = _scratch(".json")
    Path(path).write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        out["release"] = dc.profiles.FittedMechanism.load(path)
    finally:
        Path(path).unlink()


def _show_profile(text: str, out: dict[str, Any]) -> None:
    fitted = out["release"]
    said = fitted.statement()
    growth = float(np.exp(float(min(fitted.epsilon, 64))))
    outputs = fitted.outputs
    if len(said.splitlines()) not in (3, 4) or not said.replace("\n", "").isprintable():
        out["failure"] = "show: the statement of a mechanism has other lines than its template"
    for i, j in fitted.graph.edges:
        if (outputs[i] > growth * outputs[j] * (1 + 1e-9) + 1e-300).any():
            out["failure"] = "show: an edge does not honor epsilon"
    repr(fitted)


def _infer_profile(text: str, out: dict[str, Any]) -> None:
    fitted = out["release"]
    reports = dict.fromkeys(fitted.graph.categories, 3)
    posterior = dc.profiles.infer_mix(reports, fitted, draws=40, rng=1)
    out["posterior"] = posterior
    if any(line.strip().startswith(MARK) for line in str(posterior.summary()).splitlines()):
        out["failure"] = "infer: an invented line is printed"


_RELEASES = {"load": _load, "show": _show, "infer": _infer, "plot": _plot, "command": _command}
_PROFILES = {"load": _load_profile, "show": _show_profile, "infer": _infer_profile, "plot": _plot}


def plant(failure: str) -> None:
    """Make the library fail in a way that the harness must find."""
    from discreet.artifact import codec, readers, statement
    from discreet.artifact.records import noise

    if failure == "lie":

        def believing(record: Any, release: Any) -> None:
            noise.check_totals(release)

        noise.NoiseRecord.check = believing  # pyright: ignore[reportAttributeAccessIssue]
    elif failure == "hang":
        codec._check = lambda release: time.sleep(3600)
    elif failure == "crash":
        codec._check = lambda release: [].pop()
    elif failure == "greed":
        held = []
        codec._check = lambda release: held.append(np.ones(2**28))
    elif failure == "line":
        # names are checked when they are read, and escaped where they are shown
        readers.check_name = lambda name, what: name
        statement.shown = str


def _most_gigabytes() -> float:
    """Return the most memory that this program had; the figure of ``getrusage`` begins with that of its parent."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    (peak,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 2**20


def main() -> None:
    # wide enough that no line is wrapped
    os.environ["COLUMNS"] = "2000"
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        plant(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    # whatever else is printed must not stand among the answers
    os.dup2(2, 1)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if "text" in asked:
            kind, text, verbs = asked["kind"], asked["text"], tuple(asked["verbs"])
            base = how = "given"
        else:
            forged = forge(asked["seed"], asked["number"])
            kind, text, base, how = forged.kind, forged.text, forged.base, forged.how
            number = asked["number"]
            verbs = ("load", "show", "infer") + (("plot",) if number % 40 == 0 else ())
            if kind == "release" and asked.get("command") and number % asked["command"] == 0:
                verbs = ("command",)
        found = examine(kind, text, verbs)
        memory = _most_gigabytes()
        answer = {"verbs": found["verbs"], "failure": found["failure"], "gigabytes": memory}
        print(json.dumps({**answer, "kind": kind, "base": base, "how": how}), file=answers, flush=True)


if __name__ == "__main__":
    main()
