//! Rows as they come to be, and what they add up to.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Builder, ListBuilder, RecordBatch};
use arrow::error::ArrowError;
use trustbed_analyze::{
    ConnectionRow, Rows, RttRow, SegmentRow, SpacingRow, Trail, TransferId, TransferRow,
    host_overlap, host_stalls,
};
use trustbed_record::{
    COUNTED, Change, ExchangeRow, PhaseRow, Reader, RecordError, Sequence, Spool, connections,
    exchange_rows, exchanges, phase_rows, phases, rtt, segments, spacing, trail_bytes, transfers,
};
use trustbed_units::Span;

use crate::charts::Drawing;
use crate::run::Takes;

/// Sums over all connections, for the findings about the capture.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) tcp: u64,
    pub(crate) udp: u64,
    pub(crate) offloaded: u64,
    pub(crate) one_sided: u64,
    pub(crate) midstream: u64,
    pub(crate) wild: u64,
    pub(crate) duplicates: u64,
    pub(crate) acked_unseen: u64,
    pub(crate) unique: u64,
    pub(crate) forgotten_holes: u64,
}

/// Charts of so many transfers are kept at most.
pub(crate) const CHARTS_KEPT: usize = 32;

/// Whose charts are kept: of the transfers that were asked for, or of the largest.
#[derive(Default)]
pub(crate) struct Drawn {
    pub(crate) asked_for: Option<HashSet<String>>,
    /// Unique bytes and place of those that have charts, the smallest and latest on top.
    kept: BinaryHeap<Reverse<(u64, Reverse<u64>)>>,
    charts: HashMap<u64, (TransferId, Drawing)>,
}

impl Drawn {
    pub(crate) fn of(asked_for: Option<HashSet<String>>) -> Self {
        Self { asked_for, ..Self::default() }
    }

    /// Takes the charts of a row, and gives up those of the one that has to do without.
    fn take(&mut self, place: u64, row: &mut TransferRow) {
        let Some(charts) = row.charts.take() else { return };
        if self.asked_for.as_ref().is_some_and(|names| !names.contains(&row.id.to_string())) {
            return;
        }
        let drawing = Drawing { start: row.start, duration: row.duration, charts };
        self.charts.insert(place, (row.id, drawing));
        self.kept.push(Reverse((row.counters.unique, Reverse(place))));
        if self.kept.len() > CHARTS_KEPT
            && let Some(Reverse((_, Reverse(least)))) = self.kept.pop()
        {
            self.charts.remove(&least);
        }
    }

    /// By the names of their transfers.
    fn named(self) -> HashMap<String, Drawing> {
        self.charts.into_values().map(|(id, drawing)| (id.to_string(), drawing)).collect()
    }
}

/// Collects rows in order.
pub(crate) struct Collector {
    connections: Spool<ConnectionRow>,
    /// Without what transfers show together, which only the end tells.
    judged: Spool<TransferRow>,
    drawn: Drawn,
    short: Spool<TransferRow>,
    phases: Spool<PhaseRow>,
    exchanges: Spool<ExchangeRow>,
    trails: Vec<Trail>,
    samples: Option<(Spool<RttRow>, Spool<SpacingRow>, Spool<SegmentRow>)>,
    pub(crate) totals: Totals,
    /// Of a part of an analysis, where its rows belong among those of the other parts.
    sequence: Option<Sequence>,
}

/// Everything collected.
pub(crate) struct Collected {
    pub(crate) connections: Reader,
    /// Transfers that can be judged, then those too short to be.
    pub(crate) transfers: [Reader; 2],
    pub(crate) phases: Reader,
    pub(crate) exchanges: Reader,
    pub(crate) samples: Option<[Reader; 3]>,
    pub(crate) charts: HashMap<String, Drawing>,
    pub(crate) totals: Totals,
    /// Of a part: its sequence and its trails as bytes.
    pub(crate) part: Option<[Vec<u8>; 2]>,
}

impl Takes for Collector {
    fn take(&mut self, rows: Rows) -> Result<(), RecordError> {
        for ended in rows.ended {
            let (at_index, connection) = (ended.at_index, ended.connection.connection);
            let before = self.counted();
            self.add_up(&ended.connection);
            self.connections.push(ended.connection)?;
            self.trails.extend(ended.trails);
            for mut transfer in ended.transfers {
                if transfer.too_short {
                    transfer.charts = None;
                    self.short.push(*transfer)?;
                } else {
                    self.take_parts(&mut transfer)?;
                    self.drawn.take(self.judged.rows(), &mut transfer);
                    self.judged.push(*transfer)?;
                }
            }
            let after = self.counted();
            if let Some(sequence) = &mut self.sequence {
                let rows = std::array::from_fn(|table| after[table] - before[table]);
                sequence.push(at_index, connection, rows);
            }
        }
        if let Some(sequence) = &mut self.sequence {
            sequence.next_batch();
        }
        if let Some((rtt, spacing, segments)) = &mut self.samples {
            rows.samples.rtt.into_iter().try_for_each(|row| rtt.push(row))?;
            rows.samples.spacing.into_iter().try_for_each(|row| spacing.push(row))?;
            rows.samples.segments.into_iter().try_for_each(|row| segments.push(row))?;
        }
        Ok(())
    }
}

