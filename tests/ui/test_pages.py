"""The pages: what a store, a run and a campaign have, in the words of reports."""

from __future__ import annotations

import fcntl
import html
import json
import re
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest

import trustbed
from tests.canary import ESCAPE, NAME, SCRIPT, pcapng
from tests.canary_directories import campaign_of, run_of
from tests.patience import wait_until
from tests.report.campaign_directories import Story, make_campaign
from tests.store.stores import BEGAN, Sent, store_transfers
from tests.ui.conftest import RECORDINGS, first
from tests.ui.serving import Client, serving
from trustbed.report.transfer import comparison
from trustbed.store.captures import How, jobs_of, store_capture
from trustbed.store.store import open_store
from trustbed.ui import pages

HOW = How(version=trustbed.__version__, testbed="lab", workers=1)


def words(page: str) -> str:
    """The text of a page."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


def test_the_list_counts_filters_and_pages(client: Client) -> None:
    page = client.page("/?testbed=wan")
    assert "10,000 transfers" in page
    assert "1 to 100" in page
    assert page.count("data-ref=") == 100
    second = client.page("/?testbed=wan&page=2")
    assert "101 to 200" in second
    assert not set(re.findall(r'data-ref="([^"]*)', page)) & set(
        re.findall(r'data-ref="([^"]*)', second)
    )
    assert "2,500 transfers" in client.page("/?testbed=wan&verdict=discard")
    assert "1,000 transfers" in client.page("/?testbed=wan&since=2026-01-03&until=2026-01-03")
    assert "Nothing matches" in client.page("/?q=nowhere")


def test_a_long_list_of_captures_has_pages(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "LISTED", 5)
    shown = [
        re.findall(r'data-href="/capture/([^"]*)', client.page(f"/captures?page={number}"))
        for number in (1, 2, 3)
    ]
    assert [len(one) for one in shown] == [5, 5, 2]
    assert len({key for one in shown for key in one}) == 12
    assert "6 to 10" in words(client.page("/captures?page=2"))
    assert 'rel="next" href="/captures?q=drawn&amp;page=2"' in client.page("/captures?q=drawn")
    many = "&".join(["q"] * 101)
    refused = client.ask(f"/?{many}")
    assert (refused.status, "a query has 100 fields at most" in refused.text) == (400, True)


def test_results_of_other_programs_are_listed_with_their_values(client: Client) -> None:
    listed = client.page("/results")
    assert "1 result" in words(listed)
    assert "load cloud" in words(listed)
    path = listed.partition('data-href="')[2].partition('"')[0]
    shown = client.page(path)
    for part in ("1.txt", "2.txt", "requests completed", " /s"):
        assert part in words(shown), part
    assert client.ask(f"/report{path}").status == 404, "there is no report of it"
    assert "There is no result here." not in client.page("/results?q=load")
    assert "There is no result here." in client.page("/results?q=nowhere")


def test_a_transfer_is_told_in_the_words_of_its_report(client: Client, transfer: str) -> None:
    capture = trustbed.analyze(RECORDINGS / "random-loss.sender.pcap.gz")
    row = max(capture.rows(judged_only=True), key=lambda row: row["unique_bytes"])
    page = words(client.page(f"/transfer/{transfer}"))
    assert row["headline"].split(" —")[0].lower() in page.lower()
    for reason in row["reasons"]:
        assert reason[1:].rstrip(".") in page
    assert "packet loss" in page


def test_points_come_from_the_capture_beside_the_store(client: Client, transfer: str) -> None:
    found = client.points(f"/points/{transfer}?px=800")
    assert found["pending"] is None
    view = found["view"]
    assert view["packets"] > 1000
    assert len(view["marks"]["t"]) > 10
    assert found["phases"]["t"]
    middle = found["whole"] // 2
    close = client.points(f"/points/{transfer}?from={middle}&to={middle + 1000}&px=800")
    assert (close["from"], close["to"], close["view"]["exact"]) == (middle, middle + 1000, True)


def test_a_number_that_makes_no_sense_does_no_harm(client: Client, transfer: str) -> None:
    for query in ("from=-1", "px=9999999", "from=9&to=3", f"to={'9' * 400}", "from=%00&px=x"):
        found = client.points(f"/points/{transfer}?{query}")
        assert 0 <= found["from"] < found["to"]
        assert len(found["view"]["sequence"]["t"]) <= 2 * 4096


def test_a_capture_that_is_elsewhere_or_another_is_not_read(
    tmp_path: Path, quick_store: None
) -> None:
    copy = shutil.copy(RECORDINGS / "random-loss.sender.pcap.gz", tmp_path / "a.pcap.gz")
    store = open_store(tmp_path / "there" / "lab.store", create=True)
    assert store_capture(jobs_of([copy])[0], store.url, HOW).state == "stored"
    with serving(store.url, tmp_path / "cache") as client:
        one = first(client, "/")
        data = bytearray(Path(copy).read_bytes())
        data[-1] ^= 1
        Path(copy).write_bytes(data)
        found = client.points(f"/points/{one}")
        assert found["pending"]["state"] == "missing"
        assert "changed since it was stored" in found["pending"]["message"]
        assert found["phases"]["t"]
        Path(copy).unlink()
        gone = client.points(f"/points/{one}")
        assert gone["pending"]["state"] == "missing"
        assert "a.pcap.gz" in gone["pending"]["message"]
        report = client.ask(f"/report/capture/{one.partition('/')[0]}")
        assert (report.status, "is not here" in report.text) == (404, True)
        shutil.copy(RECORDINGS / "random-loss.sender.pcap.gz", tmp_path / "there" / "a.pcap.gz")
        assert client.points(f"/points/{one}")["pending"] is None


def test_two_transfers_are_compared(client: Client, transfer: str) -> None:
    other = first(client, "/?q=guest-frozen&sort=-bytes")
    page = words(client.page(f"/compare?a={transfer}&b={other}"))
    for term in ("Throughput", "Round-trip time", "Loss", "99th percentile of the RTT"):
        assert page.count(term) == 1, term
    assert "points" in page
    assert client.ask(f"/compare?a={transfer}").status == 404


def test_a_round_trip_from_another_capture_point_is_not_compared() -> None:
    there = {"at": "sender", "rtt_p99_seconds": 0.02, "throughput_bytes_per_second": 3e6}
    for point, shown in (("sender", "−50 %"), ("receiver", "different capture points")):
        here = {**there, "at": point, "rtt_p99_seconds": 0.01, "throughput_bytes_per_second": 6e6}
        found = {one.term: one.difference for one in comparison.differences(here, there)}
        assert found["99th percentile of the RTT"] == shown
        assert found["Throughput"] == "+100 %"


def test_reports_are_served_as_they_are_written(client: Client, place: Path) -> None:
    key = first(client, "/?q=random-loss").partition("/")[0]
    found: list[str] = []

    def made() -> bool:
        found.append(client.page(f"/report/capture/{key}"))
        return "Reading the capture" not in found[-1]

    wait_until(made, "the report of a capture")
    assert "This page loads nothing from anywhere" in found[-1]
    for kind, name in (("run", "study"), ("campaign", "four hosts")):
        path = client.page(f"/{kind}s").partition(f'data-href="/{kind}/')[2].partition('"')[0]
        assert "What the words mean" in client.page(f"/report/{kind}/{path}"), name
    for question in ("hosts", "causes", "papers"):
        assert "What the words mean" in client.page(f"/report/store/{question}")
    assert client.ask("/report/store/secrets").status == 404


def test_of_several_stores_one_is_asked(tmp_path: Path) -> None:
    for name in ("one", "two"):
        store = open_store(tmp_path / f"{name}.store", create=True)
        store_transfers(
            store, f"{name}.pcap", [Sent("10.0.0.1", "10.0.0.2", BEGAN, "host_scheduling")]
        )
    with serving(tmp_path, tmp_path / "cache") as client:
        page = client.page("/report/store/hosts")
        asked = re.findall(r'data-href="([^"]*)"', page)
        assert len(asked) == 2
        for name, path in zip(("one", "two"), asked, strict=True):
            answer = words(client.page(html.unescape(path)))
            assert "What the words mean" in answer
            assert f"{name}.store" in answer
        assert client.ask("/report/store/hosts?store=three.store").status == 404


def test_a_run_has_its_cells_and_a_campaign_its_rounds(client: Client) -> None:
    run = client.page("/runs").partition('data-href="')[2].partition('"')[0]
    page = client.page(run)
    assert "Finished: 21 of 21 repetitions" in page
    assert page.count('class="discard" href="/?capture=') == 1
    campaign = client.page("/campaigns").partition('data-href="')[2].partition('"')[0]
    page = client.page(campaign)
    assert page.count('title="round ') >= 20
    assert 'class="discard"' in page


def test_a_campaign_at_work_is_followed(tmp_path: Path) -> None:
    whole = make_campaign(tmp_path / "whole", Story(rounds=20))
    place = make_campaign(tmp_path / "paths", Story(rounds=20))
    journal = place / "journal.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    with serving(place, tmp_path / "cache") as client, (place / ".lock").open("w") as lock:
        path = client.page("/campaigns").partition('data-href="')[2].partition('"')[0]
        assert "data-live" not in client.page(path)
        fcntl.flock(lock, fcntl.LOCK_EX)
        page = client.page(path)
        assert "<body" in page
        assert "data-live" in page
        before = int(re.search(r"At work: (\d+) of \d+ rounds", page)[1])  # type: ignore[index]
        journal.write_text("".join(lines), encoding="utf-8")
        after = int(re.search(r"(?:At work|Finished): (\d+) of", client.page(path))[1])  # type: ignore[index]
        assert before < after
        assert "at work" in client.page("/campaigns")
    assert whole.is_dir()


def test_asking_whether_somebody_is_at_work_leaves_nothing(tmp_path: Path) -> None:
    place = make_campaign(tmp_path / "paths", Story(rounds=5))
    before = sorted(file.name for file in place.iterdir())
    with serving(place, tmp_path / "cache") as client:
        client.page(client.page("/campaigns").partition('data-href="')[2].partition('"')[0])
    assert sorted(file.name for file in place.iterdir()) == before


def test_a_canary_is_shown_and_not_obeyed(tmp_path: Path, quick_store: None) -> None:
    place = tmp_path / NAME
    place.mkdir()
    store = open_store(place / "lab.store", create=True)
    pcapng(place / f"{NAME}.pcapng", RECORDINGS / "random-loss.sender.pcap.gz")
    for job in jobs_of([place]):
        assert store_capture(job, store.url, HOW).state == "stored"
    hostile = f"{ESCAPE}{SCRIPT}"
    store_transfers(store, hostile, [Sent(hostile, hostile, BEGAN, hostile)], wide=True)
    run_of(place / "one.run")
    campaign_of(place / "one.pairs")
    with serving(place, tmp_path / "cache") as client:
        paths = [
            "/",
            "/captures",
            "/runs",
            "/campaigns",
            f"/?q={quote(SCRIPT)}&host={quote(SCRIPT)}",
        ]
        paths.append("/?verdict=not_judged&verdict=" + quote(hostile))
        listed = [client.page(path) for path in paths]
        more = [one for page in listed for one in re.findall(r'data-href="([^"]*)', page)]
        assert len(more) >= 6
        for path in {*paths, *more}:
            page = client.page(path)
            assert "<script>document" not in page, path
            assert "<i class=canary" not in page, path
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page), path
        assert any("&lt;i class=canary" in page for page in listed)


def test_what_was_stored_later_is_there(tmp_path: Path, quick_store: None) -> None:
    from trustbed.ui import library

    store = open_store(tmp_path / "lab.store", create=True)
    store_transfers(store, "one.pcap", [Sent("10.0.0.1", "10.0.0.2", BEGAN)])
    with serving(store.url, tmp_path / "cache") as client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "LOOK_SECONDS", 0.0)
        assert "1 transfer<" in client.page("/")
        store_transfers(store, "two.pcap", [Sent("10.0.0.1", "10.0.0.3", BEGAN + 1)])
        wait_until(lambda: "2 transfers<" in client.page("/"), "the second capture")


def test_what_is_no_store_is_an_error(tmp_path: Path) -> None:
    from trustbed.ui.library import Library, UiError

    with pytest.raises(UiError, match="no store, run or campaign"):
        Library(str(tmp_path))
    with pytest.raises(UiError, match="no store, run or campaign"):
        Library(str(tmp_path / "nothing"))


def test_a_damaged_run_is_named_and_others_are_shown(tmp_path: Path, quick_store: None) -> None:
    store = open_store(tmp_path / "lab.store", create=True)
    store_transfers(store, "one.pcap", [Sent("10.0.0.1", "10.0.0.2", BEGAN)])
    place = make_campaign(tmp_path / "paths", Story(rounds=5))
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    (place / "manifest.json").write_text(json.dumps({**manifest, "campaign": 1}), encoding="utf-8")
    with serving(tmp_path, tmp_path / "cache") as client:
        page = client.page("/")
        assert "1 transfer<" in page
        assert 'class="problem"' in page
