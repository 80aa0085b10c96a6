"""How the live part of `make demo` is told.

Lines for a terminal, chapters and captures for the page.

Words only. What was carried out and judged comes from :mod:`tools.live`; what is said of it has the
numbers that were measured, or that the scenario asks for.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import trustbed
from tools.live import Experiment, Found, Judged, Missing
from tools.stories import NETWORK, PROCESS
from trustbed.report import words
from trustbed.report.records import Row
from trustbed.report.transfer import html

NAME_WIDTH = 24
_INDENT = " " * NAME_WIDTH


def verdict_lines(name: str, capture: trustbed.Capture) -> list[str]:
    """The verdict on the capture's main transfer, and the two numbers that tell most."""
    main = max(capture.overview.transfers, key=lambda row: row["unique_bytes"], default=None)
    if main is None:
        return [f"{name:<{NAME_WIDTH}}not judged: the transfer was too short"]
    head = f"{name:<{NAME_WIDTH}}{main['verdict']:<9}{main['confidence']:.2f}  {main['headline']}"
    return [head, *(line for reason in main["reasons"][:2] for line in indented(reason))]


def indented(text: str) -> list[str]:
    """Lines below a verdict."""
    return textwrap.wrap(text, 100, initial_indent=_INDENT, subsequent_indent=_INDENT)


# For a terminal.


def lines(found: Found) -> Iterator[str]:
    """What an experiment found, or why there is none."""
    if isinstance(found, Missing):
        yield f"no live experiment: {found.message}"
        yield f"hint: {found.hint}"
        yield ""
        return
    if found.study is not NETWORK:
        yield from textwrap.wrap(f"a starved sender: {_sender(found)}", 100)
        yield ""
    for one in found.transfers:
        yield from _transfer_lines(found, one)
        yield ""


def _transfer_lines(found: Experiment, one: Judged) -> Iterator[str]:
    if one.capture is None:
        yield f"{one.story.name:<{NAME_WIDTH}}discard"
        yield from indented(f"{one.repetition['why']}: its number would be about this machine")
    else:
        yield from verdict_lines(one.story.name, one.capture)
        for said in (*compared(found, one), stood(one), unmeant(one), one.departure_error):
            yield from indented(said)
    if one.story.name in found.again:
        yield from indented(f"carried out twice: the first time, {found.again[one.story.name]}")


# What both say.


def compared(found: Experiment, one: Judged) -> list[str]:
    """A transfer and its control, the numbers of both, the control first.

    Nothing if it has none.
    """
    control = found.control_of(one)
    if control is None or control.main is None or one.main is None:
        return []
    return [_numbers(control.story.name, control.main), _numbers(one.story.name, one.main)]


def _numbers(name: str, row: Row) -> str:
    rate, round_trip = (
        words.rate(row["throughput_bytes_per_second"]),
        words.duration(row["rtt_path_seconds"]),
    )
    return f"{name}: {rate}, RTT {round_trip}, loss {words.percent(row['loss_rate_genuine'])}"


def stood(one: Judged) -> str:
    """How long the sender was really kept from running, beside what its packets say of it.

    Nothing where nobody stopped it.
    """
    if one.stood is None or one.main is None:
        return ""
    silent = words.percent(one.main["idle_open_window_fraction"])
    return (
        f"it was stopped for {words.percent(one.stood)} of the time; its packets show "
        f"{silent} of silence under an open window"
    )


def unmeant(one: Judged) -> str:
    """That a verdict is another than the one that the story should lead to; nothing otherwise."""
    if one.main is None or one.main["verdict"] == one.story.meant:
        return ""
    why = (
        one.disturbed
        or "something else happened on this machine meanwhile, or the verdict is wrong"
    )
    return f"this was meant to end in {one.story.meant}: {why}"


# For the page.


