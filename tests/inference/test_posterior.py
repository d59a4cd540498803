"""Posterior, its table, its files, and the diagnostics it carries."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from xarray import DataTree

import discreet as dc
from discreet.errors import DataError, UsageError
from discreet.inference import diagnostics as diagnostics_module
from discreet.inference import exports
from discreet.inference.diagnostics import Diagnostics, bulk_ess, r_hat
from discreet.inference.exports import data_tree
from discreet.inference.posterior import Posterior

EXACT = Diagnostics("exact", reason="counts can be enumerated", independent=True)
CHAINED = Diagnostics("gibbs", "central limit", "asked for", warnings=("few records.",))

# The suite-wide false-alarm rate of 1e-3, split over the statistical assertions of this file.
SIGMAS = float(stats.norm.isf(1e-3 / 20 / 2))


@pytest.fixture
def vector(rng: np.random.Generator) -> Posterior:
    draws = {"p": rng.dirichlet([5.0, 3.0, 2.0], 400)}
    return Posterior(draws, EXACT, n_chains=4, labels={"p": ["a", "b", "c"]})


@pytest.fixture
def mixed(rng: np.random.Generator) -> Posterior:
    half = rng.normal(size=(400, 2, 3))
    draws = {"mean": rng.normal(size=(400, 2)), "covariance": half @ half.swapaxes(1, 2)}
    return Posterior(draws, CHAINED, n_chains=4, labels={"mean": ["x", "y"], "covariance": ["x", "y"]})


# -- numbers ------------------------------------------------------------------------------------------


def test_numbers_are_those_of_the_draws(rng: np.random.Generator) -> None:
    p = rng.beta(3, 7, 1000)
    posterior = Posterior({"p": p}, EXACT, n_chains=4)
    assert posterior.mean() == {"p": p.mean()}
    assert posterior.sd() == {"p": p.std(ddof=1)}
    assert posterior.quantile(0.5) == {"p": np.median(p)}
    low, high = posterior.interval(0.9)["p"]
    assert (low, high) == pytest.approx(np.quantile(p, [0.05, 0.95]), rel=1e-12)
    assert all(type(x) is float for x in (low, high, posterior.mean()["p"], posterior.quantile(0.5)["p"]))
    assert np.mean((p >= low) & (p <= high)) == pytest.approx(0.9, abs=1e-3)


def test_vectors_keep_their_shape(vector: Posterior) -> None:
    assert vector.mean()["p"].shape == (3,)
    low, high = vector.interval()["p"]
    assert low.shape == high.shape == (3,)
    assert (low < vector.quantile(0.5)["p"]).all()
    assert vector.quantile([0.1, 0.5, 0.9])["p"].shape == (3, 3)
    assert np.array_equal(vector.quantile([0.1, 0.9])["p"][0], vector.quantile(0.1)["p"])


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan"), float("inf"), [0.5, 2.0], "half", None])
def test_quantile_outside_the_unit_interval(vector: Posterior, q: object) -> None:
    with pytest.raises(UsageError, match="q must"):
        vector.quantile(q)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("prob", [0, 1, -0.5, 95, float("nan"), "0.95", None])
def test_probability_outside_the_unit_interval(vector: Posterior, prob: object) -> None:
    for method in (vector.interval, vector.summary):
        with pytest.raises(UsageError, match="prob must"):
            method(prob)  # pyright: ignore[reportArgumentType]


def test_edges_of_the_unit_interval_are_quantiles(rng: np.random.Generator) -> None:
    p = rng.beta(3, 7, 100)
    assert Posterior({"p": p}, EXACT).quantile(0)["p"] == p.min()
    assert Posterior({"p": p}, EXACT).quantile(1)["p"] == p.max()


# -- shape and construction ---------------------------------------------------------------------------


def test_draws_cannot_be_changed_through_the_posterior(vector: Posterior) -> None:
    with pytest.raises(ValueError, match="read-only"):
        vector.draws["p"][0] = 0.0
    with pytest.raises(AttributeError):
        vector.draws = {}  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("draws", "n_chains", "labels"),
    [
        ({}, 1, None),
        ({"p": np.empty(0)}, 1, None),
        ({"mean": np.ones(4), "variance": np.ones(5)}, 1, None),
        ({"p": np.ones(10)}, 4, None),
        ({"p": np.ones(10)}, 0, None),
        ({"p": np.ones((10, 3))}, 2, {"p": ["a", "b"]}),
        ({"p": np.ones((10, 2))}, 2, {"q": ["a", "b"]}),
    ],
)
def test_draws_that_make_no_posterior(draws: dict, n_chains: int, labels: dict | None) -> None:
    with pytest.raises(UsageError):
        Posterior(draws, EXACT, n_chains=n_chains, labels=labels)


def test_scalars_name_every_component_once(mixed: Posterior, vector: Posterior) -> None:
    assert list(vector.scalars()) == ["p[a]", "p[b]", "p[c]"]
    assert list(mixed.scalars()) == [
        "mean[x]",
        "mean[y]",
        "covariance[x, x]",
        "covariance[x, y]",
        "covariance[y, y]",
    ]
    assert np.array_equal(mixed.scalars()["covariance[x, y]"], mixed.draws["covariance"][:, 1, 0])
    lopsided = Posterior({"m": np.arange(8.0).reshape(2, 2, 2)}, EXACT)
    assert list(lopsided.scalars()) == ["m[0, 0]", "m[0, 1]", "m[1, 0]", "m[1, 1]"]


def test_repr_is_short_and_tells(rng: np.random.Generator, mixed: Posterior) -> None:
    text = repr(Posterior({"p": np.linspace(0.2, 0.4, 101)}, EXACT))
    assert text == "<Posterior of p 0.300 (0.205 to 0.395); exact, 101 independent draws>"
    assert repr(mixed) == "<Posterior of mean[2], covariance[2, 2]; gibbs, 400 draws in 4 chains>"


# -- the table ----------------------------------------------------------------------------------------


def test_summary_rows(mixed: Posterior) -> None:
    summary = mixed.summary(0.8)
    assert [row.name for row in summary] == list(mixed.scalars())
    assert len(summary) == 5
    row = summary["covariance[x, y]"]
    draws = mixed.draws["covariance"][:, 0, 1]
    assert (row.mean, row.sd) == pytest.approx((draws.mean(), draws.std(ddof=1)), rel=1e-12)
    assert (row.low, row.high) == pytest.approx(np.quantile(draws, [0.1, 0.9]), rel=1e-12)
    assert row.ess == mixed.diagnostics.ess["covariance"][0, 1]
    assert row.r_hat == mixed.diagnostics.r_hat["covariance"][0, 1]
    with pytest.raises(UsageError, match="no parameter"):
        summary["covariance"]


def test_summary_prints_an_aligned_table() -> None:
    p = np.column_stack([np.linspace(0.2, 0.4, 101), np.linspace(0.8, 0.6, 101)])
    posterior = Posterior({"p": p}, EXACT, labels={"p": ["no", "never"]})
    assert str(posterior.summary()) == "\n".join(
        [
            "            mean      sd    2.5%   97.5%  ess  r_hat",
            "p[no]     0.3000  0.0586  0.2050  0.3950  101  1.000",
            "p[never]  0.7000  0.0586  0.6050  0.7950  101  1.000",
            "",
            "exact engine, no approximation, 101 independent draws",
        ]
    )


def test_summary_of_one_draw_is_printable_and_json() -> None:
    summary = Posterior({"rate": np.array([2.5])}, EXACT).summary()
    assert str(summary).splitlines()[1].split() == ["rate", "2.50", "-", "-", "-", "1", "-"]
    parsed = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert parsed["parameters"][0]["sd"] is None
    assert parsed["parameters"][0]["low"] is None
    assert parsed["parameters"][0]["mean"] == 2.5


def test_one_draw_has_no_interval() -> None:
    with pytest.raises(UsageError, match="one draw has no interval"):
        Posterior({"rate": np.array([2.5])}, EXACT).interval()


def test_summary_carries_warnings(mixed: Posterior) -> None:
    assert "warning: few records." in str(mixed.summary())
    assert "few records." in mixed.summary().to_dict()["warnings"]


# -- laziness -----------------------------------------------------------------------------------------


def test_ess_waits_until_asked(mixed: Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = diagnostics_module.bulk_ess
    monkeypatch.setattr(diagnostics_module, "bulk_ess", lambda x: (calls.append(1), real(x))[1])
    posterior = Posterior(mixed.draws, CHAINED, n_chains=4)
    _ = repr(posterior), posterior.mean(), posterior.interval(), repr(posterior.diagnostics)
    assert calls == []
    _ = posterior.diagnostics.ess, posterior.diagnostics.ess, posterior.summary()
    assert len(calls) == 2  # once for each of the two parameters


def test_heavy_libraries_wait_until_asked() -> None:
    code = (
        "import sys, numpy as np\n"
        "from discreet.inference.posterior import Posterior\n"
        "from discreet.inference.diagnostics import Diagnostics\n"
        "p = Posterior({'p': np.random.default_rng(0).random(100)}, Diagnostics('exact', independent=True))\n"
        "p.mean(), p.interval(), repr(p), str(p.summary())\n"
        "print([m for m in ('matplotlib', 'xarray', 'arviz_base', 'scipy.stats', 'pandas') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- elsewhere ----------------------------------------------------------------------------------------


def test_arviz_keeps_chains_labels_and_engine(mixed: Posterior) -> None:
    group = mixed.to_arviz()["posterior"]
    assert dict(group.sizes)["chain"] == 4
    assert np.array_equal(np.asarray(group["mean"]).reshape(400, 2), mixed.draws["mean"])
    assert group["covariance"].sel(covariance_dim_0="x", covariance_dim_1="y").shape == (4, 100)
    assert group.attrs["engine"] == "gibbs"
    assert group.attrs["approximation"] == "central limit"
    assert group.attrs["warnings"] == "few records."
    # each axis has its own name, or selecting a row would select a column as well
    assert group["covariance"].dims == ("chain", "draw", "covariance_dim_0", "covariance_dim_1")
    for dim in ("mean_dim_0", "covariance_dim_0", "covariance_dim_1"):
        assert np.asarray(group[dim]).tolist() == ["x", "y"]


def test_arviz_has_the_prior_what_was_released_and_the_density(tmp_path: Path) -> None:
    release = dc.release([1, 0, 0, 1] * 20, dc.Bernoulli(), epsilon=1, missing="none")
    posterior = dc.infer(release, prior=dc.priors.Beta(2, 3), draws=400, rng=1)
    tree = data_tree(posterior)
    assert set(tree.children) == {"posterior", "observed_data", "prior", "sample_stats"}
    (value,), (cell,) = release.totals.values, release.totals.grid
    released = tree["observed_data"].to_dataset()["released"]
    assert float(released.sel(statistic=release.totals.names[0])) == float(value * cell)
    assert stats.kstest(np.asarray(tree["prior"]["p"]).ravel(), stats.beta(2, 3).cdf).pvalue > 1e-6
    # up to a constant it is the log of the posterior's density, whose peak is among the draws
    p, lp = (
        np.asarray(tree[group][name]).ravel() for group, name in (("posterior", "p"), ("sample_stats", "lp"))
    )
    expected = release.likelihood().log_prob(p=p) + stats.beta.logpdf(p, 2, 3)
    np.testing.assert_allclose(lp - lp.max(), expected - expected.max(), atol=1e-9)
    posterior.save(tmp_path / "posterior.nc")
    # a model that is no family has what was released alone, and samples have neither
    mean = dc.infer(dc.release([1.0, 2, 3] * 20, dc.Mean(), bounds=(0, 5), epsilon=1), rng=1)
    assert set(data_tree(mean).children) == {"posterior", "observed_data"}


def test_an_older_arviz_gets_what_it_knows(mixed: Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    class InferenceData:
        @staticmethod
        def from_datatree(tree: object) -> tuple[str, object]:
            return "older", tree

    older = types.ModuleType("arviz")
    older.InferenceData = InferenceData  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "arviz", older)
    for said, kind in (("0.23.4", tuple), ("1.3.0", DataTree)):
        monkeypatch.setattr(exports, "version", lambda name, said=said: said)
        assert isinstance(mixed.to_arviz(), kind)


def test_what_it_is_about_travels_with_it(mixed: Posterior, tmp_path) -> None:
    import xarray

    assert mixed.about is None
    assert "about" not in mixed.to_arviz()["posterior"].attrs
    known = Posterior(mixed.draws, CHAINED, about="normal model of x, y")
    known.save(tmp_path / "posterior.nc")
    with xarray.open_datatree(tmp_path / "posterior.nc", engine="h5netcdf") as tree:
        assert tree["posterior"].attrs["about"] == known.about == "normal model of x, y"


def test_rounding_does_not_make_a_matrix_lopsided(mixed: Posterior) -> None:
    nearly = mixed.draws["covariance"] * (1 + np.array([[0, 1e-15], [0, 0]]))
    assert not np.array_equal(nearly, nearly.swapaxes(1, 2))
    assert len(Posterior({"covariance": nearly}, EXACT).scalars()) == 3
    off = mixed.draws["covariance"] + np.array([[0, 1e-6], [0, 0]])
    assert len(Posterior({"covariance": off}, EXACT).scalars()) == 4


def test_saved_file_reads_back(mixed: Posterior, tmp_path) -> None:
    import xarray

    mixed.save(tmp_path / "posterior.nc")
    with xarray.open_datatree(tmp_path / "posterior.nc", engine="h5netcdf") as tree:
        group = tree["posterior"]
        assert np.array_equal(np.asarray(group["covariance"]).reshape(400, 2, 2), mixed.draws["covariance"])
        assert np.asarray(group["mean_dim_0"]).tolist() == ["x", "y"]
        assert group.attrs["engine"] == "gibbs"
    assert [f.name for f in tmp_path.iterdir()] == ["posterior.nc"]


def test_interrupted_save_leaves_the_old_file(
    mixed: Posterior, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import xarray

    target = tmp_path / "posterior.nc"
    target.write_text("old")

    def interrupted(self: object, path, **_: object) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(xarray.DataTree, "to_netcdf", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mixed.save(target)
    assert target.read_text() == "old"
    assert [f.name for f in tmp_path.iterdir()] == ["posterior.nc"]


def test_unwritable_place(vector: Posterior, tmp_path) -> None:
    for target in (tmp_path / "nowhere" / "posterior.nc", tmp_path):
        with pytest.raises(DataError, match="cannot write"):
            vector.save(target)


# -- diagnostics --------------------------------------------------------------------------------------


def ar1(rng: np.random.Generator, phi: float, shape: tuple[int, ...]) -> np.ndarray:
    """Draw stationary chains x_t = phi x_(t-1) + e_t, shaped (chains, draws, ...)."""
    x = rng.normal(size=shape)
    x[:, 0] /= np.sqrt(1 - phi**2)
    for t in range(1, shape[1]):
        x[:, t] += phi * x[:, t - 1]
    return x


def test_independent_draws_need_no_estimate(vector: Posterior) -> None:
    assert np.array_equal(vector.diagnostics.ess["p"], [400.0] * 3)
    assert np.array_equal(vector.diagnostics.r_hat["p"], [1.0] * 3)
    assert vector.diagnostics.mixing_warnings == ()


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_ess_of_autoregressive_chains(rng: np.random.Generator, phi: float) -> None:
    """ESS / N of AR(1) is (1 - phi)/(1 + phi); normal scores of a normal process leave that as it is.

    The relative variance of an estimate of tau with window W is 2 (2W + 1)/N (Wolff 2004, eq. 42). Geyer's rule
    closes the window where the autocorrelation drowns in its noise, phi^W = N^-1/2, or a pair later. Stopping by
    sign is biased by the noise of the pairs at the end: an autocorrelation there has variance at most tau/N
    (Bartlett), a pair twice that, it counts twice in tau, and two of them are allowed for.
    """
    chains, draws, repeats = 4, 4000, 50
    n = chains * draws
    tau = n / bulk_ess(ar1(rng, phi, (chains, draws, repeats)))
    truth = (1 + phi) / (1 - phi)
    window = 2 + (np.log(np.sqrt(n)) / -np.log(phi) if phi else 0.0)
    standard_error = np.sqrt(2 * (2 * window + 1) / n / repeats)
    bias = 2 * 2 * np.sqrt(2 * truth / n) / truth
    assert tau.mean() / truth == pytest.approx(1, abs=SIGMAS * standard_error + bias)
    # the same band must tell these chains from ones that mix a little differently
    for wrong in (phi - 0.1, min(phi + 0.1, 0.93)):
        assert tau.mean() / ((1 + wrong) / (1 - wrong)) != pytest.approx(
            1, abs=SIGMAS * standard_error + bias
        )


def test_agrees_with_arviz() -> None:
    """Figures of arviz-stats 0.8.0 (``ess(method="bulk")``, ``rhat(method="rank")``) on chains without chance."""
    t, c = np.arange(250), np.arange(4)[:, None]
    x = ((t * 7919 + c * 104729) % 997) / 997 + 0.5 * np.sin(0.05 * t + c)
    shifted = x + np.array([0, 0, 0, 0.4])[:, None]
    both = np.stack([x, shifted], axis=-1)
    assert bulk_ess(both) == pytest.approx([55.406270495809714, 39.563602350894534], rel=1e-10)
    assert r_hat(both) == pytest.approx([0.9962921293379102, 1.0736451303558745], rel=1e-10)


def test_components_do_not_mix(rng: np.random.Generator) -> None:
    x = ar1(rng, 0.5, (3, 201, 2, 2))
    x[..., 0, 1] = 7.0
    x[..., 1, 0] += np.arange(3)[:, None]
    for statistic in (bulk_ess, r_hat):
        together = statistic(x)
        for i, j in np.ndindex(2, 2):
            alone = statistic(x[..., i, j])
            assert together[i, j] == pytest.approx(float(alone), rel=1e-12, nan_ok=True)


def test_r_hat_is_close_to_one_when_chains_agree(rng: np.random.Generator) -> None:
    """For m split chains of n normal draws R-hat^2 is 1 - 1/n + F/n, F Snedecor's with m - 1 and m (n - 1) degrees."""
    m, n = 8, 500
    values = r_hat(rng.normal(size=(m // 2, 2 * n, 200)))
    # 200 components, each the larger of two statistics
    worst = stats.f.isf(1e-3 / 20 / 400, m - 1, m * (n - 1))
    assert values.max() < np.sqrt(1 - 1 / n + worst / n)
    assert values.min() > np.sqrt(1 - 1 / n)


def test_r_hat_sees_chains_that_differ(rng: np.random.Generator) -> None:
    location, spread = rng.normal(size=(2, 4, 1000))
    location[3] += 1
    spread[3] *= 4
    drifting = rng.normal(size=(1, 4000)) + np.linspace(0, 2, 4000)
    assert r_hat(location) > 1.05
    assert r_hat(spread) > 1.05
    assert r_hat(drifting) > 1.05


@pytest.mark.parametrize(
    "x", [np.ones((4, 100)), np.zeros((2, 3)), np.ones((4, 1)), np.full((2, 50), np.nan)]
)
def test_no_estimate_where_none_makes_sense(x: np.ndarray) -> None:
    assert np.isnan(bulk_ess(x))
    assert np.isnan(r_hat(x))


def test_poor_mixing_is_said(rng: np.random.Generator) -> None:
    stuck = ar1(rng, 0.999, (4, 500)).ravel()
    good = rng.normal(size=2000)
    assert len(Posterior({"mean": stuck}, CHAINED, n_chains=4).diagnostics.mixing_warnings) == 2
    assert Posterior({"mean": good}, CHAINED, n_chains=4).diagnostics.mixing_warnings == ()
    assert "run longer" in str(Posterior({"mean": stuck}, CHAINED, n_chains=4).summary())


def test_diagnostics_print() -> None:
    assert str(Posterior({"p": np.ones(2)}, EXACT).diagnostics).splitlines() == [
        "engine         exact",
        "approximation  no approximation",
        "reason         counts can be enumerated",
        "draws          2 independent draws",
    ]
    assert "warning        few records." in str(CHAINED)


# -- comforts -----------------------------------------------------------------------------------------


def test_median_tidy_frame_and_root_of_a_variance(rng: np.random.Generator) -> None:
    draws = {"mean": rng.normal(size=40), "variance": rng.gamma(3, size=40), "p": rng.dirichlet([1, 2], 40)}
    posterior = Posterior(draws, Diagnostics("gibbs"), n_chains=2, labels={"p": ["<b>", "c"]})
    assert posterior.median()["mean"] == np.median(draws["mean"])
    frame = posterior.to_pandas()
    assert list(frame.columns) == ["parameter", "chain", "draw", "value"]
    assert len(frame) == 4 * 40
    one = frame[(frame.parameter == "p[c]") & (frame.chain == 1) & (frame.draw == 3)]
    assert one.value.item() == draws["p"][23, 1]
    summary = posterior.summary()
    assert summary["sd"].mean == pytest.approx(np.sqrt(draws["variance"]).mean())
    assert summary["sd"].ess == summary["variance"].ess
    html = posterior._repr_html_()
    assert "<b>" not in html
    assert "p[&lt;b&gt;]" in html
    assert html.startswith("<table>")


def test_diagnostics_are_worked_out_once_and_when_they_are_read() -> None:
    asked: list[None] = []

    def how() -> Diagnostics:
        asked.append(None)
        return Diagnostics("exact", warnings=("careful",), independent=True)

    posterior = Posterior({"p": np.linspace(0.2, 0.4, 101)}, how)
    posterior.interval()
    assert asked == []
    assert "careful" in str(posterior.summary())
    assert posterior.diagnostics.warnings == ("careful",)
    assert len(asked) == 1


def test_copies_for_other_processes_keep_the_warnings() -> None:
    release = dc.release([0, 1] * 50, dc.Bernoulli(), epsilon=0.01)
    posterior = dc.infer(release, rng=0)
    again = pickle.loads(pickle.dumps(posterior))
    assert again.diagnostics.warnings == posterior.diagnostics.warnings != ()
    assert str(again.summary()) == str(posterior.summary())
