"""The published detector, on connections whose bucket was emptied by hand."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from validation.external.detector import by_connection, flow, policed
from validation.packets import ACK, Packet

SERVER, CLIENT = ("10.0.0.4", 1234), ("10.0.0.1", 4000)
SEGMENT = 1448
ROUND_TRIP_NS = 100_000_000


@dataclass
class Download:
    """Objects over a path that drops what ``drops`` says, at 700 kB/s and 100 kB/s in turns.

    What was dropped is sent again a round trip later, and may be dropped again.
    """

    drops: Callable[[int, int], bool]
    packets: list[Packet] = field(default_factory=list)
    time_ns: int = 1_000_000_000
    first: int = 1000
    request: int = 500
    seq: int = field(init=False)

    def __post_init__(self) -> None:
        self.seq = self.first

    def serve(self, segments: int) -> None:
        self._from(CLIENT, self.time_ns, seq=self.request, ack=self.seq, payload=100)
        self.request += 100
        to_send: list[tuple[int, int]] = []
        time_ns = self.time_ns
        for _ in range(segments):
            is_fast = (time_ns - self.time_ns) // 1_500_000_000 % 2 == 0
            time_ns += round(SEGMENT / (700_000 if is_fast else 100_000) * 1e9)
            to_send.append((time_ns, self.seq))
            self.seq += SEGMENT
        while to_send:
            time_ns, seq = heapq.heappop(to_send)
            self._from(SERVER, time_ns, seq=seq, ack=self.request, payload=SEGMENT)
            if self.drops(time_ns, SEGMENT):
                heapq.heappush(to_send, (time_ns + ROUND_TRIP_NS, seq))
            else:
                self._acknowledge(time_ns, seq)
        self.time_ns = time_ns + 2 * ROUND_TRIP_NS
        self._from(CLIENT, self.time_ns, seq=self.request, ack=self.seq)

    def _acknowledge(self, time_ns: int, seq: int) -> None:
        block = ((seq, seq + SEGMENT),)
        self._from(CLIENT, time_ns + ROUND_TRIP_NS, seq=self.request, ack=self.first, sack=block)

    def _from(
        self,
        end: tuple[str, int],
        time_ns: int,
        *,
        seq: int,
        ack: int,
        payload: int = 0,
        sack: tuple[tuple[int, int], ...] = (),
    ) -> None:
        other = CLIENT if end == SERVER else SERVER
        self.packets.append(
            Packet(
                frame=len(self.packets) + 1,
                time_ns=time_ns,
                source=end[0],
                source_port=end[1],
                destination=other[0],
                destination_port=other[1],
                seq=seq,
                ack=ack,
                flags=ACK,
                window=65535,
                payload=payload,
                sack=sack,
            )
        )

    def seen(self) -> list[Packet]:
        return sorted(self.packets, key=lambda packet: packet.time_ns)


def bucket(rate: float, burst: float) -> Callable[[int, int], bool]:
    """Drops what finds too few tokens."""
    tokens, filled = burst, 0

    def drops(time_ns: int, size: int) -> bool:
        nonlocal tokens, filled
        tokens = min(burst, tokens + (time_ns - filled) * rate / 1e9)
        filled = time_ns
        if tokens < size:
            return True
        tokens -= size
        return False

    return drops


def test_a_token_bucket_is_found_and_its_rate_with_it() -> None:
    download = Download(bucket(250_000, 100_000))
    download.serve(1000)
    sent = flow(download.seen(), SERVER)
    found = policed(sent.objects[0])
    assert found.is_policed, found.why_not
    assert abs(found.rate_bytes_per_second / 250_000 - 1) < 0.05


def test_random_losses_are_no_policing() -> None:
    draw = random.Random(1)
    download = Download(lambda _time, _size: draw.random() < 0.1)
    download.serve(1000)
    found = policed(flow(download.seen(), SERVER).objects[0])
    assert not found.is_policed
    assert found.why_not in {"fuller at losses", "losses out of range", "passes out of range"}


def test_few_losses_show_nothing() -> None:
    number = iter(range(1, 10_000))
    download = Download(lambda _time, _size: next(number) % 100 == 0)
    download.serve(500)
    assert policed(flow(download.seen(), SERVER).objects[0]).why_not == "too few losses"


def test_a_request_begins_another_object() -> None:
    download = Download(lambda _time, _size: False)
    download.serve(20)
    download.serve(30)
    sent = flow(download.seen(), SERVER)
    assert [sum(one.payload > 0 for one in each) for each in sent.objects] == [20, 30]
    assert sent.loss_share == 0


def test_a_needless_repeat_is_no_loss() -> None:
    number = iter(range(1, 10_000))
    download = Download(lambda _time, _size: next(number) == 1)
    download.serve(50)
    assert flow(download.seen(), SERVER).loss_share == 1 / 51
    lost = 1000
    last = download.seen()[-1]
    download._from(
        CLIENT,
        last.time_ns + 1,
        seq=last.seq,
        ack=download.seq,
        sack=((lost, lost + SEGMENT),),
    )
    assert flow(download.seen(), SERVER).loss_share == 0


def test_sequence_numbers_may_wrap() -> None:
    wraps = 1 << 32
    download = Download(bucket(250_000, 100_000), first=wraps - 300 * SEGMENT)
    download.serve(1000)
    seen = [
        replace(
            packet,
            seq=packet.seq % wraps,
            ack=packet.ack % wraps,
            sack=tuple((low % wraps, high % wraps) for low, high in packet.sack),
        )
        for packet in download.seen()
    ]
    assert policed(flow(seen, SERVER).objects[0]).is_policed


def test_connections_are_kept_apart() -> None:
    download = Download(lambda _time, _size: False)
    download.serve(3)
    groups = by_connection(download.seen())
    assert [len(group) for group in groups.values()] == [len(download.packets)]
