//! The packets of one source, in order of time.

use std::sync::Arc;

use trustbed_units::Span;

use crate::playback::PlaybackCounts;
use crate::seed::{below, generator};
use crate::{
    ByteArrivals, Cbr, CbrDescription, Description, Headers, PacketArrivals, Playback,
    PlaybackDescription, PoissonDescription, PoissonMode, Recording, Release, TrafficError,
};

/// A packet of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When it must leave, after the start.
    pub due: Span,
    /// Its IP length.
    pub length: u32,
    /// What the sender hands to the socket.
    pub payload: u32,
}

/// One source, as a sender runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What it sends.
    pub model: Description,
    /// What its packets are wrapped in.
    pub headers: Headers,
    /// How packets are released when they are due.
    pub release: Release,
    /// Of its random numbers.
    pub seed: u64,
    /// Packets due then or later are not sent. Without it a model never ends; a recording does.
    pub duration: Option<Span>,
}

/// The packets of one source, in order of time.
///
/// Sources with constant rate, and those that draw bytes per unit, begin at a random moment of
/// their period or unit, so that several of them do not send in step.
///
/// ```
/// use trustbed_traffic::{Headers, IpVersion, Release, Schedule, Source, Transport};
/// use trustbed_units::Span;
/// let model = r#"{"kind": "cbr", "rate_bits_per_second": 40000000}"#;
/// let source = Source {
///     model: serde_json::from_str(model).unwrap(),
///     headers: Headers::of(IpVersion::V4, Transport::Udp),
///     release: Release::TimerHz(100),
///     seed: 1,
///     duration: Some(Span::from_secs(1)),
/// };
/// let schedule = Schedule::new(&source, None)?;
/// assert!(schedule.clone().all(|departure| departure.due.0 % 10_000_000 == 0));
/// assert_eq!(schedule.count(), 3333);
/// # Ok::<(), trustbed_traffic::TrafficError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Schedule {
    model: Model,
    release: Release,
    end: Option<Span>,
}

#[derive(Debug, Clone)]
enum Model {
    Cbr(Cbr),
    Packets(PacketArrivals),
    Bytes(ByteArrivals),
    Playback(Playback),
}

impl Schedule {
    /// The schedule of a source. Playback takes the recording it plays; the others take none.
    ///
    /// # Errors
    /// What is wrong with the description, and [`TrafficError::NoRecording`],
    /// [`TrafficError::NeedsNoRecording`].
    pub fn new(source: &Source, recording: Option<Arc<Recording>>) -> Result<Self, TrafficError> {
        source.release.check()?;
        let model = match (&source.model, recording) {
            (Description::Cbr(cbr), None) => constant(cbr, source)?,
            (Description::Poisson(poisson), None) => random(poisson, source)?,
            (Description::Playback(playback), Some(recording)) => {
                played(playback, source, recording)?
            }
            (Description::Playback(playback), None) => {
                return Err(TrafficError::NoRecording { capture: playback.capture.clone() });
            }
            (other, Some(_)) => return Err(TrafficError::NeedsNoRecording { kind: other.kind() }),
        };
        Ok(Self { model, release: source.release, end: source.duration })
    }

    /// What of the recording was not played so far, if one is played.
    pub fn playback(&self) -> Option<PlaybackCounts> {
        match &self.model {
            Model::Playback(playback) => Some(playback.counts()),
            _ => None,
        }
    }
}

fn constant(cbr: &CbrDescription, source: &Source) -> Result<Model, TrafficError> {
    let model =
        Cbr::new(trustbed_units::Rate(cbr.rate_bits_per_second), cbr.packet_bytes, source.headers)?;
    let phase = phase(source.seed, model.period());
    Ok(Model::Cbr(model.with_phase(phase)))
}

fn random(poisson: &PoissonDescription, source: &Source) -> Result<Model, TrafficError> {
    let rate = trustbed_units::Rate(poisson.rate_bits_per_second);
    match poisson.mode {
        PoissonMode::Packets => {
            let bytes_only = [
                ("unit_ns", poisson.unit_ns.is_some()),
                ("minimum_packet_bytes", poisson.minimum_packet_bytes.is_some()),
            ];
            if let Some((key, _)) = bytes_only.into_iter().find(|&(_, given)| given) {
                return Err(TrafficError::OnlyForBytes { key });
            }
            PacketArrivals::new(rate, poisson.packet_bytes, source.headers, source.seed)
                .map(Model::Packets)
        }
        PoissonMode::Bytes => {
            let lengths = (poisson.minimum(), poisson.packet_bytes);
            let model =
                ByteArrivals::new(rate, poisson.unit(), lengths, source.headers, source.seed)?;
            Ok(Model::Bytes(model.with_phase(phase(!source.seed, poisson.unit().0.unsigned_abs()))))
        }
    }
}

fn played(
    playback: &PlaybackDescription,
    source: &Source,
    recording: Arc<Recording>,
) -> Result<Model, TrafficError> {
    Playback::new(recording, playback.together(), playback.largest_packet_bytes, source.headers)
        .map(Model::Playback)
}

/// A moment of a period.
fn phase(seed: u64, period: u64) -> Span {
    Span(i64::try_from(below(&mut generator(seed), period)).unwrap_or(0))
}

impl Iterator for Schedule {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        let departure = match &mut self.model {
            Model::Cbr(cbr) => cbr.next(),
            Model::Packets(packets) => packets.next(),
            Model::Bytes(bytes) => bytes.next(),
            Model::Playback(playback) => playback.next(),
        }?;
        if self.end.is_some_and(|end| departure.due >= end) {
            return None;
        }
        Some(Departure { due: self.release.at(departure.due), ..departure })
    }
}
