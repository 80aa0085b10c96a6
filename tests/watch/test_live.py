"""`trustbed watch` against real traffic between two namespaces.

Its numbers, its ends, what goes wrong around it.
"""

from __future__ import annotations

import itertools
import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.patience import PATIENCE, wait_until
from tests.watch.conftest import TRUSTBED, Network, end
from trustbed.analysis.burst import burst

Windows = dict[float, tuple[Any, ...]]

GET = """
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], method=sys.argv[2])
try:
    answer = urllib.request.urlopen(request, timeout=100)
except urllib.error.HTTPError as error:
    answer = error
print(answer.status, answer.headers["Content-Type"])
print(answer.read().decode(), end="")
"""
KEYS = ("abw_bits_per_second", "max_q_bytes", "max_q_sys_bytes", "packets", "rate_bits_per_second")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(one) for one in text.splitlines()]


def with_packets(windows: list[dict[str, Any]]) -> Windows:
    """Start in milliseconds → numbers, of complete windows with packets."""
    found = (window for window in windows if window["packets"] and not window["partial"])
    return {
        round(window["start_seconds"] * 1000): tuple(window[key] for key in KEYS)
        for window in found
    }


QUESTIONS = [
    [],
    ["--rate", "3Mbit/s", "--window", "20ms", "--basis", "wire"],
    ["--mode", "dynamic-previous", "--window", "50ms", "--basis", "ip", "--filter", "udp or tcp"],
    [
        "--mode",
        "dynamic-same-carry",
        "--basis",
        "frame_fcs",
        "--offload",
        "as-captured",
        "--filter",
        "greater 100",
    ],
]


@pytest.mark.quiet
@pytest.mark.parametrize("options", QUESTIONS, ids=lambda options: " ".join(options) or "defaults")
def test_the_numbers_are_those_of_burst_on_the_file_that_was_written(
    network: Network, tmp_path: Path, options: list[str]
) -> None:
    path = tmp_path / "left.pcapng"
    child = network.watch("--json", "--write", str(path), *options)
    network.bursts()
    network.transfer(3_000_000)
    code, out, err = end(child)
    assert code == 0, err
    live = lines(out)
    named = dict(
        zip([word.removeprefix("--") for word in options[::2]], options[1::2], strict=True)
    )
    named.pop("filter", None)  # what is in the file is what the filter meant
    result = burst([path], by="direction", only=["windows"], **named)  # type: ignore[arg-type]
    model = result.model
    streams = {"all": model, **{stream["name"]: stream for stream in model["streams"]}}
    assert set(streams) == {"in", "out", "all"}
    for name, stream in streams.items():
        watched = with_packets([window for window in live if window["direction"] == name])
        filed = with_packets(stream["windows"])
        # The file ends with its last packet, the watch with Ctrl-C: where that completed a window,
        # only the watch knows.
        last = round(stream["windows"][-1]["start_seconds"] * 1000)
        watched = {start: numbers for start, numbers in watched.items() if start != last}
        if watched != filed and model["steps_back"]:
            # Of a file the times behind it are shifted; live, they are not.
            late = model["capture"]["clock_step_max_seconds"]
            pytest.xfail(
                f"a frame was handed on {late:.3f} s after its stamp, behind younger ones: its "
                "processor was withheld"
            )
        assert watched == filed, name
    assert (
        sum(window["packets"] for window in live if window["direction"] == "all")
        == model["packets"]
    )
    super_packets = "as-captured" not in options
    assert bool(model["expanded_packets"]) == super_packets, (
        "the transfer was made of super-packets"
    )
    assert "0 dropped" in err


@pytest.mark.quiet
def test_a_line_per_window_and_direction(network: Network) -> None:
    child = network.watch("--json", "--count", "4")
    network.bursts(30)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0
    found = lines(out)
    starts = [round(window["start_seconds"], 3) for window in found]
    assert starts == sorted(starts)
    for direction in ("in", "out", "all"):
        own = [window for window in found if window["direction"] == direction]
        # Windows without packets that became complete at once, as on a machine that was busy, are
        # one line.
        assert sum(window["windows"] for window in own) == 4
        assert all(window["windows"] == 1 for window in own if window["packets"])
        for window, after in itertools.pairwise(own):
            assert after["start_seconds"] == pytest.approx(
                window["start_seconds"] + 0.1 * window["windows"], abs=1e-3
            )
    wanted = {"start_seconds", "partial", "windows", "bytes", "direction", "trains", *KEYS}
    wanted |= {
        "train_packets_mean",
        "train_packets_max",
        "train_bytes_max",
        "kernel_received",
        "kernel_dropped",
    }
    assert all(set(window) == wanted for window in found)
    busy = [window for window in found if window["direction"] == "out" and window["packets"]]
    assert all(1 <= window["train_packets_max"] <= window["packets"] for window in busy)
    assert err.count("windows of 100 ms") == 1, "the summary is on standard error"


