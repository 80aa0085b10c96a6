"""The catalogue of findings: code, severity, title, what it means and what to do next. Worded here and nowhere else.

A finding is a checked statement about a capture, a host or a transfer. The checks are in :mod:`trustbed.diagnose.findings` and
:mod:`trustbed.diagnose.transfer_findings`; what a finding leaves of a verdict is in :mod:`trustbed.diagnose.limits`.

Severity: ``info`` lowers nothing, ``warning`` can lower what may be concluded, ``error`` means that something is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from trustbed.diagnose.burst_catalogue import BURST_ENTRIES
from trustbed.diagnose.doctor_catalogue import DOCTOR_ENTRIES
from trustbed.diagnose.ends_catalogue import ENDS_ENTRIES
from trustbed.diagnose.entry import Entry as Entry
from trustbed.diagnose.entry import Severity as Severity
from trustbed.diagnose.run_catalogue import RUN_ENTRIES

_ENTRIES = (
    Entry(
        "capture_kernel_drops",
        "warning",
        "capture",
        "packets were dropped while capturing",
        "share",
        "The capturing kernel or interface counted packets that it could not record. A dropped packet looks like a pause of the sender; "
        "a dropped data packet that was retransmitted looks like none at all.",
        "capture again with a larger buffer (`tcpdump -B`), a shorter snap length (-s 128) or a filter, on a machine with a CPU to spare",
        otherwise=("info", "below {kernel_drop_share:.0%} of the packets"),
    ),
    Entry(
        "capture_loss",
        "warning",
        "capture",
        "bytes were acknowledged that the capture never saw",
        "share",
        "The receiver acknowledged data that is not in the capture, so the capture lost packets, or some of them took another way. "
        "Losses and pauses seen in it may be the capture's own.",
        "compare with the drop counters; capture on the interface that carries all packets of the transfer",
        otherwise=("info", "below {capture_loss_share:.1%} of the bytes"),
    ),
    Entry(
        "capture_duplicates",
        "warning",
        "capture",
        "packets were captured twice",
        "share",
        "The same packet was recorded more than once, as on a bridge, on 'any', or on a mirror port of both directions. A copy looks like "
        "a retransmission and spoils the RTT of its bytes.",
        "analyse with --dedup, or capture on one interface only",
        otherwise=(
            "info",
            "below {duplicate_share:.1%} of the packets, and where the copies were removed",
        ),
    ),
    Entry(
        "clock_step",
        "warning",
        "capture",
        "the capture's clock stepped back",
        "seconds",
        "A record is stamped earlier than one before it by more than reordering explains. Samples across the step were dropped; a duration "
        "across it, and the throughput, are wrong by the step.",
        "keep the clock from being set during the capture (slewing chrony instead of stepping), or capture with a monotonic source",
    ),
    Entry(
        "records_out_of_order",
        "info",
        "capture",
        "records were not in the order of their timestamps",
        "seconds",
        "Records were put back into order by their timestamps before the analysis. Several queues or interfaces read in turns do this. "
        "RTT and pauses can be off by the disorder.",
        "capture with one queue, or let the capture tool sort (`reordercap`)",
        otherwise=("warning", "from {reordered_share:.0%} of the records on"),
    ),
    Entry(
        "coarse_timestamps",
        "warning",
        "capture",
        "timestamps are coarse",
        "seconds",
        "Every timestamp is a multiple of this granularity, whatever the file's format promises. RTTs and pauses of that size cannot be "
        "measured.",
        "capture on a host with a fine clock source (tsc, kvm-clock), with kernel or hardware timestamps",
    ),
    Entry(
        "bunched_timestamps",
        "warning",
        "capture",
        "packets were stamped in bunches",
        "share",
        "Many records carry one and the same time, or follow closer than a wire allows: the machine read several packets at once. "
        "Inside a guest this hides the guest's own pauses and shortens trains.",
        "capture outside the guest, on its tap or bridge, or switch interrupt coalescing off (`ethtool -C`)",
        otherwise=("info", "where stamps lie close together and are not equal"),
    ),
    Entry(
        "timestamps_missing",
        "warning",
        "capture",
        "records carry no timestamp",
        "records",
        "Simple packet blocks hold a packet without its time. Such records count, but nothing can be timed.",
        "capture with a tool that writes enhanced packet blocks (dumpcap, tcpdump)",
    ),
    Entry(
        "snap_truncation",
        "info",
        "capture",
        "packets were cut by the snap length",
        "share",
        "Packets were stored only in part. Lengths come from the headers, so counts and bytes stay right; a header that is cut makes its "
        "packet unmeasurable, and cut options hide window scale, timestamps and selective acknowledgements.",
        "capture with a snap length of 128 bytes or more, 256 with tunnels",
        otherwise=("warning", "where headers were cut"),
    ),
    Entry(
        "offload",
        "info",
        "capture",
        "packets larger than the wire allows",
        "connections",
        "The capture shows packets before the network card cut them, or after it merged them. Counts are given as captured and as on the "
        "wire; the spacing inside such a packet is unknown.",
        "nothing for throughput and verdicts; for trains and bursts switch offloads off (`ethtool -K … tso off gso off gro off`)",
    ),
    Entry(
        "one_sided",
        "warning",
        "capture",
        "connections of which only one direction was captured",
        "connections",
        "Without the other direction there are no acknowledgements: neither RTT nor window nor pauses can be seen.",
        "capture where both directions pass: at an end host, or on all members of a link aggregate",
    ),
    Entry(
        "midstream",
        "info",
        "capture",
        "connections that ran before the capture began",
        "connections",
        "Their handshake is missing, and with it the window's scale and the initial RTT. The window is taken as the smallest that fits.",
        "start the capture before the transfer",
    ),
    Entry(
        "evicted_connections",
        "warning",
        "capture",
        "connections were given up to save memory",
        "connections",
        "More connections were open than are remembered; the oldest idle ones were written out early. Their rows end at the eviction.",
        "filter the capture, or split it by address",
    ),
    Entry(
        "read_problem",
        "error",
        "capture",
        "a file could not be read in full",
        "bytes",
        "A file is cut short or damaged at the byte named. Everything before it was analysed, and what follows it where the reader found "
        "the next record.",
        "copy the file again; let the capture end before copying; --strict makes this an error",
        otherwise=("warning", "where nothing but the last record is cut short"),
    ),
    Entry(
        "skipped_records",
        "info",
        "capture",
        "records were not measured",
        "records",
        "Records that are no TCP or UDP packets, or whose headers are cut or contradict themselves, are counted by reason and left out.",
        "see the reason; --inner looks into tunnels",
        otherwise=(
            "warning",
            "from {skipped_share:.0%} of the records on, where they should have been measured",
        ),
    ),
    Entry(
        "wild_sequence_numbers",
        "warning",
        "capture",
        "sequence numbers too far away to be meant",
        "packets",
        "A sequence or acknowledgement number lies more than a gigabyte from the connection's own. Such fields are ignored: damaged or "
        "forged packets, or two connections mixed up by a translator.",
        "look at these packets; a capture on both sides of an address translator mixes connections",
    ),
    Entry(
        "ignored_holes",
        "warning",
        "capture",
        "more holes in the data than are remembered",
        "holes",
        "A transfer had more missing ranges at once than are kept. Bytes that fill a forgotten hole count as retransmitted.",
        "look for capture loss first; it makes holes that are never filled",
    ),
    Entry(
        "nothing_judged",
        "info",
        "capture",
        "no transfer was long enough to be judged",
        "transfers",
        "Every transfer is shorter than ten round trips, or delivered less than 64 kB.",
        "capture a longer transfer",
    ),
    Entry(
        "place_unknown",
        "info",
        "capture",
        "transfers whose capture place is unknown",
        "transfers",
        "Neither handshake nor answer times tell whether the capture was taken at the sender, the receiver or between. Pauses of the "
        "sender can then not be told from pauses of the network.",
        "say where it was taken: --at sender, --at receiver or --at middle",
    ),
    Entry(
        "place_contradicted",
        "warning",
        "capture",
        "transfers were captured elsewhere than was said",
        "transfers",
        "The end that the capture is said to be beside answers late, and the other end at once: it was taken there. RTT, window and pauses "
        "were measured as if at the place that was said, and tell nothing.",
        "leave --at away, or name the other end; with --sender and --receiver exchange the two",
    ),
    Entry(
        "multipath",
        "warning",
        "capture",
        "transfers were subflows of Multipath TCP",
        "transfers",
        "Each subflow of a Multipath TCP connection (RFC 8684) looks like a connection of its own. What it carries, and when, is the "
        "scheduler's choice: while data take another subflow, the sender seems to stand still on this one.",
        "measure with plain TCP (on Linux: sysctl -w net.mptcp.enabled=0), or add up what all subflows carried",
    ),
    Entry(
        "host_stall",
        "warning",
        "host",
        "a host stopped on all its connections at once",
        "seconds",
        "For two seconds or more most open connections of the host sent nothing new although each had something to send. That is the "
        "machine or its driver, not a path.",
        "read the kernel log of the host for resets of the transmit queue, and the hypervisor's for pauses and migrations",
        otherwise=("info", "below {stall_seconds:g} s in total"),
    ),
    Entry(
        "connection_outage",
        "warning",
        "transfer",
        "the transfer stood still with data outstanding",
        "seconds",
        "For two seconds or more nothing was sent, or only retransmissions of one range, while data waited for its acknowledgement. One "
        "connection alone says nothing about its host.",
        "look whether other connections of the host went on: if so, it was the path or the receiver",
    ),
    Entry(
        "isolated_oversize_spacing",
        "info",
        "transfer",
        "one pause longer than the RTT",
        "seconds",
        "The longest pause of the sender exceeds the base RTT, but pauses as a whole do not slow the transfer down.",
        "nothing for the verdict; look at that moment if latency matters",
    ),
    Entry(
        "exceeds_window_bound",
        "warning",
        "transfer",
        "faster than window and RTT allow",
        "ratio",
        "A sender cannot exceed its window in one RTT. So the window or the RTT taken here is wrong: a scale that was not seen, a capture "
        "far from the sender, or acknowledgements of bytes never sent.",
        "capture at the sender from the handshake on",
    ),
    Entry(
        "exceeds_capacity",
        "warning",
        "transfer",
        "faster than the capacity given",
        "ratio",
        "The transfer delivered more than the capacity allows, so the capacity given is wrong, or meant at another layer than IP.",
        "correct --capacity",
    ),
    Entry(
        "sent_at_other_end",
        "warning",
        "transfer",
        "judged by the capture at the wrong end",
        "share",
        "Both captures together show that this transfer's data were sent beside the other one. Windows, pauses and round trips of a sender "
        "are looked for where the receiver was, so the cause may be another one. The verdict is held at review.",
        "swap --sender and --receiver to judge the transfers of this direction",
    ),
    Entry(
        "pauses_ambiguous",
        "info",
        "transfer",
        "pauses that a stopped machine and an idle application explain alike",
        "share",
        "A bulk sender that is stopped and an application that pauses leave the same packets. The rule names the likelier cause.",
        "record the CPU share of the sending host, or say --workload bulk when the sender had data waiting all the time",
    ),
    Entry(
        "window_estimated",
        "warning",
        "transfer",
        "the window's scale was not seen",
        "share",
        "The handshake is missing, so the window is the smallest that fits what was outstanding. The window bound is a lower one.",
        "start the capture before the transfer",
    ),
    Entry(
        "echoed_rtt",
        "warning",
        "transfer",
        "the RTT holds the sender's own delays",
        "share",
        "Away from the sender the RTT is known only through the sender's answers. A machine that answers late inflates it just as a "
        "queue does, and without losses nothing tells the two apart.",
        "capture at the sender, or record the CPU share of the sending host",
    ),
    Entry(
        "estimated_spacing",
        "info",
        "transfer",
        "pauses were estimated",
        "share",
        "The capture was not taken at the sender, so its pauses are inferred from its timestamps or from arrivals. Confidence stays at "
        "0.7 or below.",
        "capture at the sender",
    ),
)

_EVERY = (*_ENTRIES, *ENDS_ENTRIES, *BURST_ENTRIES, *RUN_ENTRIES, *DOCTOR_ENTRIES)

CATALOGUE: Mapping[str, Entry] = MappingProxyType({entry.code: entry for entry in _EVERY})
"""Every finding there can be, in the order of the documentation."""
