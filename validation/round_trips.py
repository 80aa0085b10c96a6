"""Round-trip times against tcptrace.

Every sample that only one of the two takes must have its reason.
"""

from validation import tcptrace_rules
from validation.case import History, SampleCase
from validation.counts import Tool
from validation.finding import Finding, equal, explained, unexplained
from validation.reasons_samples import SAMPLES
from validation.stream import RoundTrip, Stream
from validation.trustbed_side import Direction

FIELDS = ("rtt_samples", "rtt_min", "rtt_mean", "rtt_max")
# tcptrace reads stamps in microseconds and prints milliseconds with one decimal; `compare` checks
# the print, this compares the stamps.
SAME_MS = 0.001
Statistics = tuple[int, float | None, float | None, float | None]


def compare(history: History, stream: Stream, direction: Direction, tool: Tool) -> list[Finding]:
    """One finding per statistic."""
    actual, alone = _samples(history, tool.sides), _samples(history, tool.alone)
    ours, theirs, cut_alike = _of_trustbed(direction), _of_tcptrace(actual), _of_tcptrace(alone)
    same = [_same(our, their) for our, their in zip(ours, theirs, strict=True)]
    if all(same):
        return [equal("tcptrace", name) for name in FIELDS]
    mine = samples_of(stream)
    reasons, bare = _explain(history, mine, alone)
    oracle = _of_oracle(mine)
    wrong = samples_differ(mine, direction) or (bare[0] if bare else "")
    found = []
    for index, name in enumerate(FIELDS):
        if same[index]:
            found.append(equal("tcptrace", name))
        elif not _same(ours[index], oracle[index]):
            detail = (
                f"trustbed {ours[index]}, tcptrace {theirs[index]}; the oracle has {oracle[index]}"
            )
            found.append(unexplained("tcptrace", name, detail))
        elif wrong:
            found.append(
                unexplained(
                    "tcptrace", name, f"trustbed {ours[index]}, tcptrace {theirs[index]}; {wrong}"
                )
            )
        else:
            cut = set() if _same(theirs[index], cut_alike[index]) else set(tool.cut)
            found.append(explained("tcptrace", name, reasons | cut))
    return found


def samples_of(stream: Stream) -> list[RoundTrip]:
    """The samples by trustbed's definitions.

    The handshake's first, none for a direction without payload.
    """
    if stream.data_packets == 0:
        return []
    samples = [trip for trip in stream.round_trips if trip.verdict == "sample"]
    return [stream.handshake, *samples] if stream.handshake else samples


def _samples(history: History, sides: list[tcptrace_rules.Side]) -> list[tcptrace_rules.Sample]:
    """Those that end in a packet of the connection."""
    return [sample for side in sides for sample in side.samples if history.holds(sample.ack_frame)]


def _of_trustbed(direction: Direction) -> Statistics:
    transfer = direction.transfer or {}
    least, mean, most = (transfer.get(f"rtt_{name}_ns") for name in ("min", "mean", "max"))
    return (
        transfer.get("rtt_samples", 0),
        _milliseconds(least),
        _milliseconds(mean),
        _milliseconds(most),
    )


def _milliseconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6


def _of_oracle(samples: list[RoundTrip]) -> Statistics:
    if not samples:
        return 0, None, None, None
    values = [trip.rtt_ns / 1e6 for trip in samples]
    return len(values), min(values), sum(values) / len(values), max(values)


def _of_tcptrace(samples: list[tcptrace_rules.Sample]) -> Statistics:
    """By its rule that a minimum of 0 means "none yet"."""
    if not samples:
        return 0, None, None, None
    values = [sample.rtt_us / 1000 for sample in samples]
    least = 0.0
    for value in values:
        least = value if least == 0 or value < least else least
    return len(values), least, sum(values) / len(values), max(values)


def _same(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return abs(ours - theirs) <= SAME_MS


def samples_differ(mine: list[RoundTrip], direction: Direction) -> str:
    """Where trustbed's table of round trips differs from the oracle.

    "" if they agree.
    """
    ours = sorted((index, rtt) for index, rtt, kind in direction.rtt_ns if kind == "ack")
    expected = sorted((trip.ack_frame, trip.rtt_ns) for trip in mine if not trip.handshake)
    for a, b in zip(ours, expected, strict=False):
        if a != b:
            return f"sample: trustbed {a}, oracle {b}"
    handshakes = [rtt for _, rtt, kind in direction.rtt_ns if kind == "syn"]
    if len(ours) != len(expected) or handshakes != [trip.rtt_ns for trip in mine if trip.handshake]:
        return (
            f"trustbed has {len(ours)} samples and {len(handshakes)} of the handshake, the "
            f"oracle {len(mine)} in all"
        )
    return ""


def _explain(
    history: History, mine: list[RoundTrip], theirs: list[tcptrace_rules.Sample]
) -> tuple[set[str], list[str]]:
    """The reasons for samples that only one side takes, and those samples that nothing explains."""
    own = {(trip.ack_frame, trip.sent_frame) for trip in mine}
    other = {(sample.ack_frame, sample.frame) for sample in theirs}
    names: set[str] = set()
    bare: list[str] = []
    for pairs, by_tool in ((other - own, True), (own - other, False)):
        for ack, sent in sorted(pairs):
            reason = explain(
                SampleCase(history.packet(sent), history.packet(ack), by_tool, history)
            )
            if reason:
                names.add(reason)
            else:
                bare.append(f"only {'tcptrace' if by_tool else 'trustbed'} takes {sent}→{ack}")
    return names, bare


def explain(case: SampleCase) -> str:
    """The first reason that holds for a round-trip time that only one side takes.

    "" when none does.
    """
    return next(
        (
            reason.name
            for reason in SAMPLES
            if reason.by_tool == case.by_tool and reason.holds(case)
        ),
        "",
    )
