"""Captures of random connections: everything TCP allows, and much that it does not, from one seed.

Sequence numbers begin near the edges of the sequence space and of its quarters; some connections
have no handshake, some pause for minutes, and every third capture has records that are swapped.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.validation.talk import MSS, Talk, sack

LENGTHS = (1, 10, 100, 500, 1_460, 1_460, 2_920)
PAUSES_MS = (0.1, 0.5, 1, 2, 5, 15, 40, 200)
LONG_PAUSES_MS = (130_000, 250_000, 700_000)


@dataclass
class State:
    """What both sides have sent and acknowledged so far."""

    sent: dict[str, int]
    acknowledged: dict[str, int]


def chatter(
    seed: int, network: int = 0, *, connections: int = 60, second_handshakes: bool = False
) -> Talk:
    """Random connections in one capture.

    `second_handshakes`: SYNs and SYN-ACKs in the middle of connections, too.
    """
    draw = random.Random(seed)
    records = []
    for number in range(connections):
        isn = {
            "a": draw.choice([1_000_000, 2**32 - 3_000, 2**30 - 2_500, 2**31 - 2_000]),
            "b": draw.choice([5_000_000, 2**32 - 2_000, 3 * 2**30 - 1_500]),
        }
        talk = Talk(port=20_000 + number, isn=isn, network=network)
        at = draw.random() * 1_000
        if draw.random() < 0.7:
            talk.hello(at, options=MSS if draw.random() < 0.8 else b"")
            at += 20
        state = State({"a": 0, "b": 0}, {"a": 0, "b": 0})
        for _ in range(draw.randrange(3, 30)):
            at += draw.choice(PAUSES_MS) * (draw.random() + 0.5)
            if draw.random() < 0.004:
                at += draw.choice(LONG_PAUSES_MS)
            packet(draw, talk, state, at, second_handshakes=second_handshakes)
        records += talk.records
    records.sort(key=lambda record: record[0])
    if seed % 3 == 0:
        for index in range(len(records) - 1):
            if draw.random() < 0.02:
                records[index : index + 2] = records[index + 1], records[index]
    return Talk(records=records)


def packet(
    draw: random.Random, talk: Talk, state: State, at: float, *, second_handshakes: bool
) -> None:
    """One more packet of a connection."""
    who = draw.choice("aab")
    peer = "b" if who == "a" else "a"
    sent, acknowledged = state.sent, state.acknowledged
    seq, flags, length, window, options = sent[who], "A", 0, 60_000, b""
    ack: int | None = sent[peer]
    kind = draw.random()
    if kind < 0.35:
        length = draw.choice(LENGTHS)
    elif kind < 0.45:
        seq, length = (
            max(0, seq - draw.choice([1, 100, 500, 600, 1_000])),
            draw.choice([1, 100, 500]),
        )
    elif kind < 0.52:
        seq, length = seq + draw.choice([100, 500]), 100
    elif kind < 0.75:
        ack = draw.choice(
            [sent[peer], acknowledged[who], max(0, sent[peer] - draw.choice([100, 500, 1_460]))]
        )
    elif kind < 0.80:
        left = talk.isn[peer] + 1 + acknowledged[who] + draw.choice([100, 500])
        ack, options = acknowledged[who], sack((left, left + draw.choice([100, 500])))
    elif kind < 0.83:
        seq, length = seq - 1, draw.choice([0, 1])
    elif kind < 0.86:
        window = 0
    elif kind < 0.88:
        flags, length = "FA", draw.choice([0, 0, 50])
    elif kind < 0.89:
        flags = draw.choice(["RA", "R"])
    elif kind < 0.91 and second_handshakes:
        flags, seq = draw.choice([("S", -1), ("S", 5_000), ("SA", -1)])
        ack = None if flags == "S" else ack
    else:
        window = draw.choice([60_000, 500, 0, 1_000])
    talk.send(who, at, seq, ack, flags, length, window=window, options=options)
    if "S" not in flags:
        sent[who] = max(sent[who], seq + length)
    if ack is not None:
        acknowledged[who] = max(acknowledged[who], ack)
