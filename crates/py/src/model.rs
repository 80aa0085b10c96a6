//! What Python sees of the extraction of a traffic model: a function and three tables.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trustbed_analyze::{ConnectionRow, Ended as Finished, Options, Rows, TransferRow};
use trustbed_capture::{CaptureFacts, Input, Reader};
use trustbed_flow::{Limits, State};
use trustbed_record::{
    RecordError, Spool, Table as Columns, model_connections, model_hosts, model_rows, model_units,
};
use trustbed_traffic::structural::{
    Class, Classes, Content, Datagrams, Extraction, Flight, Link, Observed, Thresholds, Unit,
    bursts, fixed_window, pairs, parts, repeat,
};
use trustbed_units::{Ns, Span};
use trustbed_wire::{DecodeOptions, Skip};

use crate::facts;
use crate::profile::Profiles;
use crate::run::{Plan, Takes, hash_secret, pass};
use crate::tables::{Failure, Table, interruptible, io_error};

const UDP: u8 = 17;
/// Ports below are of services.
const FIRST_UNRESERVED: u16 = 1024;
/// Payload of a datagram that fills a packet of 1500 bytes.
const LARGEST_DATAGRAM: u64 = 1472;
/// Connections of a shard that are kept after their end, for packets that come late: they say
/// nothing of the model, and cost memory.
const LINGERING: usize = 8;

/// Connections, units and hosts of a model, what was counted on the way, and what the packets
/// looked like in either direction.
#[pyclass(frozen, module = "trustbed._core")]
pub(crate) struct ModelTables {
    #[pyo3(get)]
    connections: Py<Table>,
    #[pyo3(get)]
    units: Py<Table>,
    #[pyo3(get)]
    hosts: Py<Table>,
    #[pyo3(get)]
    counts: Py<PyDict>,
    #[pyo3(get)]
    profiles: Py<PyList>,
}

