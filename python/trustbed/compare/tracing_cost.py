"""What tracing system calls costs what is traced.

Where the testbeds are the modes of a tracer (``trace.NAME.mode = ["off", "calls"]`` under
``[factors]``), they differ in nothing but that they were observed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
        modes = {one.testbed: one for one in (case.reference, *case.candidates)}
        for mode, traced in modes.items():
            if mode != OFF and OFF in modes:
                yield from _cost(case.label, modes[OFF], traced)


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
