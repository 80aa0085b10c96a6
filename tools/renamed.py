"""Shows that renaming changed no number: two checkouts judge the same captures, and agree.

    python -m tools.renamed OLD CAPTURE…     # OLD: a checkout from before, with its engine built
    python -m tools.renamed --answers DIRECTORY LIST   # old answers as JSON, 1.json for line 1 …
    python -m tools.renamed OLD RUN…         # run directories, which both checkouts report

Column names, flags and finding codes of the old answer are translated by `NAMES`; then every
number, cause, verdict, confidence, flag and code must be equal, `MENDED` apart. Sentences are not
compared: they were rewritten. Exits with 1 where something differs, and prints where.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

#: Old name → new name of columns, flags, finding codes and keys of the JSON.
NAMES: Mapping[str, str] = {
    "at_from": "at_source",
    "bare_lost": "no_payload_frames_lost",
    "bare_passed": "no_payload_frames_delivered",
    "bare_sent": "no_payload_frames_sent",
    "both_ends": "two_point",
    "burst_left_floor_s": "sustained_rtt_min_s",
    "burst_left_floor_seconds": "sustained_rtt_min_seconds",
    "burst_left_rate_Bps": "sustained_rate_Bps",
    "burst_left_rate_bytes_per_second": "sustained_rate_bytes_per_second",
    "capture_place": "capture_point",
    "capture_place_from": "capture_point_source",
    "clock_set": "clock_stepped",
    "data_lost": "data_frames_lost",
    "data_passed": "data_frames_delivered",
    "data_sent": "data_frames_sent",
    "data_undecided": "data_frames_indeterminate",
    "data_unseen": "data_frames_missed",
    "deficit_explained": "throughput_gap_explained",
    "deficit_ns": "throughput_gap_ns",
    "deficit_seconds": "throughput_gap_seconds",
    "delay_floor_seconds": "owd_min_seconds",
    "delay_above_floor_p50_seconds": "owd_increase_p50_seconds",
    "delay_above_floor_p95_seconds": "owd_increase_p95_seconds",
    "delay_above_floor_p99_seconds": "owd_increase_p99_seconds",
    "folder": "directory",
    "from_place": "sender_capture",
    "isolated_oversize_spacing": "isolated_long_pause",
    "lateness": "departure_error",
    "large_samples": "spacing_above_period_samples",
    "nearest_initiator_seconds": "response_min_initiator_seconds",
    "nearest_responder_seconds": "response_min_responder_seconds",
    "needless_frames": "spurious_frames",
    "oversize_fraction": "long_pause_fraction",
    "oversize_samples": "long_pause_samples",
    "oversize_seconds": "long_pause_seconds",
    "place_contradicted": "capture_point_contradicted",
    "place_unknown": "capture_point_unknown",
    "reordered_answers": "reordering_dupack_series",
    "rtt_floor_after_seconds": "rtt_min_after_step_seconds",
    "rtt_floor_before_seconds": "rtt_min_before_step_seconds",
    "rtt_floor_flight_ratio": "rtt_min_step_flight_ratio",
    "rtt_floor_left": "rtt_min_step_residual",
    "way_rise_seconds": "owd_increase_seconds",
    "withheld_at_rate_fraction": "idle_open_window_at_rate_fraction",
    "withheld_fraction": "idle_open_window_fraction",
    "withheld_samples": "idle_open_window_samples",
    "withheld_seconds": "idle_open_window_seconds",
    "withheld_threshold_seconds": "idle_open_window_threshold_seconds",
}

#: What a mended defect changed: identical RSTs with IP id 0 counted as packets captured twice.
MENDED = "capture_duplicates"

#: Keys that new answers have besides.
ADDED = frozenset({"rtt_mean_seconds", "malformed_samples"})

#: Keys whose values are sentences, or name the program and the moment.
PROSE = frozenset(
    {
        "alternatives", "command", "evidence", "files", "headline", "hint", "message", "meaning",
        "next_step", "problems", "reasons", "schema_version", "settled_by", "skip_reasons",
        "started", "title", "verdict_words", "version", "why",
    }
)  # fmt: skip


def translated(value: Any) -> Any:  # noqa: ANN401
    """The old answer under the new names, without its prose."""
    if isinstance(value, dict):
        return {
            NAMES.get(key, key): translated(one)
            for key, one in value.items()
            if key not in PROSE and key != MENDED
        }
    if isinstance(value, list):
        kept = [one for one in value if not (isinstance(one, dict) and one.get("code") == MENDED)]
        return [translated(one) for one in kept]
    return NAMES.get(value, value) if isinstance(value, str) else value


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """Where two answers differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (old.keys() | new.keys()) - (ADDED - old.keys()):
            if key not in old or key not in new:
                yield f"{path}.{key}: only {'new' if key in new else 'old'}"
            else:
                yield from differences(old[key], new[key], f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{path}: {len(old)} and {len(new)} entries"
        for index, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from differences(one, other, f"{path}[{index}]")
    elif old != new:
        yield f"{path}: {old!r} and {new!r}"


def answer(checkout: Path, subject: Path) -> Any:  # noqa: ANN401
    """What a checkout reports of a capture or of a run directory; none where it refuses."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "python")}
    verb = "report" if subject.is_dir() else "analyze"
    command = [sys.executable, "-m", "trustbed", verb, str(subject), "--json"]
    run = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, check=False)
    return parsed(run.stdout)


def parsed(text: bytes) -> Any:  # noqa: ANN401
    """The answer in an output; none where the capture was refused."""
    return json.loads(text) if text.strip() else None


def main() -> int:
    """Compares; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path, help="the old checkout, or the directory of answers")
    parser.add_argument("captures", nargs="+", type=Path, help="captures, or one list of them")
    parser.add_argument("--answers", action="store_true", help="OLD holds answers: N.json")
    arguments = parser.parse_args()
    here = Path(__file__).resolve().parent.parent
    captures = arguments.captures
    if arguments.answers:
        captures = [Path(line) for line in captures[0].read_text(encoding="utf-8").splitlines()]
    wrong = 0
    for number, capture in enumerate(captures, 1):
        if arguments.answers:
            old = parsed((arguments.old / f"{number}.json").read_bytes())
        else:
            old = answer(arguments.old, capture)
        found = list(differences(translated(old), translated(answer(here, capture))))
        wrong += bool(found)
        for line in found[:10]:
            print(f"{capture.name}: {line}")
    print(f"{len(captures)} captures, {len(captures) - wrong} equal")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
