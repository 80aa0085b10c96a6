"""Two captures of the same packets, joined: by the library and on the command line."""

from __future__ import annotations

import gzip
import json
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet
import pytest

import trustbed
from tests.pcap_records import records
from trustbed.cli import main
from trustbed.report import columns
from trustbed.report.transfer import contract
from trustbed.report.transfer import two_point as two_point_text

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"
FLOW = ("sender", "sender_port", "receiver", "receiver_port")
SCHEMA = json.loads(contract.HERE.read_text(encoding="utf-8"))


def ends(name: str) -> tuple[Path, Path]:
    return RECORDINGS / f"{name}.sender.pcap.gz", RECORDINGS / f"{name}.receiver.pcap.gz"


def bulk(joined: trustbed.TwoPoint) -> dict[str, Any]:
    """The crossing with the most data."""
    rows = [row for batch in joined.stream() for row in columns.plain_rows(batch)]
    return max(rows, key=lambda row: row["data_frames_sent"])


def shifted(path: Path, out: Path, seconds: int) -> Path:
    """The same capture by a clock that is ahead."""
    data = bytearray(gzip.decompress(path.read_bytes()))
    at = 24
    while at < len(data):
        second, _, captured = struct.unpack_from("<III", data, at)
        struct.pack_into("<I", data, at, second + seconds)
        at += 16 + captured
    out.write_bytes(data)
    return out


def steered(path: Path, out: Path, nanoseconds: int) -> Path:
    """The same capture by a clock that drifts ahead until the middle and back from there on."""
    head, found = records(path)
    moments = [
        second * 10**9 + part for second, part in (struct.unpack_from("<II", one) for one in found)
    ]
    middle, half = (moments[0] + moments[-1]) // 2, (moments[-1] - moments[0]) / 2
    moved = []
    for at, one in zip(moments, found, strict=True):
        second, part = divmod(at + int(nanoseconds * (1 - abs(at - middle) / half)), 10**9)
        moved.append(struct.pack("<II", second, part) + one[8:])
    out.write_bytes(head + b"".join(moved))
    return out


def set_back(path: Path, out: Path, seconds: int) -> Path:
    """The same capture by a clock that is set back in the middle of it."""
    head, found = records(path)
    half = len(found) // 2
    moved = [
        struct.pack("<I", struct.unpack_from("<I", one)[0] - seconds) + one[4:]
        for one in found[half:]
    ]
    out.write_bytes(head + b"".join(found[:half] + moved))
    return out


Trustbed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_trustbed(capsys: pytest.CaptureFixture[str]) -> Trustbed:
    """``trustbed analyze`` in this process, which has imported all that it needs."""

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        code = main(["analyze", *words])
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, out, err)

    return call


def test_a_clock_offset_is_reported(tmp_path: Path) -> None:
    sender, receiver = ends("random-loss")
    joined = trustbed.join(sender, shifted(receiver, tmp_path / "receiver.pcap", 3600))
    assert joined.clocks.ahead_seconds == pytest.approx(3600, abs=1e-4)
    assert joined.clocks.ahead_error_seconds == pytest.approx(0.010, abs=1e-3)
    assert (
        bulk(joined)["data_frames_lost"]
        == bulk(trustbed.join(sender, receiver))["data_frames_lost"]
        == 40
    )


def test_a_clock_that_is_slewed_by_more_than_the_path_delay_is_followed(tmp_path: Path) -> None:
    sender, receiver = ends("random-loss")
    even = trustbed.join(sender, receiver)
    joined = trustbed.join(sender, steered(receiver, tmp_path / "receiver.pcap", 60_000_000))
    assert even.clocks.clock_slew_seconds is None
    assert joined.clocks.clock_slew_seconds == pytest.approx(0.06, abs=0.01)
    assert [
        finding.code for finding in joined.findings if finding.code != "two_point_clocks_uncertain"
    ] == ["two_point_clocks_slewed"]
    assert bulk(joined)["data_frames_lost"] == bulk(even)["data_frames_lost"] == 40
    assert bulk(joined)["path_p50_ns"] == pytest.approx(bulk(even)["path_p50_ns"], rel=0.01)


