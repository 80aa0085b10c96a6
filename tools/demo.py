"""`make demo`.

Judges five shipped recordings, carries out live experiments, and writes report.html, which tells
both stories, and compare.html, which compares two virtual machines.

The recordings are transfers of real TCP stacks whose cause is known because it was made
(`recordings/truth.json`). trustbed is told nothing about them: every verdict printed here comes
from the packets of the sender's side alone. The live transfers are made on this machine
(:mod:`tools.live`); where it allows no networks to be made, the demo says what is missing and tells
of the recordings alone.
"""

from __future__ import annotations

import datetime
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import trustbed
from tools import live, telling, versus
from tools.stories import NICS
from trustbed.report.transfer import html

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "report.html"
COMMAND = "make demo"

TITLE = "Slow transfers: the network, or the machine?"
INTRODUCTION = (
    "Every transfer below was slower than its link. First five recordings: only the "
    "packets seen beside the sender were given to trustbed,"
    " which was not told what had been done to them. Three of the five numbers say "
    "something about a network, one needs a look,"
    " and one says nothing about any network: it was the sending machine. Compare the "
    "last two of them, the same guest "
    "without and with enough CPU. After them come transfers that were made here, live, "
    "the same comparison once more, and at the end two virtual machines that differ in "
    "their NIC."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A recording, what was done to it, and the recording that is its control."""

    recording: str
    text: str
    beside: str | None = None


STORIES = (
    Story(
        recording="healthy-window-limited",
        text="A 64 KB receive window on a 100 Mbit/s path of 20 ms, nothing wrong anywhere. A "
        "third of the link's rate is all "
        "that such a window allows, and the transfer reaches it: the number is true.",
    ),
    Story(
        recording="random-loss",
        text="The link loses one packet in a hundred, whatever the load. The sender backs off "
        "again and again. The loss is "
        "real, but the packets cannot say whether the path under test or the testbed's "
        "own fabric lost them, so somebody "
        "has to look.",
    ),
    Story(
        recording="cross-traffic",
        text="Four other transfers share the 20 Mbit/s. Packets wait in the queue, and the RTT "
        "shows it. This is what a "
        "network under load looks like: the number is true.",
    ),
    Story(
        recording="guest-quota",
        text="A virtual machine that may use its CPU for 1 ms in every 10 ms. Nothing is lost "
        "and nothing waits in a queue, "
        "yet it runs at less than half of what its window allows: the window is open, the "
        "ACKs are there, and the sender "
        "is silent. The machine was measured, not the network.",
        beside="guest-free",
    ),
    Story(
        recording="guest-free",
        text="The same virtual machine on the same path, undisturbed. It sends whenever it "
        "may, and fills its window like the "
        "first transfer.",
    ),
)


def judge(story: Story) -> trustbed.Capture:
    """The sender's side of a recording, judged from its packets alone."""
    return trustbed.analyze(ROOT / "recordings" / f"{story.recording}.sender.pcap.gz")


def main(
    report: Path = REPORT,
    *,
    experiments: Callable[[Path], Iterator[live.Found]] = live.experiments,
    comparing: Callable[[Path], versus.Compared | live.Missing] = versus.carry_out,
) -> int:
    """Prints the verdicts and writes the pages."""
    captures = {story.recording: judge(story) for story in STORIES}
    for story in STORIES:
        print(
            "\n".join(telling.verdict_lines(story.recording, captures[story.recording])),
            end="\n\n",
            flush=True,
        )
    parts = [
        captures[story.recording].for_page(
            name=story.recording, story=story.text, beside=story.beside
        )
        for story in STORIES
    ]
    found = []
    with tempfile.TemporaryDirectory(prefix="trustbed-demo-") as directory:
        print(
            "And live, on this machine: five transfers over an emulated link, and two virtual "
            "machines\ncompared, about two minutes",
            end="\n\n",
            flush=True,
        )
        for one in experiments(Path(directory)):
            found.append(one)
            print("\n".join(telling.lines(one)), flush=True)
            parts += telling.parts(one)
        # Where no network could be made, that was said.
        possible = any(isinstance(one, live.Experiment) for one in found)
        compared = comparing(Path(directory)) if possible else None
        chapters = [telling.chapter(one) for one in found]
        if compared is not None:
            print("\n".join(versus.lines(compared)), flush=True)
            chapters.append(versus.chapter(compared))
        page = html.Page(
            captures=parts,
            provenance=provenance(found, compared),
            title=TITLE,
            introduction=INTRODUCTION,
            chapters=chapters,
        )
    html.write(report, page)
    about = {
        "version": trustbed.__version__,
        "command": COMMAND,
        "started": page.provenance.started,
    }
    beside = None if compared is None else versus.write(compared, report, about)
    written = report.name if beside is None else f"{report.name} and {beside.name}"
    print(f"wrote {written}: open {'it' if beside is None else 'them'} in a browser")
    print("next: .venv/bin/trustbed analyze YOUR.pcap")
    print("      .venv/bin/trustbed run examples/demo.toml")
    ended = [one for one in (*found, compared) if isinstance(one, live.Missing)]
    return int(any(not one.forbidden for one in ended))


def provenance(
    found: Sequence[live.Found], compared: versus.Compared | live.Missing | None
) -> html.Provenance:
    """What the page was made from, and when."""
    started = (
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    )
    files = [ROOT / "recordings" / f"{story.recording}.sender.pcap.gz" for story in STORIES]
    files += [one.study.file for one in found if isinstance(one, live.Experiment)]
    files += [NICS.file] if isinstance(compared, versus.Compared) else []
    return html.Provenance(
        version=trustbed.__version__,
        command=COMMAND,
        started=started,
        inputs=[html.Input(name=file.name, size_bytes=file.stat().st_size) for file in files],
    )


if __name__ == "__main__":
    sys.exit(main())
