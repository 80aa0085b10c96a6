"""`make demo`: judges five shipped recordings, carries out a live experiment, and writes report.html, which tells both stories.

The recordings are transfers of real TCP stacks whose cause is known because it was made (`recordings/truth.json`). trustbed is told
nothing about them: every verdict printed here comes from the packets of the sender's side alone. The live transfers are made on this
machine (:mod:`tools.live`); where it allows no networks to be made, the demo says what is missing and tells of the recordings alone.
"""

from __future__ import annotations

import datetime
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import trustbed
from tools import live
from trustbed.report import html, words

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "report.html"

TITLE = "Slow transfers: the network, or the machine?"
INTRODUCTION = (
    "Every transfer below was slower than its link. First five recordings: only the packets seen beside the sender were given to trustbed,"
    " which was not told what had been done to them. Three of the five numbers say something about a network, one needs a look,"
    " and one says nothing about any network: it was the sending machine. Compare the last two, the same guest "
    "without and with enough CPU."
)
LIVE = "And live, on this machine"
INDENT = " " * 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A recording, what was done to it, and the recording that is its control."""

    recording: str
    text: str
    beside: str | None = None


STORIES = (
    Story(
        recording="healthy-window-limited",
        text="A 64 KB receive window on a 100 Mbit/s path of 20 ms, nothing wrong anywhere. A third of the link's rate is all "
        "that such a window allows, and the transfer reaches it: the number is true.",
    ),
    Story(
        recording="random-loss",
        text="The link loses one packet in a hundred, whatever the load. The sender backs off again and again. The loss is "
        "real, but the packets cannot say whether the path under test or the testbed's own fabric lost them, so somebody "
        "has to look.",
    ),
    Story(
        recording="cross-traffic",
        text="Four other transfers share the 20 Mbit/s. Packets wait in the queue, and the RTT shows it. This is what a "
        "network under load looks like: the number is true.",
    ),
    Story(
        recording="guest-quota",
        text="A virtual machine that may use its CPU for 1 ms in every 10 ms. Nothing is lost and nothing waits in a queue, "
        "yet it runs at less than half of what its window allows: the window is open, the ACKs are there, and the sender "
        "is silent. The machine was measured, not the network.",
        beside="guest-free",
    ),
    Story(
        recording="guest-free",
        text="The same virtual machine on the same path, undisturbed. It sends whenever it may, and fills its window like the "
        "first transfer.",
    ),
)


def judge(story: Story) -> trustbed.Capture:
    """The sender's side of a recording, judged from its packets alone."""
    return trustbed.analyze(ROOT / "recordings" / f"{story.recording}.sender.pcap.gz")


def lines(name: str, capture: trustbed.Capture) -> list[str]:
    """The verdict on the capture's main transfer, and the two numbers that tell most."""
    main = max(capture.overview.transfers, key=lambda row: row["unique_bytes"], default=None)
    if main is None:
        return [f"{name:<24}not judged: the transfer was too short"]
    head = f"{name:<24}{main['verdict']:<9}{main['confidence']:.2f}  {main['headline']}"
    return [head, *(line for reason in main["reasons"][:2] for line in indented(reason))]


def indented(text: str) -> list[str]:
    """Lines below a verdict."""
    return textwrap.wrap(text, 100, initial_indent=INDENT, subsequent_indent=INDENT)


# The live part.


def live_lines(found: live.Experiment | live.Missing) -> Iterator[str]:
    """What the experiment found, or why there is none."""
    if isinstance(found, live.Missing):
        yield f"no live experiment: {found.message}"
        yield f"hint: {found.hint}"
        return
    for one in found.transfers:
        if one.capture is not None:
            yield from lines(one.story.name, one.capture)
            yield from indented(one.lateness)
        else:
            yield f"{one.story.name:<24}discard"
            yield from indented(f"{one.repetition['why']}: its number would be about this machine")
        if one.story.name in found.again:
            yield from indented(f"carried out twice: the first time, {found.again[one.story.name]}")
        yield ""


