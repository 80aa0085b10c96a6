"""The chains of two testbeds as one graph: heaviest transitions, and where the testbeds differ.

Plain SVG without a script. States are on an ellipse, in the order in which they mostly follow each
other, clockwise from the top, so that a request reads around it. A line is as wide as its
transition is frequent (the larger of both shares). Colour, dashes and a signed number say where the
candidate leaves a state by another call than the reference (``Edge.shift``); a state that is merely
rarer, since the candidate makes more of other calls, does not count as a difference.

The colours are the custom properties of the page, with those of light paper to fall back on;
:func:`standalone` brings those of dark mode along.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from trustbed.calls.edges import Edge
from trustbed.report.charts.palette import DARK, LIGHT, style_sheet

MOST_EDGES = 36
"""Transitions that are drawn, at most."""
CLEAR = 0.002
"""A shift that is drawn as a difference: 2 of 1000 calls."""
_ACROSS = 250.0
_DOWN = 190.0
"""Half axes of the ellipse."""
_ABOVE = 62.0
"""Room for labels above and below it."""
_LINE = 14.0
"""Between the baselines of labels."""
_NODE = 5.0
_CHARACTER = 6.9
"""Width of a character of labels, generously."""
_LOOP = 15.0
_WIDEST = 8.0
_AT = 0.38
"""Where on a line its number is: off the middle, where lines cross."""
_INK = "var(--ink, #1b1f24)"
_PAPER = "var(--paper, #ffffff)"
_ROLES = {"same": "acknowledgement", "more": "silence", "less": "data"}
_DASHES = {"same": "", "more": "", "less": "7 4"}

State = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Point:
    x: float
    y: float

    def towards(self, other: _Point, distance: float) -> _Point:
        """The point at that distance from here on the way to another."""
        length = math.hypot(other.x - self.x, other.y - self.y) or 1.0
        share = distance / length
        return _Point(self.x + share * (other.x - self.x), self.y + share * (other.y - self.y))

    def __str__(self) -> str:
        return f"{self.x:.1f} {self.y:.1f}"


_CENTRE = _Point(0.0, 0.0)


def draw(edges: Sequence[Edge], *, reference: str, candidate: str, most: int = MOST_EDGES) -> str:
    """The graph of the most frequent transitions, and of those that differ most.

    Args:
        edges: Those of :func:`trustbed.calls.edges.edges_of`.
        reference: Name of the reference.
        candidate: Name of the candidate.
        most: How many transitions are drawn; half of them are those with the largest difference.
    """
    drawn = chosen(edges, most)
    points = _places(_around(drawn))
    loops = {edge.state for edge in drawn if edge.state == edge.target}
    labels = _labels(points, loops)
    widest = max((len(label.text) for label in labels.values()), default=0)
    width = 2 * (_ACROSS + 44 + _CHARACTER * widest)
    top = -_DOWN - _ABOVE
    height = 2 * (_DOWN + _ABOVE) + 46
    about = f"System calls of {reference} and {candidate}"
    lines = sorted(drawn, key=lambda edge: (_kind(edge) != "same", edge.share))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="call-graph" role="img" '
        f'viewBox="{-width / 2:.0f} {top:.0f} {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" style="max-width: 100%; height: auto" '
        f'aria-label="{escape(about)}: {_summary(drawn)}" font-size="12" '
        f'font-family="system-ui, sans-serif">',
        *(_line(edge, points) for edge in lines),
        *(_node(point, labels[state]) for state, point in points.items()),
        *(_number(edge, points) for edge in lines if _kind(edge) != "same"),
        _legend(reference, candidate, _DOWN + _ABOVE + 8),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def standalone(drawing: str) -> str:
    """The same as a file of its own, with the colours of light and of dark mode."""
    paper = {"light": ("#ffffff", "#1b1f24"), "dark": ("#14181d", "#e6eaee")}

    def rule(mode: str, colours: Mapping[str, str]) -> str:
        own = f"--paper: {paper[mode][0]}; --ink: {paper[mode][1]}; background: {paper[mode][0]};"
        return f"svg {{ {own} {style_sheet(colours)} }}"

    style = (
        f"<style>{rule('light', LIGHT)} "
        f"@media (prefers-color-scheme: dark) {{ {rule('dark', DARK)} }}</style>"
    )
    head, body = drawing.split("\n", 1)
    return f"{head}\n{style}\n{body}"


def chosen(edges: Sequence[Edge], most: int) -> list[Edge]:
    """The edges that are drawn: those that differ most, then the most frequent ones."""
    clear = [edge for edge in edges if _kind(edge) != "same"]
    ranked = sorted(clear, key=lambda edge: (-abs(edge.shift), edge.state, edge.call))
    first = ranked[: most // 2]
    rest = sorted(
        (edge for edge in edges if edge not in first),
        key=lambda edge: (-edge.share, edge.state, edge.call),
    )
    return [*first, *rest[: most - len(first)]]


def _kind(edge: Edge) -> str:
    if abs(edge.shift) < CLEAR:
        return "same"
    return "more" if edge.shift > 0 else "less"


def _around(edges: Sequence[Edge]) -> list[State]:
    """States in the order of a walk that takes the most frequent transition to a new state."""
    out: dict[State, list[Edge]] = {}
    for edge in sorted(edges, key=lambda one: (-one.share, one.state, one.call)):
        out.setdefault(edge.state, []).append(edge)
        out.setdefault(edge.target, [])
    weight = {state: sum(edge.share for edge in leaving) for state, leaving in out.items()}
    left = sorted(out, key=lambda state: (-weight[state], state))
    order: list[State] = []
    while left:
        state = left[0]
        while True:
            order.append(state)
            left.remove(state)
            following = [edge.target for edge in out[state] if edge.target in left]
            if not following:
                break
            state = following[0]
    return order


def _places(order: Sequence[State]) -> dict[State, _Point]:
    step = 2 * math.pi / max(len(order), 1)
    return {
        state: _Point(_ACROSS * math.sin(index * step), -_DOWN * math.cos(index * step))
        for index, state in enumerate(order)
    }


def _width(edge: Edge) -> float:
    return 1.0 + (_WIDEST - 1.0) * math.sqrt(min(edge.share / 0.25, 1.0))


def _bend(start: _Point, end: _Point) -> _Point:
    """The control point of a curve: towards the centre, and to the right of its direction.

    Hence the two directions between two states are apart.
    """
    middle = _Point((start.x + end.x) / 2, (start.y + end.y) / 2)
    length = math.hypot(end.x - start.x, end.y - start.y) or 1.0
    right = _Point(-(end.y - start.y) / length, (end.x - start.x) / length)
    pull = 0.4 * min(length / (2 * _DOWN), 1.0)
    aside = 0.1 * length
    return _Point((1 - pull) * middle.x + aside * right.x, (1 - pull) * middle.y + aside * right.y)


def _line(edge: Edge, points: Mapping[State, _Point]) -> str:
    kind = _kind(edge)
    colour = f"var(--chart-{_ROLES[kind]}, {LIGHT[_ROLES[kind]]})"
    width = _width(edge)
    start, end = points[edge.state], points[edge.target]
    if edge.state == edge.target:
        centre = _loop_centre(start)
        path = _circle(centre, _LOOP)
        head = ""
    else:
        control = _bend(start, end)
        length = 6.0 + 1.4 * width
        tip = end.towards(control, _NODE + 2)
        neck = tip.towards(control, length)
        path = f"M{start.towards(control, _NODE)} Q{control} {neck}"
        head = _head(tip, neck, 2.5 + 0.75 * width, colour)
    dash = f' stroke-dasharray="{_DASHES[kind]}"' if _DASHES[kind] else ""
    opacity = 0.5 if kind == "same" else 0.9
    return (
        f'<g opacity="{opacity}"><title>{escape(_sentence(edge))}</title>'
        f'<path d="{path}" fill="none" style="stroke: {colour}" '
        f'stroke-width="{width:.1f}"{dash}/>{head}</g>'
    )


def _loop_centre(point: _Point) -> _Point:
    return point.towards(_CENTRE, -_LOOP - 2)


def _circle(centre: _Point, radius: float) -> str:
    left, right = _Point(centre.x - radius, centre.y), _Point(centre.x + radius, centre.y)
    arc = f"A{radius:.0f} {radius:.0f} 0 1 1"
    return f"M{left} {arc} {right} {arc} {left}"


def _head(tip: _Point, neck: _Point, half: float, colour: str) -> str:
    length = math.hypot(tip.x - neck.x, tip.y - neck.y) or 1.0
    across = _Point(-(tip.y - neck.y) / length * half, (tip.x - neck.x) / length * half)
    one = _Point(neck.x + across.x, neck.y + across.y)
    other = _Point(neck.x - across.x, neck.y - across.y)
    return f'<path d="M{tip} L{one} L{other}Z" style="fill: {colour}"/>'


@dataclass(frozen=True, slots=True)
class _Label:
    text: str
    at: _Point
    anchor: str


def _labels(points: Mapping[State, _Point], loops: set[State]) -> dict[State, _Label]:
    """Labels outside the ellipse, on each side far enough below each other to be read."""
    found = {}
    for right in (True, False):
        for up in (True, False):
            # From the equator to the pole: the nearer to the pole, the farther outside.
            quarter = [
                state
                for state, point in points.items()
                if (point.x > -1) == right and (point.y < 0) == up
            ]
            quarter.sort(key=lambda state: abs(points[state].y))
            last = -math.inf
            for state in quarter:
                away = points[state].towards(
                    _CENTRE, -(11.0 + (2 * _LOOP + 4 if state in loops else 0))
                )
                last = max(abs(away.y), last + _LINE)
                at = _Point(away.x, (-last if up else last) + 4)
                found[state] = _Label(" · ".join(state), at, "start" if right else "end")
    return found


def _node(point: _Point, label: _Label) -> str:
    return (
        f'<circle cx="{point.x:.1f}" cy="{point.y:.1f}" r="{_NODE}" style="fill: {_INK}"/>'
        f'<text x="{label.at.x:.1f}" y="{label.at.y:.1f}" text-anchor="{label.anchor}" '
        f'style="fill: {_INK}">{escape(label.text)}</text>'
    )


def _number(edge: Edge, points: Mapping[State, _Point]) -> str:
    """How many of 1000 calls the candidate shifts here, on the line and nearer to its start."""
    start, end = points[edge.state], points[edge.target]
    if edge.state == edge.target:
        at = _loop_centre(start)
    else:
        control = _bend(start, end)
        one, two, three = (1 - _AT) ** 2, 2 * _AT * (1 - _AT), _AT**2
        at = _Point(
            one * start.x + two * control.x + three * end.x,
            one * start.y + two * control.y + three * end.y,
        )
    return (
        f'<text x="{at.x:.1f}" y="{at.y + 4:.1f}" text-anchor="middle" font-size="11" '
        f'font-weight="600" paint-order="stroke" stroke-width="4" stroke-linejoin="round" '
        f'style="fill: {_INK}; stroke: {_PAPER}">{_signed(edge.shift)}</text>'
    )


def _signed(share: float) -> str:
    per_thousand = 1000 * share
    digits = 0 if abs(per_thousand) >= 10 else 1
    return f"{per_thousand:+.{digits}f}".replace("-", "−")


def _sentence(edge: Edge) -> str:
    return (
        f"{' · '.join(edge.state)} → {edge.call}: {1000 * edge.reference_share:.3g} of 1000 calls "
        f"in the reference, {1000 * edge.candidate_share:.3g} in the candidate; weight "
        f"{edge.reference_weight:.3g} and {edge.candidate_weight:.3g}"
    )


def _summary(edges: Sequence[Edge]) -> str:
    kinds = [_kind(edge) for edge in edges]
    return (
        f"{len(edges)} transitions, of which the candidate prefers {kinds.count('more')} and the "
        f"reference {kinds.count('less')}"
    )


def _legend(reference: str, candidate: str, top: float) -> str:
    words = {
        "more": f"rather in {candidate}",
        "less": f"rather in {reference}",
        "same": "alike",
    }
    widths = {kind: 46 + _CHARACTER * len(text) for kind, text in words.items()}
    left = -sum(widths.values()) / 2
    parts = []
    for kind, text in words.items():
        colour = f"var(--chart-{_ROLES[kind]}, {LIGHT[_ROLES[kind]]})"
        dash = f' stroke-dasharray="{_DASHES[kind]}"' if _DASHES[kind] else ""
        parts.append(
            f'<path d="M{left:.0f} {top:.0f}h26" fill="none" style="stroke: {colour}" '
            f'stroke-width="4"{dash}/><text x="{left + 31:.0f}" y="{top + 4:.0f}" '
            f'style="fill: {_INK}">{escape(text)}</text>'
        )
        left += widths[kind]
    note = "numbers: how many of 1000 calls leave a state by this call only in the candidate"
    parts.append(
        f'<text x="0" y="{top + 21:.0f}" text-anchor="middle" font-size="11" '
        f'style="fill: {_INK}">{note}</text>'
    )
    return "\n".join(parts)
