"""The demo's comparison of two testbeds, and what it says where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.demo.experiments import NOT_COMPARED, page_of, quiet_transfers, scenarios
from tools import demo, live, versus
from tools.stories import NETWORK, NICS
from trustbed.run.results import open_run


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo's guests are compared."""
    return tmp_path_factory.mktemp(NICS.name)


@pytest.fixture(scope="module")
def compared(guests: Path) -> versus.Compared:
    """The demo's own comparison of guests, with two repetitions of a second."""
    text = NICS.file.read_text(encoding="utf-8")
    file = guests / NICS.file.name
    assert 'duration = "3s"' in text
    assert "repetitions = 3" in text
    text = text.replace('duration = "3s"', 'duration = "1s"')
    file.write_text(text.replace("repetitions = 3", "repetitions = 2"), encoding="utf-8")
    found = versus.carry_out(guests, scenario=file)
    if isinstance(found, live.Missing) and found.forbidden:
        pytest.skip(found.message)
    assert isinstance(found, versus.Compared), found
    return found


@pytest.mark.alone
@quiet_transfers
def test_guests_that_differ_in_their_nic_are_compared(compared: versus.Compared) -> None:
    found = compared.comparison
    assert (found.by, found.reference, found.interleaved) == (NICS.factor, "virtio-net", True)
    assert [(one.name, one.planned) for one in found.testbeds] == [("virtio-net", 2), ("e1000", 2)]
    if any(one.used < one.planned for one in found.testbeds):
        pytest.xfail(f"this machine has too much else to do: {found.testbeds}")
    ((case, candidate),) = [(case, one) for case in found.cases for one in case.candidates]
    assert (case.reference, candidate.testbed) == ("virtio-net", "e1000")
    metrics = {one.key: one for one in candidate.metrics}
    for key in ("requests_per_second", "sent_bytes"):
        sides = (metrics[key].reference, metrics[key].candidate)
        assert all(side is not None and side.count == 2 and side.mean > 0 for side in sides)


@pytest.mark.alone
@quiet_transfers
def test_the_demo_prints_the_comparison_and_writes_its_page(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    guests: Path,
    compared: versus.Compared,
) -> None:
    report = tmp_path / "report.html"
    model = open_run(guests / f"{NICS.name}.run").model
    one = live.Judged(
        story=NETWORK.stories[0],
        scenario=scenarios(NETWORK)[0],
        capture=None,
        repetition={"why": "it was not carried out"},
    )
    network = live.Experiment(study=NETWORK, transfers=[one], model=model, again={})
    demo.main(
        report, experiments=lambda directory: iter([network]), comparing=lambda directory: compared
    )
    printed, page = capsys.readouterr().out, page_of(report)
    beside = page_of(tmp_path / versus.PAGE)
    assert f"wrote report.html and {versus.PAGE}" in printed
    assert NICS.title in page
    assert versus.PAGE in page
    assert NICS.file.name in page
    words = " ".join(printed.split())
    for level in compared.comparison.cases[0].candidates[0].levels:
        sentence = level.sentence.replace("\N{NO-BREAK SPACE}", " ")
        assert sentence in words
        assert sentence in page
        assert sentence in beside
    assert compared.guests in page
    assert max(len(line) for line in printed.splitlines()) <= 100
    assert len(list(versus.lines(compared))) <= 16


def test_where_guests_cannot_be_run_the_comparison_says_so() -> None:
    printed = " ".join(versus.lines(NOT_COMPARED))
    assert "guests need QEMU" in printed
    assert "install it" in printed
    introduction = versus.chapter(NOT_COMPARED).introduction
    assert NOT_COMPARED.message in introduction
    assert NOT_COMPARED.hint in introduction


def test_a_page_of_an_earlier_comparison_does_not_stay_beside_a_report_without_one(
    tmp_path: Path,
) -> None:
    earlier = tmp_path / versus.PAGE
    earlier.write_text("of another run", encoding="utf-8")
    assert versus.write(NOT_COMPARED, tmp_path / "report.html", {}) is None
    assert not earlier.exists()
