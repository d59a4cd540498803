"""Draw the picture of privacy losses in the documentation.

python scripts/make_loss_picture.py
"""

from __future__ import annotations

from pathlib import Path

from discreet.privacy import DiscreteGaussian, DiscreteLaplace
from discreet.privacy.loss import PrivacyLoss
from discreet.reporting import plot_privacy_loss

TARGET = Path(__file__).parents[1] / "docs" / "_static" / "privacy-loss.png"


def main(target: Path = TARGET) -> None:
    plot_privacy_loss(
        {
            "discrete Laplace": PrivacyLoss.of_noise(DiscreteLaplace(4.0), 4),
            "discrete Gaussian": PrivacyLoss.of_noise(DiscreteGaussian(8.0), 4),
            "randomized response": PrivacyLoss.of_randomized_response(1.0),
        },
        path=target,
        title="One changed record, three mechanisms",
        notes=[
            "epsilon = 1 for discrete Laplace and randomized response, rho = 1/8 for the discrete Gaussian"
        ],
    )


if __name__ == "__main__":
    main()