def chapter(found: live.Experiment | live.Missing) -> html.Chapter:
    """The live part of the page."""
    if isinstance(found, live.Missing):
        return html.Chapter(
            title=LIVE, introduction=f"The live experiment could not be carried out: {found.message}. To have it, {found.hint}."
        )
    usable = [one.story.name for one in found.transfers if one.capture is not None]
    notes = [
        f"{one.story.name} has no verdict: {one.repetition['why']}. Its number would be about this machine, not about the network."
        for one in found.transfers
        if one.capture is None
    ]
    notes += [f"{name} was carried out twice, because the first time it had to be discarded: {why}." for name, why in found.again.items()]
    return html.Chapter(title=LIVE, introduction=live_introduction(found), notes=notes, captures=usable, run=found.model)


def live_introduction(found: live.Experiment) -> str:
    """What was done, with the numbers of the scenario."""
    link, workload = found.scenario.links[0].forward, found.scenario.workloads[0]
    assert link.rate is not None, "the scenario gives one"
    lasting, round_trip = words.duration(workload.duration_ns / 1e9), words.duration(2 * link.delay_ns / 1e9)
    late = found.late_seconds
    error = (
        ""
        if late is None
        else f" The emulator has an error of its own and counts it: of a hundred packets, 99 left at most {words.duration(late)} late."
    )
    return (
        f"The next transfers were made a moment ago, in network namespaces of their own: {lasting} of bulk TCP over an emulated link of "
        f"{words.rate(link.rate / 8)} with a round trip of {round_trip}, once undisturbed, once beside traffic of others, once over a link "
        "that loses packets. They are judged like the recordings, from the packets beside the sender, but here trustbed was told what the "
        "run knows: that the sender always had data, and how fast the link is."
        f"{error}"
    )


def live_parts(found: live.Experiment | live.Missing) -> list[html.Capture]:
    """The live captures that may be used, as parts of the page."""
    transfers = found.transfers if isinstance(found, live.Experiment) else ()
    usable = {one.story.name: (one.story, one.capture) for one in transfers if one.capture is not None}
    return [
        capture.for_page(name=name, story=story.text, beside=story.beside if story.beside in usable else None)
        for name, (story, capture) in usable.items()
    ]


def main(report: Path = REPORT, *, experiment: Callable[[Path], live.Experiment | live.Missing] = live.carry_out) -> int:
    """Prints the verdicts and writes the page."""
    captures = {story.recording: judge(story) for story in STORIES}
    for story in STORIES:
        print("\n".join(lines(story.recording, captures[story.recording])), end="\n\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="trustbed-demo-") as folder:
        print(f"{LIVE}: three transfers over an emulated link, less than a minute", end="\n\n", flush=True)
        found = experiment(Path(folder) / "demo.run")
        print("\n".join(live_lines(found)))
        parts = [captures[story.recording].for_page(name=story.recording, story=story.text, beside=story.beside) for story in STORIES]
        page = html.Page(
            captures=[*parts, *live_parts(found)],
            provenance=provenance(found),
            title=TITLE,
            introduction=INTRODUCTION,
            chapters=[chapter(found)],
        )
    html.write(report, page)
    print(f"wrote {report.name}: open it in a browser")
    print("next: .venv/bin/trustbed analyze YOUR.pcap")
    print("      .venv/bin/trustbed run examples/demo.toml")
    return 1 if isinstance(found, live.Missing) and not found.forbidden else 0


def provenance(found: live.Experiment | live.Missing) -> html.Provenance:
    """What the page was made from, and when."""
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    files = [ROOT / "recordings" / f"{story.recording}.sender.pcap.gz" for story in STORIES]
    files += [live.SCENARIO] if isinstance(found, live.Experiment) else []
    return html.Provenance(
        version=trustbed.__version__,
        command="make demo",
        started=started,
        inputs=[html.Input(name=file.name, size_bytes=file.stat().st_size) for file in files],
    )


if __name__ == "__main__":
    sys.exit(main())
