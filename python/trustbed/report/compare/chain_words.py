"""What the chains of system calls of a candidate say, in sentences for every form of a report."""

from __future__ import annotations

from collections.abc import Iterator

from trustbed.compare.model import ChainResult, LaterCalls
from trustbed.report.words import counted


def chain_sentences(found: ChainResult) -> Iterator[str]:
    """What the chains of a candidate say, a sentence each."""
    if found.note:
        yield found.note
    if not found.walks:
        return
    if found.bits_per_call is not None and found.reference_bits_per_call is not None:
        excess = found.bits_per_call - found.reference_bits_per_call
        consistent = (
            ""
            if found.consistent is None
            else "; consistent with the reference's own spread"
            if found.consistent
            else "; outside the reference's own spread"
        )
        yield (
            f"{found.bits_per_call:.4f} bits per call on the reference's chains, "
            f"{_signed(excess, 4)} against the reference itself{consistent}."
        )
    if found.relative_exponent is not None:
        yield f"Relative exponent {_signed(found.relative_exponent, 1)} (log₁₀)."
    yield (
        f"{found.invalid_walks} of {counted(found.walks, 'walk')} invalid, with "
        f"{counted(found.invalid_transitions, 'transition')} that the reference never made."
    )
    if found.later is not None:
        yield _later(found.later)
    if found.jaccard is not None and found.variation is not None:
        yield (
            f"Pruned chains disagree in {100 * found.jaccard:.0f} % of their edges; total "
            f"variation {found.variation:.3f}."
        )


def _later(found: LaterCalls) -> str:
    """The walks behind the initialisation."""
    exponent = (
        ""
        if found.relative_exponent is None
        else f", relative exponent {_signed(found.relative_exponent, 1)}"
    )
    return (
        f"Without the first {found.skipped:,} calls of every thread ({found.calls:,} calls): "
        f"{found.invalid_walks} of {counted(found.walks, 'walk')} invalid, with "
        f"{counted(found.invalid_transitions, 'transition')} that the reference never made"
        f"{exponent}."
    )


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")
