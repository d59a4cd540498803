"""Make the stored outputs of other libraries, each in an environment that has it.

    python tests/foreign/make_outputs.py opendp       # pip install "opendp[polars]"
    python tests/foreign/make_outputs.py diffprivlib  # pip install diffprivlib "scikit-learn<1.6"
    python tests/foreign/make_outputs.py pipeline_dp  # pip install pipeline-dp
    python tests/foreign/make_outputs.py smartnoise   # pip install smartnoise-sql

Data are invented, and the truth is stored beside the noisy output. Nothing here imports discreet.
"""
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import random
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

REGIONS = ("north", "south", "west")


def table() -> tuple[list[str], list[int]]:
    """Return invented regions and ages of 600 people."""
    chance = random.Random(7)
    regions = chance.choices(REGIONS, weights=[5, 3, 2], k=600)
    return list(regions), [int(min(max(chance.gauss(40, 15), 0), 100)) for _ in regions]


def opendp() -> dict[str, Any]:
    import polars as pl

    dp: Any = import_module("opendp.prelude")

    dp.enable_features("contrib")
    regions, ages = table()

    def context(loss: Any, parts: int = 1) -> Any:
        margins = [
            dp.polars.Margin(by=[], max_length=1000),
            dp.polars.Margin(by=["region"], invariant="keys", max_length=1000),
        ]
        return dp.Context.compositor(
            data=pl.LazyFrame({"region": regions, "age": ages}),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=loss,
            split_evenly_over=parts,
            margins=margins,
        )

    both = context(dp.loss_of(epsilon=1.0), 2)
    queries = {
        "": context(dp.loss_of(epsilon=0.5)).query().group_by("region").agg(dp.len()),
        "gaussian_": context(dp.loss_of(rho=0.05, delta=0.0)).query().group_by("region").agg(dp.len()),
        "sum_": both.query().select(pl.col("age").fill_null(0).dp.sum((0, 100))),
        "len_": both.query().select(dp.len()),
    }
    made: dict[str, Any] = {"made_with": f"OpenDP {version('opendp')}, polars {version('polars')}"}
    made |= {"truth": {region: regions.count(region) for region in REGIONS}, "true_sum": sum(ages)}
    for name, query in queries.items():
        made[f"{name}summary"] = query.summarize().to_dicts()
        made[f"{name}frame"] = query.release().collect().to_dicts()
    return made


def diffprivlib() -> dict[str, Any]:
    import numpy as np
    from diffprivlib import tools

    _, ages = table()
    x, rare = np.array(ages, dtype=float), np.array(ages) > 65
    counts, edges = tools.histogram(x, epsilon=0.3, bins=8, range=(0, 100))
    return {
        "made_with": f"diffprivlib {version('diffprivlib')}",
        "records": len(ages),
        "histogram": {
            "epsilon": 0.3,
            "counts": counts.astype(int).tolist(),
            "edges": edges.tolist(),
            "truth": np.histogram(x, 8, (0, 100))[0].tolist(),
        },
        "count_nonzero": {
            "epsilon": 0.1,
            "value": int(tools.count_nonzero(rare, epsilon=0.1)),
            "truth": int(rare.sum()),
        },
        "sum": {
            "epsilon": 0.2,
            "value": float(tools.sum(x, epsilon=0.2, bounds=(0, 100))),
            "truth": float(x.sum()),
        },
        "mean": {
            "epsilon": 0.2,
            "value": float(tools.mean(x, epsilon=0.2, bounds=(0, 100))),
            "truth": float(x.mean()),
        },
    }


def pipeline_dp() -> dict[str, Any]:
    import pipeline_dp as pdp

    regions, ages = table()
    data = list(enumerate(zip(regions, ages, strict=True)))
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    params = pdp.AggregateParams(
        metrics=[pdp.Metrics.COUNT, pdp.Metrics.SUM],
        noise_kind=pdp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0,
        max_value=100,
        output_noise_stddev=True,
    )
    extractors = pdp.DataExtractors(
        partition_extractor=lambda row: row[1][0],
        privacy_id_extractor=lambda row: row[0],
        value_extractor=lambda row: row[1][1],
    )
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    output = engine.aggregate(data, params, extractors, public_partitions=list(REGIONS))
    accountant.compute_budgets()
    sums = {region: sum(a for r, a in zip(regions, ages, strict=True) if r == region) for region in REGIONS}
    return {
        "made_with": f"PipelineDP {version('pipeline-dp')}",
        "output": [[key, metrics._asdict()] for key, metrics in output],
        "truth": {region: regions.count(region) for region in REGIONS},
        "true_sums": sums,
    }


def smartnoise() -> dict[str, Any]:
    import pandas as pd
    from snsql import Privacy, from_df

    regions, ages = table()
    frame = pd.DataFrame({"id": range(len(ages)), "region": regions, "age": ages})
    columns = {
        "id": {"type": "int", "private_id": True},
        "region": {"type": "string"},
        "age": {"type": "int", "lower": 0, "upper": 100},
    }
    meta = {"": {"S": {"T": {"max_ids": 1, "rows": len(ages), "censor_dims": False, **columns}}}}

    def ask(query: str) -> Any:
        return from_df(frame, privacy=Privacy(epsilon=0.5, delta=1e-6), metadata=meta).execute(query)

    return {
        "made_with": f"SmartNoise SQL {version('smartnoise-sql')}",
        "epsilon": 0.5,
        "rows": ask("SELECT region, COUNT(*) AS n, SUM(age) AS total FROM S.T GROUP BY region"),
        "whole": ask("SELECT COUNT(*) AS n, SUM(age) AS total FROM S.T"),
        "truth": {region: regions.count(region) for region in REGIONS},
        "true_sum": sum(ages),
    }


if __name__ == "__main__":
    library = sys.argv[1]
    content = json.dumps(globals()[library](), indent=1, default=str)
    (Path(__file__).parent / "outputs" / f"{library}.json").write_text(content + "\n")
