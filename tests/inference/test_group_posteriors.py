"""What is asked of several groups: differences in words, ranks, margins that add up, frames and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.inference.group_posteriors import _joined

REGIONS, SEXES = ["north", "south", "west"], ["f", "m"]


@pytest.fixture(scope="module")
def table() -> dict[str, list]:
    rng = np.random.default_rng(3)
    n = 3000
    region, sex = rng.integers(0, 3, n), rng.integers(0, 2, n)
    return {
        "region": np.array(REGIONS)[region].tolist(),
        "sex": np.array(SEXES)[sex].tolist(),
        "smoker": (rng.random(n) < 0.2 + 0.2 * region).astype(int).tolist(),
        "cost": np.clip(rng.gamma(2, 100 + 100 * sex), 0, 1000).tolist(),
        "diet": rng.choice(["a", "b", "c"], n).tolist(),
    }


def made(table: dict[str, list], model, column: str, **options):
    return dc.release(
        table,
        model,
        column=column,
        by=["region", "sex"],
        groups={"region": REGIONS, "sex": SEXES},
        epsilon=20,
        neighbors="add_remove",
        **options,
    )


@pytest.fixture(scope="module")
def smokers(table):
    return dc.infer(made(table, dc.Bernoulli(), "smoker"), rng=1, draws=400)


def test_a_comparison_reads_well(smokers) -> None:
    found = smokers.compare(("west", "f"), ("north", "f"))
    assert found.probability_higher["p"] == 1
    said = str(found).splitlines()
    assert said[0] == "west, f minus north, f"
    assert "west, f is higher with probability above 0.9975" in said[1]
    ratio = smokers.compare("west, f", "north, f", by="ratio")
    assert ratio.about == "west, f over north, f"
    assert ratio.mean()["p"] > 1.5
    with pytest.raises(UsageError, match="by must be"):
        smokers.compare("west, f", "north, f", by="odds")


def test_ranks(smokers) -> None:
    places = smokers.ranks()
    assert sum(one.mean for one in places.values()) == pytest.approx(21)
    assert places["north, f"].low >= 5
    assert places["north, f"].lowest + places["north, m"].lowest == pytest.approx(1)
    highest = smokers.probability_highest()
    assert all(one.highest == highest[name] for name, one in places.items())
    with pytest.raises(UsageError, match="no parameter that is one number"):
        smokers.ranks("q")


def test_margins_add_up_draw_by_draw(smokers) -> None:
    by_region, by_sex, whole = smokers.margin("region"), smokers.margin("sex"), smokers.margin()
    assert list(by_region) == REGIONS
    assert list(whole) == ["all"]
    for key in ("usable", "yes"):
        total = whole.table["all"].draws[key]
        for margin in (by_region, by_sex):
            assert np.array_equal(np.sum([one.draws[key] for one in margin.table.values()], axis=0), total)
        own = smokers.table
        north = own["north", "f"].draws[key] + own["north", "m"].draws[key]
        assert np.array_equal(by_region.table["north"].draws[key], north)
    # a share of the population lies between those of its groups, and a margin of a margin is the margin
    both = np.stack([smokers["north", sex].draws["p"] for sex in SEXES])
    north = by_region["north"].draws["p"]
    assert (both.min(axis=0) <= north).all()
    assert (north <= both.max(axis=0)).all()
    with pytest.raises(UsageError, match="columns that make the groups"):
        smokers.margin("age")


def test_margins_of_means_and_labels(table) -> None:
    costs = dc.infer(made(table, dc.Mean(), "cost", bounds=(0, 1000)), rng=1, draws=400)
    by_sex = costs.margin("sex")
    truth = {s: np.array(table["cost"])[np.array(table["sex"]) == s] for s in SEXES}
    for sex in SEXES:
        # 1,500 records at epsilon 20: the table's own mean is known within a fraction of its standard error
        error = truth[sex].std() / np.sqrt(truth[sex].size)
        assert by_sex.table[sex].mean()["mean"] == pytest.approx(truth[sex].mean(), abs=error)
        assert by_sex[sex].mean()["mean"] == pytest.approx(truth[sex].mean(), abs=4 * error)
        assert by_sex[sex].mean()["sd"] == pytest.approx(truth[sex].std(), rel=0.15)
    diets = dc.infer(made(table, dc.Categorical(["a", "b", "c"]), "diet"), rng=1, draws=400)
    whole = diets.margin()["all"]
    assert np.allclose(whole.draws["p"].sum(axis=1), 1)
    assert whole.table is not None
    assert np.array_equal(whole.table.draws["count"].sum(axis=1), whole.table.draws["usable"])


def test_margins_need_totals_of_the_table(table) -> None:
    counts = dict(table, visits=[1, 2, 3] * 1000)
    rates = dc.infer(made(counts, dc.Poisson(), "visits", bounds=(0, 9)), rng=1, draws=40, engine="gibbs")
    with pytest.raises(UsageError, match="keeps no totals of the table"):
        rates.margin("sex")


def test_a_tidy_frame_has_the_groups(smokers) -> None:
    frame = smokers.to_pandas()
    assert list(frame.columns) == ["group", "region", "sex", "parameter", "chain", "draw", "value"]
    mine = frame[(frame["region"] == "west") & (frame["sex"] == "m")]
    assert np.array_equal(mine["value"], smokers["west", "m"].draws["p"])
    assert set(mine["group"]) == {"west, m"}


def test_a_forest_plot(smokers, table, tmp_path: Path) -> None:
    figure = smokers.plot(tmp_path / "groups.png", order="value", most_groups=4)
    axes = figure.axes[0]
    assert axes.get_yticklabels()[0].get_text().startswith("west")
    assert len(axes.get_yticklabels()) == 4
    assert (tmp_path / "groups.png").stat().st_size > 1000
    # vectors have no forest
    diets = dc.infer(made(table, dc.Categorical(["a", "b", "c"]), "diet"), rng=1, draws=40)
    diets.plot()
    with pytest.raises(UsageError, match="order must be"):
        smokers.plot(order="size")


def test_warnings_of_many_groups_are_one_line(rng: np.random.Generator) -> None:
    groups = [str(i) for i in range(60)]
    few = {"g": rng.choice(groups, 200).tolist(), "y": rng.integers(0, 2, 200).tolist()}
    found = dc.infer(
        dc.release(few, dc.Bernoulli(), column="y", by="g", groups=groups, epsilon=0.2), draws=40, rng=1
    )
    said = found.summary().diagnostics.warnings
    # where noise is so much wider that the factor is not told, the words differ
    assert len(said) <= 3
    for words in ("no more records were counted than noise alone", "noise on the counts"):
        assert any("of 60 groups (" in one and words in one for one in said)
    assert repr(found).startswith("<60 groups: p of 0, 1, 2")


@pytest.mark.parametrize(
    ("found", "n_groups", "said"),
    [
        ([("a", "noise: 1")], 2, "a: noise: 1"),
        ([("a", "noise: 1"), ("a", "noise: 2")], 2, "a: noise: 1"),
        ([("a", "noise: 1"), ("b", "noise: 2")], 2, "both groups (a, b), such as a: noise: 1"),
        ([("a", "1"), ("b", "2"), ("c", "3")], 3, "all 3 groups (a, b, c), such as a: 1"),
        ([("a", "1"), ("b", "2")], 60, "2 of 60 groups (a, b), such as a: 1"),
    ],
)
def test_what_groups_have_in_common_is_said_once(
    found: list[tuple[str, str]], n_groups: int, said: str
) -> None:
    assert _joined(found, n_groups) == said
