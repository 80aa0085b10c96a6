"""The part of the catalogue that is about repetitions of a run. The checks are in :mod:`trustbed.diagnose.run_findings`."""

from __future__ import annotations

from trustbed.diagnose.entry import Entry

RUN_ENTRIES = (
    Entry(
        "run_emulator_late",
        "error",
        "run",
        "how late the emulator sent its packets",
        "share",
        "The emulator writes down when every packet should have left and when it did. What it was late by is part of every delay and rate "
        "that was measured behind it. When packets were overdue for 1 % of the time and more, the numbers tell more about this machine "
        "than about the link that was described: the link stood still meanwhile, and mostly senders and receivers with it.",
        "run on a machine with less else to do, as root (real-time priority), with lower rates or fewer captures",
        otherwise=(
            "info",
            "where packets were overdue for less than 1% of the time, and half of them left within 0.25 ms",
        ),
    ),
    Entry(
        "run_emulator_dropped",
        "error",
        "run",
        "the emulator lost packets that the links would have passed",
        "packets",
        "Packets found no room on their way into or out of the emulator. The workload saw a loss that nobody described.",
        "lower the rates, or run on a machine with less else to do; sums over all links count, not only the bottleneck",
    ),
    Entry(
        "run_priority_refused",
        "info",
        "run",
        "the emulator ran without real-time priority",
        "",
        "Whatever else runs on this machine can hold the emulator up for milliseconds. How far it did is in its lateness.",
        "run as root, or give the program CAP_SYS_NICE",
    ),
    Entry(
        "run_processors_halt",
        "info",
        "run",
        "idle processors halted while the emulator ran",
        "",
        "A processor that halts has to be woken, and on a virtual machine the hypervisor may have given it to others: what sleeps for a "
        "millisecond then wakes up milliseconds late. How late the emulator was is in its lateness; senders and receivers wake up as late.",
        "run as root on a host that shows /dev/cpu_dma_latency, or keep its processors from halting (idle=poll for its kernel)",
    ),
    Entry(
        "run_ledger_incomplete",
        "warning",
        "run",
        "packets are missing from the ledger",
        "packets",
        "Some packets were moved but not written down, so its table is a sample. The summary of the emulator counts them all.",
        'choose ledger = "summary" below [emulator], or a faster disk',
    ),
    Entry(
        "run_generator_late",
        "error",
        "run",
        "background traffic left late",
        "share",
        "More than one packet in a hundred left over a millisecond after its time, so the workload met other traffic than was described.",
        "lower the rate of the background, spread it over several sources, or run on a machine with less else to do",
    ),
    Entry(
        "run_agent_failed",
        "error",
        "run",
        "a part of the experiment ended before its time",
        "",
        "An agent (background, a server, a capture, the emulator) stopped while the workload ran: what followed is another experiment.",
        "read its log beside the captures of this repetition",
    ),
    Entry(
        "run_fault_not_made",
        "error",
        "run",
        "a fault of the scenario cannot be made on this machine",
        "",
        "The scenario wants a host to be disturbed, and this machine does not let it. Nothing was measured: without the fault it would be "
        "another experiment.",
        "do what the hint beside the fault in repetition.json says, or run where it can be made; the cells without this fault count",
    ),
    Entry(
        "run_workload_failed",
        "error",
        "run",
        "the workload did not end well",
        "",
        "The program that was to be measured ended with an error. Its numbers, if it printed any, are those of a failure.",
        "read its output in logs/, and run the command by hand in `trustbed shell`",
    ),
    Entry(
        "run_workload_sent_nothing",
        "error",
        "run",
        "the workload sent nothing",
        "B",
        "It ended well by its own account, but no byte of payload left it, so that nothing was measured and nothing can be judged.",
        "look at the samples of its host: it may have been kept from its processor for the whole time; give the workload longer",
    ),
    Entry(
        "run_workload_time_limit",
        "error",
        "run",
        "the workload did not end in time",
        "seconds",
        "The program was still running at its time limit and was ended. Captures and logs are kept.",
        "give it a larger time_limit, or find out with them what it waited for",
    ),
    Entry(
        "run_host_busy",
        "warning",
        "run",
        "the machine was taken away from the experiment",
        "share",
        "The hypervisor or a quota withheld the processor for part of the time. What the applications did then, they did late.",
        "run on a machine of its own, or without the quota",
        otherwise=("info", "below 5% of the time"),
    ),
)