impl Collector {
    /// `part`: of an analysis that several share.
    pub(crate) fn new(samples: bool, drawn: Drawn, part: bool) -> Self {
        Self {
            connections: Spool::new(connections()),
            judged: Spool::new(transfers()),
            drawn,
            short: Spool::new(transfers()),
            phases: Spool::new(phases()),
            exchanges: Spool::new(exchanges()),
            trails: Vec::new(),
            samples: samples
                .then(|| (Spool::new(rtt()), Spool::new(spacing()), Spool::new(segments()))),
            totals: Totals::default(),
            sequence: part.then(Sequence::default),
        }
    }

    /// Rows of the counted tables so far: transfers that can be judged, short ones, phases,
    /// exchanges.
    fn counted(&self) -> [u64; COUNTED] {
        [self.judged.rows(), self.short.rows(), self.phases.rows(), self.exchanges.rows()]
    }

    /// Phases and exchanges, of which a row holds thousands, go to their tables at once.
    fn take_parts(&mut self, row: &mut TransferRow) -> Result<(), RecordError> {
        phase_rows(row).try_for_each(|phase| self.phases.push(phase))?;
        exchange_rows(row).try_for_each(|exchange| self.exchanges.push(exchange))?;
        if let Some(account) = &mut row.account {
            account.phases = Vec::new();
        }
        row.exchanges_more += row.exchanges.len() as u64;
        (row.exchanges, row.quiet) = (Vec::new(), Vec::new());
        Ok(())
    }

    fn add_up(&mut self, row: &ConnectionRow) {
        let totals = &mut self.totals;
        if row.protocol != 6 {
            totals.udp += 1;
            return;
        }
        totals.tcp += 1;
        totals.offloaded += u64::from(row.offloaded);
        totals.one_sided += u64::from(row.one_sided);
        totals.midstream += u64::from(row.midstream);
        totals.wild += u64::from(row.from_initiator.wild) + u64::from(row.from_responder.wild);
        totals.forgotten_holes += row.forgotten_holes;
        totals.duplicates += u64::from(row.from_initiator.capture_duplicates)
            + u64::from(row.from_responder.capture_duplicates);
        totals.acked_unseen += row.acknowledged_unseen;
        totals.unique += row.from_initiator.unique + row.from_responder.unique;
    }

    /// Joins what several transfers show together, and closes the tables.
    pub(crate) fn finish(self) -> Result<Collected, RecordError> {
        let judged = self.judged.finish()?;
        // A part's transfers show something together with those of the other parts, too.
        let (judged, part) = match self.sequence {
            Some(sequence) => (judged, Some([sequence.bytes(), trail_bytes(&self.trails)])),
            None => (judged.changed(Together::of(&self.trails).completing()), None),
        };
        let samples = match self.samples {
            Some((rtt, spacing, segments)) => {
                Some([rtt.finish()?, spacing.finish()?, segments.finish()?])
            }
            None => None,
        };
        let transfers = [judged, self.short.finish()?];
        Ok(Collected {
            connections: self.connections.finish()?,
            transfers,
            phases: self.phases.finish()?,
            exchanges: self.exchanges.finish()?,
            samples,
            charts: self.drawn.named(),
            totals: self.totals,
            part,
        })
    }
}

/// What the transfers of a host show together, by transfer.
pub(crate) struct Together {
    overlaps: HashMap<TransferId, f64>,
    stall_gaps: HashMap<TransferId, Vec<Span>>,
}

impl Together {
    /// The trails of all transfers, in any order.
    pub(crate) fn of(trails: &[Trail]) -> Self {
        let mut stall_gaps: HashMap<_, Vec<_>> = HashMap::new();
        for stall in host_stalls(trails) {
            for transfer in &stall.transfers {
                stall_gaps.entry(*transfer).or_default().push(stall.to - stall.from);
            }
        }
        Self { overlaps: host_overlap(trails).into_iter().collect(), stall_gaps }
    }

    /// Puts it into the rows of a table, which were written without.
    pub(crate) fn completing(self) -> Change {
        Arc::new(move |batch| self.complete(&batch))
    }

    /// How much of a transfer's pauses its host's others shared, and for how long the host stalled.
    fn complete(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let ids: Vec<_> = batch.column_by_name("transfer").map_or_else(Vec::new, |column| {
            column.as_string::<i32>().iter().map(|id| id.and_then(transfer_id)).collect()
        });
        let overlap = |id: &Option<TransferId>| {
            self.overlaps.get(id.as_ref()?).copied().filter(|overlap| overlap.is_finite())
        };
        let overlaps: Float64Array = ids.iter().map(overlap).collect();
        let mut gaps = ListBuilder::new(Int64Builder::new());
        for id in &ids {
            let spans = id.as_ref().and_then(|id| self.stall_gaps.get(id));
            gaps.append_value(spans.into_iter().flatten().map(|span| Some(span.0)));
        }
        let (schema, mut columns, _) = batch.clone().into_parts();
        for (name, made) in [
            ("host_overlap", Arc::new(overlaps) as ArrayRef),
            ("stall_gaps_ns", Arc::new(gaps.finish()) as ArrayRef),
        ] {
            columns[schema.index_of(name)?] = made;
        }
        RecordBatch::try_new(schema, columns)
    }
}

/// The transfer that a row names.
fn transfer_id(text: &str) -> Option<TransferId> {
    let (connection, side) = text.split_once('.')?;
    Some(TransferId { connection: connection.parse().ok()?, by_responder: side == "1" })
}
