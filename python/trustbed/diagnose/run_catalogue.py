"""Findings about repetitions of a run.

The checks are in :mod:`trustbed.diagnose.run_findings`.
"""

from __future__ import annotations

from trustbed.findings import Entry

RUN_ENTRIES = (
    Entry(
        "run_emulator_late",
        "error",
        "run",
        "departure error of the emulator",
        "share",
        "The emulator records when every packet should have left and when it did. Its departure "
        "error is part of every delay and rate measured behind it. When packets were overdue for "
        "1 % of the time or more, the numbers describe this machine rather than the link: the "
        "link stalled meanwhile, and mostly senders and receivers with it.",
        "run on a less busy machine, as root (real-time priority), with lower rates or fewer "
        "captures",
        otherwise=(
            "info",
            "where packets were overdue for less than 1% of the time, and half of them left "
            "within 0.25 ms",
        ),
    ),
    Entry(
        "run_emulator_dropped",
        "error",
        "run",
        "the emulator lost packets that the links would have passed",
        "packets",
        "The socket buffers into or out of the emulator had no room for packets. The workload "
        "saw a loss that the scenario does not describe.",
        "lower the rates, or run on a less busy machine; the sum over all links counts, not only "
        "the bottleneck",
    ),
    Entry(
        "run_priority_refused",
        "info",
        "run",
        "the emulator ran without real-time priority",
        "",
        "Other programs on this machine can delay the emulator by milliseconds. Its departure "
        "error shows by how much.",
        "run as root, or give the program CAP_SYS_NICE",
    ),
    Entry(
        "run_processors_halt",
        "info",
        "run",
        "idle processors halted while the emulator ran",
        "",
        "A halted processor has to be woken, and on a virtual machine the hypervisor may have "
        "given it to others: a sleep of a millisecond then ends milliseconds late. The "
        "emulator's departure error shows its part; senders and receivers wake up as late.",
        "run as root on a host that offers /dev/cpu_dma_latency, or keep its processors from "
        "halting (idle=poll for its kernel)",
    ),
    Entry(
        "run_ledger_incomplete",
        "warning",
        "run",
        "packets are missing from the ledger",
        "packets",
        "Some packets were forwarded but not recorded, so the ledger's table is a sample. The "
        "emulator's summary counts them all.",
        'choose ledger = "summary" below [emulator], or a faster disk',
    ),
    Entry(
        "run_generator_late",
        "error",
        "run",
        "background traffic left late",
        "share",
        "More than one packet in a hundred (of users: request, response or connection) left over a "
        "millisecond late, so the workload met other traffic than the scenario describes.",
        "lower the rate of the background, spread it over several sources, or run on a less busy "
        "machine",
    ),
    Entry(
        "run_background_unsent",
        "error",
        "run",
        "background traffic did not leave its host",
        "share",
        "More than one packet in a hundred that was to be sent was not: the host's queue was full, "
        "the kernel refused it, or its connection had ended. The workload met less traffic than "
        "the scenario describes, and the path lost none of what is missing.",
        "lower the rate of the background, or look into the log of its sender",
    ),
    Entry(
        "run_generator_short",
        "error",
        "run",
        "connections of background traffic could not be opened here",
        "connections",
        "This machine had no room for them: too many at once, or no free port. The workload met "
        "less traffic than the scenario describes.",
        "lower the rate of the background, or give it more hosts",
    ),
    Entry(
        "run_agent_failed",
        "error",
        "run",
        "a part of the experiment ended early",
        "",
        "An agent (background, server, capture or emulator) stopped while the workload ran: what "
        "followed is another experiment.",
        "read its log beside the captures of this repetition",
    ),
    Entry(
        "run_fault_not_applied",
        "error",
        "run",
        "this machine cannot apply a fault of the scenario",
        "",
        "The scenario injects a fault on a host, and this machine does not allow it. Nothing was "
        "measured: without the fault it would be another experiment.",
        "follow the hint beside the fault in repetition.json, or run where the fault can be "
        "applied; the cells without this fault count",
    ),
    Entry(
        "run_workload_failed",
        "error",
        "run",
        "the workload failed",
        "",
        "The measured program ended with an error. Its numbers, if it printed any, are those of "
        "a failure.",
        "read its output in logs/, and run the command by hand in `trustbed shell`",
    ),
    Entry(
        "run_workload_sent_nothing",
        "error",
        "run",
        "the workload sent nothing",
        "B",
        "It reported success, but sent no byte of payload: nothing was measured and nothing can "
        "be judged.",
        "read the samples of its host: it may have had no processor for the whole time; give the "
        "workload longer",
    ),
    Entry(
        "run_workload_time_limit",
        "error",
        "run",
        "the workload exceeded its time limit",
        "seconds",
        "The program was still running at its time limit and was ended. Captures and logs are "
        "stored.",
        "give it a larger time_limit, or find out from them what it waited for",
    ),
    Entry(
        "trace_loss",
        "warning",
        "run",
        "a trace of system calls is incomplete",
        "calls",
        "Calls came faster than they could be written, or a processor was not traced from the "
        "beginning to the end (marker calls are missing). Counts of calls are too small, and "
        "sequences have gaps.",
        'trace one workload or service instead of all, count only (mode = "count"), or run on a '
        "machine with another processor",
    ),
    Entry(
        "observer_effect",
        "warning",
        "run",
        "tracing slowed the workload",
        "share",
        "The same workload completed less in the repetitions with tracing than in those without. "
        "What was traced is not what runs untraced.",
        'trace one workload or service instead of all, or count only (mode = "count"); compare '
        "repetitions that were traced alike",
    ),
    Entry(
        "run_host_busy",
        "warning",
        "run",
        "the machine lacked processor time",
        "share",
        "A hypervisor or a quota denied the host its processors for part of the time. Applications "
        "were delayed meanwhile.",
        "run on a machine of its own, or without the quota",
        otherwise=("info", "below 5% of the time"),
    ),
)
