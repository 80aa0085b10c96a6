"""What the words of a campaign's page mean; beside :mod:`~trustbed.report.html.definitions`."""

from __future__ import annotations

from trustbed.report.html.definitions import Definition

_PAPER = "Lee, Abe, Hirotsu, Umemura: Traffic Anomaly Analysis and Characteristics on a Virtualized Network Testbed."

DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "round",
        "Round, connection pair",
        "A connection pair is a short transfer, the probe, and a long one, the data. A round makes several of them at once between two "
        "hosts; the sizes follow a table, one index after the other.",
        _PAPER,
    ),
    Definition(
        "use",
        "Trusted, looked at, discarded",
        "A round is worth what its gravest connection is: discarded when one of them measured the machine that sends, and not the network.",
        "",
    ),
    Definition(
        "ideal",
        "Ideal (X₀)",
        "What the receiver's window allows at the round-trip time of the pings: W·p / (P·R₀), with the payload p of packets of P bytes.",
        _PAPER,
    ),
    Definition(
        "interval",
        "Interval",
        "A mean stands with the confidence interval over rounds (Student's t), a share with Wilson's. Rounds of one time share its "
        "conditions; an interval that is narrow says nothing about other times.",
        "",
    ),
    Definition(
        "rtt",
        "RTT",
        "Mean round-trip time of a connection's own packets, beside the mean of the pings before the round.",
        "",
    ),
    Definition("loss", "Loss", "Retransmitted over sent segments, of all connections together.", ""),
    Definition(
        "spacing",
        "Spacing",
        "Time from an acknowledgement that lets the sender go on to the packet that it sends; a sender that is withheld makes it long.",
        _PAPER,
    ),
    Definition(
        "more",
        "More rounds",
        "How many more rounds of this index the interval that was asked for needs, if they vary like those so far.",
        "",
    ),
    Definition(
        "avoid",
        "To avoid",
        "A sender, or an hour of the day, whose share of discarded rounds is larger than that of all others: the lower end of its "
        "interval lies above their share.",
        "",
    ),
)
