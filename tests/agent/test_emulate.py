"""`trustbed-agent emulate` between namespaces.

What it moves, what it does not and why, how it ends, what it refuses.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.namespaces import NoNamespaces, star
from tests.agent.emulated import FAR, NEAR, Box, LedgerFile
from tests.patience import PATIENCE
from trustbed.agent.client import binary

TEN_MS = {"delay_ns": 10_000_000}
DATAGRAMS = """
import socket, sys
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[2])):
    door.sendto(bytes(int(sys.argv[3])), (sys.argv[1], 9))
"""
FRAMES = """
import socket, sys
door = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
door.bind(("eth0", 0))
for frame in sys.argv[1:]:
    door.send(bytes.fromhex(frame))
"""
SEGMENTS = """
import socket, sys
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
door.setsockopt(17, 103, 1000)  # UDP_SEGMENT: one call, several datagrams of 1000 bytes
door.sendto(bytes(8000), (sys.argv[1], 9))
"""
STARTER = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=sys.stdin)
print(child.pid, flush=True)
child.wait()
"""


@contextlib.contextmanager
def made(*, rootless: bool) -> Iterator[Box]:
    with contextlib.ExitStack() as stack:
        try:
            middle, (near, far) = stack.enter_context(star(["near", "far"], rootless=rootless))
        except NoNamespaces as error:
            pytest.skip(str(error))
        box = Box(middle, near, far)
        try:
            yield box
        finally:
            for emulator in box.made:
                emulator.close()


@pytest.fixture
def box() -> Iterator[Box]:
    """Two hosts with nothing between them yet."""
    with made(rootless=False) as box:
        yield box


@pytest.fixture
def rootless_box() -> Iterator[Box]:
    """The same, made as a user without privileges would."""
    with made(rootless=True) as box:
        yield box


def pipe(report: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in report["pipes"] if one["name"] == name)
    return found


@pytest.mark.quiet
def test_a_one_way_delay_is_twice_that_round_trip_and_every_packet_is_counted(box: Box) -> None:
    emulator = box.emulator(box.configuration(TEN_MS))
    emulator.start()
    times = box.ping(10)
    report = emulator.end()
    assert len(times) == 10
    assert min(times) >= 20.0
    for name in ("up", "down"):
        assert (
            pipe(report, name)["packets"],
            pipe(report, name)["carried_packets"],
            pipe(report, name)["dropped"],
        ) == (10, 10, {})
    assert (report["offered_packets"], report["delivered_packets"], report["inside_packets"]) == (
        20,
        20,
        0,
    )
    assert [
        (port["received_packets"], port["sent_packets"], port["socket_drops"])
        for port in report["ports"]
    ] == [(10, 10, 0)] * 2
    assert (report["departure_error"]["packets"], report["departure_error"]["early_packets"]) == (
        20,
        0,
    )
    assert report["own"]["restamped_packets"] == 0


def test_the_other_protocol_is_moved_as_well(box: Box) -> None:
    for host, own, other in ((box.near, "fd00::1", "fd00::2"), (box.far, "fd00::2", "fd00::1")):
        host.ip(f"-6 address add {own}/64 dev eth0 nodad")
        host.ip(f"-6 neighbour add {other} lladdr 02:00:00:00:00:ff dev eth0 nud permanent")
    configuration = box.configuration(TEN_MS)
    for end, own in zip(
        configuration["topology"]["chain"]["ends"], ("fd00::1", "fd00::2"), strict=True
    ):
        end["addresses"].append(own)
    emulator = box.emulator(configuration)
    emulator.start()
    times = box.ping(3, to="fd00::2")
    report = emulator.end()
    assert len(times) == 3
    assert min(times) >= 20.0
    assert pipe(report, "up")["carried_packets"] == 3


def test_without_privileges_it_works_and_reports_what_is_missing(rootless_box: Box) -> None:
    box = rootless_box
    emulator = box.emulator(box.configuration(TEN_MS))
    assert emulator.first["priority"] == "normal"
    assert "CAP_SYS_NICE" in emulator.first["priority_refused"]
    emulator.start()
    times = box.ping(5)
    report = emulator.end()
    assert len(times) == 5
    assert min(times) >= 20.0
    assert report["own"]["priority_refused"] == emulator.first["priority_refused"]


def test_a_link_that_loses_everything_delivers_nothing(box: Box) -> None:
    emulator = box.emulator(
        box.configuration({"loss": {"kind": "independent", "probability": 1.0}}, {})
    )
    emulator.start()
    assert box.ping_in_vain(5) == []
    report = emulator.end()
    assert (
        pipe(report, "up")["packets"],
        pipe(report, "up")["carried_packets"],
        pipe(report, "up")["dropped"],
    ) == (5, 0, {"lost": 5})
    assert report["delivered_packets"] == 0


