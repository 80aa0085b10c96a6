"""What the words of a campaign's page mean; beside :mod:`~trustbed.report.html.definitions`."""

from __future__ import annotations

from trustbed.report.html.definitions import Definition

_LEE = "Lee, Abe, Hirotsu, Umemura, Traffic Anomaly Analysis and Characteristics on a Virtualized Network Testbed, IEICE E94-D(12), 2011."

DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "round",
        "Round, connection pair",
        "A connection pair is a short transfer, the probe, and a long one, the data, between the same two hosts. A round is some of them "
        "at once, after pings; every pair of hosts has one in every period, with the sizes of the table’s next index.",
        _LEE,
    ),
    Definition(
        "network",
        "What the network gives",
        "The mean over rounds of the throughput of their data connections, from the accept to the last byte at the receiver. Rounds that "
        "measured a host are left out; so are failed connections. The interval is over rounds (Student’s t), since connections of one "
        "round share its conditions. Where conditions last longer than a period it is too narrow.",
        "",
    ),
    Definition(
        "use",
        "May be used, look first, measured a host",
        "Every connection is judged by the capture beside its sender: what limited it, and whether its number describes the network "
        "(trust), needs a look (review) or describes the machine (discard). A round is as good as the worst of its connections; one to be "
        "discarded counts for no statement about the network, and stays in the tables of all connections.",
        "",
    ),
    Definition(
        "ideal",
        "Ideal throughput X₀",
        "What the window allows at the mean round-trip time of the pings: W·p / (P·R), with W the largest window that was captured, p the "
        "payload and P the length of a packet. An exclamation mark at a mean says that it is above what the window allows at the "
        "measured round-trip time by more than a tenth: the window was not what was asked for.",
        _LEE,
    ),
    Definition(
        "papers",
        "RTT, loss, spacing",
        "Means over all connections of an index, failed ones and those of rounds to be discarded included, as in the papers. Loss is "
        "packets sent again over packets sent, of all connections together, and in small the mean of their rates. Spacing is how long the "
        "sender took from a packet of the receiver to its next one.",
        _LEE,
    ),
    Definition(
        "wanting",
        "More rounds",
        "How many more rounds the interval that was asked for would need, if they vary like those so far. From few rounds this is a rough "
        "estimate; it is made again whenever the page is.",
        "",
    ),
    Definition(
        "evidence",
        "Evidence of the hosts",
        "From samples once a second during the connections, at both hosts. Stolen: the share of its processors that a hypervisor kept. "
        "Busy: the share in use. Late wake-ups: how much later than asked a sleeping thread ran, at most. Withheld: the share of the data "
        "connections’ time in which their sender could have sent and was silent, from the capture. Pings: their mean, before the "
        "connections.",
        "",
    ),
    Definition(
        "ends",
        "Both ends",
        "The captures of both hosts, joined packet by packet. Lost: frames that left the sender and did not reach the receiver. Sent again "
        "for nothing: data that had arrived already. One way at least is as wrong as the comparison of the two clocks; what lies above it "
        "is not. The receiver’s part of a round trip is the time from a packet’s arrival to its acknowledgement. Medians over connections.",
        "",
    ),
    Definition(
        "avoid",
        "To avoid",
        "An hour of the day or a host whose rounds are to be discarded more often than all others’, beyond chance. The intervals shown are "
        "Wilson’s; those that decide are wider, for as many comparisons as there are. At least one in twenty must be to be discarded, "
        "and an hour must have been bad on three days and on half of those measured. The worst host is taken first, and its rounds are "
        "left out when the others are looked at. Verdicts are made beside the sender, so receivers are blamed less easily.",
        "Wilson, Journal of the American Statistical Association 22, 1927.",
    ),
)