def test_one_clock_needs_no_comparison() -> None:
    joined = trustbed.join(*ends("cross-traffic"), same_clock=True)
    assert (
        joined.clocks.ahead_seconds,
        joined.clocks.ahead_error_seconds,
        joined.clocks.stated,
    ) == (0, 0, True)
    assert "one clock timestamped both captures, as stated" in two_point_text.section(joined.model)
    # The queue of others never empties: without the statement half of it would look like an offset.
    assert trustbed.join(*ends("cross-traffic")).clocks.ahead_seconds > 1e-3
    assert bulk(joined)["owd_min_ns"] > 12_000_000
    assert [finding.code for finding in joined.findings] == []


def test_clocks_that_were_found_to_agree_are_no_statement() -> None:
    model = trustbed.join(*ends("random-loss")).model
    exact = {
        **model,
        "clocks": {**model["clocks"], "ahead_seconds": 0.0, "ahead_error_seconds": 0.0},
    }
    text = " ".join(two_point_text.section(exact).split())
    assert "as stated" not in text
    assert "(± 0 s: half of the shortest round trip)" in text


def test_a_clock_that_was_set_is_refused_where_it_was_not_stated(tmp_path: Path) -> None:
    sender, receiver = ends("random-loss")
    late = set_back(receiver, tmp_path / "receiver.pcap", 1)
    with pytest.raises(
        trustbed.CaptureError, match=r"a clock was stepped by 999\.9\d+ms during the capture"
    ) as refused:
        trustbed.join(sender, late)
    assert refused.value.hint == "cut the captures at the clock step and join the parts"
    assert trustbed.join(sender, late, same_clock=True).clocks.stated


def test_a_statement_that_cannot_be_is_noticed(tmp_path: Path) -> None:
    sender, receiver = ends("random-loss")
    joined = trustbed.join(
        sender, shifted(receiver, tmp_path / "receiver.pcap", -1), same_clock=True
    )
    assert [finding.code for finding in joined.findings] == ["two_point_delays_negative"]
    assert bulk(joined)["data_frames_lost"] == 40


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_statement_by_which_nothing_could_be_found_is_refused(
    tmp_path: Path, seconds: int
) -> None:
    sender, receiver = ends("random-loss")
    with pytest.raises(
        trustbed.CaptureError,
        match="no common clock timestamped both captures: frames would arrive 3599",
    ):
        trustbed.join(
            sender, shifted(receiver, tmp_path / "receiver.pcap", seconds), same_clock=True
        )


def test_the_order_of_the_two_names_them_and_nothing_else() -> None:
    sender, receiver = ends("self-congested")
    there, back = bulk(trustbed.join(sender, receiver)), bulk(trustbed.join(receiver, sender))
    names = [name for name in there if name not in ("sender_capture", "start_ns", "duration_ns")]
    assert (there["sender_capture"], back["sender_capture"]) == ("first", "second")
    same = [name for name in names if not name.startswith("delay")]
    assert [there[name] for name in same] == [back[name] for name in same]


def moved(record: bytes, by: int) -> bytes:
    """The same frame of IPv4 and TCP, of a connection of other ports."""
    source, target = struct.unpack_from(">HH", record, 50)
    return (
        record[:50]
        + struct.pack(">HH", (source + by) % 65_536, (target + by) % 65_536)
        + record[54:]
    )


def turned(record: bytes) -> bytes:
    """The same frame of IPv4 and TCP between the same hosts with their addresses exchanged."""
    hosts = bytes([10, 78, 0, 1]), bytes([10, 78, 0, 2])
    source, target = (hosts[hosts[0] == record[at : at + 4]] for at in (42, 46))
    return record[:42] + source + target + record[50:]


