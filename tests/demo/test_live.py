"""The demo's live transfers are judged as an expert would judge them."""

from __future__ import annotations

import pytest

from tests.demo.experiments import EACH, STARVED, Carried, quiet_transfers
from tools import telling
from tools.stories import STUDIES, Study

EXPECTED = {
    "live-healthy": ("window_limited", "trust"),
    "live-background": ("network_congestion", "trust"),
    "live-loss": ("network_loss", "review"),
    "live-guest": ("window_limited", "trust"),
    "live-guest-starved": ("host_scheduling", "discard"),
    "live-process": ("window_limited", "trust"),
    "live-process-starved": ("host_scheduling", "discard"),
}
STALL_SECONDS = 0.02
"""An emulator that stalled for so long delayed a round trip by half.

What the packets then show is no longer what was asked for.
"""


@quiet_transfers
@EACH
def test_every_live_transfer_has_a_capture_or_was_invalid(
    carried_out: Carried, study: Study
) -> None:
    made = carried_out(study)
    assert [one.story for one in made.transfers] == list(made.study.stories)
    for one in made.transfers:
        grave = [
            found
            for found in one.repetition["findings"]
            if found["severity"] == "error" and "capture" not in found
        ]
        assert (one.capture is None) == bool(grave)


@quiet_transfers
@pytest.mark.parametrize("name", EXPECTED)
def test_a_live_transfer_is_judged_as_an_expert_would(carried_out: Carried, name: str) -> None:
    made = carried_out(next(study for study in STUDIES if name in study.names))
    one = next(one for one in made.transfers if one.story.name == name)
    if one.main is None:
        pytest.xfail(
            f"{name} was invalid on this machine, twice: "
            f"{one.repetition['why'] or 'no transfer was seen'}"
        )
    judged, stood = (
        (one.main["cause"], one.main["verdict"]),
        one.repetition["emulator"]["max_seconds"],
    )
    assert one.repetition["use"] == one.main["verdict"]
    if judged != EXPECTED[name]:
        if stood > STALL_SECONDS:
            pytest.xfail(
                f"the emulator stalled for {stood:.3f} s during {name}: this machine "
                f"has too much else to do"
            )
        if one.disturbed:
            pytest.xfail(f"{name}: {one.disturbed}; this machine has too much else to do")
    assert judged == EXPECTED[name], one.main["reasons"]
    assert EXPECTED[name][1] == one.story.meant


@quiet_transfers
@pytest.mark.parametrize("study", STARVED, ids=lambda study: study.name)
def test_a_starved_sender_is_distinguished_from_the_network_by_its_twin(
    carried_out: Carried, study: Study
) -> None:
    made = carried_out(study)
    alone, starved = made.transfers
    if alone.main is None or starved.main is None:
        pytest.xfail("invalid on this machine, twice")
    assert alone.stood is None
    assert starved.stood is not None
    if starved.stood != pytest.approx(2 / 3, abs=0.1) and starved.disturbed:
        pytest.xfail(f"{starved.disturbed}: this machine has too much else to do")
    assert starved.stood == pytest.approx(2 / 3, abs=0.1)
    reported = telling.stood(starved)
    assert f"{starved.stood:.0%}".replace("%", " %") in reported
    numbers = telling.compared(made, starved)
    assert [line.split(":")[0] for line in numbers] == [alone.story.name, starved.story.name]
    assert "; ".join(numbers) in telling.chapter(made).notes[0]
    if alone.main["verdict"] != "trust":
        pytest.xfail("the twin was disturbed by others: this machine has too much else to do")
    assert (
        starved.main["throughput_bytes_per_second"]
        < 0.75 * alone.main["throughput_bytes_per_second"]
    )
    assert starved.main["loss_rate_genuine"] == pytest.approx(
        alone.main["loss_rate_genuine"], abs=0.001
    )