/// Learns a model from captures in one pass; None without a connection that carried data.
#[pyfunction]
#[pyo3(signature = (
    paths, *, classes, session_gap_ns, exchange_gap_ns, workers=1, inner=false, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn extract_model(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    classes: Vec<(String, u8, Vec<u16>)>,
    session_gap_ns: i64,
    exchange_gap_ns: i64,
    workers: usize,
    inner: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Option<ModelTables>> {
    let inputs: Vec<Input> = paths.into_iter().map(Input::Path).collect();
    let classes =
        classes.into_iter().map(|(name, protocol, ports)| Class { name, protocol, ports });
    let thresholds = Thresholds { session: Span(session_gap_ns), exchange: Span(exchange_gap_ns) };
    let mut learner = Learner {
        extraction: Extraction::new(Classes::new(classes.collect()), thresholds),
        counts: Counts::default(),
        profiles: Profiles::new().map_err(|error| PyValueError::new_err(error.to_string()))?,
    };
    // A copy of a packet (`-i any`, a mirror port) is no retransmission, and no loss.
    let options = Options {
        packet_pairs: true,
        crossings: true,
        removes_duplicates: true,
        ..Options::default()
    };
    let limits = Limits { lingering: LINGERING, hash_secret: hash_secret(), ..Limits::default() };
    let mut report = interruptible(progress);
    let done = py.detach(|| {
        let mut reader = Reader::open(&inputs, DecodeOptions { inner }).map_err(Failure::Open)?;
        pass(&mut reader, &Plan::whole(options, limits, workers), &mut learner, &mut report)?;
        Ok::<_, Failure>(missing(&reader.facts()))
    });
    let missing = done.map_err(|failure| failure.into_python(py))?;
    let counts = learner.counts;
    let (unclassed, silent) = (learner.extraction.unclassed, learner.extraction.silent);
    let left_out = learner.extraction.left_out;
    let Some(extracted) = py.detach(|| learner.extraction.finish()) else { return Ok(None) };
    let duration = extracted.duration;
    let (connections, units, hosts) = py.detach(|| model_rows(extracted));
    let found = PyDict::new(py);
    for (name, number) in [
        ("one_sided", counts.one_sided),
        ("unanswered", counts.unanswered),
        ("without_handshake", counts.midstream),
        ("concurrent", counts.concurrent),
        ("incomplete", counts.incomplete),
        ("repeated", counts.repeated),
        ("offloaded", counts.offloaded),
        ("unclassed", unclassed),
        ("without_data", silent),
        ("left_out", left_out),
        ("connections", counts.connections),
    ]
    .into_iter()
    .chain(missing)
    {
        found.set_item(name, number)?;
    }
    found.set_item("duration_ns", duration.0)?;
    Ok(Some(ModelTables {
        connections: table(py, model_connections(), connections)?,
        units: table(py, model_units(), units)?,
        hosts: table(py, model_hosts(), hosts)?,
        counts: found.unbind(),
        profiles: learner.profiles.finish(py)?.unbind(),
    }))
}

/// What the link carried and the capture does not show.
fn missing(facts: &CaptureFacts) -> [(&'static str, u64); 4] {
    let unread = facts.skips.iter().filter(|skip| {
        matches!(
            skip.reason,
            Skip::Truncated | Skip::BadHeader | Skip::FragmentWithoutFirst | Skip::UnsupportedLink
        )
    });
    let others =
        facts.skips.iter().filter(|s| matches!(s.reason, Skip::OtherProtocol | Skip::Tunnel));
    let further: u64 = facts.problems_left_out.iter().map(|(_, count)| count).sum();
    [
        ("dropped_packets", facts::dropped(facts)),
        ("unread_packets", unread.map(|skip| skip.records).sum()),
        ("other_packets", others.map(|skip| skip.records).sum()),
        ("damaged_places", further.saturating_add(facts.problems.len() as u64)),
    ]
}

fn table<R>(py: Python<'_>, columns: Columns<R>, rows: Vec<R>) -> PyResult<Py<Table>> {
    let mut spool = Spool::new(columns);
    rows.into_iter().try_for_each(|row| spool.push(row)).map_err(|error| io_error(&error))?;
    Py::new(py, Table::new([spool.finish().map_err(|error| io_error(&error))?]))
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    connections: u64,
    one_sided: u64,
    unanswered: u64,
    midstream: u64,
    concurrent: u64,
    incomplete: u64,
    repeated: u64,
    offloaded: u64,
}

/// Takes connections as they end, and packets as they pass.
struct Learner {
    extraction: Extraction,
    counts: Counts,
    profiles: Profiles,
}

impl Takes for Learner {
    fn take(&mut self, rows: Rows) -> Result<(), RecordError> {
        self.profiles.push(&rows.crossings);
        for ended in rows.ended {
            let counts = &mut self.counts;
            counts.connections += 1;
            counts.offloaded += u64::from(ended.connection.offloaded);
            if ended.connection.one_sided {
                // A SYN that nobody answered says nothing about the capture.
                let row = &ended.connection;
                let heard = row.from_initiator.payload + row.from_responder.payload > 0
                    || row.from_initiator.pure_acks + row.from_responder.pure_acks > 0;
                counts.one_sided += u64::from(heard);
                counts.unanswered += u64::from(!heard);
                continue;
            }
            counts.midstream += u64::from(ended.connection.midstream);
            let observed = observed(&ended);
            counts.concurrent += u64::from(matches!(observed.content, Content::Streams(_)));
            counts.incomplete += u64::from(observed.incomplete);
            let more = ended.transfers.iter().any(|t| t.exchanges_more > 0);
            counts.repeated += u64::from(more && matches!(observed.content, Content::Pairs(_)));
            self.extraction.add(observed);
        }
        Ok(())
    }
}

fn observed(ended: &Finished) -> Observed {
    let row = &ended.connection;
    let rows = ended.transfers.iter().map(|row| &**row);
    let transfer = |by_responder| rows.clone().find(|t| t.id.by_responder == by_responder);
    let sides = [transfer(false), transfer(true)];
    let last = sides.into_iter().flatten().filter_map(|t| Some(t.start + t.last_new?.0)).max();
    let content = if row.protocol == UDP { datagrams(row) } else { content(row, sides) };
    // Who spoke first of the datagrams that were captured is not always who began.
    let turned = row.protocol == UDP
        && row.initiator.1 < FIRST_UNRESERVED
        && row.responder.1 >= FIRST_UNRESERVED;
    let (client, server, content) = match content {
        Content::Datagrams([first, second]) if turned => {
            (row.responder, row.initiator, Content::Datagrams([second, first]))
        }
        content => (row.initiator, row.responder, content),
    };
    Observed {
        start: row.start,
        end: last.unwrap_or(row.last),
        client: client.0,
        server: server.0,
        port: server.1,
        protocol: row.protocol,
        partial: row.midstream
            || !matches!(row.state, State::Closed | State::Reset | State::Datagrams),
        incomplete: row.acknowledged_unseen > 0
            || sides.into_iter().flatten().any(|t| t.crossed && t.exchanges_more > 0),
        // Without its handshake a side's usual packet is known, not its largest.
        packet_bytes: sides
            .map(|side| side.filter(|_| !row.midstream).map_or(0, |t| t.packet_bytes)),
        window_bytes: windows(row, sides),
        content,
        links: links(row, sides),
    }
}

/// The fixed windows of both ends: of each, what it offered the data of the other.
fn windows(row: &ConnectionRow, sides: [Option<&TransferRow>; 2]) -> [u32; 2] {
    let [client, server] = sides;
    [server, client].map(|came| {
        came.filter(|t| !row.midstream && !t.window_estimated)
            .and_then(|t| {
                let round_trip = row.rtt_to_initiator? + row.rtt_to_responder?;
                let window = fixed_window(t.window_first?, t.window_max?, fastest(t, round_trip))?;
                Some(window)
            })
            .unwrap_or(0)
    })
}

/// The most bytes that came in a round trip, of any unit as large as that.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "bytes and times of a unit"
)]
fn fastest(t: &TransferRow, round_trip: Span) -> Flight {
    let most = t.exchanges.iter().map(|unit| {
        let lasted = (unit.end - unit.start).max(round_trip).max(Span(1));
        unit.bytes as f64 * (round_trip.0 as f64 / lasted.0 as f64).min(1.0)
    });
    Flight {
        carried: t.last_new.map_or(0, |(_, bytes)| bytes),
        per_round_trip: most.fold(0.0, f64::max) as u64,
    }
}

