//! The server of streams: it listens, and sends each client that requests it the whole stream.
//! Over UDP one at a time, over TCP any number.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::stream::Stream;
use super::{Transport, tcp, udp};
use crate::session::workers;
use crate::session::{Failure, Session};
use crate::sys::listeners::Listeners;
use crate::sys::open_streams::OpenStreams;
use crate::sys::socket::{self, TcpOptions};

/// Streams at once over TCP.
const MOST_CONNECTIONS: usize = 256;
/// Streams that are reported.
const MOST_STREAMS: usize = 1000;
/// Room for the reports of a client.
const RECEIVE_BUFFER: u32 = 1 << 20;
/// A frame that leaves later than this is counted.
const LATE: Span = Span::from_millis(1);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendConfiguration {
    transport: Transport,
    listen: SocketAddr,
    media: Stream,
    #[serde(default)]
    tcp: TcpOptions,
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    listening: Vec<SocketAddr>,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    listening: SocketAddr,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    streams: Vec<Streamed>,
    /// Requests that came while another stream was sent, or that there were no means for.
    refused_requests: u64,
    error: Option<String>,
}

/// A stream as its server saw it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Streamed {
    peer: SocketAddr,
    frames: u64,
    packets: u64,
    payload_bytes: u64,
    retransmitted_packets: u64,
    /// Packets that the kernel did not take.
    unsent_packets: u64,
    /// The latest departure of a frame, after its time.
    late_max_ns: i64,
    frames_late_by_more_than_1ms: u64,
    pub(super) error: Option<String>,
}

impl Streamed {
    pub(super) fn of(peer: SocketAddr) -> Self {
        Self {
            peer,
            frames: 0,
            packets: 0,
            payload_bytes: 0,
            retransmitted_packets: 0,
            unsent_packets: 0,
            late_max_ns: 0,
            frames_late_by_more_than_1ms: 0,
            error: None,
        }
    }

    /// A frame leaves, so long after its time.
    pub(super) fn on_frame(&mut self, late: Span) {
        self.frames += 1;
        self.late_max_ns = self.late_max_ns.max(late.0);
        self.frames_late_by_more_than_1ms += u64::from(late > LATE);
    }

    /// A packet was sent, or refused by the kernel.
    pub(super) fn on_packet(&mut self, bytes: usize, transmission: u8, error: Option<&io::Error>) {
        if let Some(error) = error {
            self.unsent_packets += 1;
            self.error.get_or_insert_with(|| error.to_string());
            return;
        }
        self.packets += 1;
        self.payload_bytes += bytes as u64;
        self.retransmitted_packets += u64::from(transmission > 0);
    }
}

/// Runs the server.
pub(super) fn run(session: &Session, configuration: &SendConfiguration) -> Result<(), Failure> {
    configuration.media.check()?;
    let (stop, media) = (session.stop(), configuration.media);
    let open = Arc::new(OpenStreams::default());
    let (listening, thread) = match configuration.transport {
        Transport::Udp => {
            let socket = socket::datagrams_at(configuration.listen, RECEIVE_BUFFER)?;
            let listening = socket.local_addr().unwrap_or(configuration.listen);
            let serve = move || {
                let (streams, refused_requests) = udp::serve(&socket, media, stop);
                Report { start_ns: None, streams, refused_requests, error: None }
            };
            (listening, workers::spawn("media", serve)?)
        }
        Transport::Tcp => {
            let listeners = Listeners::open(&[configuration.listen], &configuration.tcp)?;
            let listening = listeners.addresses().first().copied().unwrap_or(configuration.listen);
            let open = Arc::clone(&open);
            let serve = move || {
                let mut streams = Vec::new();
                let begin = move |number, stream: TcpStream, ended| {
                    let open = Arc::clone(&open);
                    workers::spawn_signalling("media", ended, move || {
                        let _entry = open.add(number, &stream).ok()?;
                        tcp::serve(&stream, media, stop)
                    })
                };
                let refused = listeners.serve(stop, MOST_CONNECTIONS, begin, |streamed| {
                    if streams.len() < MOST_STREAMS {
                        streams.extend(streamed);
                    }
                });
                Report {
                    start_ns: None,
                    streams,
                    refused_requests: refused.connections,
                    error: refused.error,
                }
            };
            (listening, workers::spawn("media", serve)?)
        }
    };
    session.ready(&ReadyBody { listening: vec![listening] })?;
    // It answers from now on: clients have their own start.
    let started = workers::wait_for_start(session);
    let outcome = match &started {
        Ok(Some(_)) => {
            workers::supervise(session, || thread.is_finished(), || ProgressBody { listening })
        }
        _ => Ok(()),
    };
    stop.request();
    open.end();
    let report = workers::join("media", thread)?;
    let start = started?;
    outcome?;
    session.report(&Report { start_ns: start.map(|start| start.realtime.0), ..report })
}
