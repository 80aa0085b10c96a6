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
    wait_over_path: float = value(
        0.65,
        "away from the sender: its silences with data outstanding over what path and losses cost",
        "development transfers: 0.71 and more for stopped hosts; 0.59 at most where "
        "acknowledgements queued, once 0.70 behind jitter",
    )
    cost_felt: float = value(
        0.1,
        "share of the time from which losses, or silences of a host whose samples show a missing "
        "processor, need a reason",
        "a lone flow that fills a deep queue spends up to 9 % on losses; development transfers: "
        "silences of 0.05 to 0.08 where a missing processor cost less than 5 % of the throughput, "
        "0.14 and more where it cost 15 %",
    )
    application_felt: float = value(
        0.08,
        "share of the time with nothing to send, on the sending host, that costs throughput",
        "development transfers: 0.085 and more for writers that pause, 0.042 at most where no "
        "application did",
    )
    path_saturated: float = value(
        0.9,
        "rate over the whole life over the path's, from which no silence cost anything",
        "development transfers in which the path was full for longer than the sender silent: 0.94 "
        "and more where silences cost nothing, 0.74 at most where they did; up to 1.06 inside "
        "machines that held packets, which are left out",
    )
    held_share: float = value(
        0.03,
        "share of the time by which packets of the receiver were held until they came together",
        "development transfers: 0.038 and more inside guests that are stopped; 0.018 at most "
        "elsewhere where the sender's own data were held, too, 0.136 where they were not: they "
        "queue behind traffic of the other direction",
    )
    pattern_least: float = value(
        3.0,
        "silences of the receiver, packets held by a machine, or needless retransmissions, from "
        "which they are a pattern",
        "one or two may be a route or a link that paused; development transfers: 3 and more of the "
        "data held inside guests that are stopped, 0 where only the path held acknowledgements",
    )
    ack_silence_segments: float = value(
        10.0,
        "segments per silence of the receiver below which a timer of its own made them",
        "RFC 1122 allows two; development transfers: 6.3 at most for timers behind up to eight "
        "segments, 17 and more for receivers that stalled",
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
    loss_delay_rank_queued: float = value(
        0.7,
        "the same where a queue stood (mean RTT of 1.1 times its base or more)",
        "development transfers: 0.80 and more in a queue of parallel flows, 0.65 at most for "
        "random loss beside a queue",
    )
    path_used: float = value(
        0.6,
        "rate while sending over the path's rate from which a path is well used",
        "development transfers: 0.42 at most for random loss, 0.66 and more behind AQM",
    )
    path_hardly_used: float = value(
        0.25,
        "away from the sender: rate over the path's rate below which no queue stood for long",
        "development transfers: 0.02 and 0.08 for random loss, 0.43 and more where queues dropped",
    )
    path_left_to_losses: float = value(
        0.93,
        "rate over the whole life over the path's, from which losses cost nothing",
        "development transfers: 0.95 and more where random losses cost less than 1 %",
    )
    queued_from_afar: float = value(
        1.2,
        "away from the sender: mean RTT over its base from which a queue stood, whose losses they "
        "are",
        "development transfers: 1.04 at most for random loss, 1.2 and more for flows that share a "
        "queue",
    )
    path_seen: float = value(
        0.4,
        "share of the time with a full path in which its rate can change",
        "development transfers: 0.55 and more where a rate was changed",
    )
    growing_round_trips: float = value(
        40.0,
        "base round trips in which slow start has filled any path or window",
        "RFC 5681: the window doubles per round trip; development transfers: 43 and more for "
        "writers and hosts that send little, 23 at most for requests that each start anew",
    )
    path_felt: float = value(
        0.15,
        "away from the sender: share of the time with a full path from which its queue drops",
        "development transfers with more than a packet queued: 0.05 at most for random and bursty "
        "loss, once 0.19; 0.2 and more for 146 of 151 that a queue dropped",
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
    rate_change_clear: float = value(
        0.03,
        "the same where losses bound the transfer longest",
        "development transfers behind AQM: 0.02 at most where a rate was changed or a token bucket "
        "ran empty; 0.07 and more on links that vary",
    )
    start_round_trips: float = value(
        10.0,
        "mean round trips after which a start no longer takes more of a shared queue than later",
        "fetches of 1 MB beside constant, Poisson and users' traffic: 3 to 9 in most that started "
        "so, and 13 of 246 wrong instead of 38; RFC 5681: 10 round trips of slow start are 1,024 "
        "times its first window",
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
    bucket_plausible_megabytes: float = value(
        3.0,
        "megabytes that token buckets hold as a rule",
        "shared policing set: 2 MB at most; access networks advertise bursts of 10 to 20 MB",
    )
    bucket_plausible_seconds: float = value(
        3.0,
        "seconds of their own rate that token buckets hold as a rule",
        "development transfers: token buckets 1.6 and 2.7, rates that fell after three seconds "
        "3.2 and more",
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
    queued_of_queue: float = value(
        1.5,
        "away from the sender: packets queued just before losses that make them the queue's",
        "development transfers whose path was full for a fifth of the time: 2.1 and more where a "
        "queue dropped, 0.9 at most for random loss",
    )
    queued_policed: float = value(
        2.8,
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
    queue_at_loss: float = value(
        0.33,
        "losses come from a full queue when the RTT just before them lies this high between its "
        "base and its 99th percentile",
        "validation: 0.36 and more for all but one of the full queues, at most 0.31 for random "
        "loss and policers (odd seeds)",
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
    empty_fraction: float = value(
        0.2,
        "pauses are long when nothing was outstanding under an open window for this share of the "
        "transfer",
        "the same share that counts for pauses longer than the RTT",
    )
    late_part: float = value(
        0.2,
        "less than this share of the RTT's increase lies on the sender's side of a capture "
        "elsewhere: the sender did not respond late",
        "validation: 0.06 to 0.09 for queues on the receiver's side (odd seeds); provisional",
    )
    processor_missed: float = value(
        0.05,
        "share of the time ready without a processor below which the host is cleared",
        "a cost below five percent; provisional",
    )
    loss_burst_rank_chance: float = value(
        0.53,
        "mean rank of many losses below which they follow bursts of any size alike",
        "development transfers: 0.506 for random loss; policers 0.67 and more, shared ones 0.53",
    )
    loss_burst_rank_empty: float = value(
        0.62,
        "burst rank below which losses at an empty bucket fell by chance",
        "development transfers: 0.67 and more behind policers, 0.41 to 0.59 for random loss and "
        "queues whose losses met the published conditions; some shared policers lower",
    )
    silences_missed: float = value(
        0.5,
        "share of a sender's silences for which its processor was missing, from which that "
        "explains them",
        "the larger part; development transfers: 0.07 to 0.4 for writers on a busy machine",
    )
    path_left_by_window: float = value(
        0.85,
        "rate over the path's rate below which a window leaves it unused",
        "development transfers: 0.69 to 0.78 for windows of three quarters of the path",
    )
    window_in_between: float = value(
        0.1,
        "share of the time with a full window, and no queue, beside which a queue is not the "
        "transfer's own: a window that fills a path alone keeps its queue",
        "development transfers beside others' traffic: 0.13 to 0.4; a lone one that fills a path "
        "with its window: 0",
    )
    window_plain_segments: float = value(
        4,
        "window in segments below which a timer or a single burst makes most of the RTT",
        "two segments wait for a delayed acknowledgement, three for one another",
    )
    window_plain_inflation: float = value(
        1.55,
        "mean RTT over its base from which a window that is full met a queue of others",
        "development transfers: 1.45 at most of lone ones on paths with jitter, 1.6 and more "
        "beside others",
    )
    window_plain_tail: float = value(
        1.85,
        "99th percentile of the RTT over its base from which acknowledgements came late now and "
        "then",
        "development transfers: 1.48 at most of lone ones on paths with jitter, 1.83 beside busy "
        "processors, 1.9 and more where the receiver was stopped",
    )
    receiver_late: float = value(
        0.15,
        "P90 of a receiver's own answers less their median, over the base RTT, from which it is "
        "late",
        "development transfers: 0.04 at most of receivers that ran, 0.25 and more of those that "
        "were stopped; a timer delays all alike",
    )
    receiver_late_seconds: float = value(
        0.005,
        "the same in seconds, on short paths",
        "development transfers: 0.001 at most of receivers that ran, 0.012 and more of those that "
        "were stopped",
    )
    processor_mostly_missed: float = value(
        0.5,
        "share of the time ready without a processor from which the host explains the gap",
        "validation: 0.63 and more where stopped programs cost a fifth, at most 0.46 where they "
        "cost less than five percent (odd seeds)",
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
