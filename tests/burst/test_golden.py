"""The hand-computed examples, through the whole program.

Every mode, σ(ρ), energies and the wavelets of PyWavelets.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import pywt

from tests.burst.conftest import Packets, Run
from trustbed import _core

GOLDEN = Path(__file__).parents[1] / "golden"
BURSTINESS: dict[str, Any] = json.loads((GOLDEN / "burstiness.json").read_text(encoding="utf-8"))[
    "computed"
]
WAVELET: dict[str, Any] = json.loads((GOLDEN / "wavelet.json").read_text(encoding="utf-8"))[
    "computed"
]
MS = 1_000_000
START = 1_700_000_000_000 * MS


def example(*, ends: bool = True) -> list[tuple[int, int]]:
    """The eight packets; and one behind the last window, so that this one is complete."""
    packets = [(START + time, length) for time, length in BURSTINESS["packets_ns_bytes"]]
    return [*packets, (START + 5 * MS, 1)] if ends else packets


def each_window(model: dict[str, Any]) -> list[dict[str, Any]]:
    """Windows one by one, without the partial one: rows of several hold no packets."""
    return [row for row in model["windows"] if not row["partial"] for _ in range(row["windows"])]


@pytest.mark.parametrize(
    ("mode", "column"),
    [
        ("static", "static_wait_sys_per_window"),
        ("dynamic-same", "dynamic_same_reset"),
        ("dynamic-same-carry", "dynamic_same_carry"),
        ("dynamic-previous", "dynamic_previous_reset"),
    ],
)
def test_every_mode(run: Run, mode: str, column: str) -> None:
    rate = ("--rate", "40Mbit/s") if mode == "static" else ()
    model = run(example(), "--mode", mode, *rate, "--window", "1ms", "--json").model
    found = each_window(model)
    wanted = [(None, None) if pair is None else tuple(pair) for pair in BURSTINESS[column]]
    assert [(row["max_q_bytes"], row["max_q_sys_bytes"]) for row in found] == [
        pytest.approx(pair) for pair in wanted
    ]
    assert [row["abw_bits_per_second"] for row in found] == BURSTINESS["abw_bps_per_window"]
    assert (model["mode"], model["window_seconds"]) == (mode, 0.001)
    assert [row["start_seconds"] for row in model["windows"]] == sorted(
        row["start_seconds"] for row in model["windows"]
    )


def test_a_rate_makes_the_mode_static_and_its_absence_dynamic(run: Run) -> None:
    assert (
        run(example(), "--rate", "40Mbit/s", "--window", "1ms", "--json").model["mode"] == "static"
    )
    assert run(example(), "--window", "1ms", "--json").model["mode"] == "dynamic-same"


def test_sigma_of_rho(run: Run) -> None:
    wanted = {rate: depth for rate, depth in BURSTINESS["sigma_of_rho_bytes"] if rate}
    model = run(
        example(ends=False), "--rates", ",".join(f"{rate}bit/s" for rate in wanted), "--json"
    ).model
    found = {
        point["rate_bits_per_second"]: point["sigma_bytes"]
        for point in model["sigma"]
        if point["role"] == "given"
    }
    assert found == wanted
    assert {
        row["rate_bits_per_second"]: row["buffer_needed_bytes"] for row in model["delay"]
    }.items() >= wanted.items()


def test_sigma_falls_and_is_convex(run: Run) -> None:
    points = run(example(ends=False), "--json").model["sigma"]
    rates = [point["rate_bits_per_second"] for point in points]
    depths = [point["sigma_bytes"] for point in points]
    assert rates == sorted(set(rates))
    assert depths == sorted(depths, reverse=True)
    points_in_pairs = itertools.pairwise(zip(rates, depths, strict=True))
    slopes = [
        (later - earlier) / (faster - slower)
        for (slower, earlier), (faster, later) in points_in_pairs
    ]
    assert all(later >= earlier - 1e-12 for earlier, later in itertools.pairwise(slopes))
    assert {"mean", "twice the mean"} <= {point["role"] for point in points}


def of_bins(bins: list[int], start: int) -> Packets:
    """One packet per bin that is not empty, and one before and one after them."""
    inner = [(start + index * MS + 500_000, length) for index, length in enumerate(bins) if length]
    return [(start - MS, 1), *inner, (start + len(bins) * MS, 1)]


def octaves(part: dict[str, Any]) -> list[tuple[int, float]]:
    return [(octave["count"], 2 ** octave["energy"]) for octave in part["octaves"]]


@pytest.mark.parametrize(
    ("wavelet", "bins", "wanted"),
    [
        ("haar", WAVELET["haar_16"]["bins"], WAVELET["haar_16"]["octaves"]),
        ("daubechies2", WAVELET["bins_32"], WAVELET["daub2_32"]),
        ("daubechies3", WAVELET["bins_32"], WAVELET["daub3_32"]),
    ],
)
def test_energies_of_the_example(
    run: Run, wavelet: str, bins: list[int], wanted: list[dict[str, Any]]
) -> None:
    start = START - START % (1024 * MS)
    model = run(of_bins(bins, start), "--wavelet", wavelet, "--json").model
    shown = [
        (octave["n"], pytest.approx(octave["mu"], rel=1e-9))
        for octave in wanted
        if octave["n"] >= 3
    ]
    assert octaves(model["logscale"]) == shown
    if wavelet == "haar":
        assert octaves(model["energy"]) == shown
        octave = WAVELET["haar_16"]["octaves"][0]
        found = model["logscale"]["octaves"][0]
        assert (found["y"], found["low"], found["high"]) == pytest.approx(
            (octave["y"], *octave["ci95"]), rel=1e-6
        )


def test_scales_are_in_seconds_whatever_the_bins(run: Run) -> None:
    scales = [
        octave["scale_seconds"]
        for octave in run(example(), "--bin", "250us", "--json").model["energy"]["octaves"]
    ]
    assert scales == [0.00025 * 2**index for index in range(len(scales))]
    golden = [row["tau_ms"] / 1000 for row in WAVELET["octave_to_timescale_for_1ms_bins"]]
    counted = run(of_bins([1] * 4096, START), "--json").model["energy"]["octaves"]
    assert [octave["scale_seconds"] for octave in counted] == golden[: len(counted)]


def by_pywavelets(name: str, bins: list[int]) -> list[npt.NDArray[np.float64]]:
    """The details of every octave. Only coefficients whose inputs all exist: nothing is padded."""
    wavelet, rest, found = pywt.Wavelet(name), np.array(bins, dtype=float), []
    while len(rest) >= wavelet.dec_len:
        first, count = (wavelet.dec_len - 2) // 2, (len(rest) - wavelet.dec_len) // 2 + 1
        rest, details = (
            part[first : first + count] for part in pywt.dwt(rest, wavelet, mode="zero")
        )
        found.append(details)
    return found


WAVELETS = pytest.mark.parametrize(
    ("wavelet", "name"), [("haar", "haar"), ("daubechies2", "db2"), ("daubechies3", "db3")]
)


def bins_of(name: str) -> list[int]:
    drawn = random.Random(name)
    return [drawn.choice((0, 0, 60, 590, 1514, drawn.randrange(1, 65536))) for _ in range(5000)]


@WAVELETS
def test_pywavelets_has_the_same_coefficients(wavelet: str, name: str) -> None:
    bins = bins_of(name)
    found, wanted = (
        _core.wavelet_details([float(n) for n in bins], wavelet),
        by_pywavelets(name, bins),
    )
    assert [len(octave) for octave in found] == [len(octave) for octave in wanted]
    for ours, theirs in zip(found, wanted, strict=True):
        # A high-pass filter is defined up to its sign.
        sign = math.copysign(1.0, ours[0] * theirs[0])
        assert ours == pytest.approx(list(sign * theirs), rel=1e-9, abs=1e-6)


@WAVELETS
def test_pywavelets_agrees(run: Run, wavelet: str, name: str) -> None:
    bins = bins_of(name)
    # The Haar energies are aligned to the epoch, the others to the first bin: here both begin
    # together.
    start = START - START % (8192 * MS)
    found = octaves(run(of_bins(bins, start), "--wavelet", wavelet, "--json").model["logscale"])
    wanted = [
        (len(details), float(np.mean(details**2)))
        for details in by_pywavelets(name, bins)
        if len(details) >= 3
    ]
    assert [count for count, _ in found] == [count for count, _ in wanted]
    assert [energy for _, energy in found] == pytest.approx(
        [energy for _, energy in wanted], rel=1e-9
    )


def test_packets_are_counted_on_request(run: Run) -> None:
    bins = WAVELET["haar_16"]["bins"]
    packets = (
        [(START - MS, 9)]
        + [(START + index * MS + i, 7) for index, n in enumerate(bins) for i in range(n)]
        + [(START + 16 * MS, 9)]
    )
    start_at = START - START % (1024 * MS)
    shifted = [(time - START + start_at, length) for time, length in packets]
    energy = run(shifted, "--count", "packets", "--json").model["energy"]
    assert energy["counted"] == "packets"
    assert octaves(energy) == [
        (octave["n"], pytest.approx(octave["mu"]))
        for octave in WAVELET["haar_16"]["octaves"]
        if octave["n"] >= 3
    ]


def test_octaves_can_be_chosen(run: Run) -> None:
    drawn = random.Random(1)
    packets = [(START + index * 200_000, drawn.randrange(60, 1515)) for index in range(20_000)]
    fit = run(packets, "--octaves", "2-6", "--json").model["logscale"]["fit"]
    assert (fit["first"], fit["last"]) == (2, 6)
    assert math.isclose(fit["hurst"], (fit["alpha"] + 1) / 2)
    assert fit["hurst_low"] < 0.5 < fit["hurst_high"]
    assert not fit["nonstationary"]
