"""What the words of the page mean, in a sentence or two each, with the paper or RFC that a definition follows.

Definitions of thresholds are not repeated here: the evidence tables print the values in use.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """One entry: anchor, term, meaning, source."""

    anchor: str
    term: str
    meaning: str
    source: str


DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "transfer",
        "Transfer",
        "The data that one side of a TCP connection sends. A connection whose both sides send data is two transfers. The number "
        "before the point is the connection's first packet in the capture; .0 is the initiator's data, .1 the responder's.",
        "",
    ),
    Definition(
        "verdict",
        "Verdict",
        "Trust: the number describes the network under test. Review: a human must look before the number is used. Discard: the "
        "testbed, not the network, was measured. Not judged: shorter than ten round trips or less than 64 kB delivered.",
        "",
    ),
    Definition(
        "confidence",
        "Confidence",
        "The probability that the cause is right, from 0.05 to 0.99: how often the rule that named it was right about transfers whose "
        "cause was made, captured at such a place. The verdict follows from a score that counts the evidence: a host is blamed for good "
        "(verdict discard) only from a score of 0.80 on.",
        "",
    ),
    Definition(
        "throughput",
        "Throughput and expected throughput",
        "Throughput is unique payload divided by the time from the first data packet to the acknowledgement of the last byte. "
        "It is compared with the smallest of three bounds: one window per mean round trip (X₁ = W·p / (P·R)), the loss bound "
        "(X₂ = p/R·√(1.5/loss)), and the capacity (X₃ = C·p/P), where W is the largest advertised window, p and P the payload "
        "and the IP length of a full packet, R the mean RTT.",
        "Loss bound: Mathis, Semke, Mahdavi, Ott, The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, CCR 27(3), 1997.",
    ),
    Definition(
        "estimate",
        "Without the stalls (an estimate)",
        "What the network would have given a transfer that is discarded because its sender stood still: what its window allows at the "
        "measured round trip, less slow start. It was measured by nobody. The interval held 95 % of what undisturbed transfers gave "
        "on the same validated networks. Only transfers that were like the validated ones get an estimate.",
        "One window per round trip: Lee, Abe, Hirotsu, Umemura, IEICE Trans. Inf. & Syst. E94-D(12), 2011, Eq. 1; slow start: RFC 5681.",
    ),
    Definition(
        "rtt",
        "Round-trip time (RTT)",
        "From sending a segment to receiving the acknowledgement of its last byte. Anything that was sent more than once gives "
        "no sample. The base RTT is the smallest sample unless a ping was measured; mean over base says how much of the delay "
        "was waiting.",
        "Karn and Partridge, Improving Round-Trip Time Estimates in Reliable Transport Protocols, SIGCOMM 1987; RFC 6298 §3.",
    ),
    Definition(
        "rto",
        "Retransmission timeout (RTO)",
        "How long a sender waits before it sends again: SRTT + 4·RTTVAR. Drawn without its lower bound (RFC 6298 demands 1 s, "
        "Linux adds at least 200 ms), because then an RTT above the line is an unusual one.",
        "RFC 6298 §2.",
    ),
    Definition(
        "loss",
        "Loss",
        "Data packets sent again divided by data packets sent, without those that turned out unnecessary. One capture does not "
        "show where a packet was lost.",
        "Spurious retransmissions: RFC 2883, RFC 3522.",
    ),
    Definition(
        "spacing",
        "Packet spacing",
        "The sender's idle time between receiving a packet of the connection and sending its next data packet. Waiting for the "
        "window and repairing loss are counted apart. A spacing longer than the base RTT means that a whole window of "
        "opportunity was missed.",
        "Lee, Abe, Hirotsu, Umemura, Traffic Anomaly Analysis and Characteristics on a Virtualized Network Testbed, IEICE "
        "Trans. Inf. & Syst. E94-D(12), 2011.",
    ),
    Definition(
        "withheld",
        "Window open, sender silent (withheld time)",
        "Counted from the first packet that opened the receiver's window to the next data packet, where that took longer than "
        "four packet times and 1 ms. While a machine stands still, acknowledgements keep arriving; the spacing counts from the "
        "last of them and hides the pause, this count does not. A small congestion window keeps a sender silent, too: read it "
        "together with loss.",
        "Delays of virtual machines, mostly on sending: Whiteaker, Schneider, Teixeira, Explaining Packet Delays under "
        "Virtualization, CCR 41(1), 2011.",
    ),
    Definition(
        "window",
        "Window",
        "The bytes that the receiver allows to be outstanding, with window scaling. Closed: below two segments. Full: no room "
        "for another segment. A transfer that its window limits runs along the window's line.",
        "RFC 9293 §3.8; RFC 7323 §2; margin of a segment as in T-RAT: Zhang, Breslau, Paxson, Shenker, SIGCOMM 2002.",
    ),
    Definition(
        "application",
        "Application idle",
        "Idle for a round trip or more after a segment that was not full, with everything acknowledged: what an application "
        "without data leaves. A process that was not running may leave the same packets.",
        "T-RAT, SIGCOMM 2002; Siekkinen, Urvoy-Keller, Biersack, Collange, A Root Cause Analysis Toolkit for TCP, Computer "
        "Networks 52(9), 2008.",
    ),
    Definition(
        "capacity",
        "Link capacity",
        "Taken from the rate at which acknowledgements came, and only where that rate was steady and enough data was on its way "
        "to fill the path. It counts IP bytes.",
        "Delivery rate estimation as in BBR: Cardwell et al., ACM Queue 14(5), 2016.",
    ),
    Definition(
        "shares",
        "What the time went to",
        "Every moment of the transfer is given to one limit: the application had nothing to send, the receiver's window was "
        "full, loss was being repaired, the host held data back, or (all the rest) the path.",
        "T-RAT, SIGCOMM 2002; shares per time slice as in Siekkinen et al. 2008.",
    ),
    Definition(
        "place",
        "Where the capture was taken",
        "Beside the sender, beside the receiver, or between them: given, or inferred from the handshake and from how soon each "
        "side's answers follow. RTT and spacing mean what is said here only beside the sender; elsewhere they are estimates, "
        "marked as such.",
        "",
    ),
    Definition(
        "time-sequence",
        "Time–sequence graph",
        "Each stroke is a data packet at the time it was sent, from its first to its last byte; the grey staircase is what the "
        "receiver had acknowledged. The slope is the throughput, the vertical distance between the two is the outstanding data, "
        "the horizontal one the round-trip time.",
        "Shepard, TCP Packet Trace Analysis, MIT/LCS/TR-494, 1991; tcptrace.",
    ),
    Definition(
        "thinned",
        "Thinned charts",
        "A chart cannot show a million packets. Time is cut into slices, and of each slice the smallest and the largest value "
        "are drawn, and every outlier. All other numbers on this page come from all packets.",
        "",
    ),
)

ANCHORS = frozenset(definition.anchor for definition in DEFINITIONS)
