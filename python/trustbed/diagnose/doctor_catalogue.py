"""The part of the catalogue that is about a host that is to be measured on.

The checks are in :mod:`trustbed.diagnose.doctor_findings` and its neighbours. INTERFACE stands for the name that a finding has in its
place.
"""

from __future__ import annotations

from trustbed.diagnose.doctor_network_catalogue import NETWORK_ENTRIES
from trustbed.diagnose.entry import Entry

_CLOCK = (
    Entry(
        "machine_clock_source",
        "warning",
        "host",
        "the clock is slow to read",
        "seconds",
        "Time is read from a source that takes long, or that programs cannot read without the kernel. Whatever stamps packets or waits for "
        "a moment by spinning is late by it, and busy with it.",
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if available_clocksource beside it names tsc (in a "
        "guest kvm-clock or hyperv_clocksource_tsc_page is as good); if it does not, the kernel's log says why",
    ),
    Entry(
        "machine_clock_unsynchronised",
        "warning",
        "host",
        "nothing keeps the clock in time",
        "seconds",
        "Round trips and rates of this host are not touched, but its times cannot be "
        "compared with another host's: one-way delays and joined captures are off by an unknown and growing amount.",
        "apt install chrony (in a container: on its host), and wait with chronyc waitsync; measure until then only what one clock can see",
    ),
    Entry(
        "machine_clock_error",
        "warning",
        "host",
        "the clock may be off",
        "seconds",
        "The clock is synchronised, and whoever steers it estimates that it is off by this much. One-way delays between this host and "
        "another are uncertain by the sum of both errors.",
        "chronyc tracking shows why; a nearer server, a PTP clock of the network card or of the hypervisor (refclock PHC) is better",
    ),
    Entry(
        "machine_clock_set",
        "error",
        "host",
        "the clock was set while it was looked at",
        "seconds",
        "The clock of captures moved against the one that cannot be set. Delays across such a moment are wrong by the step.",
        "let whoever steers the clock slew it (chrony: remove makestep once it is near), or wait until it has settled",
    ),
    Entry(
        "machine_timers_coarse",
        "error",
        "host",
        "timers expire with the tick only",
        "seconds",
        "The kernel has no high-resolution timers: every sleep ends with a tick, milliseconds late. Nothing can be sent or "
        "emulated on time.",
        "start the kernel without highres=off and nohz=off, on a clock source that allows it (tsc), built with CONFIG_HIGH_RES_TIMERS",
    ),
    Entry(
        "machine_tick_slow",
        "info",
        "host",
        "the kernel's tick comes rarely",
        "per second",
        "Where two threads want one processor, the tick decides when the other has its turn. With 100 a second that may be 10 ms late.",
        "use a kernel with CONFIG_HZ=250 or 1000, or give what is measured a processor of its own",
    ),
    Entry(
        "machine_timer_slack",
        "warning",
        "host",
        "timers of ordinary programs may be late by more than usual",
        "seconds",
        "The kernel may let every timer of this session expire later, so that several expire at once. Programs that pace their packets by "
        "sleeping inherit it; trustbed's own senders do not.",
        "find out who set it (systemd: TimerSlackNSec= of the service or session), or start programs from a session without it",
    ),
)

_PROCESSORS = (
    Entry(
        "machine_few_processors",
        "warning",
        "host",
        "there is hardly a processor to spare",
        "processors",
        "What measures and what is measured take turns on one processor: each shows the other's pauses as its own.",
        "give the machine or container two processors or more (docker run --cpus=2 --cpuset-cpus=0-1, taskset, the hypervisor's settings)",
    ),
    Entry(
        "machine_frequency_changes",
        "warning",
        "host",
        "processors change their frequency with their load",
        "",
        "A processor that is little used runs slowly, and takes its time to become fast. How long a packet takes through the machine then "
        "depends on what was there before it.",
        "cpupower frequency-set -g performance",
    ),
    Entry(
        "machine_boost",
        "info",
        "host",
        "processors run above their nominal frequency while they can",
        "",
        "How fast a processor is depends on heat and on what its neighbours do. Repetitions differ by it, where the machine is the limit.",
        "echo 0 > /sys/devices/system/cpu/cpufreq/boost, or echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo",
    ),
    Entry(
        "machine_deep_sleep",
        "info",
        "host",
        "processors sleep deeply",
        "seconds",
        "A processor with nothing to do may enter a state that takes long to leave. The first packet after a pause is late by it.",
        "cpupower idle-set -D 50 while measuring (undo with cpupower idle-set -E)",
    ),
    Entry(
        "machine_shared_cores",
        "info",
        "host",
        "two processors are one core",
        "cores",
        "With simultaneous multithreading, what runs on one half of a core slows down the other half by a third or more, and no count of "
        "processor time shows it.",
        "echo off > /sys/devices/system/cpu/smt/control while measuring, or use one processor of each core (taskset -c)",
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
        "run trustbed doctor on the host as well",
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
        "emulator on this host loses as much. From a tenth on this is an error: such a second counts as starved.",
        "end what else runs (top), lift quotas, or use another host; at a real-time priority (root) others matter less",
    ),
    Entry(
        "machine_long_gap",
        "warning",
        "host",
        "a thread that always wants to run stood still for long",
        "seconds",
        "One pause of this length within a round trip looks like a queue or a stalled peer.",
        "the same as for time lost in gaps: look who ran meanwhile (perf sched, top), or whether the hypervisor did",
    ),
    Entry(
        "machine_wakes_late",
        "warning",
        "host",
        "sleeping threads wake up late",
        "seconds",
        "Of a thread that sleeps a millisecond at a time, with exact timers and the priority that it may have, one in a hundred wake-ups "
        "is at least this late. Paced packets leave as late, and emulated links deliver as late. From a millisecond on this is an error.",
        "run as root or with CAP_SYS_NICE (real-time priority), end what else runs, keep processors from sleeping deeply",
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
        "trustbed's emulator and senders keep processors from halting by themselves, as root; for other programs hold "
        "/dev/cpu_dma_latency open with a bound of 0 (tuned-adm profile latency-performance), or boot with idle=poll; it costs power, and "
        "credits where those are counted",
    ),
)

_LOAD = (
    Entry(
        "machine_low_priority",
        "warning",
        "host",
        "this was looked at from a low priority",
        "",
        "The program runs behind every other: what was tried tells how such a program fares. So will whatever is measured from the same "
        "session.",
        "start it without nice and chrt, in a session of ordinary priority (systemd: Nice=, CPUSchedulingPolicy=)",
    ),
    Entry(
        "machine_busy",
        "warning",
        "host",
        "others use the processors",
        "share",
        "What else runs competes with what is measured, now and then at the wrong moment.",
        "end it, or move it to processors of its own (taskset, isolcpus); top shows what it is",
    ),
    Entry(
        "machine_load",
        "warning",
        "host",
        "many threads want to run",
        "ratio",
        "The load of the last minute, per processor. It stands for what others use where nothing was tried.",
        "wait, or end what else runs (top); without --quick the share of time that others use is measured",
    ),
    Entry(
        "machine_pressure",
        "warning",
        "host",
        "somebody waits for a processor",
        "share",
        "For this share of the last ten seconds at least one thread could have run and had no processor.",
        "end what else runs (top), or lift the quota that it runs into",
    ),
    Entry(
        "machine_memory_pressure",
        "warning",
        "host",
        "somebody waits for memory",
        "share",
        "For this share of the last ten seconds at least one thread waited for memory to be freed or read back from disk.",
        "end what uses it (top, sorted by memory), or raise the limit of the container",
    ),
    Entry(
        "machine_little_memory",
        "warning",
        "host",
        "little memory is left",
        "bytes",
        "Captures and emulators hold packets in memory. When it ends, packets are dropped, or programs are.",
        "end what uses it, or raise the limit (docker run --memory, systemctl set-property … MemoryMax=)",
    ),
    Entry(
        "machine_quota",
        "warning",
        "host",
        "processor time is limited by a quota",
        "processors",
        "A control group may use less processor time than it has processors. Whoever uses it up stands still until the next period "
        "begins, tens of milliseconds later.",
        "lift it: docker update --cpus, systemctl set-property … CPUQuota=, resources.limits.cpu of a pod",
    ),
    Entry(
        "machine_throttled",
        "warning",
        "host",
        "a quota has stopped this group",
        "share",
        "The quota was used up in this share of the periods in which it counted: the group was stopped as often.",
        "lift the quota, or use less: docker update --cpus, systemctl set-property … CPUQuota=",
    ),
)

_PERMISSIONS = (
    Entry(
        "machine_capture_refused",
        "warning",
        "host",
        "nothing can be captured",
        "",
        "Without captures there is a result and no evidence: nothing says whether a number is the network's or this host's.",
        "run as root, or setcap cap_net_raw+ep on the capturing program; in a container docker run --cap-add NET_RAW",
    ),
    Entry(
        "machine_capture_lost",
        "error",
        "host",
        "a capture on loopback misses packets",
        "packets",
        "Known packets were sent over loopback at a rate of 20 in a millisecond, and not all were captured. A capture of real traffic on "
        "this host would miss some as well.",
        "end what else runs, and try again; if it stays, capture with a larger buffer or elsewhere",
    ),
    Entry(
        "machine_stamps_wrong",
        "warning",
        "host",
        "stamps of captured packets are off",
        "seconds",
        "Packets on loopback are carried within the call that sends them; these are stamped before it began or after it ended. Delays from "
        "captures of this host are wrong by as much.",
        "look whether the clock was set meanwhile, and at the clock source",
    ),
    Entry(
        "machine_realtime_refused",
        "info",
        "host",
        "no real-time priority",
        "",
        "Senders and emulators share the processor with everything else, and wait for it by milliseconds when something runs.",
        "run as root, or with CAP_SYS_NICE, or with a limit (ulimit -r, rtprio in limits.conf); docker run --cap-add SYS_NICE",
    ),
    Entry(
        "machine_namespaces_refused",
        "warning",
        "host",
        "no network namespace can be made",
        "",
        "trustbed run and trustbed shell make networks of their own in namespaces, as root or in a namespace of users.",
        "run as root, or sysctl -w user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0; docker run --privileged",
    ),
    Entry(
        "machine_open_files",
        "warning",
        "host",
        "few files may be open at once",
        "files",
        "Every connection is an open file. Workloads with many connections fail, or measure how they wait for one another.",
        "ulimit -n 65536 (nofile in limits.conf, LimitNOFILE= of a service)",
    ),
)

DOCTOR_ENTRIES = (*_CLOCK, *_PROCESSORS, *_LOAD, *NETWORK_ENTRIES, *_PERMISSIONS)
