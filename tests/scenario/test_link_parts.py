"""Policers, shapers, outages and delays in steps.

Read, refused where they make no sense, and passed to the emulator.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.scenario.conftest import SMALL, Read, refusals
from trustbed.report.run import link_words
from trustbed.run import judge
from trustbed.run.execution.configurations import has_events
from trustbed.scenario import description
from trustbed.scenario.model import Bucket, DelayStep, DelaySteps, Outage, RateStep

PARTS = """
policer = { rate = "10Mbit/s", burst = "64KiB" }
up.shaper = { rate = "5Mbit/s", burst = "256KiB" }
down.outages = [
  { at = "2s", lasts = "13s" },
  { at = "20s", lasts = "10ms", keeps = true },
]
up.delay = { steps = [{ at = "0s", delay = "10ms" }, { at = "3s", delay = "40ms" }], \
keep_order = false }
"""
LINK = SMALL.replace("[link]", "[link]" + PARTS)


def test_each_direction_has_its_own(read: Read) -> None:
    link = read(LINK).first.links[0]
    assert link.backward is not None
    assert (
        link.forward.policer == link.backward.policer == Bucket(rate=10_000_000, burst_bytes=65_536)
    )
    assert (link.forward.shaper, link.backward.shaper) == (
        Bucket(rate=5_000_000, burst_bytes=262_144),
        None,
    )
    second = 1_000_000_000
    outages = (
        Outage(at_ns=2 * second, lasts_ns=13 * second),
        Outage(at_ns=20 * second, lasts_ns=10_000_000, keeps=True),
    )
    assert (link.forward.outages, link.backward.outages) == ((), outages)
    steps = (
        DelayStep(at_ns=0, delay_ns=10_000_000),
        DelayStep(at_ns=3 * second, delay_ns=40_000_000),
    )
    assert (link.forward.delay_steps, link.forward.delay_ns) == (
        DelaySteps(steps=steps, keep_order=False),
        0,
    )
    assert (link.backward.delay_steps, link.backward.delay_ns) == (None, 10_000_000)
    assert (link.forward.longest_delay_ns, link.backward.longest_delay_ns) == (
        40_000_000,
        10_000_000,
    )


def test_the_emulator_receives_them(read: Read) -> None:
    up, down = description.topology(read(LINK).first)["pipes"]
    policer = {"rate_bits_per_second": 10_000_000, "burst_bytes": 65_536}
    steps = [{"at_ns": 0, "delay_ns": 10_000_000}, {"at_ns": 3_000_000_000, "delay_ns": 40_000_000}]
    assert {key: up[key] for key in up if key not in ("name", "from", "to")} == {
        "rate_bits_per_second": 20_000_000,
        "delay_steps": {"steps": steps, "keep_order": False},
        "policer": policer,
        "shaper": {"rate_bits_per_second": 5_000_000, "burst_bytes": 262_144},
    }
    assert down["outages"] == [
        {"at_ns": 2_000_000_000, "lasts_ns": 13_000_000_000, "keeps": False},
        {"at_ns": 20_000_000_000, "lasts_ns": 10_000_000, "keeps": True},
    ]
    assert (down["policer"], down["delay_ns"]) == (policer, 10_000_000)


def test_a_direction_can_do_without_what_both_have(read: Read) -> None:
    text = SMALL.replace(
        "[link]",
        '[link]\noutages = [{ at = "1s", lasts = "1s" }]\nup.outages = []\nup.delay = "3ms"',
    ).replace('delay = "10ms"\n', 'delay = { steps = [{ at = "0s", delay = "10ms" }] }\n')
    link = read(text).first.links[0]
    assert link.backward is not None
    assert (len(link.forward.outages), len(link.backward.outages)) == (0, 1)
    assert (link.forward.delay_ns, link.forward.delay_steps) == (3_000_000, None)


RATES = 'rate = { steps = [{ at = "0s", rate = "20Mbit/s" }, { at = "5s", rate = "10Mbit/s" }] }'


def test_a_rate_changes_in_steps(read: Read) -> None:
    text = SMALL.replace('rate = "20Mbit/s"', f'{RATES}\ndown.rate = "1Mbit/s"')
    scenario = read(text).first
    link = scenario.links[0]
    assert link.backward is not None
    steps = (RateStep(at_ns=0, rate=20_000_000), RateStep(at_ns=5_000_000_000, rate=10_000_000))
    assert (link.forward.rate, link.forward.rate_steps) == (None, steps)
    assert (link.backward.rate, link.backward.rate_steps) == (1_000_000, ())
    assert (link.forward.fastest_rate, link.backward.fastest_rate) == (20_000_000, 1_000_000)
    up, down = description.topology(scenario)["pipes"]
    assert (up["rate_steps"], "rate_bits_per_second" in up) == (
        [
            {"at_ns": 0, "rate_bits_per_second": 20_000_000},
            {"at_ns": 5_000_000_000, "rate_bits_per_second": 10_000_000},
        ],
        False,
    )
    assert "rate_steps" not in down
    assert link_words.direction(link.forward).startswith("20.0 Mbit/s then 10.0 Mbit/s from 5.00 s")
    assert has_events(scenario)
    assert judge.capacity(scenario) is None


@pytest.mark.parametrize(
    ("keys", "octets"),
    [
        # 20 Mbit/s for 50 ms.
        ('rate = "20Mbit/s"', 125_000),
        ('shaper = { rate = "8Mbit/s", burst = "64KiB" }', 50_000),
        ('rate = "20Mbit/s"\nshaper = { rate = "8Mbit/s", burst = "64KiB" }', 50_000),
        (RATES, 125_000),
        # 1514 bytes every 2 ms.
        ('rate_trace = "cell.txt"', 37_850),
    ],
)
def test_a_queue_as_a_time_is_what_the_link_sends_in_it(
    read: Read, tmp_path: Path, keys: str, octets: int
) -> None:
    (tmp_path / "cell.txt").write_text("2\n4\n", encoding="utf-8")
    for queue in ('"50ms"', '{ discipline = "codel", limit = "50ms" }'):
        text = SMALL.replace('rate = "20Mbit/s"', f"{keys}\nqueue = {queue}")
        scenario = read(text).first
        link = scenario.links[0]
        assert link.forward.queue is not None
        assert (link.forward.queue.bytes, link.forward.queue.duration_ns) == (octets, 50_000_000)
        assert link.forward == link.backward
        (up, _) = description.topology(scenario)["pipes"]
        assert up["queue"] == {
            "kind": "codel" if "codel" in queue else "drop_tail",
            "limit_bytes": octets,
        }


def test_each_direction_takes_a_queue_as_a_time_by_its_own_rate(read: Read) -> None:
    text = SMALL.replace('rate = "20Mbit/s"', 'queue = "10ms"\nup.rate = "8Mbit/s"\n').replace(
        'delay = "10ms"', 'delay = "10ms"\ndown.rate = "16Mbit/s"'
    )
    link = read(text).first.links[0]
    assert link.backward is not None
    queues = (link.forward.queue, link.backward.queue)
    assert [queue and queue.bytes for queue in queues] == [10_000, 20_000]


def test_every_part_of_a_link_is_described(
    read: Read, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "cell.txt").write_text("2\n4\n", encoding="utf-8")
    (tmp_path / "lost.txt").write_text("7\n", encoding="utf-8")
    parts = [
        'queue = "50ms"',
        'queue = "50p"\njitter = "2ms"\nloss = "1%"',
        'queue = { discipline = "codel" }\nloss = { model = "periodic", every = 100 }',
        'queue = { discipline = "red", low = 5, high = 15, limit = "64KiB" }\nduplicate = "1%"',
        'loss = { model = "gilbert-elliott", to_bad = "1%", to_good = "30%" }',
        'loss = { trace = "lost.txt", period = 100 }',
        'jitter = { distribution = "normal", spread = "2ms", keep_order = false }',
        'reorder = { probability = "1%", delay = "5ms" }',
    ]
    links = [keyed(text) for text in parts] + [
        SMALL.replace('rate = "20Mbit/s"', 'rate_trace = "cell.txt"'),
        SMALL.replace('delay = "10ms"', 'delay_trace = "cell.txt"'),
        SMALL.replace('delay = "10ms"', 'delay_trace = { file = "cell.txt", step = "10ms" }'),
        SMALL.replace('rate = "20Mbit/s"\n', ""),
    ]
    found = [link_words.direction(read(text).first.links[0].forward) for text in links]
    assert found == snapshot


def test_link_parts_are_described(read: Read, snapshot: SnapshotAssertion) -> None:
    link = read(LINK).first.links[0]
    assert link.backward is not None
    assert [link_words.direction(one) for one in (link.forward, link.backward)] == snapshot


def steps(text: str) -> str:
    return SMALL.replace('delay = "10ms"', f"delay = {{ steps = {text} }}")


def rates(text: str) -> str:
    return SMALL.replace('rate = "20Mbit/s"', f"rate = {{ steps = {text} }}")


def keyed(text: str) -> str:
    return SMALL.replace("[link]", f"[link]\n{text}")


WRONG = [
    keyed('policer = { rate = "10Mbit/s" }'),
    keyed('policer = { rate = "10Mbit/s", bust = "64KiB", burst = "64KiB" }'),
    keyed('policer = { rate = "10Mbit/s", burst = "1000B" }'),
    keyed('policer = { rate = "0Mbit/s", burst = "64KiB" }'),
    keyed('shaper = { rate = "20Mbit/s", burst = "64KiB" }'),
    keyed('shaper = "5Mbit/s"'),
    keyed('outages = { at = "2s", lasts = "1s" }'),
    keyed('outages = [{ at = "2s" }]'),
    keyed('outages = [{ at = "2s", last = "1s", lasts = "1s" }]'),
    keyed('outages = [{ at = "2s", lasts = "0s" }]'),
    keyed('outages = [\n{ at = "2s", lasts = "2s" },\n{ at = "3s", lasts = "1s" }]'),
    steps("[]"),
    steps('[{ at = "1s", delay = "1ms" }]'),
    steps('[{ at = "0s" }]'),
    steps('[{ at = "0s", delay = "1ms" }, { at = "0s", delay = "2ms" }]'),
    SMALL.replace('delay = "10ms"', "delay = { stes = [] }"),
    SMALL.replace('rate = "20Mbit/s"', 'queue = "50ms"'),
    keyed('queue = "500us"'),
    keyed('queue = "0ms"'),
    keyed('queue = "50mss"'),
    keyed('jitter = "11ms"'),
    keyed('up.jitter = { distribution = "normal", spread = "20ms" }'),
    keyed('jitter = "5ms"\ndown.delay = "1ms"'),
    keyed('jitter = "5ms"').replace('"10ms"', '{ steps = [{ at = "0s", delay = "2ms" }] }'),
    keyed('jitter = "5ms"').replace('delay = "10ms"\n', ""),
    rates("[]"),
    rates('[{ at = "1s", rate = "1Mbit/s" }]'),
    rates('[{ at = "0s", rate = "0Mbit/s" }]'),
    rates('[\n{ at = "0s", rate = "1Mbit/s" },\n{ at = "0s", rate = "2Mbit/s" }]'),
    rates('[{ at = "0s", rate = "1Mbit/s", delay = "1ms" }]'),
    keyed('shaper = { rate = "30Mbit/s", burst = "64KiB" }').replace('rate = "20Mbit/s"', RATES),
    SMALL + '[capture]\npoints = ["clint"]\n',
]


def test_wrong_parts_are_refused_with_line_key_and_hint(
    read: Read, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert refusals(read, WRONG, tmp_path) == snapshot


def test_routers_are_capture_points(read: Read) -> None:
    chain = (
        '[topology]\nshape = "chain"\npath = ["client", "first", "server"]\n[links.a]\n[links.b]\n'
    )
    text = (
        chain
        + '[capture]\npoints = ["client", "first"]\n'
        + SMALL.replace('[link]\nrate = "20Mbit/s"\ndelay = "10ms"\n', "")
    )
    assert read(text).first.capture.points == ("client", "first")
