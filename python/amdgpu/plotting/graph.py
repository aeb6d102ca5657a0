"""The network as a picture: populations or layers, and the connections between them with their numbers of synapses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu.plotting.canvas import MISSING_COLOUR, PALETTE, check_ending, count_text, finish, new_figure, quantity

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

# Labels of more arrows than this run into each other; a table of who connects with whom stays readable.
ARROW_LIMIT = 14
BOX_LIMIT = 12
BOX_WIDTH, BOX_HEIGHT = 1.7, 0.8
BEND = 0.22
LABEL_GAP = 0.35
POSITIVE, NEGATIVE, MIXED = PALETTE[0], PALETTE[1], "#606060"


@dataclass(frozen=True)
class Node:
    """A box: `kind` is layer, population or source."""

    name: str
    size: int
    kind: str
    note: str


@dataclass(frozen=True)
class Edge:
    """An arrow: `synapses` is None where nobody knows; `sign` of the weights is 0 where it is mixed or unknown."""

    origin: str
    target: str
    synapses: int | None
    is_exact: bool
    sign: int
    note: str

    @property
    def count(self) -> str:
        """The number of synapses as text."""
        if self.synapses is None:
            return ""
        return ("" if self.is_exact else "≈ ") + count_text(self.synapses)


def nodes_and_edges(plan: dict[str, Any]) -> tuple[list[Node], list[Edge]]:
    """Boxes and arrows of a plan."""
    spiking = plan.get("spiking")
    if spiking is None:
        nodes = [
            Node(one["name"], one["size"], "layer", one["activation"]["kind"])
            for one in sorted(plan["layers"], key=lambda one: plan["order"].index(one["name"]))
        ]
        edges = [
            Edge(one["from"], one["to"], math.prod(one["shape"]), True, _sign(one["weight"]), one["weight"]["kind"])
            for one in plan["connections"]
        ]
        return nodes, edges
    nodes = [Node(one["name"], one["size"], "source", one["kind"]) for one in spiking["sources"]]
    edges = []
    for number, drive in enumerate(spiking["drives"]):
        name = f"drive {number + 1}"
        rate = drive.get("rate_hz")
        of_each = f"{drive['count']:g} x {quantity(rate, '')} Hz" if isinstance(rate, int | float) else ""
        nodes.append(Node(name, 0, "source", f"{drive['kind']} {of_each}".strip()))
        weight = drive.get("weight")
        sign = (weight > 0) - (weight < 0) if isinstance(weight, int | float) else 0
        edges.append(
            Edge(name, drive["population"], None, True, sign, drive.get("input") or drive.get("variable") or "")
        )
    for one in spiking["populations"]:
        nodes.append(Node(one["name"], one["size"], "population", spiking["groups"][one["group"]]["name"]))
    sizes = {node.name: node.size for node in nodes}
    for one in spiking["projections"]:
        probability = one["pattern"].get("probability")
        note = one["pattern"]["kind"].replace("_", " ") if probability is None else f"p = {probability:g}"
        count = synapse_count(one, sizes)
        edges.append(Edge(one["from"], one["to"], count, probability is None, _sign(weight_of(one)), note))
    return nodes, edges


def synapse_count(projection: dict[str, Any], sizes: Mapping[str, int]) -> int | None:
    """Synapses that a pattern makes, of `probability` the expected number; None where the plan does not tell."""
    origin, target = projection["from"], projection["to"]
    pairs = sizes[origin] * sizes[target]
    if origin == target and not projection["allow_autapses"]:
        pairs -= sizes[origin]
    pattern = projection["pattern"]
    count = pattern.get("count", 0)
    # Lists in files and arrays stand in the plan by their names.
    listed = [one for one in (pattern.get("sources"), pattern.get("targets")) if isinstance(one, list)]
    known = {
        "all_to_all": pairs,
        "probability": round(pattern.get("probability", 0) * pairs),
        "one_to_one": sizes[origin],
        "fixed_in": count * sizes[target],
        "fixed_out": count * sizes[origin],
        "fixed_total": count,
        "pairs": len(listed[0]) if listed else None,
    }
    return known.get(pattern["kind"])


def weight_of(projection: dict[str, Any]) -> dict[str, Any]:
    """Initial value of the weights, which learning synapses keep in their variable w."""
    for variable in projection["variables"]:
        if variable["name"] == "w":
            value: dict[str, Any] = variable["value"]
            return value
    weight: dict[str, Any] = projection["weight"]
    return weight


def weight_unit(projection: dict[str, Any], state_units: Mapping[str, str]) -> str:
    """Unit of a projection's weights, from `population.variable` to unit; nothing where they are plain numbers or nobody knows."""
    for variable in projection["variables"]:
        if variable["name"] == "w":
            return str(variable.get("unit", ""))
    return state_units.get(f"{projection['to']}.{projection['input']}", "")


