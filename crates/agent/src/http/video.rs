//! The verb `video`: a player that fetches a video chunk by chunk over one connection, each at a
//! rate that it chooses, and plays it.
//!
//! Nothing is shown: a chunk is an object of the verb `serve`, as long as its rate and duration
//! make it. A chunk that fails is requested again until the video is complete or stop is requested,
//! on a new connection.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::adaptation::{Adaptation, Rule};
use super::client::{self, Exchange, Fault, Request};
use super::playback::Playback;
use super::video_rows::{self, Chunk};
use crate::output::rows::{Rows, RowsWritten};
use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::clock;
use crate::sys::open_streams::OpenStreams;
use crate::sys::socket::{self, Granted, TcpOptions};
use crate::traffic::send::Origin;

const SHORTEST_WAIT: Span = Span::from_millis(10);
const LONGEST_WAIT: Span = Span::from_secs(1);
const MOST_RATES: usize = 64;
const SHORTEST_SEGMENT: u64 = 100_000_000;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    to: SocketAddr,
    from: Option<Origin>,
    /// How long the video plays.
    duration_ns: u64,
    /// How long a chunk plays; the last one plays what is left.
    segment_ns: u64,
    /// Ascending.
    rates_bits_per_second: Vec<u64>,
    rule: Rule,
    /// The most media that is kept.
    buffer_ns: u64,
    /// Of a request, connecting included.
    #[serde(default = "a_minute")]
    timeout_ns: u64,
    /// Where every chunk is written down. Nowhere by default.
    rows: Option<PathBuf>,
    #[serde(default)]
    tcp: TcpOptions,
}

const fn a_minute() -> u64 {
    60_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    to: SocketAddr,
    chunks: u32,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    chunks: u64,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    /// Chunks that came, and those that the video has.
    chunks: u32,
    video_chunks: u32,
    payload_bytes: u64,
    stalled_ns: i64,
    connections: u64,
    failed_requests: u64,
    #[serde(flatten)]
    granted: Option<Granted>,
    rows: Option<RowsWritten>,
    /// Why the video is not complete.
    error: Option<String>,
}

/// What the fetching thread needs.
struct Player {
    configuration: Configuration,
    start: Start,
    stop: Stop,
    open: Arc<OpenStreams>,
    chunks: Arc<AtomicU64>,
    adaptation: Adaptation,
    playback: Playback,
    /// Stalls that are in a row already.
    told: Span,
    connection: Option<TcpStream>,
    rows: Option<Rows>,
    report: Report,
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    check(&configuration)?;
    let origin = configuration.from.map(|origin| origin.0);
    // Wrong options or a wrong own address fail before anything begins.
    drop(configuration.tcp.socket(configuration.to, origin)?);
    let rows = configuration.rows.as_deref().map(video_rows::create).transpose()?;
    let video_chunks = chunks_of(&configuration);
    session.ready(&ReadyBody { to: configuration.to, chunks: video_chunks })?;
    let Some(start) = workers::wait_for_start(session)? else {
        let rows = rows.map(Rows::finish);
        return session.report(&Report { video_chunks, rows, ..Report::default() });
    };
    let _ = session.stop().wait_until(start.monotonic);
    let (open, chunks) = (Arc::new(OpenStreams::default()), Arc::new(AtomicU64::new(0)));
    let player = Player {
        adaptation: Adaptation::new(
            configuration.rule,
            configuration.rates_bits_per_second.clone(),
            span(configuration.buffer_ns),
            span(configuration.segment_ns),
        ),
        playback: Playback::default(),
        told: Span::ZERO,
        connection: None,
        rows,
        report: Report { video_chunks, ..Report::default() },
        start,
        stop: session.stop(),
        open: Arc::clone(&open),
        chunks: Arc::clone(&chunks),
        configuration,
    };
    let thread = workers::spawn("video", move || player.play())?;
    let outcome = workers::supervise(
        session,
        || thread.is_finished(),
        || ProgressBody { chunks: chunks.load(Ordering::Relaxed) },
    );
    open.end();
    let report = workers::join("video", thread)?;
    outcome?;
    session.report(&report)
}

