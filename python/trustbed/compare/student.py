"""Student's t distribution for degrees of freedom that need not be whole, as Welch's test has.

:func:`trustbed.workload.intervals.student` has the quantiles for whole ones, by a finite sum; the
two agree there, which a test holds.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_TERMS = 300
_SMALL = 1e-300
_CLOSE = 1e-14
_STEPS = 100
_NORMAL_FROM = 1e7


def upper_tail(t: float, degrees: float) -> float:
    """The probability that Student's t exceeds ``t``.

    By the incomplete beta function (M. Abramowitz and I. A. Stegun, *Handbook of Mathematical
    Functions*, 26.7.1), good to about twelve digits.

    >>> round(upper_tail(2.262157, 9), 6)
    0.025
    """
    if degrees <= 0:
        raise ValueError(f"{degrees} degrees of freedom leave nothing to estimate")
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    if degrees >= _NORMAL_FROM:
        return NormalDist().cdf(-t)
    both = _beta(degrees / (degrees + t * t), degrees / 2, 0.5)
    return both / 2 if t >= 0 else 1 - both / 2


@lru_cache(maxsize=1024)
def quantile(share: float, degrees: float) -> float:
    """The value that Student's t does not exceed with probability ``share``, 0 < share < 1."""
    if not 0 < share < 1:
        raise ValueError(f"{share} is no probability between 0 and 1")
    if share < 0.5:
        return -quantile(1 - share, degrees)
    low, high = 0.0, 1.0
    while upper_tail(high, degrees) > 1 - share:
        low, high = high, 2 * high
    found = (low + high) / 2
    for _ in range(_STEPS):
        beyond = upper_tail(found, degrees) - (1 - share)
        low, high = (found, high) if beyond > 0 else (low, found)
        # Newton's step, or a halving where it would leave what is known to hold the value.
        step = found + beyond / _density(found, degrees)
        step = step if low < step < high else (low + high) / 2
        if abs(step - found) <= _CLOSE * high:
            return step
        found = step
    return found


def _density(t: float, degrees: float) -> float:
    log = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
    log -= math.log(degrees * math.pi) / 2
    return math.exp(log - (degrees + 1) / 2 * math.log1p(t * t / degrees))


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Its continued fraction (26.5.8), by the method of W. J. Lentz (1976)."""
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _apart(1 + term * d)
            c = _apart(1 + term / c)
            found *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return found


def _apart(value: float) -> float:
    """Away from 0, which nothing can be divided by."""
    return value if abs(value) > _SMALL else _SMALL
