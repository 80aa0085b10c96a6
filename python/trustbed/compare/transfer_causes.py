"""What the transfers of two testbeds were limited by, where that differs.

Verdicts on transfers leave no repetition out, for what a testbed does to transfers is what is
compared; but a host that stalls in one testbed alone is the likeliest reason for anything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trustbed.compare.judge import CaseValues, Values
from trustbed.diagnose.causes import cause_in_words
from trustbed.report.words import listed

_APART = 0.1
"""Shares of judged transfers that differ by less are not named."""
_SUSPECT = ("review", "discard")


def differences(case: CaseValues) -> Iterator[str]:
    """A sentence for every candidate whose transfers had other causes than the reference's."""
    for candidate in case.candidates:
        said = list(_apart(case.reference, candidate))
        if said:
            where = f" ({case.label})" if case.label else ""
            yield f"transfers{where}: {listed(said)}"


def _apart(reference: Values, candidate: Values) -> Iterator[str]:
    sides = [Counter(one.causes) for one in (candidate, reference)]
    wholes = [one.total() for one in sides]
    if not all(wholes):
        return
    for cause in sorted({*sides[0], *sides[1]}, key=lambda one: -sides[0][one]):
        name, verdict = cause
        counts = [side[cause] for side in sides]
        shares = [count / whole for count, whole in zip(counts, wholes, strict=True)]
        if verdict in _SUSPECT and abs(shares[0] - shares[1]) >= _APART:
            yield (
                f"{cause_in_words(name, verdict)} ({verdict}) in {counts[0]} of {wholes[0]} of "
                f"{candidate.testbed}, in {counts[1]} of {wholes[1]} of {reference.testbed}"
            )