fn check(configuration: &Configuration) -> Result<(), Failure> {
    let rates = &configuration.rates_bits_per_second;
    let ascend = rates.windows(2).all(|pair| pair[0] < pair[1]);
    if rates.is_empty() || rates.len() > MOST_RATES || rates[0] < 1000 || !ascend {
        return Err(Failure::configuration(
            "rates_bits_per_second: there is none, or they do not ascend",
            format!("give from 1 to {MOST_RATES} rates of at least 1000, the lowest first"),
        ));
    }
    if configuration.segment_ns < SHORTEST_SEGMENT {
        return Err(Failure::configuration(
            format!("segment_ns: {} is out of range", configuration.segment_ns),
            format!("give {SHORTEST_SEGMENT} at least"),
        ));
    }
    if configuration.duration_ns == 0 || chunks_of(configuration) == u32::MAX {
        return Err(Failure::configuration(
            format!("duration_ns: {} is out of range", configuration.duration_ns),
            "give how long the video plays",
        ));
    }
    if configuration.buffer_ns / 2 < configuration.segment_ns {
        return Err(Failure::configuration(
            format!("buffer_ns: {} is less than two segments", configuration.buffer_ns),
            "give at least twice segment_ns: one is played while the next one comes",
        ));
    }
    Ok(())
}

fn chunks_of(configuration: &Configuration) -> u32 {
    let chunks = configuration.duration_ns.div_ceil(configuration.segment_ns.max(1));
    u32::try_from(chunks).unwrap_or(u32::MAX)
}

impl Player {
    /// Fetches all chunks.
    fn play(mut self) -> Report {
        for number in 0..self.report.video_chunks {
            if let Err(fault) = self.fetch(number) {
                self.report.error = (fault != Fault::Stopped).then(|| fault.name().to_owned());
                break;
            }
            self.report.chunks += 1;
            self.chunks.fetch_add(1, Ordering::Relaxed);
        }
        self.report.start_ns = Some(self.start.realtime.0);
        self.report.end_ns = Some((self.start.realtime + self.start.elapsed()).0);
        self.report.stalled_ns = self.playback.stalled().0;
        self.report.rows = self.rows.map(Rows::finish);
        self.report
    }

    /// How long a chunk plays.
    fn media_of(&self, number: u32) -> Span {
        let segment = self.configuration.segment_ns;
        let begin = u64::from(number) * segment;
        span(segment.min(self.configuration.duration_ns.saturating_sub(begin)))
    }

    /// Fetches a chunk, again and again until it has come; fails when stop is requested.
    fn fetch(&mut self, number: u32) -> Result<(), Fault> {
        let media = self.media_of(number);
        self.playback.advance(self.start.elapsed());
        let room = self.playback.wait_for_room(media, span(self.configuration.buffer_ns));
        self.pause(room);
        self.playback.advance(self.start.elapsed());
        let rate = self.adaptation.choose(self.playback.left());
        let mut wait = SHORTEST_WAIT;
        while !self.stop.is_requested() {
            self.playback.advance(self.start.elapsed());
            let asked = self.start.elapsed();
            let before = self.playback.left();
            let mut chunk = Chunk { number, media, rate, asked, before, ..Chunk::default() };
            let outcome = self.ask(&request(&self.configuration, rate, media), &mut chunk);
            let outcome = outcome
                .map_err(|fault| if self.stop.is_requested() { Fault::Stopped } else { fault });
            self.on_ended(chunk, outcome);
            match outcome {
                Ok(()) => return Ok(()),
                // Another answer would be the same.
                Err(fault @ (Fault::Stopped | Fault::NotUnderstood | Fault::WrongContent)) => {
                    return Err(fault);
                }
                Err(_) => {
                    self.report.failed_requests += 1;
                    self.pause(wait);
                    wait = Span(2 * wait.0).min(LONGEST_WAIT);
                }
            }
        }
        Err(Fault::Stopped)
    }

