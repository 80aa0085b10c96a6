"""TCP packets of a capture, taken apart slowly and simply.

Every TCP header that can be found is reported with where it was found: under VLAN tags, MPLS
labels, PPPoE, or inside tunnels (`wrapping`), and how much of it was there (`header_cut`). Which of
them a tool measures is the tool's business; the predicates of `reasons_*` decide from these facts.

Lengths come from the IP header; when that is 0 they come from the frame. Checksums are not checked,
as in the tools by default.
"""

import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from validation.records import Record

FIN, SYN, RST, PUSH, ACK, URGENT = 1, 2, 4, 8, 16, 32
TCP, UDP, ICMP, IPV4_IN_IP, IPV6_IN_IP, GRE = 6, 17, 1, 4, 41, 47
HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION, AUTHENTICATION = 0, 43, 44, 60, 51
VXLAN_PORT, GENEVE_PORT = 4789, 6081
VLAN_TYPES = (0x8100, 0x88A8, 0x9100)


@dataclass(frozen=True, slots=True)
class Packet:
    """One TCP packet and what is known about it.

    `wrapping` names what is between link layer and IP header ("vlan", "mpls", "pppoe", "ppp",
    "wifi", "ip", "gre", "vxlan", "geneve"). `header_cut` means that the snap length took a part of
    the TCP header or of its options; `beyond_frame` counts the bytes that the IP header states and
    the frame never had.
    """

    frame: int
    time_ns: int
    source: str
    source_port: int
    destination: str
    destination_port: int
    seq: int
    ack: int
    flags: int
    window: int
    payload: int
    ip_id: int = 0
    checksum: int = 0
    window_scale: int | None = None
    mss: int | None = None
    sack_permitted: bool = False
    sack: tuple[tuple[int, int], ...] = ()
    tsval: int | None = None
    tsecr: int | None = None
    wrapping: tuple[str, ...] = ()
    vlan: int = 0
    header_cut: bool = False
    fragment: bool = False
    ip_length_zero: bool = False
    extension_bytes: int = 0
    beyond_frame: int = 0
    multipath: bool = False
    tcp_header: int = 0  # bytes; of a later fragment -1 where its number is not known

    @property
    def sender(self) -> tuple[str, int]:
        """Endpoint that sent the packet."""
        return (self.source, self.source_port)

    @property
    def receiver(self) -> tuple[str, int]:
        """Endpoint that the packet goes to."""
        return (self.destination, self.destination_port)

    def has(self, mask: int) -> bool:
        """Whether any of the TCP flags in `mask` is set."""
        return bool(self.flags & mask)

    @property
    def span(self) -> int:
        """Sequence numbers that the packet takes: payload, SYN and FIN."""
        return self.payload + self.has(SYN) + self.has(FIN)

    @property
    def key(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Both endpoints, the lower first: the same for both directions."""
        return (
            (self.sender, self.receiver)
            if self.sender <= self.receiver
            else (self.receiver, self.sender)
        )


@dataclass(slots=True)
class Sighting:
    """What one record turned out to hold.

    TCP packets, and notes about anything else that was found.
    """

    packets: list[Packet] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Frame:
    """The rest of a frame: captured bytes, bytes on the wire, and the headers before it."""

    data: bytes
    length: int
    wrapping: tuple[str, ...] = ()
    vlan: int = 0

    def after(self, count: int, *layer: str) -> "_Frame":
        return replace(
            self,
            data=self.data[count:],
            length=max(0, self.length - count),
            wrapping=self.wrapping + layer,
        )


def packets(records: Iterator[Record]) -> Iterator[Packet]:
    """The TCP packets of all records, in file order, tunnels included."""
    for record in records:
        yield from sight(record).packets


def sight(record: Record) -> Sighting:
    """Takes one record apart as far as it goes."""
    seen = Sighting()
    frame = _Frame(record.data, max(record.original_length, len(record.data)))
    try:
        _link(record, record.link_type, frame, seen)
    except (struct.error, IndexError):
        seen.notes.append("cut")
    return seen


def _link(record: Record, link_type: int, frame: _Frame, seen: Sighting) -> None:
    data = frame.data
    if link_type == 1:
        _ether(record, struct.unpack(">H", data[12:14])[0], frame.after(14), seen)
    elif link_type == 113:
        _ether(record, struct.unpack(">H", data[14:16])[0], frame.after(16), seen)
    elif link_type == 276:
        _ether(record, struct.unpack(">H", data[0:2])[0], frame.after(20), seen)
    elif link_type in (0, 108):
        _ip(record, frame.after(4), seen)
    elif link_type in (9, 50):
        _ppp(record, frame, seen)
    elif link_type in (12, 14, 101, 228, 229):
        _ip(record, frame, seen)
    elif link_type == 10 and data[13:19] == b"\xaa\xaa\x03\0\0\0":
        _ether(record, struct.unpack(">H", data[19:21])[0], frame.after(21, "fddi"), seen)
    else:
        seen.notes.append("link")


def _ppp(record: Record, frame: _Frame, seen: Sighting) -> None:
    """PPP, with or without the framing of RFC 1662 or of Cisco."""
    if frame.data[:2] in (b"\x0f\0", b"\x8f\0"):
        _ether(record, struct.unpack(">H", frame.data[2:4])[0], frame.after(4), seen)
        return
    if frame.data[:2] == b"\xff\x03":
        frame = frame.after(2)
    size = 1 if frame.data[0] & 1 else 2
    protocol = int.from_bytes(frame.data[:size], "big")
    if protocol in (0x0021, 0x0057):
        _ip(record, frame.after(size, "ppp"), seen)
    elif protocol in (0x0281, 0x0283):
        _ether(record, 0x8847, frame.after(size, "ppp"), seen)
    else:
        seen.notes.append("not_ip")


def _ether(record: Record, ether_type: int, frame: _Frame, seen: Sighting) -> None:
    if ether_type in VLAN_TYPES:
        tag, inner = struct.unpack(">HH", frame.data[:4])
        tagged = replace(frame.after(4, "vlan"), vlan=frame.vlan or tag & 0xFFF)
        _ether(record, inner, tagged, seen)
    elif ether_type in (0x0800, 0x86DD):
        _ip(record, frame, seen)
    elif ether_type in (0x8847, 0x8848):
        while not frame.data[2] & 1:
            frame = frame.after(4)
        _ip(record, frame.after(4, "mpls"), seen)
    elif ether_type == 0x8864:
        length, protocol = struct.unpack(">HH", frame.data[4:8])
        if protocol in (0x0021, 0x0057):
            _ip(
                record, replace(frame, length=min(frame.length, 6 + length)).after(8, "pppoe"), seen
            )
    elif ether_type < 0x600 and frame.data[:6] == b"\xaa\xaa\x03\0\0\0":
        _ether(record, struct.unpack(">H", frame.data[6:8])[0], frame.after(8, "llc"), seen)
    elif ether_type == 0x6558:
        _ether(record, struct.unpack(">H", frame.data[12:14])[0], frame.after(14), seen)
    else:
        seen.notes.append("not_ip")


@dataclass(frozen=True, slots=True)
class _Network:
    """The fields of the IP header."""

    source: str
    destination: str
    protocol: int
    body: _Frame
    ip_id: int = 0
    fragment: bool = False
    position: int = 0  # of a fragment, in the datagram
    length_zero: bool = False
    extension_bytes: int = 0
    beyond_frame: int = 0


def _ip(record: Record, frame: _Frame, seen: Sighting) -> None:
    version = frame.data[0] >> 4
    network = _ipv4(frame) if version == 4 else _ipv6(frame) if version == 6 else None
    if network is None:
        seen.notes.append("bad_ip")
        return
    if network.position:
        seen.notes.append(
            f"later_fragment:{network.source}:{network.destination}:{network.protocol}"
            f":{network.ip_id}:{network.body.length}@{network.position}"
        )
        return
    body = network.body
    if network.protocol == TCP:
        packet = _tcp(record, network)
        if packet is None:
            seen.notes.append("cut")
        else:
            seen.packets.append(packet)
    elif network.protocol in (IPV4_IN_IP, IPV6_IN_IP):
        _ip(record, replace(body, wrapping=(*body.wrapping, "ip")), seen)
    elif network.protocol == GRE:
        _gre(record, body, seen)
    elif network.protocol == UDP:
        _udp(record, body, seen)
    else:
        seen.notes.append(f"protocol:{network.protocol}")


def _ipv4(frame: _Frame) -> _Network | None:
    data = frame.data
    header = (data[0] & 15) * 4
    total, ip_id, fragment = struct.unpack(">HHH", data[2:8])
    if header < 20 or (total and total < header):
        return None
    length = total or frame.length
    inside = replace(frame, data=data[:length], length=length)
    return _Network(
        str(ipaddress.IPv4Address(data[12:16])),
        str(ipaddress.IPv4Address(data[16:20])),
        data[9],
        inside.after(header),
        ip_id,
        bool(fragment & 0x3FFF),
        (fragment & 0x1FFF) * 8,
        total == 0,
        0,
        max(0, length - frame.length),
    )


def _ipv6(frame: _Frame) -> _Network:
    data = frame.data
    (length,) = struct.unpack(">H", data[4:6])
    zero = length == 0
    length = length or max(0, frame.length - 40)
    protocol, offset, fragment, position, ip_id = data[6], 40, False, 0, 0
    while protocol in (HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION, AUTHENTICATION):
        following, size = data[offset], data[offset + 1]
        if protocol == FRAGMENT:
            (word, ip_id) = struct.unpack(">HI", data[offset + 2 : offset + 8])
            fragment, position = bool(word & 0xFFF9), word & 0xFFF8
            offset += 8
        elif protocol == AUTHENTICATION:
            offset += (size + 2) * 4
        else:
            offset += (size + 1) * 8
        protocol = following
    inside = replace(frame, data=data[: 40 + length], length=40 + length)
    source, destination = (str(ipaddress.IPv6Address(data[at : at + 16])) for at in (8, 24))
    beyond = max(0, 40 + length - frame.length)
    return _Network(
        source,
        destination,
        protocol,
        inside.after(offset),
        ip_id,
        fragment,
        position,
        zero,
        offset - 40,
        beyond,
    )


def _gre(record: Record, frame: _Frame, seen: Sighting) -> None:
    flags, protocol = struct.unpack(">HH", frame.data[:4])
    header = 4 + 4 * bool(flags & 0x8000) + 4 * bool(flags & 0x2000) + 4 * bool(flags & 0x1000)
    if flags & 0x7:
        header += 4 * bool(flags & 0x0080)
        if protocol == 0x880B:
            inner = frame.after(header, "gre")
            skip = 2 if inner.data[:2] == b"\xff\x03" else 0
            _ip(record, inner.after(skip + (1 if inner.data[skip] & 1 else 2)), seen)
            return
    if 0x8200 <= protocol <= 0x83F0 and not protocol & 0xF:
        _wifi(record, frame.after(header, "gre"), seen)
        return
    _ether(record, protocol, frame.after(header, "gre"), seen)


def _wifi(record: Record, frame: _Frame, seen: Sighting) -> None:
    """IEEE 802.11, as Aruba's access points send it in GRE."""
    kind, flags = frame.data[0], frame.data[1]
    header = 24 + 6 * (flags & 3 == 3)
    if kind & 0x80:
        header += 6 if flags & 0x80 else 2
    if kind & 0x4C == 0x08 and not flags & 0x44:
        _ether(record, 0, frame.after(header, "wifi"), seen)
    else:
        seen.notes.append("not_ip")


def _udp(record: Record, frame: _Frame, seen: Sighting) -> None:
    ports = struct.unpack(">HH", frame.data[:4])
    if VXLAN_PORT in ports:
        inner = frame.after(16, "vxlan")
    elif GENEVE_PORT in ports:
        inner = frame.after(16 + (frame.data[8] & 0x3F) * 4, "geneve")
    else:
        seen.notes.append("udp")
        return
    _ether(record, struct.unpack(">H", inner.data[12:14])[0], inner.after(14), seen)


def _tcp(record: Record, network: _Network) -> Packet | None:
    data, length = network.body.data, network.body.length
    if len(data) < 20:
        return None
    source_port, destination_port, seq, ack, offset, flags, window, checksum = struct.unpack(
        ">HHIIBBHH", data[:18]
    )
    header = (offset >> 4) * 4
    packet = Packet(
        record.frame,
        record.time_ns,
        network.source,
        source_port,
        network.destination,
        destination_port,
        seq,
        ack,
        flags,
        window,
        length - header,
        network.ip_id,
        checksum,
        wrapping=network.body.wrapping,
        vlan=network.body.vlan,
        header_cut=len(data) < header,
        fragment=network.fragment,
        ip_length_zero=network.length_zero,
        extension_bytes=network.extension_bytes,
        beyond_frame=network.beyond_frame,
        tcp_header=header,
    )
    return _with_options(packet, data[20:header])


def _with_options(packet: Packet, options: bytes) -> Packet:
    found: dict[str, Any] = {}
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        size = options[at + 1] if at + 1 < len(options) else 0
        if size < 2 or at + size > len(options):
            break
        value = options[at + 2 : at + size]
        match (options[at], size):
            case (2, 4):
                found["mss"] = struct.unpack(">H", value)[0]
            case (3, 3):
                found["window_scale"] = value[0]
            case (4, 2):
                found["sack_permitted"] = True
            case (8, 10):
                found["tsval"], found["tsecr"] = struct.unpack(">II", value)
            case (5, _):
                edges = struct.unpack(f">{(size - 2) // 8 * 2}I", value[: (size - 2) // 8 * 8])
                found["sack"] = tuple(zip(edges[::2], edges[1::2], strict=True))
            case (30, _):
                found["multipath"] = True
        at += size
    return replace(packet, **found) if found else packet
