"""The machine that a run was carried out on: hardware, kernel and TCP settings."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

_CPU_KEYS = ("model name", "Model", "Processor")


def facts() -> Mapping[str, object]:
    """Facts about this machine; unknown ones are null."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "kernel_version": platform.version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "processors_online": os.cpu_count(),
        "processors_allowed": len(os.sched_getaffinity(0)),
        "memory_bytes": _memory(),
        "hypervisor": _hypervisor(),
        "clock_source": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "frequency_governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "tcp_congestion_control": _text("/proc/sys/net/ipv4/tcp_congestion_control"),
        "tcp_available_congestion_control": (
            _text("/proc/sys/net/ipv4/tcp_available_congestion_control") or ""
        ).split(),
        "tcp_receive_memory": _text("/proc/sys/net/ipv4/tcp_rmem"),
        "tcp_send_memory": _text("/proc/sys/net/ipv4/tcp_wmem"),
        "realtime_runtime_us": _text("/proc/sys/kernel/sched_rt_runtime_us"),
        "load_1min": os.getloadavg()[0],
        "user_is_root": os.geteuid() == 0,
        "python": platform.python_version(),
    }


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip().replace("\t", " ")
    except OSError:
        return None


def _processor() -> str | None:
    for line in (_text("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in _CPU_KEYS:
            return value.strip()
    return None


def _memory() -> int | None:
    for line in (_text("/proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _hypervisor() -> str | None:
    """The hypervisor's DMI vendor; ``unknown`` if only the CPU flags show that there is one."""
    vendor = _text("/sys/class/dmi/id/sys_vendor")
    virtual = any(
        line.startswith("flags") and " hypervisor" in line
        for line in (_text("/proc/cpuinfo") or "").splitlines()
    )
    return (vendor or "unknown") if virtual else None
