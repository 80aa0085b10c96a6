"""What the demo's scenarios ask for is what its stories say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.demo.experiments import STARVED, scenarios
from tools import live
from tools.stories import GUEST, NETWORK, NICS, PROCESS, Study
from trustbed.scenario import load


def test_the_live_stories_are_three_cells_of_the_scenario_that_differ_in_one_thing() -> None:
    healthy, background, loss = scenarios(NETWORK)
    assert background.links == healthy.links
    assert loss.backgrounds[0].silent
    assert healthy.backgrounds[0].silent
    assert not background.backgrounds[0].silent
    assert loss.links != healthy.links
    assert healthy.workloads == background.workloads == loss.workloads


@pytest.mark.parametrize("study", STARVED, ids=lambda study: study.name)
def test_a_starved_sender_differs_from_its_twin_in_nothing_but_the_fault(study: Study) -> None:
    alone, starved = scenarios(study)
    assert replace(starved, faults=()) == alone
    (fault,) = starved.faults
    assert (fault.kind, fault.host) == ("freeze", live.SENDER)
    assert [(host.name, host.guest is not None) for host in alone.hosts] == [
        ("client", study is GUEST),
        ("server", False),
    ]
    disturbed = study.stories[1]
    assert disturbed.beside == study.stories[0].name
    assert fault.stopped_ns is not None
    assert fault.every_ns is not None
    for duration in (fault.stopped_ns, fault.every_ns):
        assert f"{duration / 1e6:g}" in disturbed.text


def test_a_stopped_process_has_no_more_in_its_buffer_than_leaves_within_the_stop() -> None:
    alone, starved = scenarios(PROCESS)
    link, workload, (fault,) = alone.links[0].forward, alone.workloads[0], starved.faults
    assert workload.receive_buffer_bytes is not None
    assert workload.send_buffer_bytes is not None
    assert fault.stopped_ns is not None
    assert workload.receive_buffer_bytes < workload.send_buffer_bytes
    # A kernel takes twice what is asked for; a window leaves every round trip.
    round_trips = 2 * workload.send_buffer_bytes / workload.receive_buffer_bytes
    assert round_trips * 2 * link.delay_ns < fault.stopped_ns / 2


def test_what_the_live_stories_say_is_what_the_scenario_asks_for() -> None:
    healthy, background, loss = scenarios(NETWORK)
    link, workload, lossy = healthy.links[0].forward, healthy.workloads[0], loss.links[0].forward
    assert link.rate == 20_000_000
    assert link.loss is None or not link.loss.probability
    assert lossy.loss is not None
    assert lossy.loss.probability == pytest.approx(0.02)
    assert background.backgrounds[0].rate == 14_000_000
    # The window that the buffer allows is smaller than what fits into the path, and yet no share of
    # the link is left beside the others.
    assert workload.receive_buffer_bytes is not None
    assert workload.receive_buffer_bytes < link.rate / 8 * 2 * link.delay_ns / 1e9
    assert (
        background.backgrounds[0].rate
        + workload.receive_buffer_bytes * 8 / (2 * link.delay_ns / 1e9)
        > link.rate
    )


def test_the_live_part_takes_about_a_minute() -> None:
    """The sum of transfer times, per-transfer overhead and guest boot times.

    A guest boots slowest where every instruction is emulated.
    """
    network, guest = (
        sum(scenario.expected_ns / 1e9 + 2.5 for scenario in scenarios(study))
        for study in (NETWORK, GUEST)
    )
    assert network + guest + 2 * 7 < 65


def test_the_testbeds_of_the_comparison_differ_in_their_nic_alone() -> None:
    virtio, e1000 = (cell.scenario for cell in load(NICS.file).cells)
    nics = []
    for scenario in (virtio, e1000):
        (server,) = (host.guest for host in scenario.hosts if host.name == "server")
        assert server is not None
        nics.append(server.nic)
    assert nics == ["virtio-net", "e1000"]
    assert replace(virtio, hosts=e1000.hosts) == e1000
    assert virtio.repetitions == 3
    boots = 2 * 7
    assert 2 * virtio.repetitions * (virtio.expected_ns / 1e9 + 1) + boots < 60
