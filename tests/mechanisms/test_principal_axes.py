"""Posterior samples of several normal columns: the distribution and the cost of a draw by enumeration; files."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource
from discreet.priors import NormalInverseWishart
from discreet.priors.normal_inverse_wishart import outer
from discreet.privacy.costs.principal_axes import PrincipalAxes
from discreet.samplers.principal_axes import AxesPosterior, draw_rotations
from tests.mechanisms.altered_files import altered

PRIOR = NormalInverseWishart([0.1, -0.2], 0.5, 4.0, [[0.3, 0.05], [0.05, 0.2]])
ALARM = 1e-5


def posterior(
    axes: PrincipalAxes, z: np.ndarray, temperature: float, *, eigenvalues: int, components: int
) -> AxesPosterior:
    n, mean = len(z) / temperature, np.array(PRIOR.mean)
    return AxesPosterior(
        axes,
        n + PRIOR.df + 2,
        z.T @ z / temperature + np.array(PRIOR.scale) + PRIOR.kappa * outer(mean),
        z.sum(axis=0) / temperature + PRIOR.kappa * mean,
        n + PRIOR.kappa,
        eigenvalues,
        components,
    )


def enumerated(
    axes: PrincipalAxes,
    z: np.ndarray,
    temperature: float,
    rotations: np.ndarray,
    *,
    eigenvalues: int,
    components: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means, covariances and log-masses of all points, from densities of the normal distribution and prior."""
    values = np.geomspace(float(axes.least), float(axes.most), eigenvalues)
    c = np.linspace(-float(axes.reach), float(axes.reach), components)
    means, covariances, log_mass = [], [], []
    for v in rotations:
        for pair in product(values, repeat=2):
            covariance = v @ np.diag(pair) @ v.T
            with np.errstate(divide="ignore"):
                volume = np.log(abs(pair[0] - pair[1])) + np.log(pair).sum()
            for along in product(c, repeat=2):
                mean = v @ along
                likelihood = stats.multivariate_normal(mean, covariance).logpdf(z).sum() if len(z) else 0.0
                means.append(mean)
                covariances.append(covariance)
                log_mass.append(volume + PRIOR.log_density((mean, covariance)) + likelihood / temperature)
    log = np.array(log_mass)
    return np.array(means), np.array(covariances), log - logsumexp(log)


def test_draws_follow_the_posterior_on_all_points(rng: np.random.Generator) -> None:
    axes = PrincipalAxes.of(2, [(Fraction(-1), Fraction(1)), (Fraction("0.2"), Fraction(1))])
    z, rotations = rng.uniform(-0.6, 0.4, (8, 2)), draw_rotations(2, 3, rng)
    how: dict[str, Any] = {"eigenvalues": 3, "components": 3}
    means, shapes, log_mass = enumerated(axes, z, 3.0, rotations, **how)
    drawn, covariances = posterior(axes, z, 3.0, **how).sample(rotations, 3000, rng)
    points = np.column_stack([means, shapes.reshape(-1, 4)])
    found = np.column_stack([drawn, covariances.reshape(-1, 4)])
    nearest = np.array([np.abs(points - each).sum(axis=1).argmin() for each in found])
    assert np.abs(points[nearest] - found).max() < 1e-12

    def p_value(log: np.ndarray) -> float:
        # points that are rarely drawn, together
        mass, seen = np.exp(log), np.bincount(nearest, minlength=len(log))
        kept = np.flatnonzero(mass * len(found) >= 10)
        counts = np.append(seen[kept], len(found) - seen[kept].sum())
        return float(stats.chisquare(counts, len(found) * np.append(mass[kept], 1 - mass[kept].sum())).pvalue)

    assert p_value(log_mass) > ALARM
    # control: a posterior that is not tempered
    assert p_value(enumerated(axes, z, 1.0, rotations, **how)[2]) < ALARM


