"""The part of the catalogue that is about a host that is to be measured on.

The checks are in :mod:`trustbed.diagnose.doctor_findings` and its neighbours. INTERFACE stands for the name that a finding has in its
place.
"""

from __future__ import annotations

from trustbed.diagnose.doctor_network_catalogue import NETWORK_ENTRIES
from trustbed.diagnose.doctor_processors_catalogue import PROCESSOR_ENTRIES
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
        "`echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource`, if available_clocksource beside it names tsc (in a "
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
        "`apt install chrony` (in a container: on its host), and wait with `chronyc waitsync`; measure until then only what one clock can "
        "see",
    ),
    Entry(
        "machine_clock_error",
        "warning",
        "host",
        "the clock may be off",
        "seconds",
        "The clock is synchronised, and whoever steers it estimates that it is off by this much. One-way delays between this host and "
        "another are uncertain by the sum of both errors.",
        "`chronyc tracking` shows why; a nearer server, a PTP clock of the network card or of the hypervisor (refclock PHC) is better",
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
        "end what uses it, or raise the limit (`docker run --memory`, `systemctl set-property … MemoryMax=`)",
    ),
    Entry(
        "machine_quota",
        "warning",
        "host",
        "processor time is limited by a quota",
        "processors",
        "A control group may use less processor time than it has processors. Whoever uses it up stands still until the next period "
        "begins, tens of milliseconds later.",
        "lift it: `docker update --cpus`, `systemctl set-property … CPUQuota=`, resources.limits.cpu of a pod",
    ),
    Entry(
        "machine_throttled",
        "warning",
        "host",
        "a quota has stopped this group",
        "share",
        "The quota was used up in this share of the periods in which it counted: the group was stopped as often.",
        "lift the quota, or use less: `docker update --cpus`, `systemctl set-property … CPUQuota=`",
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
        "run as root, or `setcap cap_net_raw+ep` on the capturing program; in a container `docker run --cap-add NET_RAW`",
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
        "run as root, or with CAP_SYS_NICE, or with a limit (`ulimit -r`, rtprio in limits.conf); `docker run --cap-add SYS_NICE`",
    ),
    Entry(
        "machine_namespaces_refused",
        "warning",
        "host",
        "no network namespace can be made",
        "",
        "trustbed run and trustbed shell make networks of their own in namespaces, as root or in a namespace of users.",
        "run as root, or `sysctl -w user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0`; "
        "`docker run --privileged`",
    ),
    Entry(
        "machine_open_files",
        "warning",
        "host",
        "few files may be open at once",
        "files",
        "Every connection is an open file. Workloads with many connections fail, or measure how they wait for one another.",
        "`ulimit -n 65536` (nofile in limits.conf, LimitNOFILE= of a service)",
    ),
)

DOCTOR_ENTRIES = (*_CLOCK, *PROCESSOR_ENTRIES, *_LOAD, *NETWORK_ENTRIES, *_PERMISSIONS)
