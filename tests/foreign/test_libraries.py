"""Real outputs of other libraries are read with the noise that they have; ``make_outputs.py`` made them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact.records.foreign import ForeignRecord, PublishedNumber

OUTPUTS = Path(__file__).parent / "outputs"
REGIONS = dc.Categorical(["north", "south", "west"])
#: What the truth may be outside of, in all that is checked here: the outputs are fixed, so this never alarms by chance
#: again.
SURE = 0.9999


def made(library: str) -> dict[str, Any]:
    return json.loads((OUTPUTS / f"{library}.json").read_text())


def numbers(release: dc.Release) -> dict[str, PublishedNumber]:
    record = release.mechanism.require(ForeignRecord, "these are published numbers")
    return {number.of: number for number in record.numbers}


def holds(release: dc.Release, total: str, truth: Any) -> None:
    """Check that what is known of the table includes the truth."""
    table = dc.infer(release, draws=2000, rng=0).table
    assert table is not None
    low, high = np.quantile(table.draws[total], [(1 - SURE) / 2, (1 + SURE) / 2], axis=0)
    assert ((low <= np.array(truth)) & (np.array(truth) <= high)).all()


def test_opendp_frames() -> None:
    given = made("opendp")
    for name, law in (("", "discrete_laplace"), ("gaussian_", "discrete_gaussian")):
        frame, summary = given[f"{name}frame"], given[f"{name}summary"]
        release = dc.libraries.opendp_frame(REGIONS, frame, summary, by="region", source=given["made_with"])
        assert {number.noise for number in numbers(release).values()} == {law}
        assert all(number.lower == 0 for number in numbers(release).values())
        holds(release, "count", [given["truth"][region] for region in REGIONS.labels])
        assert given["made_with"] in release.statement()
    frame = [given["sum_frame"][0] | given["len_frame"][0]]
    summary = given["sum_summary"] + given["len_summary"]
    release = dc.libraries.opendp_frame(dc.Mean(), frame, summary, bounds=(0, 100))
    assert numbers(release)["sum"].scale == 200
    holds(release, "sum", given["true_sum"])


def test_opendp_measurements_and_queries() -> None:
    """Made here and now: OpenDP is what discreet itself draws noise with."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    laplace = dp.m.make_laplace(*space, scale=3.0)
    release = dc.libraries.opendp(dc.Bernoulli(), {"yes": laplace(120)}, laplace, records=300)
    assert float(numbers(release)["yes"].scale) == pytest.approx(3.0, rel=1e-9)
    assert numbers(release)["yes"].noise == "discrete_laplace"
    gaussian = dp.m.make_gaussian(
        dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=4.0
    )
    release = dc.libraries.opendp(dc.Bernoulli(), {"yes": gaussian(120.0)}, gaussian, records=300, d_in=1.0)
    assert float(numbers(release)["yes"].scale) == pytest.approx(4.0, rel=1e-9)
    assert numbers(release)["yes"].noise == "gaussian"
    context = dp.Context.compositor(
        data=list(range(100)) * 3,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=2,
        domain=dp.vector_domain(dp.atom_domain(T=int)),
    )
    queries = {
        "count": context.query().count().laplace(),
        "sum": context.query().clamp((0, 100)).sum().laplace(),
    }
    values = {name: query.release() for name, query in queries.items()}
    release = dc.libraries.opendp(dc.Mean(), values, queries, bounds=(0, 100))
    assert [float(numbers(release)[name].scale) for name in ("count", "sum")] == pytest.approx([2.0, 200.0])


