"""Where the captures of others come from.

Every one that is compared has an origin, a licence and a sum.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from validation import captures, provenance

DOCS = Path(__file__).resolve().parents[2] / "docs"
CATALOGUE = """# Captures

| file | source, path | commit | licence | size | special |
|---|---|---|---|---|---|
| bulk/one.pcap | github some/body: tests/one.pcap | 29f1f67adec6 | BSD-3 | 1 kB | \
one bulk flow **[cut to 128 B/packet with editcap]** |
| corrupt/derived/* (2 files) | derived by a script | - | - | | one fault each |
| pairs/a.pcap | github some/body: a | history, see note | none stated | 1 kB | \
commit 267daab8: small probes |
"""
THERE = ["bulk/one.pcap", "corrupt/derived/x.pcap", "corrupt/derived/y.pcap"]


def test_a_row_states_origin_revision_licence_and_changes() -> None:
    one, derived, pair = provenance.origins(CATALOGUE)
    assert (one.pattern, one.revision, one.licence) == ("bulk/one.pcap", "29f1f67adec6", "BSD-3")
    assert one.changed == "cut to 128 B/packet with editcap"
    assert (derived.pattern, derived.revision, derived.licence, derived.changed) == (
        "corrupt/derived/*",
        "",
        "",
        "",
    )
    assert pair.revision == "history, commit 267daab8"


def test_rows_without_captures_are_left_out_and_captures_without_a_row_are_an_error() -> None:
    page = provenance.render(provenance.origins(CATALOGUE), THERE)
    assert "| `corrupt/derived/*` | 2 | derived by a script |" in page
    assert "pairs/a.pcap" not in page
    with pytest.raises(provenance.CatalogueError, match=r"come from: bulk/two\.pcap"):
        provenance.render(provenance.origins(CATALOGUE), [*THERE, "bulk/two.pcap"])


def test_the_command_writes_what_sha256sum_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, output = tmp_path / "traces", tmp_path / "docs"
    for name in THERE:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(b"packets")
    output.mkdir()
    monkeypatch.setenv("TRUSTBED_TRACES", str(directory))
    assert provenance.main(["--output", str(output)]) == 2
    (directory / "README.md").write_text(CATALOGUE, encoding="utf-8")
    assert provenance.main(["--output", str(output)]) == 0
    lines = (output / "traces.sha256").read_text(encoding="utf-8").splitlines()
    # sha256sum of "packets"
    assert lines == [
        f"6e4cadce54be0b2cc248697d0c99bfd2fabe0aeb0e712718f1b60dcfdaf70a0a  {name}"
        for name in THERE
    ]


def test_every_capture_of_others_that_the_comparison_names_has_an_origin_and_a_sum() -> None:
    named = re.findall(
        r"^\| traces/(\S+) \|", (DOCS / "validation.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(named) > 200
    summed = {
        line.split("  ")[1]
        for line in (DOCS / "traces.sha256").read_text(encoding="utf-8").splitlines()
    }
    assert set(named) <= summed
    page = (DOCS / "traces.md").read_text(encoding="utf-8")
    patterns = re.findall(r"^\| `(.*?)` \|", page, re.MULTILINE)
    rows = [
        provenance.Origin(pattern=pattern, source="", revision="", licence="", changed="")
        for pattern in patterns
    ]
    assert [name for name in sorted(summed) if not any(row.holds(name) for row in rows)] == []


def test_the_pages_are_those_of_the_captures_that_are_here(traces: Path) -> None:
    there = provenance.names(traces)
    rows = provenance.origins((traces / provenance.CATALOGUE).read_text(encoding="utf-8"))
    assert (DOCS / "traces.md").read_text(encoding="utf-8") == provenance.render(rows, there), (
        "run: python -m validation provenance"
    )
    assert (DOCS / "traces.sha256").read_text(encoding="utf-8") == provenance.sums(traces, there), (
        "run: python -m validation provenance"
    )


def test_recordings_are_the_shipped_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRUSTBED_TRACES", str(tmp_path / "none"))
    assert captures.directories() == [("recordings", captures.project() / "recordings")]
