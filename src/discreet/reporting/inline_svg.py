"""Pictures drawn as SVG text for a page of its own: their colors follow the reader's light or dark theme."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from discreet.reporting.density import has_curve, smooth_density, support_of

_WIDE, _HIGH, _SIDE, _FOOT = 720, 240, 16, 30
_ROW, _NAMES, _NUMBERS = 26, 190, 170
_TICKS = 5
_LEFT = 64


@dataclass(frozen=True)
class Axis:
    """A horizontal axis: values from ``first`` to ``last`` on ``wide`` pixels from ``left`` on."""

    first: float
    last: float
    left: float = _SIDE
    wide: float = _WIDE - 2 * _SIDE

    def at(self, value: float) -> float:
        """Return where a value stands."""
        return self.left + (value - self.first) / (self.last - self.first) * self.wide

    def ticks(self, shown: Callable[[float], str], height: float) -> list[str]:
        """Return lines and labels at round values."""
        from matplotlib.ticker import MaxNLocator

        places = [
            tick
            for tick in MaxNLocator(_TICKS).tick_values(self.first, self.last)
            if self.first <= tick <= self.last
        ]
        return [
            f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{height:.0f}"/>'
            f'<text class="quiet" x="{x:.1f}" y="{height + 18:.0f}" text-anchor="middle">{escape(shown(t))}</text>'
            for t, x in ((t, self.at(t)) for t in places)
        ]


def density_svg(
    name: str,
    readings: Mapping[str, np.ndarray],
    interval: tuple[float, float],
    identity: str,
    shown: Callable[[float], str],
    words: str,
) -> tuple[str, Axis] | None:
    """Draw the densities of one parameter: noise-aware with its interval, and the naive one; None without a curve."""
    curves = {
        kind: smooth_density(draws, support_of(name)) for kind, draws in readings.items() if has_curve(draws)
    }
    if "aware" not in curves:
        return None
    first, last = curves["aware"][0][[0, -1]]
    if "naive" in curves:
        # a narrow naive density must not be cut off, nor may a far one squeeze the other
        reach = 0.35 * (last - first)
        first = max(min(first, curves["naive"][0][0]), first - reach)
        last = min(max(last, curves["naive"][0][-1]), last + reach)
    axis = Axis(float(first), float(last))
    floor = _HIGH - _FOOT
    # a naive density that is far too narrow is cut off above, or nothing could be seen of the other
    top = min(
        max(float(density.max()) for _, density in curves.values()), 4 * float(curves["aware"][1].max())
    )
    low, high = (min(max(end, axis.first), axis.last) for end in interval)
    parts = [
        *axis.ticks(shown, floor),
        f'<rect class="aware fill" data-band="{identity}" x="{axis.at(low):.1f}" y="14" '
        f'width="{axis.at(high) - axis.at(low):.1f}" height="{floor - 14}"/>',
    ]
    for kind, (x, y) in curves.items():
        inside = (x >= axis.first) & (x <= axis.last)
        points = " ".join(
            f"{axis.at(a):.1f},{floor - min(b / top, 1.0) * (floor - 22):.1f}"
            for a, b in zip(x[inside], y[inside], strict=True)
        )
        parts.append(f'<polyline class="{kind}" fill="none" stroke-width="2.2" points="{points}"/>')
    parts.append(f'<text class="name aware" x="{_SIDE}" y="20">noise-aware</text>')
    if "naive" in curves:
        parts.append(f'<text class="name naive" x="{_SIDE}" y="46">naive</text>')
    parts.append(f'<text class="hover" x="{_WIDE - _SIDE}" y="20" text-anchor="end"></text>')
    return _svg(parts, _HIGH, words, f'data-picture="{identity}"'), axis


def forest_svg(
    rows: Sequence[tuple[str, float, float, float, str]], shown: Callable[[float], str], words: str
) -> str:
    """Draw a row for each group: its name, its median, its interval, and the interval in numbers."""
    first, last = min(row[2] for row in rows), max(row[3] for row in rows)
    room = 0.04 * (last - first) or 1.0
    axis = Axis(first - room, last + room, _NAMES, _WIDE - _NAMES - _NUMBERS)
    floor = 14 + _ROW * len(rows)
    parts = axis.ticks(shown, floor)
    for k, (name, middle, low, high, numbers) in enumerate(rows):
        y = 14 + _ROW * (k + 0.5)
        cut = name if len(name) <= 26 else name[:25] + "\N{HORIZONTAL ELLIPSIS}"
        parts.append(
            f'<text x="{_NAMES - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(cut)}</text>'
            f'<line class="aware" stroke-width="2.2" x1="{axis.at(low):.1f}" x2="{axis.at(high):.1f}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<circle class="aware" r="4" fill="currentColor" cx="{axis.at(middle):.1f}" cy="{y:.1f}"/>'
            f'<text class="quiet" x="{_WIDE - 4}" y="{y + 4:.1f}" text-anchor="end">{escape(numbers)}</text>'
        )
    return _svg(parts, floor + _FOOT, words)


def _svg(parts: Sequence[str], height: float, words: str, more: str = "") -> str:
    return (
        f'<svg viewBox="0 0 {_WIDE} {height:.0f}" role="img" aria-label="{escape(words)}" {more}>'
        f"{''.join(parts)}</svg>"
    )


def curves_svg(
    lines: Sequence[tuple[str, Sequence[float], Sequence[float], float]], at: float, words: str
) -> str:
    """Draw what a budget buys: a line for each question, falling from 1 to its floor, and where each stands now.

    Each of ``lines`` is a name, budgets, widths as shares of what they are without data, and the share at ``at``.
    """
    first, last = min(min(xs) for _, xs, _, _ in lines), max(max(xs) for _, xs, _, _ in lines)
    first, last = min(first, at), max(last, at)
    low, high, floor = float(np.log10(first)), float(np.log10(last)), _HIGH - _FOOT
    axis = Axis(low, high, _LEFT, _WIDE - _LEFT - _SIDE)
    powers = [10.0**k * m for k in range(int(np.floor(low)) - 1, int(np.ceil(high)) + 1) for m in (1, 3)]
    parts = []
    for power in powers:
        if first <= power <= last:
            x = axis.at(float(np.log10(power)))
            parts.append(
                f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{floor}"/>'
                f'<text class="quiet" x="{x:.1f}" y="{floor + 18}" text-anchor="middle">{power:g}</text>'
            )
    for share in (0.0, 0.5, 1.0):
        y = floor - share * (floor - 22)
        parts.append(
            f'<line class="rule" x1="{_LEFT}" x2="{_WIDE - _SIDE}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="quiet" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{100 * share:.0f}%</text>'
        )
    here = axis.at(float(np.log10(at)))
    parts.append(f'<line class="here" x1="{here:.1f}" x2="{here:.1f}" y1="8" y2="{floor}"/>')
    for k, (_, xs, ys, now) in enumerate(lines):
        points = " ".join(
            f"{axis.at(float(np.log10(x))):.1f},{floor - min(y, 1.0) * (floor - 22):.1f}"
            for x, y in zip(xs, ys, strict=True)
        )
        y = floor - min(now, 1.0) * (floor - 22)
        parts.append(
            f'<polyline class="line-{k % 6}" fill="none" stroke-width="2.2" points="{points}"/>'
            f'<circle class="dot-{k % 6}" r="6" cx="{here:.1f}" cy="{y:.1f}"/>'
        )
    return _svg(parts, _HIGH, words)