def test_pipeline_dp() -> None:
    given = made("pipeline_dp")
    release = dc.libraries.pipeline_dp(REGIONS, given["output"], source=given["made_with"])
    # epsilon 1 for two metrics of people with one row each
    assert all(float(number.scale) == pytest.approx(2.0) for number in numbers(release).values())
    holds(release, "count", [given["truth"][region] for region in REGIONS.labels])
    release = dc.libraries.pipeline_dp(dc.Mean(), given["output"], partition="south", bounds=(0, 100))
    assert float(numbers(release)["sum"].scale) == pytest.approx(200.0)
    holds(release, "sum", given["true_sums"]["south"])
    with pytest.raises(dc.errors.UsageError, match="no partition 'east'"):
        dc.libraries.pipeline_dp(dc.Mean(), given["output"], partition="east", bounds=(0, 100))
    bare = [[key, {"count": metrics["count"]}] for key, metrics in given["output"]]
    with pytest.raises(dc.errors.UsageError, match="how wide its noise is"):
        dc.libraries.pipeline_dp(REGIONS, bare)


def test_diffprivlib() -> None:
    given = made("diffprivlib")
    n, bins = given["records"], given["histogram"]
    release = dc.libraries.diffprivlib("histogram", (bins["counts"], bins["edges"]), epsilon=bins["epsilon"])
    assert all(number.lower == 0 and number.noise == "geometric" for number in numbers(release).values())
    holds(release, "count", bins["truth"])
    one = given["count_nonzero"]
    holds(
        dc.libraries.diffprivlib("count_nonzero", one["value"], epsilon=one["epsilon"], records=n),
        "yes",
        one["truth"],
    )
    for tool, total in (("sum", "sum"), ("mean", "mean")):
        one = given[tool]
        release = dc.libraries.diffprivlib(
            tool, one["value"], epsilon=one["epsilon"], records=n, bounds=(0, 100)
        )
        assert float(numbers(release)["sum"].scale) == pytest.approx(100 / one["epsilon"])
        holds(release, total, one["truth"])
    with pytest.raises(dc.errors.UsageError, match="'median' is not read"):
        dc.libraries.diffprivlib("median", 3, epsilon=1)


def test_smartnoise() -> None:
    given = made("smartnoise")
    release = dc.libraries.smartnoise(
        REGIONS, given["rows"], epsilon=given["epsilon"], count="n", by="region"
    )
    holds(release, "count", [given["truth"][region] for region in REGIONS.labels])
    release = dc.libraries.smartnoise(
        dc.Mean(), given["whole"], epsilon=given["epsilon"], count="n", total="total", bounds=(0, 100)
    )
    assert float(numbers(release)["sum"].scale) == pytest.approx(200.0)
    holds(release, "sum", given["true_sum"])


def test_bigquery_rows_of_the_documented_form() -> None:
    rows = [{"region": "north", "n": 302}, {"region": "south", "n": 175}, {"region": "west", "n": 121}]
    release = dc.libraries.bigquery(
        REGIONS, rows, epsilon=0.5, count="n", by="region", max_groups_contributed=2
    )
    assert {(number.noise, number.rounded, float(number.scale)) for number in numbers(release).values()} == {
        ("laplace", 1, 4.0)
    }
    assert dc.infer(release, draws=400, rng=0).n_draws == 400


def test_a_noisy_measurement_file_of_the_census_form() -> None:
    """An invented file of the documented form."""
    rows = [
        {
            "geocode": "44",
            "query_name": "total_dpq",
            "query_shape": [1],
            "value": [1_000_812],
            "variance": 3.2,
        },
        {
            "geocode": "44",
            "query_name": "votingage_dpq",
            "query_shape": [2],
            "value": [201_313, 799_480],
            "variance": 30.5,
        },
    ]
    model = dc.Categorical(["under 18", "18 and over"])
    release = dc.libraries.census(model, rows, geocode="44", query="votingage")
    assert {number.noise for number in numbers(release).values()} == {"discrete_gaussian"}
    assert float(numbers(release)["under 18"].scale) ** 2 == pytest.approx(30.5)
    table = dc.infer(release, draws=400, rng=0).table
    assert table is not None
    assert abs(table.draws["count"][:, 0].mean() - 201_313) < 3
    with pytest.raises(dc.errors.UsageError, match="there are 0 rows"):
        dc.libraries.census(model, rows, geocode="45", query="votingage")
