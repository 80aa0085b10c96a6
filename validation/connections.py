"""Connection instances by the definitions trustbed documents.

See `stream` for what happens within one.

A SYN on known endpoints starts a new instance only when its sequence number differs and the old
instance is over, silent for 120 s, or never answered. Silence of 600 s ends an instance; one that
is over stays 10 s for late packets.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from validation.arrivals import Arrival
from validation.packets import ACK, FIN, RST, SYN, Packet
from validation.stream import RoundTrip, Stream, acknowledges

IDLE_NS = 600 * 10**9
SILENT_NS = 120 * 10**9
LINGER_NS = 10 * 10**9


@dataclass(slots=True, eq=False)
class Connection:
    """One instance; `streams` by sending endpoint."""

    number: int
    endpoints: tuple[tuple[str, int], tuple[str, int]]
    initiator: tuple[str, int]
    streams: dict[tuple[str, int], Stream]
    packets: list[Packet] = field(default_factory=list)
    midstream: bool = False
    reset: bool = False
    over_ns: int | None = None
    last_ns: int = 0
    epoch: int = 0
    syn_ns: int | None = None
    syn_frame: int = 0
    syn_repeated: bool = False
    syn_ack_ns: int | None = None
    syn_ack_frame: int = 0
    syn_ack_repeated: bool = False
    ack_ns: int | None = None
    crossed: bool = False
    ack_frame: int = 0
    after_reset: set[int] = field(default_factory=set)
    clock_steps: int = 0
    stray: int | None = None

    @property
    def is_over(self) -> bool:
        """A RST was accepted, or both FINs were seen."""
        return self.over_ns is not None

    def peer(self, endpoint: tuple[str, int]) -> tuple[str, int]:
        """The other endpoint."""
        return self.endpoints[1] if endpoint == self.endpoints[0] else self.endpoints[0]


def cut(arrivals: Iterable[Arrival]) -> list[Connection]:
    """All connection instances in the order of their first packets, each fully analysed."""
    complete: list[Connection] = []
    live: dict[tuple[tuple[str, int], tuple[str, int]], Connection] = {}
    for arrival in arrivals:
        packet = arrival.packet
        connection = live.get(packet.key)
        if connection is None or _is_old(connection, packet):
            connection = _begin(packet, arrival.epoch)
            live[packet.key] = connection
            complete.append(connection)
        if connection.epoch != arrival.epoch:
            _step(connection, arrival.epoch)
        _take(connection, packet, later_fragment=arrival.later_fragment)
    return complete


def _is_old(connection: Connection, packet: Packet) -> bool:
    silence = packet.time_ns - connection.last_ns
    if silence >= IDLE_NS or (
        connection.over_ns is not None and packet.time_ns - connection.over_ns >= LINGER_NS
    ):
        return True
    stream = connection.streams[packet.sender]
    if not packet.has(SYN) or stream.syn == packet.seq:
        return False
    if packet.has(ACK):
        # Who answers a SYN of no instance has forgotten this one.
        return connection.is_over or connection.stray == (packet.ack - 1) & 0xFFFFFFFF
    crossing = (
        connection.syn_ns is not None
        and connection.syn_ack_ns is None
        and not connection.midstream
        and packet.sender != connection.initiator
        and stream.syn is None
        and all(each.fin is None for each in connection.streams.values())
    )
    return (
        connection.is_over
        or silence >= SILENT_NS
        or (not any(each.syn_ack for each in connection.streams.values()) and not crossing)
    )


def _begin(packet: Packet, epoch: int) -> Connection:
    lower, higher = packet.key
    connection = Connection(
        packet.frame, packet.key, packet.sender, {lower: Stream(), higher: Stream()}, epoch=epoch
    )
    if not packet.has(SYN):
        connection.midstream = True
        if lower[1] != higher[1]:
            connection.initiator = max(packet.key, key=lambda endpoint: endpoint[1])
    elif packet.has(ACK):
        connection.initiator = packet.receiver
    return connection


def _step(connection: Connection, epoch: int) -> None:
    connection.epoch = epoch
    connection.clock_steps += 1
    connection.syn_ack_ns = connection.ack_ns = None
    for stream in connection.streams.values():
        stream.on_clock_step()


def _take(connection: Connection, packet: Packet, *, later_fragment: bool) -> None:
    connection.last_ns = packet.time_ns
    connection.packets.append(packet)
    stream, peer = connection.streams[packet.sender], connection.streams[packet.receiver]
    stream.packets += 1
    stream.frames.append(packet.frame)
    if connection.reset:
        connection.after_reset.add(packet.frame)
        return
    if later_fragment:
        stream.on_later_fragment(packet)
        return
    if packet.has(SYN):
        if not _on_syn(connection, packet, stream):
            return
    else:
        stream.on_number(packet, midstream=connection.midstream)
        if (
            connection.ack_ns is None
            and connection.syn_ack_ns is not None
            and packet.sender == connection.initiator
        ):
            connection.ack_ns, connection.ack_frame = packet.time_ns, packet.frame
    if acknowledges(packet):
        changed = packet.window << stream.shift != stream.window
        peer.on_ack(packet, window_changed=changed)
        if not packet.has(SYN):
            stream.advertise(packet.window, peer.outstanding)
    if packet.window == 0 and packet.has(ACK) and not packet.has(SYN | FIN | RST):
        stream.zero_windows.append(packet.frame)
    # Text in a RST gives the reason (RFC 1122, 4.2.2.12): it is not data.
    if packet.payload > 0 and not packet.has(RST):
        stream.on_payload(packet, peer.window if peer.window_known else None)
        if stream.data_packets == 1 and stream.handshake is None:
            stream.handshake = _handshake(connection, packet.sender)
        if not peer.scale_known and peer.window_known:
            peer.advertise(peer.raw_window, stream.outstanding)
    elif (
        not packet.has(SYN | FIN | RST)
        and stream.packets > 1
        and stream.offset(packet.seq, stream.highest) == stream.next_number - 1
    ):
        stream.keep_alives.append(packet.frame)
    if packet.has(RST):
        _on_reset(connection, packet, stream, peer)
    elif packet.has(FIN):
        stream.on_fin(packet)
        if stream.fin is not None and peer.fin is not None and connection.over_ns is None:
            connection.over_ns = packet.time_ns


def _on_syn(connection: Connection, packet: Packet, stream: Stream) -> bool:
    """Whether the SYN is the connection's."""
    if stream.syn is not None:
        if stream.syn == packet.seq and packet.has(ACK) and not stream.syn_ack:
            # The second half of a simultaneous open (RFC 9293, figure 7).
            stream.syn_ack = True
            if connection.syn_ack_ns is None:
                connection.syn_ack_ns, connection.syn_ack_frame = packet.time_ns, packet.frame
        elif stream.syn == packet.seq:
            connection.syn_repeated |= not packet.has(ACK)
            connection.syn_ack_repeated |= packet.has(ACK)
        else:
            connection.stray = packet.seq
            return False
        return True
    if connection.midstream:
        connection.stray = packet.seq
        return True
    stream.base, stream.syn, stream.numbered = (packet.seq + 1) & 0xFFFFFFFF, packet.seq, True
    stream.mss_option, stream.syn_ack = packet.mss or 0, packet.has(ACK)
    stream.scale_offered = None if packet.window_scale is None else min(packet.window_scale, 14)
    stream.shift = stream.scale_offered or 0
    # The window of a SYN is never scaled, and holds until the next packet.
    stream.window = packet.window
    if packet.has(ACK):
        connection.syn_ack_ns, connection.syn_ack_frame = packet.time_ns, packet.frame
    elif connection.syn_ns is None:
        connection.syn_ns, connection.syn_frame = packet.time_ns, packet.frame
    else:
        connection.initiator, connection.crossed = connection.endpoints[0], True
    both = list(connection.streams.values())
    if all(each.syn is not None for each in both):
        _agree(both)
    return True


