"""From stored transfers to answers, tables and pictures, on the shipped recordings.

No network is made.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from validation.truth import command, page, pictures, text
from validation.truth.judged import judge
from validation.truth.kernel import agreements, buffer_limited
from validation.truth.measured import _capture, kernel
from validation.truth.networks import Network
from validation.truth.result import VIEWS, Result
from validation.truth.store import Store, StoreError

RECORDINGS = Path(__file__).resolve().parents[3] / "recordings"
NETWORK = Network(
    family="metro",
    rate_megabits=100,
    round_trip_ms=20,
    limit="window",
    congestion_control="cubic",
    seconds=3,
    window_bytes=65_536,
    guest="virtio-net",
)


@cache
def captures(recording: str) -> dict[str, Any]:
    """As they are stored; the recordings were made by iperf3, on its own port."""
    from validation.truth import measured

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measured, "PORTS", frozenset({5201}))
        return {
            side: _capture(RECORDINGS / f"{recording}.{side}.pcap.gz", side)
            for side in ("sender", "receiver")
        }


def stored(name: str, kind: str, recording: str, **more: object) -> dict[str, Any]:
    account = {
        "busy_ns": 3_000_000_000,
        "receive_window_limited_ns": 2_900_000_000,
        "send_buffer_limited_ns": 0,
        "send_buffer_bytes": 1 << 20,
    }
    values = {
        "outcome": "made",
        "reason": None,
        "dose": {},
        "seed": 2,
        "kernel": account,
        "captures": captures(recording),
    }
    return {"name": name, "kind": kind, "network": asdict(NETWORK), **values, **more}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path)
    store.write(stored("undisturbed-window.0", "undisturbed-window", "guest-free"))
    store.write(
        stored(
            "undisturbed-window.1",
            "undisturbed-window",
            "healthy-window-limited",
            network=asdict(replace(NETWORK, family="office")),
        )
    )
    store.write(stored("guest-quota.0", "guest-quota", "guest-quota"))
    store.write(
        {
            **stored("policer.0", "policer", "guest-quota"),
            "outcome": "not made",
            "reason": "no such key",
            "captures": {},
        }
    )
    return store


def test_a_directory_belongs_to_the_first_plan_that_comes(tmp_path: Path) -> None:
    directory = Store(tmp_path / "new")
    directory.belong_to({"seed": 1, "scenarios": "a"})
    directory.write(stored("guest-quota.0", "guest-quota", "guest-quota"))
    directory.belong_to({"seed": 1, "scenarios": "a"})
    with pytest.raises(
        StoreError, match="seed 1, scenarios a; this one is seed 2, scenarios b"
    ) as raised:
        directory.belong_to({"seed": 2, "scenarios": "b"})
    assert "--directory" in raised.value.hint


def test_transfers_without_a_plan_are_of_an_earlier_one_and_are_still_judged(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StoreError, match="an earlier plan"):
        store.belong_to({"seed": 1})
    assert command.main(["--directory", str(store.directory), "--limit", "0"]) == 2
    assert "an earlier plan" in capsys.readouterr().err
    assert command.main(["--directory", str(store.directory), "--score-only"]) == 0


def test_a_plan_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(StoreError, match="cannot be read"):
        Store(tmp_path).belong_to({"seed": 1})


def test_a_store_gives_back_what_it_was_given(store: Store) -> None:
    assert store.holds("guest-quota.0")
    assert not store.holds("guest-quota.1")
    given = stored("guest-quota.0", "guest-quota", "guest-quota")
    assert {key: store.read("guest-quota.0")[key] for key in given} == json.loads(json.dumps(given))
    store.remove("guest-quota.0")
    assert not store.holds("guest-quota.0")


def test_a_damaged_transfer_is_an_error(store: Store) -> None:
    store.file("guest-quota.0").write_bytes(b"damaged")
    with pytest.raises(StoreError, match="cannot be read"):
        list(store)


def test_each_capture_is_judged_alone_and_the_senders_once_more_with_what_the_run_knows() -> None:
    one = stored("guest-quota.0", "guest-quota", "guest-quota")
    alone, known = judge(one, "sender"), judge(one, "sender", known=True)
    assert alone is not None
    assert known is not None
    assert (alone.cause, known.cause) == ("host_scheduling", "host_scheduling")
    assert alone.evidence["workload"] == "unknown"
    assert known.evidence["workload"] == "bulk"
    assert known.evidence["app_limited_fraction"] != alone.evidence["app_limited_fraction"]
    assert judge(one, "middle") is None


def test_a_result_knows_what_was_made_and_what_it_cost(store: Store) -> None:
    result = Result.of(store)
    assert [one.label.standing for one in result.made] == ["disturbed", "healthy", "healthy"]
    assert len(result.chosen("development")) == 1
    assert result.not_made == {("policer", "not made", "no such key"): 1}
    found = result.score(VIEWS[0], "report")
    assert (found.cases, found.macro_f1) == (2, 1.0)
    assert (found.missed_discards.hits, found.missed_discards.of) == (0, 1)
    assert json.loads(json.dumps(result.as_json("report")))["made"] == 2


def test_text_and_page_state_what_is_missing(store: Store) -> None:
    result = Result.of(store)
    printed = text.render(result, "report")
    assert "policer" in printed
    assert "no such capture was taken" in printed
    section = page.render(result)
    assert "| `policer` | not made | 1 | no such key |" in section
    assert "### Wrong answers" in section
    assert "Pooled calibration error (bins weighted by their answers): 0." in section
    assert "Of the bins with 30 answers and more 0 of 0 hold." in section


def test_a_wrong_answer_is_listed_with_its_numbers(
    store: Store, snapshot: SnapshotAssertion
) -> None:
    store.write(stored("guest-quota.1", "guest-quota", "self-congested"))
    printed = text.wrong_answers(Result.of(store), "report").splitlines()
    assert [line for line in printed if line.startswith(("##", "wanted", "got"))] == snapshot
    assert sum(line.startswith('{"throughput_bytes_per_second": ') for line in printed) == 3


def test_every_picture_that_the_page_names_can_be_drawn(store: Store, tmp_path: Path) -> None:
    result = Result.of(store)
    found = pictures.pictures(result, page.REPORTED)
    pictures.write(found, tmp_path / "drawn")
    section = page.render(result)
    for file in (tmp_path / "drawn").glob("*.svg"):
        assert f"({page.DIRECTORY}/{file.name})" in section
        assert "<text" in file.read_text(encoding="utf-8")
    assert len(list((tmp_path / "drawn").iterdir())) == len(found) == section.count("![")


def test_the_kernels_account_is_that_of_the_largest_transfer() -> None:
    transfers = [
        {"payload_bytes": 1, "tcp": {"busy_ns": 1}},
        {"payload_bytes": 9, "tcp": {"busy_ns": 2}, "send_buffer_bytes": 3},
        {},
    ]
    account = kernel(transfers)
    assert account is not None
    assert (account["busy_ns"], account["send_buffer_bytes"]) == (2, 3)
    assert kernel([{}]) is None


def test_shares_of_time_are_compared_where_both_sides_know_them() -> None:
    def one(share: float | None, window: int, buffer: int = 0, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        row = {
            "duration_ns": 100,
            "share_path": 0.5,
            "share_idle_application": share,
            "window_full": share,
        }
        account = {
            "busy_ns": 80,
            "receive_window_limited_ns": window,
            "send_buffer_limited_ns": buffer,
        }
        return {"captures": {"sender": {"row": row}}, "kernel": account, **more}

    paced = {"network": {"congestion_control": "bbr"}}
    guest = {"network": {"congestion_control": "cubic", "guest": "e1000"}}
    busy, full = agreements(
        [
            one(0.24, 20),
            one(0.9, 72, 18, **paced),
            one(0.9, 72, 10, **guest),
            one(None, 10),
            {"captures": {}, "kernel": None},
        ]
    )
    assert (busy.transfers, busy.near, busy.plain, busy.plain_near) == (4, 1, 2, 1)
    assert busy.median_difference == pytest.approx((-0.04 - 0.7) / 2)
    assert (full.transfers, full.near, full.plain, full.plain_near) == (3, 2, 1, 1)
    assert agreements([one(0.9, 20, faults=[{}])])[1].plain == 0
    assert agreements([one(0.9, 20, faults=[])])[1].plain == 1
    assert buffer_limited([one(0.1, 0, 40), one(0.1, 0, 39), {"kernel": None}]) == 1


def test_the_command_scores_what_a_directory_holds(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--directory", str(store.directory), "--score-only"]) == 0
    assert "3 transfers made, 1 not" in capsys.readouterr().out
    assert (store.directory / "result.json").is_file()


def test_nothing_to_score_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--directory", str(tmp_path), "--score-only"]) == 2
    assert "nothing to score" in capsys.readouterr().err


def test_a_kind_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--only", "nonsense"])
    assert "no kind contains 'nonsense'" in capsys.readouterr().err
