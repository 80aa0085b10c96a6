"""Every number that a host's fitness is compared against, with its reason.

Holds values; decides nothing. They mark where a host becomes visible in measurements on it, not
what a good host is: who measures round trips of 100 ms can live with more, who measures gaps
between packets with less.
"""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.findings import value


@dataclass(frozen=True, slots=True, kw_only=True)
class HostThresholds:
    """All thresholds of the findings about a host.

    Shares are 0…1, times are seconds, sizes bytes.
    """

    clock_read_seconds: float = value(
        2e-7,
        "reading the clock takes this long",
        "a clock that programs read by themselves takes tens of nanoseconds; one that "
        "needs a system call takes several hundred",
    )
    clock_error_seconds: float = value(
        1e-3,
        "the kernel estimates that its clock is off by this much",
        "one-way delays of a few milliseconds are compared to a tenth; below it idle time with "
        "an open window is not counted either",
    )
    timer_resolution_seconds: float = value(
        1e-6,
        "timers expire in steps of this length",
        "with high-resolution timers the step is a nanosecond, without them a tick",
    )
    tick_hz: float = value(
        250.0,
        "the tick comes less often than this",
        "beyond 4 ms between ticks, taking turns on a processor shows in round trips of 10 ms",
    )
    timer_slack_seconds: float = value(
        5e-5,
        "timers may expire later by more than this",
        "the kernel's default (prctl(2)); more delays every sleep of an ordinary program",
    )
    idle_exit_seconds: float = value(
        1e-4,
        "a state of sleep takes this long to wake up from",
        "the emulator and the senders begin to spin 100 µs before a packet is due",
    )
    steal_share: float = value(
        0.01,
        "the hypervisor took this share of the processors' time",
        "10 ms of every second: a pause as long as a short round trip",
    )
    hidden_steal_share: float = value(
        0.05,
        "the kernel charged a thread this share more time than it ran",
        "smaller differences are the accounting's own: it counts by ticks",
    )
    lost_share: float = value(
        0.02,
        "a thread that is always ready lost this share of its time",
        "interrupts and the system's own work take less than a hundredth of a quiet machine",
    )
    starved_share: float = value(
        0.1, "the same, as an error", "a second of which a core lost a tenth is starved"
    )
    gap_seconds: float = value(
        0.005,
        "a thread that is always ready was off its processor for this long at once",
        "longer than a tick of any usual kernel",
    )
    late_seconds: float = value(
        2.5e-4,
        "one in a hundred sleeps ends this late",
        "the emulator's margin before a moment, and its threshold for half of its packets",
    )
    very_late_seconds: float = value(
        1e-3,
        "the same, as an error",
        "the emulator's packets count as overdue from a millisecond on",
    )
    polling_saves_seconds: float = value(
        1e-4,
        "while no processor halts, one in a hundred sleeps ends earlier by this much",
        "the time that the emulator and senders spin",
    )
    polling_late_share: float = value(
        0.5,
        "and it is late by at most this share of what it was",
        "half a second of trying distinguishes a factor of two, and little less",
    )
    busy_share: float = value(
        0.1,
        "other programs use this share of the processors",
        "on two processors a fifth of one: enough to meet what is measured now and then",
    )
    load_per_processor: float = value(
        0.5,
        "as many threads compete for each processor, over the last minute",
        "where nothing is tried, the load approximates what others use",
    )
    pressure_share: float = value(
        0.05,
        "a thread waited for a processor for this share of the last ten seconds",
        "the same as a busy machine in the findings of runs",
    )
    memory_pressure_share: float = value(
        0.01,
        "a thread waited for memory for this share of the last ten seconds",
        "a thread that waits for memory waits for a disk: milliseconds",
    )
    memory_bytes: float = value(
        512e6,
        "this much memory is left",
        "an emulator asks for 128 MB of socket buffers, each capture for 32 MB, and both may "
        "double",
    )
    processors: float = value(
        2.0,
        "fewer processors than this may be used",
        "what measures would share the only one with what is measured",
    )
    throttled_share: float = value(
        0.01,
        "a quota ended this share of its periods early",
        "one in a hundred; each end is a pause",
    )
    coalescing_seconds: float = value(
        2e-5,
        "a card waits this long before it interrupts",
        "a full packet of 1 Gbit/s takes 12 µs: from here on several get one time",
    )
    loss_share: float = value(
        1e-3,
        "an interface lost this share of its packets",
        "loss of a thousandth halves TCP's rate on paths that are long and fast",
    )
    error_share: float = value(
        1e-5,
        "this share of an interface's packets was damaged",
        "a good wire damages fewer than one in a million",
    )
    mtu_bytes: float = value(
        1500.0,
        "packets on an interface are shorter than this",
        "less than Ethernet's is a tunnel's; hosts elsewhere have other segments",
    )
    tcp_memory_bytes: float = value(
        2.5e6,
        "a TCP buffer may grow to no more than this",
        "1 Gbit/s times 20 ms: below it the buffer limits what is to be measured",
    )
    socket_buffer_bytes: float = value(
        1e6,
        "a program may ask for no larger socket buffer than this",
        "8 ms of 1 Gbit/s: a receiver that pauses longer loses packets",
    )
    stamp_seconds: float = value(
        2e-5,
        "a packet's timestamp lies this far outside the call that sent it",
        "two readings of a clock may differ by it",
    )
    open_files: float = value(
        4096.0,
        "a process may have no more open files than this",
        "every connection is one; a web workload has thousands",
    )


HOST_THRESHOLDS = HostThresholds()
"""The values in use unless others are given."""
