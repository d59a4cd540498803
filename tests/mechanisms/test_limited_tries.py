"""A fixed number of proposals, and what it costs: proposition 3 of Foulds et al. (2016), on known distributions."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import betainc, betaln

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource
from discreet.privacy.costs.rejection import acceptance_bound, bounded_tries, tries_for
from discreet.samplers.truncated_dirichlet import Proposal, sample_truncated_dirichlet
from tests.mechanisms.altered_files import altered

LEAST, RANGE = 0.05, 2 * np.log(0.95 / 0.05)
BOUNDS = np.full(2, LEAST)


def acceptance(alpha: np.ndarray) -> float:
    """Return how probable it is that a proposal for two cells is accepted, by quadrature."""
    proposal = Proposal.tuned(alpha, BOUNDS)
    other = 1 - proposal.last
    gamma: Any = stats.gamma(alpha[other], scale=1 / proposal.rate)

    def accepted(x: float) -> float:
        return float(gamma.pdf(x) * np.exp(proposal._log_accept(np.array([1 - x]))[0]))

    found = integrate.quad(accepted, LEAST, 1 - LEAST, limit=500, points=[alpha[other] / alpha.sum()])[0]
    return float(found / gamma.sf(LEAST))


def density(alpha: np.ndarray, p: np.ndarray) -> np.ndarray:
    a, b = alpha
    inside = betainc(a, b, 1 - LEAST) - betainc(a, b, LEAST)
    return np.exp((a - 1) * np.log(p) + (b - 1) * np.log1p(-p) - betaln(a, b)) / inside


def needed_delta(alpha: np.ndarray, other: np.ndarray, epsilon: float, tries: int) -> float:
    """Return the least delta for one direction of two neighbors: the point's part and that of the density."""
    missed, other_missed = ((1 - acceptance(each)) ** tries for each in (alpha, other))
    p = np.linspace(LEAST, 1 - LEAST, 20_001)
    excess = (1 - missed) * density(alpha, p) - np.exp(epsilon) * (1 - other_missed) * density(other, p)
    return max(missed - np.exp(epsilon) * other_missed, 0.0) + float(
        integrate.trapezoid(np.maximum(excess, 0), p)
    )


TABLES = [(0, 1), (1, 3), (5, 5), (0, 40), (20, 21), (60, 0)]


class TestCharge:
    temperature = RANGE

    def pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        found = []
        for yes, no in TABLES:
            for step in (1, -1):
                if no - step >= 0 and yes + step >= 0:
                    pair = (np.array([yes, no]), np.array([yes + step, no - step]))
                    found.append(tuple(1 + each / self.temperature for each in pair))
        return found

    @pytest.mark.parametrize("tries", [1, 4])
    def test_no_pair_of_tables_needs_more_than_is_charged(self, tries: int) -> None:
        """At the epsilon that the exact draws of this very pair cost, with nothing to spare."""
        bound = acceptance_bound([1, 1], 0.0)
        p, found = np.linspace(LEAST, 1 - LEAST, 2001), []
        for alpha, other in self.pairs():
            epsilon = float(np.log(density(alpha, p) / density(other, p)).max())
            needed = needed_delta(alpha, other, epsilon, tries)
            assert needed <= (1 + np.exp(epsilon)) * (1 - bound) ** tries
            found.append((needed, epsilon))
        needed, epsilon = max(found)
        # controls: a sampler that is taken for an exact one, and one that is believed to accept 19 of 20 for all tables
        assert needed > 1e-4
        if tries == 4:
            assert needed > (1 + np.exp(epsilon)) * 0.05**tries

    def test_no_table_accepts_more_rarely_than_the_bound(self) -> None:
        bound = acceptance_bound([1, 1], 0.0)
        found = [acceptance(alpha) for pair in self.pairs() for alpha in pair]
        assert bound < min(found)
        # control: a bound five times as large fails for some table
        assert 5 * bound > min(found)

    def test_what_is_charged_is_the_proposition(self) -> None:
        promised = bounded_tries(Fraction(1), acceptance=0.1, tries=200, draws=3)
        assert float(promised.delta) == pytest.approx(3 * (1 + np.e) * 0.9**200, rel=1e-6)
        assert float(promised.delta) >= 3 * (1 + np.e) * 0.9**200

    def test_the_number_of_proposals_is_just_enough(self) -> None:
        epsilon, delta = Fraction(1), Fraction(1, 10**9)
        tries = tries_for(epsilon, delta, acceptance=0.05, draws=7)
        assert bounded_tries(epsilon, acceptance=0.05, tries=tries, draws=7).delta <= delta
        assert bounded_tries(epsilon, acceptance=0.05, tries=tries - 1, draws=7).delta > delta
        with pytest.raises(UsageError, match="delta is too small"):
            tries_for(epsilon, Fraction(1, 10**40), acceptance=0.05, draws=7)
        with pytest.raises(UsageError, match="no number of proposals"):
            tries_for(epsilon, delta, acceptance=0.0, draws=7)


