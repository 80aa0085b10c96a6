"""The section of docs/validation.md, from answers made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from syrupy.assertion import SnapshotAssertion

from tests.validation.external.test_score import answer
from validation.external import command, page
from validation.external.policing import Connection, Group
from validation.external.score import Case


def simulated() -> list[Case]:
    said = {
        "sender": answer("rate_changed", "shaped", verdict="review"),
        "middle": answer("shaped"),
        "receiver": answer("host_scheduling", verdict="discard"),
    }
    return [
        Case.of(
            said[point],
            part="ns3",
            name="rate_change-1",
            kind="rate_change",
            family="near",
            point=point,
            accepted=("rate_changed",),
            verdicts=("review",),
        )
        for point in said
    ]


def cellular() -> list[Case]:
    return [
        Case.of(
            answer("network_congestion"),
            part="cellular",
            name="cell-1",
            kind="cellular",
            family="cubic",
            point="sender",
            accepted=("bandwidth_limited", "network_congestion"),
            verdicts=("trust",),
        )
    ]


def connection(group: Group, *names: str, objects_policed: int = 0) -> Connection:
    return Connection(
        name=f"{group}-{'-'.join(names)}",
        group=group,
        loss_share=0.1,
        objects=5,
        objects_policed=objects_policed,
        answer=answer(*names),
    )


def policing() -> list[Connection]:
    return [
        connection("alone", "policed", objects_policed=3),
        connection("alone", "network_loss", objects_policed=1),
        connection("sharing", "network_loss", "policed"),
        connection("other", "policed"),
        connection("other", "host_scheduling"),
    ]


def test_it_shows_every_part(snapshot: SnapshotAssertion) -> None:
    text = page.text(
        policing=policing(),
        simulated=simulated(),
        accepted={"rate_change": "rate_changed → review"},
        cellular=cellular(),
    )
    assert text == snapshot


def test_it_names_what_is_missing(snapshot: SnapshotAssertion) -> None:
    assert page.text(policing=[], simulated=[], accepted={}, cellular=[]) == snapshot


def test_it_is_silent_about_what_was_not_wanted() -> None:
    text = page.text(policing=None, simulated=[], accepted={}, cellular=None)
    assert [line for line in text.splitlines() if line.startswith("### ")] == [
        "### Another TCP on simulated paths"
    ]


def test_the_rows_can_be_scored_again(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    command.write_rows(file, policing(), [*simulated(), *cellular()])
    rows = pq.read_table(file).to_pylist()
    assert [row["is_right"] for row in rows if row["part"] == "policing"] == [
        True,
        False,
        True,
        False,
        True,
    ]
    assert [row["is_right"] for row in rows if row["part"] == "ns3"] == [True, False, False]
    assert {row["part"] for row in rows} == {"policing", "ns3", "cellular"}


def test_what_is_accepted_elsewhere_alone_is_named_apart() -> None:
    sender, *rest = simulated()
    elsewhere = [replace(case, accepted=("rate_changed", "shaped")) for case in rest]
    assert command.accepted([sender, *rest]) == {"rate_change": "rate_changed → review"}
    assert command.accepted([sender, *elsewhere]) == {
        "rate_change": "rate_changed → review; elsewhere rate_changed, shaped → review"
    }
