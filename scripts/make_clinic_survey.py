"""Write the bundled clinic survey: synthetic patients, drawn with a fixed seed.

    python scripts/make_clinic_survey.py

No person is behind any line. The columns hang together the way they would in a real clinic: blood pressure rises with
age, smokers rate their health lower, poor health brings more visits. Some answers are blank, some are not answers, and
a few blood pressures were mistyped.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

SEED = 20240607
N_PATIENTS = 2500
TARGET = Path(__file__).parents[1] / "src" / "discreet" / "datasets" / "clinic_survey.csv"
HEALTH = ("excellent", "good", "fair", "poor")


def main() -> None:
    rng = np.random.default_rng(SEED)
    n = N_PATIENTS
    age = np.clip(np.where(rng.random(n) < 0.35, rng.normal(68, 9, n), rng.normal(43, 14, n)), 18, 95).round()
    female = rng.random(n) < 0.54
    smoker = rng.random(n) < _expit(-1.05 - 0.25 * female - 0.012 * (age - 50))
    # health is an ordered logit: a latent score cut at three points
    score = rng.logistic(0.035 * (age - 50) + 0.6 * smoker, 1.0)
    health = np.searchsorted([-1.6, 0.9, 2.7], score)
    pressure = rng.normal(118 + 0.42 * (age - 45) - 4 * female + 3 * smoker, 13).round()
    visits = rng.poisson(np.exp(0.35 + 0.28 * health + 0.006 * (age - 50)))
    waiting = rng.exponential(9.5, n).round(1)

    smoker_text = np.where(smoker, "yes", "no").astype(object)
    smoker_text[rng.random(n) < 0.055] = ""
    smoker_text[rng.random(n) < 0.008] = "prefer not to say"
    health_text = np.array(HEALTH, dtype=object)[health]
    health_text[rng.random(n) < 0.03] = ""
    pressure_text = np.array([f"{value:.0f}" for value in pressure], dtype=object)
    pressure_text[rng.random(n) < 0.04] = ""
    mistyped = rng.random(n) < 0.003
    pressure_text[mistyped] = [f"{value * 10:.0f}" for value in pressure[mistyped]]

    with open(TARGET, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            ["patient_id", "age", "sex", "smoker", "health", "systolic_bp", "visits", "waiting_days"]
        )
        for i in range(n):
            writer.writerow(
                [
                    f"P{i + 1:04d}",
                    f"{age[i]:.0f}",
                    "F" if female[i] else "M",
                    smoker_text[i],
                    health_text[i],
                    pressure_text[i],
                    int(visits[i]),
                    f"{waiting[i]:.1f}",
                ]
            )


def _expit(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


if __name__ == "__main__":
    main()