def _handshake(connection: Connection, sender: tuple[str, int]) -> RoundTrip | None:
    """At a direction's first data.

    SYN → SYN-ACK for the initiator's, SYN-ACK → next packet for the responder's.

    None if what was answered was sent more than once.
    """
    if sender == connection.initiator:
        sent, answered, repeated = connection.syn_ns, connection.syn_ack_ns, connection.syn_repeated
        frames = (connection.syn_ack_frame, connection.syn_frame)
    else:
        sent, answered, repeated = (
            connection.syn_ack_ns,
            connection.ack_ns,
            connection.syn_ack_repeated,
        )
        frames = (connection.ack_frame, connection.syn_ack_frame)
    if sent is None or answered is None or repeated or connection.crossed or answered <= sent:
        return None
    return RoundTrip("sample", answered - sent, *frames, handshake=True)


def _agree(both: list[Stream]) -> None:
    scaled = all(each.scale_offered is not None for each in both)
    options = [each.mss_option for each in both if each.mss_option]
    for each in both:
        each.scale_known = True
        each.shift = each.shift if scaled else 0
        if options and min(options) > 64:
            each.mss, each.mss_known = min(options), True


def _on_reset(connection: Connection, packet: Packet, stream: Stream, peer: Stream) -> None:
    """A RST ends the instance if it lies within the peer's window, at or above its last ACK."""
    at = stream.offset(packet.seq, stream.highest)
    right = max(stream.highest, stream.una + (peer.window or 0)) + 1
    if stream.una - 1 <= at <= right:
        connection.reset = True
        connection.over_ns = packet.time_ns
