"""The study runs on a tiny grid, and each of its claims can fail."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image
from scipy.stats import kstest, norm

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module; its parts are found next to it, as when it is run."""
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("bernstein2018")


@pytest.fixture
def methods(study: Any) -> Any:
    return importlib.import_module("bernstein.methods")


# -- the whole path ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_tiny_grid_gives_claims_tables_and_a_picture(
    study: Any, methods: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the paper's sampler takes a second at its own length; here it only has to be on the path
    monkeypatch.setattr(methods, "BURN_IN", 50)
    monkeypatch.setattr(methods, "ITERATIONS", methods.DRAWS)
    plan = study.Plan(trials=12, n_utility=4, n_plain=2, n_records=(10, 1000), epsilons=(0.01,))
    cells = study.run(plan, workers=1)
    assert [(c.key.model, c.key.n_records) for c in cells] == [
        (model, n) for model in ("binomial", "multinomial", "exponential") for n in (10, 1000)
    ]
    for cell in cells:
        assert ("ops" in cell.series) == (cell.key.model == "binomial")
        for name, series in cell.series.items():
            assert len(series.ranks) == (2 if name == "plain" else 12)
            assert ((series.ranks > 0) & (series.ranks < 1)).all()
    claims = study.check_claims(cells)
    assert {claim.source for claim in claims} == {
        "figure 1a",
        "figure 1b",
        "figure 1c",
        "section 1",
        "section 4",
    }
    text = study.write(tmp_path, plan, cells, claims, 1.0)
    for claim in claims:
        assert claim.text in text["txt"]
    figures = json.loads((tmp_path / "bernstein2018.json").read_text())
    assert len(figures["cells"]) == len(cells)
    assert len(figures["claims"]) == len(claims)
    check_picture(tmp_path / "bernstein2018.png")


def check_picture(path: Path) -> None:
    """It is small enough to keep, and its methods can be told apart."""
    assert path.stat().st_size < 200_000
    looks = importlib.import_module("bernstein.figure")._LOOKS
    with Image.open(path) as image:
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
        present = {color for _, color in image.convert("RGB").getcolors(1 << 24)}  # pyright: ignore[reportOptionalIterable]
    for style in looks.values():
        assert tuple(round(255 * part) for part in to_rgb(style["color"])) in present


def test_replicates_depend_on_their_seed_alone(study: Any) -> None:
    job = study.Job(study.Key("binomial", 100, 0.1), 0, 3, ("exact", "naive", "ops"), 1, n_utility=1)
    together = job.run()
    apart = [replace(job, first=i, last=i + 1, methods=("naive", "exact")).run()[0] for i in range(3)]
    for one, other in zip(together, apart, strict=True):
        assert one["exact"].ranks == other["exact"].ranks
        assert one["naive"].ranks == other["naive"].ranks
    assert replace(job, stage=1).run()[0]["exact"].ranks != together[0]["exact"].ranks


# -- the baselines -------------------------------------------------------------------------------------------


def test_the_naive_cheat_has_the_noise_of_the_release(methods: Any, rng: np.random.Generator) -> None:
    model = methods.MODELS["exponential"]
    # without redacted records both see the same sum, so they must agree up to rounding to the grid
    wide = replace(model, bounds=(0.0, 1000.0))
    case = methods.simulate(wide, 50, 1.0, rng)
    statistics = case.release.statistics
    released = float(
        statistics.values[0] * statistics.grid[0] * statistics.half[0] + 50 * statistics.shift[0]
    )
    rounding = 50 * float(statistics.grid[0] * statistics.half[0])
    assert abs(released - case.cheat[0]) <= rounding
    assert abs(case.cheat[0] - case.sums[0]) > rounding


@pytest.mark.parametrize("temper", [1.0, 1 / 3])
def test_one_posterior_sample_costs_its_share_and_no_more(methods: Any, temper: float) -> None:
    """The largest log ratio of densities over all neighbors; a third of the temperature must cost too much."""
    epsilon, n = 0.5, 400
    t = temper * methods.temperature(epsilon)
    p = np.linspace(methods.OPS_CUT, 1 - methods.OPS_CUT, 2001)
    yes = np.arange(n + 1)[:, None]
    log_density = ((9 + yes) * np.log(p) + (9 + n - yes) * np.log1p(-p)) / t
    log_density -= np.logaddexp.reduce(log_density, axis=1, keepdims=True)
    cost = np.abs(np.diff(log_density, axis=0)).max()
    assert (cost <= epsilon / methods.OPS_SAMPLES) == (temper == 1.0)


def test_one_posterior_samples_follow_the_tempered_density(methods: Any, rng: np.random.Generator) -> None:
    model = methods.MODELS["binomial"]
    case = methods.simulate(model, 20_000, 0.1, rng)
    drawn = np.concatenate([methods._ops(model, case, rng) for _ in range(20)])
    p = np.linspace(0.1, 0.9, 4001)
    t = methods.temperature(0.1)
    log_density = ((9 + case.sums[0]) * np.log(p) + (9 + 20_000 - case.sums[0]) * np.log1p(-p)) / t
    weight = np.cumsum(np.exp(log_density - log_density.max()))
    # 2000 independent draws, one look
    assert kstest(drawn, lambda x: np.interp(x, p, weight / weight[-1])).pvalue > 1e-4


# -- the claims ----------------------------------------------------------------------------------------------


@pytest.fixture
def good(study: Any, seed: int) -> list[Any]:
    """Cells in which everything the paper says is true by construction: ranks and MMD from known distributions."""
    return [replace(cell, series=dict(cell.series)) for cell in _true_cells(seed)]


