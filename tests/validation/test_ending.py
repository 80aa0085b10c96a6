"""Commands that make transfers end in order at SIGTERM."""

from __future__ import annotations

import os
import signal

import pytest

from validation.ending import ending_in_order


def test_sigterm_waits_for_what_runs() -> None:
    before = signal.getsignal(signal.SIGTERM)
    left = []

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            left.append("pool")

    with pytest.raises(SystemExit) as ended, ending_in_order():
        work()
    assert ended.value.code == 128 + signal.SIGTERM
    assert left == ["pool"]
    assert signal.getsignal(signal.SIGTERM) == before