class TestRange:
    axes = PrincipalAxes.of(2, [(Fraction(-1), Fraction(1)), (Fraction("0.1"), Fraction("0.12"))])
    temperature = 40.0
    how: dict[str, Any] = {"eigenvalues": 4, "components": 3}  # noqa: RUF012
    rotations = np.array([np.eye(2), [[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]]])
    corners = np.array(list(product([-1.0, 1.0], repeat=2)))

    def log_mass(self, z: np.ndarray) -> np.ndarray:
        """Return the log-mass of rotation, eigenvalues and components, by what the sampler adds up."""
        made = posterior(self.axes, z, self.temperature, **self.how)
        out = []
        for rotation in self.rotations:
            first, second = made.along(rotation)
            each = made.log_volume[:, :, None, None] + first[:, None, :, None] + second[None, :, None, :]
            out.append(each)
        log = np.array(out).ravel()
        return log - logsumexp(log)

    def worst(self, tables: list[np.ndarray]) -> float:
        worst = 0.0
        for z in tables:
            mass = self.log_mass(z)
            for record in [*self.corners, np.zeros(2)]:
                other = self.log_mass(np.vstack([record, z[1:]]))
                possible = np.isfinite(mass)
                worst = max(worst, float(np.abs(mass[possible] - other[possible]).max()))
        return worst

    def test_the_sampler_adds_up_what_densities_say(self, rng: np.random.Generator) -> None:
        z = rng.uniform(-1, 1, (5, 2))
        wanted = enumerated(self.axes, z, self.temperature, self.rotations, **self.how)[2]
        found = self.log_mass(z)
        possible = np.isfinite(found)
        assert np.abs(found[possible] - wanted[possible]).max() < 1e-9

    def test_no_pair_exceeds_the_claim_and_large_tables_attain_it(self) -> None:
        claim = float(self.axes.range()) / self.temperature
        assert claim == pytest.approx(2 * 4 / 0.1 / self.temperature, rel=1e-6)
        records = [*self.corners, np.zeros(2)]
        small = [np.array([x]) for x in records] + [np.array(pair) for pair in product(records, repeat=2)]
        assert self.worst(small) <= claim
        large = [np.tile(x, (4000, 1)) for x in self.corners]
        attained = self.worst(large)
        assert 0.9 * claim <= attained <= claim
        # controls: the range of one record alone, and nine tenths of it
        assert attained > claim / 2 + 0.5
        assert attained > 0.9 * claim

    def test_the_range_holds_for_random_records_and_parameters(self, rng: np.random.Generator) -> None:
        for d, reach, least, most in (
            (2, 1.0, 0.1, 0.2),
            (3, 0.5, 0.05, 3.0),
            (4, 1.5, 0.02, 1.0),
            (2, 0.01, 0.1, 1e6),
        ):
            axes = PrincipalAxes.of(
                d, [(Fraction(-reach), Fraction(reach)), (Fraction(least), Fraction(most))]
            )
            largest = 0.0
            for _ in range(40):
                z, other = rng.choice([-1.0, 1.0], (2, d)) * rng.choice([1.0, rng.random()], (2, d))
                change = []
                for rotation in draw_rotations(d, 6, rng):
                    for _ in range(4):
                        values = rng.choice([least, most], d, p=[0.8, 0.2])
                        c = rng.choice([-reach, reach], d)
                        q = [((rotation.T @ x - c) ** 2 / values).sum() / 2 for x in (z, other)]
                        change.append(q[0] - q[1])
                largest = max(largest, max(change) - min(change))
            assert largest <= float(axes.range())


MODEL, BOUNDS = dc.MultivariateNormal(2), [(0, 100), (60, 200)]
SUPPORT = {"normal_mean": (-1, 1), "covariance": ("0.02", 1)}
WISHART = "normal_inverse_wishart:50,130,0.25,4,400,0,1225"


def mechanism(**arguments: Any) -> dc.mechanisms.PosteriorSampling:
    return dc.mechanisms.PosteriorSampling(WISHART, **{"epsilon": 2, "support": SUPPORT, **arguments})


def released(rng: np.random.Generator, n: int = 300, **arguments: Any) -> dc.Release:
    x = rng.multivariate_normal([40, 120], [[100, 60], [60, 225]], n)
    return sample_with(
        RandomSource.seeded(rng), x, MODEL, mechanism(**arguments), bounds=BOUNDS, impute=[50, 130]
    )


