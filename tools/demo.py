"""`make demo`: judges five shipped recordings and writes report.html, which tells their story.

The recordings are transfers of real TCP stacks whose cause is known because it was made (`recordings/truth.json`). trustbed is told
nothing about them: every verdict printed here comes from the packets of the sender's side alone.
"""

from __future__ import annotations

import datetime
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import trustbed
from trustbed.report import html

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "report.html"

TITLE = "Five slow transfers: the network, or the machine?"
INTRODUCTION = (
    "Every transfer below was slower than its link. Only the packets seen beside the sender were given to trustbed, which"
    " was not told what had been done to them. Three of the five numbers say something about a network, one needs a look,"
    " and one says nothing about any network: it was the sending machine. Compare the last two, the same guest "
    "without and with enough CPU."
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


def lines(story: Story, capture: trustbed.Capture) -> list[str]:
    """The verdict on the recording's main transfer, and the two numbers that tell most."""
    main = max(capture.overview.transfers, key=lambda row: row["unique_bytes"])
    head = f"{story.recording:<24}{main['verdict']:<9}{main['confidence']:.2f}  {main['headline']}"
    indent = " " * 24
    return [
        head,
        *(line for reason in main["reasons"][:2] for line in textwrap.wrap(reason, 100, initial_indent=indent, subsequent_indent=indent)),
    ]


def main(report: Path = REPORT) -> int:
    """Prints the verdicts and writes the page."""
    captures = {story.recording: judge(story) for story in STORIES}
    for story in STORIES:
        print("\n".join(lines(story, captures[story.recording])), end="\n\n")
    parts = [captures[story.recording].for_page(name=story.recording, story=story.text, beside=story.beside) for story in STORIES]
    files = (ROOT / "recordings" / f"{story.recording}.sender.pcap.gz" for story in STORIES)
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    provenance = html.Provenance(
        version=trustbed.__version__,
        command="make demo",
        started=started,
        inputs=[html.Input(name=file.name, size_bytes=file.stat().st_size) for file in files],
    )
    html.write(report, html.Page(captures=parts, provenance=provenance, title=TITLE, introduction=INTRODUCTION))
    print(f"wrote {report.name}: open it in a browser")
    print("next: .venv/bin/trustbed analyze YOUR.pcap")
    return 0


if __name__ == "__main__":
    sys.exit(main())
