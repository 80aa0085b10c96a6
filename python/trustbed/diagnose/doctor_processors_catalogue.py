"""The part of the catalogue of :mod:`trustbed.diagnose.doctor_catalogue` that is about processors: who has them, and who wakes up when."""

from __future__ import annotations

from trustbed.diagnose.entry import Entry

PROCESSOR_ENTRIES = (
    Entry(
        "machine_few_processors",
        "warning",
        "host",
        "there is hardly a processor to spare",
        "processors",
        "What measures and what is measured take turns on one processor: each shows the other's pauses as its own.",
        "give the machine or container two processors or more (`docker run --cpus=2 --cpuset-cpus=0-1`, taskset, the hypervisor's "
        "settings)",
    ),
    Entry(
        "machine_frequency_changes",
        "warning",
        "host",
        "processors change their frequency with their load",
        "",
        "A processor that is little used runs slowly, and takes its time to become fast. How long a packet takes through the machine then "
        "depends on what was there before it.",
        "`cpupower frequency-set -g performance`",
    ),
    Entry(
        "machine_boost",
        "info",
        "host",
        "processors run above their nominal frequency while they can",
        "",
        "How fast a processor is depends on heat and on what its neighbours do. Repetitions differ by it, where the machine is the limit.",
        "`echo 0 > /sys/devices/system/cpu/cpufreq/boost`, or `echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo`",
    ),
    Entry(
        "machine_deep_sleep",
        "info",
        "host",
        "processors sleep deeply",
        "seconds",
        "A processor with nothing to do may enter a state that takes long to leave. The first packet after a pause is late by it.",
        "`cpupower idle-set -D 50` while measuring (undo with `cpupower idle-set -E`)",
    ),
    Entry(
        "machine_shared_cores",
        "info",
        "host",
        "two processors are one core",
        "cores",
        "With simultaneous multithreading, what runs on one half of a core slows down the other half by a third or more, and no count of "
        "processor time shows it.",
        "`echo off > /sys/devices/system/cpu/smt/control` while measuring, or use one processor of each core (`taskset -c`)",
    ),
    Entry(
        "machine_virtual",
        "info",
        "host",
        "this is a virtual machine",
        "",
        "A hypervisor can take the processor away at any time, also between a packet's arrival and its stamp. Captures from inside hide "
        "the guest's own pauses (Whiteaker et al. 2011 saw up to 100 ms), and counters show what the hypervisor shows.",
        "nothing, if stolen time and gaps stay small; capture on the hypervisor's side of the card where microseconds count",
    ),
    Entry(
        "machine_container",
        "info",
        "host",
        "this is a container",
        "",
        "Load, memory, stolen time and processors in /proc are the whole host's; limits of the container count for what runs in it.",
        "run `trustbed doctor` on the host as well",
    ),
    Entry(
        "machine_stolen_time",
        "warning",
        "host",
        "the hypervisor gave the processors to others",
        "share",
        "While another guest has the processor, nothing here runs, no timer expires and no packet is answered. What was measured meanwhile "
        "is the neighbour.",
        "use an instance with processors of its own (not a burstable one), or another host, or another hour",
    ),
    Entry(
        "machine_hidden_steal",
        "warning",
        "host",
        "time was charged that nobody had",
        "share",
        "The kernel says that a thread used more of a processor than its own clock readings leave room for: the hypervisor took time "
        "without saying so, and no counter of this host shows how much.",
        "as for stolen time; trust only measurements that carry a spin monitor beside them",
    ),
    Entry(
        "machine_gaps",
        "warning",
        "host",
        "a thread that always wants to run does not",
        "share",
        "A spinning thread reads the clock in a loop; where two readings lie apart, it was not running. A sender, a receiver or an "
        "emulator on this host loses as much. A second of which a tenth is lost counts as starved.",
        "end what else runs (top), lift quotas, or use another host; at a real-time priority (root) others matter less",
        otherwise=("error", "beyond {starved_share:.0%} of the time"),
    ),
    Entry(
        "machine_long_gap",
        "warning",
        "host",
        "a thread that always wants to run stood still for long",
        "seconds",
        "One pause of this length within a round trip looks like a queue or a stalled peer.",
        "the same as for time lost in gaps: look who ran meanwhile (`perf sched`, top), or whether the hypervisor did",
    ),
    Entry(
        "machine_wakes_late",
        "warning",
        "host",
        "sleeping threads wake up late",
        "seconds",
        "Of a thread that sleeps a millisecond at a time, with exact timers and the priority that it may have, one in a hundred wake-ups "
        "is at least this late. Paced packets leave as late, and emulated links deliver as late.",
        "run as root or with CAP_SYS_NICE (real-time priority), end what else runs, keep processors from sleeping deeply",
        otherwise=("error", "from {very_late_seconds:g} s on"),
    ),
    Entry(
        "machine_halts",
        "warning",
        "host",
        "processors that halt come back late",
        "seconds",
        "A processor that nobody wants halts, and has to be woken. On a virtual machine the hypervisor may have given it to others "
        "meanwhile. The same sleeps ended earlier while every idle processor of this host polled: what waits here for a packet or a timer "
        "pays the difference.",
        "nothing for trustbed's emulator and senders, which keep processors from halting by themselves, as root; for other programs hold "
        "/dev/cpu_dma_latency open with a bound of 0 (`tuned-adm profile latency-performance`), or boot with idle=poll; it costs power, "
        "and credits where those are counted",
    ),
)
