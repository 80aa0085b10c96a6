"""A comparison as its page shows it, with made-up figures: every verdict, chains, an ablation."""

from __future__ import annotations

import random
from functools import cache

from msgspec.structs import replace

from trustbed.compare.closing import Changed, closing
from trustbed.compare.judge import CaseValues, Rules, Values, judge
from trustbed.compare.model import (
    ChainEdge,
    ChainResult,
    ChangedTransition,
    Comparison,
    LeftOut,
    TestbedResult,
)

MEANS = {
    "requests_per_second": 14_420.0,
    "reads": 1.34,
    "system_calls": 12.0,
    "packets_wire": 10.0,
    "packets_captured": 10.0,
    "retransmissions": 0.0,
    "jitter_seconds": 0.00026,
}


@cache
def comparison(case: str = "500B") -> Comparison:
    """Two candidates against a reference: one twice as slow, one with open questions."""
    chosen = random.Random(18)

    def drawn(changes: dict[str, float], spread: float, count: int = 10) -> dict[str, list[float]]:
        return {
            key: [mean * changes.get(key, 1) * (1 + chosen.gauss(0, spread)) for _ in range(count)]
            for key, mean in MEANS.items()
        }

    metal = drawn({}, 0.01)
    slow = drawn({"requests_per_second": 0.45, "packets_wire": 1.05, "reads": 1.02}, 0.01)
    noisy = drawn({"requests_per_second": 0.95}, 0.12, 4)
    per = dict.fromkeys(MEANS, "request")
    values = CaseValues(
        label=case,
        reference=Values(testbed="metal", metrics=metal, per=per),
        candidates=[
            Values(testbed="<e1000>", metrics=slow, per=per),
            Values(
                testbed="virtio",
                metrics={key: noisy[key] for key in noisy if key != "jitter_seconds"},
                per=per,
                absent={"delay": "a clock was not steady"},
            ),
        ],
    )
    cases, family = judge([values], Rules())
    candidates = list(cases[0].candidates)
    candidates[0] = replace(candidates[0], chains=_chains())
    changed = [
        Changed(
            name="offloads of server off",
            change='hosts.server.guest = { nic = "e1000", offloads = false }',
            values=drawn({"requests_per_second": 0.46, "packets_wire": 1.05}, 0.01, 5),
        ),
        Changed(name="tracing off", change="trace removed", values=drawn({}, 0.01, 5)),
    ]
    ablation = closing(
        "<e1000>", metal, slow, changed,
        titles={one.key: one.title for one in candidates[0].metrics},
        skipped=["one more CPU for server: not within 30 min"], rounds=5, seconds=300.0,
    )  # fmt: skip
    return Comparison(
        title="<e1000>, virtio against metal",
        by="run",
        reference="metal",
        interleaved=False,
        tolerance=0.1,
        resolution=0.01,
        family=family,
        seed=1,
        testbeds=tuple(
            TestbedResult(
                name=name,
                source=f"runs/{name}.run",
                planned=10,
                used=used,
                warm_up="1 s before the workloads begin",
                facts={"kernel": "6.1.0", "architecture": "x86_64"},
                left_out=tuple(
                    LeftOut(repetition=f"rep-{number:03d}", case=case, reason="a driver stalled")
                    for number in range(used, 10)
                ),
            )
            for name, used in (("metal", 10), ("<e1000>", 10), ("virtio", 4))
        ),
        cases=(replace(cases[0], candidates=tuple(candidates)),),
        not_compared=("16MB: only in metal",),
        caveats=("virtio (500B): 4 of 10 repetitions count; the method asks for 10, 6 more",),
        explanation=(ablation,),
    )


def _chains() -> ChainResult:
    return ChainResult(
        order=1,
        walks=100,
        invalid_walks=3,
        invalid_transitions=4,
        relative_exponent=-12.5,
        bits_per_call=0.457,
        reference_bits_per_call=0.412,
        reference_low=0.40,
        reference_high=0.42,
        consistent=False,
        jaccard=1 / 6,
        variation=0.021,
        edges=tuple(
            ChainEdge(
                state=(state,),
                call=call,
                reference_weight=weight,
                candidate_weight=other,
                reference_share=0.25 * weight,
                candidate_share=0.25 * other,
                shift=0.25 * (other - weight),
            )
            for state, call, weight, other in (
                ("accept4", "read", 1.0, 1.0),
                ("read", "write", 1.0, 0.6),
                ("read", "<epoll_wait>", 0.0, 0.4),
                ("<epoll_wait>", "write", 0.0, 1.0),
                ("write", "close", 1.0, 1.0),
                ("close", "accept4", 1.0, 1.0),
            )
        ),
        changed=(
            ChangedTransition(
                before="read",
                after="epoll_wait",
                reference_share=0.2,
                candidate_share=0.35,
                bits_per_call=0.041,
                example="accept4 read epoll_wait read",
            ),
        ),
    )
