"""Which packets.

Filters, streams, size bases, offload, standard input, rotated files, any number of workers.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import trustbed
from tests.burst.conftest import Run, ethernet, pcap
from trustbed.cli import main

MS = 1_000_000
START = 1_700_000_000_000 * MS


@pytest.fixture
def mixed() -> bytes:
    """100 ms of a web server's packets, 50 of DNS on VLAN 7, and ARP now and then."""
    packets, frames = [], []
    for index in range(2000):
        time = START + index * 100_000
        if index % 100 == 50:
            packets.append((time, 42))
            frames.append(bytes(12) + b"\x08\x06" + bytes(28))
        elif index % 4 == 3:
            packets.append((time, 204))
            frames.append(ethernet(3, 4, protocol=17, port=53, length=204, vlan=7))
        else:
            packets.append((time, 1514))
            frames.append(ethernet(1, 2, length=1514))
    return pcap(packets, frames=frames)


def without_the_run(model: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in model.items() if name != "trustbed"}


@pytest.mark.parametrize(
    ("expression", "packets"),
    [
        ("tcp", 1480),
        ("vlan 7 and udp port 53", 500),
        ("arp", 20),
        ("not arp", 1980),
        ("host 10.0.0.3", 500),
        ("greater 205", 1480),
    ],
)
def test_a_filter_is_a_capture_of_what_it_means(
    run: Run, mixed: bytes, expression: str, packets: int
) -> None:
    model = run(mixed, "--filter", expression, "--json").model
    assert (model["packets"], model["left_out"]["filtered"]) == (packets, 2000 - packets)


def test_streams_are_measured_as_their_filters_are(run: Run, mixed: bytes) -> None:
    streams = {
        stream["name"]: stream for stream in run(mixed, "--by", "flow", "--json").model["streams"]
    }
    assert list(streams) == [
        "10.0.0.1:1000 → 10.0.0.2:80 tcp",
        "10.0.0.3:1000 → 10.0.0.4:53 udp",
        "no IP",
    ]
    for name, expression in zip(streams, ("tcp", "udp", "arp"), strict=True):
        alone = run(mixed, "--filter", expression, "--json").model
        for part in (
            "packets",
            "bytes",
            "windows",
            "summary",
            "sigma",
            "queue",
            "delay",
            "energy",
            "gaps",
            "trains",
        ):
            assert streams[name][part] == alone[part], part


def test_vlans_and_how_many_are_shown(run: Run, mixed: bytes) -> None:
    model = run(mixed, "--by", "vlan", "--json").model
    assert [(stream["name"], stream["packets"]) for stream in model["streams"]] == [
        ("no vlan", 1500),
        ("vlan 7", 500),
    ]
    fewer = run(mixed, "--by", "flow", "--top", "1", "--json").model
    assert (len(fewer["streams"]), fewer["streams_left_out"]) == (1, 2)
    assert "2 more streams not shown" in run(mixed, "--by", "flow", "--top", "1").out
    assert "streams" not in run(mixed, "--json").model


def test_directions_come_from_cooked_captures(run: Run) -> None:
    header = pcap([])[:20] + (113).to_bytes(4, "little")
    records = b""
    for index in range(10):
        frame = (
            (4 if index % 5 == 0 else 0).to_bytes(2, "big")
            + bytes(12)
            + b"\x08\x00"
            + ethernet(1, 2)[14:]
        )
        records += pcap([(START + index * MS, 62)], frames=[frame])[24:]
    model = run(header + records, "--by", "direction", "--json").model
    assert [(stream["name"], stream["packets"]) for stream in model["streams"]] == [
        ("in", 8),
        ("out", 2),
    ]


def test_interfaces_have_their_names(run: Run, mixed: bytes) -> None:
    assert [
        stream["name"] for stream in run(mixed, "--by", "interface", "--json").model["streams"]
    ] == ["interface 0"]


@pytest.mark.parametrize(
    ("basis", "size"),
    [
        ("frame", 0),
        ("frame_fcs", 4 * 2000),
        ("wire", 24 * 2000 + 20 * (84 - 42 - 24)),
        ("ip", None),
    ],
)
def test_size_bases(run: Run, mixed: bytes, basis: str, size: int | None) -> None:
    frames = 1480 * 1514 + 500 * 204 + 20 * 42
    model = run(mixed, "--basis", basis, "--json").model
    assert model["basis"] == basis
    assert model["bytes"] == (1480 * 1500 + 500 * 186 if size is None else frames + size)


