"""What the words of a run's report mean; beside :mod:`~trustbed.report.html.definitions`."""

from __future__ import annotations

from trustbed.report.html.definitions import Definition

DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "cell",
        "Cell, repetition, round",
        "A cell is one combination of what the scenario varies. Every round carries out each cell once, in an order shuffled by the seed; "
        "one such execution is a repetition. Slow changes of the machine thus meet all cells alike.",
        "Randomised complete blocks: Fisher, The Design of Experiments, 1935.",
    ),
    Definition(
        "response-time",
        "Response time",
        "From the request that was sent to the last byte of the body. Failed requests are counted, not timed. A client that waits for its "
        "answer before it asks again sends fewer requests while the network is slow, so slow times count for less than they lasted.",
        "",
    ),
    Definition(
        "slowdown",
        "Slowdown",
        "A quantile of the response times divided by the median of the baseline, which is the same cell without background traffic. 1 × is "
        "as fast as without. Of a throughput it is the baseline's divided by the cell's.",
        "Vishwanath and Vahdat, Evaluating Distributed Systems: Does Background Traffic Matter?, USENIX ATC 2008.",
    ),
    Definition(
        "increase",
        "Increase",
        "By how many percent each response time exceeds the baseline's mean: mean and standard deviation over all requests.",
        "Vishwanath and Vahdat, 2008.",
    ),
    Definition(
        "interval",
        "95 % confidence interval",
        "Where the value would lie in 95 of 100 runs like this one. It comes from one value per repetition (Student’s t), because "
        "requests of one repetition share its conditions; slowdowns are taken round by round. Of a single repetition it comes from its "
        "own requests (order statistics, bootstrap) and says nothing about repeating: such intervals are marked “within”.",
        "Conover, Practical Nonparametric Statistics, 3.2; Efron, Annals of Statistics 7, 1979.",
    ),
    Definition(
        "limit",
        "What limited the transfers",
        "Every TCP connection of the workload that was captured is judged as trustbed analyze does it: what limited it, and whether its "
        "number describes the network (trust), needs a look (review) or describes the testbed (discard). Short transfers are not judged.",
        "",
    ),
    Definition(
        "distribution",
        "Cumulative distribution (CDF)",
        "For every response time the share of requests that took at most so long. All repetitions of a cell that count are in its line.",
        "",
    ),
    Definition(
        "use",
        "Trust, review, discard",
        "A repetition is discarded when something in it made another experiment of it: an emulator that was late or lost packets, "
        "background that left late, a workload that failed, or a transfer whose speed the testbed decided. It counts in no result.",
        "",
    ),
    Definition(
        "lateness",
        "Emulator lateness",
        "How long after its time a packet left the emulator, p99: all but one packet in a hundred were less late. It is part of every "
        "delay that was measured. A repetition is discarded when packets were overdue by more than 1 ms for 1 % of the time and more: "
        "the link stood still meanwhile.",
        "",
    ),
    Definition(
        "ledger",
        "Queue over time",
        "From the emulator’s ledger, which holds every packet. Time is cut into slices; of each slice the deepest queue that a packet "
        "found when it came, the mean of what all found, and the packets that the link lost.",
        "",
    ),
    Definition(
        "background",
        "Background",
        "Traffic that the workload competes with. Offered is what its source sent, in IP bytes; loss is the share of its packets that did "
        "not reach its sink, where it has packets (UDP).",
        "",
    ),
    Definition(
        "burstiness",
        "Burstiness",
        "Of what the sending host sent: the longest queue that the packets of a window of 100 ms would build in front of a link of that "
        "window’s own average rate, in bytes (1 KB is 1024). Evenly spaced packets find nothing waiting. trustbed burst shows more of it.",
        "Takano et al., Realtime Burstiness Measurement, PFLDnet 2006.",
    ),
)