class TestSampler:
    alpha = np.array([3.0, 9.0])

    def test_draws_that_are_never_accepted_are_the_middle(self, rng: np.random.Generator) -> None:
        n, tries = 4000, 2
        drawn = sample_truncated_dirichlet(self.alpha, BOUNDS, n, rng, tries=tries)
        missed = int((drawn[:, 0] == 0.5).sum())
        expected = (1 - acceptance(self.alpha)) ** tries
        assert stats.binomtest(missed, n, expected).pvalue > 1e-5
        assert stats.binomtest(missed, n, expected / 2).pvalue < 1e-5
        rest = drawn[drawn[:, 0] != 0.5, 0]
        a, b = self.alpha
        inside = betainc(a, b, 1 - LEAST) - betainc(a, b, LEAST)
        assert stats.kstest(rest, lambda p: (betainc(a, b, p) - betainc(a, b, LEAST)) / inside).pvalue > 1e-5
        assert stats.kstest(rest, stats.beta(3, 7).cdf).pvalue < 1e-5

    def test_many_draws_and_cells_go_through_several_rounds(self, rng: np.random.Generator) -> None:
        drawn = sample_truncated_dirichlet(np.full(50, 1.5), 0.001, 2000, rng, tries=40)
        assert drawn.shape == (2000, 50)
        assert np.allclose(drawn.sum(axis=1), 1)


LABELS = dc.Categorical(["a", "b", "c"])
NETWORK = dc.models.BayesianNetwork([("x", "y")], {"x": ["a", "b"], "y": ["a", "b", "c"]})
ROWS = {"x": ["a", "b"] * 50, "y": ["a", "b", "c", "c"] * 25}


def released(rng: np.random.Generator, **arguments: Any) -> dc.Release:
    how = {"epsilon": 1, "support": "0.05", "delta": "1e-9", **arguments}
    mechanism = dc.mechanisms.PosteriorSampling("dirichlet:1,1,1", **how)
    return sample_with(RandomSource.seeded(rng), ROWS["y"], LABELS, mechanism, impute="a")


def released_tables(rng: np.random.Generator) -> dc.Release:
    mechanism = dc.mechanisms.TablePosterior(1, epsilon=1, support="0.05", delta="1e-9", samples=2)
    impute = {"x": "a", "y": "a"}
    return sample_with(RandomSource.seeded(rng), ROWS, NETWORK, mechanism, impute=impute)


class TestRelease:
    def test_file_statement_and_ledger(self, rng: np.random.Generator, tmp_path: Path) -> None:
        for release in (released(rng), released_tables(rng)):
            assert release.guarantee == dc.ApproxDP(1, "1e-9")
            assert dc.Release.from_json(release.to_json()) == release
            tries = int(release.sampling_record.parameters["tries"])
            assert f"{tries} proposals" in release.statement()
        ledger = dc.Ledger.create(f"sqlite:///{tmp_path / 'budget.db'}")
        ledger.open("people", dc.ApproxDP(2, "1e-6"))
        how = {"epsilon": 1, "support": "0.05", "delta": "1e-9"}
        mechanism = dc.mechanisms.PosteriorSampling("dirichlet:1,1,1", **how)
        dc.release(ROWS["y"], LABELS, mechanism=mechanism, impute="a", ledger=ledger, dataset="people")
        spent = ledger.account("people").spent
        assert (spent["epsilon"], spent["delta"]) == (1, Fraction(1, 10**9))

    def test_rows_of_all_tables_are_paid_for(self, rng: np.random.Generator) -> None:
        """Two samples of one row of two labels and two rows of three."""
        tries = int(released_tables(rng).sampling_record.parameters["tries"])
        wanted = tries_for(
            Fraction(1), Fraction(1, 10**9), acceptance=acceptance_bound([1, 1, 1], 0.0), draws=6
        )
        assert tries == wanted

    @pytest.mark.parametrize("make", [released, released_tables])
    @pytest.mark.parametrize(
        ("where", "value"),
        [
            (("mechanism", "parameters", "tries"), "100"),
            (("mechanism", "parameters", "tries"), "1001/2"),
            (("mechanism", "parameters", "tries"), "1000000000"),
            (("guarantees", 0, "delta"), "1e-12"),
            (("mechanism", "parameters", "temperature"), "2"),
            (("guarantees", 0), {"kind": "pure", "neighbors": "replace", "unit": "record", "epsilon": "1"}),
        ],
    )
    def test_an_altered_file_is_refused(
        self, make: Any, where: tuple[Any, ...], value: Any, rng: np.random.Generator
    ) -> None:
        with pytest.raises(ReleaseFileError):
            dc.Release.from_json(altered(make(rng), where, value))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"delta": 0}, "delta must be"),
        ({"delta": 1}, "delta must be"),
        ({"delta": "1e-30"}, "delta is too small"),
        ({"prior": "dirichlet:0.5,0.5,0.5"}, "no number of proposals"),
    ],
)
def test_what_is_refused_before_a_row_is_read(arguments: dict[str, Any], words: str) -> None:
    how = {"prior": "dirichlet:1,1,1", "epsilon": 1, "support": "0.05", "delta": "1e-9", **arguments}
    with pytest.raises(UsageError, match=words):
        dc.release(
            "nowhere.csv", LABELS, column="y", mechanism=dc.mechanisms.PosteriorSampling(**how), impute="a"
        )


def test_draws_that_are_not_proposed_have_no_delta() -> None:
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=("0.1", "0.9"), delta="1e-6")
    with pytest.raises(UsageError, match="proposed and accepted"):
        dc.release("nowhere.csv", dc.Bernoulli(), column="y", mechanism=mechanism, impute="no")
