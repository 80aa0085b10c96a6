//! Where the time went, and what tells one reading of it from another.

use trustbed_analyze::State;

use super::Row;
use crate::Column;

/// Share of the time in a state.
fn share(row: &Row, state: State) -> Option<f64> {
    let account = row.account.as_ref()?;
    let whole: i64 = account.times.iter().sum();
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds as a share")]
    let share = account.times[state.index()] as f64 / whole as f64;
    (whole > 0).then_some(share)
}

macro_rules! shares {
    ($($name:literal $state:ident $meaning:literal;)*) => {
        vec![$(Column::float($name, "ratio", $meaning, |r| share(r, State::$state)),)*]
    };
}

/// One share for each state: they add up to one.
fn shares() -> Vec<Column<Row>> {
    shares! {
        "share_handshake" Handshake
            "share of the time from SYN to last acknowledgement: connection set-up";
        "share_peer" Peer
            "share waiting for the peer's next request or answer";
        "share_think" Think
            "share between the peer's request and the first packet of the answer";
        "share_outage" Outage
            "share in which repeated retransmissions went unanswered";
        "share_timeout" Timeout
            "share waiting for the retransmission timer";
        "share_recovery" Recovery
            "share repairing losses that acknowledgements had shown";
        "share_zero_window" ZeroWindow
            "share with a receiver's window below one segment";
        "share_receiver_window" ReceiverWindow
            "share with a full window that had shrunk below 0.75 of its largest";
        "share_window" Window
            "share with a full window and no queue: the window's configuration";
        "share_idle_application" IdleApplication
            "share idle with an open window after everything written had been sent (short segment)";
        "share_idle_sender" IdleSender
            "share idle with an open window otherwise";
        "share_growing" Growing
            "share in which outstanding data grew without loss or queue";
        "share_path" Path
            "share in which the path was full: a queue stood, or data passed at its capacity";
        "share_below_path" BelowPath
            "share below the path's rate because losses or marks had cut the congestion window";
        "share_sender_buffer" SenderBuffer
            "share at a level of outstanding data below the window, without loss or queue";
        "share_unknown" Unknown
            "share of which the capture does not show the state";
    }
}

pub(super) fn budget() -> Vec<Column<Row>> {
    let mut columns = shares();
    columns.push(Column::integer(
        "accounted_ns",
        "nanoseconds",
        "time that the shares divide: SYN to last acknowledgement, or to the last unanswered \
         retransmission",
        |r| r.account.as_ref().map(|account| account.times.iter().sum()),
    ));
    columns.extend(clues());
    columns
}

