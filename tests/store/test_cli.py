"""``trustbed analyze --store`` and ``trustbed store``: what they print, and how they end."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.store.conftest import NAMES, ROOT
from tests.store.stores import BEGAN, Sent, store_transfers
from trustbed.cli import main
from trustbed.store.store import Store, open_store

FILES = [str(ROOT / "recordings" / f"{name}.pcap.gz") for name in NAMES]


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


def test_captures_are_stored_once_and_the_command_continues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = str(tmp_path / "lab.store")
    words = ("--store", url, "--testbed", "lab")
    code, out, err = ran(capsys, "analyze", FILES[0], *words)
    assert (code, err) == (0, "")
    assert out.startswith("1 capture stored, 0 there before, 0 failed\ntransfers: ")
    assert out.endswith(f"next: trustbed store hosts {url}\n")
    code, out, err = ran(capsys, "analyze", *FILES, f"{tmp_path}/none.pcap", *words)
    assert code == 1
    assert out.startswith("2 captures stored, 1 there before, 1 failed\n")
    assert f"not stored: no such file or directory, {tmp_path}/none.pcap (" in err
    code, out, _ = ran(capsys, "analyze", *FILES, *words, "--json")
    document = json.loads(out)
    assert code == 0
    assert document["captures"] == {"all": 3, "stored": 0, "present": 3, "failed": 0}
    assert document["transfers"]["discard"] >= 1
    assert ran(capsys, "analyze", *FILES, *words, "--quiet", "--fail-on", "discard")[0] == 4
    assert ran(capsys, "store", "ls", url)[1].count("\nlab ") == 3
    out = ran(capsys, "analyze", *FILES, "--store", url, "--testbed", "other")[1]
    assert "\n3 captures there before under another label: lab\n" in out


def test_an_analysis_that_is_asked_for_again_counts_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = str(tmp_path / "lab.store")

    def options_after(*words: str) -> list[dict[str, str]]:
        assert ran(capsys, "analyze", FILES[0], "--store", url, *words)[0] == 0
        return [entry.options for entry in open_store(url).entries]

    assert options_after() == [{}]
    assert options_after("--workload", "bulk") == [{"workload": "bulk"}]
    assert options_after() == [{}]
    assert len(open_store(url).manifests) == 2


def test_entries_are_listed_shown_and_chosen_by_the_beginning_of_a_key(
    disk: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here = open_store(disk)
    assert ran(capsys, "store", "ls", disk) == (0, "nothing is in the store\n", "")
    key = store_transfers(here, "a.pcap", [Sent("alpha", "beta", BEGAN)]) or ""
    store_transfers(here, "b.pcap", [Sent("alpha", "beta", BEGAN)], testbed="cloud")
    code, out, _ = ran(capsys, "store", "ls", disk, "--testbed", "lab", "--json")
    assert [entry["key"] for entry in json.loads(out)["entries"]] == [key]
    code, out, _ = ran(capsys, "store", "show", disk, key[:9])
    assert code == 0
    assert re.search(r"^name +a\.pcap$", out, re.MULTILINE)
    assert re.search(r"^tables +transfers \(1 row\), verdicts \(1 row\)$", out, re.MULTILINE)
    code, _, err = ran(capsys, "store", "show", disk, "zz")
    assert (code, err.splitlines()[0]) == (1, f"error: no entry zz, {disk}")


def test_gc_prints_what_it_removes(disk: str, capsys: pytest.CaptureFixture[str]) -> None:
    here = open_store(disk)
    sent = [Sent("alpha", "beta", BEGAN)]
    store_transfers(here, "a.pcap", sent, version="0.0.1", subject="7" * 64)
    store_transfers(here, "a.pcap", sent, subject="7" * 64)
    assert ran(capsys, "store", "gc", disk)[1] == "nothing to remove\n"
    dry = ran(capsys, "store", "gc", disk, "--older", "1ns", "--dry-run")[1]
    assert dry.startswith("would remove tables/testbed=lab/date=2026-01-01/capture=7777")
    done = ran(capsys, "store", "gc", disk, "--older", "1ns")[1]
    assert done == dry.replace("would remove", "removed")
    assert len(open_store(disk).manifests) == 1


def test_answers_are_text_json_and_pages(
    lab_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = lab_store.url
    for action, headline in (
        ("hosts", "Avoid gamma"),
        ("causes", "Changed: "),
        ("papers", "1 of 1 run would not survive review: study."),
    ):
        page = tmp_path / f"{action}.html"
        words = ("store", action, url, "--testbed", "lab")
        code, out, err = ran(capsys, *words, "-o", str(page))
        assert (code, err) == (0, "")
        assert out.startswith(headline)
        assert out.endswith(f"wrote {page}\n")
        assert headline in page.read_text(encoding="utf-8")
        assert action in json.loads(ran(capsys, *words, "--json")[1])
    assert ran(capsys, "store", "papers", url, "--fail-on", "discard")[0] == 4
    assert ran(capsys, "store", "papers", url, "--fewest", "1", "--fail-on", "review")[0] == 3
    code, out, _ = ran(
        capsys, "store", "causes", url, "--cause", "host_scheduling", "--since", "2026-01-11"
    )
    assert "Since 2026-01-11 00:00 UTC (p = 1.000): from 8.3 %" in out
    assert "That is no change beyond chance." in out


def test_labels_that_nothing_has_are_named(
    lab_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, message in (
        (("hosts", "--testbed", "la"), "nothing has the testbed la"),
        (("papers", "--paper", "icm"), "nothing has the paper icm"),
        (("papers", "--testbed", "wan", "--fail-on", "discard"), "no run to judge"),
    ):
        code, out, err = ran(capsys, "store", words[0], lab_store.url, *words[1:])
        assert (code, out) == (1, "")
        assert message in err
    assert (
        "hint: there are: lab, wan\n"
        in ran(capsys, "store", "ls", lab_store.url, "--testbed", "la")[2]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("analyze", "x.pcap", "--cluster", "local"), "--cluster needs --store URL"),
        (("analyze", "x.pcap", "--store", "s", "--out", "d"), "--out is about one capture"),
        (("analyze", "x", "--store", "s", "--annotate", "a"), "--annotate is about one capture"),
        (("analyze", "x", "--store", "s", "--wireshark-profile", "p"), "--wireshark-profile is"),
        (
            ("analyze", "x", "--store", "s", "--cluster", "h:8786", "--workers", "2"),
            "--workers has no effect on workers that run already",
        ),
        (("store", "gc", "x", "--testbed", "lab"), "--testbed has no effect on gc"),
        (("analyze", "-", "--store", "s"), "--store reads captures twice"),
        (("analyze", "--store", "s"), "no capture given"),
        (("analyze", "x", "--store", "s", "--worker-memory", "1GiB"), "--worker-memory has no"),
        (("analyze", "x", "--store", "s", "--testbed", "a/b"), "--testbed 'a/b' cannot be"),
        (("store",), "no action given"),
        (("store", "rm", "x"), "no such action, rm"),
        (("store", "ls"), "trustbed store ls takes a URL"),
        (("store", "show", "x"), "trustbed store show takes a URL and more"),
        (("store", "ls", "x", "--since", "2026-01-01"), "--since has no effect on ls"),
        (("store", "ls", "nowhere"), "no store, nowhere"),
        (("store", "causes", "x", "--since", "soon"), "'soon' is no date"),
        (("store", "papers", "x", "--fewest", "0"), "'0' is not a number of repetitions"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: Sequence[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = ran(capsys, *words)
    assert code in (1, 2)
    assert out == ""
    assert message in err
    assert "\nhint: " in err
    assert list(tmp_path.iterdir()) == []
