"""Pay once or pay per update: held-out likelihood of one mixture, learned in several ways for the same epsilon."""

from __future__ import annotations

import numpy as np
from common.claim import Claim, Panel

from .mixture import (
    DELTA,
    OneSample,
    independent_columns,
    noisy_statistics,
    one_sample_temperature,
    prior,
    private_gibbs,
    simulate,
    sweeps_temperature,
    without_privacy,
)

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
RECORDS = (250, 1000, 4000, 16_000)
#: How many sweeps private Gibbs takes: few, and as many as a chain needs, the latter with delta as well.
FEW, MANY = 5, 30
METHODS = ("noisy", "aware", "ops", "few", "many", "delta", "free")


def methods(counts: np.ndarray, epsilon: float, ops: float, rng: np.random.Generator) -> list[float]:
    """Return the held-out likelihood of every method for one table, in the order of :data:`METHODS`."""
    return [
        noisy_statistics(counts, str(epsilon), "naive", rng),
        noisy_statistics(counts, str(epsilon), "gibbs", rng),
        ops,
        private_gibbs(counts, str(epsilon), FEW, None, rng),
        private_gibbs(counts, str(epsilon), MANY, None, rng),
        private_gibbs(counts, str(epsilon), MANY, DELTA, rng),
        without_privacy(counts, rng),
    ]


def _beats(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return by how many standard errors a exceeds b, pair by pair; rows are settings, columns tables."""
    difference = a - b
    if difference.shape[1] == 1:
        return np.full(len(a), np.nan)
    error = difference.std(axis=1, ddof=1) / np.sqrt(difference.shape[1])
    return difference.mean(axis=1) / np.maximum(error, 1e-12)


def _run(settings: list[tuple[int, float]], repeats: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Run every method for every (records, epsilon), on ``repeats`` tables each."""
    tables = np.array([[simulate(n, rng) for _ in range(repeats)] for n, _ in settings])
    temperatures = np.repeat([one_sample_temperature(epsilon) for _, epsilon in settings], repeats)
    flat = tables.reshape(-1, tables.shape[-1])
    ops = OneSample().held_out(flat, temperatures, rng).reshape(len(settings), repeats)
    found = np.array(
        [
            [methods(tables[i, r], epsilon, ops[i, r], rng) for r in range(repeats)]
            for i, (_, epsilon) in enumerate(settings)
        ]
    )
    return {name: found[:, :, at] for at, name in enumerate(METHODS)}


def by_epsilon(
    rng: np.random.Generator, repeats: int, n: int = 2000, epsilons: tuple[float, ...] = EPSILONS
) -> Panel:
    """Vary epsilon at one number of records."""
    found = _run([(n, epsilon) for epsilon in epsilons], repeats, rng)
    free = float(found.pop("free").mean())
    alone, flat = independent_columns(), prior(rng)
    paid = np.maximum.reduce([found["few"].mean(axis=1), found["many"].mean(axis=1)])
    per_update = {name: _beats(found["noisy"], found[name]) for name in ("few", "many", "delta")}
    least = min(float((found["noisy"] - found[name]).mean(axis=1).min()) for name in per_update)
    once = _beats(found["noisy"], found["ops"])
    return Panel(
        "by epsilon",
        {
            "epsilon": epsilons,
            **{name: values.mean(axis=1) for name, values in found.items()},
            "free": free,
            "alone": alone,
            "prior": flat,
        },
        [
            Claim(
                "section 4.2",
                "pay once beats pay per update: noisy statistics predict better than private Gibbs at every epsilon, "
                "however many sweeps, with or without delta",
                least > 0.1,
                f"at least {least:.2f} nats per record better; least ratio of a difference to its standard error "
                f"{min(float(z.min()) for z in per_update.values()):.1f}",
            ),
            Claim(
                "section 4.1",
                "one posterior sample beats private Gibbs at equal epsilon: updates share a budget that one draw has "
                "to itself (the draw of a chain, if only its mixing could be proven)",
                bool((found["ops"].mean(axis=1) > paid).all()),
                f"by {np.min(found['ops'].mean(axis=1) - paid):.2f} to {np.max(found['ops'].mean(axis=1) - paid):.2f}",
            ),
            Claim(
                "section 5",
                "with many records per parameter noisy statistics beat one posterior sample too",
                bool((found["noisy"].mean(axis=1) > found["ops"].mean(axis=1)).all()),
                f"ratios of the difference to its standard error {', '.join(f'{z:.1f}' for z in once)}",
            ),
            Claim(
                "section 4.1",
                "private Gibbs does not find the components at any of these epsilons: a single one, which needs no "
                "assignments, predicts as well or better",
                bool((paid < alone + 0.01).all()),
                f"best {float(paid.max()):.3f}, independent columns {alone:.3f}, without privacy {free:.3f}",
            ),
        ],
    )


def by_records(rng: np.random.Generator, repeats: int, epsilon: float = 1.0) -> Panel:
    """Vary the number of records at one epsilon."""
    found = _run([(n, epsilon) for n in RECORDS], repeats, rng)
    gaps = {name: (found["free"] - values).mean(axis=1) for name, values in found.items()}
    return Panel(
        "by records",
        {"n": RECORDS, **{name: values.mean(axis=1) for name, values in found.items()}},
        [
            Claim(
                "section 4.2",
                "what the noise costs vanishes as records are added",
                gaps["noisy"][-1] < 0.01 and gaps["noisy"][-1] < gaps["noisy"][0] / 4,
                f"gap to no privacy {gaps['noisy'][0]:.3f} at n = {RECORDS[0]}, "
                f"{gaps['noisy'][-1]:.4f} at {RECORDS[-1]}",
            ),
            Claim(
                "section 4.1",
                "what tempering every assignment costs does not: it depends on epsilon and the sweeps, not on the "
                "table",
                min(gaps[name][-1] for name in ("few", "many", "delta")) > 0.2,
                f"gaps at n = {RECORDS[-1]}: "
                + ", ".join(f"{name} {gaps[name][-1]:.2f}" for name in ("few", "many", "delta")),
            ),
        ],
    )


def temperatures(epsilon: float = 1.0) -> Panel:
    """Compute what more sweeps cost."""
    steps = np.array([1, 3, 10, 30, 100, 300, 1000])
    pure = [sweeps_temperature(epsilon, int(s), None) for s in steps]
    approx = [sweeps_temperature(epsilon, int(s), DELTA) for s in steps]
    growth = np.log(pure[-1] / pure[0]) / np.log(1000), np.log(approx[-1] / approx[-3]) / np.log(10)
    return Panel(
        "temperatures",
        {"steps": steps, "pure": pure, "approx": approx, "ops": one_sample_temperature(epsilon)},
        [
            Claim(
                "equation 19",
                "the temperature grows with the number of sweeps; added up through Rényi divergences, with its root",
                abs(growth[0] - 1) < 1e-3 and abs(growth[1] - 0.5) < 0.01,
                f"exponents {growth[0]:.3f} and {growth[1]:.3f}; at 1000 sweeps {pure[-1]:.0f} and {approx[-1]:.0f}",
            )
        ],
    )
