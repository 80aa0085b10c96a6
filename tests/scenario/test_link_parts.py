"""Policers, shapers, outages and delays in steps.

Read, refused where they make no sense, and told to the emulator.
"""

from __future__ import annotations

import pytest

from tests.scenario.conftest import SMALL, Read, Write
from trustbed.report.run import link_words
from trustbed.scenario import ScenarioError, description, load
from trustbed.scenario.model import Bucket, DelayStep, DelaySteps, Outage

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


def test_the_emulator_is_told(read: Read) -> None:
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


def test_they_are_said_in_words(read: Read) -> None:
    link = read(LINK).first.links[0]
    assert link.backward is not None
    assert link_words.direction(link.forward) == (
        "20.0 Mbit/s, 10.0 ms then 40.0 ms from 3.00 s, policed to 10.0 Mbit/s behind "
        "65.5 kB, shaped to 5.00 Mbit/s behind 262 kB"
    )
    assert link_words.direction(link.backward) == (
        "20.0 Mbit/s, 10.0 ms, policed to 10.0 Mbit/s behind 65.5 kB, out at 2.00 s for "
        "13.0 s (lost), out at 20.0 s for 10.0 ms (kept)"
    )


def steps(text: str) -> str:
    return SMALL.replace('delay = "10ms"', f"delay = {{ steps = {text} }}")


def keyed(text: str) -> str:
    return SMALL.replace("[link]", f"[link]\n{text}")


@pytest.mark.parametrize(
    ("text", "line", "key", "message", "hint"),
    [
        (
            keyed('policer = { rate = "10Mbit/s" }'),
            "policer",
            "link.policer",
            "lacks burst",
            "64KiB",
        ),
        (
            keyed('policer = { rate = "10Mbit/s", bust = "64KiB", burst = "64KiB" }'),
            "policer",
            "link.policer.bust",
            "bust",
            "burst",
        ),
        (
            keyed('policer = { rate = "10Mbit/s", burst = "1000B" }'),
            "policer",
            "link.policer.burst",
            "less than a packet",
            "1514B",
        ),
        (
            keyed('policer = { rate = "0Mbit/s", burst = "64KiB" }'),
            "policer",
            "link.policer.rate",
            "carries nothing",
            "above 0",
        ),
        (
            keyed('shaper = { rate = "20Mbit/s", burst = "64KiB" }'),
            "shaper",
            "link.shaper",
            "not slower than the link",
            "below",
        ),
        (keyed('shaper = "5Mbit/s"'), "shaper", "link.shaper", "must be a table", "[link.shaper]"),
        (
            keyed('outages = { at = "2s", lasts = "1s" }'),
            "outages",
            "link.outages",
            "a list of tables",
            "outages = [{",
        ),
        (keyed('outages = [{ at = "2s" }]'), "outages", "link.outages[0]", "lacks lasts", "13s"),
        (
            keyed('outages = [{ at = "2s", last = "1s", lasts = "1s" }]'),
            "outages",
            "link.outages[0].last",
            "last",
            "lasts",
        ),
        (
            keyed('outages = [{ at = "2s", lasts = "0s" }]'),
            "outages",
            "link.outages[0].lasts",
            "no length of time",
            "above 0",
        ),
        (
            keyed('outages = [\n{ at = "2s", lasts = "2s" },\n{ at = "3s", lasts = "1s" }]'),
            'at = "3s"',
            "link.outages[1].at",
            "begins before the outage",
            "in order",
        ),
        (steps("[]"), "delay", "link.delay.steps", "no step", "for example"),
        (
            steps('[{ at = "1s", delay = "1ms" }]'),
            "delay",
            "link.delay.steps[0].at",
            "the first step",
            '"0s"',
        ),
        (steps('[{ at = "0s" }]'), "delay", "link.delay.steps[0]", "lacks delay", "40ms"),
        (
            steps('[{ at = "0s", delay = "1ms" }, { at = "0s", delay = "2ms" }]'),
            "delay",
            "link.delay.steps[1].at",
            "not later",
            "order",
        ),
        (
            SMALL.replace('delay = "10ms"', "delay = { stes = [] }"),
            "delay",
            "link.delay.stes",
            "no such key, stes",
            "did you mean steps?",
        ),
        (
            SMALL + '[capture]\npoints = ["clint"]\n',
            "points",
            "capture.points",
            "no host or router named clint",
            "client",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    written: Write, text: str, line: str, key: str, message: str, hint: str
) -> None:
    path = written(text)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    error = caught.value
    assert error.key == key
    assert message in error.message
    assert hint in error.hint
    assert error.line is not None
    assert line in text.splitlines()[error.line - 1]


def test_routers_are_points_of_capture(read: Read) -> None:
    chain = (
        '[topology]\nshape = "chain"\npath = ["client", "first", "server"]\n[links.a]\n[links.b]\n'
    )
    text = (
        chain
        + '[capture]\npoints = ["client", "first"]\n'
        + SMALL.replace('[link]\nrate = "20Mbit/s"\ndelay = "10ms"\n', "")
    )
    assert read(text).first.capture.points == ("client", "first")