def plot_graph(nodes: Sequence[Node], edges: Sequence[Edge], title: str, path: str | Path | None) -> Figure | None:
    """Boxes with arrows, or for large networks a table with the number of synapses from each row to each column."""
    check_ending(path)
    if len(edges) > ARROW_LIMIT or len(nodes) > BOX_LIMIT:
        return finish(_table(nodes, edges, title), path)
    places = _layout(nodes)
    width = max(x for x, _ in places.values()) + BOX_WIDTH + 1.6
    height = max(y for _, y in places.values()) - min(y for _, y in places.values()) + BOX_HEIGHT + 2.4
    drawing = new_figure(max(6.0, 0.95 * width), max(3.2, 0.9 * height))
    axis = drawing.subplots()
    axis.set_axis_off()
    axis.set_aspect("equal")
    merged = _merged(edges)
    pairs = {(edge.origin, edge.target) for edge in merged}
    order = {node.name: number for number, node in enumerate(nodes)}
    for edge in merged:
        # A way round for what comes back, and for what leaps over layers.
        leaps = nodes[0].kind == "layer" and order[edge.target] != order[edge.origin] + 1
        _draw_arrow(axis, edge, places, bend=BEND if leaps or (edge.target, edge.origin) in pairs else 0.0)
    for node in nodes:
        _draw_box(axis, node, places[node.name])
    low = min(y for _, y in places.values())
    axis.set_xlim(-BOX_WIDTH / 2 - 0.8, width - BOX_WIDTH / 2 - 0.8)
    axis.set_ylim(low - BOX_HEIGHT / 2 - 1.2, low + height - BOX_HEIGHT / 2 - 1.2)
    axis.set_title(title, loc="left")
    _legend(drawing, edges)
    return finish(drawing, path)


def _sign(value: dict[str, Any]) -> int:
    """Sign of all weights that an initial value gives, 0 where both occur or nobody knows."""
    limits = {
        "constant": ("value", "value"),
        "random": ("low", "high"),
        "clipped_normal": ("low", "high"),
        "normal": ("mean", "mean"),
    }.get(value["kind"])
    if limits is None:
        return 0
    low, high = (value[name] for name in limits)
    if value["kind"] == "normal" and abs(value["mean"]) < 2 * value["standard_deviation"]:
        return 0
    return 1 if low >= 0 < high else -1 if high <= 0 > low else 0


def _layout(nodes: Sequence[Node]) -> dict[str, tuple[float, float]]:
    """Layers in a row; sources in a column left of the populations, which stand on a circle."""
    if nodes and nodes[0].kind == "layer":
        return {node.name: (3.4 * number, 0.0) for number, node in enumerate(nodes)}
    sources = [node for node in nodes if node.kind == "source"]
    populations = [node for node in nodes if node.kind == "population"]
    places: dict[str, tuple[float, float]] = {}
    for number, node in enumerate(sources):
        places[node.name] = (0.0, 1.5 * ((len(sources) - 1) / 2 - number))
    radius = 0.0 if len(populations) < 2 else max(1.5, 2.6 * len(populations) / (2 * math.pi))
    middle = radius * 1.4 + (4.0 if sources else 0.0)
    for number, node in enumerate(populations):
        angle = math.pi - 2 * math.pi * number / max(len(populations), 1)
        places[node.name] = (middle + 1.4 * radius * math.cos(angle), radius * math.sin(angle))
    return places


def _merged(edges: Sequence[Edge]) -> list[Edge]:
    """Several connections between the same two as one arrow."""
    together: dict[tuple[str, str], list[Edge]] = {}
    for edge in edges:
        together.setdefault((edge.origin, edge.target), []).append(edge)
    result = []
    for (origin, target), group in together.items():
        signs = {edge.sign for edge in group}
        known = [edge.synapses for edge in group if edge.synapses is not None]
        notes = list(dict.fromkeys(edge.note for edge in group if edge.note))
        result.append(
            Edge(
                origin,
                target,
                sum(known) if known else None,
                all(edge.is_exact for edge in group),
                signs.pop() if len(signs) == 1 else 0,
                ", ".join(notes[:2]) + (" …" if len(notes) > 2 else ""),
            )
        )
    return result


def _colour(sign: int) -> str:
    return POSITIVE if sign > 0 else NEGATIVE if sign < 0 else MIXED


def _style(sign: int) -> str:
    """Negative weights end in a bar, so that the colour is not all that tells them apart."""
    return "|-|,widthA=0,widthB=0.45" if sign < 0 else "-|>"


def _draw_box(axis: Any, node: Node, place: tuple[float, float]) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = place
    face = "#FFF3D6" if node.kind == "source" else "#E3EFF8"
    box = FancyBboxPatch(
        (x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2),
        BOX_WIDTH,
        BOX_HEIGHT,
        boxstyle="round,pad=0,rounding_size=0.15",
        facecolor=face,
        edgecolor="0.25",
        linewidth=1.0,
        zorder=3,
    )
    axis.add_patch(box)
    words = node.name if len(node.name) <= 18 else node.name[:17] + "…"
    axis.text(x, y + 0.13, words, ha="center", va="center", fontsize=10, fontweight="bold", zorder=4)
    note = " · ".join(part for part in (f"{node.size}" if node.size else "", node.note) if part)
    axis.text(x, y - 0.2, note, ha="center", va="center", fontsize=7.5, color="0.3", zorder=4)


