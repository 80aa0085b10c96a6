"""The section of docs/validation.md: what was done, the noise, what stops did, which rule tells harm best, what the rule in use misses."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from trustbed.diagnose.run_findings import run_findings
from validation.lateness import rules
from validation.lateness.cases import CASES, INTERVALS_MS, STOPS_MS
from validation.lateness.effects import HARM, Noise, Outcome, outcomes

Row = dict[str, Any]


def in_use(one: Outcome) -> bool:
    """Whether a repetition with this lateness is discarded for it: the product's own rule."""
    late = one.late
    told = {"packets": late["packets"], "p50_ns": late["p50_ns"], "p99_ns": late["p99_ns"], "max_ns": late["max_ns"]}
    told["late_by_more_than_a_packet_time"] = late["later_than_own_time"]
    return any(found.severity == "error" for found in run_findings({"emulator": {"lateness": told}}))


def earlier(one: Outcome) -> bool:
    """The rule that was set by argument, before anything was measured."""
    late = one.late
    return late["p99_ns"] >= 1e6 or (late["later_than_own_time"] >= 0.05 and late["p99_ns"] >= 5e5) or late["max_ns"] >= 5e7


def render(rows: Sequence[Row]) -> str:
    """The section, from everything that was measured."""
    found, noises = outcomes(rows)
    disturbed = [one for one in found if one.stop_ms is not None]
    if not disturbed:
        return "## Lateness of the emulator\n\nNothing has been measured yet."
    parts = [_noise(noises), _effects(disturbed), _rules(found), _odd(found)]
    return "\n".join(parts)


def _table(head: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    texts = [f"| {' | '.join(head)} |"]
    texts += ["|" + "---|" * (texts[0].count("|") - 1)]
    texts += [f"| {' | '.join(str(cell) for cell in line)} |" for line in lines]
    return "\n".join(texts) + "\n"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _noise(noises: dict[tuple[int, str], Noise]) -> str:
    lines = []
    for name, case in CASES.items():
        own = [noise for (_, each), noise in noises.items() if each == name]
        if own:
            most = (_percent(max(getattr(noise, key) for noise in own)) for key in ("throughput", "rtt_p50", "rtt_p99"))
            causes = sorted({str(cause) for noise in own for cause in noise.causes})
            lines.append((case.words, sum(noise.twins for noise in own), *most, ", ".join(causes)))
    return _table(("link and transfer", "twins", "throughput ±", "RTT p50 ±", "RTT p99 ±", "causes"), lines)


def _effects(disturbed: Sequence[Outcome]) -> str:
    """Of every stop and interval: the share of transfers harmed, and the median changes."""
    lines = []
    for stop in STOPS_MS:
        cells = []
        for every in INTERVALS_MS:
            own = [one for one in disturbed if (one.stop_ms, one.every_ms) == (stop, every)]
            if not own:
                cells.append("")
                continue
            throughput, rtt = (statistics.median(getattr(one.change, key) for one in own) for key in ("throughput", "rtt_p50"))
            cells.append(f"{sum(one.harmful for one in own)} of {len(own)} ({throughput:+.1%}, {rtt:+.1%})")
        lines.append((f"{stop:g} ms", *cells))
    return _table(("stop", *("once" if every is None else f"every {every} ms" for every in INTERVALS_MS)), lines)


def _rules(found: Sequence[Outcome]) -> str:
    first = min(one.seed for one in found)
    chosen, judged = [one for one in found if one.seed == first], [one for one in found if one.seed != first]
    lines: list[tuple[str, ...]] = [
        ("in use", *_figures(chosen, in_use), *_figures(judged, in_use)),
        ("earlier", *_figures(chosen, earlier), *_figures(judged, earlier)),
    ]
    for candidate in rules.CANDIDATES:
        threshold = rules.best(chosen, candidate.score)

        def discards(one: Outcome, candidate: rules.Candidate = candidate, threshold: float = threshold) -> bool:
            return candidate.score(one) >= threshold

        lines.append((candidate.words.format(threshold), *_figures(chosen, discards), *_figures(judged, discards)))
    head = ("rule", f"precision, seed {first}", "recall", "F1", "precision, others", "recall", "F1")
    return _table(head, lines)


def _figures(found: Sequence[Outcome], discards: Callable[[Outcome], bool]) -> tuple[str, str, str]:
    if not found:
        return "", "", ""
    scored = rules.scored(found, discards)
    return _percent(scored.precision), _percent(scored.recall), _percent(scored.f1)


def _last(line: tuple[str, ...]) -> str:
    return line[-1]


def _odd(found: Sequence[Outcome]) -> str:
    lines: list[tuple[str, ...]] = []
    for one in found:
        if one.harmful != in_use(one):
            change = one.change
            lines.append(
                (
                    CASES[one.case].words,
                    "undisturbed" if one.stop_ms is None else f"{one.stop_ms:g} ms, {one.every_ms or 'once'}",
                    f"{one.late['p99_ns'] / 1e6:.2f}",
                    f"{one.late['max_ns'] / 1e6:.1f}",
                    _percent(one.late["later_than_frame_time"]),
                    f"{change.throughput:+.1%}",
                    f"{change.rtt_p50:+.1%}",
                    "changed" if change.cause_changed else "",
                    "missed" if one.harmful else "false alarm",
                )
            )
    head = ("link and transfer", "stops", "p99, ms", "most, ms", "later than a frame", "throughput", "RTT p50", "cause", "rule in use")
    return _table(head, sorted(lines, key=_last)) + f"\nHarm: {HARM:.0%}.\n"
