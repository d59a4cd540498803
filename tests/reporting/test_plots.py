"""Figures: what is in them, not only that they exist."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy import stats

from discreet.errors import DataError, UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior
from discreet.reporting import plot_comparison, plot_posterior
from discreet.reporting.density import has_curve, smooth_density, support_of
from discreet.reporting.plots import MOST_ROWS

EXACT = Diagnostics("exact", independent=True)


def texts(figure: Figure) -> str:
    """Return every word drawn, tick labels included."""
    figure.draw_without_rendering()
    return "\n".join(t.get_text() for t in figure.findobj(Text) if isinstance(t, Text) and t.get_visible())


@pytest.fixture
def one(rng: np.random.Generator) -> Posterior:
    return Posterior({"p": rng.beta(30, 70, 2000)}, EXACT, n_chains=4)


@pytest.fixture
def three(rng: np.random.Generator) -> dict[str, Posterior]:
    return {
        name: Posterior({"p": rng.beta(a, 3 * a, 2000)}, EXACT)
        for name, a in (("non-private", 200), ("naive", 150), ("noise-aware", 20))
    }


def categories(rng: np.random.Generator, labels: list[str]) -> Posterior:
    draws = {"p": rng.dirichlet(np.arange(1.0, len(labels) + 1), 300)}
    return Posterior(draws, EXACT, labels={"p": labels})


# -- densities ----------------------------------------------------------------------------------------


def test_density_follows_the_truth(rng: np.random.Generator) -> None:
    """Band: bias h^2 f''/2 and five standard errors sqrt(f / (2 sqrt(pi) N h)), at the mode and at one sd."""
    n = 20_000
    x, y = smooth_density(rng.normal(size=n), (-np.inf, np.inf))
    h = 1.06 * n**-0.2
    for at in (-1.0, 0.0, 1.0):
        truth = stats.norm.pdf(at)
        bias = h**2 * abs(at**2 - 1) * truth / 2
        noise = 5 * np.sqrt(truth / (2 * np.sqrt(np.pi) * n * h))
        assert np.interp(at, x, y) == pytest.approx(truth, abs=bias + noise)
    assert np.trapezoid(y, x) == pytest.approx(1, abs=2 * 0.002)  # the tails left out


def test_density_does_not_fall_off_at_an_edge(rng: np.random.Generator) -> None:
    u = rng.random(20_000)
    x, y = smooth_density(u, support_of("p"))
    assert (x[0], x[-1]) == (0, 1)
    # at a mirror the kernel counts twice, so the variance doubles; bandwidth as for the spread of a uniform
    h = 1.06 * min(np.sqrt(1 / 12), 0.5 / 1.34) * len(u) ** -0.2
    band = 5 * np.sqrt(2 / (2 * np.sqrt(np.pi) * len(u) * h))
    assert y[0] == pytest.approx(1, abs=band)
    assert y[-1] == pytest.approx(1, abs=band)
    x, y = smooth_density(u, (-np.inf, np.inf))
    assert np.interp(0.0, x, y) == pytest.approx(0.5, abs=band)  # what the mirror is for


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        (np.linspace(0, 1, 50), True),
        (np.array([0.3]), False),
        (np.full(4000, 0.3), False),
        (np.linspace(0, 1, 5), False),
        (np.array([np.nan] * 50), False),
        (1e9 + 1e-7 * np.arange(50), False),
    ],
)
def test_when_there_is_a_curve(draws: np.ndarray, expected: bool) -> None:
    assert has_curve(draws) is expected


# -- one posterior ------------------------------------------------------------------------------------


def test_scalar_shows_engine_median_and_interval(one: Posterior) -> None:
    figure = one.plot()
    words = texts(figure)
    low, high = one.interval()["p"]
    assert "exact engine" in words
    assert "2000 independent draws, no approximation" in words
    assert f"median {one.quantile(0.5)['p']:.3f}, 95% interval {low:.3f} to {high:.3f}" in words
    (axes,) = figure.axes
    x = axes.lines[0].get_xdata()
    assert np.asarray(x).min() >= 0


def test_several_parameters_each_get_a_panel(rng: np.random.Generator) -> None:
    half = rng.normal(size=(200, 3, 4))
    posterior = Posterior(
        {"rate": rng.gamma(3, size=200), "mean": half[..., 0], "covariance": half @ half.swapaxes(1, 2)},
        Diagnostics("gibbs", "central limit"),
        labels={"covariance": ["a", "b", "c"]},
    )
    figure = plot_posterior(posterior)
    assert len(figure.axes) == 3
    assert [t.get_text() for t in figure.axes[2].get_yticklabels()] == [
        "a, a",
        "a, b",
        "a, c",
        "b, b",
        "b, c",
        "c, c",
    ]
    assert len(plot_posterior(posterior, parameters=["rate"]).axes) == 1
    assert "central limit" in texts(figure)


def test_long_vectors_are_cut_and_say_so(rng: np.random.Generator) -> None:
    figure = categories(rng, [f"label {i}" for i in range(100)]).plot()
    assert len(figure.axes[0].get_yticks()) == MOST_ROWS
    assert f"first {MOST_ROWS} of 100" in texts(figure)


def test_interval_rows_hold_the_quantiles(rng: np.random.Generator) -> None:
    posterior = categories(rng, ["a", "b"])
    axes = posterior.plot(prob=0.8).axes[0]
    low, high = posterior.interval(0.8)["p"]
    thin = np.array([path.vertices[:, 0] for path in axes.collections[0].get_paths()])  # pyright: ignore
    assert thin == pytest.approx(np.column_stack([low, high]), rel=1e-12)


@pytest.mark.parametrize("values", [[0.31], [0.31] * 50, [0.2, 0.4, 0.9]])
def test_draws_without_a_density(values: list[float], tmp_path) -> None:
    posterior = Posterior({"p": np.array(values)}, EXACT)
    figure = posterior.plot(tmp_path / "few.png")
    expected = "one value, 0.31" if len(set(values)) == 1 else "3 draws, each shown"
    assert expected in texts(figure)


def test_labels_are_never_read_as_mathematics(rng: np.random.Generator, tmp_path) -> None:
    posterior = categories(rng, ["$20-$30", "$_{", "a\\b"])
    posterior.plot(tmp_path / "a.png")
    plot_comparison({"$x_{$": posterior, "y": posterior}, path=tmp_path / "b.png", title="$$ {", note="$^$")
    plot_comparison({"$x_{$": posterior}, "p[$_{]", path=tmp_path / "c.png")
    assert "$20-$30" in texts(posterior.plot())


# -- several readings ---------------------------------------------------------------------------------


def test_comparison_names_and_colors_every_reading(three: dict[str, Posterior]) -> None:
    upper, lower = plot_comparison(three).axes
    names = [t.get_text() for t in lower.get_yticklabels()]
    assert names == list(three)
    curves = [line.get_color() for line in upper.lines]
    assert [t.get_color() for t in lower.get_yticklabels()] == curves
    assert len(set(curves)) == 3
    spans = [t.get_text() for t in lower.texts]
    for text, posterior in zip(spans, three.values(), strict=True):
        assert [float(x) for x in text.split(" to ")] == pytest.approx(posterior.interval()["p"], abs=6e-4)


def test_readings_keep_their_color(three: dict[str, Posterior]) -> None:
    def color(names: list[str], of: str) -> object:
        axes = plot_comparison({name: three.get(name, three["naive"]) for name in names}).axes[1]
        return {t.get_text(): t.get_color() for t in axes.get_yticklabels()}[of]

    assert color(["naive", "noise-aware"], "naive") == color(["other", "non-private", "naive"], "naive")
    assert color(["other", "noise-aware"], "other") != color(["other", "noise-aware"], "noise-aware")


def test_comparison_of_vectors_and_of_one_component(rng: np.random.Generator) -> None:
    both = {name: categories(rng, ["a", "b", "c"]) for name in ("naive", "noise-aware")}
    figure = plot_comparison(both, axis_label="share")
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["a", "b", "c"]
    assert figure.axes[0].get_xlabel() == "share"
    assert {"naive", "noise-aware"} <= set(texts(figure).splitlines())
    assert len(plot_comparison(both, "p[b]").axes) == 2


def test_comparison_with_a_single_draw(three: dict[str, Posterior]) -> None:
    sample = Posterior({"p": np.array([0.25])}, EXACT)
    words = texts(plot_comparison({"sample": sample, "noise-aware": three["noise-aware"]}))
    assert "0.250" in words


def test_readings_that_do_not_match(rng: np.random.Generator, one: Posterior) -> None:
    vector = categories(rng, ["a", "b"])
    for readings in ({"x": one, "y": vector}, {"x": vector, "y": categories(rng, ["a", "c"])}):
        with pytest.raises(UsageError, match="same components"):
            plot_comparison(readings)


# -- files and mistakes -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "magic"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_file_formats(one: Posterior, tmp_path, name: str, magic: bytes) -> None:
    one.plot(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(magic)
    assert [f.name for f in tmp_path.iterdir()] == [name]


def test_mistakes_write_nothing(one: Posterior, tmp_path) -> None:
    with pytest.raises(UsageError, match="cannot draw"):
        one.plot(tmp_path / "a.docx")
    with pytest.raises(UsageError, match="no parameter"):
        one.plot(tmp_path / "a.png", parameters=["q"])
    with pytest.raises(UsageError, match="at least one"):
        one.plot(tmp_path / "a.png", parameters=[])
    with pytest.raises(UsageError, match="prob must"):
        one.plot(tmp_path / "a.png", prob=95)
    with pytest.raises(UsageError, match="no parameter"):
        plot_comparison({"a": one}, "rate", path=tmp_path / "a.png")
    with pytest.raises(UsageError, match="at least one"):
        plot_comparison({}, path=tmp_path / "a.png")
    with pytest.raises(DataError, match="cannot write"):
        one.plot(tmp_path / "nowhere" / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_pyplot_is_left_alone(tmp_path) -> None:
    code = (
        "import sys, numpy as np\n"
        "from discreet.inference.posterior import Posterior\n"
        "from discreet.inference.diagnostics import Diagnostics\n"
        "p = Posterior({'p': np.random.default_rng(0).random(100)}, Diagnostics('exact', independent=True))\n"
        "p.plot(sys.argv[1])\n"
        "print('matplotlib.pyplot' in sys.modules)\n"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "a.png")]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == "False"
