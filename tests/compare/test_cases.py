"""Run directories into comparisons: what is compared, what is left out, what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import trustbed
from tests.compare.testbeds import REPETITIONS, REQUESTS_EACH, Made, make_testbed, trace
from trustbed.calls.chains import FEWEST
from trustbed.compare.api import Options, compare
from trustbed.compare.cases import Testbed, _alone, prefixes
from trustbed.compare.chains import chains_of
from trustbed.compare.error import CompareError
from trustbed.compare.model import ChainResult, Comparison, MetricResult
from trustbed.compare.sources import read_run
from trustbed.report.compare import verdicts
from trustbed.report.compare.chain_words import chain_sentences

GUEST = Made(slower=1 / 0.88, merged=4, packets=1.05, jitter_ns=2_000_000)
BY = """
[background.noise]
model = "none"
from = "client"
to = "server"
rate = "1Mbit/s"
[factors]
background.noise.model = ["none", "cbr"]
"""


def _metric(found: Comparison, key: str) -> MetricResult:
    return next(one for _, _, one in found.metrics() if one.key == key)


def _levels(found: Comparison) -> dict[str, str]:
    return {one.level: one.verdict for one in found.cases[0].candidates[0].levels}


@pytest.fixture(scope="module")
def beds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("beds")
    return {
        "metal": make_testbed(place / "metal.run"),
        "again": make_testbed(place / "again.run"),
        "guest": make_testbed(place / "guest.run", GUEST),
    }


def test_a_testbed_and_its_double_are_equivalent(beds: dict[str, Path]) -> None:
    found = compare(beds["metal"], beds["again"])
    assert _levels(found) == {
        "application": "equivalent",
        "system_calls": "not_compared",
        "network": "equivalent",
        "delay": "equivalent",
    }
    assert [one.used for one in found.testbeds] == [REPETITIONS, REPETITIONS]


def test_metrics_are_those_of_the_tables(beds: dict[str, Path]) -> None:
    found = compare(beds["metal"], beds["guest"])
    captured = _metric(found, "packets_from_server_captured")
    assert captured.reference is not None
    assert captured.candidate is not None
    assert (captured.reference.mean, captured.candidate.mean) == (4.0, 1.0)
    wire = _metric(found, "packets_from_server_wire")
    assert wire.candidate is not None
    assert wire.candidate.mean == 4.0
    assert wire.verdict == "equivalent"
    sent = _metric(found, "sent_bytes")
    assert sent.reference is not None
    assert sent.reference.mean == 5000.0
    assert sent.per == "request"
    rate = _metric(found, "requests_per_second")
    assert rate.reference is not None
    assert rate.reference.mean == pytest.approx(50, rel=0.02)
    assert rate.difference_percent == pytest.approx(-12, abs=2)
    jitter = _metric(found, "jitter_seconds")
    assert jitter.difference == pytest.approx(0.002, rel=0.1)
    assert _metric(found, "packets_to_server_wire").difference_percent == pytest.approx(5, abs=1.5)


def test_response_times_of_a_few_whole_milliseconds_are_not_compared(tmp_path: Path) -> None:
    fast = Made(slower=0.03, grain_ns=1_000_000)
    first = make_testbed(tmp_path / "metal", fast)
    again = make_testbed(tmp_path / "guest", replace(fast, slower=2.0))
    found = _metric(compare(first, again), "response_median_seconds")
    assert found.verdict == "not_compared"
    assert found.note == (
        "metal: its tool states whole milliseconds, too coarse for a median below 10 ms"
    )
    fine, same = (make_testbed(tmp_path / name, replace(fast, slower=1.0)) for name in "ab")
    assert _metric(compare(fine, same), "response_median_seconds").verdict == "equivalent"


def test_the_median_of_ab_is_the_one_that_it_states_to_the_microsecond(tmp_path: Path) -> None:
    fast = Made(slower=0.03, grain_ns=1_000_000, tool="ab")
    first = make_testbed(tmp_path / "metal", fast)
    slower = make_testbed(tmp_path / "guest", replace(fast, slower=0.04))
    found = _metric(compare(first, slower), "response_median_seconds")
    assert found.verdict == "different"
    assert found.reference is not None
    assert found.reference.mean == pytest.approx(0.0006, rel=0.02)
    beds = [
        make_testbed(tmp_path / f"{name}", replace(made, tool="wrk"))
        for name, made in (("one", fast), ("two", replace(fast, slower=0.04)))
    ]
    others = [one.key for _, _, one in compare(*beds).metrics()]
    assert "response_median_seconds" not in others
    assert "packets_wire" in others


def test_the_library_call_is_that_of_the_api(beds: dict[str, Path]) -> None:
    assert trustbed.compare(beds["metal"], beds["again"]) == compare(beds["metal"], beds["again"])


def test_a_name_may_be_given_and_the_reference_chosen(beds: dict[str, Path]) -> None:
    found = compare(
        f"lab={beds['metal']}", f"cloud={beds['guest']}", options=Options(reference="cloud")
    )
    assert [one.name for one in found.testbeds] == ["cloud", "lab"]
    assert _metric(found, "requests_per_second").difference_percent == pytest.approx(13.6, abs=2.5)
    assert not found.interleaved
    assert any("not run in turns" in one for one in found.caveats)


def test_the_levels_of_a_factor_are_testbeds_that_were_run_in_turns(tmp_path: Path) -> None:
    run = make_testbed(tmp_path / "study.run", factors=BY, by_level={"cbr": GUEST})
    found = compare(run)
    assert (found.by, found.interleaved) == ("background.noise.model", True)
    assert [one.name for one in found.testbeds] == ["none", "cbr"]
    assert _levels(found)["application"] == "different"
    assert compare(run, options=Options(by="model", reference="cbr")).reference == "cbr"


def test_other_factors_are_cases_of_their_own(tmp_path: Path) -> None:
    factors = BY + 'link.delay = ["10ms", "20ms"]\n'
    run = make_testbed(tmp_path / "study.run", factors=factors, by_level={"cbr": GUEST})
    with pytest.raises(CompareError, match="several factors") as error:
        compare(run)
    assert "--by" in error.value.hint
    found = compare(run, options=Options(by="background.noise.model"))
    assert [one.label for one in found.cases] == ["10ms", "20ms"]
    assert len(found.metrics()) == 2 * len(found.cases[0].candidates[0].metrics)


def test_a_testbed_that_shares_no_case_is_left_out_and_named(tmp_path: Path) -> None:
    # Without background its rate has no effect: `none` has one cell, the models have two each.
    factors = BY.replace('"cbr"]', '"cbr", "poisson"]')
    factors += 'background.noise.rate = ["1Mbit/s", "2Mbit/s"]\n'
    run = make_testbed(tmp_path / "study.run", factors=factors)
    found = compare(run, options=Options(by="model"))
    assert [one.name for one in found.testbeds] == ["cbr", "poisson"]
    assert [one.label for one in found.cases] == ["1Mbit/s", "2Mbit/s"]
    assert found.not_compared == ("none: no case in common with cbr",)
    with pytest.raises(CompareError, match="no case in common"):
        compare(run, options=Options(by="model", reference="none"))


@pytest.mark.parametrize(
    ("other", "said"),
    [({"size": "1MB"}, "object 500 B against 1000000 B"), ({"duration": "5s"}, "duration")],
)
def test_another_workload_or_length_is_refused(
    other: dict[str, str], said: str, beds: dict[str, Path], tmp_path: Path
) -> None:
    run = make_testbed(tmp_path / "other.run", repetitions=1, **other)  # type: ignore[arg-type]
    with pytest.raises(CompareError, match=said):
        compare(beds["metal"], run)


def test_a_factor_that_changes_the_workload_is_no_testbed(tmp_path: Path) -> None:
    run = make_testbed(
        tmp_path / "sizes.run",
        repetitions=1,
        factors='[factors]\nworkload.fetch.object = ["500B", "1MB"]\n',
    )
    with pytest.raises(CompareError, match="something else"):
        compare(run)


def test_repetitions_that_do_not_count_are_listed_with_their_reason(
    beds: dict[str, Path], tmp_path: Path
) -> None:
    late = {
        "code": "run_emulator_late",
        "severity": "error",
        "scope": "emulator",
        "message": "late",
    }
    failed = {
        "workloads": [{"name": "fetch", "kind": "http", "outcome": "failed", "reason": "reset"}]
    }
    run = make_testbed(
        tmp_path / "crashed.run",
        repetitions=10,
        changed={0: {"requests": 0}, 1: failed},
        findings={2: [late]},
        leave_out=2,
    )
    found = compare(beds["metal"], run)
    left = {one.repetition: one.reason for one in found.testbeds[1].left_out}
    assert left == {
        "rep-000": "fetch completed no request",
        "rep-001": "fetch failed: reset",
        "rep-002": "late",
        "rep-008": "not complete",
        "rep-009": "not complete",
    }
    assert found.testbeds[1].used == 5
    assert any(
        "5 of 10 repetitions count; the method asks for 10, 5 more" in one for one in found.caveats
    )


def test_a_stalled_driver_is_discarded_and_listed(beds: dict[str, Path], tmp_path: Path) -> None:
    run = make_testbed(tmp_path / "stalled.run")
    file = run / "rep-003" / "tables" / "transfers.parquet"
    rows = pa.parquet.read_table(file).to_pylist()
    rows[1]["cause"] = "driver_stall"
    pa.parquet.write_table(pa.Table.from_pylist(rows), file)
    found = compare(beds["metal"], run)
    assert [(one.repetition, one.reason) for one in found.testbeds[1].left_out] == [
        ("rep-003", "a network driver stalled (driver_stall)")
    ]


def test_rounds_of_the_warm_up_are_dropped_by_number(beds: dict[str, Path]) -> None:
    found = compare(beds["metal"], beds["again"], options=Options(warm_up=2))
    assert [one.used for one in found.testbeds] == [REPETITIONS - 2, REPETITIONS - 2]
    assert found.testbeds[0].warm_up.startswith("2 rounds; 1 s before the workloads begin")


def test_a_clock_that_stepped_leaves_out_delay_only(beds: dict[str, Path], tmp_path: Path) -> None:
    step = {"code": "clock_step", "severity": "warning", "scope": "capture", "message": "by 1 s"}
    run = make_testbed(
        tmp_path / "stepped.run", findings={key: [step] for key in range(REPETITIONS)}
    )
    found = compare(beds["metal"], run)
    assert _levels(found)["delay"] == "not_compared"
    assert _levels(found)["network"] == "equivalent"
    delay = found.cases[0].candidates[0].levels[-1]
    assert delay.sentence == "Not compared: stepped: a clock was not steady: by 1 s."


def test_captures_at_different_points_leave_out_the_network(
    beds: dict[str, Path], tmp_path: Path
) -> None:
    run = make_testbed(tmp_path / "elsewhere.run", points=("client",))
    found = compare(beds["metal"], run)
    network = next(one for one in found.cases[0].candidates[0].levels if one.level == "network")
    assert network.verdict == "not_compared"
    assert "no capture point that all testbeds have" in network.sentence
    assert _levels(found)["application"] == "equivalent"


def test_a_testbed_of_which_nothing_counts_takes_no_capture_point_away(
    beds: dict[str, Path], tmp_path: Path
) -> None:
    failed = {key: {"outcome": "failed"} for key in range(REPETITIONS)}
    nothing = make_testbed(tmp_path / "nothing.run", changed=failed)
    found = compare(beds["metal"], nothing, beds["again"])
    last = found.cases[0].candidates[-1]
    assert next(one for one in last.levels if one.level == "network").verdict == "equivalent"


@pytest.mark.parametrize(
    ("record", "warm_up"),
    [({"outcome": "failed"}, 0), ({"requests": 0}, 0), ({}, 1)],
    ids=["failed", "idle", "warm-up"],
)
def test_a_repetition_that_does_not_count_takes_no_capture_point_away(
    beds: dict[str, Path], tmp_path: Path, record: dict[str, Any], warm_up: int
) -> None:
    run = make_testbed(tmp_path / "dark.run", changed={0: record})
    file = run / "rep-000" / "findings.json"
    found = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**found, "captures": []}), encoding="utf-8")
    compared = compare(beds["metal"], run, options=Options(warm_up=warm_up))
    assert compared.testbeds[1].used == REPETITIONS - 1
    assert _levels(compared)["network"] == "equivalent"


def test_calls_are_counted_per_request(tmp_path: Path) -> None:
    metal = make_testbed(tmp_path / "metal.run", Made(reads=2.0))
    guest = make_testbed(tmp_path / "guest.run", Made(reads=3.0))
    found = compare(metal, guest)
    assert _levels(found)["system_calls"] == "different"
    reads, calls = _metric(found, "reads"), _metric(found, "system_calls")
    assert reads.difference == pytest.approx(1.0, abs=0.05)
    ((named,),) = found.cases[0].candidates[0].calls.values()
    assert (named.name, round(named.reference), round(named.candidate)) == ("read", 2, 3)
    assert calls.difference == pytest.approx(1.0, abs=0.05)
    switches = _metric(found, "context_switches")
    assert switches.reference is not None
    assert switches.reference.mean == 2.0
    assert _metric(found, "block_io").verdict == "equivalent"


def test_requests_that_failed_are_not_completed_in_a_run_either(tmp_path: Path) -> None:
    metal, failing = (make_testbed(tmp_path / name, repetitions=3) for name in ("metal", "failing"))
    for run, failed in ((metal, 0), (failing, REQUESTS_EACH // 5)):
        row = {"requests": REQUESTS_EACH, "requests_per_second": 50.0}
        row["not_2xx_3xx_responses"] = failed
        for number in range(3):
            file = run / f"rep-{number:03d}" / "tables" / "fetch.summary.parquet"
            pa.parquet.write_table(pa.Table.from_pylist([row]), file)
    found = compare(metal, failing)
    for key, value in (("requests_per_second", 40.0), ("sent_bytes", 5000 / 0.8)):
        candidate = _metric(found, key).candidate
        assert candidate is not None
        assert candidate.mean == pytest.approx(value)


def test_a_trace_that_lost_events_counts_nothing(tmp_path: Path) -> None:
    lost = trace(2.0)
    lost["report"]["complete"] = False
    metal = make_testbed(tmp_path / "metal.run", Made(reads=2.0))
    guest = make_testbed(
        tmp_path / "guest.run",
        Made(reads=2.0),
        changed={number: {"traces": [lost]} for number in range(REPETITIONS)},
    )
    found = compare(metal, guest)
    level = next(one for one in found.cases[0].candidates[0].levels if one.level == "system_calls")
    assert level.verdict == "not_compared"
    assert "guest: the trace lost events" in level.sentence


def test_a_trace_of_the_whole_host_counts_only_where_no_other_does(tmp_path: Path) -> None:
    whole = {**trace(5.0), "name": "everything", "of": None}
    runs = [
        make_testbed(
            tmp_path / f"{name}.run",
            repetitions=3,
            changed={number: {"traces": traces} for number in range(3)},
        )
        for name, traces in (("whole", [whole]), ("both", [trace(2.0), whole]))
    ]
    reads = _metric(compare(*runs), "reads")
    assert reads.reference is not None
    assert reads.candidate is not None
    assert (reads.reference.mean, reads.candidate.mean) == (5.0, 2.0)


def test_tracing_one_testbed_only_is_said(beds: dict[str, Path], tmp_path: Path) -> None:
    traced = make_testbed(tmp_path / "traced.run", Made(reads=2.0))
    found = compare(beds["metal"], traced)
    assert any("traced were traced, and those of metal not" in one for one in found.caveats)


def test_a_testbed_without_a_repetition_that_counts_is_not_called_untraced(tmp_path: Path) -> None:
    traced = make_testbed(tmp_path / "traced.run", Made(reads=2.0), repetitions=3)
    idle = {number: {"requests": 0} for number in range(3)}
    failed = make_testbed(tmp_path / "failed.run", Made(reads=2.0), repetitions=3, changed=idle)
    found = compare(traced, failed)
    assert found.testbeds[1].used == 0
    assert not any("were traced" in one for one in found.caveats)


def _probe(ends: tuple[str, str], forward_ns: int, **clocks: object) -> dict[str, Any]:
    delays = {"forward": {"jitter_ns": forward_ns}, "backward": {"jitter_ns": 1_000_000}}
    report = {"delays": delays, "clocks": {"uneven": False, "clock_steps": 0, **clocks}}
    return {"name": "stamp", "from": ends[0], "to": ends[1], "report": report}


def test_jitter_of_probes_is_a_metric_of_either_direction(tmp_path: Path) -> None:
    beds = [
        make_testbed(
            tmp_path / f"{name}.run",
            changed={
                number: {"probes": [_probe(ends, jitter + 1000 * number)]}
                for number in range(REPETITIONS)
            },
        )
        for name, ends, jitter in (
            ("metal", ("client", "server"), 1_000_000),
            # From the other side: its backward direction is the first's forward one.
            ("guest", ("server", "client"), 4_000_000),
        )
    ]
    found = compare(*beds)
    there = _metric(found, "probe_jitter_to_server_seconds")
    assert there.verdict == "equivalent"
    back = _metric(found, "probe_jitter_from_server_seconds")
    assert (back.verdict, back.difference) == ("different", pytest.approx(0.003, rel=0.01))
    assert _metric(found, "jitter_seconds").verdict == "equivalent"


@pytest.mark.parametrize(
    "probe",
    [
        _probe(("client", "server"), 1, clock_steps=1),
        _probe(("client", "router"), 1),
        {**_probe(("client", "server"), 1), "report": None},
    ],
)
def test_probes_of_other_hosts_and_stepped_clocks_are_left_out(
    tmp_path: Path, probe: dict[str, Any]
) -> None:
    beds = [
        make_testbed(
            tmp_path / f"{name}.run",
            repetitions=3,
            changed={number: {"probes": [probe]} for number in range(3)},
        )
        for name in ("metal", "guest")
    ]
    keys = {one.key for _, _, one in compare(*beds).metrics()}
    assert "jitter_seconds" in keys
    assert not any(key.startswith("probe") for key in keys)


CYCLE = ("accept4", "read", "write", "close")
WALKS = FEWEST**2
"""Every repetition walks through the chain of every one of the reference."""


def _chains(tmp_path: Path, **candidate: Any) -> ChainResult | None:  # noqa: ANN401 - of a testbed
    metal = make_testbed(tmp_path / "metal.run", Made(reads=2.0, calls=CYCLE), repetitions=FEWEST)
    guest = make_testbed(tmp_path / "guest.run", repetitions=FEWEST, **candidate)
    return compare(metal, guest).cases[0].candidates[0].chains


def test_the_same_calls_are_consistent_with_the_references_own_spread(tmp_path: Path) -> None:
    found = _chains(tmp_path, made=Made(reads=2.0, calls=CYCLE))
    assert found is not None
    assert (found.walks, found.invalid_walks, found.jaccard) == (WALKS, 0, 0.0)
    assert found.bits_per_call == pytest.approx(found.reference_bits_per_call, rel=0.2)


def test_a_transition_that_the_reference_never_makes_is_named(tmp_path: Path) -> None:
    found = _chains(
        tmp_path, made=Made(reads=2.0, calls=("accept4", "read", "epoll_wait", "write", "close"))
    )
    assert found is not None
    assert found.invalid_walks == found.walks == WALKS
    assert found.consistent is False
    assert {("read", "epoll_wait"), ("epoll_wait", "write")} <= {
        (one.before, one.after) for one in found.changed
    }
    assert ("read", "epoll_wait") in {(one.state[-1], one.call) for one in found.edges}
    new = next(one for one in found.changed if one.after == "epoll_wait")
    assert new.example.startswith("guest rep-000: ")
    assert "read epoll_wait write" in new.example


def test_what_only_the_initialisation_does_is_not_behind_it(tmp_path: Path) -> None:
    starts = ("execve", "mmap", "socket", "listen")
    sides = [
        read_run(make_testbed(tmp_path / f"{name}.run", made, repetitions=FEWEST), name)
        .cells[0]
        .part.written({f"rep-{number:03}" for number in range(FEWEST)})
        for name, made in (
            ("metal", Made(reads=2.0, calls=CYCLE)),
            ("guest", Made(reads=2.0, calls=CYCLE, starts=starts)),
        )
    ]
    found = chains_of(sides[0], sides[1], ("metal", "guest"), skip=100)
    assert found is not None
    assert (found.invalid_walks, found.invalid_transitions) == (WALKS, 2 * 2 * WALKS)
    assert found.later is not None
    assert (found.later.invalid_walks, found.later.walks) == (0, WALKS)
    assert found.later.calls <= 2 * (3 + 200 * 5 - 100)
    words = " ".join(chain_sentences(found))
    assert "Without the first 100 calls of every thread" in words
    twice = chains_of(sides[0], sides[1], ("metal", "guest"), skip=100, order=2)
    assert twice is not None
    assert twice.order == 2
    assert max(len(one.state) for one in twice.edges) == 2
    assert (twice.bits_per_call or 9) < (found.bits_per_call or 0), "more calls tell more"
    # No thread has so many: there is nothing to say.
    whole = chains_of(sides[0], sides[1], ("metal", "guest"))
    assert whole is not None
    assert whole.later is None
    assert "Without the first" not in " ".join(chain_sentences(whole))


def test_calls_of_another_architecture_are_not_compared(tmp_path: Path) -> None:
    other = {**trace(2.0), "mode": "calls"}
    other["report"]["architecture"] = "aarch64"
    found = _chains(
        tmp_path,
        made=Made(reads=2.0, calls=CYCLE),
        changed={number: {"traces": [other]} for number in range(FEWEST)},
    )
    assert found is not None
    assert found.walks == 0
    assert found.note.startswith("metal was traced on x86_64, guest on aarch64")


def test_without_traces_there_are_no_chains(beds: dict[str, Path]) -> None:
    assert compare(beds["metal"], beds["again"]).cases[0].candidates[0].chains is None


def test_one_testbed_is_too_few(beds: dict[str, Path]) -> None:
    with pytest.raises(CompareError, match="one testbed only"):
        compare(beds["metal"])
    with pytest.raises(CompareError, match="called metal"):
        compare(beds["metal"], beds["metal"])
    with pytest.raises(CompareError, match="no testbed is called lab"):
        compare(beds["metal"], beds["guest"], options=Options(reference="lab"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(tolerance=0.0), "a tolerance of 0 %"),
        (Options(tolerances={"packet": 0.1}), "no metric is called packet"),
        (Options(tolerances={"typo.requests_per_second": 0.1}), "no testbed has the metric typo."),
        (Options(resolution=0.5), "exceeds what is similar"),
        (Options(by="x"), "--by is for the factor of one run"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    options: Options, said: str, beds: dict[str, Path]
) -> None:
    with pytest.raises(CompareError, match=said):
        compare(beds["metal"], beds["again"], options=options)


def test_a_tolerance_of_its_own_stands_in_the_rules(beds: dict[str, Path]) -> None:
    found = compare(
        beds["metal"], beds["guest"], options=Options(tolerances={"requests_per_second": 0.3})
    )
    assert "at most 10 % of metal (requests completed 30 %). Equivalent" in verdicts.basis(found)


def test_calls_in_another_order_are_not_the_same_although_as_many(tmp_path: Path) -> None:
    made = Made(reads=2.0, calls=CYCLE)
    metal = make_testbed(tmp_path / "metal.run", made, repetitions=FEWEST)
    turned = replace(made, calls=CYCLE[::-1])
    guest = make_testbed(tmp_path / "guest.run", turned, repetitions=FEWEST)
    found = compare(metal, guest)
    (candidate,) = found.cases[0].candidates
    assert _levels(found)["system_calls"] == "equivalent"
    assert verdicts.disordered(candidate)
    assert "system calls (in number: their order differs)" in verdicts.summary(found)


def test_repetitions_without_their_calls_are_counted(tmp_path: Path) -> None:
    made = Made(reads=2.0, calls=CYCLE)
    metal = make_testbed(tmp_path / "metal.run", made, repetitions=FEWEST)
    guest = make_testbed(tmp_path / "guest.run", made, repetitions=FEWEST)
    for number in range(2):
        (path,) = (guest / f"rep-{number:03d}").rglob("*.calls.parquet")
        path.unlink()
    chains = compare(metal, guest).cases[0].candidates[0].chains
    assert chains is not None
    assert "2 repetitions without a whole trace are left out." in chains.note


def _parts(*names: Sequence[str]) -> list[Any]:
    return [SimpleNamespace(workloads={name: {"kind": "http"} for name in own}) for own in names]


def test_workloads_that_not_all_have_are_named_and_none_in_common_is_refused() -> None:
    parts = _parts(("fetch", "other"), ("fetch", "z"))
    assert prefixes(["a", "b"], parts) == [{"fetch": ""}, {"fetch": ""}]
    beds = [Testbed(name=name, source=None, parts={}) for name in "ab"]  # type: ignore[arg-type]
    assert list(_alone(beds, parts, prefixes(["a", "b"], parts), "1MB")) == [
        "a (1MB): not compared, since not all testbeds have it: other",
        "b (1MB): not compared, since not all testbeds have it: z",
    ]
    apart = _parts(("fetch", "other"), ("fetch", "x"), ("other", "y"))
    with pytest.raises(CompareError, match=r"no workload in common: a has fetch, other; b has"):
        prefixes(["a", "b", "c"], apart)
