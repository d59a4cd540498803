"""Posterior sampling asked for wrongly: one clear line, before a row is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.cli import run

OPS = dc.mechanisms.PosteriorSampling
GOOD: dict[str, Any] = {"epsilon": 1, "support": (0.1, 0.9)}
ONE = OPS("beta:1,1", **GOOD)
BOUGHT = dc.mechanisms.PrivateQuantiles(0.1, 0.9, within=(0, 9), epsilon=1)


class Unread:
    """Rows that must not be looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError("the rows were looked at")


def refused(message: str, model: Any, mechanism: Any, **how: Any) -> None:
    """Check that a release is refused with one line, without a look at the rows."""
    with pytest.raises(dc.errors.UsageError, match=message) as caught:
        dc.release(Unread(), model, mechanism=mechanism, **how)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"epsilon": None}, "needs epsilon"),
        ({"epsilon": 0}, "must be positive"),
        ({"epsilon": -1}, "must be positive"),
        ({"epsilon": "nan"}, "finite number"),
        ({"support": None}, "needs a support"),
        ({"samples": 0}, "whole number from 1"),
        ({"samples": -2}, "whole number from 1"),
        ({"samples": 1.5}, "whole number from 1"),
        ({"samples": True}, "whole number from 1"),
        ({"samples": 10**6}, "whole number from 1"),
        ({"range_bound": 0}, "must be positive"),
    ],
)
def test_mechanisms_that_cannot_be(how: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.errors.UsageError, match=message):
        OPS("beta:1,1", **{**GOOD, **how})


@pytest.mark.parametrize(
    "prior", ["beta:0,1", "beta:-1,1", "gamma:1,0", "dirichlet:0,1", "normal:0,0", None, 3]
)
def test_improper_priors(prior: Any) -> None:
    with pytest.raises(dc.errors.UsageError):
        OPS(prior, **GOOD)


@pytest.mark.parametrize(
    "support",
    [(0, 0.9), (0.1, 1), (-0.1, 0.5), (0.5, 1.5), (0.9, 0.1), (0.5, 0.5), [(0.1, 0.5)] * 2, 0.1, "x"],
)
def test_supports_of_a_probability(support: Any) -> None:
    refused("support", dc.Bernoulli(), OPS("beta:1,1", epsilon=1, support=support), impute=0)


def test_a_support_that_touches_the_boundary_says_why() -> None:
    refused("without limit", dc.Bernoulli(), OPS("beta:1,1", epsilon=1, support=(0, 0.9)), impute=0)
    for family in (dc.Poisson(), dc.Exponential(), dc.Normal(mean=0)):
        rate = OPS("gamma:1,1", epsilon=1, support=(0, 5))
        refused("without limit", family, rate, bounds=(0, 9), impute=0)


def test_other_supports() -> None:
    box = OPS("normal_inverse_gamma:0,1,2,2", epsilon=1, support={"mean": (0, 1)})
    refused("by name: mean and variance", dc.Normal(), box, bounds=(0, 9), impute=0)
    pair = OPS("normal_inverse_gamma:0,1,2,2", epsilon=1, support=(0, 1))
    refused(r"2 pair\(s\)", dc.Normal(), pair, bounds=(0, 9), impute=0)
    letters = dc.Categorical(["a", "b", "c"])
    for support in (0, -0.1, "1/3", 0.5, 1, 0.333333333):
        refused(
            "lower bounds|least prob", letters, OPS("dirichlet:1,1,1", epsilon=1, support=support), impute="a"
        )
    refused("one number", letters, OPS("dirichlet:1,1,1", epsilon=1, support=(0.1, 0.9)), impute="a")


def test_policies_that_leave_records_out() -> None:
    refused("outside='redact' leaves records out", dc.Bernoulli(), ONE, impute=0, outside="redact")
    refused("missing='count' leaves records out", dc.Bernoulli(), ONE, missing="count")
    refused("outside must be", dc.Bernoulli(), ONE, impute=0, outside="drop")
    refused("missing must be", dc.Bernoulli(), ONE, impute=0, missing="drop")
    refused("use neighbors='replace'", dc.Bernoulli(), ONE, impute=0, neighbors="add_remove")


