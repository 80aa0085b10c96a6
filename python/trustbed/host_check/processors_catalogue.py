"""Findings about processors: who has them, and when they wake up."""

from __future__ import annotations

from trustbed.findings import Entry

PROCESSOR_ENTRIES = (
    Entry(
        "machine_few_processors",
        "warning",
        "host",
        "there is no spare processor",
        "processors",
        "The measuring and the measured programs share one processor: each shows the other's "
        "pauses as its own.",
        "give the machine or container two processors or more (`docker run --cpus=2 "
        "--cpuset-cpus=0-1`, taskset, the hypervisor's settings)",
    ),
    Entry(
        "machine_frequency_changes",
        "warning",
        "host",
        "processors change their frequency with their load",
        "",
        "A lightly used processor runs slowly and takes time to speed up. How long a packet "
        "takes through the machine then depends on what ran before it.",
        "`cpupower frequency-set -g performance`",
    ),
    Entry(
        "machine_boost",
        "info",
        "host",
        "processors boost above their nominal frequency",
        "",
        "How fast a processor is depends on heat and on what its neighbours do. Repetitions "
        "differ by it, where the machine is the limit.",
        "`echo 0 > /sys/devices/system/cpu/cpufreq/boost`, or `echo 1 > "
        "/sys/devices/system/cpu/intel_pstate/no_turbo`",
    ),
    Entry(
        "machine_deep_sleep",
        "info",
        "host",
        "processors sleep deeply",
        "seconds",
        "An idle processor may enter a state that takes long to leave. The first packet after a "
        "pause is late by it.",
        "`cpupower idle-set -D 50` while measuring (undo with `cpupower idle-set -E`)",
    ),
    Entry(
        "machine_shared_cores",
        "info",
        "host",
        "two processors are one core",
        "cores",
        "With simultaneous multithreading, what runs on one half of a core slows down the other "
        "half by a third or more, and no count of processor time shows it.",
        "`echo off > /sys/devices/system/cpu/smt/control` while measuring, or use one processor "
        "of each core (`taskset -c`)",
    ),
    Entry(
        "machine_virtual",
        "info",
        "host",
        "this is a virtual machine",
        "",
        "A hypervisor can take the processor away at any time, also between a packet's arrival "
        "and its timestamp. Captures from inside hide the guest's own pauses (Whiteaker et al. "
        "2011 saw up to 100 ms), and counters show what the hypervisor shows.",
        "nothing, if stolen time and gaps stay small; capture on the hypervisor's side of the "
        "card where microseconds count",
    ),
    Entry(
        "machine_container",
        "info",
        "host",
        "this is a container",
        "",
        "Load, memory, stolen time and processors in /proc are the whole host's; limits of the "
        "container count for what runs in it.",
        "run `trustbed doctor` on the host as well",
    ),
    Entry(
        "machine_stolen_time",
        "warning",
        "host",
        "the hypervisor gave the processors to others",
        "share",
        "While another guest has the processor, nothing here runs, no timer expires and no "
        "packet is answered: the neighbour is measured.",
        "use an instance with processors of its own (not a burstable one), or another host, or "
        "another hour",
    ),
    Entry(
        "machine_hidden_steal",
        "warning",
        "host",
        "hidden steal: charged CPU time exceeds run time",
        "share",
        "The kernel charges a thread more processor time than its own clock readings allow: the "
        "hypervisor took time without reporting it, and no counter of this host shows how much.",
        "as for stolen time; trust only measurements that carry a spin monitor beside them",
    ),
    Entry(
        "machine_gaps",
        "warning",
        "host",
        "a thread that is always ready does not always run",
        "share",
        "The spin monitor reads the clock in a loop; where two readings lie apart, it was not "
        "running. A sender, receiver or emulator on this host loses as much. A second of which a "
        "tenth is lost counts as starved.",
        "end what else runs (top), lift quotas, or use another host; at a real-time priority "
        "(root) others matter less",
        otherwise=("error", "beyond {starved_share:.0%} of the time"),
    ),
    Entry(
        "machine_long_gap",
        "warning",
        "host",
        "a thread that is always ready paused for long",
        "seconds",
        "One pause of this length within a round trip looks like a queue or a stalled peer.",
        "as for time lost in gaps: check what ran meanwhile (`perf sched`, top), or whether the "
        "hypervisor stole time",
    ),
    Entry(
        "machine_wakes_late",
        "warning",
        "host",
        "sleeping threads wake up late",
        "seconds",
        "The wake-up latency (99th percentile) of a thread that sleeps a millisecond at a time, "
        "with exact timers and the best priority granted. Paced packets leave as late, and "
        "emulated links deliver as late.",
        "run as root or with CAP_SYS_NICE (real-time priority), end what else runs, keep "
        "processors from sleeping deeply",
        otherwise=("error", "from {very_late_seconds:g} s on"),
    ),
    Entry(
        "machine_halts",
        "warning",
        "host",
        "halted processors wake up late",
        "seconds",
        "An idle processor halts and has to be woken. On a virtual machine the hypervisor may "
        "have given it to others meanwhile. The same sleeps ended earlier while every idle "
        "processor of this host polled: programs that wait for a packet or a timer pay the "
        "difference.",
        "nothing for trustbed's emulator and senders, which keep processors from halting by "
        "themselves, as root; for other programs hold /dev/cpu_dma_latency open with a bound of "
        "0 (`tuned-adm profile latency-performance`), or boot with idle=poll; it costs power, "
        "and credits where those are counted",
    ),
)
