"""The documentation pages of diagnosis, findings and host checks, from the tables that decide.

`make docs` writes them (see generate_docs.py). A test compares the pages with the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields

from trustbed.diagnose.ambiguity import BY_RULE
from trustbed.diagnose.calibration import LEAST_FOR_DISCARD, UNCOUNTED
from trustbed.diagnose.catalogue import CATALOGUE as DIAGNOSIS_CATALOGUE
from trustbed.diagnose.causes import CAUSES, VERDICT_RULES, VERDICTS
from trustbed.diagnose.compensation_table import HIGH, IS_SHOWN, LOW, NEAR, WANTED_SHARE, WITHIN
from trustbed.diagnose.confidence import CONFIDENCE, HIGHEST, LOWEST
from trustbed.diagnose.diagnosis import FLAGS
from trustbed.diagnose.evidence import SOURCES
from trustbed.diagnose.features import FEATURES, QUANTITIES
from trustbed.diagnose.limits import JUDGED, LIMITS
from trustbed.diagnose.rules import STAGES
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from trustbed.findings import Catalogue, Entry, filled
from trustbed.host_check.catalogue import HOST_CATALOGUE
from trustbed.host_check.thresholds import HOST_THRESHOLDS, HostThresholds

CATALOGUE = Catalogue((*DIAGNOSIS_CATALOGUE.values(), *HOST_CATALOGUE.values()))
"""Every finding there can be."""
MADE = (
    "<!-- Made by `make docs` from the tables of trustbed.diagnose and trustbed.host_check. Do "
    "not edit. -->"
)

_INTRODUCTION = """\
Why did a transfer run at its speed, and does the number describe the network? For every transfer of
more than a few round trips trustbed compares the throughput with what window, delay, loss and
capacity allow, checks whether the sender paused with an open window, and names one cause, a
confidence and a verdict. `trustbed explain CAPTURE TRANSFER` shows each step for one transfer."""

_NUMBERS = """\
| number | meaning |
|---|---|
| X | throughput: unique payload per second, from first data sent to last byte acknowledged |
| X₀ = W·p / (P·R₀) | what window and base RTT allow (VTN, Eq. 1) |
| X₁ = W·p / (P·R) | what window and mean RTT allow; X₀ where R is unknown |
| X₂ = p/R · √(1.5/loss) | what the loss allows (Mathis et al. 1997), unless it is refuted |
| X₃ = C·p/P | what the capacity allows |
| r = X / min(X₁, X₂, X₃) | share of the expected throughput, without unknown bounds; without X₁ \
only r ≥ {explained_ratio:g} counts |
| i = R / R₀ | inflation of the RTT |
| X·R / p | packets in flight on average (Little's law) |
| T_pkt = P·R₀ / W | time per packet of an ideal, self-clocked sender |
| f, h | shares of the transfer: in pauses longer than R₀; idle with an open window |

X₂ is refuted if X > {loss_model_refuted_ratio:g}·X₂, or with fewer than {loss_events_minimum:g}
losses. A capacity measured in the transfer is refuted, and X₃ unknown, if no queue stood in front
of it: R < {link_queue_inflation:g} times R₀ and the time of two packets at P90 of the delivery
rate, or R − R₀ < {link_queue_packets:g} packets at that rate."""

_AMBIGUITY = """\
A bulk sender that is stopped and an application that pauses leave the same packets. Where both
readings are possible the diagnosis names the other one, what two shares suggest, and what would
settle it. A stopped bulk sender fills the window whenever it runs: `rwnd_limited` is high. An
application that pauses does not: `app_limited_fraction` is high. The CPU share of the sending host
settles it, or `--workload bulk`, which sets the application's share to 0: a bulk generator never
idles by choice."""
_SETS = """\
Where nothing in the packets favours the cause that a rule names over another one, the answer is the
set of both, for review: `causes` in JSON and Python, and their confidence is that of either. An
outage as long as a hung NIC's watchdog needs, seen on the sending host, is one of them as well:
`outage` or `driver_stall`, settled by the sender's kernel log."""


_STATED = """\
The confidence is a probability: of all verdicts with a confidence of 0.90, nine in ten should be
right. A logistic model gives it, fitted to answers about transfers whose causes were made
([validation.md](validation.md)): from the score, from {features}, and from what is particular to
the cause, to the cause at that capture point (at the sender, at the sender with something known of
its host, or elsewhere), and to the rule under the same limits of the capture. The particulars are
drawn towards nothing, so that few answers weigh little. In hundredths, clamped to
{lowest}…{highest}.

Nothing is stated where nothing was tried: where the cause was never answered from that capture
point, or where {quantities} lies outside what was tried. Then, and where the capture point is
unknown, the score itself is stated; at most {uncounted:.2f} where the transfer's time was cut into
states. With fewer than {least} validated answers of a cause from a capture point, `discard` becomes
`review`.

`trustbed explain` prints the score, the answers that the confidence rests on, how many of the
validated transfers had the cause, and what the confidence becomes where it is rarer or more common:
the transfers were emulated and their causes chosen."""


_COMPENSATION = """\
For a transfer that is discarded because its host stalled, reports estimate what the network would
have given, beside the measured number and never in its place. The estimate removes the time that
window and round trip do not explain, D − bytes/X₁, and adds the time of slow start:

    X̂ = W·p / (P·min(R, {compensated_inflation:g}·R₀)) · (1 − s/D)
    s = R·(log₂(W/10p) − 1 + 10p/W), 0 for W ≤ 10p

but at least X. A stalled sender sends in one burst what was acknowledged meanwhile, and the burst
queues; so at most {compensated_inflation:g} times R₀ counts as the path's delay. The interval is
{low:.2f}·X̂ to {high:.2f}·X̂: undisturbed transfers on the same networks lay in it for 95% of the
validated transfers that the estimate was developed on.

There is an estimate only where a transfer resembles the validated ones: `host_scheduling`; captured
at the sender, with the handshake; the window is the narrowest of the bounds, and outstanding data
reached {compensated_filled:.0%} of it; loss < {loss_negligible:.1%}; i < {inflation:g};
s ≤ {compensated_start:g}·D; not limited by its send buffer. Otherwise reports name what is missing.
Stalled senders on networks limited by their link were not validated and get no estimate.

On transfers that it was not developed on, the estimate was within {near:.0%} of what the network
gave in {known} with samples of the host, and in {alone} with the capture alone. Reports show it
where both are {wanted:.0%} or more and enough estimates give it an interval; {shown}
([validation.md](validation.md))."""


def _compensation() -> str:
    known, alone = (
        "{} of {}".format(*counts) for counts in (WITHIN["beside_with_host"], WITHIN["beside"])
    )
    said = {
        "low": LOW,
        "high": HIGH,
        "near": NEAR,
        "wanted": WANTED_SHARE,
        "known": known,
        "alone": alone,
        "shown": "so they do" if IS_SHOWN else "they do not yet, for want of an interval",
    }
    return _COMPENSATION.format_map({**asdict(THRESHOLDS), **said}).replace("%", " %")


def diagnosis_page() -> str:
    """The page on evidence, rules, confidence, verdicts, limits and thresholds."""
    parts = [
        f"{MADE}\n\n# Diagnosis",
        _INTRODUCTION,
        "## Verdicts",
        _table(
            ("verdict", "meaning"), ((f"`{name}`", meaning) for name, meaning in VERDICTS.items())
        ),
        "## Causes",
        *_causes(),
        "## Evidence",
        "Unknown is `null`, never 0.",
        _table(("field", "unit", "meaning", "column of the transfers table"), _evidence()),
        "## Derived numbers",
        filled(_NUMBERS, THRESHOLDS),
        "## Rules",
        "From top to bottom; the first rule whose conditions all hold decides.",
        *_stages(),
        "## Two readings of the same packets",
        _AMBIGUITY,
        _SETS,
        _table(("rule", "set", "settled by"), _sets()),
        "## Confidence",
        f"A score is counted: a base per cause and additions, in hundredths, clamped to "
        f"{LOWEST}…{HIGHEST}. The unknown adds nothing "
        "unless the words say so. The verdict follows from the score.",
        _table(("cause", "base", "additions"), _confidence()),
        _STATED.format(
            lowest=LOWEST,
            highest=HIGHEST,
            features=", ".join(FEATURES),
            quantities=" or ".join(QUANTITIES),
            uncounted=UNCOUNTED / 100,
            least=LEAST_FOR_DISCARD,
        ),
        "## What the network would have given",
        _compensation(),
        "## Flags",
        "Raised beside the cause; the codes of limits that apply are added to them.",
        _table(("flag", "meaning"), ((f"`{name}`", meaning) for name, meaning in FLAGS.items())),
        "## Limits of the capture",
        "Applied after the rule. A limit never changes the cause and never makes a verdict surer.",
        _table(
            (
                "finding",
                "when",
                "for these causes",
                "score at most",
                "verdict",
                "what may still be concluded",
            ),
            _limits(),
        ),
        "## Thresholds",
        "Sources: VTN *Traffic Anomaly Analysis and Characteristics on a Virtualized Network "
        "Testbed*; EC2 *Internet Traffic Characteristics of Virtual Machine on Amazon EC2*; VTS "
        "*Virtually the Same: Comparing Physical and Virtual Testbeds*; REC ten recorded "
        "transfers of real TCP stacks whose cause was made on purpose.",
        _table(("name", "value", "meaning", "source"), _thresholds(THRESHOLDS)),
    ]
    return "\n\n".join(parts) + "\n"


def findings_page() -> str:
    """The page on every finding."""
    limits = {limit.code: limit for limit in LIMITS}
    parts = [
        f"{MADE}\n\n# Findings",
        "A finding is a checked statement about the capture, a host or a transfer, with the "
        "value measured and the threshold it was compared with. `info` lowers nothing, `warning` "
        "can lower what may be concluded, `error` means that something is missing. The usual "
        "severity stands first; where there is another one, the section of the finding says when.",
        _table(
            ("finding", "severity", "about", "in words"),
            (
                (
                    f"[`{entry.code}`](#{entry.code})",
                    " or ".join(entry.severities),
                    entry.scope,
                    entry.title,
                )
                for entry in CATALOGUE.values()
            ),
        ),
    ]
    for entry in CATALOGUE.values():
        about = f"{_severity(entry)}; {entry.scope}" + (
            f"; value in {entry.unit}" if entry.unit else ""
        )
        lines = [f"## {entry.code}", f"*{_sentence(entry.title)}* ({about})"]
        lines.append(entry.meaning)
        limit = limits.get(entry.code)
        if limit is not None:
            held = "" if not limit.review else ", and the verdict is held at `review`"
            lines.append(
                f"**What it lowers.** When {limit.wording(THRESHOLDS)}: the score is at "
                f"most {limit.cap / 100:g}{held}, for "
                f"{_concerned(limit.causes)}. What may still be concluded: {limit.remains}."
            )
        lines.append(f"**Next step.** {_sentence(entry.next_step)}")
        parts += lines
    return "\n\n".join(parts) + "\n"


def _severity(entry: Entry) -> str:
    if entry.otherwise is None:
        return entry.severity
    severity, when = entry.otherwise
    return (
        f"{entry.severity}; {severity} "
        f"{when.format_map({**asdict(THRESHOLDS), **asdict(HOST_THRESHOLDS)}).replace('%', ' %')}"
    )


_DOCTOR = """\
`trustbed doctor` has an agent read what its host is and how it is set up (the agent's verb
`facts`), tries it for about three seconds, and judges both. It changes nothing on the host, and no
packet leaves it: probes use loopback. `--quick` reads only.

A host is **fit** if nothing speaks against it, needs a **review** if there are warnings, and is
**unfit** if an error shows that measurements on it would be wrong now. An unknown fact yields no
finding; the report lists it with the reason."""

_TRIED = (
    (
        "sleeping",
        "a millisecond at a time by an absolute schedule: half a second as any program does, "
        "half a second with exact timers and the priority that is granted, and half a second "
        "more of that while no processor halts, where that is permitted",
        "p99 wake-up latency of the second half second, and how much lower it is in the third",
    ),
    (
        "spinning",
        "a thread reads the clock in a loop for a second; where two readings lie further apart "
        "than 50 µs, or 20 passes of the loop, it was not running",
        "time lost in gaps, the longest gap, hidden steal",
    ),
    (
        "loopback",
        "1000 packets in trains of 20 a millisecond, captured by the packet ring that every "
        "capture uses",
        "packets missing, timestamps outside the call that sent the packet",
    ),
    (
        "load",
        "what the processors did while the sleeping threads slept",
        "share used by other programs, share stolen",
    ),
)

_FACTS = """\
`trustbed doctor --json` has one object per host: `fitness`, `error` if the host could not be
checked, `findings` (as in [json.md](json.md)), and `facts`, the agent's report: `system`,
`virtual`, `clock`, `synchronisation`, `processors`, `load`, `limits`, `permissions`, `network`,
`interfaces`, `live`. Names end in units; unknown is `null`, and `unavailable` lists what is unknown
and why. For limits and refusals `null` means that there is none; what a card does not know of
itself (the rings of a loopback interface) is `null` without a note. `facts_version` rises when a
fact changes its meaning or goes away."""


def doctor_page() -> str:
    """The page on hosts: what is checked, every finding, every threshold with its reason."""
    parts = [
        f"{MADE}\n\n# Is this host fit to measure on?",
        _DOCTOR,
        "## What is tried",
        _table(("tried", "how", "compared with a threshold"), iter(_TRIED)),
        "## Findings",
        _table(
            ("finding", "severity", "in words", "how to fix it"),
            (
                (
                    f"[`{entry.code}`](findings.md#{entry.code})",
                    " or ".join(entry.severities),
                    entry.title,
                    entry.next_step,
                )
                for entry in HOST_CATALOGUE.values()
            ),
        ),
        "## Thresholds",
        _table(("name", "value", "a finding when", "because"), _thresholds(HOST_THRESHOLDS)),
        "## Facts",
        _FACTS,
    ]
    return "\n\n".join(parts) + "\n"


def _causes() -> Iterator[str]:
    for cause, entry in CAUSES.items():
        yield f"### {cause}"
        yield (
            f"*{_sentence(entry.headline)}* {_sentence(entry.meaning)} **Verdict:** "
            f"{filled(VERDICT_RULES[entry.verdict], THRESHOLDS)}. **Next step:** "
            f"{entry.next_step}."
        )


def _sets() -> Iterator[tuple[str, ...]]:
    causes = {rule.name: rule.cause for stage in STAGES for rule in stage.rules}
    for rule, other in BY_RULE.items():
        if other.indeterminate:
            yield f"`{rule}`", f"`{causes[rule]}` or `{other.cause}`", other.settled_by


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _evidence() -> Iterator[tuple[str, ...]]:
    for source in SOURCES:
        column = f"`{source.column}`" if source.column else ""
        yield (
            f"`{source.field}`",
            source.unit,
            source.meaning,
            "; ".join(part for part in (column, source.note) if part),
        )


def _stages() -> Iterator[str]:
    for number, stage in enumerate(STAGES, start=1):
        asked = (
            "Always entered."
            if stage.entered_when is None
            else f"Entered when {stage.entered_when.wording(THRESHOLDS)}."
        )
        yield f"### {number}. {stage.title}"
        yield asked
        yield _table(("rule", "conditions", "cause"), _rules(number))


def _rules(number: int) -> Iterator[tuple[str, ...]]:
    for rule in STAGES[number - 1].rules:
        conditions = (
            " **and** ".join(condition.wording(THRESHOLDS) for condition in rule.conditions)
            or "else"
        )
        flag = ""
        if rule.flag is not None:
            when = "" if rule.flag_when is None else f" if {rule.flag_when.wording(THRESHOLDS)}"
            flag = f" (flag `{rule.flag}`{when})"
        yield f"`{rule.name}`", conditions, f"`{rule.cause}`{flag}"


def _confidence() -> Iterator[tuple[str, ...]]:
    for cause, table in CONFIDENCE.items():
        additions = "; ".join(
            f"{points:+d} {condition.wording(THRESHOLDS)}" for points, condition in table.additions
        )
        yield f"`{cause}`", str(table.base), additions or "–"


def _limits() -> Iterator[tuple[str, ...]]:
    for limit in LIMITS:
        verdict = "at most `review`" if limit.review else "follows from the score"
        cap = f"{limit.cap / 100:.2f}"
        yield (
            f"[`{limit.code}`](findings.md#{limit.code})",
            limit.wording(THRESHOLDS),
            _concerned(limit.causes),
            cap,
            verdict,
            limit.remains,
        )


def _concerned(causes: frozenset[str]) -> str:
    return (
        "every cause"
        if causes == JUDGED
        else ", ".join(f"`{cause}`" for cause in CAUSES if cause in causes)
    )


def _thresholds(thresholds: Thresholds | HostThresholds) -> Iterator[tuple[str, ...]]:
    for field in fields(thresholds):
        yield (
            f"`{field.name}`",
            f"{getattr(thresholds, field.name):g}",
            field.metadata["meaning"],
            field.metadata["source"],
        )


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


PAGES = {"diagnosis.md": diagnosis_page, "findings.md": findings_page, "doctor.md": doctor_page}
"""File name → what makes its text."""
