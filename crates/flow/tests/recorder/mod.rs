//! An observer that writes down everything that a table reports.
#![allow(dead_code, reason = "every test file uses its own part")]

use trustbed_flow::{
    Ack, Cause, Class, Connection, Limits, Observer, Retransmission, RttOutcome, Segment, Sight,
    Stream, Table, TableFacts,
};
use trustbed_units::{Ns, Span};
use trustbed_wire::{Batch, Options, Packet};

/// What is stored per transfer: a smoothed round-trip time.
#[derive(Debug, Default)]
pub(crate) struct PerTransfer {
    srtt: Option<Span>,
}

/// Something that the table reported.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    Begin { connection: u64, direction: usize },
    Data { direction: usize, segment: Segment, echoed: Option<Span> },
    Ack { direction: usize, ack: Ack, window: u32, outstanding: i64 },
    Disproved(Retransmission),
    ClockStep,
}

/// A connection that left the table.
#[derive(Debug)]
pub(crate) struct Gone {
    pub(crate) connection: Connection<PerTransfer>,
    pub(crate) evicted: bool,
    pub(crate) at_index: u64,
}

/// Everything that was reported.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) events: Vec<Event>,
    pub(crate) gone: Vec<Gone>,
    pub(crate) facts: TableFacts,
    pub(crate) removes_duplicates: bool,
    pub(crate) has_time: bool,
}

impl Observer for Recorder {
    type Transfer = PerTransfer;

    fn begin(&mut self, sight: &Sight<'_>, _: &Segment) -> PerTransfer {
        self.events.push(Event::Begin { connection: sight.connection, direction: sight.direction });
        PerTransfer::default()
    }

    fn on_data(
        &mut self,
        _: &mut PerTransfer,
        sight: &Sight<'_>,
        segment: &Segment,
        echoed: Option<Span>,
    ) {
        self.events.push(Event::Data { direction: sight.direction, segment: *segment, echoed });
    }

    fn on_ack(&mut self, transfer: &mut PerTransfer, sight: &Sight<'_>, ack: &Ack) {
        if let RttOutcome::Sample { rtt, .. } = ack.rtt {
            transfer.srtt = Some(transfer.srtt.map_or(rtt, |old| Span(old.0 / 8 * 7 + rtt.0 / 8)));
        }
        let (window, outstanding) = (sight.peer.window, sight.stream.outstanding());
        self.events.push(Event::Ack { direction: sight.direction, ack: *ack, window, outstanding });
    }

    fn on_disproved(
        &mut self,
        _: &mut PerTransfer,
        _: &Sight<'_>,
        retransmission: &Retransmission,
    ) {
        self.events.push(Event::Disproved(*retransmission));
    }

    fn on_clock_step(&mut self, _: &mut PerTransfer) {
        self.events.push(Event::ClockStep);
    }

    fn srtt(transfer: &PerTransfer) -> Option<Span> {
        transfer.srtt
    }

    fn held_bytes(_: &PerTransfer) -> usize {
        size_of::<PerTransfer>()
    }

    fn touch(transfer: &PerTransfer) -> u64 {
        transfer.srtt.map_or(0, |srtt| srtt.0.unsigned_abs())
    }

    fn removes_duplicates(&self) -> bool {
        self.removes_duplicates
    }

    fn has_time(&self) -> bool {
        self.has_time
    }

    fn ended(&mut self, connection: Connection<PerTransfer>, evicted: bool, at_index: u64) {
        self.gone.push(Gone { connection, evicted, at_index });
    }
}

pub(crate) fn table(limits: Limits) -> Table<Recorder> {
    Table::new(limits)
}

pub(crate) fn feed(
    table: &mut Table<Recorder>,
    packet: &Packet,
    options: Option<&Options>,
    epoch: u32,
    recorder: &mut Recorder,
) {
    table.on_packet(packet, options, epoch, recorder);
}

/// Runs packets through a table and ends it.
pub(crate) fn record(batch: &Batch) -> Recorder {
    record_with(batch, Limits::default(), false)
}

pub(crate) fn record_with(batch: &Batch, limits: Limits, removes_duplicates: bool) -> Recorder {
    let mut recorder = Recorder { removes_duplicates, ..Recorder::default() };
    let mut table = table(limits);
    for packet in &batch.packets {
        feed(&mut table, packet, batch.options_of(packet), 0, &mut recorder);
    }
    table.finish(&mut recorder);
    recorder.facts = table.facts();
    recorder
}

impl Recorder {
    /// Data packets of a direction.
    pub(crate) fn data(&self, direction: usize) -> Vec<Segment> {
        let data = self.events.iter().filter_map(|event| match event {
            Event::Data { direction: d, segment, .. } if *d == direction => Some(*segment),
            _ => None,
        });
        data.collect()
    }

    /// Packets of the receiver of a direction's data.
    pub(crate) fn acks(&self, direction: usize) -> Vec<Ack> {
        let acks = self.events.iter().filter_map(|event| match event {
            Event::Ack { direction: d, ack, .. } if *d == direction => Some(*ack),
            _ => None,
        });
        acks.collect()
    }

    /// The client's data packets as `class` or `class/cause`.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.data(0).iter().map(label).collect()
    }

    /// What the server's packets showed of round-trip times.
    pub(crate) fn round_trips(&self) -> Vec<RttOutcome> {
        self.acks(0).iter().map(|ack| ack.rtt).collect()
    }

    /// The samples among them: when, and how long.
    pub(crate) fn samples(&self) -> Vec<(Ns, Span)> {
        let samples = self.acks(0).into_iter().filter_map(|ack| match ack.rtt {
            RttOutcome::Sample { rtt, .. } => Some((ack.now, rtt)),
            _ => None,
        });
        samples.collect()
    }

    /// The only connection there was.
    pub(crate) fn only(&self) -> &Connection<PerTransfer> {
        assert_eq!(self.gone.len(), 1, "one connection is expected");
        &self.gone[0].connection
    }

    /// The direction from the lower endpoint (the client, as a rule) of the only connection.
    pub(crate) fn client(&self) -> &Stream {
        &self.only().streams[0]
    }

    pub(crate) fn server(&self) -> &Stream {
        &self.only().streams[1]
    }
}

pub(crate) fn label(segment: &Segment) -> String {
    match (segment.class, segment.cause) {
        (class, Cause::None) => class.name().to_owned(),
        (Class::Retransmission, Cause::TailLossProbe) => "retransmission/timeout/tlp".to_owned(),
        (class, cause) => format!("{}/{}", class.name(), cause.name()),
    }
}