    /// Writes a request down, and puts what came into the buffer.
    fn on_ended(&mut self, mut chunk: Chunk, outcome: Result<(), Fault>) {
        let Exchange { last_byte, bytes, .. } = chunk.exchange;
        self.report.payload_bytes += bytes;
        if let (Ok(()), Some(last)) = (outcome, last_byte) {
            self.playback.on_chunk(chunk.media, last);
            self.adaptation.on_chunk(bytes, last - chunk.asked);
        } else {
            self.playback.advance(self.start.elapsed());
        }
        chunk.after = self.playback.left();
        chunk.stall = self.playback.stalled() - self.told;
        chunk.fault = outcome.err();
        self.told = self.playback.stalled();
        if let Some(rows) = &mut self.rows {
            chunk.append(rows);
        }
    }

    /// Requests a chunk on the connection that there is, or on a new one.
    fn ask(&mut self, request: &Request, chunk: &mut Chunk) -> Result<(), Fault> {
        let until = chunk.asked + span(self.configuration.timeout_ns);
        let stream = match self.connection.take() {
            Some(stream) => stream,
            None => self.connect(until - chunk.asked).map_err(|error| Fault::of(&error))?,
        };
        let outcome = {
            let _entry = self.open.add(0, &stream).map_err(|error| Fault::of(&error))?;
            client::ask(&stream, request, (&self.start, until), &mut chunk.exchange)
        };
        if outcome.is_ok() && chunk.exchange.keep {
            self.connection = Some(stream);
        }
        match outcome {
            Ok(()) if !client::answered(&chunk.exchange) => Err(Fault::WrongContent),
            outcome => outcome,
        }
    }

    fn connect(&mut self, timeout: Span) -> std::io::Result<TcpStream> {
        let Configuration { to, from, tcp, .. } = &self.configuration;
        let stream = tcp.connect(*to, from.map(|origin| origin.0), timeout, self.stop)?;
        self.report.connections += 1;
        self.report.granted.get_or_insert_with(|| socket::granted(&stream));
        Ok(stream)
    }

    /// Sleeps; shorter when stop is requested.
    fn pause(&self, span: Span) {
        if span > Span::ZERO {
            let _ = self.stop.wait_until(clock::monotonic() + span);
        }
    }
}

/// The request for a chunk of a rate and duration.
fn request(configuration: &Configuration, rate: u64, media: Span) -> Request {
    let bits = u128::from(rate) * u128::from(media.0.max(0).unsigned_abs()) / 1_000_000_000;
    let bytes = u64::try_from(bits / 8).unwrap_or(u64::MAX).max(1);
    let head = format!(
        "GET /bytes/{bytes} HTTP/1.1\r\nHost: {}\r\nUser-Agent: trustbed\r\nAccept: */*\r\n\r\n",
        configuration.to
    );
    Request { head: head.into_bytes(), bytes: Some(bytes), check: false }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn configuration(changed: &[(&str, serde_json::Value)]) -> Configuration {
        let mut found = json!({
            "to": "127.0.0.1:8000", "duration_ns": 10_000_000_000_u64,
            "segment_ns": 4_000_000_000_u64, "rates_bits_per_second": [1_000_000, 2_500_000],
            "rule": "buffer", "buffer_ns": 20_000_000_000_u64,
        });
        for (key, value) in changed {
            found[*key] = value.clone();
        }
        serde_json::from_value(found).unwrap()
    }

    #[test]
    fn a_chunk_has_the_bytes_of_its_rate_and_duration() {
        let configuration = configuration(&[]);
        assert_eq!(chunks_of(&configuration), 3);
        let request = request(&configuration, 2_500_000, Span::from_secs(4));
        assert_eq!(request.bytes, Some(1_250_000));
        assert!(request.head.starts_with(b"GET /bytes/1250000 HTTP/1.1\r\n"));
    }

    #[test]
    fn a_video_that_cannot_be_played_is_refused() {
        assert!(check(&configuration(&[])).is_ok());
        for (key, value) in [
            ("rates_bits_per_second", json!([])),
            ("rates_bits_per_second", json!([2_000_000, 1_000_000])),
            ("rates_bits_per_second", json!([10])),
            ("segment_ns", json!(1)),
            ("duration_ns", json!(0)),
            ("buffer_ns", json!(7_999_999_999_u64)),
        ] {
            assert_eq!(
                check(&configuration(&[(key, value)]))
                    .map_err(|failure| failure.message().len() > 9),
                Err(true),
                "{key}"
            );
        }
    }
}
