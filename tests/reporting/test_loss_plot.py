"""The picture of a privacy loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.privacy import DiscreteGaussian
from discreet.privacy.loss import PrivacyLoss
from discreet.reporting import plot_privacy_loss
from tests.reporting.test_plots import texts


def test_both_panels_show_the_numbers(tmp_path: Path) -> None:
    coin, noise = PrivacyLoss.of_randomized_response(1.0), PrivacyLoss.of_noise(DiscreteGaussian(2.0))
    figure = plot_privacy_loss(
        {"coin": coin, "noise": noise}, path=tmp_path / "loss.png", title="Losses", notes=["two mechanisms"]
    )
    left, right = figure.axes
    steps, curve = (axes.lines[0].get_xydata() for axes in (left, right))
    assert steps[:, 1] == pytest.approx([0, 1 / (1 + np.e), 1, 1])  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue]
    assert curve[:, 1] == pytest.approx(coin.delta(curve[:, 0]))  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue]
    assert right.get_yscale() == "log"
    for words in ("coin", "noise", "Losses", "two mechanisms", "least delta"):
        assert words in texts(figure)
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_the_documentation_can_be_drawn(tmp_path: Path) -> None:
    from scripts import make_loss_picture

    make_loss_picture.main(tmp_path / "loss.png")
    assert make_loss_picture.TARGET.exists()
    assert (tmp_path / "loss.png").stat().st_size > 10_000


def test_there_must_be_a_loss() -> None:
    with pytest.raises(UsageError, match="at least one"):
        plot_privacy_loss({})
