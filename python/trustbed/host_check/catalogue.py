"""Findings about a host that is to be measured on.

The checks are in :mod:`trustbed.host_check.findings` and its neighbours. INTERFACE in a next step
represents the scope of a finding.
"""

from __future__ import annotations

from trustbed.findings import Catalogue, Entry
from trustbed.host_check.network_catalogue import NETWORK_ENTRIES
from trustbed.host_check.processors_catalogue import PROCESSOR_ENTRIES

_CLOCK = (
    Entry(
        "machine_clock_source",
        "warning",
        "host",
        "the clock is slow to read",
        "seconds",
        "Time comes from a source that is slow, or that programs cannot read without the kernel. "
        "Programs that timestamp packets or spin until a moment are late by it, and busy with it.",
        "`echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource`, if "
        "available_clocksource beside it names tsc (in a guest kvm-clock or "
        "hyperv_clocksource_tsc_page is as good); if it does not, the kernel's log shows why",
    ),
    Entry(
        "machine_clock_unsynchronised",
        "warning",
        "host",
        "the clock is not synchronised",
        "seconds",
        "Round trips and rates of this host are unaffected, but its times cannot be compared "
        "with another host's: one-way delays and joined captures are off by an unknown and "
        "growing amount.",
        "`apt install chrony` (in a container: on its host), and wait with `chronyc waitsync`; "
        "until then measure only with one clock",
    ),
    Entry(
        "machine_clock_error",
        "warning",
        "host",
        "the clock may be off",
        "seconds",
        "The clock is synchronised, and the program that disciplines it estimates this error. "
        "One-way delays between this host and another are uncertain by the sum of both errors.",
        "`chronyc tracking` shows why; a nearer server, a PTP clock of the network card or of "
        "the hypervisor (refclock PHC) is better",
    ),
    Entry(
        "machine_clock_set",
        "error",
        "host",
        "the clock was set during the check",
        "seconds",
        "The realtime clock, which timestamps captures, moved against the monotonic one. Delays "
        "across such a step are wrong by it.",
        "have the clock slewed (chrony: remove makestep once it is close), or wait until it has "
        "settled",
    ),
    Entry(
        "machine_timers_coarse",
        "error",
        "host",
        "timers expire with the tick only",
        "seconds",
        "The kernel has no high-resolution timers: every sleep ends with a tick, milliseconds "
        "late. Nothing can be sent or emulated on time.",
        "start the kernel without highres=off and nohz=off, on a clock source that allows it "
        "(tsc), built with CONFIG_HIGH_RES_TIMERS",
    ),
    Entry(
        "machine_tick_slow",
        "info",
        "host",
        "the kernel's tick is slow",
        "per second",
        "Where two threads compete for one processor, the tick decides when they switch. At 100 "
        "ticks per second that may be 10 ms late.",
        "use a kernel with CONFIG_HZ=250 or 1000, or give what is measured a processor of its own",
    ),
    Entry(
        "machine_timer_slack",
        "warning",
        "host",
        "timers of ordinary programs may be late by more than usual",
        "seconds",
        "The kernel may let every timer of this session expire later, so that several expire at "
        "once. Programs that pace their packets by sleeping inherit it; trustbed's own senders "
        "do not.",
        "find what sets it (systemd: TimerSlackNSec= of the service or session), or start "
        "programs from a session without it",
    ),
)

