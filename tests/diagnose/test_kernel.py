"""The sending kernel's own account replaces what the capture could only infer."""

from __future__ import annotations

from dataclasses import replace

from trustbed.diagnose import Evidence, KernelTimes, diagnose, with_kernel_times


def test_idle_time_of_the_application(healthy: Evidence) -> None:
    evidence, flags = with_kernel_times(healthy, KernelTimes(busy_seconds=4.0))
    assert (evidence.app_limited_fraction, flags) == (0.6, ())
    slow = replace(evidence, throughput_bytes_per_second=1e6, idle_open_window_fraction=0.6)
    assert diagnose(slow).cause == "sender_application_limited"


def test_without_a_duration_the_idle_time_is_unknown(healthy: Evidence) -> None:
    unknown = replace(healthy, duration_seconds=None, app_limited_fraction=None)
    assert with_kernel_times(unknown, KernelTimes(busy_seconds=4.0))[0].app_limited_fraction is None


def test_receive_window(healthy: Evidence) -> None:
    evidence, flags = with_kernel_times(
        healthy, KernelTimes(busy_seconds=8.0, rwnd_limited_seconds=4.0)
    )
    assert (evidence.rwnd_limited, flags) == (0.5, ("kernel_rwnd_limited",))
    evidence, flags = with_kernel_times(
        healthy, KernelTimes(busy_seconds=8.0, rwnd_limited_seconds=3.9)
    )
    assert (evidence.rwnd_limited, flags) == (healthy.rwnd_limited, ())


def test_send_buffer_is_the_effective_window(healthy: Evidence) -> None:
    times = KernelTimes(busy_seconds=10.0, sndbuf_limited_seconds=5.0, send_buffer_bytes=16_384)
    evidence, flags = with_kernel_times(healthy, times)
    assert (evidence.window_bytes, flags) == (16_384, ("sndbuf_limited",))
    assert with_kernel_times(healthy, replace(times, sndbuf_limited_seconds=4.9)) == (
        replace(
            healthy,
            app_limited_fraction=0.0,
            send_buffer_limited=4.9 / 10.0,
            send_buffer_bytes=16_384,
        ),
        (),
    )
    slow = replace(evidence, throughput_bytes_per_second=0.75e6)
    assert (diagnose(slow).cause, diagnose(slow, flags=flags).flags) == (
        "window_limited",
        ("sndbuf_limited",),
    )


def test_a_socket_that_was_never_busy(healthy: Evidence) -> None:
    evidence, flags = with_kernel_times(
        healthy, KernelTimes(busy_seconds=0.0, rwnd_limited_seconds=0.0)
    )
    assert (evidence.app_limited_fraction, flags) == (1.0, ())
