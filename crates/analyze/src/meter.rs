//! What turns the connection table's events into rows.

use trustbed_flow::{Ack, Connection, Observer, Retransmission, Segment, Sight};
use trustbed_units::Span;

use crate::Transfer;
use crate::connection_row::ConnectionRow;
use crate::samples::Samples;
use crate::summary::LEAST_BYTES;
use crate::transfer_row::{Trail, TransferRow};

/// The options of an analysis, and what is known beside the capture.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent options, each named")]
pub struct Options {
    /// Where the capture was taken, for every transfer: beside the sender, the receiver or between.
    pub at: Option<crate::At>,
    /// Capacity of the path in bytes per second at IP level.
    pub capacity: Option<f64>,
    /// Drop packets that were captured twice.
    pub removes_duplicates: bool,
    /// Collect rows of the per-packet tables.
    pub samples: bool,
    /// Collect charts.
    pub series: bool,
    /// Measure the links at both ends by packet pairs.
    pub packet_pairs: bool,
    /// Collect when packets crossed the capture point, how long they were and who sent them.
    pub crossings: bool,
}

/// A connection that has ended, with its transfers.
#[derive(Debug)]
pub struct Ended {
    /// The packet at which it left the table; `u64::MAX` at the end of the capture.
    pub at_index: u64,
    /// The connection.
    pub connection: ConnectionRow,
    /// Its transfers, the initiator's first.
    pub transfers: Vec<Box<TransferRow>>,
    /// When its senders were active and silent, for what several connections of a host show
    /// together.
    pub trails: Vec<Trail>,
}

/// The observer of one connection table.
#[derive(Debug, Default)]
pub struct Meter {
    options: Options,
    /// Rows of the per-packet tables since they were last taken.
    pub samples: Option<Samples>,
    /// Connections that ended since they were last taken.
    pub ended: Vec<Ended>,
    /// The transfers that begin now are known to be too short to judge.
    brief: bool,
}

impl Meter {
    /// An observer.
    pub fn new(options: Options) -> Self {
        Self { options, samples: options.samples.then(Samples::default), ..Self::default() }
    }
}

impl Observer for Meter {
    type Transfer = Transfer;

    fn begin(&mut self, sight: &Sight<'_>, segment: &Segment) -> Transfer {
        let mut transfer = Transfer::begin(sight, segment, self.options, self.samples.as_mut());
        transfer.brief = self.brief;
        transfer
    }

    #[inline]
    fn on_data(
        &mut self,
        transfer: &mut Transfer,
        sight: &Sight<'_>,
        segment: &Segment,
        echoed: Option<Span>,
    ) {
        transfer.on_data(sight, segment, echoed, self.samples.as_mut());
    }

    #[inline]
    fn on_ack(&mut self, transfer: &mut Transfer, sight: &Sight<'_>, ack: &Ack) {
        transfer.on_ack(sight, ack, self.samples.as_mut());
    }

    fn on_disproved(
        &mut self,
        transfer: &mut Transfer,
        sight: &Sight<'_>,
        retransmission: &Retransmission,
    ) {
        transfer.on_disproved(sight, retransmission);
    }

    fn on_clock_step(&mut self, transfer: &mut Transfer) {
        transfer.on_clock_step();
    }

    #[inline]
    fn srtt(transfer: &Transfer) -> Option<Span> {
        transfer.srtt()
    }

    fn held_bytes(transfer: &Transfer) -> usize {
        transfer.held_bytes()
    }

    #[inline]
    fn touch(transfer: &Transfer) -> u64 {
        transfer.touch()
    }

    #[inline]
    fn removes_duplicates(&self) -> bool {
        self.options.removes_duplicates
    }

    /// Rows of single packets come with the batch that holds them.
    #[inline]
    fn has_time(&self) -> bool {
        self.samples.is_none()
    }

    fn will_end(&mut self, bytes: u64) {
        self.brief = bytes < LEAST_BYTES && !self.options.series;
    }

    fn ended(&mut self, mut connection: Connection<Transfer>, evicted: bool, at_index: u64) {
        self.brief = false;
        let row = ConnectionRow::of(&connection, self.options, evicted);
        let first = connection.initiator_direction();
        let mut transfers = Vec::with_capacity(connection.transfers.iter().flatten().count());
        let mut trails = Vec::new();
        for direction in [first, 1 - first] {
            if let Some(transfer) = connection.transfers[direction].take() {
                let (row, trail) =
                    TransferRow::of(&connection, direction, transfer, &row.location, self.options);
                transfers.push(row);
                trails.extend(trail);
            }
        }
        self.ended.push(Ended { at_index, connection: row, transfers, trails });
    }
}
