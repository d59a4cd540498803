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
from discreet.reporting.density import has_curve, modes, smooth_density, support_of
from discreet.reporting.plots import MOST_LABELS, MOST_PANELS
from discreet.reporting.style import ACCENT, number

EXACT = Diagnostics("exact", independent=True)
NAIVE = Diagnostics("naive", "noise and truncation ignored", independent=True)


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


def two_columns(rng: np.random.Generator, how: Diagnostics) -> Posterior:
    """Return means of about 120 and 3, with covariances to match."""
    scale = np.array([20.0, 0.2])
    half = rng.normal(size=(400, 2, 30)) * scale[:, None]
    draws = {
        "mean": np.array([120.0, 3.0]) + rng.normal(size=(400, 2)) * scale / 20,
        "covariance": half @ half.swapaxes(1, 2) / 30,
    }
    return Posterior(draws, how, labels={"mean": ["x", "y"], "covariance": ["x", "y"]})


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


def test_a_narrow_mode_beside_a_broad_one_stays_narrow(rng: np.random.Generator) -> None:
    """With one bandwidth for both, the narrow mode would be drawn a hundred times too low and fifty too wide."""
    n = 4000
    draws = np.concatenate([rng.normal(132, 0.5, n // 2), rng.uniform(37, 65, n // 2)])
    x, y = smooth_density(draws, (-np.inf, np.inf))
    # the kernel of a normal mode of 2,000 draws takes a few percent off its height, and five standard errors
    # sqrt(f / (2 sqrt(pi) N h)) are 12%
    assert y.max() == pytest.approx(0.5 * stats.norm.pdf(0, scale=0.5), rel=0.2)
    assert 131 < x[y.argmax()] < 133
    inside = (x > 132 - 4) & (x < 132 + 4)
    assert np.trapezoid(y[inside], x[inside]) == pytest.approx(0.5, abs=0.01)
    assert np.interp(100.0, x, y) < 1e-6
    # the broad mode is a plateau of 1/56; at its edge local widths matter, in its middle they do not
    assert np.interp([45, 51, 57], x, y) == pytest.approx(0.5 / 28, rel=0.3)


def test_one_mode_is_not_taken_for_several(rng: np.random.Generator) -> None:
    """Peaks that differ by chance alone are not modes, whatever the shape."""
    shapes = (rng.random(4000), rng.normal(size=4000), rng.standard_cauchy(4000), rng.exponential(size=200))
    assert [len(modes(draws)) for draws in shapes] == [1, 1, 1, 1]
    assert len(modes(np.concatenate([rng.normal(size=2000), rng.normal(5, 1, 2000)]))) == 2


def test_far_draws_do_not_stretch_the_picture(rng: np.random.Generator) -> None:
    draws = rng.normal(132, 0.2, 4000)
    draws[:12] = rng.uniform(0, 120, 12)
    figure = Posterior({"mean": draws}, EXACT).plot()
    left, right = figure.axes[0].get_xlim()
    assert 130 < left < right < 134
    assert "; 0.3% beyond the axis" in texts(figure)
    both = Posterior({"mean": draws}, EXACT)
    assert "mean (0.3% beyond the axis)" in texts(plot_comparison({"a": both, "b": both}, "mean"))
    # all that a normal posterior has is shown
    assert "beyond" not in texts(Posterior({"mean": rng.normal(size=4000)}, EXACT).plot())


def test_density_of_draws_of_which_most_are_equal(rng: np.random.Generator) -> None:
    draws = np.where(rng.random(4000) < 0.6, 1.0, rng.normal(size=4000))
    x, y = smooth_density(draws, (-np.inf, np.inf))
    assert np.isfinite(y).all()
    assert np.trapezoid(y, x) == pytest.approx(1, abs=0.01)
    assert x[y.argmax()] == pytest.approx(1, abs=0.1)


def test_support_of_a_covariance() -> None:
    for name in ("covariance[x, x]", "covariance[0, 0]", "covariance[a, b, a, b]"):
        assert support_of(name) == (0, np.inf)
    for name in ("covariance[x, y]", "covariance[x, xx]", "covariance", "mean[x]"):
        assert support_of(name) == (-np.inf, np.inf)


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


def test_components_of_different_scale_never_share_an_axis(rng: np.random.Generator) -> None:
    posterior = two_columns(rng, EXACT)
    figure = plot_posterior(posterior)
    assert [a.get_title("left").strip() for a in figure.axes] == list(posterior.scalars())
    for axes, draws in zip(figure.axes, posterior.scalars().values(), strict=True):
        left, right = axes.get_xlim()
        low, high = np.quantile(draws, [0.025, 0.975])
        assert high - low > 0.3 * (right - left)
    assert len(plot_posterior(posterior, parameters=["mean"]).axes) == 2
    assert len(plot_posterior(posterior, parameters=["covariance[x, y]"]).axes) == 1
    assert "central limit" in texts(plot_posterior(two_columns(rng, Diagnostics("gibbs", "central limit"))))


def test_many_panels_are_cut_and_say_so(rng: np.random.Generator) -> None:
    posterior = Posterior({"mean": rng.normal(size=(50, 20))}, EXACT)
    figure = posterior.plot()
    assert len(figure.axes) == MOST_PANELS
    assert f"first {MOST_PANELS} of 20 panels (most_panels=None draws all)" in texts(figure)
    assert len(posterior.plot(most_panels=None).axes) == 20


def test_long_vectors_are_cut_and_say_how_to_see_the_rest(rng: np.random.Generator) -> None:
    posterior = categories(rng, [f"label {i}" for i in range(100)])
    figure = posterior.plot()
    assert len(figure.axes[0].get_yticks()) == MOST_LABELS
    words = " ".join(texts(figure).split())
    assert f"first {MOST_LABELS} of 100 labels (most_labels=None draws all)" in words
    whole = posterior.plot(most_labels=None)
    assert len(whole.axes[0].get_yticks()) == 100
    assert "most_labels" not in texts(whole)
    # the figure grows with what it shows
    assert whole.get_figheight() > 2 * figure.get_figheight()
    pair = plot_comparison({"a": posterior, "b": posterior}, most_labels=None)
    assert len(pair.axes[0].get_yticks()) == 100
    assert "first 5 of 100" in texts(plot_comparison({"a": posterior, "b": posterior}, most_labels=5))


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "all"])
def test_most_must_be_a_count(one: Posterior, value: object) -> None:
    for option in ("most_labels", "most_panels"):
        with pytest.raises(UsageError, match=f"{option} must be"):
            one.plot(**{option: value})  # pyright: ignore[reportArgumentType]


def test_subtitle_says_what_it_is_about(one: Posterior) -> None:
    about = "bernoulli model of smoker, pure differential privacy with epsilon = 0.05"
    known = Posterior(one.draws, EXACT, about=about)
    assert about in texts(known.plot()).splitlines()
    assert about in texts(plot_comparison({"a": known, "b": known})).splitlines()
    # readings of different things have no common subtitle
    assert about not in texts(plot_comparison({"a": known, "b": one}))


def test_long_subtitles_stay_inside_the_figure(one: Posterior) -> None:
    about = (
        "multivariate_normal model of " + ", ".join(f"wide column {i}" for i in range(12)) + ", epsilon = 1"
    )
    figure = Posterior(one.draws, NAIVE, about=about).plot()
    figure.draw_without_rendering()
    boxes = [t.get_window_extent() for t in figure.texts]
    assert all(box.x1 <= figure.bbox.x1 for box in boxes)
    top = max(a.get_tightbbox().y1 for a in figure.axes)  # pyright: ignore[reportOptionalMemberAccess]
    assert min(box.y0 for box in boxes) > top
    assert about in " ".join(t.get_text() for t in figure.texts)


def test_naive_is_marked_in_the_accent_color(one: Posterior) -> None:
    naive = Posterior(one.draws, NAIVE)

    def warnings(figure: Figure) -> list[tuple[str, object]]:
        return [(t.get_text(), t.get_color()) for t in figure.texts if "ignores" in t.get_text()]

    warning = [("naive: ignores the privacy noise", ACCENT)]
    assert warnings(naive.plot()) == warning
    assert warnings(plot_comparison({"naive": naive, "noise-aware": one})) == warning
    assert warnings(plot_comparison({"naive": naive}, note="mine")) == warning
    assert warnings(one.plot()) == warnings(plot_comparison({"naive": one})) == []
    assert naive.plot().axes[0].lines[0].get_color() == ACCENT != one.plot().axes[0].lines[0].get_color()


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


def test_numbers_have_no_negative_zero() -> None:
    assert [number(x, 2) for x in (-0.001, 0.001, -0.01)] == ["0.00", "0.00", "-0.01"]


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


def test_comparison_of_means_gives_each_its_axis(rng: np.random.Generator) -> None:
    both = {"naive": two_columns(rng, NAIVE), "noise-aware": two_columns(rng, EXACT)}
    figure = plot_comparison(both, "mean")
    assert [t.get_text() for a in figure.axes for t in a.get_yticklabels()] == ["x", "y"]
    (low, high), (_, far) = (axes.get_xlim() for axes in figure.axes)
    assert 100 < low < high < 140
    assert far < 10


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
