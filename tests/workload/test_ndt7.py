"""What ndt7-client prints as a table; failures and malformed output are errors."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from trustbed.workload import WorkloadError, ndt7

Output = Callable[[str], str]


def test_the_summary_behind_the_events(output: Output) -> None:
    text = output("ndt7.json")
    assert ndt7.is_ndt7(text)
    download, upload = ndt7.summary(text).to_pylist()
    assert download == {
        "direction": "download",
        "server": "ndt.server.example",
        "throughput_bits_per_second": 93.5e6,
        "rtt_ns": 12_250_000,
        "retransmitted_share": pytest.approx(0.015),
    }
    assert (upload["throughput_bits_per_second"], upload["retransmitted_share"]) == (20.25e6, 0)


def test_a_summary_alone_over_several_lines(output: Output) -> None:
    alone = json.dumps(json.loads(output("ndt7.json").splitlines()[-1]), indent=2)
    assert ndt7.is_ndt7(alone)
    assert ndt7.summary(alone).equals(ndt7.summary(output("ndt7.json")))


def test_the_earlier_shape_of_the_summary() -> None:
    text = json.dumps(
        {
            "ServerFQDN": "ndt.server.example",
            "Download": {"Value": 50.0, "Unit": "Mbit/s"},
            "Upload": {"Value": 0, "Unit": ""},
            "DownloadRetrans": {"Value": 2.0, "Unit": "%"},
            "MinRTT": {"Value": 8.0, "Unit": "ms"},
        }
    )
    (download,) = ndt7.summary(text).to_pylist()
    assert (download["throughput_bits_per_second"], download["rtt_ns"]) == (50e6, 8_000_000)
    assert download["retransmitted_share"] == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"Key":"error","Value":{"Test":"upload","Failure":"websocket: bad handshake"}}',
            "the upload of ndt7-client failed: websocket: bad handshake",
        ),
        ('{"Key":"starting","Value":{"Test":"download"}}', "printed no summary"),
        ('{"ServerFQDN":"a","Download":null}', "measured no direction"),
        ('{"ServerFQDN":"a"}\nnot JSON', r"goes on with: not JSON"),
        ("[1]", "no output of ndt7-client"),
        (
            '{"ServerFQDN":"a","Download":{"Throughput":{"Value":1,"Unit":"furlongs"}}}',
            "unknown unit, 'furlongs'",
        ),
        (
            '{"ServerFQDN":"a","Download":{"Value":1,"Unit":"Mbit/s"}}\n' * 2,
            "several runs of ndt7-client in one file",
        ),
    ],
)
def test_failures_and_malformed_output(text: str, message: str) -> None:
    with pytest.raises(WorkloadError, match=message) as caught:
        ndt7.summary(text)
    assert caught.value.hint
