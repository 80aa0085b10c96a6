//! What a connection amounts to when it is over. Times are nanoseconds; `trustbed-record` states
//! what each column means.

use trustbed_flow::{Connection, Counters, State};
use trustbed_units::{Ns, Span};

use crate::capture_point::{At, CapturePointSource, Location};
use crate::{CapturePoint, Options};

/// One connection.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    clippy::struct_excessive_bools,
    reason = "each field is a column, described in trustbed-record"
)]
pub struct ConnectionRow {
    pub connection: u64,
    pub protocol: u8,
    pub initiator: ([u8; 16], u16),
    pub responder: ([u8; 16], u16),
    pub ipv6: bool,
    pub start: Ns,
    pub last: Ns,
    pub state: State,
    pub evicted: bool,
    pub midstream: bool,
    pub multipath: bool,
    pub from_initiator: Counters,
    pub from_responder: Counters,
    pub packets_after_close: u32,
    pub location: Location,
    pub handshake_rtt: Option<Span>,
    pub rtt_to_responder: Option<Span>,
    pub rtt_to_initiator: Option<Span>,
    pub opened: Option<Ns>,
    pub acknowledged_unseen: u64,
    pub forgotten_holes: u64,
    pub one_sided: bool,
    pub offloaded: bool,
    pub flags: Vec<&'static str>,
}

impl ConnectionRow {
    pub(crate) fn of<T>(connection: &Connection<T>, options: Options, evicted: bool) -> Self {
        let first = connection.initiator_direction();
        let (own, other) = (&connection.streams[first], &connection.streams[1 - first]);
        let mut location = Location::of(connection);
        if let Some(at) = options.at {
            let larger_by_initiator = own.counters.unique >= other.counters.unique;
            location.source = CapturePointSource::Given;
            location.point = match (at, larger_by_initiator) {
                (At::Sender, true) | (At::Receiver, false) => CapturePoint::Initiator,
                (At::Sender, false) | (At::Receiver, true) => CapturePoint::Responder,
                (At::Middle, _) => CapturePoint::Middle,
                (At::Unknown, _) => CapturePoint::Unknown,
            };
        }
        let handshake = &connection.handshake;
        let handshake_rtt = handshake
            .to_responder()
            .zip(handshake.to_initiator())
            .map(|(there, back)| there + back);
        Self {
            connection: connection.first_index,
            protocol: connection.key.protocol,
            initiator: connection.key.source(first),
            responder: connection.key.source(1 - first),
            ipv6: connection.ipv6,
            start: connection.start,
            last: connection.last,
            state: connection.state,
            evicted,
            midstream: connection.flags.midstream,
            multipath: own.seen.multipath && other.seen.multipath,
            from_initiator: own.counters,
            from_responder: other.counters,
            packets_after_close: connection.packets_after_close,
            location,
            handshake_rtt,
            rtt_to_responder: handshake.to_responder(),
            rtt_to_initiator: handshake.to_initiator(),
            opened: handshake.ack,
            acknowledged_unseen: own.acknowledged_unseen() + other.acknowledged_unseen(),
            forgotten_holes: own.forgotten_holes() + other.forgotten_holes(),
            one_sided: connection.key.protocol == 6
                && (own.counters.packets == 0 || other.counters.packets == 0),
            offloaded: own.seen.offloaded || other.seen.offloaded,
            flags: flags_of(connection),
        }
    }
}

fn flags_of<T>(connection: &Connection<T>) -> Vec<&'static str> {
    let [low, high] = &connection.streams;
    let flags = connection.flags;
    let either = |test: fn(&trustbed_flow::Seen) -> bool| test(&low.seen) || test(&high.seen);
    let all = [
        (flags.midstream, "midstream"),
        (flags.simultaneous_open, "simultaneous_open"),
        (flags.stray_syn, "stray_syn"),
        (flags.stray_reset, "stray_rst"),
        (flags.clock_step, "clock_step"),
        (flags.inner, "inner"),
        (flags.snapped, "snapped"),
        (flags.congestion_experienced, "congestion_experienced"),
        (either(|s| s.offloaded), "offloaded"),
        (either(|s| s.data_after_fin), "data_after_fin"),
        (either(|s| s.fragmented), "fragmented"),
        (either(|s| s.wild), "wild_seq"),
    ];
    all.into_iter().filter_map(|(set, name)| set.then_some(name)).collect()
}