def _draw_arrow(axis: Any, edge: Edge, places: dict[str, tuple[float, float]], *, bend: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    label = "\n".join(part for part in (edge.count, edge.note) if part)
    (x0, y0), (x1, y1) = places[edge.origin], places[edge.target]
    text = {"ha": "center", "va": "center", "fontsize": 7.5, "color": _colour(edge.sign), "zorder": 5}
    common: dict[str, Any] = {
        "arrowstyle": _style(edge.sign),
        "mutation_scale": 13,
        "color": _colour(edge.sign),
        "linewidth": 1.4,
        "zorder": 2,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    if edge.origin == edge.target:
        outward = 1 if y0 >= -1e-9 else -1
        left, right = (x0 - 0.35, y0 + outward * BOX_HEIGHT / 2), (x0 + 0.35, y0 + outward * BOX_HEIGHT / 2)
        axis.add_patch(FancyArrowPatch(left, right, connectionstyle=f"arc3,rad={-1.3 * outward}", **common))
        axis.text(x0, y0 + outward * (BOX_HEIGHT / 2 + 0.75), label, **text)
        return
    start, end = _border((x0, y0), (x1, y1)), _border((x1, y1), (x0, y0))
    axis.add_patch(FancyArrowPatch(start, end, connectionstyle=f"arc3,rad={bend}", **common))
    # The control point of arc3 lies `bend` of the distance beside the middle; the curve goes half as far. Labels stand outside of it.
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    beside = bend / 2 + (LABEL_GAP / length if bend else 0.0)
    middle = ((start[0] + end[0]) / 2 + beside * dy, (start[1] + end[1]) / 2 - beside * dx)
    background = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
    axis.text(*middle, label, bbox=background, **text)


def _border(inside: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    """Where the line from the middle of a box leaves it."""
    dx, dy = towards[0] - inside[0], towards[1] - inside[1]
    reach = min(
        (BOX_WIDTH / 2 + 0.05) / abs(dx) if dx else math.inf, (BOX_HEIGHT / 2 + 0.05) / abs(dy) if dy else math.inf
    )
    return inside[0] + reach * dx, inside[1] + reach * dy


def _legend(drawing: Any, edges: Sequence[Edge]) -> None:
    from matplotlib.lines import Line2D

    words = {1: "weights ≥ 0", -1: "weights ≤ 0", 0: "weights of both signs, or unknown"}
    present = [sign for sign in (1, -1, 0) if any(edge.sign == sign for edge in edges)]
    lines = [Line2D([], [], color=_colour(sign), linewidth=2, label=words[sign]) for sign in present]
    if lines:
        drawing.legend(handles=lines, loc="outside lower center", ncols=len(lines), frameon=False, fontsize="small")


def _table(nodes: Sequence[Node], edges: Sequence[Edge], title: str) -> Figure:
    """Synapses from each row to each column; the colour is the sign of the weights."""
    import numpy as np

    merged = _merged(edges)
    # What only sends needs no column, what only receives no row.
    rows = [node for node in nodes if any(edge.origin == node.name for edge in merged)]
    columns = [node for node in nodes if any(edge.target == node.name for edge in merged)]
    row_of = {node.name: number for number, node in enumerate(rows)}
    column_of = {node.name: number for number, node in enumerate(columns)}
    drawing = new_figure(max(5.0, 2.4 + 0.85 * len(columns)), max(3.4, 1.8 + 0.42 * len(rows)))
    axis = drawing.subplots()
    from matplotlib.colors import to_rgb

    image = np.ones((len(rows), len(columns), 3))
    image[:] = to_rgb(MISSING_COLOUR)
    for edge in merged:
        place = row_of[edge.origin], column_of[edge.target]
        # Pale enough for black text.
        image[place] = 0.55 + 0.45 * np.array(to_rgb(_colour(edge.sign)))
        words = edge.count or edge.note
        axis.text(place[1], place[0], words, ha="center", va="center", fontsize=8)
    axis.imshow(image, aspect="auto")
    axis.set_xticks(range(len(columns)), [_named(node) for node in columns], rotation=45, ha="right")
    axis.set_yticks(range(len(rows)), [_named(node) for node in rows])
    axis.set_xlabel("to")
    axis.set_ylabel("from")
    axis.set_title(f"{title}: synapses", loc="left")
    axis.tick_params(length=0)
    _legend(drawing, merged)
    return drawing


def _named(node: Node) -> str:
    return f"{node.name} ({node.size})" if node.size else f"{node.name}: {node.note}"
