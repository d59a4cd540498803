"""Forged releases that hang together: any declarations, totals and noise that fit one another."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import discreet as dc
from discreet.artifact import Release, Statistics
from discreet.domain.declarations import Domain
from discreet.models.column_model import ColumnModel
from discreet.privacy import PureDP, ZeroConcentratedDP

_LABELS = (
    "a",
    "b c",
    "x\nFORGED LINE\ny",
    "\u202egnorw",
    "é",
    "x” y “z",
    "0",
    "1",
    "yes",
    "no",
    "a" * 300,
    "<missing>",
)


def consistent(rng: np.random.Generator) -> tuple[str, str, str]:
    """Return the name of a model, how it was declared, and a file that ought to be accepted, whatever it holds."""
    model = _model(rng)
    structured = isinstance(model, ColumnModel)
    bounds = (
        None
        if structured or model.vocabulary is not None
        else tuple(_bounds(model, rng) for _ in range(model.n_columns))
    )
    neighbors = str(rng.choice(["replace", "add_remove"]))
    domain = Domain(
        bounds,
        None if structured else model.labels,
        model.only_outside or ("redact" if bounds is None or rng.random() < 0.5 else "clip"),
        str(rng.choice(["count", "none"])),  # pyright: ignore[reportArgumentType]
    )
    layout = model.layout(domain, neighbors)  # pyright: ignore[reportArgumentType]
    gaussian = bool(rng.random() < 0.4)
    budget = Fraction(float(f"{10 ** rng.uniform(-9, 4):.3g}")).limit_denominator(10**15) or Fraction(
        1, 10**9
    )
    mechanism = dc.mechanisms.Gaussian(rho=budget) if gaussian else dc.mechanisms.Laplace(budget)
    try:
        scales = mechanism.scales(layout)
    except dc.DiscreetError:
        scales = tuple(width * 10**6 for width in layout.width)
        budget = Fraction(
            layout.l2_sensitivity**2 / (2 * 10**12) if gaussian else layout.l1_sensitivity / 10**6
        )
        mechanism = dc.mechanisms.Gaussian(rho=budget) if gaussian else dc.mechanisms.Laplace(budget)
    promised = (ZeroConcentratedDP if gaussian else PureDP)(budget, neighbors=neighbors)  # pyright: ignore[reportArgumentType]
    n = int(10 ** rng.uniform(0, 12)) if rng.random() < 0.7 else int(rng.integers(1, 2000))
    made = Release(
        id="00000000-0000-4000-8000-000000000000",
        dataset=None,
        model=model,
        columns=model.column_names if structured else tuple(f"x{i}" for i in range(model.n_columns)),
        domain=domain,
        neighbors=neighbors,  # pyright: ignore[reportArgumentType]
        unit=None,
        max_rows=1,
        records=n if neighbors == "replace" else None,
        statistics=Statistics(
            layout.names,
            _values(rng, model, layout, domain, neighbors, scales, n),
            layout.grid,
            layout.width,
            layout.shift,
            layout.half,
        ),
        mechanism=mechanism.record(scales, mechanism.sensitivity(layout)),
        guarantees={"statistics": promised},
        software={"discreet": "0.1.0"},
    )
    return (
        model.name,
        f"consistent n={n} budget={float(budget):.3g} {neighbors} {domain.missing}",
        made.to_json(),
    )


def _model(rng: np.random.Generator) -> Any:
    def some(least: int = 2) -> list[str]:
        k = int(rng.choice([2, 2, 3, 5, 12]))
        return [str(x) for x in rng.choice(_LABELS, max(k, least), replace=False)]

    size = float(f"{10 ** rng.uniform(-6, 6):.3g}")
    makers = [
        dc.Bernoulli,
        lambda: dc.Categorical(some()),
        lambda: dc.Categorical(int(rng.choice([2, 30, 300]))),
        dc.Poisson,
        dc.Geometric,
        dc.Exponential,
        lambda: dc.Gamma(shape=size),
        lambda: dc.Laplace(location=size),
        lambda: dc.Normal(variance=size),
        lambda: dc.Normal(mean=size),
        dc.Normal,
        dc.Mean,
        lambda: dc.Histogram(int(rng.choice([2, 8, 40, 64]))),
        lambda: dc.Histogram(edges=[0, 1, size + 1, size + 2]),
        lambda: dc.models.NaiveBayes(
            {"c": some()}, {"d": some(), **({"w": (0, 100)} if rng.random() < 0.3 else {})}
        ),
        lambda: dc.models.MarkovChain({"s": ["1", "2"]}, {"t": ["1", "2", "3"]}, {"z": some()}),
    ]
    if rng.random() < 0.02:
        return dc.MultivariateNormal(int(rng.choice([2, 2, 3])))
    return makers[int(rng.integers(len(makers)))]()


def _bounds(model: Any, rng: np.random.Generator) -> tuple[Fraction, Fraction]:
    """Return bounds of any size that the family takes."""
    if getattr(model, "edges", None) is not None:
        return model.edges[0], model.edges[-1]
    low, high = model.support.low, model.support.high
    if model.support.discrete:
        first = int(max(low, 0)) + int(rng.choice([0, 0, 1, 1000]))
        return Fraction(first), Fraction(first + int(10 ** rng.uniform(0, 7)) + 1)
    width = Fraction(float(f"{10 ** rng.uniform(-9, 9):.3g}"))
    first = Fraction(0) if low == 0 else Fraction(float(f"{rng.normal() * 10 ** rng.uniform(-6, 6):.3g}"))
    return (first, first + width) if high > first + width else (Fraction(0), Fraction(1, 2))


def _values(
    rng: np.random.Generator, model: Any, layout: Any, domain: Any, neighbors: str, scales: Any, n: int
) -> tuple[int, ...]:
    """Return totals that some table could have, plus as much noise as a reader lets pass; now and then the extremes."""
    cells = isinstance(model, ColumnModel)
    ranges = ((0, 1),) * len(layout.names) if cells else model.coordinate_ranges(domain, neighbors)
    wild, apart = rng.random() < 0.3, rng.dirichlet(np.ones(len(ranges)))
    values = []
    for (low, high), grid, scale, share in zip(ranges, layout.grid, scales, apart, strict=True):
        part = (
            Fraction(rng.random()) if wild else Fraction(float(share if cells else 0.2 + 0.6 * rng.random()))
        )
        part = Fraction(int(rng.integers(2))) if wild and rng.random() < 0.3 else part
        total = n * (low + (high - low) * part) / grid
        noise = scale / grid * Fraction(float(rng.uniform(-9, 9) if wild else rng.normal()))
        values.append(int(min(max(total + noise, -(2**63) + 1), 2**63 - 1)))
    return tuple(values)
