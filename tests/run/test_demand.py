"""The load that a scenario puts on the emulator and on the senders."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustbed.run.execution.demand import Load, emulated, is_modest, offered
from trustbed.scenario import Background, Scenario, load

DUMBBELL = """
[topology]
shape = "dumbbell"
left = ["a", "b"]
right = ["c", "d"]
[hosts.a]
access = { rate = "1Gbit/s" }
[hosts.b]
[hosts.c]
[hosts.d]
[links.middle]
rate = "20Mbit/s"
down.rate = "5Mbit/s"
[workload.w]
kind = "bulk"
host = "a"
to = "c"
"""
PAIR = """
[hosts.a]
[hosts.c]
[link]
rate = "20Mbit/s"
[workload.w]
kind = "command"
host = "a"
command = "true"
"""
NOISE = '[background.n]\nmodel = "cbr"\nrate = "1Mbit/s"\nfrom = "a"\nto = "c"\n'


def read(directory: Path, text: str) -> Scenario:
    (directory / "study.toml").write_text(text)
    return load(directory / "study.toml").first


def nothing_recorded(background: Background, reverse: bool) -> None:
    raise AssertionError(f"{background.name} plays nothing")


def bits(scenario: Scenario) -> float:
    return sum(load.bits_per_second for load in emulated(scenario, nothing_recorded))


def test_a_fast_access_link_in_front_of_a_slow_one_demands_little(tmp_path: Path) -> None:
    assert bits(read(tmp_path, DUMBBELL)) == 20_000_000


def test_users_of_a_model_count_in_both_directions(tmp_path: Path) -> None:
    users = '[background.u]\nmodel = "web"\nrate = "3Mbit/s"\nfrom = "a"\nto = "c"\n'
    text = PAIR.replace('rate = "20Mbit/s"', 'rate = "1Gbit/s"')
    assert 3e6 < bits(read(tmp_path, text + users)) < 4e6


def test_users_of_a_model_count_in_the_packets_that_they_send(tmp_path: Path) -> None:
    users = '[background.u]\nmodel = "interactive"\nrate = "30Mbit/s"\nfrom = "a"\nto = "c"\n'
    text = PAIR.replace('rate = "20Mbit/s"', 'rate = "1Gbit/s"')
    loads = emulated(read(tmp_path, text + users), nothing_recorded)
    assert len(loads) == 2
    # Requests of 48 bytes and responses of some hundreds, with headers of 52.
    assert all(60 < load.packet_bytes < 350 for load in loads)
    assert sum(load.packets_per_second for load in loads) > 30_000
    downloads = emulated(
        read(tmp_path, text + users.replace("interactive", "bulk")), nothing_recorded
    )
    assert {load.packet_bytes > 1400 for load in downloads} == {
        True,
        False,
    }  # and what acknowledges


def test_every_address_has_an_access_link_of_its_own(tmp_path: Path) -> None:
    many = DUMBBELL.replace(
        'access = { rate = "1Gbit/s" }', 'access = { rate = "1Mbit/s" }\ncount = 15'
    )
    assert bits(read(tmp_path, many)) == 15_000_000
    assert bits(read(tmp_path, many.replace("count = 15", "count = 30"))) == 20_000_000


def test_a_workload_and_background_share_a_link_and_each_direction_counts_on_its_own(
    tmp_path: Path,
) -> None:
    more = NOISE.replace('"a"', '"b"').replace('"c"', '"d"') + 'direction = "both"\n'
    assert bits(read(tmp_path, DUMBBELL + more)) == 21_000_000
    assert bits(read(tmp_path, DUMBBELL + more.replace('"cbr"', '"none"'))) == 20_000_000


def test_downloads_count_in_the_direction_of_their_data(tmp_path: Path) -> None:
    assert (
        bits(read(tmp_path, DUMBBELL.replace('kind = "bulk"', 'kind = "http"\nobject = "1MB"')))
        == 5_000_000
    )


def test_a_trace_of_rates_counts_by_its_mean(tmp_path: Path) -> None:
    (tmp_path / "cell.txt").write_text("1\n1\n2\n4\n")
    traced = PAIR.replace('rate = "20Mbit/s"', 'rate_trace = "cell.txt"').replace(
        'kind = "command"\nhost = "a"\ncommand = "true"', 'kind = "bulk"\nhost = "a"\nto = "c"'
    )
    assert bits(read(tmp_path, traced)) == pytest.approx(1514 * 8 * 4 / 0.004)


def test_of_a_rate_in_steps_the_highest_counts(tmp_path: Path) -> None:
    steps = '{ at = "0s", rate = "5Mbit/s" }, { at = "1s", rate = "30Mbit/s" }'
    full = PAIR.replace('rate = "20Mbit/s"', f"rate = {{ steps = [{steps}] }}").replace(
        'kind = "command"\nhost = "a"\ncommand = "true"', 'kind = "bulk"\nhost = "a"\nto = "c"'
    )
    assert bits(read(tmp_path, full)) == 30_000_000


@pytest.mark.parametrize("part", ["policer", "shaper"])
def test_a_bucket_limits_what_a_fast_link_carries(tmp_path: Path, part: str) -> None:
    full = PAIR.replace(
        'kind = "command"\nhost = "a"\ncommand = "true"', 'kind = "bulk"\nhost = "a"\nto = "c"'
    )
    bucket = f'rate = "1Gbit/s"\n{part} = {{ rate = "10Mbit/s", burst = "64KiB" }}'
    assert bits(read(tmp_path, full.replace('rate = "20Mbit/s"', bucket))) == 10_000_000


def test_udp_counts_whether_the_link_carries_it_or_not(tmp_path: Path) -> None:
    assert bits(read(tmp_path, PAIR + NOISE.replace("1Mbit/s", "40Mbit/s"))) == 40_000_000


def test_tcp_counts_up_to_the_rest_of_the_links_rate(tmp_path: Path) -> None:
    streams = NOISE.replace("1Mbit/s", "40Mbit/s") + 'transport = "tcp"\n'
    assert bits(read(tmp_path, PAIR + streams)) == 20_000_000
    assert (
        bits(
            read(
                tmp_path,
                PAIR + streams + NOISE.replace(".n]", ".u]").replace("1Mbit/s", "15Mbit/s"),
            )
        )
        == 20_000_000
    )
    assert (
        bits(read(tmp_path, PAIR.replace('rate = "20Mbit/s"', 'delay = "1ms"') + streams))
        == 40_000_000
    )


def test_small_packets_are_many_and_long_ones_are_fragmented(tmp_path: Path) -> None:
    small = read(tmp_path, PAIR + NOISE + "packet_bytes = 125\n")
    assert [one.packets_per_second for one in emulated(small, nothing_recorded)] == [1000]
    long = read(tmp_path, PAIR + NOISE + "packet_bytes = 9000\n")
    assert [one.packet_bytes for one in emulated(long, nothing_recorded)] == [1500]
    assert [one.packet_bytes for _, one in offered(long, nothing_recorded)] == [9000]


def test_unpaced_senders_demand_nothing(tmp_path: Path) -> None:
    assert bits(read(tmp_path, PAIR + NOISE + 'release = "unpaced"\n')) == 0


def test_a_recording_counts_with_its_recorded_load(tmp_path: Path) -> None:
    (tmp_path / "trace.pcap").write_bytes(b"")
    played = '[background.n]\nmodel = "playback"\nfile = "trace.pcap"\nfrom = "a"\nto = "c"\n'
    requested = []

    def recorded(background: Background, reverse: bool) -> Load | None:
        requested.append((background.name, reverse))
        return Load(bits_per_second=8000, packet_bytes=100)

    assert [
        one.packets_per_second for one in emulated(read(tmp_path, PAIR + played), recorded)
    ] == [10]
    assert requested == [("n", False)]


def test_a_modest_load_is_limited_in_bits_and_in_packets() -> None:
    assert is_modest([Load(bits_per_second=250e6), Load(bits_per_second=250e6)])
    assert not is_modest([Load(bits_per_second=250e6), Load(bits_per_second=251e6)])
    assert not is_modest([Load(bits_per_second=64 * 8 * 50_001, packet_bytes=64)])