class TestRelease:
    def test_file_and_statement(self, rng: np.random.Generator) -> None:
        release = released(rng, samples=2)
        assert dc.Release.from_json(release.to_json()) == release
        assert release.guarantee == dc.PureDP(2)
        record = release.sampling_record
        assert record.parameters["temperature"] == pytest.approx(400, rel=1e-6)
        assert "principal axis" in release.statement()
        assert release.in_floating_point
        summary = str(dc.infer(release).summary())
        assert "normal_mean" in summary
        assert "covariance" in summary

    def test_many_records_bring_the_draw_close(self, rng: np.random.Generator) -> None:
        release = released(rng, 400_000, samples=1)
        assert release.samples is not None
        draws = release.samples.arrays()
        # 2,000 records' worth: components lie on a grid of 1/31.5 half-widths
        assert np.abs(draws["normal_mean"][0] - [40, 120]).max() < 4
        correlation = draws["covariance"][0, 0, 1] / np.sqrt(np.diagonal(draws["covariance"][0]).prod())
        assert correlation == pytest.approx(0.4, abs=0.2)

    @pytest.mark.parametrize("d", [3, 4])
    def test_three_and_four_columns(self, d: int, rng: np.random.Generator) -> None:
        family = dc.MultivariateNormal(d)
        prior = NormalInverseWishart(np.zeros(d), 0.5, d + 2.0, np.eye(d) * 0.1)
        sampler = dc.mechanisms.PosteriorSampling(prior, epsilon=1, support=[(-1, 1), ("0.05", 1)])
        release = dc.release(
            rng.uniform(-1, 1, (50, d)), family, mechanism=sampler, bounds=[(-1, 1)] * d, impute=[0] * d
        )
        assert dc.Release.from_json(release.to_json()) == release

    @pytest.mark.parametrize(
        ("where", "value"),
        [
            (("mechanism", "parameters", "temperature"), "100"),
            (("mechanism", "parameters", "range"), "100"),
            (("mechanism", "support", 0), ["-1", "2"]),
            (("mechanism", "support", 1), ["1/100", "1"]),
            (("guarantees", 0, "epsilon"), "1"),
            (("samples", "arithmetic"), "exact"),
            (("samples", "draws", "normal_mean", 0), [500.0, 120.0]),
            (("samples", "draws", "covariance", 0), [[1.0, 0.0], [0.0, 300.0]]),
            (("samples", "draws", "covariance", 0), [[300.0, 10.0], [0.0, 300.0]]),
        ],
    )
    def test_an_altered_file_is_refused(
        self, where: tuple[Any, ...], value: Any, rng: np.random.Generator
    ) -> None:
        with pytest.raises(ReleaseFileError):
            dc.Release.from_json(altered(released(rng), where, value))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"support": (-1, 1)}, "pair|by name"),
        ({"support": {"mean": (-1, 1), "covariance": (1, 2)}}, "normal_mean and covariance"),
        ({"support": [(-1, 2), ("0.1", 1)]}, "symmetric about 0"),
        ({"support": [(-1, 1), (0, 1)]}, "0 < low < high"),
        ({"cells": 64}, "leave out cells"),
        ({"delta": "1e-6"}, "proposed and accepted"),
        ({"range_bound": 10}, "range_bound is below"),
        ({"epsilon": None, "metric": "absolute", "epsilon_per_unit": 1}, "distance"),
    ],
)
def test_what_is_refused_before_a_row_is_read(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dc.release("nowhere.csv", MODEL, columns=["a", "b"], bounds=BOUNDS, impute=[50, 130],
                   mechanism=mechanism(**arguments))  # fmt: skip


def test_more_columns_than_axes_can_be_tried_for() -> None:
    with pytest.raises(UsageError, match="at most 4 columns") as caught:
        PrincipalAxes.of(5, [(Fraction(-1), Fraction(1)), (Fraction("0.1"), Fraction(1))])
    assert "FinitePosterior" in str(caught.value.hint)