def test_only_what_matches_the_filter_is_measured_and_written(
    network: Network, tmp_path: Path
) -> None:
    path = tmp_path / "left.pcapng"
    child = network.watch(
        "--json", "--write", str(path), "--filter", "src host 10.0.0.2 and udp", "--by", "none"
    )
    network.bursts(20)
    code, out, err = end(child)
    assert code == 0
    found = lines(out)
    assert {window["direction"] for window in found} == {"all"}
    sent = sum(1 + number % 7 for number in range(10))
    assert (
        sum(window["packets"] for window in found)
        == sent
        == burst([path], only=["windows"]).model["packets"]
    )
    assert "left out by the filter" in err


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_a_signal_ends_it_with_a_summary_and_a_whole_file(
    network: Network, tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "left.pcapng"
    child = network.watch("--write", str(path))
    network.bursts(20)
    code, out, err = end(child, number)
    assert (code, err) == (0, "")
    measured = burst([path], only=["windows"])
    capture = measured.model["capture"]
    assert not measured.damage
    (interface,) = capture["files"][0]["interfaces"]
    assert (interface["received"], interface["dropped"]) == (capture["records"], 0)
    assert f"wrote {path}: {capture['records']} frames" in out
    assert f"kernel: {capture['records']} frames received, 0 dropped" in out
    assert "max queue" in out


def test_a_reader_that_goes_away_ends_it_and_the_file_is_whole(
    network: Network, tmp_path: Path
) -> None:
    path = tmp_path / "left.pcapng"
    child = network.watch("--json", "--write", str(path), "--window", "10ms")
    network.bursts(20)
    assert child.stdout is not None
    assert child.stdout.readline()
    child.stdout.close()
    assert child.wait(timeout=PATIENCE) == 141
    measured = burst([path], only=["windows"])
    assert measured.model["packets"] > 0
    assert not measured.damage


def test_a_full_disk_is_reported_once_and_watching_goes_on(network: Network) -> None:
    network.near.run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt")
    child = network.watch("--write", "/mnt/left.pcapng", "--json")
    network.bursts(400)
    code, out, err = end(child)
    assert code == 1
    assert err.count("error: ") == 1
    assert "/mnt/left.pcapng: writing failed after" in err
    assert "hint: make room or write elsewhere" in err
    network.near.run(TRUSTBED, "burst", "/mnt/left.pcapng", "--strict")
    sent = sum(1 + number % 7 for number in range(400))
    assert sum(window["packets"] for window in lines(out) if window["direction"] == "out") >= sent


def test_an_interface_that_vanishes_ends_it_and_what_was_measured_stays(
    network: Network, tmp_path: Path
) -> None:
    path = tmp_path / "left.pcapng"
    child = network.watch("--json", "--write", str(path))
    network.bursts(20)
    network.near.ip("link delete left")
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 1
    assert "error: left: the interface has vanished" in err
    assert "hint: what was captured until then is kept" in err
    sent = sum(1 + number % 7 for number in range(20))
    assert sum(window["packets"] for window in lines(out) if window["direction"] == "out") >= sent
    assert burst([path], only=["windows"]).model["packets"] == sum(
        window["packets"] for window in lines(out) if window["direction"] == "all"
    )


def test_an_interface_that_goes_down_and_up_again_is_waited_for(network: Network) -> None:
    child = network.watch("--json")
    network.near.ip("link set left down")
    assert child.stderr is not None
    assert child.stderr.readline() == "warning: left: the interface is down\n"
    network.near.ip("link set left up")
    network.bursts(20)
    code, out, err = end(child)
    assert code == 0
    assert "note: left: the interface is up again" in err
    assert any(window["packets"] for window in lines(out))


@pytest.mark.parametrize("strict", [False, True])
def test_frames_that_the_kernel_dropped_are_never_hidden(
    network: Network, tmp_path: Path, *, strict: bool
) -> None:
    path = tmp_path / "left.pcapng"
    options = ["--strict"] if strict else []
    child = network.watch(
        "--json", "--ring", "64KiB", "--snap", "1514", "--write", str(path), *options
    )
    child.send_signal(signal.SIGSTOP)
    network.python(DROPS, "10.0.0.2")
    child.send_signal(signal.SIGCONT)
    code, out, err = end(child)
    dropped = lines(out)[-1]["kernel_dropped"]
    assert dropped > 0
    assert code == int(strict)
    assert f"{'error' if strict else 'warning'}: the kernel dropped {dropped:,} of " in err
    assert "hint: rates and queues are too low" in err
    (interface,) = burst([path], only=["windows"]).model["capture"]["files"][0]["interfaces"]
    assert interface["dropped"] == dropped


DROPS = """
import socket, sys
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
for _ in range(2000):
    out.sendto(bytes(1400), (sys.argv[1], 9))
"""


def test_a_scraper_reads_the_metrics(network: Network) -> None:
    child = network.watch("--rate", "1Mbit/s")
    network.bursts(60)
    url: str = child.url  # type: ignore[attr-defined]

    def scrape() -> tuple[str, str]:
        status, text = network.python(GET, url, "GET").stdout.split("\n", 1)
        return status, text

    wait_until(
        lambda: 'trustbed_watch_windows_total{interface="left",direction="out"}' in scrape()[1],
        "a window in the metrics",
    )
    status, text = scrape()
    assert status == "200 application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert text.endswith("# EOF\n")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    samples = {
        (sample.name, sample.labels.get("direction")): sample.value
        for family in families.values()
        for sample in family.samples
    }
    assert families["trustbed_watch_interface"].samples[0].labels["mode"] == "static"
    assert samples["trustbed_watch_packets_total", "out"] > 0
    assert samples["trustbed_watch_kernel_dropped_frames_total", None] == 0
    assert samples["trustbed_watch_bottleneck_bits_per_second", None] == 1e6
    assert families["trustbed_watch_length_bytes"].unit == "bytes"
    assert (
        samples["trustbed_watch_queue_bytes_count", "all"]
        == samples["trustbed_watch_windows_total", "all"]
    )
    assert network.python(GET, url, "HEAD").stdout.split("\n", 1) == [status, ""]
    assert network.python(GET, url.replace("metrics", "secrets"), "GET").stdout.startswith("404 ")
    assert end(child)[0] == 0


