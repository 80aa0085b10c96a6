"""Results of other programs stand as testbeds, and nothing below the application is claimed."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from tests.compare.testbeds import make_testbed
from trustbed.compare.api import compare
from trustbed.compare.error import CompareError

FIXTURES = Path(__file__).parent.parent / "workload" / "fixtures"


def _results(place: Path, name: str, texts: list[str], suffix: str = ".txt") -> Path:
    directory = place / name
    directory.mkdir()
    for number, text in enumerate(texts):
        (directory / f"{number}{suffix}").write_text(text, encoding="utf-8")
    return directory


def _ab(rate: float) -> str:
    text = (FIXTURES / "ab.txt").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("Requests per second"))
    return text.replace(line, f"Requests per second:    {rate:.2f} [#/sec] (mean)")


def test_outputs_of_ab_are_compared_at_the_level_of_the_application(tmp_path: Path) -> None:
    lab = _results(tmp_path, "lab", [_ab(1000 + number) for number in range(10)])
    cloud = _results(tmp_path, "cloud", [_ab(800 + number) for number in range(10)])
    found = compare(lab, cloud)
    metric = next(one for _, _, one in found.metrics() if one.key == "requests_per_second")
    assert metric.verdict == "different"
    assert metric.beyond
    verdicts = {one.level: one.sentence for one in found.cases[0].candidates[0].levels}
    assert verdicts["network"] == "Not compared: lab: only results of ab are there."


def test_a_failed_run_of_a_program_is_left_out(tmp_path: Path) -> None:
    refused = (FIXTURES / "ab-refused.txt").read_text(encoding="utf-8")
    lab = _results(tmp_path, "lab", [_ab(1000), _ab(1001), _ab(1002)])
    cloud = _results(tmp_path, "cloud", [_ab(1000), refused, _ab(1002), _ab(1003)])
    found = compare(lab, cloud)
    assert found.testbeds[1].used == 3
    assert [one.repetition for one in found.testbeds[1].left_out] == ["1.txt"]


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("wrk.txt", "requests_per_second"),
        ("httperf.txt", "requests_per_second"),
        ("iperf3-tcp.json", "throughput_bits_per_second"),
    ],
)
def test_other_programs_are_recognised_by_their_output(file: str, key: str, tmp_path: Path) -> None:
    text = (FIXTURES / file).read_text(encoding="utf-8")
    one, other = (_results(tmp_path, name, [text] * 3) for name in ("one", "other"))
    found = compare(one, other)
    metric = next(each for _, _, each in found.metrics() if each.key == key)
    assert metric.verdict == "equivalent"
    assert metric.difference == 0


def _flent(rate: float) -> str:
    return json.dumps(
        {
            "metadata": {"NAME": "rrul"},
            "version": 3,
            "x_values": [0.2, 0.4, 0.6],
            "results": {
                "TCP totals": [rate, None, rate],
                "Ping (ms) ICMP": [10.0, 11.0, 12.0],
            },
            "raw_values": {"Ping (ms) ICMP": [{"t": 0.1 * n, "val": 10.0 + n} for n in range(11)]},
        }
    )


def test_data_files_of_flent_are_read_compressed_too(tmp_path: Path) -> None:
    one = _results(tmp_path, "one", [_flent(90.0 + n / 10) for n in range(5)], ".flent")
    other = tmp_path / "other"
    other.mkdir()
    for number in range(5):
        octets = gzip.compress(_flent(70.0 + number / 10).encode())
        (other / f"{number}.flent.gz").write_bytes(octets)
    found = compare(one, other)
    values = {metric.key: metric for _, _, metric in found.metrics()}
    reference = values["throughput_bits_per_second"].reference
    assert reference is not None
    assert reference.mean == pytest.approx(90.2e6)
    assert values["throughput_bits_per_second"].verdict == "different"
    spread = values["rtt_spread_seconds"].reference
    assert spread is not None
    assert spread.mean == pytest.approx(0.004)  # p90 19 ms less p50 15 ms


def _k8s(rate: float) -> str:
    common = {
        "driver": "netperf", "parallelism": 1, "duration": 10, "service": False, "local": False,
        "acrossAZ": False, "hostNetwork": True, "samples": 3, "messageSize": 1024,
        "latency": 55.0, "ltcyMetric": "usec", "tcpRetransmits": 3.0, "udpLossPercent": 0.0,
    }  # fmt: skip
    return json.dumps(
        [
            {**common, "profile": "TCP_STREAM", "throughput": rate, "tputMetric": "Mb/s"},
            {**common, "profile": "TCP_RR", "throughput": 9000.0, "tputMetric": "OP/s"},
        ]
    )


def test_every_test_of_k8s_netperf_is_a_case(tmp_path: Path) -> None:
    one = _results(tmp_path, "one", [_k8s(1000.0 + n) for n in range(4)], ".json")
    other = _results(tmp_path, "other", [_k8s(1200.0 + n) for n in range(4)], ".json")
    found = compare(one, other)
    assert [case.label for case in found.cases] == [
        "netperf TCP_STREAM 1024 B 1× host network",
        "netperf TCP_RR 1024 B 1× host network",
    ]
    stream, rr = (case.candidates[0].metrics[0] for case in found.cases)
    assert (stream.key, stream.verdict) == ("throughput_bits_per_second", "different")
    assert (rr.key, rr.verdict) == ("transactions_per_second", "equivalent")


def test_both_directions_of_owping_are_cases_with_jitter_and_loss(tmp_path: Path) -> None:
    text = (FIXTURES / "owping.txt").read_text(encoding="utf-8")
    one = _results(tmp_path, "one", [text] * 3)
    other = _results(tmp_path, "other", [text.replace("jitter = 1.2", "jitter = 4.8")] * 3)
    found = compare(one, other)
    assert [case.label for case in found.cases] == ["there", "back"]
    there, back = ({one.key: one for one in case.candidates[0].metrics} for case in found.cases)
    assert there["jitter_seconds"].reference is not None
    assert there["jitter_seconds"].reference.mean == pytest.approx(1.2e-3)
    assert there["jitter_seconds"].difference == pytest.approx(3.6e-3)  # seconds
    assert back["jitter_seconds"].verdict == "equivalent"
    assert there["loss_share"].reference is not None
    assert there["loss_share"].reference.mean == pytest.approx(0.01)


def test_both_directions_of_ndt7_are_cases(tmp_path: Path) -> None:
    text = (FIXTURES / "ndt7.json").read_text(encoding="utf-8")
    slower = text.replace('"Value":20.25,"Unit":"Mbit/s"', '"Value":10.125,"Unit":"Mbit/s"')
    one = _results(tmp_path, "one", [text] * 3, ".json")
    other = _results(tmp_path, "other", [slower] * 3, ".json")
    found = compare(one, other)
    assert [case.label for case in found.cases] == ["download", "upload"]
    rates = [
        next(one for one in case.candidates[0].metrics if one.key == "throughput_bits_per_second")
        for case in found.cases
    ]
    assert [rate.difference for rate in rates] == [0, pytest.approx(-10.125e6)]


def test_a_failed_run_of_ndt7_is_left_out(tmp_path: Path) -> None:
    text = (FIXTURES / "ndt7.json").read_text(encoding="utf-8")
    failed = '{"Key":"starting","Value":{"Test":"download"}}\n' + (
        '{"Key":"error","Value":{"Test":"download","Failure":"timed out"}}\n'
    )
    one = _results(tmp_path, "one", [text] * 3, ".json")
    other = _results(tmp_path, "other", [text, failed, text, text], ".json")
    found = compare(one, other).testbeds[1]
    assert found.used == 6  # two directions of three runs
    assert [left.repetition for left in found.left_out] == ["1.json"] * 2


def test_a_run_may_be_compared_with_imported_results(tmp_path: Path) -> None:
    lab = _results(
        tmp_path,
        "lab",
        [_ab(50.0 + n / 10).replace("Level:      3", "Level:      1") for n in range(4)],
    )
    other = make_testbed(tmp_path / "other.run", repetitions=1, size="500B")
    with pytest.raises(CompareError, match="object 500 B against 1048576 B"):
        compare(other, lab)
    run = make_testbed(tmp_path / "run.run", repetitions=4, size="1MiB")
    found = compare(run, lab)
    rate = next(one for _, _, one in found.metrics() if one.key == "requests_per_second")
    assert rate.similar
    network = next(one for one in found.cases[0].candidates[0].levels if one.level == "network")
    assert network.verdict == "not_compared"


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    lab = _results(tmp_path, "lab", [_ab(1000)])
    other = _results(tmp_path, "other", ["hello"])
    with pytest.raises(CompareError, match="neither a run nor results"):
        compare(lab, other)
    shutil.copy(FIXTURES / "wrk.txt", lab / "wrk.txt")
    with pytest.raises(CompareError, match="results of several programs"):
        compare(lab, lab)
    with pytest.raises(CompareError, match="no such directory"):
        compare(tmp_path / "none", lab)
