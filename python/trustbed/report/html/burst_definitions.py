"""What the words of burstiness mean, for pages that show any; beside :mod:`~trustbed.report.html.definitions`."""

from __future__ import annotations

from trustbed.report.html.definitions import Definition

DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "burstiness",
        "Burstiness",
        "The longest queue that the packets of a window would build in front of a link of a given rate: the bytes that an arriving "
        "packet finds waiting, itself not counted. Packets that come evenly spaced, no faster than the link, find nothing: 0 KB. 1 KB is "
        "1024 bytes.",
        "",
    ),
    Definition(
        "bottleneck",
        "Virtual bottleneck",
        "A link that exists only in the calculation. Every packet of the capture is put into its queue at the time it was "
        "captured, and the link takes it out at its own rate. Its rate is either given (static) or, for every window anew, the average "
        "rate of the traffic (dynamic): then what is left is burstiness alone, whatever the rate.",
        "",
    ),
    Definition(
        "average-rate",
        "Average rate (ABW)",
        "The bytes of a window divided by its length: the average bandwidth that the traffic used.",
        "",
    ),
    Definition(
        "buffer-needed",
        "Buffer needed, σ(ρ)",
        "The smallest buffer in front of a link of rate ρ that passes every packet. The same number is the depth of the smallest token "
        "bucket of that rate which passes the traffic unchanged.",
        "Cruz, A Calculus for Network Delay, Part I, IEEE Trans. Information Theory 37(1), 1991.",
    ),
    Definition(
        "drop-tail",
        "Drop-tail queue",
        "A buffer that takes packets in order and drops the one that does not fit. Real queues count packets or cells, and differ by "
        "about one packet.",
        "",
    ),
    Definition(
        "open-loop",
        "Open loop",
        "The traffic is played to the queue as it was captured. A sender that would have slowed down after a loss, or behind a longer "
        "queue, does not slow down here: losses and queues are those of this traffic, not of the application that would have "
        "made other traffic on another path.",
        "",
    ),
    Definition(
        "energy",
        "Energy and time scale",
        "Traffic is cut into blocks, and each block is compared with its neighbour; the energy of a time scale is the mean square of the "
        "differences between blocks of that length (Haar wavelet), on a logarithmic axis to the base of two. Traffic without memory has "
        "the same energy on all scales.",
        "Abry and Veitch, Wavelet Analysis of Long-Range-Dependent Traffic, IEEE Trans. Information Theory 44(1), 1998.",
    ),
    Definition(
        "logscale",
        "Logscale diagram and Hurst parameter",
        "Energies from a smoother wavelet that slow trends do not touch, with 95 % intervals. If they rise on a line of slope α between "
        "0 and 1, the traffic is bursty in the same way on all those scales, and H = (α + 1)/2 is its Hurst parameter: 0.5 is no memory, "
        "near 1 is bursts within bursts.",
        "Veitch and Abry, A Wavelet-Based Joint Estimator of the Parameters of Long-Range Dependence, IEEE Trans. IT 45(3), 1999.",
    ),
    Definition(
        "train",
        "Packet train",
        "Packets that follow each other within a given gap. What a train is depends on that gap, which is always said.",
        "Jain and Routhier, Packet Trains – Measurements and a New Model for Computer Network Traffic, IEEE JSAC 4(6), 1986.",
    ),
)
