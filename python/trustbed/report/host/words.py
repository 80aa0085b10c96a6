"""The checks of a host, in a line each.

The facts that findings are made from, whether they found anything or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trustbed.host_check.facts import HostFacts
from trustbed.report import words

Line = tuple[str, str]
"""The check, and its result."""

HEADLINES = {
    "fit": "Fit to measure on",
    "review": "Inspect before you measure on it",
    "unfit": "Not fit to measure on",
}
UNKNOWN = "unknown"


def headline(fitness: str, warnings: int, errors: int) -> str:
    """Whether a host is fit to measure on, and the number of findings."""
    counts = [
        words.counted(count, kind)
        for count, kind in ((errors, "error"), (warnings, "warning"))
        if count
    ]
    return HEADLINES[fitness] + (f": {' and '.join(counts)}" if counts else "")


def machine(facts: HostFacts) -> str:
    """The machine in a few words, without its name."""
    parts = [f"Linux {facts.text('system.kernel') or UNKNOWN}", facts.text("system.machine") or ""]
    online = facts.numbers("processors.online")
    parts += [words.counted(len(online), "processor")] if online else []
    memory = facts.number("load.memory.total_bytes")
    parts += [] if memory is None else [words.size(memory)]
    return " · ".join(part for part in parts if part)


def checked(facts: HostFacts) -> Iterator[Line]:
    """Everything that was checked, in a fixed order, unknown facts included."""
    yield "clock", _clock(facts)
    yield "synchronised", _synchronised(facts)
    yield "timers", _timers(facts)
    yield "processors", _processors(facts)
    yield "frequency", _frequency(facts)
    yield "machine", _surroundings(facts)
    yield "steal", _stolen(facts)
    yield "load", _load(facts)
    yield "limits", _limits(facts)
    for interface in facts.parts("interfaces"):
        if interface.flag("up") and not interface.flag("loopback"):
            yield interface.text("name") or UNKNOWN, _interface(interface)
    yield "TCP", _tcp(facts)
    yield "permissions", _permissions(facts)
    if facts.part("live") is not None:
        yield "sleeping", _sleeping(facts)
        yield "spinning", _spinning(facts)
        yield "loopback", _loopback(facts)


def unknown(facts: HostFacts) -> Sequence[Line]:
    """The unknown facts, and why they are unknown."""
    return [
        (note.text("what") or UNKNOWN, note.text("why") or UNKNOWN)
        for note in facts.parts("unavailable")
    ]


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part) or UNKNOWN


def _seconds(value: float | None) -> str:
    return UNKNOWN if value is None else words.duration(value)


def _share(value: float | None) -> str:
    return UNKNOWN if value is None else words.percent(value)


def _clock(facts: HostFacts) -> str:
    source, cost = facts.text("clock.source") or UNKNOWN, facts.seconds("live.clock.read_p50_ns")
    others = [one for one in facts.texts("clock.available") or () if one != source]
    read = None if cost is None else f"read in {_seconds(cost)}"
    return _joined(source, read, f"also available: {' '.join(others)}" if others else None)


def _synchronised(facts: HostFacts) -> str:
    known = facts.flag("synchronisation.synchronised")
    programs = ", ".join(facts.texts("synchronisation.programs") or ()) or "no time daemon found"
    if known is None:
        return UNKNOWN
    error = (
        f"error {_seconds(facts.seconds('synchronisation.estimated_error_ns'))} by its estimate"
        if known
        else None
    )
    return _joined("yes" if known else "no", error, programs)


def _timers(facts: HostFacts) -> str:
    tick = facts.number("system.tick_hz")
    return _joined(
        f"steps of {_seconds(facts.seconds('clock.timer_resolution_ns'))}",
        f"slack {_seconds(facts.seconds('clock.timer_slack_ns'))}",
        f"tick {UNKNOWN if tick is None else f'{tick:.0f} times a second'}",
    )


def _processors(facts: HostFacts) -> str:
    allowed, online = facts.numbers("processors.allowed"), facts.numbers("processors.online")
    shared, isolated = facts.texts("processors.siblings"), facts.numbers("processors.isolated")
    cores = (
        UNKNOWN
        if shared is None
        else f"shared by {'; '.join(shared[:4])}"
        if shared
        else "one each"
    )
    return _joined(
        f"{UNKNOWN if allowed is None else len(allowed)} of "
        f"{UNKNOWN if online is None else len(online)} may be used",
        f"cores: {cores}",
        f"{len(isolated)} isolated" if isolated else None,
    )


def _frequency(facts: HostFacts) -> str:
    if facts.part("processors.frequency") is None:
        return "not the kernel's choice here"
    low, high = (
        facts.number("processors.frequency.lowest_hz"),
        facts.number("processors.frequency.highest_hz"),
    )
    boost = facts.flag("processors.frequency.boost")
    return _joined(
        f"governor {', '.join(facts.texts('processors.frequency.governors') or (UNKNOWN,))}",
        None if low is None or high is None else f"{low / 1e9:.2f} to {high / 1e9:.2f} GHz",
        None if boost is None else f"boost {'on' if boost else 'off'}",
    )


def _surroundings(facts: HostFacts) -> str:
    flag, hypervisor = facts.flag("virtual.hypervisor_flag"), facts.hypervisor
    known = (
        "virtual"
        if flag or hypervisor
        else "hypervisor unknown"
        if flag is None
        else "no hypervisor seen"
    )
    container = facts.text("virtual.container")
    named = [hypervisor, facts.text("virtual.vendor"), facts.text("virtual.product")]
    image = (
        "no container, though its image has the marks of one"
        if facts.texts("virtual.container_marks")
        else "no mark of a container"
    )
    return _joined(known, *named, f"container ({container})" if container else image)


def _stolen(facts: HostFacts) -> str:
    now = facts.number("live.while_sleeping.steal_share")
    return _joined(
        f"{_share(facts.number('load.since_start.steal_share'))} of the time since the start",
        None if now is None else f"{_share(now)} now",
    )


def _load(facts: HostFacts) -> str:
    idle, waiting = (
        facts.number(f"live.while_sleeping.{name}_share") for name in ("idle", "iowait")
    )
    load, left = (
        facts.number("load.run_queue.load_1min"),
        facts.number("load.memory.available_bytes"),
    )
    return _joined(
        None if idle is None else f"{_share(max(0.0, 1.0 - idle - (waiting or 0.0)))} busy",
        f"load {UNKNOWN if load is None else f'{load:.2f}'}",
        "processes waited for a CPU for "
        f"{_share(facts.number('load.pressure.processor_some_share'))} of the time",
        f"{words.size(left)} of memory left" if left is not None else None,
    )


def _limits(facts: HostFacts) -> str:
    quota, memory = (
        facts.number("limits.processor_quota"),
        facts.number("limits.memory_limit_bytes"),
    )
    known = facts.texts("limits.processor_groups")
    without = "no quota" if known else "quota unknown"
    files = facts.count("limits.open_files_most")
    return _joined(
        without if quota is None else f"quota of {quota:.2f} processors",
        "no memory limit seen" if memory is None else f"memory limit {words.size(memory)}",
        None if files is None else words.counted(files, "open file"),
    )


def _interface(interface: HostFacts) -> str:
    short = {
        "tcp_segmentation": "tso",
        "generic_segmentation": "gso",
        "generic_receive": "gro",
        "large_receive": "lro",
    }
    on = [name for key, name in short.items() if interface.flag(f"offloads.{key}")]
    kinds = dict.fromkeys(
        kind for qdisc in interface.parts("qdiscs") if (kind := qdisc.text("kind"))
    )
    speed, mtu = interface.number("speed_bits_per_second"), interface.number("mtu_bytes")
    wait = interface.seconds("coalescing.receive_ns")
    packets = [
        interface.count(f"traffic.{name}") or 0 for name in ("received_packets", "sent_packets")
    ]
    lost = sum(
        interface.count(f"traffic.{name}") or 0
        for name in ("received_drops", "received_missed", "sent_drops")
    )
    return _joined(
        interface.text("driver") or interface.text("kind") or "driver unknown",
        f"speed {UNKNOWN}" if speed is None else words.rate(speed / 8),
        f"MTU {UNKNOWN if mtu is None else f'{mtu:.0f}'}",
        " ".join(kinds) or None,
        f"offloads {' '.join(on)}" if on else "no offloads",
        None if wait is None else f"interrupts after {_seconds(wait)}",
        f"{words.counted(sum(packets), 'packet')}, {words.count(lost)} lost",
    )


def _tcp(facts: HostFacts) -> str:
    sizes = [facts.numbers(f"network.tcp_{name}_memory_bytes") for name in ("receive", "send")]
    receive, send = (words.size(one[-1]) if one else UNKNOWN for one in sizes)
    others = [
        one
        for one in facts.texts("network.congestion_controls") or ()
        if one != facts.text("network.congestion_control")
    ]
    return _joined(
        facts.text("network.congestion_control") or UNKNOWN,
        f"also available: {' '.join(others)}" if others else None,
        f"buffers up to {receive} received, {send} sent",
    )


def _permissions(facts: HostFacts) -> str:
    names = {"capture": "capturing", "realtime": "real-time priority", "namespaces": "namespaces"}
    message = {True: "granted", False: "refused", None: UNKNOWN}
    return _joined(
        *(
            f"{words_} {message[facts.flag(f'permissions.{name}')]}"
            for name, words_ in names.items()
        )
    )


def _sleeping(facts: HostFacts) -> str:
    def of(index: str, name: str) -> str:
        p50, p99 = (
            _seconds(facts.seconds(f"live.{index}.late_{key}_ns")) for key in ("p50", "p99")
        )
        return f"{name} late by {p50} (p50), {p99} (p99)"

    priority = facts.text("live.sleeping_exactly.priority") or UNKNOWN
    reported = [of("sleeping", "ordinary"), of("sleeping_exactly", f"exact ({priority})")]
    if facts.text("live.sleeping_polling.idle") == "poll":
        reported.append(of("sleeping_polling", "and while no processor halts"))
    return _joined(*reported)


def _spinning(facts: HostFacts) -> str:
    share, longest = (
        facts.number("live.spinning.share"),
        facts.seconds("live.spinning.longest_gap_ns"),
    )
    gaps = facts.count("live.spinning.gaps")
    return _joined(
        f"{_share(None if share is None else 1.0 - share)} lost",
        "no gap"
        if gaps == 0
        else f"{words.counted(gaps or 0, 'gap')}, the longest {_seconds(longest)}",
    )


def _loopback(facts: HostFacts) -> str:
    sent, captured = facts.count("live.loopback.sent"), facts.count("live.loopback.captured")
    if sent is None or captured is None:
        return "not tried"
    outside = facts.count("live.loopback.stamped_outside") or 0
    stamps = (
        "every timestamp within its call"
        if not outside
        else f"{words.counted(outside, 'timestamp')} outside of the send call"
    )
    return _joined(f"{words.count(captured)} of {words.counted(sent, 'packet')} captured", stamps)