def test_without_a_terminal_there_is_a_line_per_second(network: Network) -> None:
    child = network.watch()
    assert child.stdout is not None
    first = child.stdout.readline()
    assert " · in " in first
    assert first.endswith(" dropped\n")
    assert end(child)[0] == 0


def test_a_user_without_permission_to_capture_gets_a_hint(network: Network) -> None:
    ended = network.near.run(
        "setpriv", "--bounding-set=-net_raw", TRUSTBED, "watch", "left", check=False
    )
    assert ended.returncode == 1
    assert "left: capturing is not permitted" in ended.stderr
    assert "hint: run it as root, or " in ended.stderr


def test_an_interface_that_cannot_be_watched_is_an_error(network: Network) -> None:
    ended = network.near.run(TRUSTBED, "watch", "nothing", check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert re.fullmatch(
        r"error: nothing: there is no such interface\nhint: there are: (left, lo|lo, left)\n",
        ended.stderr,
    )
    ended = network.near.run(
        TRUSTBED, "watch", "left", "--write", "/nowhere/at/all.pcapng", check=False
    )
    assert ended.returncode == 1
    taken = network.watch()
    port = taken.url.rpartition(":")[2].removesuffix("/metrics")  # type: ignore[attr-defined]
    ended = network.near.run(TRUSTBED, "watch", "left", "--metrics", port, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"error: metrics cannot be served at 127.0.0.1:{port}")
    assert end(taken)[0] == 0


def test_a_duration_ends_it_and_a_window_longer_than_it_is_partial(network: Network) -> None:
    ended = network.near.run(
        TRUSTBED, "watch", "left", "--duration", "300ms", "--window", "1h", "--json"
    )
    assert ended.returncode == 0
    assert {window["partial"] for window in lines(ended.stdout)} <= {True}


STATUS = re.compile(r"^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Cap\w+):[ \t]*(.*)$", re.MULTILINE)


def test_privileges_end_when_the_capture_is_open(network: Network, tmp_path: Path) -> None:
    path = tmp_path / "left.pcapng"
    child = network.watch("--json", "--write", str(path))
    threads = [
        dict(STATUS.findall((task / "status").read_text(encoding="ascii")))
        for task in Path(f"/proc/{child.pid}/task").iterdir()
    ]
    assert len(threads) >= 3, "of the program, of the capture, of the endpoint"
    for thread in threads:
        assert thread["NoNewPrivs"] == "1"
        assert thread["Seccomp"] == "2", "a filter"
        for held in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            assert int(thread[held], 16) == 0, held
        assert "0" not in thread["Uid"].split() + thread["Gid"].split()
        assert thread["Groups"].split() == []
    network.bursts(5)
    code, out, err = end(child)
    assert code == 0, err
    assert lines(out), "it goes on capturing"
    assert path.stat().st_mode & 0o777 == 0o600, "what others sent is its owner's alone"