fn content(row: &ConnectionRow, sides: [Option<&TransferRow>; 2]) -> Content {
    let crossed = sides.into_iter().flatten().any(|t| t.crossed);
    if crossed && sides.iter().all(Option::is_some) {
        let started = row.opened.unwrap_or(row.start);
        let there = row.rtt_to_responder.unwrap_or(Span::ZERO);
        return Content::Streams([(sides[0], Span::ZERO), (sides[1], there)].map(
            |(side, away)| {
                side.map_or_else(Vec::new, |t| {
                    let silences =
                        t.quiet.iter().map(|q| (t.start + q.from, t.start + q.until, q.bytes));
                    let bytes = t.last_new.map_or(0, |(_, bytes)| bytes);
                    bursts(Some(started + away), t.start, silences, bytes)
                })
            },
        ));
    }
    let units = |side: Option<&TransferRow>| -> Vec<Unit> {
        let Some(t) = side else { return Vec::new() };
        let silences = t.quiet.iter().map(|q| (q.from, q.until, q.bytes));
        let mut before = 0;
        let mut found = Vec::with_capacity(t.exchanges.len());
        for one in &t.exchanges {
            let whole = Unit { first: Ns(one.start.0), last: Ns(one.end.0), bytes: one.bytes };
            let within = silences.clone().map(|(from, until, bytes)| {
                (Ns(from.0), Ns(until.0), bytes.saturating_sub(before))
            });
            found.extend(parts(whole, within));
            before += one.bytes;
        }
        found.iter().map(|one| one.after(t.start)).collect()
    };
    let away = [row.rtt_to_initiator, row.rtt_to_responder].map(|rtt| rtt.unwrap_or(Span::ZERO));
    let mut found = pairs(&units(sides[0]), &units(sides[1]), row.opened, away);
    if sides.into_iter().flatten().any(|t| t.exchanges_more > 0) {
        let all = sides.map(|t| t.and_then(|t| t.last_new).map_or(0, |(_, bytes)| bytes));
        repeat(&mut found, all);
    }
    Content::Pairs(found)
}

/// Datagrams at equal distances.
fn datagrams(row: &ConnectionRow) -> Content {
    // A clock that was set back in between leaves no time.
    let lasts = (row.last - Ns(row.start.0)).max(Span::ZERO);
    Content::Datagrams([&row.from_initiator, &row.from_responder].map(|counters| {
        // What a host takes apart or puts together (GSO, GRO) is several on the link.
        let packets = counters.packets.max(counters.payload.div_ceil(LARGEST_DATAGRAM));
        let gaps = i64::try_from(packets.saturating_sub(1)).unwrap_or(i64::MAX);
        let gap = if gaps > 0 { Span(lasts.0 / gaps) } else { Span::ZERO };
        Datagrams { packets, bytes: counters.payload, gap }
    }))
}

fn links(row: &ConnectionRow, sides: [Option<&TransferRow>; 2]) -> [Link; 2] {
    let rtts = [row.rtt_to_initiator, row.rtt_to_responder];
    [0, 1].map(|side: usize| {
        let (own, other) = (sides[side], sides[1 - side]);
        let pairs = |t: Option<&TransferRow>, sent: bool| {
            let found = t.and_then(|t| t.packet_pairs.as_deref());
            found.map_or_else(Vec::new, |p| if sent { p.sent.clone() } else { p.answered.clone() })
        };
        let lost = |t: &TransferRow| u64::from(t.counters.lost_upstream);
        Link {
            round_trip: rtts[side],
            toward: pairs(own, true),
            from: pairs(other, false),
            carried: own.and_then(|t| t.packet_pairs.as_ref()?.carried.fastest),
            sent: own.map_or([0; 2], |t| [t.segments_wire + lost(t), lost(t)]),
            received: other.map_or([0; 2], |t| {
                // Of what nobody ever answered it is not known who failed, the link or the host.
                let vain = t
                    .exchanges
                    .iter()
                    .filter(|unit| unit.acknowledged.is_none())
                    .map(|unit| u64::from(unit.retransmitted))
                    .sum::<u64>();
                let again = u64::from(t.counters.retransmitted - t.counters.spurious);
                [t.segments_wire.saturating_sub(vain), again.saturating_sub(vain)]
            }),
        }
    })
}
