"""Results of other programs stand as testbeds, and nothing is claimed that they do not report."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compare.testbeds import SCENARIO, make_testbed
from trustbed.compare.api import compare
from trustbed.compare.error import CompareError
from trustbed.compare.imported import read_results
from trustbed.compare.model import Comparison
from trustbed.compare.workloads import Asked, asked_of, matched
from trustbed.scenario import load

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


# What was asked for.


def _imported(tmp_path: Path, text: str) -> Asked:
    (asked,) = (
        read_results(_results(tmp_path, "lab", [text]), "lab").cells[0].part.workloads.values()
    )
    return asked


def _iperf3_of_a_scenario(tmp_path: Path, more: str) -> Asked:
    text = SCENARIO.format(repetitions=1, size="500B", duration="1s")
    text = text.replace('kind = "http"', 'kind = "iperf3"').replace('object = "500B"', more)
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    (workload,) = load(tmp_path / "study.toml").first.workloads
    return asked_of(workload)


def _matched(run: Asked, imported: Asked) -> list[tuple[str, str]]:
    return matched({"fetch": run}, {"iperf3": imported}, "run and lab")


def test_iperf3_of_a_run_and_imported_were_asked_for_the_same(tmp_path: Path) -> None:
    imported = _imported(tmp_path, (FIXTURES / "iperf3-reverse.json").read_text(encoding="utf-8"))
    assert imported == {
        "direction": "reverse", "protocol": "TCP", "connections": "1", "duration": "1 s",
        "bidirectional": "no", "block": "131072 B",
    }  # fmt: skip
    same = _iperf3_of_a_scenario(tmp_path, 'direction = "reverse"')
    assert _matched(same, imported) == [("fetch", "iperf3")]
    for more, said in (
        ("", "direction forward against reverse"),
        ('direction = "reverse"\nconnections = 4', "connections 4 against 1"),
        ('direction = "reverse"\nduration = "30s"', "duration 30 s against 1 s"),
    ):
        with pytest.raises(CompareError, match=said):
            _matched(_iperf3_of_a_scenario(tmp_path, more), imported)


def test_what_a_program_does_not_say_is_not_asked_for(tmp_path: Path) -> None:
    varies = _ab(1000).replace("1048576 bytes", "Variable")
    asked = {"path": "/link/1m.bin", "connections": "3", "keep_alive": "no"}
    assert _imported(tmp_path, varies) == asked


def test_iperf3_at_another_rate_is_another_test(tmp_path: Path) -> None:
    text = (FIXTURES / "iperf3-udp.json").read_text(encoding="utf-8")
    report = json.loads(text)
    report["start"]["test_start"]["target_bitrate"] = 10_000_000
    own = json.dumps(report)
    report["start"]["test_start"]["target_bitrate"] = 100_000_000
    other = json.dumps(report)
    lab, cloud = _results(tmp_path, "lab", [own]), _results(tmp_path, "cloud", [other])
    with pytest.raises(CompareError, match="bitrate 10 Mbit/s against 100 Mbit/s"):
        compare(lab, cloud)


def test_a_median_of_few_whole_milliseconds_is_not_compared(tmp_path: Path) -> None:
    lab = _results(tmp_path, "lab", [_ab(1000 + number) for number in range(3)])
    metrics = {one.key for _, _, one in compare(lab, f"again={lab}").metrics()}
    assert ("response_median_seconds" in metrics) is (_total_median() >= 10)
    fast = re.sub(r"(?m)^(Total: +\d+ +\d+ +[\d.]+ +)\d+", r"\g<1>1", _ab(1000))
    quick = _results(tmp_path, "quick", [fast] * 3)
    assert "response_median_seconds" not in {
        one.key for _, _, one in compare(quick, f"again={quick}").metrics()
    }


def _total_median() -> int:
    line = next(line for line in _ab(1).splitlines() if line.startswith("Total:"))
    return int(line.split()[4])


def test_what_failed_before_it_printed_anything_is_listed(tmp_path: Path) -> None:
    wrk = (FIXTURES / "wrk.txt").read_text(encoding="utf-8")
    lab = _results(tmp_path, "lab", [wrk] * 3)
    refused = "unable to connect to 10.0.0.9:http Connection refused\n"
    cloud = _results(tmp_path, "cloud", [wrk, wrk, refused, ""])
    found = compare(lab, cloud)
    assert [one.repetition for one in found.testbeds[1].left_out] == ["2.txt"]
    assert "cloud: beside its results there is what cannot be read" in " ".join(found.caveats)


def test_results_of_two_programs_are_told(tmp_path: Path) -> None:
    wrk = (FIXTURES / "wrk.txt").read_text(encoding="utf-8")
    lab, cloud = _results(tmp_path, "lab", [_ab(1000)] * 3), _results(tmp_path, "cloud", [wrk] * 3)
    try:
        said = " ".join(compare(lab, cloud).caveats)
    except CompareError:
        return  # their settings differ, which is refused
    assert "lab by ab, cloud by wrk" in said


def _longer_iperf3(text: str) -> str:
    return text.replace('"duration":\t2', '"duration":\t20')


def _longer_wrk(text: str) -> str:
    return text.replace("requests in 2.10s", "requests in 30.04s")


@pytest.mark.parametrize(
    ("file", "longer", "said"),
    [
        ("iperf3-tcp.json", _longer_iperf3, "duration 2 s against 20 s"),
        ("wrk.txt", _longer_wrk, "duration 2 s against 30 s"),
    ],
)
def test_results_of_another_length_are_refused(
    file: str, longer: Callable[[str], str], said: str, tmp_path: Path
) -> None:
    text = (FIXTURES / file).read_text(encoding="utf-8")
    one, other = _results(tmp_path, "one", [text] * 3), _results(tmp_path, "other", [longer(text)])
    with pytest.raises(CompareError, match=said):
        compare(one, other)


def test_tests_of_k8s_netperf_of_another_length_are_refused(tmp_path: Path) -> None:
    one = _results(tmp_path, "one", [_k8s(1000.0)])
    other = _results(tmp_path, "other", [_k8s(1000.0).replace('"duration": 10', '"duration": 60')])
    with pytest.raises(CompareError, match="duration 10 s against 60 s"):
        compare(one, other)


def test_an_amount_of_iperf3_is_asked_for_instead_of_a_duration(tmp_path: Path) -> None:
    text = (FIXTURES / "iperf3-tcp.json").read_text(encoding="utf-8")
    amount = text.replace('"duration":\t2', '"duration":\t0').replace(
        '"bytes":\t0', '"bytes":\t500'
    )
    asked = _imported(tmp_path, amount)
    assert "duration" not in asked
    assert asked["bytes"] == "500 B"


# Requests that failed.


def _mean(found: Comparison, key: str, side: str = "candidate") -> float:
    metric = next(one for _, _, one in found.metrics() if one.key == key)
    value = metric.candidate if side == "candidate" else metric.reference
    assert value is not None
    return value.mean


def _failing_ab(lines: str) -> str:
    return _ab(1000).replace("Failed requests:        0\n", lines)


@pytest.mark.parametrize(
    ("lines", "failed"),
    [
        ("Failed requests:        6\n", 6),
        ("Failed requests:        0\nNon-2xx responses:      6\n", 6),
        ("Failed requests:        2\nNon-2xx responses:      4\n", 6),
        # ab counts a response of another length and status as both: it is one.
        (
            "Failed requests:        6\n   (Connect: 0, Receive: 2, Length: 4, Exceptions: 0)\n"
            "Non-2xx responses:      4\n",
            6,
        ),
    ],
)
def test_failed_requests_of_ab_are_not_completed(lines: str, failed: int, tmp_path: Path) -> None:
    lab = _results(tmp_path, "lab", [_ab(1000)] * 3)
    cloud = _results(tmp_path, "cloud", [_ab(1000), _ab(1000), _failing_ab(lines)])
    found = compare(lab, cloud)
    assert _mean(found, "requests_per_second", "reference") == 1000
    assert _mean(found, "requests_per_second") == pytest.approx(1000 * (1 - failed / 24 / 3))
    assert any(
        one.startswith(f"cloud: {failed} of 72 requests of ab failed, in 1 of 3 results")
        for one in found.caveats
    )
    assert not any(one.startswith("lab: ") and "failed" in one for one in found.caveats)


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("ab.txt", "ab-404.txt", "ab completed no request: all 20 failed"),
        ("wrk.txt", "wrk-404.txt", "wrk completed no request: all 77156 failed"),
    ],
)
def test_a_result_of_failed_requests_only_does_not_count(
    good: str, bad: str, said: str, tmp_path: Path
) -> None:
    text, failed = ((FIXTURES / name).read_text(encoding="utf-8") for name in (good, bad))
    lab = _results(tmp_path, "lab", [text] * 3)
    found = compare(lab, _results(tmp_path, "cloud", [text, failed, text, text])).testbeds[1]
    assert found.used == 3
    assert [one.reason for one in found.left_out] == [said]


def test_wrk_and_httperf_count_as_completed_what_succeeded(tmp_path: Path) -> None:
    errors = (
        "  Socket errors: connect 1, read 2, write 3, timeout 4\n"
        "  Non-2xx or 3xx responses: 972\nRequests/sec:"
    )
    text = (FIXTURES / "wrk.txt").read_text(encoding="utf-8")
    one = _results(tmp_path, "one", [text] * 3)
    other = _results(tmp_path, "other", [text.replace("Requests/sec:", errors)] * 3)
    found = compare(one, other)
    # Of 3888; its count has no request whose connection broke.
    assert _mean(found, "requests_per_second") == pytest.approx(1851.81 * 0.75)
    assert any("other: 18 connections of wrk failed or broke" in one for one in found.caveats)
    text = (FIXTURES / "httperf.txt").read_text(encoding="utf-8")
    assert "2xx=50" in text
    one = _results(tmp_path, "third", [text] * 3)
    other = _results(tmp_path, "fourth", [text.replace("5xx=0", "5xx=10")] * 3)
    found = compare(one, other)
    kept = _mean(found, "requests_per_second") / _mean(found, "requests_per_second", "reference")
    assert kept == pytest.approx(0.8)


# Both directions of iperf3, and UDP.


def test_both_directions_of_iperf3_are_cases(tmp_path: Path) -> None:
    text = (FIXTURES / "iperf3-bidir.json").read_text(encoding="utf-8")
    nothing = text.replace('"bytes":\t846856192', '"bytes":\t0')
    one = _results(tmp_path, "one", [text] * 3, ".json")
    other = _results(tmp_path, "other", [text, text, text, nothing], ".json")
    found = compare(one, other)
    assert [case.label for case in found.cases] == ["upload", "download"]
    rates = [case.candidates[0].metrics[0].reference for case in found.cases]
    assert [rate.mean for rate in rates if rate is not None] == [
        pytest.approx(10691806778.99),
        pytest.approx(6755306434.49),
    ]
    assert [(left.repetition, left.case) for left in found.testbeds[1].left_out] == [
        ("3.json", "download")
    ]
    alone = (FIXTURES / "iperf3-tcp.json").read_text(encoding="utf-8")
    with pytest.raises(CompareError, match="bidirectional yes against no"):
        compare(one, _results(tmp_path, "alone", [alone], ".json"))


def test_datagrams_that_iperf3_lost_are_a_share_of_all(tmp_path: Path) -> None:
    text = (FIXTURES / "iperf3-udp.json").read_text(encoding="utf-8")
    lossy = text.replace('"lost_packets":\t0', '"lost_packets":\t13')
    one = _results(tmp_path, "one", [text] * 3, ".json")
    found = compare(one, _results(tmp_path, "other", [lossy] * 3, ".json"))
    assert _mean(found, "loss_share", "reference") == 0
    assert _mean(found, "loss_share") == pytest.approx(13 / 39)


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


def test_files_count_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    lab = _results(tmp_path, "lab", [_ab(1000 + number) for number in range(12)])
    part = read_results(lab, "lab").cells[0].part
    names = [one.name for one in part.observed({"ab": ""}, None)]
    assert names == [f"{number}.txt" for number in range(12)]


def _httperf(options: str) -> str:
    text = (FIXTURES / "httperf.txt").read_text(encoding="utf-8")
    return text.replace("--uri=/1m.bin --rate=50", options)


def _flent_of(seconds: int) -> str:
    data = json.loads(_flent(10.0))
    data["metadata"]["LENGTH"] = seconds
    return json.dumps(data)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (
            _httperf("--uri=/1m.bin --rate=50"),
            _httperf("--uri=/small --rate=2"),
            "uri /1m.bin against /small; rate 50 against 2",
        ),
        (_flent_of(10), _flent_of(300), "duration 10 s against 300 s"),
        (_ab(10), re.sub("(Document Path: +/)", r"\1a", _ab(10)), "path /"),
    ],
)
def test_what_programs_were_asked_for_is_compared(
    one: str, other: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(CompareError, match=re.escape(said)):
        compare(_results(tmp_path, "lab", [one] * 3), _results(tmp_path, "cloud", [other] * 3))


def test_a_page_whose_length_varies_is_one_page(tmp_path: Path) -> None:
    line = next(line for line in _ab(1).splitlines() if line.startswith("Document Length"))
    varied = [_ab(1000 + n).replace(line, f"Document Length:  {1000 + n} bytes") for n in range(3)]
    lab = _results(tmp_path, "lab", varied)
    cloud = _results(tmp_path, "cloud", [_ab(1000 + number) for number in range(3)])
    found = compare(lab, cloud)
    assert [one.used for one in found.testbeds] == [3, 3]
    said = "lab: the length of what was fetched varies: 1000 B, 1001 B, 1002 B"
    assert said in found.caveats