def test_values_to_impute() -> None:
    refused("need impute", dc.Bernoulli(), ONE)
    refused("contradicts", dc.Bernoulli(), ONE, impute=0, missing="none")
    for value in (2, "maybe", 0.5, [0]):
        refused("0 or 1", dc.Bernoulli(), ONE, impute=value)
    letters = OPS("dirichlet:1,1", epsilon=1, support=0.1)
    refused("one of the labels", dc.Categorical(["a", "b"]), letters, impute="c")
    counts = OPS("gamma:1,1", epsilon=1, support=(0.1, 9))
    for value, message in (
        (10, "within the bounds"),
        (-1, "within the bounds"),
        (1.5, "integer"),
        ("x", "finite"),
    ):
        refused(message, dc.Poisson(), counts, bounds=(0, 9), impute=value)
    refused(r"1 value\(s\)", dc.Poisson(), counts, bounds=(0, 9), impute=[1, 2])
    refused("release samples", dc.Bernoulli(), "laplace", epsilon=1, impute=0)
    refused("release samples", dc.Bernoulli(), "laplace", epsilon=1, missing="impute")
    refused("release samples", {"a": dc.Bernoulli()}, "laplace", epsilon=1, impute=0)


def test_budgets_and_bounds_that_do_not_fit() -> None:
    refused("its own budget", dc.Bernoulli(), ONE, impute=0, epsilon=1)
    refused("several models", {"a": dc.Bernoulli()}, ONE)
    counts = OPS("gamma:1,1", epsilon=1, support=(0.1, 9))
    refused("needs bounds", dc.Poisson(), counts, impute=0)
    refused("declared bounds", dc.Poisson(), counts, impute=0, bounds=BOUGHT)
    for tiny in ("1e-10", "1e-200"):
        refused("too small", dc.Bernoulli(), OPS("beta:1,1", epsilon=tiny, support=(0.1, 0.9)), impute=0)
    many = OPS("beta:1,1", epsilon="1e-6", samples=5000, support=(0.1, 0.9))
    refused("too small", dc.Bernoulli(), many, impute=0)


def test_models_that_have_no_samples() -> None:
    wide = OPS("normal_inverse_wishart:0,0,1,4,1,0,1", epsilon=1, support=[(0, 1)] * 2)
    refused("symmetric about 0", dc.MultivariateNormal(2), wide, bounds=[(0, 1)] * 2, impute=0)
    refused("takes a Beta prior", dc.Bernoulli(), OPS("gamma:1,1", **GOOD), impute=0)
    refused("3 labels", dc.Categorical(3), OPS("dirichlet:1,1", epsilon=1, support=0.1), impute="0")
    refused("model must be a family", "bernoulli", ONE, impute=0)


def test_range_bounds_are_checked_not_believed() -> None:
    exact = 2 * 2.1972245773
    refused("below the range", dc.Bernoulli(), OPS("beta:1,1", **GOOD, range_bound=exact * 0.99), impute=0)
    made = dc.release([1, 0], dc.Bernoulli(), mechanism=OPS("beta:1,1", **GOOD, range_bound=9), impute=0)
    assert float(made.sampling_record.parameters["temperature"]) == pytest.approx(9)


def test_grids() -> None:
    for cells in (1, 0, 2**16 + 1, 1.5, True):
        refused("cells must be", dc.Bernoulli(), OPS("beta:1,1", **GOOD, cells=cells), impute=0)  # pyright: ignore[reportArgumentType]
    letters = OPS("dirichlet:1,1", epsilon=1, support=0.1, cells=9)
    refused("leave out cells", dc.Categorical(["a", "b"]), letters, impute="a")