def test_a_moment_of_a_transfer_is_found_in_a_capture_of_many(tmp_path: Path) -> None:
    (head, wanted), (_, seen) = (records(path) for path in ends("random-loss"))
    # Of so many connections hardly any frame of one is among those that a first look keeps.
    others = [moved(one, 100 * copy) for copy in range(1, 401) for one in wanted[:200]]
    large, small = tmp_path / "large.pcap", tmp_path / "small.pcap"
    large.write_bytes(
        head + b"".join(sorted([*wanted, *others], key=lambda one: struct.unpack_from("<II", one)))
    )
    small.write_bytes(head + b"".join(seen[:30]))
    joined = trustbed.join(large, small)
    assert joined.clocks.frames == trustbed.join(ends("random-loss")[0], small).clocks.frames > 10
    assert bulk(joined)["data_frames_delivered"] > 5


def test_losses_of_a_part_are_reported_as_such_and_are_not_the_transfer_s(tmp_path: Path) -> None:
    sender, receiver = ends("random-loss")
    head, seen = records(receiver)
    part = tmp_path / "part.pcap"
    part.write_bytes(head + b"".join(seen[-1300:]))
    joined = trustbed.join(sender, part)
    row = bulk(joined)
    known = joined.host_of(
        {
            name: row[of]
            for name, of in zip(("src", "src_port", "dst", "dst_port"), FLOW, strict=True)
        }
    )
    assert known is not None
    assert known.ends is not None
    assert known.ends.lost is None
    text = " ".join(two_point_text.section(joined.model).split())
    assert (
        "10 lost (1.2 %) in 10 events between the two captures, the fate of 2,769 frames is unknown"
    ) in text


def test_another_client_of_the_sender_is_not_reported(tmp_path: Path) -> None:
    sender, receiver = ends("healthy-window-limited")
    head, sent = records(sender)
    elsewhere = [one.replace(bytes([10, 78, 0, 2]), bytes([10, 99, 0, 7]), 1) for one in sent]
    (tmp_path / "both.pcap").write_bytes(
        head + b"".join(sorted([*sent, *elsewhere], key=lambda one: struct.unpack_from("<II", one)))
    )
    joined = trustbed.join(tmp_path / "both.pcap", receiver)
    alone = trustbed.analyze(str(tmp_path / "both.pcap"), at="sender")
    judged = trustbed.analyze(str(tmp_path / "both.pcap"), at="sender", host_of=joined.host_of)
    assert judged.transfers["cause"].to_pylist() == alone.transfers["cause"].to_pylist()
    assert (
        "13,440 data frames sent, their fate unknown between the two captures"
        in two_point_text.section(joined.model)
    )


def test_captures_that_were_plainly_swapped_are_refused(run_trustbed: Trustbed) -> None:
    sender, receiver = map(str, ends("bandwidth-limited"))
    ended = run_trustbed("--sender", receiver, "--receiver", sender)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"was sent at {sender}" in ended.stderr
    assert "hint: swap --sender and --receiver" in ended.stderr


def test_of_two_directions_the_one_that_arrives_is_held_at_review(
    tmp_path: Path, run_trustbed: Trustbed
) -> None:
    """The capture beside the client of an upload and of a download.

    Only the former has its sender there.
    """
    files = tmp_path / "client.pcap", tmp_path / "server.pcap"
    for path, up, down in zip(
        files, ends("random-loss"), reversed(ends("bandwidth-limited")), strict=True
    ):
        (head, sent), (_, fetched) = records(up), records(down)
        path.write_bytes(
            head
            + b"".join(
                sorted(
                    [*sent, *map(turned, fetched)], key=lambda one: struct.unpack_from("<II", one)
                )
            )
        )
    joined = trustbed.join(*files)
    capture = trustbed.analyze(str(files[0]), at="sender", host_of=joined.host_of)
    judged = [row for row in capture.rows(judged_only=True)]
    assert {
        (row["src"], row["verdict"], "sent_at_other_end" in row["verdict_flags"]) for row in judged
    } == {
        ("10.78.0.1", "review", False),
        ("10.78.0.2", "review", True),
    }
    assert [finding.code for finding in capture.judgement.findings].count("sent_at_other_end") == 1
    assert run_trustbed("--sender", str(files[0]), "--receiver", str(files[1])).returncode == 0


