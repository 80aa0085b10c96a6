"""What tracing system calls costs what is traced.

Where the testbeds are the modes of a tracer (``trace.NAME.mode = ["off", "calls"]`` under
``[factors]``), they differ in nothing but that they were observed. So do cases of one testbed where
the modes are another factor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trustbed.compare.cases import Arrangement, Testbed, levels_of
from trustbed.compare.judge import CaseValues, Values
from trustbed.compare.metrics import base
from trustbed.diagnose.observer import observer_effect

MODE = re.compile(r"trace\.[^.]+\.mode")
OFF = "off"
_TIME = "run_time_seconds"
"""Of a program, which does a fixed work: its rate is what it does in a second."""
_RATES = ("requests_per_second", "transactions_per_second", "throughput_bits_per_second")


def caveats(by: str, cases: Sequence[CaseValues]) -> Iterator[str]:
    """A sentence for every mode that cost more than an observer may (``observer_effect``)."""
    if not MODE.fullmatch(by):
        return
    for case in cases:
        every = (case.reference, *case.candidates)
        yield from _costs({one.testbed: (case.label, one) for one in every})


def of_cases(arranged: Arrangement, cases: Sequence[CaseValues]) -> Iterator[str]:
    """The same where a tracer's mode is a factor beside the testbeds'."""
    by_label = {one.label: one for one in cases}
    for testbed in arranged.testbeds:
        for key in testbed.source.factors:
            if MODE.fullmatch(key) and key != arranged.by:
                for modes in _of_modes(arranged, testbed, key, by_label):
                    yield from _costs(modes)


def _of_modes(
    arranged: Arrangement, testbed: Testbed, key: str, cases: Mapping[str, CaseValues]
) -> Iterable[Mapping[str, tuple[str, Values]]]:
    """What a testbed gave under every mode, one mapping for each of its other levels."""
    found: dict[str, dict[str, tuple[str, Values]]] = {}
    for label, levels in levels_of(arranged, testbed):
        case = cases.get(label)
        values = () if case is None else (case.reference, *case.candidates)
        for own in values:
            if own.testbed == testbed.name:
                others = ", ".join(level for name, level in levels.items() if name != key)
                found.setdefault(others, {})[levels[key]] = (label, own)
    return found.values()


def _costs(modes: Mapping[str, tuple[str, Values]]) -> Iterator[str]:
    if OFF in modes:
        for mode, (label, traced) in modes.items():
            if mode != OFF:
                yield from _cost(label, modes[OFF][1], traced)


def _cost(label: str, untraced: Values, traced: Values) -> Iterator[str]:
    where = f" ({label})" if label else ""
    for key, values in untraced.metrics.items():
        if base(key) in (*_RATES, _TIME):
            workload = key.removesuffix(base(key)).strip(".") or "the workload"
            found = observer_effect(
                workload, _rates(key, values), _rates(key, traced.metrics.get(key, ()))
            )
            if found is not None:
                yield f"{found.code}: {traced.testbed}{where}: {found.message}"


def _rates(key: str, values: Sequence[float]) -> Sequence[float]:
    return [1 / value for value in values if value > 0] if base(key) == _TIME else values
