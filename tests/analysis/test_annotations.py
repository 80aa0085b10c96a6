"""An annotated capture is the capture, and its comments are what the tables have.

tshark, which knows nothing of trustbed, reads both files; where it is missing, tests are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import trustbed
from tests.pcap_records import records
from trustbed import _core
from trustbed.analysis import annotations
from trustbed.analysis.capture import analyze
from trustbed.cli import main
from trustbed.report import wireshark
from trustbed.report.placing import OutputError
from trustbed.report.transfer import comments

ROOT = Path(__file__).resolve().parent.parent.parent
PAUSES = ROOT / "recordings" / "application-limited.sender.pcap.gz"
LOSSES = ROOT / "recordings" / "self-congested.sender.pcap.gz"
FAR = ROOT / "recordings" / "guest-quota.receiver.pcap.gz"
POLICED = ROOT / "tests" / "cases" / "policer.pcapng.zst"

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def tshark(path: Path, *options: str, config: Path | None = None) -> tuple[str, str]:
    """What tshark prints on standard output and standard error, without settings of the user."""
    environment = {**os.environ, "WIRESHARK_CONFIG_DIR": str(config or path.parent / "none")}
    done = subprocess.run(
        ["tshark", "-r", str(path), *options],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    return done.stdout, done.stderr


def fields(path: Path, *names: str) -> list[list[str]]:
    """Fields of every packet, as tshark reads them; of several values in one, all."""
    wanted = [word for name in names for word in ("-e", name)]
    shown, _ = tshark(path, "-T", "fields", "-E", "aggregator=|", *wanted)
    return [line.split("\t") for line in shown.splitlines()]


COMMENTS = ("frame.number", "frame.comment")


def commented(rows: list[list[str]]) -> dict[int, list[str]]:
    """The comments of each packet that has some, of rows whose first fields are ``COMMENTS``."""
    return {int(number): shown.split("|") for number, shown, *_ in rows if shown}


def octets(path: Path, to: Path) -> bytes:
    """Every packet as editcap reads it: its time, its lengths and every byte that was kept."""
    subprocess.run(["editcap", "-F", "nsecpcap", str(path), str(to)], check=True)
    return to.read_bytes()[24:]  # after the header, which has the length of the longest packet


def ours(shown: dict[int, list[str]], beginning: str) -> dict[int, list[str]]:
    """Comments that begin so, by packet."""
    found = {
        number: [one for one in held if one.startswith(f"trustbed: {beginning}")]
        for number, held in shown.items()
    }
    return {number: held for number, held in found.items() if held}


def count(found: dict[int, list[str]]) -> int:
    return sum(map(len, found.values()))


@needs_tshark
@pytest.mark.parametrize("capture", [PAUSES, POLICED], ids=["pcap.gz", "pcapng.zst"])
def test_packets_are_those_of_the_capture(capture: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    written = analyze(capture).annotate(path)
    names = ["frame.time_epoch", "frame.len", "frame.cap_len", "frame.encap_type"]
    if capture == POLICED:  # the classic format has no interfaces and no flags
        names += ["frame.interface_id", "frame.interface_name", "frame.packet_flags"]
    rows, original = fields(path, *COMMENTS, *names), fields(capture, "frame.number", *names)
    assert [[number, *values] for number, _, *values in rows] == original
    assert octets(path, tmp_path / "ours.pcap") == octets(capture, tmp_path / "theirs.pcap")
    shown = commented(rows)
    assert written.packets == len(original)
    assert written.comments == count(shown) > 50
    assert written.unplaced == 0
    pattern = re.compile(r"trustbed: [^\n]+ \(transfer [\d.]+:\d+ → [\d.]+:\d+\)")
    assert [one for held in shown.values() for one in held if not pattern.fullmatch(one)] == []


@needs_tshark
def test_every_pause_phase_and_repetition_of_the_tables_has_its_comment(tmp_path: Path) -> None:
    for place, path in (("pauses", PAUSES), ("losses", LOSSES)):
        out = tmp_path / f"{place}.pcapng"
        capture = analyze(path, samples=True)
        capture.annotate(out)
        shown = commented(fields(out, *COMMENTS))
        assert (
            count(ours(shown, "sender idle"))
            == pc.sum(capture.transfers["idle_open_window_samples"]).as_py()
        )
        phases = capture.phases.group_by(["transfer", "phase"]).aggregate([])
        assert count(ours(shown, "phase begins")) == phases.num_rows
        segments = capture.segments
        again = segments.filter(pc.not_equal(segments["class"], "new"))
        repeated = {*ours(shown, "fast"), *ours(shown, "retrans"), *ours(shown, "tail")}
        repeated |= {*ours(shown, "spurious"), *ours(shown, "1"), *ours(shown, "2")}
        assert set(again["index"].to_pylist()) <= repeated
        assert (place == "pauses") == (again.num_rows == 0)


@needs_tshark
def test_a_pause_begins_where_nothing_is_sent_for_so_long(tmp_path: Path) -> None:
    out = tmp_path / "x.pcapng"
    analyze(PAUSES).annotate(out)
    rows = fields(out, *COMMENTS, "frame.time_relative", "tcp.srcport", "tcp.len")
    packets = [(int(number), float(at), port, int(length)) for number, _, at, port, length in rows]
    times = {number: at for number, at, _, _ in packets}
    pauses = ours(commented(rows), "sender idle")
    assert len(pauses) > 20
    for number, (comment, *_) in pauses.items():
        stated = re.search(r"idle ([\d.]+) (ms|s) .* \(transfer [\d.]+:(\d+) ", comment)
        assert stated is not None
        seconds = float(stated[1]) / (1e3 if stated[2] == "ms" else 1)
        following = next(
            at
            for packet, at, port, length in packets
            if packet > number and port == stated[3] and length
        )
        assert following - times[number] == pytest.approx(seconds, rel=0.01, abs=1e-5)


@needs_tshark
def test_what_the_policer_dropped_is_sent_again_later(tmp_path: Path) -> None:
    out = tmp_path / "x.pcapng"
    analyze(POLICED).annotate(out)
    rows = fields(out, *COMMENTS, "tcp.seq", "tcp.len", "frame.time_relative", "tcp.dstport")
    data = {
        int(number): (int(seq), int(seq) + int(length), float(at))
        for number, _, seq, length, at, port in rows
        if port == "5001"
    }
    shown = commented(rows)
    drops = ours(shown, "policer drops")
    assert len(drops) > 30
    repeats = {**ours(shown, "fast"), **ours(shown, "retransmission")}
    for number, (comment,) in drops.items():
        start, end, at = data[number]
        stated = re.search(r"drops ([\d,]+) bytes .* sent again ([\d.]+) (ms|s) later", comment)
        assert stated is not None
        octets = int(stated[1].replace(",", ""))
        assert 0 < octets <= end - start
        after = float(stated[2]) / (1e3 if stated[3] == "ms" else 1)
        overlapping = [
            data[repeat][2]
            for repeat in repeats
            if repeat > number and data[repeat][0] < end and data[repeat][1] > start
        ]
        assert min(overlapping) - at == pytest.approx(after, rel=0.01, abs=1e-5)
    stated_bytes = [
        int(octets.replace(",", ""))
        for held in drops.values()
        for octets in re.findall(r"drops ([\d,]+) bytes", held[0])
    ]
    assert sum(stated_bytes) == sum(data[repeat][1] - data[repeat][0] for repeat in repeats)


@needs_tshark
def test_a_rotated_capture_has_the_comments_of_the_whole(tmp_path: Path) -> None:
    head, held = records(PAUSES)
    third = len(held) // 3
    parts = [held[:third], held[third : 2 * third], held[2 * third :]]
    files = [tmp_path / f"{number}.pcap" for number in range(3)]
    for file, part in zip(files, parts, strict=True):
        file.write_bytes(head + b"".join(part))
    whole, rotated = tmp_path / "whole.pcapng", tmp_path / "rotated.pcapng"
    analyze(PAUSES).annotate(whole)
    analyze([files[2], files[0], files[1]]).annotate(rotated)
    assert rotated.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("capture", [LOSSES, FAR], ids=["losses", "receiver"])
def test_annotating_again_replaces_the_comments(capture: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.pcapng", tmp_path / "two.pcapng"
    first = analyze(capture)
    written = first.annotate(one)
    again = analyze(one, annotations=True, workers=1)
    assert again.transfers == first.transfers
    assert again.annotate(two) == written
    assert written.unplaced == 0
    assert two.read_bytes() == one.read_bytes()


def test_a_capture_that_changed_since_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    head, held = records(PAUSES)
    source, out = tmp_path / "a.pcap", tmp_path / "out.pcapng"
    source.write_bytes(head + b"".join(held[:1000]))
    out.write_text("what was there")
    capture = analyze(source, annotations=True)
    source.write_bytes(head + b"".join(held[:1200]))
    with pytest.raises(_core.CaptureError, match="changed since it was analysed") as caught:
        capture.annotate(out)
    assert "copy of it" in caught.value.hint
    assert out.read_text() == "what was there"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.pcap", "out.pcapng"]


def test_the_capture_itself_is_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.pcap"
    head, held = records(PAUSES)
    source.write_bytes(before := head + b"".join(held[:100]))
    (tmp_path / "link.pcapng").symlink_to(source)
    os.link(source, tmp_path / "hard.pcapng")
    for name in ("a.pcap", "link.pcapng", "hard.pcapng"):
        assert main(["analyze", str(source), "--annotate", str(tmp_path / name)]) == 1
        told = capsys.readouterr()
        assert told.out == ""
        assert "is the capture itself, which stays as it is" in told.err
        assert "hint: give the annotated one another name" in told.err
    assert source.read_bytes() == before


def test_what_cannot_be_annotated_is_refused_before_the_analysis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_core, "analyze", lambda *_, **__: pytest.fail("it was analysed"))
    for words, message in (
        (["-", "--annotate", str(tmp_path / "x.pcapng")], "cannot be read again to be annotated"),
        ([str(PAUSES), "--annotate", str(tmp_path)], "is a directory, not a file"),
        ([str(PAUSES), "--annotate", str(tmp_path / "no" / "x")], "directory does not exist"),
    ):
        assert main(["analyze", *words]) == 1
        told = capsys.readouterr().err
        assert message in told
        assert "\nhint: " in told
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_with_the_path() -> None:
    with pytest.raises(OutputError, match=r"cannot be written: no space left .*, /dev/full"):
        analyze(PAUSES).annotate("/dev/full")


def test_the_command_writes_both_files_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, profile = tmp_path / "x.pcapng", tmp_path / "config" / "profiles" / "trustbed"
    words = ["analyze", str(PAUSES), "--annotate", str(out), "--wireshark-profile", str(profile)]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert re.search(rf"wrote {re.escape(str(out))}: \d+ comments on 3,409 packets\n", told)
    assert f"wrote {profile}\n" in told
    assert sorted(file.name for file in profile.iterdir()) == sorted(wireshark.FILES)
    assert out.stat().st_mode & 0o777 == 0o600


@needs_tshark
def test_wireshark_takes_the_profile_and_shows_its_columns(tmp_path: Path) -> None:
    out, profile = tmp_path / "x.pcapng", tmp_path / "profiles" / "trustbed"
    analyze(PAUSES).annotate(out)
    wireshark.write(profile)

    def shown(*options: str) -> tuple[list[str], str]:
        told, troubles = tshark(out, "-C", "trustbed", "--color", *options, config=tmp_path)
        told = re.sub(r"\x1b\[[\d;]*m", "", told)
        return told.splitlines(), "\n".join(
            line for line in troubles.splitlines() if "Running as user" not in line
        )

    lines, troubles = shown()
    assert troubles == ""
    rows = fields(out, *COMMENTS, "tcp.stream", "tcp.seq", "tcp.len", "tcp.window_size")
    number, (comment, *_) = next(iter(ours(commented(rows), "sender idle").items()))
    columns = rows[number - 1][len(COMMENTS) :]
    assert comment in lines[number - 1]
    for value in columns:
        assert re.search(rf"\b{value}\b", lines[number - 1].replace(comment, ""))
    # tshark does complain about each file when something in it is wrong.
    for name, wrong in (
        ("preferences", "gui.no_such_preference: 1\n"),
        ("dfilter_buttons", '"TRUE","cut\n'),
    ):
        right = (profile / name).read_text()
        (profile / name).write_text(right + wrong)
        assert shown("-c", "1")[1] != "", name
        (profile / name).write_text(right)
    filters = [
        line.split("@")[2]
        for line in (profile / "colorfilters").read_text().splitlines()
        if line.startswith("@")
    ]
    buttons = (profile / "dfilter_buttons").read_text()
    for name in re.findall(r'^"TRUE","[^"]+","([^"]+)"', buttons, re.M):
        filters.append(name.replace("\\x22", '"'))
    every = " or ".join(f"({one})" for one in filters)
    tshark(out, "-c", "1", "-Y", every)  # fails if one of them is no filter


def test_a_profile_of_the_users_own_is_kept(tmp_path: Path) -> None:
    wireshark.write(tmp_path / "ours")
    wireshark.write(tmp_path / "ours")
    own = tmp_path / "own" / "preferences"
    own.parent.mkdir()
    own.write_text("# Configuration file for Wireshark 4.0.17.\n")
    with pytest.raises(OutputError, match="holds a profile of your own"):
        wireshark.write(own.parent)
    assert [file.name for file in own.parent.iterdir()] == ["preferences"]
    wireshark.write(own.parent, force=True)
    assert own.read_text().startswith("# Made by trustbed")
    wireshark.write(own.parent)
    changed = own.read_text() + "gui.column.width: 80\n"
    own.write_text(changed)
    words = ["analyze", str(PAUSES), "--wireshark-profile", str(own.parent)]
    assert main(words) == 1
    assert own.read_text() == changed
    assert main([*words, "--force"]) == 0
    assert own.read_text() != changed
    with pytest.raises(OutputError, match="not a directory"):
        wireshark.write(own)


def test_comments_hold_no_control_characters() -> None:
    comment = comments.of("a\x1b[2Jb", "10.0.0.1\u202e:1 → [::1]:2")
    assert comment == "trustbed: a\\x1b[2Jb (transfer 10.0.0.1\\u202e:1 → [::1]:2)"


def test_a_copy_that_was_lost_twice_and_a_repeat_of_two_segments() -> None:
    """By hand: bytes 0–20 in two segments, sent again together, and the first half once more."""

    def one(index: int, start: int, end: int) -> annotations._Sent:
        return annotations._Sent(index, 1000 * index, start, end)

    copies = [one(1, 0, 10), one(2, 10, 20), one(3, 20, 30), one(5, 0, 20), one(9, 0, 10)]
    found = annotations._dropped([one(5, 0, 20), one(9, 0, 10)], copies)
    assert found == {1: (10, 4000), 2: (10, 3000), 5: (10, 4000)}
    ranges = annotations._Ranges([one(5, 0, 20), one(9, 15, 25)])
    assert [ranges.meet(one(1, *span)) for span in ((0, 1), (24, 30), (25, 30))] == [
        True,
        True,
        False,
    ]


def test_the_library_says_what_it_wrote(tmp_path: Path) -> None:
    capture = trustbed.analyze(PAUSES, annotations=True)
    assert "segments" not in capture.tables
    written = capture.annotate(tmp_path / "x.pcapng")
    assert written.packets == capture.facts["records"]
    again: pa.Table = trustbed.analyze(tmp_path / "x.pcapng").transfers
    assert again["verdict"].to_pylist() == capture.transfers["verdict"].to_pylist()
