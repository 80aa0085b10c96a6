"""The charts of burstiness.

Valid Vega-Lite for one stream and for several, themeless, and drawn from the right numbers.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import vl_convert

from tests.report import burst_reference as reference
from trustbed.report.burst import chart_axes as burst_axes
from trustbed.report.burst import charts as burst
from trustbed.report.charts import palette
from trustbed.report.transfer import charts as transfer_charts

Model = dict[str, Any]

NOTHING: Model = {
    "name": "all packets",
    "packets": 0,
    "duration_seconds": 0.0,
    "mean_rate_bits_per_second": None,
    "window_seconds": 0.1,
    "windows": [],
    "sigma": [],
    "queue": [],
    "delay": [],
    "energy": {"octaves": []},
    "logscale": {"octaves": [], "fit": None},
    "rates": {"bin_seconds": 0.001, "points": [], "peaks": []},
    "gaps": {"cumulative": []},
}


def svg(spec: dict[str, Any]) -> str:
    drawn: str = vl_convert.vegalite_to_svg({**spec, "width": 400})
    return drawn


@pytest.mark.parametrize("kind", burst.CHARTS)
def test_every_chart_is_drawn_by_vega_lite_for_one_stream_and_for_several(
    kind: str, uneven: Model, paced: Model
) -> None:
    for streams in (uneven, [uneven, paced]):
        drawn = svg(burst.CHARTS[kind](streams))
        assert drawn.count("<path") > 5
        assert "NaN" not in drawn


@pytest.mark.parametrize("kind", burst.CHARTS)
def test_a_chart_without_data_is_left_out(kind: str) -> None:
    spec = burst.CHARTS[kind](NOTHING)
    assert {part["data"]["name"] for part in spec["layer"]} == set(spec["datasets"])
    assert burst.drawn(NOTHING) == burst.drawn([NOTHING, NOTHING]) == burst.drawn([]) == {}


def test_one_packet_is_no_picture_over_time() -> None:
    model = reference.model([(1_700_000_000_000_000_000, 100)])
    assert burst.drawn(model) == {}


def test_charts_use_no_colour_but_the_palettes(uneven: Model, paced: Model) -> None:
    for draw in burst.CHARTS.values():
        for streams in (uneven, [uneven, paced]):
            text = json.dumps(draw(streams))
            assert set(re.findall(r"#[0-9a-f]{6}", text)) <= set(palette.LIGHT.values())
            assert "#" not in json.dumps(palette.with_properties(json.loads(text)))


@pytest.mark.parametrize("kind", ["burstiness", "energy", "logscale", "gaps", "delay"])
def test_the_definition_does_not_depend_on_the_numbers(kind: str, uneven: Model) -> None:
    def bare(spec: dict[str, Any]) -> str:
        return json.dumps([spec["params"][0]["name"] if spec["params"] else "", spec["layer"]])

    longer = {**uneven, "duration_seconds": uneven["duration_seconds"] * 2}
    assert bare(burst.CHARTS[kind](uneven)) == bare(burst.CHARTS[kind](longer))


def test_burstiness_is_drawn_in_bytes_from_the_first_packet_on(bursty: Model) -> None:
    rows = burst.burstiness(bursty)["datasets"]["windows"]
    assert max(row["bytes"] for row in rows) == max(row["max_q_bytes"] for row in bursty["windows"])
    assert rows[0]["t"] == 0
    assert rows[-1]["t"] <= bursty["duration_seconds"] + bursty["window_seconds"]


def test_the_window_that_the_end_cuts_is_not_drawn_unless_it_is_the_only_one(uneven: Model) -> None:
    cut = {**uneven["windows"][-1], "partial": True, "max_q_bytes": 1e9}
    rows = burst.burstiness({**uneven, "windows": [*uneven["windows"][:-1], cut]})["datasets"][
        "windows"
    ]
    assert max(row["bytes"] for row in rows) < 1e8
    assert len(burst.burstiness({**uneven, "windows": [cut]})["datasets"]["windows"]) == 2


def test_a_window_without_a_rate_leaves_a_gap(uneven: Model) -> None:
    first = {
        **uneven["windows"][0],
        "max_q_bytes": None,
        "max_q_sys_bytes": None,
        "rate_bits_per_second": None,
    }
    spec = burst.burstiness({**uneven, "windows": [first, *uneven["windows"][1:]]})
    assert spec["datasets"]["windows"][0]["bytes"] is None
    assert "NaN" not in svg(spec)


def test_thinning_keeps_the_largest_queue_and_the_order(uneven: Model) -> None:
    row = uneven["windows"][0]
    start = uneven["first_seconds"]
    many = [
        {
            **row,
            "start_seconds": start + 0.1 * place,
            "max_q_bytes": float(place % 977),
            "partial": False,
        }
        for place in range(36_000)
    ]
    many[12_345] = {**many[12_345], "max_q_bytes": 1e6}
    rows = burst.burstiness({**uneven, "windows": many, "duration_seconds": 3600.0})["datasets"][
        "windows"
    ]
    assert len(rows) <= burst_axes.POINTS + 5
    assert max(row["bytes"] for row in rows) == 1e6
    assert [row["t"] for row in rows] == sorted(row["t"] for row in rows)


def test_the_marks_of_sigma_are_mean_twice_the_mean_and_link(uneven: Model) -> None:
    marks = {row["word"]: row["rate"] for row in burst.sigma(uneven)["datasets"]["marks"]}
    mean = uneven["mean_rate_bits_per_second"]
    assert marks == {"mean rate": mean, "twice the mean": 2 * mean, "link": 1e9}


def test_loss_has_a_line_per_rate_that_ends_where_nothing_is_lost(uneven: Model) -> None:
    spec = burst.loss(uneven)
    lines: dict[str, list[float]] = {}
    for row in spec["datasets"]["losses"]:
        lines.setdefault(row["word"], []).append(row["loss"])
    assert len(lines) == 5
    assert all(losses == sorted(losses, reverse=True) for losses in lines.values())
    assert all(losses.count(0) == 1 for losses in lines.values())
    assert "1.5 × mean" in json.dumps(spec, ensure_ascii=False)


def test_many_rates_are_thinned_to_a_few_lines(uneven: Model) -> None:
    rows = [
        {**row, "rate_bits_per_second": row["rate_bits_per_second"] * step}
        for step in (1, 3, 7)
        for row in uneven["queue"]
    ]
    words = {row["word"] for row in burst.loss({**uneven, "queue": rows})["datasets"]["losses"]}
    assert len(words) == 5


def test_no_wait_is_drawn_at_the_bottom_of_the_axis(paced: Model) -> None:
    rows = burst.delay(paced)["datasets"]["delays"]
    assert min(row["seconds"] for row in rows) == burst_axes.SHORTEST
    assert {row["word"] for row in rows} == {
        "longest wait",
        "99 % wait at most",
        "half wait at most",
    }


def test_delays_at_a_single_rate_are_no_line(uneven: Model) -> None:
    assert "delay" not in burst.drawn({**uneven, "delay": uneven["delay"][:1]})


def test_without_medians_the_mean_wait_is_drawn(uneven: Model) -> None:
    rows = [
        {name: value for name, value in row.items() if name != "wait_p50_seconds"}
        for row in uneven["delay"]
    ]
    assert "mean wait" in {
        row["word"] for row in burst.delay({**uneven, "delay": rows})["datasets"]["delays"]
    }


def test_the_fitted_line_has_the_slope_of_the_fit(uneven: Model) -> None:
    fit = uneven["logscale"]["fit"]
    first, last = burst.logscale(uneven)["datasets"]["lines"]
    assert (last["energy"] - first["energy"]) / (fit["last"] - fit["first"]) == pytest.approx(
        fit["alpha"]
    )
    points = {row["seconds"]: row for row in burst.logscale(uneven)["datasets"]["points"]}
    assert abs(points[first["seconds"]]["energy"] - first["energy"]) < 3


def test_peaks_narrower_than_the_bins_are_not_drawn(uneven: Model) -> None:
    words = [row["word"] for row in burst.rate(uneven)["datasets"]["peaks"]]
    assert words == ["fastest 1 ms", "fastest 10 ms", "fastest 100 ms"]
    wide = {**uneven, "rates": {**uneven["rates"], "bin_seconds": 0.05}}
    assert [row["word"] for row in burst.rate(wide)["datasets"]["peaks"]] == ["fastest 100 ms"]


def test_gaps_of_zero_stand_at_the_left_end(uneven: Model) -> None:
    rows = burst.gaps(uneven)["datasets"]["gaps"]
    assert min(row["seconds"] for row in rows) > 0
    assert rows[-1]["share"] == 1


def test_streams_are_told_apart_by_colour_and_dash_under_names_of_their_own(
    bursty: Model, paced: Model
) -> None:
    spec = burst.energy([bursty, paced, paced])
    encoding = spec["layer"][0]["encoding"]
    names = ["timer", "paced (1)", "paced (2)"]
    for channel in ("color", "strokeDash"):
        assert encoding[channel]["scale"]["domain"] == names
        assert len({json.dumps(value) for value in encoding[channel]["scale"]["range"]}) == 3


@pytest.mark.parametrize(
    ("stream", "name"),
    [
        ({"name": "10.0.0.1:80 → 10.0.0.2:4000 tcp"}, "10.0.0.1:80 → 10.0.0.2:4000 tcp"),
        ({"name": "all packets", "capture": {"files": [{"name": "/a/b.pcapng.zst"}]}}, "b"),
        ({"name": "all packets", "capture": {"files": [{"name": ".pcap"}]}}, ".pcap"),
        (
            {
                "name": "all packets",
                "capture": {"files": [{"name": "r.0.pcap"}, {"name": "r.1.pcap"}]},
            },
            "r.0 and 1 more",
        ),
        ({"name": "all packets", "capture": {"files": [{"name": None}]}}, "standard input"),
        ({"name": "all packets"}, "all packets"),
    ],
)
def test_names(stream: dict[str, Any], name: str) -> None:
    assert burst_axes.whole_names([stream]) == [name]


def test_long_names_lose_their_middle() -> None:
    (name,) = burst_axes.names([{"name": "a" * 40 + "z" * 40}])
    assert len(name) < 28
    assert name.startswith("aaa")
    assert name.endswith("zzz")


@pytest.mark.parametrize("kind", burst.CHARTS)
def test_every_chart_is_an_altair_chart(kind: str, uneven: Model) -> None:
    assert transfer_charts.as_altair(burst.CHARTS[kind](uneven)).to_dict()["width"] == 640
