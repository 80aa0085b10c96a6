"""Findings about how a host's interfaces and sockets are set up, and what they lost.

See :mod:`trustbed.host_check.findings`.

Judged are interfaces that are up and lead somewhere; loopback is no network.

Bias: counters count from when an interface was made. A loss of last month is reported today.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace

from trustbed.findings import Finding
from trustbed.findings.words import bytes_words, count_words, percent_words, seconds_words
from trustbed.host_check.catalogue import finding
from trustbed.host_check.facts import HostFacts
from trustbed.host_check.thresholds import HostThresholds

_PLACEHOLDER = "INTERFACE"
"""The catalogue's placeholder for an interface's name."""
HOST = "host"
PACING = frozenset({"fq", "etf"})
"""Disciplines that send a packet at the time that its socket set."""
_QUEUES = {"noqueue", "noop", "pfifo", "pfifo_fast", "bfifo", "fq", "fq_codel", "etf"}
PASSIVE = frozenset(_QUEUES | {"mq", "mqprio", "multiq", "clsact", "ingress"})
"""Disciplines that do nothing to traffic that does not fill the interface."""
USUAL_CONTROL = "cubic"
"""The default of Linux since 2006, of Windows and of macOS."""

InterfaceCheck = Callable[[HostFacts, HostThresholds], Iterator[Finding]]


def _of_each(check: InterfaceCheck) -> InterfaceCheck:
    """The check, applied to every interface; its findings name it, also in their command."""

    def applied(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
        for interface in facts.parts("interfaces"):
            name = interface.text("name")
            if name and interface.flag("up") and not interface.flag("loopback"):
                for found in check(interface, limits):
                    yield replace(
                        found,
                        scope=name,
                        message=f"{name}: {found.message}",
                        next_step=found.next_step.replace(_PLACEHOLDER, shlex.quote(name)),
                    )

    return applied


def _merged(interface: HostFacts, _limits: HostThresholds) -> Iterator[Finding]:
    names = {
        "tcp_segmentation": "TCP segmentation (tso)",
        "generic_segmentation": "generic segmentation (gso)",
        "generic_receive": "generic receive (gro)",
        "large_receive": "large receive (lro)",
    }
    on = [words for name, words in names.items() if interface.flag(f"offloads.{name}")]
    if on:
        yield finding("machine_segments_merged", f"offloads are on: {', '.join(on)}")


def _coalescing(interface: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    waits, adaptive = (
        interface.seconds("coalescing.receive_ns"),
        interface.flag("coalescing.adaptive_receive"),
    )
    if adaptive or (waits is not None and waits >= limits.coalescing_seconds):
        how = "as long as suits the load" if adaptive else f"up to {seconds_words(waits)}"
        yield finding(
            "machine_coalescing",
            f"the card waits {how} before it interrupts for a packet",
            value=waits,
            threshold=limits.coalescing_seconds,
            evidence=f"driver {interface.text('driver') or 'unknown'}",
        )


def _kinds(interface: HostFacts) -> list[str]:
    """The active disciplines.

    Where several queues hang below one root, each has one of its own.
    """
    return [kind for qdisc in interface.parts("qdiscs") if (kind := qdisc.text("kind"))]


def _shaped(interface: HostFacts, _limits: HostThresholds) -> Iterator[Finding]:
    kinds = _kinds(interface)
    shaping = sorted({kind for kind in kinds if kind not in PASSIVE})
    if shaping:
        yield finding(
            "machine_shaped", f"traffic passes {', '.join(shaping)}", evidence=", ".join(kinds)
        )


def _unpaced(interface: HostFacts, _limits: HostThresholds) -> Iterator[Finding]:
    kinds = _kinds(interface)
    if kinds and not PACING & set(kinds):
        yield finding(
            "machine_pacing_ignored",
            f"neither fq nor etf is active, but {', '.join(dict.fromkeys(kinds))}",
        )


def _pacing(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    built = facts.texts("system.queueing_disciplines")
    for found in _of_each(_unpaced)(facts, limits):
        if built is None or "fq" in built:
            yield found
        else:
            yield replace(
                found,
                next_step=(
                    "pace in the program, as trustbed's senders do: this kernel was built "
                    "without fq"
                ),
            )


def _carried(interface: HostFacts) -> int:
    return sum(interface.count(f"traffic.{name}_packets") or 0 for name in ("received", "sent"))


def _lost(interface: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    queued = sum(
        qdisc.count("drops") or 0 for qdisc in interface.parts("qdiscs") if qdisc.flag("root")
    )
    named = ("received_drops", "received_missed", "sent_drops")
    parts = {
        "in the queue": queued,
        **{name.replace("_", " "): interface.count(f"traffic.{name}") or 0 for name in named},
    }
    lost = sum(parts.values())
    if lost:
        share = lost / (lost + _carried(interface))
        yield finding(
            "machine_interface_lost",
            f"{count_words(lost, 'packet')} ({percent_words(share)}) lost since the "
            f"interface was made",
            value=share,
            threshold=limits.loss_share,
            evidence=", ".join(f"{words}: {count}" for words, count in parts.items() if count),
            severity=None if share >= limits.loss_share else "info",
        )


def _errors(interface: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    received, sent = (
        interface.count("traffic.received_errors") or 0,
        interface.count("traffic.sent_errors") or 0,
    )
    if received or sent:
        share = (received + sent) / (received + sent + _carried(interface))
        yield finding(
            "machine_interface_errors",
            f"{count_words(received + sent, 'packet')} ({percent_words(share)}) damaged "
            f"since the interface was made",
            value=share,
            threshold=limits.error_share,
            evidence=f"received: {received}, sent: {sent}",
            severity=None if share >= limits.error_share else "info",
        )


def _allowance(interface: HostFacts, _limits: HostThresholds) -> Iterator[Finding]:
    exceeded = {
        name: count
        for name, count in interface.counts("counters").items()
        if name.endswith("_allowance_exceeded") and count > 0
    }
    if exceeded:
        listed = ", ".join(f"{name}: {count}" for name, count in exceeded.items())
        total = sum(exceeded.values())
        message = f"{count_words(total, 'packet')} held back or dropped by the cloud's limits"
        yield finding(
            "machine_allowance_exceeded",
            message,
            value=float(total),
            threshold=0.0,
            evidence=listed,
        )


def _mtu(interface: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    mtu = interface.number("mtu_bytes")
    if mtu is not None and mtu < limits.mtu_bytes:
        yield finding(
            "machine_small_mtu",
            f"packets of at most {mtu:.0f} bytes",
            value=mtu,
            threshold=limits.mtu_bytes,
        )


def _backlog(facts: HostFacts, _limits: HostThresholds) -> Iterator[Finding]:
    drops = facts.count("load.backlog_drops")
    if drops:
        room = facts.number("network.device_backlog_packets")
        evidence = "/proc/net/softnet_stat" + ("" if room is None else f"; room for {room:.0f}")
        message = (
            f"{count_words(drops, 'packet')} dropped for want of room in the backlog, since "
            f"the start"
        )
        yield finding(
            "machine_backlog_dropped",
            message,
            value=float(drops),
            threshold=0.0,
            scope=HOST,
            evidence=evidence,
        )


def _memory(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    for name, words in (("receive", "net.ipv4.tcp_rmem"), ("send", "net.ipv4.tcp_wmem")):
        sizes = facts.numbers(f"network.tcp_{name}_memory_bytes")
        if sizes and sizes[-1] < limits.tcp_memory_bytes:
            message = f"TCP's {name} buffer grows to {bytes_words(sizes[-1])} at most"
            yield finding(
                "machine_tcp_memory",
                message,
                value=sizes[-1],
                threshold=limits.tcp_memory_bytes,
                scope=HOST,
                evidence=words,
            )
    for name, words in (("receive", "net.core.rmem_max"), ("send", "net.core.wmem_max")):
        most = facts.number(f"network.{name}_buffer_most_bytes")
        if most is not None and most < limits.socket_buffer_bytes:
            message = f"a program may ask for {name} buffers of {bytes_words(most)} at most"
            yield finding(
                "machine_socket_buffers",
                message,
                value=most,
                threshold=limits.socket_buffer_bytes,
                scope=HOST,
                evidence=words,
            )


def _tcp(facts: HostFacts, _limits: HostThresholds) -> Iterator[Finding]:
    control = facts.text("network.congestion_control")
    if control and control != USUAL_CONTROL:
        available = " ".join(facts.texts("network.congestion_controls") or ("unknown",))
        users = facts.texts("network.congestion_controls_for_users")
        evidence = f"available: {available}" + (
            "" if users is None else f"; ordinary users may choose: {' '.join(users)}"
        )
        yield finding(
            "machine_congestion_control",
            f"TCP uses {control} unless a program chooses",
            scope=HOST,
            evidence=evidence,
        )
    parts = {
        "window scaling": facts.number("network.tcp_window_scaling"),
        "selective acknowledgements": facts.number("network.tcp_selective_acknowledgements"),
        "timestamps": facts.number("network.tcp_timestamps"),
    }
    off = [words for words, value in parts.items() if value == 0]
    if off:
        yield finding("machine_tcp_crippled", f"switched off: {', '.join(off)}", scope=HOST)
    if facts.flag("network.tcp_remembers_paths"):
        yield finding(
            "machine_tcp_remembers",
            "a connection begins with what the last one to the same host learned",
            scope=HOST,
        )


CHECKS = (
    *(
        _of_each(check)
        for check in (_merged, _coalescing, _shaped, _lost, _errors, _allowance, _mtu)
    ),
    _pacing,
    _backlog,
    _memory,
    _tcp,
)
