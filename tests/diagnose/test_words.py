"""Numbers in words."""

from __future__ import annotations

import pytest

from trustbed.findings.words import (
    bytes_words,
    count_words,
    number_words,
    percent_words,
    rate_words,
    seconds_words,
)


@pytest.mark.parametrize(
    ("bytes_per_second", "words"),
    [
        (1.638e6, "13.1 Mbit/s"),
        (125e6, "1.00 Gbit/s"),
        (100.0, "800 bit/s"),
        (50e3, "400 kbit/s"),
        (0.0, "0.00 bit/s"),
        (None, "unknown"),
    ],
)
def test_rates(bytes_per_second: float | None, words: str) -> None:
    assert rate_words(bytes_per_second) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (7_199.0, "7199 s"),
        (9_000.0, "2.50 h"),
        (128_910_990.0, "1492 days"),
        (0.0206, "20.6 ms"),
        (1.5, "1.50 s"),
        (433e-6, "433 µs"),
        (5e-9, "5.00 ns"),
        (-0.02, "-20.0 ms"),
        (0.0, "0 s"),
        (None, "unknown"),
    ],
)
def test_times(seconds: float | None, words: str) -> None:
    assert seconds_words(seconds) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.43, "43 %"),
        (0.00049, "0.049 %"),
        (0.0, "0 %"),
        (0.012, "1.2 %"),
        (0.0996, "10 %"),
        (3e-7, "under 0.0001 %"),
        (1.13, "113 %"),
        (None, "unknown"),
    ],
)
def test_shares(share: float | None, words: str) -> None:
    assert percent_words(share) == words


def test_the_rest() -> None:
    assert number_words(1.2345) == "1.23"
    assert number_words(float("nan")) == "unknown"
    assert bytes_words(64_000) == "64.0 kB"
    assert bytes_words(12) == "12 B"
    assert bytes_words(None) == "unknown"
    assert count_words(1, "time") == "1 time"
    assert count_words(2, "time") == "2 times"
    assert count_words(2, "child", "children") == "2 children"
