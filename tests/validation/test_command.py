"""The command: which captures it takes, what it writes, how it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.validation.conftest import needs
from tests.validation.talk import Talk
from validation import captures, document, tshark
from validation.__main__ import main
from validation.run import Open, Outcome


@pytest.fixture(scope="module", autouse=True)
def _one_version() -> Iterator[None]:
    """Asks tshark for its version once, which takes it as long as a capture."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tshark, "version", cache(tshark.version))
        yield


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of traces.

    One good capture, one damaged, one that is none, one that is no capture by its name.
    """
    needs("tcptrace")
    needs("tshark")
    traces = tmp_path / "traces"
    traces.mkdir()
    talk = Talk().hello()
    talk.data(30, 0)
    talk.ack(50, 100)
    good = talk.write(traces / "good.pcap").read_bytes()
    (traces / "damaged.pcap").write_bytes(good[:-1])
    (traces / "text.pcap").write_text("not a capture", encoding="utf-8")
    (traces / "notes.txt").write_text("nothing", encoding="utf-8")
    monkeypatch.setenv("TRUSTBED_TRACES", str(traces))
    return traces


def test_the_page_lists_every_capture(directory: Path, tmp_path: Path) -> None:
    page = tmp_path / "validation.md"
    assert main(["--only", "traces/*", "--output", str(page), "--workers", "1"]) == 0
    text = page.read_text(encoding="utf-8")
    assert (
        "2 directions of 1 connections in 1 captures: 100.00% equal or explained (wanted: 99%, met)"
    ) in text
    assert "| traces/good.pcap | 1 | 2 |" in text
    assert "| traces/damaged.pcap | damaged: record cut short after record 4 |" in text
    assert "| traces/text.pcap | neither pcap nor pcapng" in text
    assert "notes.txt" not in text
    assert str(tmp_path) not in text
    assert "Versions: trustbed " in text
    assert "`tcptrace.no_payload`" in text


def test_it_prints_when_only_some_are_selected(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--only", "good", "--workers", "1"]) == 0
    assert capsys.readouterr().out.startswith("## Agreement with tcptrace and tshark")


def test_nothing_to_compare_is_an_error(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--only", "no such capture"]) == 2
    assert "hint:" in capsys.readouterr().err
    assert main(["--only", "damaged", "--workers", "1"]) == 2


def outcome(unexplained: int, of: int = 100) -> Outcome:
    found = Outcome("traces/x.pcap", connections=of // 2)
    found.states = Counter({"equal": of - unexplained, "unexplained": unexplained})
    found.unexplained = [
        Open("traces/x.pcap", 7, "a:1", "b:2", ("tcptrace packets: frame 3: +1",))
    ] * unexplained
    return found


def test_one_in_a_hundred_may_stay_unexplained(monkeypatch: pytest.MonkeyPatch) -> None:
    for unexplained, code in ((0, 0), (1, 0), (2, 1)):
        monkeypatch.setattr(
            "validation.__main__._run", lambda _sources, _workers, n=unexplained: [outcome(n)]
        )
        monkeypatch.setattr(
            captures, "sources", lambda: [captures.Source("traces/x.pcap", Path("x.pcap"))]
        )
        monkeypatch.setattr("sys.stdout.write", lambda _text: 0)
        assert main(["--only", "x"]) == code


def test_what_stays_unexplained_is_listed() -> None:
    text = document.render([outcome(1)])
    assert "| traces/x.pcap | 7 | a:1 → b:2 | tcptrace packets: frame 3: +1 |" in text


def test_a_reason_that_nothing_documents_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    strange = outcome(0)
    strange.reasons["tcptrace.because"] = 3
    assert document.unknown_reasons([strange]) == ["tcptrace.because"]
    monkeypatch.setattr("validation.__main__._run", lambda _sources, _workers: [strange])
    monkeypatch.setattr(
        captures, "sources", lambda: [captures.Source("traces/x.pcap", Path("x.pcap"))]
    )
    monkeypatch.setattr("sys.stdout.write", lambda _text: 0)
    assert main(["--only", "x"]) == 1


def test_every_reason_has_a_sentence() -> None:
    for name, meaning in document.meanings().items():
        assert meaning.endswith("."), name
        assert len(meaning) > 20, name


def test_a_handful_of_real_captures(traces: Path, tmp_path: Path) -> None:
    """One of each kind.

    Losses, super-packets, zero windows, tunnels, several connections on the same ports.
    """
    needs("tcptrace")
    needs("tshark")
    page = tmp_path / "page.md"
    names = (
        "fast_reuse.dmp",
        "ndt_lossy_small",
        "wireshark-retrans",
        "zeek_tunnels_vxlan",
        "iperf3_vm_tcp.client",
        "zeek_vlan-collisions",
    )
    assert len(names) == len(
        [s for s in captures.sources() if any(name in s.name for name in names)]
    )
    options = [word for name in names for word in ("--only", name)]
    assert main([*options, "--output", str(page), "--workers", "2"]) == 0
    assert "100.00% equal or explained" in page.read_text(encoding="utf-8")
