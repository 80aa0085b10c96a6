//! The tables of phases and exchanges: where a transfer's time went, in order.

use trustbed_analyze::{Exchange, Phase, State, TransferId, TransferRow};
use trustbed_units::{Ns, Span};

use crate::{Column, Table};

/// The time that one phase of a transfer spent in one state.
#[derive(Debug, Clone)]
pub struct PhaseRow {
    transfer: TransferId,
    phase: u64,
    mixed: bool,
    state: State,
    start: Ns,
    end: Ns,
    time: i64,
    bytes: i64,
}

/// One unit of a transfer's data.
#[derive(Debug, Clone)]
pub struct ExchangeRow {
    transfer: TransferId,
    number: u64,
    start: Ns,
    exchange: Exchange,
    waited: Option<Span>,
}

/// Rows of the phases of a transfer.
pub fn phase_rows(row: &TransferRow) -> impl Iterator<Item = PhaseRow> + '_ {
    let phases = row.account.iter().flat_map(|account| &account.phases);
    phases.enumerate().flat_map(|(number, phase)| one_phase(row, number, phase))
}

fn one_phase(
    row: &TransferRow,
    number: usize,
    phase: &Phase,
) -> impl Iterator<Item = PhaseRow> + use<> {
    let (transfer, first, phase) = (row.id, row.start, phase.clone());
    let mixed = phase.state().is_none();
    State::ALL.into_iter().filter_map(move |state| {
        let time = phase.times[state.index()];
        (time > 0).then_some(PhaseRow {
            transfer,
            phase: number as u64 + 1,
            mixed,
            state,
            start: first + Span(phase.start),
            end: first + Span(phase.end),
            time,
            bytes: phase.bytes,
        })
    })
}

/// Rows of the exchanges of a transfer.
pub fn exchange_rows(row: &TransferRow) -> impl Iterator<Item = ExchangeRow> + '_ {
    let mut before: Option<Span> = None;
    row.exchanges.iter().enumerate().map(move |(number, exchange)| {
        let waited = exchange.asked.zip(before).map(|(asked, before)| asked - before);
        before = exchange.acknowledged;
        ExchangeRow {
            transfer: row.id,
            number: number as u64 + 1,
            start: row.start,
            exchange: *exchange,
            waited: waited.filter(|waited| *waited > Span::ZERO),
        }
    })
}

/// Phases: one row per phase and state, in the order of the transfers.
pub fn phases() -> Table<PhaseRow> {
    let columns: Vec<Column<PhaseRow>> = vec![
        Column::text("transfer", "transfer that the phase is part of", |r| {
            Some(r.transfer.to_string())
        }),
        Column::count("phase", "count", "number of the phase within its transfer", |r| {
            Some(r.phase)
        }),
        Column::text(
            "state",
            "handshake, peer, think, outage, timeout, recovery, zero_window, receiver_window, \
             window, idle_application, idle_sender, growing, path, below_path, sender_buffer or \
             unknown",
            |r| Some(r.state.name().to_owned()),
        ),
        Column::truth(
            "mixed",
            "true if the phase joins several states too short to be kept apart: one row each",
            |r| Some(r.mixed),
        ),
        Column::time("start_ns", "begin of the phase", |r| Some(r.start.0)),
        Column::time("end_ns", "end of the phase", |r| Some(r.end.0)),
        Column::integer("time_ns", "nanoseconds", "time in this state within the phase", |r| {
            Some(r.time)
        }),
        Column::integer(
            "bytes",
            "bytes",
            "bytes acknowledged for the first time in the phase",
            |r| Some(r.bytes),
        ),
    ];
    Table { name: "phases", columns }
}

/// Exchanges: one row per unit of data, in the order of the transfers.
pub fn exchanges() -> Table<ExchangeRow> {
    let columns: Vec<Column<ExchangeRow>> = vec![
        Column::text("transfer", "transfer that sends the unit", |r| Some(r.transfer.to_string())),
        Column::count("exchange", "count", "number of the unit within its transfer", |r| {
            Some(r.number)
        }),
        Column::time("asked_ns", "last data of the peer before the unit", |r| {
            r.exchange.asked.map(|asked| (r.start + asked).0)
        }),
        Column::time("start_ns", "first packet of the unit", |r| {
            Some((r.start + r.exchange.start).0)
        }),
        Column::time("end_ns", "last packet of the unit", |r| Some((r.start + r.exchange.end).0)),
        Column::time("acknowledged_ns", "acknowledgement of its last byte", |r| {
            r.exchange.acknowledged.map(|end| (r.start + end).0)
        }),
        Column::integer(
            "peer_ns",
            "nanoseconds",
            "from the acknowledgement of the unit before to the peer's last data",
            |r| r.waited.map(|waited| waited.0),
        ),
        Column::integer(
            "think_ns",
            "nanoseconds",
            "from the peer's last data to the unit's first packet, as the capture saw them",
            |r| {
                let asked = r.exchange.asked?;
                Some((r.exchange.start - asked).0.max(0))
            },
        ),
        Column::count("bytes", "bytes", "bytes of the unit", |r| Some(r.exchange.bytes)),
        Column::float(
            "rate_bytes_per_second",
            "bytes/second",
            "bytes over the time from its first packet to the acknowledgement of its last byte",
            |r| r.exchange.rate(),
        ),
        Column::count("retransmitted", "segments", "segments that were sent again", |r| {
            Some(r.exchange.retransmitted.into())
        }),
    ];
    Table { name: "exchanges", columns }
}