def test_the_ledger_adds_up_with_the_report(box: Box, tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    link = {
        "rate_bits_per_second": 20_000_000,
        "delay_ns": 1_000_000,
        "queue": {"kind": "drop_tail", "limit_packets": 20},
    }
    emulator = box.emulator(box.configuration(link, {}, ledger={"path": str(path)}))
    emulator.start()
    box.near_python(DATAGRAMS, FAR, "300", "1000")
    report = emulator.end()
    ledger = LedgerFile.read(path)
    assert report["ledger"] == {
        "path": str(path),
        "records": len(ledger.records),
        "lost": 0,
        "error": None,
    }
    up = ledger.head["pipes"].index("up")
    fates = [
        ledger.head["fates"][record["fate"]] for record in ledger.records if record["pipe"] == up
    ]
    printed = pipe(report, "up")
    # What found no room in the socket, or waited there, while the emulator did not get its
    # processor never came to the pipe.
    came = 300 - report["ports"][0]["socket_drops"] - report["ports"][0]["unread_packets"]
    assert printed["packets"] == len(fates) == came
    assert printed["carried_packets"] == fates.count("passed")
    assert printed["dropped"].get("queue_full", 0) == fates.count("queue_full")
    assert fates.count("passed") > 0
    assert fates.count("passed") + fates.count("queue_full") + fates.count("inside") == came
    none = ledger.head["none"]
    for record in ledger.records:
        if record["pipe"] == up and ledger.head["fates"][record["fate"]] == "passed":
            assert (
                record["arrived_ns"]
                < record["departed_ns"]
                < record["due_ns"]
                <= record["actual_ns"]
            )
            assert record["found_packets"] < 20
        elif record["pipe"] == up and ledger.head["fates"][record["fate"]] == "queue_full":
            assert (record["departed_ns"], record["actual_ns"], record["found_packets"]) == (
                none,
                none,
                20,
            )


def test_no_more_comes_out_than_the_link_carries(box: Box) -> None:
    rate = 20_000_000
    emulator = box.emulator(
        box.configuration(
            {"rate_bits_per_second": rate, "queue": {"kind": "drop_tail", "limit_packets": 50}}
        )
    )
    emulator.start()
    before = _received(box)
    for _ in range(5):
        box.near_python(DATAGRAMS, FAR, "2000", "1400")
    report = emulator.end()
    received = _received(box) - before
    assert pipe(report, "up")["dropped"]["queue_full"] > 0
    assert 0 < received * 8 <= rate * report["duration_ns"] / 1e9
    assert pipe(report, "up")["carried_bits_per_second"] <= rate


def _received(box: Box) -> int:
    printed = json.loads(
        box.far.run("ip", "-json", "-statistics", "link", "show", "dev", "eth0").stdout
    )
    received: int = printed[0]["stats64"]["rx"]["bytes"]
    return received


def test_frames_that_are_not_moved_are_counted_by_reason(box: Box) -> None:
    header = "0200000000ff020000000001"
    four = "45000014000000004011" + "0000" + "0a010001" + "0a020001"
    arp = header + "0806" + "00" * 28
    vlan = header + "8100" + "0005" + "0800" + four
    strange = header + "88b5" + "00" * 46
    broken = header + "0800" + four[:30]
    multicast = "01005e0000fb020000000001" + "0800" + four[:32] + "e00000fb"
    itself = header + "0800" + four[:32] + "0a010001"
    nowhere = header + "0800" + four[:32] + "0a630001"
    emulator = box.emulator(box.configuration({}))
    emulator.start()
    box.near_python(FRAMES, arp, arp, vlan, strange, broken, multicast, itself, nowhere, nowhere)
    report = emulator.end()
    near = report["ports"][0]
    assert near["refused"] == {"arp": 2, "not_ip": 1, "vlan": 1, "multicast": 1, "malformed": 1}
    assert report["refused"] == {"same_host": 1, "unknown_destination": 2}
    assert (near["received_packets"], report["delivered_packets"]) == (9, 0)


def test_what_offloading_made_of_packets_is_counted_and_not_moved(box: Box) -> None:
    box.offloads("on")
    emulator = box.emulator(box.configuration({}))
    emulator.start()
    box.near_python(SEGMENTS, FAR)
    box.near_python(DATAGRAMS, FAR, "3", "100")
    report = emulator.end()
    assert report["ports"][0]["refused"] == {"oversized": 1, "checksum_missing": 3}
    assert report["delivered_packets"] == 0


def test_what_came_before_the_start_is_not_moved(box: Box) -> None:
    emulator = box.emulator(box.configuration({}))
    box.near_python(DATAGRAMS, FAR, "7", "100")
    emulator.start()
    report = emulator.end()
    assert (report["ports"][0]["refused"], report["ports"][0]["unread_packets"]) == (
        {"before_start": 7},
        0,
    )
    assert report["offered_packets"] == 0


def test_times_of_links_begin_at_the_start_signal(box: Box) -> None:
    hour = 3_600_000_000_000
    dark = {"outages": [{"at_ns": 0, "lasts_ns": hour}], "delay_ns": 1_000_000}
    emulator = box.emulator(box.configuration(dark, {}, times="on_command"))
    emulator.start()
    assert len(box.ping(3)) == 3
    assert emulator.child.stdin is not None
    emulator.child.stdin.write(json.dumps({"do": "times", "at_ns": time.time_ns()}) + "\n")
    emulator.child.stdin.flush()
    answered = next(attempt for attempt in range(20) if not box.ping_in_vain(1))
    assert box.ping_in_vain(3) == []
    report = emulator.end()
    assert pipe(report, "up")["dropped"] == {"outage": 4}
    assert report["delivered_packets"] == 2 * (3 + answered)


def test_times_that_have_begun_with_the_start_begin_once(box: Box) -> None:
    emulator = box.emulator(
        box.configuration({"outages": [{"at_ns": 0, "lasts_ns": 3_600_000_000_000}]}, {})
    )
    emulator.start()
    assert box.ping_in_vain(2) == []
    assert emulator.child.stdin is not None
    emulator.child.stdin.write(json.dumps({"do": "times", "at_ns": time.time_ns()}) + "\n")
    emulator.child.stdin.flush()
    printed = emulator.last()
    assert (printed["event"], emulator.child.returncode) == ("error", 2)
    assert '"on_command"' in printed["hint"]


@pytest.mark.parametrize("how", ["stdin", "stop", "SIGINT", "SIGTERM"])
def test_it_reports_however_it_is_ended(box: Box, how: str) -> None:
    emulator = box.emulator(box.configuration(TEN_MS))
    emulator.start()
    assert len(box.ping(2)) == 2
    if how == "stop":
        assert emulator.child.stdin is not None
        emulator.child.stdin.write('{"do":"stop"}\n')
        emulator.child.stdin.flush()
    elif how != "stdin":
        emulator.child.send_signal(getattr(signal, how))
    last = emulator.end() if how == "stdin" else emulator.last()
    assert (last["event"], last["delivered_packets"], emulator.child.returncode) == ("report", 4, 0)


def test_an_agent_that_is_ended_before_the_start_reports_nothing_more(box: Box) -> None:
    emulator = box.emulator(box.configuration(TEN_MS))
    assert emulator.child.stdin is not None
    emulator.child.stdin.close()
    assert emulator.child.wait(PATIENCE) == 0


def test_a_killed_one_leaves_nothing_and_the_next_one_works(box: Box, tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    killed = box.emulator(box.configuration(TEN_MS, ledger={"path": str(path)}))
    killed.start()
    assert len(box.ping(8)) == 8
    killed.child.kill()
    killed.child.wait()
    # One line, the names of the columns: no packet socket is left.
    assert len(box.middle.run("cat", "/proc/net/packet").stdout.splitlines()) == 1
    LedgerFile.read(path)
    after = box.emulator(box.configuration(TEN_MS, ledger={"path": str(path)}))
    after.start()
    assert len(box.ping(2)) == 2
    assert after.end()["ledger"]["records"] == 4


def test_a_full_disk_costs_records_but_no_packets(box: Box) -> None:
    box.middle.run("mount", "-t", "tmpfs", "-o", "size=32k", "none", "/mnt")
    emulator = box.emulator(box.configuration({}, ledger={"path": "/mnt/ledger"}))
    emulator.start()
    # One at a time: what the kernel drops while the emulator does not get its processor would not
    # be the disk's fault.
    answered = box.ping(2000)
    report = emulator.end()
    ledger = report["ledger"]
    assert ledger["lost"] > 0
    assert "No space" in ledger["error"]
    assert len(answered) == 2000
    assert pipe(report, "up")["carried_packets"] == pipe(report, "down")["carried_packets"] == 2000
    records = sum(one["packets"] for one in report["pipes"])
    assert ledger["records"] + ledger["lost"] == records


def test_an_interface_that_goes_down_is_reported(box: Box) -> None:
    emulator = box.emulator(box.configuration({}))
    emulator.start()
    assert len(box.ping(2)) == 2
    box.middle.ip("link set far down")
    assert box.ping_in_vain(3) == []
    report = emulator.end()
    assert report["unsent_packets"] == 3
    assert any("send" in error for error in report["ports"][1]["errors"])


WRONG: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "unknown key": (lambda it: it.update(seeds=1), "seeds"),
    "no host of that name": (
        lambda it: it["ports"][0].update(host="Near"),
        'ports: there is no host "Near"; did you mean "near"',
    ),
    "no port": (lambda it: it["ports"].pop(), '"far" has none'),
    "no such interface": (lambda it: it["ports"][0].update(interface="eth7"), "eth7"),
    "one interface twice": (lambda it: it["ports"][0].update(interface="far"), "far"),
    "no address": (lambda it: it["ports"][0].update(mac="02:00"), "02:00"),
    "not Ethernet": (lambda it: it["ports"][0].update(interface="lo"), "lo"),
    "rate of zero": (
        lambda it: it["topology"]["chain"]["up"][0].update(rate_bits_per_second=0),
        "rate",
    ),
    "no directory": (lambda it: it.update(ledger={"path": "/nowhere/ledger"}), "/nowhere/ledger"),
    "no such router": (
        lambda it: it.update(taps=[{"router": "left", "path": "/nowhere/left.pcapng"}]),
        'taps: there is no router "left"',
    ),
    "no directory of a capture": (
        lambda it: (
            it["topology"]["chain"].update(up=[{}, {}], down=[{}, {}])
            or it.update(taps=[{"router": "r1", "path": "/nowhere/r1"}])
        ),
        "/nowhere/r1",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_configuration_is_one_error_with_a_hint(box: Box, case: str) -> None:
    change, named = WRONG[case]
    configuration = box.configuration(dict(TEN_MS), dict(TEN_MS))
    change(configuration)
    emulator = box.emulator(configuration)
    assert emulator.first["event"] == "error"
    assert named in emulator.first["message"]
    assert emulator.first["hint"]
    assert emulator.child.wait(PATIENCE) == 2


def test_an_interface_that_is_down_is_refused(box: Box) -> None:
    box.middle.ip("link set far down")
    emulator = box.emulator(box.configuration(TEN_MS))
    assert (emulator.first["event"], emulator.child.wait(PATIENCE)) == ("error", 2)
    assert "ip link set far up" in emulator.first["hint"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"topology":'])
def test_what_is_no_configuration_is_refused(text: str) -> None:
    ended = subprocess.run(
        [binary(), "emulate"],
        input=text,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 2
    assert json.loads(ended.stdout)["hint"].startswith("the first line")


def test_without_permission_the_error_names_it_and_an_alternative(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    shutil.copy(binary(), program)
    command = [str(program), "emulate"]
    if os.geteuid() == 0:
        for directory in (tmp_path, *tmp_path.parents[:-2]):
            directory.chmod(0o755)
        command = [
            "setpriv",
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            "--bounding-set",
            "-all",
            *command,
        ]
    ends = [{"name": "near", "addresses": [NEAR]}, {"name": "far", "addresses": [FAR]}]
    ports = [{"host": name, "interface": "lo", "mac": "02:00:00:00:00:01"} for name in ("near",)]
    ports.append({"host": "far", "interface": "other", "mac": "02:00:00:00:00:02"})
    text = (
        json.dumps(
            {"topology": {"chain": {"ends": ends, "up": [{}], "down": [{}]}}, "ports": ports}
        )
        + "\n"
    )
    ended = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    printed = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert "CAP_NET_RAW" in printed["message"]
    assert "unshare --user" in printed["hint"]


def test_it_is_one_static_program() -> None:
    loaded = subprocess.run(["ldd", str(binary())], capture_output=True, text=True, check=False)
    assert re.search("statically linked|not a dynamic executable", loaded.stdout + loaded.stderr)
    assert binary().stat().st_size <= 15_000_000


def test_an_unknown_verb_is_answered_with_those_that_there_are() -> None:
    ended = subprocess.run(
        [binary(), "emulat"], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    printed = json.loads(ended.stdout)
    assert ended.returncode == 2
    assert "emulate" in printed["hint"]


def test_it_does_not_outlive_its_owner(box: Box) -> None:
    read, write = os.pipe()
    command = box.middle.enter([sys.executable, "-c", STARTER, str(binary()), "emulate"])
    starter = subprocess.Popen(command, stdin=read, stdout=subprocess.PIPE, text=True)
    os.close(read)
    assert starter.stdout is not None
    try:
        number = int(starter.stdout.readline())
        os.write(write, json.dumps(box.configuration(TEN_MS)).encode() + b"\n")
        assert json.loads(starter.stdout.readline())["event"] == "ready"
        starter.kill()
        starter.wait()
        # Its standard input is open all the while; the end of its output is its end.
        assert starter.stdout.read() == ""
        assert not Path(f"/proc/{number}/exe").exists()
    finally:
        os.close(write)
        starter.kill()
        starter.wait()
        starter.stdout.close()
