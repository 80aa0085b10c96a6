"""Findings about captures, hosts and transfers: the only place that words them.

The checks are in :mod:`trustbed.diagnose.findings` and :mod:`trustbed.diagnose.transfer_findings`;
what a finding leaves of a verdict is in :mod:`trustbed.diagnose.limits`.
"""

from __future__ import annotations

from trustbed.diagnose.burst_catalogue import BURST_ENTRIES
from trustbed.diagnose.run_catalogue import RUN_ENTRIES
from trustbed.diagnose.two_point_catalogue import TWO_POINT_ENTRIES
from trustbed.findings import Catalogue, Entry

_ENTRIES = (
    Entry(
        "capture_kernel_drops",
        "warning",
        "capture",
        "packets were dropped while capturing",
        "share",
        "The capturing kernel or interface counted packets that it could not record. A dropped "
        "packet looks like a pause of the sender; a dropped data packet that was retransmitted "
        "leaves no trace at all.",
        "capture again with a larger buffer (`tcpdump -B`), a shorter snap length (-s 128) or a "
        "filter, on a machine with spare CPU",
        otherwise=("info", "below {kernel_drop_share:.0%} of the packets"),
    ),
    Entry(
        "capture_loss",
        "warning",
        "capture",
        "the capture misses bytes that were acknowledged",
        "share",
        "The receiver acknowledged data that is not in the capture: the capture lost packets, or "
        "some took another path. Its losses and pauses may be the capture's own.",
        "compare with the drop counters; capture on the interface that carries all packets of "
        "the transfer",
        otherwise=("info", "below {capture_loss_share:.1%} of the bytes"),
    ),
    Entry(
        "capture_duplicates",
        "warning",
        "capture",
        "packets were captured twice",
        "share",
        "The same packet was recorded more than once, as on a bridge, on 'any', or on a mirror "
        "port of both directions. A copy looks like a retransmission and invalidates the RTT of "
        "its bytes.",
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
        "A record's timestamp is earlier than that of a record before it, by more than "
        "reordering explains. Samples across the step were dropped; a duration across it, and "
        "the throughput, are wrong by the step.",
        "keep the clock from being stepped during the capture (let chrony slew), or capture with "
        "a monotonic source",
    ),
    Entry(
        "records_out_of_order",
        "info",
        "capture",
        "records were not in timestamp order",
        "seconds",
        "Records were sorted by timestamp before the analysis. A tool that reads several queues "
        "or interfaces in turn writes such files. RTT and pauses can be off by the disorder.",
        "capture with one queue, or sort the file (`reordercap`)",
        otherwise=("warning", "from {reordered_share:.0%} of the records on"),
    ),
    Entry(
        "coarse_timestamps",
        "warning",
        "capture",
        "timestamps are coarse",
        "seconds",
        "Every timestamp is a multiple of this granularity, whatever the file format promises. "
        "RTTs and pauses of that size cannot be measured.",
        "capture on a host with a fine clock source (tsc, kvm-clock), with kernel or hardware "
        "timestamps",
    ),
    Entry(
        "bunched_timestamps",
        "warning",
        "capture",
        "packets were timestamped in bunches",
        "share",
        "Many records have the same timestamp, or follow closer than a wire allows: the machine "
        "read several packets at once. Inside a guest this hides the guest's own pauses and "
        "shortens trains.",
        "capture outside the guest, on its tap or bridge, or switch interrupt coalescing off "
        "(`ethtool -C`)",
        otherwise=("info", "where timestamps lie close together and are not equal"),
    ),
    Entry(
        "timestamps_missing",
        "warning",
        "capture",
        "records carry no timestamp",
        "records",
        "Simple packet blocks hold a packet without its time. Such records count, but cannot be "
        "timed.",
        "capture with a tool that writes enhanced packet blocks (dumpcap, tcpdump)",
    ),
    Entry(
        "snap_truncation",
        "info",
        "capture",
        "the snap length cut packets",
        "share",
        "Packets were stored only in part. Lengths come from the headers, so counts and bytes "
        "stay right; a cut header makes its packet unmeasurable, and cut options hide window "
        "scale, timestamps and selective acknowledgements.",
        "capture with a snap length of 128 bytes or more, 256 with tunnels",
        otherwise=("warning", "where headers were cut"),
    ),
    Entry(
        "offload",
        "info",
        "capture",
        "packets larger than the wire allows",
        "connections",
        "The capture shows packets before the network card split them, or after it merged them. "
        "Counts are given as captured and as on the wire; the spacing inside such a packet is "
        "unknown.",
        "nothing for throughput and verdicts; for trains and bursts switch offloads off "
        "(`ethtool -K … tso off gso off gro off`)",
    ),
    Entry(
        "one_sided",
        "warning",
        "capture",
        "only one direction of some connections was captured",
        "connections",
        "Without the other direction there are no acknowledgements: RTT, window and pauses are "
        "invisible.",
        "capture where both directions pass: at an end host, or on all members of a link aggregate",
    ),
    Entry(
        "midstream",
        "info",
        "capture",
        "connections that began before the capture",
        "connections",
        "Their handshake is missing, and with it the window scale and the initial RTT. The "
        "window is taken as the smallest that fits.",
        "start the capture before the transfer",
    ),
    Entry(
        "evicted_connections",
        "warning",
        "capture",
        "connections were evicted to save memory",
        "connections",
        "More connections were open than fit into memory; the oldest idle ones were written out "
        "early. Their rows end at the eviction.",
        "allow more memory (--memory 4GiB); where that changes nothing, filter the capture or "
        "split it by address",
    ),
    Entry(
        "read_problem",
        "error",
        "capture",
        "a file could not be read in full",
        "bytes",
        "A file is cut short or damaged at the byte named. Everything before it was analysed, "
        "and what follows it from the next record that the reader could find.",
        "copy the file again; let the capture end before copying; --strict makes this an error",
        otherwise=("warning", "where nothing but the last record is cut short"),
    ),
    Entry(
        "skipped_records",
        "info",
        "capture",
        "records were not measured",
        "records",
        "Records that are no TCP or UDP packets, or whose headers are cut or contradict "
        "themselves, are counted by reason and left out.",
        "see the reason; --inner reads what tunnels carry",
        otherwise=(
            "warning",
            "from {skipped_share:.0%} of the records on, where they should have been measured",
        ),
    ),
    Entry(
        "wild_sequence_numbers",
        "warning",
        "capture",
        "sequence numbers are implausible",
        "packets",
        "A sequence or acknowledgement number lies more than a gigabyte from the connection's "
        "own. Such fields are ignored: damaged or forged packets, or two connections mixed up by "
        "a translator.",
        "inspect these packets; a capture on both sides of an address translator mixes connections",
    ),
    Entry(
        "ignored_holes",
        "warning",
        "capture",
        "more holes in the data than are tracked",
        "holes",
        "A transfer had more missing ranges at once than are tracked. Bytes that fill a "
        "forgotten hole count as retransmitted.",
        "look for capture loss first: it leaves holes that are never filled",
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
        "capture_point_unknown",
        "info",
        "capture",
        "transfers whose capture point is unknown",
        "transfers",
        "Neither handshake nor response times show whether the capture was taken at the sender, "
        "at the receiver or between them. Then pauses of the sender cannot be distinguished "
        "from pauses of the network.",
        "name the capture point: --at sender, --at receiver or --at middle",
    ),
    Entry(
        "capture_point_contradicted",
        "warning",
        "capture",
        "packets contradict the capture point that was given",
        "transfers",
        "The end named by --at answers late and the other end at once: the capture was taken at "
        "the other end. RTT, window and pauses were measured for the wrong end and mean nothing.",
        "leave --at away, or name the other end; with --sender and --receiver swap the two",
    ),
    Entry(
        "multipath",
        "warning",
        "capture",
        "transfers were subflows of Multipath TCP",
        "transfers",
        "Each subflow of a Multipath TCP connection (RFC 8684) looks like a connection of its "
        "own. What it carries, and when, is the scheduler's choice: while data take another "
        "subflow, the sender seems to stall on this one.",
        "measure with plain TCP (on Linux: sysctl -w net.mptcp.enabled=0), or add up what all "
        "subflows carried",
    ),
    Entry(
        "host_stall",
        "warning",
        "host",
        "a host stopped on all its connections at once",
        "seconds",
        "For two seconds or more most open connections of the host sent nothing new although "
        "each had data to send. That is the machine or its driver, not a path.",
        "read the kernel log of the host for resets of the transmit queue, and the hypervisor's "
        "for pauses and migrations",
        otherwise=("info", "below {stall_seconds:g} s in total"),
    ),
    Entry(
        "connection_outage",
        "warning",
        "transfer",
        "the transfer stalled with data outstanding",
        "seconds",
        "For two seconds or more nothing was sent, or only retransmissions of one range, while "
        "data waited for an acknowledgement. One connection alone is no evidence about its host.",
        "check whether other connections of the host went on: if so, it was the path or the "
        "receiver",
    ),
    Entry(
        "isolated_long_pause",
        "info",
        "transfer",
        "one pause longer than the RTT",
        "seconds",
        "The longest pause of the sender exceeds the base RTT, but pauses as a whole do not slow "
        "the transfer down.",
        "nothing for the verdict; inspect that moment if latency matters",
    ),
    Entry(
        "exceeds_window_bound",
        "warning",
        "transfer",
        "faster than window and RTT allow",
        "ratio",
        "A sender cannot exceed its window in one RTT, so the window or the RTT used here is "
        "wrong: a scale that was not seen, a capture far from the sender, or acknowledgements of "
        "bytes never sent.",
        "capture at the sender from the handshake on",
    ),
    Entry(
        "exceeds_capacity",
        "warning",
        "transfer",
        "faster than the capacity given",
        "ratio",
        "The transfer delivered more than the capacity allows, so the capacity given is wrong, "
        "or meant at another layer than IP.",
        "correct --capacity",
    ),
    Entry(
        "sent_at_other_end",
        "warning",
        "transfer",
        "judged by the capture at the wrong end",
        "share",
        "The two captures show that the other one was taken at this transfer's sender. Windows, "
        "pauses and round trips were measured at the receiver as if it were the sender, so the "
        "cause may be another one. The verdict is held at review.",
        "swap --sender and --receiver to judge the transfers of this direction",
    ),
    Entry(
        "pauses_ambiguous",
        "info",
        "transfer",
        "a stalled host and an idle application explain the pauses alike",
        "share",
        "A bulk sender that is stopped and an application that pauses leave the same packets. "
        "The rule names the likelier cause.",
        "record the CPU share of the sending host, or give --workload bulk if the sender had "
        "data waiting all the time",
    ),
    Entry(
        "window_estimated",
        "warning",
        "transfer",
        "the window scale was not captured",
        "share",
        "The handshake is missing, so the window is the smallest that fits what was outstanding. "
        "The window bound is a lower one.",
        "start the capture before the transfer",
    ),
    Entry(
        "echoed_rtt",
        "warning",
        "transfer",
        "the RTT includes the sender's own delays",
        "share",
        "Away from the sender the RTT is known only from the sender's responses. A host that "
        "responds late inflates it just as a queue does, and without losses nothing "
        "distinguishes the two.",
        "capture at the sender, or record the CPU share of the sending host",
    ),
    Entry(
        "time_unknown",
        "info",
        "transfer",
        "the capture does not show what limited a part of the time",
        "share",
        "Pauses that the capture point cannot attribute, and windows whose scale is unknown, are "
        "nobody's. The cause is the longest part of what does show.",
        "capture at the sender, from before the connection begins",
    ),
    Entry(
        "estimated_spacing",
        "info",
        "transfer",
        "pauses were estimated",
        "share",
        "The capture was not taken at the sender, so its pauses are inferred from its TCP "
        "timestamps or from arrivals. Confidence stays at 0.7 or below.",
        "capture at the sender",
    ),
)

CATALOGUE = Catalogue((*_ENTRIES, *TWO_POINT_ENTRIES, *BURST_ENTRIES, *RUN_ENTRIES))
"""Every finding about captures, transfers and runs, in the order of the documentation."""
finding = CATALOGUE.finding
