"""A transfer in JSON and on the page.

The columns of the table, and the words of its diagnosis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from trustbed.diagnose.causes import VERDICTS
from trustbed.diagnose.diagnosis import Diagnosis
from trustbed.diagnose.time_budget import Shares
from trustbed.report.records import Json

#: What a row gains beside the columns of the transfers table, with its meaning.
WORDS: Mapping[str, str] = {
    "headline": "the verdict in at most 60 characters",
    "verdict_words": "what the verdict means",
    "reasons": "the deciding numbers as sentences, the most telling first",
    "causes": "the cause, and beside it the one that the packets leave just as possible",
    "alternatives": (
        "other causes that leave the same packets: cause, hint (which of the two the packets "
        "favour), settled_by, indeterminate (they favour neither: it is among the causes)"
    ),
    "next_step": "what to do now",
    "expected_bytes_per_second": "what window, RTT, loss and capacity allow; null if unbounded",
    "expected_ratio": "throughput / expected_bytes_per_second, as far as it may be compared",
    "loss": "lost / sent data packets as judged: wherever between sender and receiver they were "
    "lost, as far as the captures show it; null for transfers that were not judged",
    "shares": "share of the transfer's time in each state of the time budget, as in the columns "
    "share_*; they add up to 1; null for transfers that are too short",
    "without_stalls": "of a transfer discarded for stalls of its host: an estimate of what the "
    "network would have given, beside what was "
    "measured, or why there is none; null for all others",
}


def with_words(row: Json, diagnosis: Diagnosis) -> Json:
    """The row with the words of its diagnosis."""
    throughput = row.get("throughput_bytes_per_second")
    return {**row, **words_of(diagnosis, Shares.from_transfer(row), throughput)}


def words_of(diagnosis: Diagnosis, shares: Shares | None, throughput: float | None) -> Json:
    """The words of a diagnosis, with what its row has: the shares of time and the throughput."""
    numbers, estimate = diagnosis.numbers, diagnosis.compensation
    return {
        "headline": diagnosis.headline,
        "verdict_words": VERDICTS[diagnosis.verdict],
        "reasons": list(diagnosis.reasons),
        "causes": list(diagnosis.causes),
        "alternatives": [asdict(other) for other in diagnosis.alternatives],
        "next_step": diagnosis.next_step,
        "expected_bytes_per_second": None if numbers is None else numbers.expected_bytes_per_second,
        "expected_ratio": None if numbers is None else numbers.ratio,
        "loss": diagnosis.loss,
        "shares": None if shares is None else dict(shares.by_state),
        "without_stalls": None if estimate is None else estimate.words(throughput),
    }