#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
fn clues() -> Vec<Column<Row>> {
    vec![
        Column::float(
            "sending_rate_bytes_per_second",
            "bytes/second",
            "acknowledged bytes over the time spent neither idle nor waiting for the peer",
            |r| {
                let (bytes, time) = r.account.as_ref()?.sending;
                #[expect(clippy::cast_precision_loss, reason = "bytes over nanoseconds")]
                (time > 0).then(|| bytes as f64 * 1e9 / time as f64)
            },
        ),
        Column::float(
            "path_rate_bytes_per_second",
            "bytes/second",
            "median payload rate over eight segments that had queued or had been sent faster",
            |r| r.account.as_ref()?.capacity,
        ),
        Column::float(
            "path_rate_p10_bytes_per_second",
            "bytes/second",
            "10th percentile of the same rates",
            |r| r.account.as_ref()?.capacity_range.map(|range| range.0),
        ),
        Column::float(
            "path_rate_p90_bytes_per_second",
            "bytes/second",
            "90th percentile of the same rates",
            |r| r.account.as_ref()?.capacity_range.map(|range| range.1),
        ),
        Column::count("path_rate_samples", "count", "number of the same rates", |r| {
            Some(r.account.as_ref()?.capacity_samples)
        }),
        Column::float(
            "departure_steadiness",
            "ratio",
            "P10/P90 of the rate at which 16 segments left the sender",
            |r| r.account.as_ref()?.departures,
        ),
        Column::float(
            "queue_mean_ns",
            "nanoseconds",
            "mean delay above its floor: round trip behind the capture plus delay before it by \
             the sender's clock",
            |r| r.account.as_ref()?.queue,
        ),
        Column::float(
            "loss_level_variation",
            "ratio",
            "coefficient of variation of the outstanding data when recoveries began",
            |r| r.account.as_ref()?.levels.1,
        ),
        Column::float(
            "loss_delay_rank",
            "ratio",
            "mean share of the delays that are smaller than the one just before a loss",
            |r| r.account.as_ref()?.delay_rank,
        ),
        Column::float(
            "loss_queue_packets",
            "packets",
            "median delay above its floor just before losses, in packets at the path's rate",
            |r| r.account.as_ref()?.queued_at_loss,
        ),
        Column::count(
            "ack_silences",
            "count",
            "silences of the receiver longer than the round trip with data outstanding, outside \
             recovery, after which all of it was acknowledged at once",
            |r| r.account.as_ref().map(|_| r.ack_silences.0.into()),
        ),
        Column::integer("ack_silences_ns", "nanoseconds", "time in these silences", |r| {
            r.account.as_ref().map(|_| r.ack_silences.1.0)
        }),
        Column::count(
            "ack_silences_own",
            "count",
            "of these silences, those in which the receiver sent nothing for as long, by its own \
             clock (timestamp option)",
            |r| r.account.as_ref().map(|_| r.ack_silences_own.into()),
        ),
        Column::count(
            "acks_held",
            "count",
            "times packets of the receiver came together that it had sent 5 ms or more apart",
            |r| r.account.as_ref().map(|_| r.acks_held.0.into()),
        ),
        Column::integer("acks_held_ns", "nanoseconds", "by how much, in sum", |r| {
            r.account.as_ref().map(|_| r.acks_held.1.0)
        }),
        Column::count(
            "data_held",
            "count",
            "data packets that passed the capture 4 ms or more later than the sender's clock says",
            |r| r.account.as_ref().map(|_| r.data_held.into()),
        ),
        Column::count("idle_periods", "count", "silences of the sender", |r| {
            Some(r.account.as_ref()?.idle.0.into())
        }),
        Column::integer("idle_longest_ns", "nanoseconds", "the longest of them", |r| {
            Some(r.account.as_ref()?.idle.1)
        }),
        Column::count(
            "idle_ended_in_burst",
            "count",
            "silences after acknowledgements that had released data: the sender had been allowed \
             to send",
            |r| Some(r.account.as_ref()?.idle.2.into()),
        ),
        Column::count(
            "path_rate_changes",
            "count",
            "changes of these rates: between the fewest levels that explain their logarithms",
            |r| r.account.as_ref()?.change.map(|change| change.count.into()),
        ),
        Column::float(
            "path_rate_before_bytes_per_second",
            "bytes/second",
            "geometric mean of these rates before the first change",
            |r| r.account.as_ref()?.change.map(|change| change.before),
        ),
        Column::float(
            "path_rate_after_bytes_per_second",
            "bytes/second",
            "geometric mean of these rates after the first change",
            |r| r.account.as_ref()?.change.map(|change| change.after),
        ),
        Column::integer(
            "path_rate_change_ns",
            "nanoseconds",
            "time from the first data to the first change",
            |r| r.account.as_ref()?.change.map(|change| change.at),
        ),
        Column::integer(
            "path_rate_change_bytes",
            "bytes",
            "bytes acknowledged until the first change",
            |r| r.account.as_ref()?.change.map(|change| change.bytes),
        ),
        Column::float(
            "path_rate_change_residual",
            "ratio",
            "share of the variance of these rates' logarithms that the changes leave",
            |r| r.account.as_ref()?.change.map(|change| change.left),
        ),
        Column::float(
            "path_rate_change_spread",
            "ratio",
            "standard deviation of the logarithms that the changes leave",
            |r| r.account.as_ref()?.change.map(|change| change.spread),
        ),
        Column::float(
            "departure_lag_mean_ns",
            "nanoseconds",
            "mean time between the sender's stack and the capture beyond the least, by the \
             sender's clock",
            |r| r.account.as_ref()?.lag,
        ),
        Column::count(
            "retransmitted_needlessly",
            "count",
            "fast recoveries whose first retransmission was answered with the original's \
             timestamp: it had not been lost (Eifel, RFC 3522)",
            |r| r.account.as_ref().map(|_| r.needless.0.into()),
        ),
        Column::count("fast_recoveries", "count", "fast recoveries of which that is known", |r| {
            r.account.as_ref().map(|_| r.needless.1.into())
        }),
        Column::count("congestion_marks", "count", "acknowledgements with ECN-Echo", |r| {
            Some(r.account.as_ref()?.marks.into())
        }),
        Column::count("exchanges", "count", "units of data between those of the peer", |r| {
            let units = u64::try_from(r.exchanges.len()).ok()?;
            r.account.as_ref().map(|_| units + r.exchanges_more)
        }),
    ]
}