def test_a_capture_is_not_its_own_other_end(tmp_path: Path, run_trustbed: Trustbed) -> None:
    sender, receiver = ends("random-loss")
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(gzip.decompress(sender.read_bytes()))
    for second in (sender, copy):
        with pytest.raises(
            trustbed.CaptureError, match=r"a capture is given more than once: all [0-9]+ frames"
        ):
            trustbed.join(sender, second)
        with pytest.raises(trustbed.CaptureError, match="given more than once"):
            trustbed.join(sender, second, same_clock=True)
    ended = run_trustbed("--sender", str(receiver), "--receiver", str(receiver))
    assert ended.returncode == 1
    assert "hint: give one capture taken at the sender" in ended.stderr


def test_captures_of_different_packets_are_refused() -> None:
    with pytest.raises(
        trustbed.CaptureError, match="cannot be joined: 0 frames are in both captures"
    ):
        trustbed.join(ends("random-loss")[0], ends("self-congested")[1])
    with pytest.raises(ValueError, match="standard input"):
        trustbed.join("-", ends("random-loss")[1])


def test_the_command_judges_the_sender_and_reports_the_receiver(run_trustbed: Trustbed) -> None:
    sender, receiver = map(str, ends("random-loss"))
    ended = run_trustbed("--sender", sender, "--receiver", receiver)
    assert (ended.returncode, ended.stderr) == (0, "")
    text = " ".join(ended.stdout.split())
    assert "captured beside the sender (as given)" in text
    assert (
        "3,603 data frames sent, 40 lost (1.1 %) in 39 events between the two captures, the fate "
        "of 4 frames is unknown"
    ) in text
    assert "round trip 20.4 ms (p50): 20.4 ms on the path" in text
    commands = ("Next:", "      trustbed")  # not broken, so that they can be pasted
    assert all(
        len(line) <= 100 for line in ended.stdout.splitlines() if not line.startswith(commands)
    )


def test_json_and_tables_carry_it(tmp_path: Path, run_trustbed: Trustbed) -> None:
    sender, receiver = map(str, ends("guest-frozen"))
    ended = run_trustbed(
        "--sender",
        sender,
        "--receiver",
        receiver,
        "--same-clock",
        "--json",
        "--out",
        str(tmp_path / "out"),
    )
    document = json.loads(ended.stdout)
    jsonschema.validate(document, SCHEMA)
    rows = document["two_point"]["two_point"]
    assert document["two_point"]["clocks"]["ahead_error_seconds"] == 0
    assert (
        len(rows)
        == pyarrow.parquet.read_table(tmp_path / "out" / "two_point.parquet").num_rows
        == 4
    )
    assert sum(row["data_frames_lost"] for row in rows) == 0
    assert "two_point" not in json.loads(run_trustbed(sender, "--json").stdout)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sender", "a.pcap"], "--receiver is missing"),
        (["--receiver", "a.pcap"], "--sender is missing"),
        (["--sender", "a.pcap", "--receiver", "b.pcap", "c.pcap"], "c.pcap is neither"),
        (
            ["--sender", "a.pcap", "--receiver", "b.pcap", "--at", "middle"],
            "--at contradicts --sender",
        ),
        (["--sender", "-", "--receiver", "b.pcap"], "read twice"),
        (["--same-clock", "a.pcap"], "two captures"),
    ],
)
def test_half_of_a_pair_of_options_is_refused(
    words: list[str], message: str, run_trustbed: Trustbed
) -> None:
    ended = run_trustbed(*words)
    assert ended.returncode == 2
    assert message in ended.stderr


def test_a_missing_end_is_named(tmp_path: Path, run_trustbed: Trustbed) -> None:
    ended = run_trustbed(
        "--sender", str(ends("random-loss")[0]), "--receiver", str(tmp_path / "gone.pcap")
    )
    assert ended.returncode == 1
    assert "gone.pcap" in ended.stderr
    assert "hint: " in ended.stderr
