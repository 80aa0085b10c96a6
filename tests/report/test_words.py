"""Quantities as tables show them."""

from __future__ import annotations

import pytest

from trustbed.report import words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "?"),
        (float("nan"), "?"),
        (float("inf"), "?"),
        (0, "0 s"),
        (0.0000136, "13.6 µs"),
        (0.0206, "20.6 ms"),
        (5.012, "5.01 s"),
        (200, "3 min 20 s"),
        (-200, "-3 min 20 s"),
        (7500, "2 h 5 min"),
        (200_000, "2 d 7 h"),
        (-0.003, "-3.00 ms"),
    ],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert words.duration(seconds) == text


def test_unknown_cells_are_question_marks() -> None:
    assert {
        words.size(None),
        words.rate(None),
        words.percent(None),
        words.count(None),
        words.duration(None),
    } == {"?"}


def test_rate_prints_bits() -> None:
    assert words.rate(2_275_000) == "18.2 Mbit/s"


@pytest.mark.parametrize(
    ("octets", "text"),
    [(None, "?"), (0, "0 B"), (210, "210 B"), (48_000, "48.0 kB"), (2**20, "1.05 MB")],
)
def test_sizes_have_decimal_prefixes(octets: float | None, text: str) -> None:
    assert words.size(octets) == text


def test_endpoint_brackets_and_shortens_only_the_address() -> None:
    assert words.endpoint("10.0.0.1", 5201) == "10.0.0.1:5201"
    assert words.endpoint("2001:db8::1", 443) == "[2001:db8::1]:443"
    assert words.endpoint("2001:db8::1", None) == "2001:db8::1"
    long = "2001:db8:85a3:1234:5678:8a2e:370:7334"
    short = words.endpoint(long, 65535, width=24)
    assert len(short) == 24
    assert short.startswith("[2001:db8")
    assert short.endswith("7334]:65535")
    assert words.endpoint("10.0.0.1", 1, width=24) == "10.0.0.1:1"


def test_counted_knows_one_from_many() -> None:
    assert words.counted(1, "packet") == "1 packet"
    assert words.counted(1234, "packet") == "1,234 packets"
    assert words.counted(2, "capture", "captures") == "2 captures"


def test_quantity_takes_the_shape_of_its_unit() -> None:
    assert words.quantity(0.0206, "seconds") == "20.6 ms"
    assert words.quantity(0.8, "share") == "80 %"
    assert words.quantity(1.234, "ratio") == "1.23"
    assert words.quantity(1234, "packets") == "1,234 packets"
    assert words.quantity(None, "packets") == "?"


def test_an_interval_over_three_decades_says_nothing() -> None:
    assert words.is_open(0.1, 101.0)
    assert not words.is_open(0.1, 99.0)
    assert words.is_open(0.0, 2.0)
