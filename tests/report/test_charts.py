"""The charts.

Valid Vega-Lite for every series, themeless, the same definition for every transfer, and drawn from
the right numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import vl_convert

from trustbed.report.charts import drawing, palette
from trustbed.report.transfer import charts
from trustbed.report.transfer.charts.sequence import ALLOWED, SILENCE

Make = Callable[..., dict[str, Any]]

NOTHING: dict[str, Any] = {"start_ns": 0, "duration_seconds": 1.0}

OVER_TIME = {
    "time_sequence": lambda series: charts.time_sequence(series, allowed_bytes_per_second=3e6),
    "round_trip": lambda series: charts.round_trip(series, base_seconds=0.02),
    "round_trip_linux": lambda series: charts.round_trip(series, linux=True),
    "outstanding": charts.outstanding,
    "spacing": lambda series: charts.spacing(series, base_seconds=0.02, limit_seconds=0.002),
    "distributions": charts.distributions,
    "throughput": lambda series: charts.throughput(
        series, allowed_bytes_per_second=3e6, mean_bytes_per_second=2e6
    ),
}


def svg(spec: dict[str, Any]) -> str:
    drawn: str = vl_convert.vegalite_to_svg({**spec, "width": 400})
    return drawn


@pytest.mark.parametrize("name", OVER_TIME)
def test_every_chart_is_drawn_by_vega_lite(name: str, series: Make) -> None:
    drawn = svg(OVER_TIME[name](series(duration=0.3, lost=50)))
    assert drawn.count("<path") > 5
    assert "NaN" not in drawn


@pytest.mark.parametrize("name", OVER_TIME)
def test_a_chart_without_data_has_no_layers_that_widen_its_axes(name: str) -> None:
    spec = OVER_TIME[name](NOTHING)
    names = {part["data"]["name"] for part in spec["layer"]}
    assert names == set(spec["datasets"])
    assert all(spec["datasets"].values())


def test_the_close_up_and_the_shares_are_drawn(series: Make, transfer: Make) -> None:
    part = charts.stretch(series(pause=0.009), transfer(idle_open_window_fraction=0.8))
    assert part is not None
    assert "NaN" not in svg(charts.close_up(part))
    assert "NaN" not in svg(charts.shares([transfer("1.0"), transfer("4.1")]))


@pytest.mark.parametrize("name", OVER_TIME)
def test_the_definition_does_not_depend_on_the_transfer(name: str, series: Make) -> None:
    def bare(spec: dict[str, Any]) -> str:
        params = [param["name"] for param in spec["params"]]
        return json.dumps(
            [
                params,
                {key: value for key, value in spec.items() if key not in ("datasets", "params")},
            ]
        )

    assert bare(OVER_TIME[name](series())) == bare(
        OVER_TIME[name](series(pause=0.005, duration=2.0))
    )


def test_charts_use_no_colour_but_the_palettes(series: Make) -> None:
    for draw in OVER_TIME.values():
        text = json.dumps(draw(series(lost=50)))
        assert set(re.findall(r"#[0-9a-f]{6}", text)) <= set(palette.LIGHT.values())
        assert "#" not in json.dumps(palette.with_properties(json.loads(text)))


def test_both_palettes_know_the_same_roles_and_no_colour_stands_for_two_of_them() -> None:
    assert set(palette.LIGHT) == set(palette.DARK)
    assert len(set(palette.LIGHT.values())) == len(palette.LIGHT)


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("colours", "paper"), [(palette.LIGHT, "#ffffff"), (palette.DARK, "#14181d")]
)
def test_marks_stand_out_from_the_paper(colours: dict[str, str], paper: str) -> None:
    faint = {role: contrast(colour, paper) for role, colour in colours.items() if role != "grid"}
    # WCAG 2.2, 1.4.11: graphics 3:1; text (axis) 4.5:1. Filled bands and bars may be lighter: they
    # carry words beside them.
    assert {
        role: ratio for role, ratio in faint.items() if ratio < (4.5 if role == "axis" else 2.5)
    } == {}


def test_retransmissions_are_triangles_apart_from_new_data(series: Make) -> None:
    spec = charts.time_sequence(series(lost=50))
    assert len(spec["datasets"]["again"]) > 10
    marks = {part["data"]["name"]: part["mark"] for part in spec["layer"]}
    assert marks["again"]["shape"] == "triangle-up"
    assert {row["word"] for row in spec["datasets"]["again"]} == {"sent again"}


def test_a_line_that_would_press_the_data_flat_is_left_out(series: Make) -> None:
    shown, hidden = (
        charts.time_sequence(series(), allowed_bytes_per_second=rate) for rate in (3e6, 3e8)
    )
    assert "allowed" in shown["datasets"]
    assert "allowed" not in hidden["datasets"]
    assert ALLOWED not in json.dumps(hidden)


def test_packets_after_the_end_of_the_transfer_widen_the_axis(series: Make) -> None:
    late = series(duration=1.0)
    for name in ("t", "low", "high", "kind"):
        late["segments"][name].append(
            {"t": 7.5, "low": 0, "high": 9, "kind": "retransmission"}[name]
        )
    for spec in charts.of_transfer(
        late, {"spacing_source": "measured", "rtt_source": "acknowledgements"}
    ).values():
        duration = [param["value"] for param in spec["params"] if param["name"] == "duration"]
        assert duration in ([7.5], [])
        assert all(part["mark"]["clip"] for part in spec["layer"])


def test_the_last_acknowledgement_holds_to_the_end_of_the_close_up() -> None:
    rows = charts.close_up({**a_stretch(5), "silence": {"t": [], "seconds": []}})["datasets"]
    assert rows["acks"][-1] == {"t": 1.0, "offset": rows["acks"][-2]["offset"]}
    assert rows["edge"][-1]["t"] == 1.0


def test_no_line_is_drawn_for_an_unknown_rate_or_base(series: Make) -> None:
    assert "allowed" not in charts.time_sequence(series())["datasets"]
    assert "base" not in charts.round_trip(series())["datasets"]
    assert "marks" not in charts.spacing(series())["datasets"]


def test_a_window_far_above_the_data_is_not_drawn(series: Make) -> None:
    wide = series()
    wide["outstanding"]["window_bytes"] = [10**8] * len(wide["outstanding"]["t"])
    assert "window_bytes" in json.dumps(charts.outstanding(series()))
    assert "window_bytes" not in json.dumps(charts.outstanding(wide))


def test_two_values_at_one_time_are_not_added_up(series: Make) -> None:
    twice = series()
    twice["outstanding"] = {
        "t": [0.1, 0.1, 0.2],
        "bytes": [50_000, 40_000, 45_000],
        "window_bytes": [60_000] * 3,
    }
    vega = vl_convert.vegalite_to_vega({**charts.outstanding(twice), "width": 400})
    assert "stack" not in {
        step["type"] for part in vega["data"] for step in part.get("transform", ())
    }


def test_the_close_up_counts_from_its_start_and_cuts_silences_at_its_edges() -> None:
    part = {
        "start_seconds": 5.0,
        "duration_seconds": 0.1,
        "segments": {
            "t": [5.01, 5.05],
            "low": [7000, 8448],
            "high": [8448, 9896],
            "kind": ["new", "new"],
        },
        "acks": {"t": [5.02], "offset": [8448]},
        "window": {"t": [5.02], "offset": [20000]},
        "silence": {"t": [5.01, 5.13], "seconds": [0.03, 0.06]},
    }
    spec = charts.close_up(part)
    assert spec["datasets"]["segments"][0] == {"t": pytest.approx(0.01), "low": 0, "high": 1448}
    assert [
        (round(band["from"], 6), round(band["to"], 6)) for band in spec["datasets"]["silence"]
    ] == [(0.0, 0.01), (0.07, 0.1)]
    assert SILENCE in json.dumps(spec)


def test_a_stretch_shows_the_silences_that_count_and_no_others(
    series: Make, transfer: Make
) -> None:
    part = charts.stretch(
        series(pause=0.009),
        transfer(idle_open_window_fraction=0.8, idle_open_window_threshold_seconds=0.002),
    )
    assert part is not None
    assert part["silence"]["seconds"]
    assert min(part["silence"]["seconds"]) > 0.002
    assert (
        charts.stretch(series(pause=0.009), transfer(idle_open_window_threshold_seconds=1.0))[
            "silence"
        ]["t"]
        == []
    )  # type: ignore[index]


def a_stretch(
    start: float, *, length: float = 1.0, silent: float = 0.0, again: int = 0, rate: float = 1e6
) -> dict[str, Any]:
    kinds = ["new"] * (10 - again) + ["retransmission"] * again
    times = [start + length * place / 10 for place in range(10)]
    return {
        "start_seconds": start,
        "duration_seconds": length,
        "segments": {"t": times, "low": list(range(10)), "high": list(range(1, 11)), "kind": kinds},
        "acks": {"t": [start, start + length], "offset": [0, rate * length]},
        "window": {"t": [start], "offset": [20]},
        "responses": {"t": [start + silent], "seconds": [silent]},
    }


ORDINARY = {
    "idle_open_window_fraction": 0.5,
    "idle_open_window_threshold_seconds": 0.01,
    "unique_bytes": 20e6,
    "retransmitted_packets": 20,
}


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ([a_stretch(5, silent=0.9, again=1), a_stretch(9, silent=0.1, again=1)], "silence"),
        ([a_stretch(5, silent=0.5, again=9), a_stretch(9, silent=0.5)], "retransmissions"),
        (
            [
                a_stretch(5, silent=0.5, again=1, rate=5e6),
                a_stretch(9, silent=0.5, again=1, rate=0),
            ],
            "throughput",
        ),
        ([a_stretch(19.9, silent=0.05, again=1, length=0.1)], "cut short by the end"),
    ],
)
def test_the_stretch_shown_is_the_most_ordinary_one(others: list[dict[str, Any]], why: str) -> None:
    ordinary, start = a_stretch(7, silent=0.5, again=1), a_stretch(0, silent=0.5, again=1)
    series = {"duration_seconds": 20.0, "closeups": [start, *others, ordinary]}
    part = charts.stretch(series, ORDINARY)
    assert part is not None, why
    assert part["start_seconds"] == 7, why


def test_a_stretch_ends_with_its_transfer() -> None:
    part = charts.stretch({"duration_seconds": 0.6, "closeups": [a_stretch(0)]}, ORDINARY)
    assert part is not None
    assert part["duration_seconds"] == 0.6


def test_there_is_no_close_up_without_a_stretch_or_a_yardstick(
    series: Make, transfer: Make
) -> None:
    assert charts.stretch({**series(), "closeups": []}, transfer()) is None
    assert charts.stretch(NOTHING, transfer()) is None
    assert charts.stretch(series(), transfer(idle_open_window_threshold_seconds=None)) is None


def test_all_charts_of_a_transfer_come_in_their_order(series: Make, transfer: Make) -> None:
    every = [
        "time_sequence",
        "close_up",
        "throughput",
        "round_trip",
        "outstanding",
        "spacing",
        "distributions",
    ]
    assert list(charts.of_transfer(series(), transfer())) == every
    assert charts.of_transfer({**series(), "duration_seconds": None}, transfer()) == {}


def test_estimates_are_not_drawn_as_if_they_had_been_seen(series: Make, transfer: Make) -> None:
    elsewhere = transfer(at="receiver", spacing_source="estimated", rtt_source="timestamp_echo")
    assert list(charts.of_transfer(series(), elsewhere)) == ["time_sequence", "throughput"]


def test_a_control_is_drawn_dashed_under_its_name(series: Make) -> None:
    spec = charts.distributions(series(pause=0.009), beside=("healthy", series()))
    assert "silence: healthy" in json.dumps(spec)
    assert any(part["mark"].get("strokeDash") for part in spec["layer"])


def test_logarithmic_axes_take_silences_of_zero(series: Make) -> None:
    instant = series()
    instant["spacing"]["seconds"][0] = 0.0
    assert min(row["seconds"] for row in charts.spacing(instant)["datasets"]["samples"]) >= 1e-6


def test_a_small_chart_has_no_titles_and_the_axis_it_is_given(series: Make) -> None:
    spec = drawing.small(charts.round_trip(series(), base_seconds=0.02), keep=("rtt",), largest=0.5)
    assert {part["data"]["name"] for part in spec["layer"]} == {"rtt"} == set(spec["datasets"])
    assert {"name": "largest", "value": 0.5} in spec["params"]
    assert [part["encoding"]["y"]["title"] for part in spec["layer"]] == [None]
    assert "NaN" not in svg(spec)


def test_shares_leave_out_what_is_unknown(transfer: Make) -> None:
    spec = charts.shares([transfer("1.0", share_idle_sender=None)])
    assert {row["state"] for row in spec["datasets"]["shares"]} == {"path", "receive window full"}


@pytest.mark.parametrize("name", OVER_TIME)
def test_every_chart_is_an_altair_chart(name: str, series: Make) -> None:
    chart = charts.as_altair(OVER_TIME[name](series(duration=0.3, lost=50)))
    assert chart.to_dict()["width"] == 640