def test_a_sampler_that_could_take_too_long_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path}/l.db", budget=dc.PureDP(5))
    weak = OPS("dirichlet:0.1,0.1,0.1", epsilon="0.1", support="0.01")
    with pytest.raises(dc.errors.UsageError, match="too long"):
        dc.release(
            ["a"], dc.Categorical(["a", "b", "c"]), mechanism=weak, impute="a", ledger=ledger, dataset="d"
        )
    assert [entry.kind for entry in ledger.entries()] == ["ledger"]
    heavy = OPS("dirichlet:1e20,1,1", epsilon=1, support="0.01")
    refused("outweighs", dc.Categorical(["a", "b", "c"]), heavy, impute="a")


COMMAND = ["-m", "bernoulli", "-c", "smoker", "--mechanism", "posterior-sample"]
FULL = [*COMMAND, "--prior", "beta:1,1", "--support=0.1,0.9", "--epsilon", "1", "--impute", "0"]


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data.csv").write_text("smoker\nyes\nno\n\nSECRET\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (COMMAND, "posterior-sample needs --prior"),
        ([*COMMAND, "--prior", "beta:1,1"], "posterior-sample needs --support"),
        ([*COMMAND, "--prior", "beta:1,1", "--support=0.1,0.9"], "posterior-sample needs --epsilon"),
        (FULL[:-2], "need impute"),
        (FULL[:-2], "give --impute VALUE, or declare with --missing none"),
        ([*FULL, "--outside", "redact"], "--outside redact leaves records out"),
        ([*FULL, "--missing", "count"], "--missing count leaves records out"),
        ([*FULL, "--support=0,0.9"], "1 pair(s) of support"),
        (
            [*FULL[:6], "--prior", "beta:1,1", "--support=0,0.9", "--epsilon", "1", "--impute", "0"],
            "strictly inside",
        ),
        ([*FULL, "--samples", "0"], "samples must be a whole number"),
        ([*FULL, "--rho", "1"], "takes no --rho"),
        (
            [*FULL[:6], "--prior", "beta:0,1", "--support=0.1,0.9", "--epsilon", "1", "--impute", "0"],
            "positive",
        ),
        (
            ["-m", "bernoulli", "-c", "smoker", "--epsilon", "1", "--prior", "beta:1,1"],
            "--prior is for mechanisms",
        ),
        (["-m", "bernoulli", "-c", "smoker", "--epsilon", "1", "--impute", "1"], "impute is for mechanisms"),
        ([*FULL, "--support=0.1"], "cannot read --support"),
    ],
)
def test_command_line(
    survey: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["release", "data.csv", *options, "-o", "out.json"]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert "SECRET" not in said.err + said.out
    assert not (survey / "out.json").exists()


def test_command_line_release_show_and_infer(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["release", "data.csv", *FULL, "--samples", "25", "-o", "out.json"]) == 0
    assert "25 random draws of the parameters" in " ".join(capsys.readouterr().out.split())
    assert run(["show", "out.json"]) == 0
    shown = capsys.readouterr().out
    for words in ("posterior sample", "p in [0.1, 0.9]", "impute 0", "and 5 more"):
        assert words in shown
    assert run(["infer", "out.json", "--json", "--engine", "naive"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["engine"], answer["n_draws"], answer["prior"]) == ("samples", 25, "beta:1,1")
    assert run(["infer", "out.json", "--json", "--prior", "beta:2,2"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["engine"], answer["n_draws"], answer["prior"]) == ("exact", 4000, "beta:2,2")
    assert run(["infer", "out.json", "--engine", "gibbs"]) == 2
    assert "does not apply" in capsys.readouterr().err
    letters = ["-m", "categorical:labels=yes|no", "-c", "smoker", "--mechanism", "posterior-sample"]
    more = ["--prior", "dirichlet:1,1", "--support=0.1", "--epsilon", "1", "--impute", "no", "-o", "l.json"]
    assert run(["release", "data.csv", *letters, *more]) == 0
    assert run(["show", "l.json", "--json"]) == 0
    assert '"arithmetic": "floating"' in capsys.readouterr().out


def test_a_predicate_has_no_likelihood_to_temper() -> None:
    refused("samples of predicate are not available", dc.families.Predicate(), ONE, impute=0)


def test_labels_have_nothing_to_clip() -> None:
    dc.release([0, 1], dc.Bernoulli(), mechanism=ONE, impute=0, outside="clip")
