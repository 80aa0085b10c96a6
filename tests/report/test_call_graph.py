"""The graph of two chains: what is drawn, in which order, and how differences show."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from trustbed._core import CallAlphabet
from trustbed.calls.chains import chains_of
from trustbed.calls.edges import Edge, edges_of
from trustbed.calls.sequences import repetition
from trustbed.report.charts.call_graph import chosen, draw, standalone
from trustbed.report.charts.palette import DARK

SVG = "{http://www.w3.org/2000/svg}"
REQUEST = ["accept", "read", "write", "close"]
TWO_READS = ["accept", "read", "read", "write", "close"]


def edges(reference: list[str], candidate: list[str], order: int = 1) -> list[Edge]:
    alphabet = CallAlphabet()
    own, other = (
        chains_of([repetition("one", pa.array(calls), alphabet)], order=order)
        for calls in (reference, candidate)
    )
    return edges_of(own, other, alphabet)


def drawn(found: list[Edge], **options: int) -> ElementTree.Element:
    return ElementTree.fromstring(draw(found, reference="metal", candidate="guest", **options))


def texts(svg: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in svg.iter(f"{SVG}text")]


def test_states_follow_each_other_around_the_ellipse() -> None:
    shown = texts(drawn(edges(REQUEST * 50, REQUEST * 50)))
    states = [word for word in shown if word in REQUEST]
    start = states.index("accept")
    assert [*states[start:], *states[:start]] == REQUEST


def test_a_difference_has_a_colour_a_dash_and_a_number() -> None:
    svg = drawn(edges(REQUEST * 100, TWO_READS * 100))
    # By hand: read is left by (100/399 + 200/499)/2 of the transitions, half of them otherwise.
    assert {word for word in texts(svg) if re.match("[+−]", word)} == {"+163", "−163"}
    groups = {group.findtext(f"{SVG}title", ""): group for group in svg.iter(f"{SVG}g")}
    again = next(group for title, group in groups.items() if title.startswith("read → read:"))
    write = next(group for title, group in groups.items() if title.startswith("read → write:"))
    alike = next(group for title, group in groups.items() if title.startswith("write → close:"))
    paths = [group.find(f"{SVG}path") for group in (again, write, alike)]
    assert all(path is not None for path in paths)
    styles = [path.get("style", "") for path in paths if path is not None]
    assert ["silence" in styles[0], "data" in styles[1], "acknowledgement" in styles[2]] == [
        True,
        True,
        True,
    ]
    dashes = [path.get("stroke-dasharray") for path in paths if path is not None]
    assert [dash is not None for dash in dashes] == [False, True, False]


def test_testbeds_alike_have_no_numbers() -> None:
    svg = drawn(edges(REQUEST * 100, REQUEST * 100))
    assert not [word for word in texts(svg) if re.match("[+−]", word)]
    assert "of which the candidate prefers 0 and the reference 0" in svg.get("aria-label", "")


def test_the_largest_differences_are_drawn_although_others_are_more_frequent() -> None:
    rare = ["accept", "read", "stat", "write", "close"]
    found = edges(REQUEST * 100, REQUEST * 95 + rare * 5)
    assert {(edge.state, edge.call) for edge in chosen(found, 4)[:2]} == {
        (("read",), "stat"),
        (("read",), "write"),
    }
    assert len(chosen(found, 4)) == 4
    assert len(list(drawn(found, most=4).iter(f"{SVG}g"))) == 4


@pytest.mark.parametrize("order", [1, 2, 3])
def test_labels_do_not_cover_each_other(order: int) -> None:
    calls = [f"call{number}" for number in range(30)]
    svg = drawn(edges(calls * 5, calls * 5, order))
    labels = [one for one in svg.iter(f"{SVG}text") if (one.text or "").startswith("call")]
    assert len(labels) == 30
    for anchor in ("start", "end"):
        heights = sorted(
            float(one.get("y", "nan")) for one in labels if one.get("text-anchor") == anchor
        )
        gaps = [later - one for one, later in itertools.pairwise(heights)]
        assert min(gaps) >= 13


def test_a_file_of_its_own_knows_dark_mode() -> None:
    found = edges(REQUEST * 9, TWO_READS * 9)
    text = standalone(draw(found, reference="<metal> & co", candidate="guest"))
    svg = ElementTree.fromstring(text)
    assert "System calls of <metal> & co and guest" in svg.get("aria-label", "")
    style = svg.findtext(f"{SVG}style", "")
    assert "prefers-color-scheme: dark" in style
    assert DARK["silence"] in style


def test_no_edges_are_an_empty_graph() -> None:
    assert [one for one in texts(drawn([])) if one.startswith("call")] == []