def chapter(found: Found) -> html.Chapter:
    """A live part of the page."""
    if isinstance(found, Missing):
        introduction = (
            f"This experiment could not be carried out: {found.message}. To have it, {found.hint}."
        )
        return html.Chapter(title=found.study.title, introduction=introduction)
    about = _network(found) if found.study is NETWORK else _starved(found)
    return html.Chapter(
        title=found.study.title,
        introduction=f"{about}{_late(found)}",
        notes=list(_notes(found)),
        captures=[one.story.name for one in found.transfers if one.capture is not None],
        run=found.model,
    )


def _notes(found: Experiment) -> Iterator[str]:
    for one in found.transfers:
        name = one.story.name
        if one.capture is None:
            yield (
                f"{name} has no verdict: {one.repetition['why']}. Its number would be about "
                f"this machine, not about the network."
            )
        if found.study is not NETWORK and compared(found, one):
            yield f"{'; '.join(compared(found, one))}."
        yield from (f"{name}: {said}." for said in (stood(one), unmeant(one)) if said)
    for name, why in found.again.items():
        yield f"{name} was carried out twice: the first time, {why}."


def _network(found: Experiment) -> str:
    return (
        f"The next transfers were made a moment ago, in network namespaces of their own: "
        f"{_link(found)}, once undisturbed, once beside "
        "traffic of others, once over a link that loses packets. They are judged from the "
        "packets beside the sender, like the recordings, "
        "but here trustbed knows what a run knows: that the sender always had data, how "
        "fast the link is, and what the sender's kernel and "
        "the samples of its processor say."
    )


def _starved(found: Experiment) -> str:
    fault = next(one.scenario.faults[0] for one in found.transfers if one.scenario.faults)
    assert fault.stopped_ns is not None, "the scenario gives both"
    assert fault.every_ns is not None, "the scenario gives both"
    turn = f"{_milliseconds(fault.stopped_ns)} of every {_milliseconds(fault.every_ns)}"
    return (
        f"Last, a sender that is kept from running, because something else has its "
        f"processor. It is {_sender(found)}. "
        f"Twice {_link(found)}: once left alone, and once stopped for {turn}. Nothing else differs."
    )


def _sender(found: Experiment) -> str:
    """Whose packets a starved sender's are."""
    if found.study is PROCESS:
        why = (
            f", because a machine of its own cannot be run here: {found.instead}"
            if found.instead
            else ""
        )
        return f"a process in a network namespace{why}"
    guests = found.model.host["guests"]
    by = guests["accelerators"]["auto"]
    how = "run by KVM" if by["name"] == "kvm" else f"emulated, because {by['reason']}"
    return (
        f"a machine of its own, a guest of QEMU {guests['qemu']} ({how}), captured outside, "
        f"where its veth link ends"
    )


def _link(found: Experiment) -> str:
    """What the transfers have in common, with the numbers of the scenario."""
    scenario = found.transfers[0].scenario
    link, workload = scenario.links[0].forward, scenario.workloads[0]
    assert link.rate is not None, "the scenario gives one"
    return (
        f"{workload.duration_ns / 1e9:g} s of bulk TCP over an emulated link of "
        f"{link.rate / 1e6:g} Mbit/s with a round trip of "
        f"{_milliseconds(2 * link.delay_ns)}"
    )


def _milliseconds(nanoseconds: int) -> str:
    """What a scenario asks for, as it asks for it."""
    return f"{nanoseconds / 1e6:g} ms"


def _late(found: Experiment) -> str:
    """The emulator's own error, in a sentence."""
    late = found.late_seconds
    if late is None:
        return ""
    return (
        f" The emulator has an error of its own and counts it: of a hundred packets, 99 left "
        f"at most {words.duration(late)} late."
    )


def parts(found: Found) -> list[html.Capture]:
    """The live captures that may be used, as parts of the page."""
    if isinstance(found, Missing):
        return []
    shown = []
    for one in found.transfers:
        if one.capture is not None:
            beside = None if found.control_of(one) is None else one.story.beside
            shown.append(
                one.capture.for_page(name=one.story.name, story=one.story.text, beside=beside)
            )
    return shown