def test_windows_from_the_first_packet(run: Run) -> None:
    packets = [(START + 37 * MS + index * MS, 100) for index in range(500)]
    starts = [
        row["start_seconds"] for row in run(packets, "--align", "first", "--json").model["windows"]
    ]
    assert starts == pytest.approx(
        [(START + 37 * MS) / 1e9 + index / 10 for index in range(5)], abs=1e-6
    )


def test_super_packets_are_cut_into_frames(run: Run) -> None:
    frames = [ethernet(1, 2, length=60)] * 3 + [ethernet(1, 2, length=54 + 1448 * 10)]
    packets = [
        (START, 1502),
        (START + MS, 1502),
        (START + 2 * MS, 1502),
        (START + 3 * MS, 54 + 14480),
    ]
    frames = [ethernet(1, 2, length=length) for _, length in packets]
    stacked = run(pcap(packets, frames=frames), "--rate", "1Gbit/s", "--json").model
    captured = run(
        pcap(packets, frames=frames), "--rate", "1Gbit/s", "--offload", "as-captured", "--json"
    ).model
    assert (stacked["packets"], stacked["expanded_packets"], stacked["bytes"]) == (
        13,
        1,
        3 * 1502 + 10 * 1502,
    )
    assert (captured["packets"], captured["expanded_packets"], captured["bytes"]) == (
        4,
        0,
        3 * 1502 + 14534,
    )
    assert stacked["windows"][0]["max_q_bytes"] == 9 * 1502
    assert captured["windows"][0]["max_q_bytes"] == 0
    assert "burst_super_packets" in [found["code"] for found in stacked["findings"]]


@pytest.mark.parametrize("name", ["guest-free.sender.pcap.gz", "cross-traffic.receiver.pcap.gz"])
def test_any_number_of_workers(run: Run, recordings: Path, name: str) -> None:
    models = [
        without_the_run(
            run(
                recordings / name,
                "--rate",
                "40Mbit/s",
                "--by",
                "flow",
                "--top",
                "3",
                "--workers",
                workers,
                "--json",
            ).model
        )
        for workers in ("1", "2", "7")
    ]
    assert models[0] == models[1] == models[2]


@pytest.mark.parametrize("mode", ["dynamic-same", "dynamic-previous", "dynamic-same-carry"])
def test_any_number_of_workers_in_every_mode(run: Run, recordings: Path, mode: str) -> None:
    models = [
        without_the_run(
            run(
                recordings / "guest-quota.sender.pcap.gz",
                "--mode",
                mode,
                "--window",
                "7ms",
                "--workers",
                workers,
                "--json",
            ).model
        )
        for workers in ("1", "2", "7")
    ]
    assert models[0] == models[1] == models[2]


def test_standard_input_is_read_like_a_file(run: Run, recordings: Path) -> None:
    capture = recordings / "guest-quota.sender.pcap.gz"
    command = [sys.executable, "-m", "trustbed", "burst", "-", "--json"]
    piped = subprocess.run(
        command, input=gzip.decompress(capture.read_bytes()), capture_output=True, check=True
    ).stdout
    from_pipe, from_file = json.loads(piped), run(capture, "--json").model
    for part in (
        "packets",
        "bytes",
        "windows",
        "summary",
        "sigma",
        "queue",
        "delay",
        "energy",
        "logscale",
        "rates",
        "gaps",
        "trains",
    ):
        assert from_pipe[part] == from_file[part], part