_LOAD = (
    Entry(
        "machine_low_priority",
        "warning",
        "host",
        "the check ran at a low priority",
        "",
        "The check runs behind every other program, and its results are those of such a program. "
        "Whatever is measured from the same session suffers alike.",
        "start it without nice and chrt, in a session of ordinary priority (systemd: Nice=, "
        "CPUSchedulingPolicy=)",
    ),
    Entry(
        "machine_busy",
        "warning",
        "host",
        "other programs use the processors",
        "share",
        "Other programs compete with what is measured, now and then at the wrong moment.",
        "end it, or move it to processors of its own (taskset, isolcpus); top shows what it is",
    ),
    Entry(
        "machine_load",
        "warning",
        "host",
        "many threads want to run",
        "ratio",
        "The load of the last minute, per processor. It replaces the load of others where "
        "none was measured.",
        "wait, or end what else runs (top); without --quick the share of time that others use is "
        "measured",
    ),
    Entry(
        "machine_pressure",
        "warning",
        "host",
        "threads wait for a processor",
        "share",
        "For this share of the last ten seconds at least one thread could have run and had no "
        "processor.",
        "end what else runs (top), or lift the quota that it runs into",
    ),
    Entry(
        "machine_memory_pressure",
        "warning",
        "host",
        "threads wait for memory",
        "share",
        "For this share of the last ten seconds at least one thread waited for memory to be "
        "freed or read back from disk.",
        "end what uses it (top, sorted by memory), or raise the limit of the container",
    ),
    Entry(
        "machine_little_memory",
        "warning",
        "host",
        "little memory is left",
        "bytes",
        "Captures and emulators hold packets in memory. When it ends, packets are dropped, or "
        "programs are.",
        "end what uses it, or raise the limit (`docker run --memory`, `systemctl set-property … "
        "MemoryMax=`)",
    ),
    Entry(
        "machine_quota",
        "warning",
        "host",
        "processor time is limited by a quota",
        "processors",
        "A control group may use less processor time than it has processors. A group that uses "
        "it up is throttled until the next period begins, tens of milliseconds later.",
        "lift it: `docker update --cpus`, `systemctl set-property … CPUQuota=`, "
        "resources.limits.cpu of a pod",
    ),
    Entry(
        "machine_throttled",
        "warning",
        "host",
        "a quota throttled this group",
        "share",
        "The quota was used up in this share of the periods in which it counted: the group was "
        "throttled as often.",
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
        "Without captures there is a result and no evidence of whether a number is the network's "
        "or this host's.",
        "run as root, or `setcap cap_net_raw+ep` on `trustbed-agent` with a group of its own, not "
        "on Python (docs/cli.md); in a container `docker run --cap-add NET_RAW`",
    ),
    Entry(
        "machine_capture_lost",
        "error",
        "host",
        "a capture on loopback misses packets",
        "packets",
        "Known packets were sent over loopback at a rate of 20 in a millisecond, and not all "
        "were captured. A capture of real traffic on this host would miss some as well.",
        "end what else runs, and try again; if it stays, capture with a larger buffer or elsewhere",
    ),
    Entry(
        "machine_stamps_wrong",
        "warning",
        "host",
        "timestamps of captured packets are wrong",
        "seconds",
        "Loopback carries packets within the call that sends them; the timestamps of these lie "
        "before it began or after it ended. Delays from captures of this host are wrong by as "
        "much.",
        "check whether the clock stepped meanwhile, and the clock source",
    ),
    Entry(
        "machine_realtime_refused",
        "info",
        "host",
        "no real-time priority",
        "",
        "Senders and emulators share the processor with everything else, and wait for it by "
        "milliseconds when something runs.",
        "run as root, or with CAP_SYS_NICE, or with a limit (`ulimit -r`, rtprio in "
        "limits.conf); `docker run --cap-add SYS_NICE`",
    ),
    Entry(
        "machine_namespaces_refused",
        "warning",
        "host",
        "network namespaces cannot be created",
        "",
        "trustbed run and trustbed shell create networks in namespaces, as root or in a user "
        "namespace.",
        "run as root, or `sysctl -w user.max_user_namespaces=10000 "
        "kernel.apparmor_restrict_unprivileged_userns=0`; `docker run --privileged`",
    ),
    Entry(
        "machine_open_files",
        "warning",
        "host",
        "few files may be open at once",
        "files",
        "Every connection is an open file. Workloads with many connections fail, or measure how "
        "they wait for one another.",
        "`ulimit -n 65536` (nofile in limits.conf, LimitNOFILE= of a service)",
    ),
)

HOST_CATALOGUE = Catalogue((*_CLOCK, *PROCESSOR_ENTRIES, *_LOAD, *NETWORK_ENTRIES, *_PERMISSIONS))
"""Every finding about a host, in the order of the documentation."""
finding = HOST_CATALOGUE.finding