@cache
def _true_cells(seed: int) -> list[Any]:
    """The same series for every test, because each tests its ranks only once; a test replaces what it spoils."""
    study, rng = importlib.import_module("bernstein2018"), np.random.default_rng([seed, 2018])
    cells = []
    for key in study.Plan(trials=400, n_utility=400, n_plain=400).keys:
        n_parameters = 3 if key.model == "multinomial" else 1
        noise = key.noise_ratio
        size = (400, n_parameters)
        uniform = {m: rng.random(size) for m in ("exact", "gibbs", "plain", "non-private")}
        # the naive posterior is sqrt(1 + noise^2) times too narrow
        ranks = {**uniform, "naive": norm.cdf(rng.standard_normal(size) * math.hypot(1, min(noise, 50)))}
        if key.model == "binomial":
            ranks["ops"] = norm.cdf(rng.standard_normal(size) / 4)
        base = 1e-3 * min(noise, 2) * rng.chisquare(3, 400)
        cheat = 3.0 if key.model == "exponential" and noise < 1 else 0.5
        mmd = {m: base * (1 if m == "naive" else cheat) for m in ranks}
        sd = {m: np.full(400, 2.0 if m == "ops" else 1.0) for m in ranks}
        series = {m: _series(study, ranks[m], sd[m], mmd[m]) for m in ranks}
        cells.append(study.Cell(key, series))
    return cells


def _series(study: Any, ranks: np.ndarray, sd: np.ndarray, mmd: np.ndarray) -> Any:
    return importlib.import_module("bernstein.cells").Series(ranks, sd, mmd)


def test_true_claims_hold(study: Any, good: list[Any]) -> None:
    failed = [claim for claim in study.check_claims(good) if not claim.holds]
    assert not failed


def _narrow(ranks: np.ndarray) -> np.ndarray:
    """Push ranks to both ends, as a posterior 1.6 times too narrow does."""
    return norm.cdf(1.6 * norm.ppf(ranks))


def _break_ranks(method: str, change: Callable[[np.ndarray], np.ndarray], n: int | None = None) -> Any:
    def spoil(cells: list[Any]) -> None:
        for cell in cells:
            if method in cell.series and n in (None, cell.key.n_records):
                series = cell.series[method]
                cell.series[method] = replace(series, ranks=change(series.ranks))

    return spoil


def _break_mmd(method: str, factor: float, models: tuple[str, ...]) -> Any:
    def spoil(cells: list[Any]) -> None:
        for cell in cells:
            if cell.key.model in models:
                series = cell.series[method]
                cell.series[method] = replace(series, mmd=series.mmd * factor)

    return spoil


def _flat(cells: list[Any]) -> None:
    """Utility that does not depend on n."""
    for cell in cells:
        if cell.key.n_records == 100_000:
            for name, series in cell.series.items():
                cell.series[name] = replace(series, mmd=series.mmd * 1e4)


def _no_wider(cells: list[Any]) -> None:
    for cell in cells:
        if "ops" in cell.series:
            cell.series["ops"] = replace(cell.series["ops"], sd=cell.series["ops"].sd * 0.4)


def _uniform(ranks: np.ndarray) -> np.ndarray:
    """Make any ranks uniform."""
    return (np.argsort(np.argsort(ranks, axis=0), axis=0) + 0.5) / len(ranks)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_break_ranks("gibbs", _narrow), "Gibbs is calibrated for all models"),
        (_break_ranks("exact", _narrow, 10), "exact is calibrated for all models"),
        (_break_ranks("non-private", _narrow), "non-private is calibrated for all models"),
        (_break_ranks("exact", _narrow), "exact has the same calibration level"),
        (_break_ranks("naive", _uniform), "naive is not calibrated while"),
        (_break_ranks("naive", _narrow, 100_000), "naive becomes calibrated when"),
        (_break_ranks("naive", _uniform), "naive puts the truth in a tail"),
        (_break_ranks("naive", lambda r: np.full_like(r, 0.001), 100_000), "calibrated with increasing n"),
        (_break_ranks("naive", _uniform), "neither naive nor OPS is"),
        (_break_ranks("ops", _uniform), "OPS is never calibrated"),
        (_break_ranks("ops", _uniform), "OPS is too diffuse"),
        (_no_wider, "over-dispersed"),
        (_break_ranks("gibbs", _narrow, 1000), "Gibbs is perfectly calibrated at n"),
        (_break_ranks("gibbs", lambda r: np.hstack([r[:, :1], _narrow(r[:, 1:])])), "all labels"),
        (_break_mmd("exact", 4.0, ("binomial",)), "exact is at least as useful as naive"),
        (_break_mmd("gibbs", 4.0, ("multinomial",)), "Gibbs is at least as useful as naive"),
        (_break_mmd("naive", 100.0, ("exponential",)), "sometimes more useful than Gibbs"),
        (_flat, "Gibbs approaches the non-private posterior"),
    ],
)
def test_a_false_claim_fails(study: Any, good: list[Any], spoil: Any, words: str) -> None:
    spoil(good)
    (*named,) = (claim for claim in study.check_claims(good) if words in claim.text)
    assert named
    assert not all(claim.holds for claim in named)


def test_a_suspicion_is_settled_by_fresh_replicates(study: Any, good: list[Any]) -> None:
    utility = importlib.import_module("bernstein.utility")
    assert not utility.suspects(good)
    cell = next(c for c in good if c.key.model == "binomial")
    fresh = {name: replace(series) for name, series in cell.series.items()}
    cell.series["exact"] = replace(cell.series["exact"], mmd=4 * cell.series["exact"].mmd)
    assert utility.suspects(good) == {cell: ("exact",)}

    def verdict() -> bool:
        return next(
            c.holds for c in study.check_claims(good) if c.text.startswith("exact is at least as useful")
        )

    assert not verdict()
    cell.again = fresh
    assert verdict()
    cell.again = cell.series
    assert not verdict()