def test_rotated_files_are_one_capture(
    run: Run, recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packets = [(START + index * 300_000, 60 + index % 1400) for index in range(4000)]
    parts = []
    for number, start in enumerate((0, 1313, 2777)):
        end = (1313, 2777, 4000)[number]
        part = tmp_path / f"part{number}.pcap"
        part.write_bytes(pcap(packets[start:end]))
        parts.append(str(part))
    assert main(["burst", *reversed(parts), "--json"]) == 0
    joined = json.loads(capsys.readouterr().out)
    whole = run(packets, "--json").model
    for part_name in ("windows", "summary", "sigma", "queue", "energy", "gaps", "trains"):
        assert joined[part_name] == whole[part_name], part_name


def test_each_file_on_its_own(
    recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        str(recordings / f"{name}.sender.pcap.gz")
        for name in ("application-limited", "guest-quota")
    ]
    assert main(["burst", *files, "--each", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["packets"], second["packets"]) == (3409, 9194)
    page = tmp_path / "page.html"
    assert main(["burst", *files, "--each", "--report", str(page)]) == 0
    assert "guest-quota.sender.pcap.gz" in capsys.readouterr().out
    assert "application-limited" in page.read_text(encoding="utf-8")


def test_only_what_was_asked_for(run: Run, mixed: bytes) -> None:
    model = run(mixed, "--only", "windows", "--json").model
    assert model["windows"]
    assert [model[part] for part in ("sigma", "queue", "delay")] == [[], [], []]
    assert [model[part] for part in ("energy", "logscale", "rates", "gaps", "trains")] == [None] * 5
    assert run(mixed, "--only", "windows").code == 0
    energy = run(mixed, "--only", "energy,gaps", "--json").model
    assert (energy["windows"], energy["summary"]) == ([], None)
    assert energy["energy"]["octaves"]
    assert run(mixed, "--only", "energy").code == 0


def test_the_library_gives_the_same(run: Run, recordings: Path) -> None:
    capture = recordings / "guest-quota.sender.pcap.gz"
    traffic = trustbed.burst(capture, rate="20Mbit/s", window=0.05)
    printed = run(capture, "--rate", "20Mbit/s", "--window", "50ms", "--json").model
    assert json.loads(json.dumps(traffic.model)) == without_the_run(printed)
    assert traffic.summary == printed["summary"]
    assert (
        trustbed.analyze(capture).burstiness(rate="20Mbit/s", window="50ms").model == traffic.model
    )


def test_tables_are_arrow(recordings: Path) -> None:
    traffic = trustbed.burst(recordings / "guest-quota.sender.pcap.gz", by="flow", top=2)
    windows = traffic.windows.to_pylist()
    assert [row["max_q_bytes"] for row in windows if row["stream"] == "all packets"] == [
        row["max_q_bytes"] for row in traffic.model["windows"]
    ]
    assert {row["stream"] for row in windows} == {"all packets", *traffic.streams}
    for table in (traffic.sigma, traffic.queue, traffic.delay, traffic.energy, traffic.rates):
        assert table.num_rows
        assert all(field.metadata[b"meaning"] for field in table.schema)
    with pytest.raises(ValueError, match="no table 'weather'"):
        traffic.table("weather")
    assert "waiting" in repr(traffic)
    assert "<table>" in traffic._repr_html_()
    assert traffic.chart("sigma").to_dict()["layer"]
    with pytest.raises(KeyError, match="no chart 'pie'"):
        traffic.chart("pie")


WRONG: list[dict[str, Any]] = [
    {"mode": "static"},
    {"mode": "magic"},
    {"rate": 0},
    {"rate": 1e14},
    {"window": 0},
    {"buffers": [0]},
    {"filter": "nonsense"},
    {"offload": "spread"},
    {"only": ["weather"]},
]


def test_the_library_refuses_options_that_make_no_sense(
    recordings: Path, snapshot: SnapshotAssertion
) -> None:
    found = []
    for options in WRONG:
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the snapshot has the message
            trustbed.burst(recordings / "guest-quota.sender.pcap.gz", **options)
        found.append(f"{options}: {caught.value}")
    assert found == snapshot


def test_tables_in_a_directory(run: Run, mixed: bytes, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    directory = tmp_path / "tables"
    ended = run(mixed, "--out", str(directory), "--csv")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, f"wrote {directory}")
    names = ("windows", "sigma", "queue", "delay", "energy", "rates")
    assert sorted(path.name for path in directory.iterdir()) == sorted(
        [
            "trustbed.json",
            *(f"burst_{name}.{kind}" for name in names for kind in ("csv", "parquet")),
        ]
    )
    assert (
        pq.read_table(directory / "burst_sigma.parquet")
        .schema.field("sigma_bytes")
        .metadata[b"unit"]
        == b"bytes"
    )
    first = (directory / "burst_queue.parquet").read_bytes()
    assert run(mixed, "--out", str(directory), "--workers", "3").code == 0
    assert (directory / "burst_queue.parquet").read_bytes() == first


def test_json_beside_a_page(run: Run, mixed: bytes, tmp_path: Path) -> None:
    ended = run(mixed, "--json", "--report", str(tmp_path / "page.html"))
    assert ended.code == 0
    assert json.loads(ended.out)["packets"] == 2000
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
