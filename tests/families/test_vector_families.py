"""Families of one's own with a vector of statistics: exact sensitivity, priors by product and density, posteriors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import i0e
from scipy.stats import kstest

import discreet as dc
from discreet.artifact import Release
from discreet.data.summaries.sums import summarize
from discreet.errors import UsageError
from discreet.families import Support, VectorFamily
from discreet.families.by_name import _FAMILIES
from discreet.models.statistic_shape import STEP, StatisticTable
from discreet.priors import ByDensity, Gamma, Product
from tests.families.own_families import Share, Waiting

TWO = Product(Gamma(2, 0.5), Gamma(2, 0.5))


@dataclass(frozen=True)
class Direction(VectorFamily):
    """An angle, von Mises distributed; its parameters are the natural ones."""

    name = "direction"
    draw_names = ("cosine", "sine")
    low: float = -3.14159
    high: float = 3.14159

    @property
    def support(self) -> Support:
        return Support(-np.pi, np.pi)

    def statistics(self, x: np.ndarray) -> list[np.ndarray]:
        return [np.cos(x), np.sin(x)]

    def natural(self, theta: Any) -> np.ndarray:
        return np.stack([theta["cosine"], theta["sine"]], axis=-1)

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        length = np.hypot(eta[..., 0], eta[..., 1])
        return np.log(2 * np.pi * i0e(length)) + length

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        return np.zeros(np.shape(x))


@dataclass(frozen=True)
class Jagged(Direction):
    """Statistics that no bound on a slope could hold."""

    name = "jagged"

    def statistics(self, x: np.ndarray) -> list[np.ndarray]:
        bits = np.frombuffer(np.ascontiguousarray(x, dtype=float).tobytes(), dtype=np.uint64)
        return [
            (bits % 7).astype(float).reshape(x.shape),
            (bits % 11).astype(float).reshape(x.shape),
            np.sign(x),
        ]


@pytest.mark.parametrize("family", [Share(), Waiting(), Direction(), Jagged()])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("missing", ["none", "count"])
def test_the_sensitivity_is_attained_by_two_records_and_never_exceeded(
    family: VectorFamily, neighbors: Any, missing: Any, rng: np.random.Generator
) -> None:
    domain = family.read_domain(None, "clip", missing)
    layout = family.layout(domain, neighbors)
    table, width = family.geometry, np.array([float(w) for w in layout.width])
    grid = np.array([float(g) for g in layout.grid])

    def added(records: list[float | None]) -> np.ndarray:
        return np.array(summarize(records, family, domain, layout).values) * grid / width

    # the pair of table rows that are farthest apart, found over all pairs
    rows = table.steps.astype(float) * float(STEP)
    far = rows[rng.permutation(len(rows))[:400]]
    extreme = np.unique(
        np.concatenate([rows[np.argmax(rows @ s)][None] for s in _signs(rows.shape[1])]), axis=0
    )
    pairs = np.abs(np.concatenate([far, extreme])[:, None] - extreme[None]).sum(axis=2)
    from_nothing = np.abs(rows).sum(axis=1).max() + 0.5
    expected = pairs.max() if neighbors == "replace" else from_nothing
    if missing == "count" and neighbors == "replace":
        expected = max(expected, from_nothing)
    n_fine = sum(g != 1 for g in layout.grid)
    assert float(layout.l1_sensitivity) == pytest.approx(expected + n_fine * 2.0**-24, abs=1e-12)
    # by records: at the points of the table, at random ones, beyond the bounds, missing
    low, high = (float(end) for end in family.own_bounds[0])
    at = np.linspace(low, high, len(rows))
    x = [at[int(np.argmax(rows @ s))] for s in _signs(rows.shape[1])]
    x += [*rng.uniform(low - 1, high + 1, 12).tolist(), np.inf, -1e300]
    every: list[np.ndarray] = [added([one]) for one in x]
    if missing == "count":
        every.append(added([None]))
    nothing = np.zeros(len(width))
    changes = [np.abs(a - (b if neighbors == "replace" else nothing)).sum() for a in every for b in every]
    squares = [
        np.sqrt(((a - (b if neighbors == "replace" else nothing)) ** 2).sum()) for a in every for b in every
    ]
    assert max(changes) <= float(layout.l1_sensitivity)
    assert max(changes) >= float(layout.l1_sensitivity) - 1e-5
    assert max(squares) <= float(layout.l2_sensitivity)
    # a control that is too generous, what the widest statistic alone can change, is exceeded
    alone = np.ptp(rows, axis=0).max() if neighbors == "replace" else np.abs(rows).max() + 0.5
    assert max(changes) > 1.2 * alone


def _signs(m: int) -> np.ndarray:
    return np.array(np.meshgrid(*[(1.0, -1.0)] * m)).reshape(m, -1).T


def test_l2_is_the_largest_distance_of_two_rows(rng: np.random.Generator) -> None:
    steps = rng.integers(-(2**20), 2**20 + 1, (700, 3))
    found = StatisticTable(("a", "b", "c"), steps).l2_sensitivity_squared("replace", "none")
    brute = max(int(((steps - row) ** 2).sum(axis=1).max()) for row in steps)
    assert found == Fraction(brute, 2**40)


def test_files_bounds_and_bad_declarations(monkeypatch: pytest.MonkeyPatch) -> None:
    release = dc.release([0.2, 0.4, None], Share(), epsilon=1)
    again = Release.from_json(release.to_json())
    assert again.model == Share()
    assert again.layout.l1_sensitivity == release.layout.l1_sensitivity
    assert "share" in release.statement()
    assert release.layout.names == ("t1", "t2", "usable")

    class Untouched:
        """Rows that must not be read before the declarations are found wanting."""

        def __getattr__(self, name: str) -> Any:
            raise AssertionError("a row was read")

    for how, words in [
        ({"bounds": (0, 1)}, "its own, 0.02 to 0.98"),
        ({"outside": "redact"}, "clipped"),
        ({"by": {"ward": ["a", "b"]}}, "group|by"),
    ]:
        with pytest.raises(UsageError, match=words):
            dc.release(Untouched(), Share(), epsilon=1, **how)
    for bad in ({"low": 0.0}, {"low": 0.5, "high": 0.2}, {"high": 2}, {"low": "x"}):
        with pytest.raises(UsageError):
            dc.release(Untouched(), Share(**bad), epsilon=1)
    with pytest.raises(UsageError, match="Product"):
        dc.infer(release, prior="beta:1,1")
    with pytest.raises(UsageError, match="a, b"):
        dc.infer(release, prior=Product(Gamma(1, 1)))
    with pytest.raises(UsageError, match="suggests no weak prior"):
        dc.infer(release)
    monkeypatch.delitem(_FAMILIES, "share")
    with pytest.raises(dc.errors.ReleaseFileError):
        Release.from_json(release.to_json())


def test_priors_are_normalized_drawn_from_and_written_back(rng: np.random.Generator) -> None:
    text = "gamma:2,1*beta:1,3*normal:0,2"
    prior = dc.priors.parse(text)
    assert str(prior) == text
    by_density = ByDensity(lambda a: 2 * np.log(a) - a, [(0.5, 12.0)])
    for one in (Product(Gamma(3, 1)), by_density):
        x = np.linspace(-25, 25, 200_001)[:, None]
        assert np.trapezoid(np.exp(one.log_density_at(x)), x[:, 0]) == pytest.approx(1, abs=1e-4)
        (v,) = one.values(x[::5000])
        assert one.coordinates((v,)) == pytest.approx(x[::5000], abs=1e-6, rel=1e-6)
    draws = by_density.sample(20_000, rng)[0]
    grid = np.linspace(0.5, 12, 20_001)
    density = np.exp(2 * np.log(grid) - grid)
    cdf = np.cumsum(density) / density.sum()
    assert kstest(draws, lambda v: np.interp(v, grid, cdf)).pvalue > 1e-4
    for bad in (
        lambda: Product(),
        lambda: Product(dc.priors.Dirichlet((1, 1))),
        lambda: ByDensity(1, [(0, 1)]),  # pyright: ignore[reportArgumentType]
        lambda: ByDensity(lambda a: a, [(1, 0)]),
        lambda: ByDensity(lambda a: a, []),
        lambda: ByDensity(lambda a: np.nan * a, [(0, 1)]),
        lambda: ByDensity(lambda a: -np.inf * np.ones_like(a), [(0, 1)]),
        lambda: ByDensity(lambda a, b: a, [(0, 1)]),
        lambda: ByDensity(lambda a: -1e9 * (a - 0.5) ** 2, [(-1e3, 1e3)]),
    ):
        with pytest.raises(UsageError):
            bad()


@pytest.mark.parametrize(("n", "theta"), [(3, (2.0, 5.0)), (2000, (2.0, 5.0)), (50_000, (0.4, 30.0))])
def test_posteriors_given_sums_are_those_of_a_fine_grid(
    n: int, theta: tuple[float, float], rng: np.random.Generator
) -> None:
    x = np.clip(rng.beta(*theta, n), 1e-9, 1 - 1e-9)
    family = Share()
    seen = family.update(TWO, family.sufficient(x).sum(axis=0), n)
    a, b = seen.sample(40_000, rng)
    center = np.array([np.log(a).mean(), np.log(b).mean()])
    spread = np.array([np.log(a).std(), np.log(b).std()])
    axes = [np.linspace(c - 9 * s, c + 7 * s, 401) for c, s in zip(center, spread, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    log_p = seen.log_posterior(points)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    for i, drawn in enumerate((np.log(a), np.log(b))):
        mean = float((p * points[..., i]).sum())
        sd = float(np.sqrt((p * (points[..., i] - mean) ** 2).sum()))
        # five standard errors of 40,000 draws; cells widen the sd by less than 1%
        assert drawn.mean() == pytest.approx(mean, abs=5 * sd / 200)
        assert drawn.std() == pytest.approx(sd, rel=0.03)


def test_engines_read_them(rng: np.random.Generator) -> None:
    family = Waiting()
    x = family.sample({"shape": 3.0, "rate": 1.5}, 3000, rng)
    release = dc.release(x, family, epsilon=4, missing="none")
    prior = ByDensity(lambda shape, rate: -shape / 10 - rate / 10, [(0.2, 12), (0.1, 8)])
    for engine in ("gibbs", "naive"):
        found = dc.infer(release, prior=prior, engine=engine, draws=400, rng=1)
        assert found.mean()["shape"] == pytest.approx(3, abs=6 * found.sd()["shape"])
        assert 0.02 < found.sd()["shape"] < 0.4


_OTHERS: list[tuple[Any, Any, Any, dict[str, float]]] = [
    (dc.Poisson(), (0, 12), Gamma(4, 1), {"rate": 3.0}),
    (dc.Geometric(), (0, 9), dc.priors.Beta(3, 3), {"p": 0.4}),
    (dc.Gamma(shape=2), (0, 8), Gamma(4, 4), {"rate": 1.2}),
    (dc.Laplace(location=0), (-6, 6), Gamma(4, 4), {"rate": 0.9}),
    (dc.Normal(variance=4), (-6, 8), dc.priors.Normal(0, 3), {"mean": 1.0}),
    (dc.Normal(mean=1), (-6, 8), Gamma(3, 3), {"variance": 3.0}),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", _OTHERS, ids=lambda case: case[0].name)
def test_the_plain_sampler_reads_every_family_of_one_column(case: Any, rng: np.random.Generator) -> None:
    """Where noise is small both samplers have the same posterior, up to what the plain one gets wrong by design."""
    family, bounds, prior, theta = case
    x = family.sample({name: np.array(value) for name, value in theta.items()}, 400, rng)
    release = dc.release(x, family, bounds=bounds, epsilon=20, missing="none")
    plain = dc.infer(release, prior=prior, engine="plain", draws=120, chains=8, rng=1)
    gibbs = dc.infer(release, prior=prior, engine="gibbs", draws=400, rng=1)
    assert "incompatible" in plain.diagnostics.approximation
    for name, value in gibbs.mean().items():
        sd = float(gibbs.sd()[name])
        assert plain.mean()[name] == pytest.approx(value, abs=sd)
        assert 0.6 < plain.sd()[name] / sd < 1.6


def test_the_plain_sampler_says_what_it_does_not_read() -> None:
    counts = dc.release([1, 2, 3], dc.NegativeBinomial(), bounds=(0, 9), epsilon=1, missing="none")
    with pytest.raises(dc.errors.EngineError, match="does not read negative_binomial"):
        dc.infer(counts, engine="plain")
