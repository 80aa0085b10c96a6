"""The quality of each capture, before any verdict.

Its files in one line, its findings, what was not measured.

Prints what is known and names what is not: a capture without drop counters has unknown drops, not
none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from trustbed.report import words
from trustbed.report.records import Row
from trustbed.report.transfer.model import Capture
from trustbed.report.transfer.selection import charted

SEVERITIES = ("error", "warning", "info")

SKIP_WORDS = {
    "not_ip": "not IP",
    "other_protocol": "neither TCP nor UDP",
    "tunnel": "inside a tunnel (see --inner)",
    "truncated": "cut before the end of the headers",
    "bad_header": "impossible headers",
    "fragment_without_first": "fragments whose first part is missing",
    "unsupported_link": "unsupported link type",
    "empty": "empty records",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureQuality:
    """One capture: facts in words, findings by severity, skips in words."""

    name: str
    files: Sequence[str]
    drops: str
    skips: str
    findings: Sequence[Row]

    @property
    def counted(self) -> str:
        """How many findings of which severity."""
        number = {
            severity: sum(finding["severity"] == severity for finding in self.findings)
            for severity in SEVERITIES
        }
        message = [
            words.counted(number[severity], word)
            for severity, word in zip(SEVERITIES, ("error", "warning", "note"), strict=True)
            if number[severity]
        ]
        return ", ".join(message) or "nothing found against it"

    @property
    def worst(self) -> str:
        """The gravest severity among the findings, or ``trust``."""
        present = {finding["severity"] for finding in self.findings}
        return next((severity for severity in SEVERITIES if severity in present), "trust")


def quality(capture: Capture, *, captures: int = 1) -> CaptureQuality:
    """The quality of one capture.

    Findings that belong to a transfer with its own section are left to that section.
    """
    overview = capture.overview
    reported = set(charted(overview.transfers, captures=captures))
    findings = [finding for finding in overview.findings if finding["scope"] not in reported]
    findings.sort(key=lambda finding: SEVERITIES.index(finding["severity"]))
    return CaptureQuality(
        name=capture.title,
        files=[_file(file) for file in overview.facts.get("files") or ()],
        drops=_drops(overview.facts),
        skips=_skips(overview.skips),
        findings=findings,
    )


def measured(finding: Row) -> str:
    """Value and threshold of a finding, with their unit; empty when the finding has no value."""
    value, threshold, unit = (
        finding.get("value"),
        finding.get("threshold"),
        finding.get("unit") or "",
    )
    if value is None:
        return ""
    return (
        _quantity(value, unit)
        if threshold is None
        else f"{_quantity(value, unit)}, counts from {_quantity(threshold, unit)}"
    )


def _quantity(value: float, unit: str) -> str:
    shapes = {"share": words.percent, "seconds": words.duration, "bytes": words.size}
    if unit in shapes:
        return shapes[unit](value)
    return f"{value:,.0f} {unit}" if float(value).is_integer() else f"{value:.3g} {unit}"


def _file(file: Row) -> str:
    compression = file.get("compression")
    packed = f" in {compression}" if compression and compression != "none" else ""
    parts = [
        PurePath(file.get("name") or "standard input").name,
        f"{file.get('format') or 'unknown format'}{packed}",
        words.size(file.get("bytes")),
        f"{words.count(file.get('records'))} records",
    ]
    if file.get("snapped_records"):
        parts.append(
            f"{words.count(file['snapped_records'])} of them cut at "
            f"{words.size(file.get('snap_length'))}"
        )
    return " · ".join(parts)


def _drops(facts: Row) -> str:
    """Packets that the capture itself lost, where its format counts them."""
    counters = [
        counter
        for file in facts.get("files") or ()
        for interface in file.get("interfaces") or ()
        for counter in (interface.get("dropped"), interface.get("os_dropped"))
        if counter is not None
    ]
    if not counters:
        return "Packets lost while capturing: unknown, the file does not count them."
    return f"Packets lost while capturing: {words.count(sum(counters))}."


def _skips(skips: Sequence[Row]) -> str:
    skipped = [skip for skip in skips if skip.get("records")]
    if not skipped:
        return "Every record was measured."
    message = ", ".join(
        f"{words.count(skip['records'])} {SKIP_WORDS.get(skip['reason'], skip['reason'])}"
        for skip in skipped
    )
    return f"Not measured: {message}."
