"""Every number the diagnosis compares against.

Holds values with their meaning and their source; decides nothing. A calibration replaces the whole
set: ``dataclasses.replace(THRESHOLDS, idle_open_window_fraction=0.4)`` is handed to
:func:`trustbed.diagnose.diagnose` and nothing else changes.

Bias: the thresholds lie where the published cases and the recorded transfers lie far apart. They
are provisional in between, and the confidence of a diagnosis reflects that.

Sources named below:
  VTN  Traffic Anomaly Analysis and Characteristics on a Virtualized Network Testbed (PlanetLab node
  pairs) EC2  Internet Traffic Characteristics of Virtual Machine on Amazon EC2 VTS  Virtually the
  Same: Comparing Physical and Virtual Testbeds (e1000 transmit-queue resets) REC  ten recorded
  transfers of real TCP stacks whose cause was made on purpose
"""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.diagnose.published_thresholds import PublishedThresholds
from trustbed.findings import value


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds(PublishedThresholds):
    """All thresholds of rules, confidence, limits and findings.

    Shares are 0…1, times are seconds, scores are in hundredths.
    """

    wait_cost: float = value(
        0.15,
        "share of the time from which a wait for peer, sender, receiver or an answer names the "
        "cause",
        "phases.md, section 4; development transfers: 0.21 and more where a wait was made, 0.12 "
        "at most in undisturbed ones",
    )
    host_felt: float = value(
        0.05,
        "share of silences from which a host whose samples show a missing processor is the cause",
        "a process with large buffers loses at most 8 % of its rate to a stopped processor",
    )
    withheld_least: float = value(
        3.0,
        "silences of the receiver that make a pattern",
        "one or two may be a route or a link that paused",
    )
    always_withheld: float = value(
        0.9,
        "share of withheld acknowledgements from which a timer of the receiver's made them",
        "development transfers: 0.97 and more for timers, 0.75 at most for stopped receivers",
    )
    needless_recoveries: float = value(
        0.8,
        "share of fast recoveries without a loss from which packets overtook",
        "development transfers: 1 where packets overtook, 0.5 at most in few losses",
    )
    loss_delay_rank: float = value(
        0.9,
        "losses are the queue's when they fall at delays higher than this share of all",
        "development transfers: 0.91 and more in drop-tail, CoDel, RED and shared queues, 0.86 at "
        "most for random loss; bursts of loss 0.94 once",
    )
    loss_delay_rank_used: float = value(
        0.6,
        "and, where the path was well used, higher than this share",
        "development transfers: 0.67 and more in RED queues of few packets",
    )
    path_used: float = value(
        0.6,
        "rate while sending over the path's rate from which a path is well used",
        "development transfers: 0.42 at most for random loss, 0.66 and more behind AQM",
    )
    path_seen: float = value(
        0.4,
        "share of the time with a full path in which its rate can change",
        "development transfers: 0.55 and more where a rate was changed",
    )
    rate_change: float = value(
        1.25,
        "factor by which a path's rate has changed",
        "development transfers: 1.4 and more where it was changed, 1.1 at most elsewhere",
    )
    rate_change_left: float = value(
        0.25,
        "share of the variance of a path's rate that its changes leave at most",
        "development transfers: 0.1 at most where it was changed",
    )
    rate_change_samples: float = value(
        50.0,
        "rates of eight segments that show a path's levels",
        "development transfers: 80 and more where a rate was changed, 36 in a share of four",
    )
    filled_periods: float = value(
        20.0,
        "silences that make a pattern of a stopped host",
        "recordings: 87 and 285 of guests within 6 s",
    )
    filled_per_second: float = value(
        10.0,
        "such silences in a second that no application makes after full segments alone",
        "recordings: 15 and 54 of guests; applications of development transfers at most 3",
    )
    filled_window: float = value(
        0.9,
        "share of the window that a host fills when it runs",
        "recordings and development transfers: 1.00 of stopped guests, 0.45 and less of senders "
        "without a backlog",
    )
    rate_change_apart: float = value(
        4.0,
        "standard deviations by which the levels of a path's rate lie apart",
        "development transfers: 4.1 and more where a rate was changed or a bucket ran empty, 3.1 "
        "at most for others' traffic alone",
    )
    bucket_plausible_bytes: float = value(
        3e6,
        "bytes that token buckets hold as a rule",
        "shared policing set: 2 MB at most; access networks advertise bursts of 10 to 20 MB",
    )
    lag_share: float = value(
        0.5,
        "share of a standing queue between stack and capture that makes it the sender's own",
        "either side of one half: whose queue is longer",
    )
    departures_steady: float = value(
        0.2,
        "P10 over P90 of the rate of departures that a qdisc, NIC or pacer keeps at least",
        "development transfers: 0.31 and more for token buckets, 0.04 at most for stopped guests",
    )
    late_half: float = value(
        0.12,
        "share of the round trip by which the sender's half is late",
        "development transfers: 0.21 and more for stopped guests, 0.05 at most elsewhere",
    )
    at_home_seconds: float = value(
        0.001,
        "a capture lies on the sending host when its fastest reaction comes within this time",
        "kernels react within 0.1 ms, guests within 0.5 ms",
    )
    share_of_path: float = value(
        0.7,
        "rate while sending over the path's best below which others share the path",
        "two equal shares are one half each",
    )
    reordered_in_vain: float = value(
        0.003,
        "share of segments late or retransmitted in vain from which reordering cost the time of "
        "recoveries",
        "development transfers: 0.004 and more where packets overtook, 0.001 at most elsewhere",
    )
    outage_share: float = value(
        0.1,
        "time without an answer decides when it is this share of the transfer",
        "as stall_share: a tenth of the throughput",
    )
    outage_loss_events: float = value(
        20.0,
        "beside the sender: with more loss events than this, losses come all the time, and a "
        "silence is one of them",
        "validation: at most 5 in outages, 67 where a bursty link lost its retransmissions too "
        "(odd seeds)",
    )
    floor_step: float = value(
        0.1,
        "the base RTT changed when its floor stepped by this share of the lower level",
        "half of it costs less than five percent",
    )
    floor_left: float = value(
        0.15,
        "a step explains the RTT's floor when it leaves at most this share of its variation",
        "validation: 0.01 for changed routes, 0.25 and more for every queue and every other "
        "transfer (odd seeds)",
    )
    floor_flight: float = value(
        0.65,
        "the same data were in flight before and after a step: a queue that fills after slow "
        "start is no change of route",
        "validation: 0.68 and more for changed routes, at most 0.62 where slow start was a part "
        "(odd seeds)",
    )
    burst_ratio: float = value(
        1.3,
        "a shaper's burst passed when the rate before the bend is this multiple of the rate "
        "after it",
        "validation: 1.6 and more for shapers with a burst, at most 1.22 for shared queues (odd "
        "seeds)",
    )
    burst_steadiness: float = value(
        0.05,
        "the rate after the bend is a limit when P10 and median of the delivery rate lie this "
        "near to it",
        "validation: 0.005 and less behind shapers, 0.09 and more for all others (odd seeds)",
    )
    burst_mean_ratio: float = value(
        1.05,
        "a transfer whose mean exceeds its own steady delivery rate by this factor began with a "
        "burst",
        "validation: 1.12 and more behind shapers, at most 1.00 on plain links (odd seeds)",
    )
    loss_level_rank: float = value(
        0.21,
        "losses happen at an empty token bucket when at most this share of the packets met an "
        "emptier one",
        "validation: 0.2 behind policers, about 0.5 for independent loss (odd seeds); provisional",
    )
    queued_policed: float = value(
        3.3,
        "a queue stands before losses when the RTT just before them exceeds its base by more "
        "packets than this",
        "shared policing set: at most 2.6 behind policers alone in them, 3.97 and more in shapers' "
        "queues of five packets",
    )
    loss_policed_exchanges: float = value(
        0.01,
        "exchanges are tried for a policer from this share of lost packets",
        "Flach et al. 2016, whose validation begins there",
    )
    exchanges_bucket_empty: float = value(
        0.1,
        "a policer is found when the published conditions hold for this share of the exchanges "
        "with enough losses",
        "Flach et al. 2016 asks for one object of five",
    )
    loss_burst_rank: float = value(
        0.7,
        "losses follow bursts when they follow more bytes than this share of the packets that "
        "passed",
        "shared policing set: 0.71 and more behind policers alone in them, 0.64 at most for "
        "random loss",
    )
    loss_burst_samples: float = value(
        20,
        "so many losses, each the first of adjacent ones, show whether losses follow bursts",
        "shared traces: 13 losses of a RED queue of two packets follow bursts, too",
    )
    loss_burst_sureness: float = value(
        3.0,
        "the burst rank is no chance when it lies this many of its standard deviations above one "
        "half",
        "one-sided 0.1 % of the normal distribution",
    )
    rank_sureness: float = value(
        1.64,
        "the rank of losses is no chance when it lies this many of its standard deviations below "
        "one half",
        "one-sided 5 % of the normal distribution",
    )
    loss_policed: float = value(
        0.1,
        "as many losses at a steady rate are a policer's",
        "validation: 0.16 behind policers with small buckets, at most 0.09 elsewhere (odd seeds)",
    )
    loss_policed_ranked: float = value(
        0.07,
        "as many losses at a steady rate suffice at any rank if they are no chance",
        "validation: 0.08 and more behind policers, whose rank can be 0.43 seen from afar (odd "
        "seeds); provisional",
    )
    policed_steadiness: float = value(
        0.65,
        "with so many losses a rate is steady when P10/P90 of the delivery rate reaches this",
        "validation: 0.68 and more behind policers with so many losses, at most 0.60 in full "
        "queues (odd seeds); provisional",
    )
    even_link: float = value(
        0.96,
        "a rate that is even in spite of losses is a link's when P10/P90 of the delivery rate "
        "reaches this",
        "validation: 0.97 and more where a link, a shaper or a policer gives the rate, at most "
        "0.93 where losses slow (odd seeds)",
    )
    loss_policed_even: float = value(
        0.05,
        "as many losses at an even rate for half of the time are a policer's",
        "validation: 0.068 and more behind policers whose first burst lifts P90 (odd seeds); "
        "provisional",
    )
    policed_evenness: float = value(
        0.95,
        "with so many losses a rate is even when P10/P50 of the delivery rate reaches this",
        "validation: 0.98 and more behind such policers, at most 0.82 for independent losses "
        "(odd seeds); provisional",
    )
    buffer_filled: float = value(
        0.5,
        "the send buffer set the pace when X·R reaches this share of its size",
        "Linux counts a packet's bookkeeping as well: 0.5 to 1.0",
    )
    buffer_felt: float = value(
        0.1,
        "and the kernel found the socket out of buffer for this share of its busy time",
        "validation: 0.27 behind small buffers (odd seeds)",
    )
    silent_round_trips: float = value(
        4.0,
        "a silence counts from this many round trips on",
        "a retransmission timeout lasts one to three of them (RFC 6298)",
    )
    pipe_always_full: float = value(
        0.95,
        "the path was full when nine tenths of what fits into it were outstanding for this share "
        "of the time",
        "at most 0.70 for stopped senders (odd seeds)",
    )
    steady_link: float = value(
        0.95,
        "a link was full when P10/P90 of the delivery rate reaches this, and the RTT was high at "
        "times",
        "as burst_steadiness",
    )
    steady_link_inflation: float = value(
        1.5,
        "and that RTT is this multiple of what an empty path takes for the transfer's own "
        "packets in one of a hundred samples",
        "validation: 1.84 and more for full links, at most 1.37 for all other steady rates "
        "beside the sender (odd seeds)",
    )
    queue_at_loss: float = value(
        0.33,
        "losses come from a full queue when the RTT just before them lies this high between its "
        "base and its 99th percentile",
        "validation: 0.36 and more for all but one of the full queues, at most 0.31 for random "
        "loss and policers (odd seeds)",
    )
    queue_overflowed: float = value(
        0.8,
        "losses are an overflow's, however low the mean RTT, when the RTT just before them lies "
        "this high between base and 99th percentile",
        "validation: 0.92 and more for full queues, at most 0.59 for independent losses (odd "
        "seeds); provisional",
    )
    packets_at_loss: float = value(
        2.0,
        "and when it exceeds an empty path by this many packets of the transfer: an overflowing "
        "queue holds some",
        "validation: 2.0 and more before full queues, at most 1.8 for policers (odd seeds); two "
        "packets go before an acknowledgement",
    )
    link_queue_inflation: float = value(
        1.1,
        "a steady rate is a full link's when the mean RTT is this multiple of what an empty path "
        "takes for the transfer's own packets",
        "validation: 1.14 and more for full links, at most 1.04 for stopped processes, slow "
        "readers and small writes (odd seeds)",
    )
    link_queue_packets: float = value(
        3.0,
        "and when it exceeds its base by the time of this many packets at that rate",
        "validation: 3.2 and more for full links, at most 1.5 for stopped processes and programs "
        "(odd seeds)",
    )
    reordered_segments: float = value(
        0.001,
        "share of segments late without loss, or retransmitted in vain, from which reordering "
        "counts",
        "provisional",
    )
    reordering_clear: float = value(
        0.005,
        "share of late segments at which the reordering verdict gains confidence",
        "provisional",
    )
    window_varied: float = value(
        0.75,
        "a window that shrank was the reader's when its least was this share of its largest or "
        "less",
        "validation: at most 0.72 for slow readers, 1.00 where a window is only small (odd seeds)",
    )
    window_shrunk: float = value(
        0.15,
        "the receiver limits when its window was smaller than it had been for this share of the "
        "time, and full",
        "validation: 0.24 and more for slow readers, at most 0.10 for all others but where "
        "reordered segments wait for those before them, up to 0.41 (odd seeds)",
    )
    window_full: float = value(
        0.5,
        "the window set the pace when it was full for this share of the time",
        "tcp_info: as kernel_time_share",
    )
    empty_fraction: float = value(
        0.2,
        "pauses are long when nothing was outstanding under an open window for this share of the "
        "transfer",
        "the same share that counts for pauses longer than the RTT",
    )
    on_and_off: float = value(
        1.15,
        "a sender ran only now and then when its fast moments are this multiple of its mean",
        "validation: 1.18 and more for starved senders, at most 1.1 for undisturbed ones in "
        "steady state (odd seeds); provisional",
    )
    delayed_answers: float = value(
        0.5,
        "acknowledgements were delayed when this share of the RTT samples waited for a timer",
        "half of them; provisional",
    )
    flight_steady: float = value(
        0.55,
        "the flight had a ceiling when its mean is this share of its maximum",
        "Linux wakes a writer when a third of its buffer is free: the flight moves between two "
        "thirds of the ceiling and all of it",
    )
    flight_held: float = value(
        0.85,
        "a flight that is this share of its maximum on average never drained: its sender was "
        "ready, in spite of apparent pauses",
        "validation: 0.92 behind small buffers, at most 0.58 for starved machines and 0.70 for "
        "programs with full packets (odd seeds)",
    )
    flight_carried: float = value(
        0.52,
        "and X·R reaches this share of that maximum",
        "validation: 0.53 and more behind small buffers, at most 0.49 for starved machines (odd "
        "seeds)",
    )
    flight_below_window: float = value(
        0.8, "and that ceiling is not the window's when it is below this share of it", "provisional"
    )
    answer_late: float = value(
        0.05,
        "a sender reacts late when its median reaction to an acknowledgement takes this share of "
        "the base RTT",
        "validation: 0.07 and more for most guests with a quota, at most 0.048 for undisturbed "
        "senders that fill their window (odd seeds)",
    )
    unfilled_per_train: float = value(
        0.07,
        "packets are full when at most this much is missing to full ones, per train",
        "validation: at most 0.053 for machines with a quota, 0.089 and more for programs that "
        "write now and then (odd seeds)",
    )
    writes_end: float = value(
        0.33,
        "a program's writes set the pace when this much is missing to full packets, per train",
        "validation: 0.58 and more for programs that write little at a time, at most 0.30 for "
        "others without a full window (odd seeds)",
    )
    owd_share: float = value(
        0.4,
        "the sender's side, not a queue on the forward path, inflates the RTT when the one-way "
        "delay makes up less than this share of the increase",
        "validation: 0.82 and more for queues, mostly below 0.35 for starved machines (odd seeds)",
    )
    late_part: float = value(
        0.2,
        "less than this share of the RTT's increase lies on the sender's side of a capture "
        "elsewhere: the sender did not respond late",
        "validation: 0.06 to 0.09 for queues on the receiver's side (odd seeds); provisional",
    )
    window_always_full: float = value(
        0.65,
        "a window that is full for this share of the time shows a sender that is ready (its "
        "acknowledgements wait), unless P10 of the delivery rate exceeds the mean rate by "
        "on_and_off: it stalls in between",
        "validation: 0.76 and more behind a congested reverse path, at most 0.61 for stopped "
        "machines but for three views whose P10 is 2.8 times the mean and more, against 0.97 "
        "(odd seeds)",
    )
    growing_ratio: float = value(
        1.5,
        "a rate still grew when its fast moments are this multiple of its mean, and its bytes "
        "never lay above a straight line",
        "slow start doubles it every round trip; provisional",
    )
    growing_round_trips: float = value(
        25.0, "slow start is over after so many round trips", "2²⁵ initial windows; provisional"
    )
    processor_part: float = value(
        0.25,
        "or below this part of the pauses: missed processor time cannot cause four times as long "
        "pauses",
        "provisional",
    )
    processor_missed: float = value(
        0.05,
        "share of the time ready without a processor below which the host is cleared",
        "a cost below five percent; provisional",
    )
    processor_mostly_missed: float = value(
        0.5,
        "share of the time ready without a processor from which the host explains the gap",
        "validation: 0.63 and more where stopped programs cost a fifth, at most 0.46 where they "
        "cost less than five percent (odd seeds)",
    )
    idle_open_window_yet_explained: float = value(
        0.2,
        "share of the time idle with an open window from which a missing processor took a part "
        "although the window explains",
        "validation: 0.22 and more where it cost a fifth, at most 0.15 where it cost less than "
        "five percent (odd seeds)",
    )
    kernel_time_share: float = value(
        0.5,
        "share of its busy time that a socket was limited by window or send buffer",
        "tcp_info: tcpi_rwnd_limited, tcpi_sndbuf_limited",
    )
    capture_loss_share: float = value(
        0.001,
        "share of a transfer's bytes acknowledged but missing in the capture from which its "
        "verdict is lowered",
        "the smallest loss rate that any rule weighs is of this size",
    )
    kernel_drop_share: float = value(
        0.01,
        "share of packets dropped while capturing from which pauses do not count",
        "one in a hundred packets; acknowledged-but-unseen bytes show smaller losses per transfer",
    )
    skipped_share: float = value(
        0.01,
        "share of records that should have been measured and were not, from which pauses and "
        "losses do not count",
        "as kernel_drop_share",
    )
    duplicate_share: float = value(
        0.001,
        "share of packets captured twice from which losses do not count",
        "a copy reads as a retransmission: as capture_loss_share",
    )
    timestamp_share: float = value(
        0.1,
        "timestamps are too coarse, or too far out of order, when their error is this share of "
        "the base RTT",
        "the causes lie about 0.1 apart in RTT inflation (1.125 against 1.2)",
    )
    coarse_timestamp_seconds: float = value(
        0.001,
        "timestamps of this granularity are reported for the whole capture",
        "idle time with an open window is counted from 1 ms on",
    )
    clock_step_share: float = value(
        0.01,
        "a clock step of this share of a transfer's duration invalidates its throughput",
        "one in a hundred",
    )
    reordered_share: float = value(
        0.01,
        "share of records out of order from which their disorder counts as a timing error",
        "one in a hundred",
    )
    equal_timestamp_share: float = value(
        0.5,
        "share of records with the timestamp of the one before, from which pauses below the RTT "
        "do not count",
        "full frames at 10 Gbit/s lie 1.2 µs apart, so a clock of 1 µs alone gives a fifth of "
        "them equal timestamps; provisional",
    )
    bunched_share: float = value(
        0.5, "share of records timestamped in bunches from which that is reported", "provisional"
    )
    far_share: float = value(
        0.8,
        "a capture was not taken at the end given where that end has this share of both ends' "
        "fastest response times",
        "the engine finds the capture point by the same share",
    )
    far_seconds: float = value(
        0.001,
        "and both of these times together are this long",
        "below it both ends are close",
    )
    compensated_filled: float = value(
        0.95,
        "the throughput without stalls is estimated where outstanding data reached this share of "
        "the window",
        "validation: 0.97 and more of windows that were felt; 0.77 and less, once 0.92, where "
        "the sender hardly ever ran (odd seeds)",
    )
    compensated_inflation: float = value(
        1.1,
        "and at an RTT of at most this multiple of the base: beyond it, bursts follow stalls",
        "validation: 1.00 to 1.17 on undisturbed windows; 1.05 to 1.2 all serve more than nine "
        "in ten (odd seeds)",
    )
    compensated_start: float = value(
        0.2,
        "and where slow start alone would have taken at most this share of the time",
        "validation: at most 0.11, and right to two percent there (odd seeds)",
    )


THRESHOLDS = Thresholds()
"""The values in use unless others are given."""
