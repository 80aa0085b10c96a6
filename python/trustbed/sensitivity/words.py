"""Factors and time scales in words."""

from __future__ import annotations


def number(value: float) -> str:
    """A factor: 1.24, 27.3, 1,180."""
    if value < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def factor(value: float) -> str:
    """``1.24 times``."""
    return f"{number(value)} times"


def scale(seconds: float) -> str:
    """A time scale: 2 ms, 1.02 s."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def span(shortest: float, longest: float) -> str:
    """Neighbouring time scales: 4 to 8 ms."""
    if shortest == longest:
        return scale(shortest)
    if longest < 1:
        return f"{shortest * 1e3:.3g} to {scale(longest)}"
    return f"{scale(shortest)} to {scale(longest)}"
