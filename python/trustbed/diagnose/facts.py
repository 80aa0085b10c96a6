"""What the reader and the flow engine report about a capture as a whole.

The input of the capture-quality findings.

Only the shape of the ``capture`` dictionary; every key may be missing or ``None``, which means
unknown and is never read as zero. Nanosecond integers, shares 0…1.
"""
# Without postponed annotations: a TypedDict would compile every one of them when it is imported.

from typing import TypedDict


class InterfaceFacts(TypedDict, total=False):
    """One capture interface (pcapng) or the only one (pcap)."""

    name: str | None
    description: str | None
    link_number: int
    snap_length: int
    records: int
    received: int | None  # counters of the interface statistics; pcap has none
    dropped: int | None  # dropped by the interface
    os_dropped: int | None  # dropped by the operating system for want of buffer


class FileFacts(TypedDict, total=False):
    """One file of the capture."""

    name: str
    format: str
    compression: str
    bytes: int
    records: int
    snap_length: int
    snapped_records: int
    interfaces: list[InterfaceFacts]


class ProblemFacts(TypedDict, total=False):
    """One position at which a file is damaged."""

    code: str
    file: str
    offset: int  # byte
    record: int  # the record concerned, counted from 1, or the one that would have come next
    detail: str  # a sentence: what was found and what was done about it


class SkipFacts(TypedDict, total=False):
    """Records that are no measurable packets, by reason."""

    # not_ip, other_protocol, tunnel, truncated, bad_header, fragment_without_first,
    # unsupported_link, empty
    reason: str
    records: int
    first_index: int | None


class CaptureFacts(TypedDict, total=False):
    """Everything known about the capture that is no property of one transfer."""

    files: list[FileFacts]
    problems: list[ProblemFacts]
    problems_left_out: dict[str, int]  # further problems of a code of which enough were listed
    skips: list[SkipFacts]
    records: int  # records read
    packets: int  # records that became packets
    first_ns: int | None
    last_ns: int | None
    clock_steps: int  # times that the clock went back by more than the reorder buffer
    clock_step_max_ns: int | None  # the largest of these steps
    reordered_records: int  # records stamped before the one in front of them, within the buffer
    reorder_max_ns: int | None  # by how much at most
    timestamp_granularity_ns: (
        int | None
    )  # largest power of ten, up to 1 s, that divides every timestamp
    equal_timestamp_share: float | None  # share of records stamped exactly like the record before
    bunched_share: (
        float | None
    )  # share of records closer to the one before than 10 Gbit/s allow, equal timestamps included
    records_without_time: int  # simple packet blocks carry no timestamp
    snapped_records: int  # records stored shorter than they were
    capture_duplicates: int  # packets recorded twice
    deduplicated: bool  # these copies were removed before the analysis
    acked_unseen_bytes: int  # acknowledged by the receiver, never seen
    unique_bytes: int
    tcp_connections: int
    offloaded_connections: int
    one_sided_connections: int
    midstream_connections: int
    evicted_connections: int
    wild_seq: int  # sequence or acknowledgement numbers too far away to be meant
    ignored_holes: int  # holes in the sequence space beyond what is remembered per transfer
