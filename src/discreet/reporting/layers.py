"""Boxes of a graph in layers, children below their parents, with room for the lines that pass by.

After Sugiyama, Tagawa and Toda (1981): layers by the longest path, a narrow placeholder wherever a line crosses a
layer, and an order within layers that puts everything near what it is joined to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

# boxes side by side; a layer with more is broken into several
_MOST_ABREAST = 5
_SWEEPS = 8

Edge = tuple[str, str]
#: A box by its name, or the place where an edge crosses a layer.
Item = str | tuple[Edge, int]


@dataclass(frozen=True)
class Spacing:
    """Inches: between neighbors in a layer, between layers, and what a line takes that passes by."""

    beside: float = 0.35
    below: float = 0.55
    line: float = 0.2


@dataclass(frozen=True)
class Drawing:
    """Where everything is, in inches from the top left corner, downwards.

    Boxes are (left, top, width, height); a line is the points that it goes through.
    """

    width: float
    height: float
    boxes: dict[str, tuple[float, float, float, float]]
    lines: dict[Edge, list[tuple[float, float]]]


def lay_out(sizes: Mapping[str, tuple[float, float]], edges: Sequence[Edge], spacing: Spacing) -> Drawing:
    """Place boxes of these sizes (width, height); the graph must have no cycle."""
    layers, levels = _layered(list(sizes), edges)
    chains: dict[Edge, list[Item]] = {}
    for edge in edges:
        crossed = range(levels[edge[0]] + 1, levels[edge[1]])
        for level in crossed:
            layers[level].append((edge, level))
        chains[edge] = [edge[0], *((edge, level) for level in crossed), edge[1]]
    _order(layers, [pair for chain in chains.values() for pair in pairwise(chain)])

    def wide(item: Item) -> float:
        return sizes[item][0] if isinstance(item, str) else spacing.line

    widths = [sum(map(wide, layer)) + spacing.beside * (len(layer) - 1) for layer in layers]
    width, top = max(widths), 0.0
    boxes: dict[str, tuple[float, float, float, float]] = {}
    crossings: dict[Item, tuple[float, float, float]] = {}
    bottoms: dict[str, float] = {}
    for layer, used in zip(layers, widths, strict=True):
        left, height = (width - used) / 2, max(sizes[i][1] for i in layer if isinstance(i, str))
        for item in layer:
            if isinstance(item, str):
                boxes[item] = (left, top, *sizes[item])
                bottoms[item] = top + height
            else:
                crossings[item] = (left + spacing.line / 2, top, top + height)
            left += wide(item) + spacing.beside
        top += height + spacing.below
    starts, ends = _ports(boxes, chains, crossings)
    lines = {}
    for edge, chain in chains.items():
        inner = [(x, y) for item in chain[1:-1] for x, *ys in [crossings[item]] for y in ys]
        # down to where the layer ends, so as not to run into a taller neighbor
        lines[edge] = [starts[edge], (starts[edge][0], bottoms[edge[0]]), *inner, ends[edge]]
    return Drawing(width, top - spacing.below, boxes, lines)


def _layered(names: list[str], edges: Sequence[Edge]) -> tuple[list[list[Item]], dict[str, int]]:
    """Return the boxes of each layer and the layer of each box: below all its parents."""
    depth = dict.fromkeys(names, 0)
    for _ in names:
        for parent, child in edges:
            depth[child] = max(depth[child], depth[parent] + 1)
    layers: list[list[Item]] = []
    for level in range(max(depth.values()) + 1):
        mine: list[Item] = [name for name in names if depth[name] == level]
        # as evenly as possible
        rows = -(-len(mine) // _MOST_ABREAST)
        step = -(-len(mine) // rows)
        layers += [mine[start : start + step] for start in range(0, len(mine), step)]
    return layers, {name: at for at, layer in enumerate(layers) for name in layer if isinstance(name, str)}


def _order(layers: list[list[Item]], joined: Sequence[tuple[Item, Item]]) -> None:
    """Sort every layer by where its neighbors above, and then below, are; back and forth."""
    above: dict[Item, list[Item]] = {}
    below: dict[Item, list[Item]] = {}
    for upper, lower in joined:
        above.setdefault(lower, []).append(upper)
        below.setdefault(upper, []).append(lower)
    for sweep in range(_SWEEPS):
        towards = above if sweep % 2 == 0 else below
        place = {item: (at + 0.5) / len(layer) for layer in layers for at, item in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            middles = {
                item: sum(place[one] for one in towards.get(item, [item])) / len(towards.get(item, [item]))
                for item in layer
            }
            layer.sort(key=middles.__getitem__)
            place |= {item: (at + 0.5) / len(layer) for at, item in enumerate(layer)}


def _ports(
    boxes: Mapping[str, tuple[float, float, float, float]],
    chains: Mapping[Edge, list[Item]],
    crossings: Mapping[Item, tuple[float, float, float]],
) -> tuple[dict[Edge, tuple[float, float]], dict[Edge, tuple[float, float]]]:
    """Return where each line leaves its parent and enters its child: side by side, in the order they come from."""

    def middle(item: Item) -> float:
        return boxes[item][0] + boxes[item][2] / 2 if isinstance(item, str) else crossings[item][0]

    starts, ends = {}, {}
    for name, (left, top, width, height) in boxes.items():
        for mine, out, y, at in (
            ([e for e in chains if e[0] == name], starts, top + height, 1),
            ([e for e in chains if e[1] == name], ends, top, -2),
        ):
            for place, edge in enumerate(sorted(mine, key=lambda edge, at=at: middle(chains[edge][at]))):
                share = 0.5 + 0.5 * ((place + 0.5) / len(mine) - 0.5)
                out[edge] = (left + width * share, y)
    return starts, ends
