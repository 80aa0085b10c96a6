"""The table of results: what was measured beside what was published. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from studies.background.checks import Check
from studies.background.figures import Figure

_WORDS = {
    "found": "found",
    "contradicted": "**not found: the opposite**",
    "open": "not found: the interval holds both",
    "missing": "not measured",
}
_FOUND_ALL, _MEASURED_NONE = "found", "not measured"

Compared = Sequence[tuple[Figure, Sequence[Check]]]


def summary(checks: Sequence[Check]) -> str:
    """Whether a figure's direction was found: all of it, parts, or not."""
    measured = [one for one in checks if one.verdict != "missing"]
    found = sum(one.verdict == "found" for one in measured)
    if not measured:
        return _MEASURED_NONE
    if found == len(checks):
        return _FOUND_ALL
    return f"{found} of {len(measured)} statements found"


def render(compared: Compared, *, command: str, uses: Sequence[tuple[str, str]]) -> str:
    """The page in Markdown.

    Args:
        compared: Every figure with its checks.
        command: What writes the page.
        uses: For every file, how many of its repetitions could be used, in words.
    """
    lines = [
        f"<!-- Made by `{command}`. Do not edit. -->",
        "",
        "# Does background traffic matter? What was found here",
        "",
        "Figures of Vishwanath and Vahdat (USENIX ATC 2008), repeated by the scenarios of this "
        "directory. Ratios",
        "and differences are means over rounds, each with its 95 % interval (Student's t; "
        "repetitions of a round are",
        "adjacent in time). A statement is found if the whole interval says so.",
        "",
        "| figure | published direction | found here |",
        "|---|---|---|",
        *(f"| {one.number} | {one.published} | {summary(checks)} |" for one, checks in compared),
        "",
        "| figure | statement | measured | rounds | |",
        "|---|---|---|---|---|",
        *(
            f"| {one.number} | {check.statement} | {check.measured} | {check.rounds} | "
            f"{_WORDS[check.verdict]} |"
            for one, checks in compared
            for check in checks
        ),
        "",
        "Repetitions that are not to be discarded:",
        "",
        "| file | used |",
        "|---|---|",
        *(f"| {name} | {use} |" for name, use in uses),
    ]
    return "\n".join(lines) + "\n"
