//! pathload: the available bandwidth as the rate from which on a stream's delays rise.
//!
//! Jain and Dovrolis, SIGCOMM 2002, with the constants of pathload 1.3.2. A train gives the first
//! rate, fleets of streams the trend at a rate, and [`Search`] the next rate. The answer is an
//! interval: where the available bandwidth moves while it is measured, streams of one rate
//! disagree, and the interval is the region in which they do. It cannot be narrower than the
//! resolution, and a receiver that is kept from its processor makes delays rise as a full link
//! does: look at the hosts beside it.

use trustbed_units::Span;

use crate::fleet::Fleet;
use crate::{
    FleetRules, FleetTrend, ProbeError, Quality, Search, Sighting, Stream, StreamLimits,
    dispersion_rate,
};

/// Packets of the trains that are tried, until one arrives whole.
const TRAINS: [usize; 5] = [50, 35, 20, 10, 5];

/// Streams of this length and longer are sent once per fleet.
const LONG_STREAM: Span = Span::from_millis(500);

/// The pause after a stream in stream lengths: a tenth of the time is used, so that the probe loads
/// the path by a tenth of its rate.
const PAUSE_STREAMS: i64 = 9;

/// How a measurement is made.
#[derive(Debug, Clone, PartialEq)]
pub struct PathloadSettings {
    /// Streams per fleet.
    pub streams: usize,
    /// Packets per stream.
    pub packets: usize,
    /// What hosts and path can take.
    pub limits: StreamLimits,
    /// When streams agree.
    pub rules: FleetRules,
    /// The width of the interval that ends the search, in bit/s; a part of the first rate if none
    /// is given.
    pub resolution: Option<f64>,
    /// That part: 2 % as the tool has it.
    pub resolution_share: f64,
    /// The lowest rate that is tried, in bit/s. Streams below 9120 bit/s would need longer gaps
    /// than there are.
    pub lowest_rate: f64,
    /// The highest rate that is tried, in bit/s: what the hosts can send.
    pub highest_rate: f64,
    /// The round-trip time, so that a stream is over when the next begins.
    pub round_trip: Span,
    /// When to stop with what is known.
    pub time_limit: Span,
}

impl Default for PathloadSettings {
    fn default() -> Self {
        Self {
            streams: 12,
            packets: 100,
            limits: StreamLimits::default(),
            rules: FleetRules::default(),
            resolution: None,
            resolution_share: 0.02,
            lowest_rate: 10e3,
            highest_rate: 1.2e9,
            round_trip: Span::ZERO,
            time_limit: Span::from_secs(300),
        }
    }
}

impl PathloadSettings {
    /// For cross traffic in packets as long as they come: one of them delays a short packet by more
    /// than a stream that is a little too fast would. All packets of the streams are as long as
    /// that, streams agree where 0.7 of them do, as in the paper, and the interval is wider; it
    /// takes three times as long.
    pub fn for_long_packets() -> Self {
        let limits = StreamLimits::default();
        Self {
            limits: StreamLimits { least_payload: limits.largest_payload, ..limits },
            rules: FleetRules { majority: 0.7, ..FleetRules::default() },
            resolution_share: 0.05,
            ..Self::default()
        }
    }
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send so many packets back to back, and report to [`Pathload::on_train`].
    Train {
        /// How many packets.
        packets: usize,
        /// UDP payload of each, in bytes.
        payload: u32,
    },
    /// Wait, send a stream, and report to [`Pathload::on_stream`].
    Stream {
        /// How long to wait before the stream.
        after: Span,
        /// The stream.
        stream: Stream,
    },
    /// Nothing more: this was found.
    End(PathloadReport),
}

/// Why a measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The bounds lie within the resolution.
    Resolution,
    /// Between them lies a region in which streams disagreed.
    GreyRegion,
    /// Time was up; the bounds are what was known.
    Timeout,
    /// No rate that can be sent was too high: there is no upper bound.
    HighestRate,
    /// Every rate was too high: there is no lower bound.
    LowestRate,
    /// Twice in a row fewer than half of the streams could be used: the hosts pause too much.
    Unusable,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathloadReport {
    /// Lower bound of the available bandwidth in bit/s, headers of IP and UDP included; nothing
    /// when every rate was too high.
    pub low: Option<f64>,
    /// Upper bound; nothing when no rate was too high.
    pub high: Option<f64>,
    /// Why it ended.
    pub ending: Ending,
    /// Dispersion rate of the train in bit/s; nothing when no train arrived whole.
    pub dispersion_rate: Option<f64>,
    /// Fleets that were sent.
    pub fleets: usize,
    /// Bytes that were sent, headers of IP and UDP included.
    pub bytes: u64,
    /// How long it took.
    pub duration: Span,
}

/// One measurement. Call [`next`](Self::next), do what it returns, report to
/// [`on_train`](Self::on_train) or [`on_stream`](Self::on_stream) what became of the packets; again
/// until [`Step::End`].
#[derive(Debug, Clone)]
pub struct Pathload {
    settings: PathloadSettings,
    trains: usize,
    dispersion_rate: Option<f64>,
    search: Option<Search>,
    fleet: Fleet,
    /// The stream that was handed out last.
    stream: Option<Stream>,
    repeated: bool,
    ended: Option<Ending>,
    fleets: usize,
    bytes: u64,
}

impl Pathload {
    /// A measurement that has not begun.
    ///
    /// # Errors
    /// [`ProbeError::NoRates`] where the lowest rate is not above 0 and below the highest,
    /// [`ProbeError::Payload`] where packets would not hold their stamps or not fit into a frame,
    /// [`ProbeError::NotPositive`] for the rest.
    #[expect(clippy::cast_precision_loss, reason = "for a message")]
    pub fn new(settings: PathloadSettings) -> Result<Self, ProbeError> {
        let (lowest, highest) = (settings.lowest_rate, settings.highest_rate);
        if lowest.is_nan() || highest.is_nan() || lowest <= 0.0 || highest <= lowest {
            return Err(ProbeError::NoRates { lowest, highest });
        }
        let limits = &settings.limits;
        check_payload("least_payload", limits.least_payload, limits.largest_payload)?;
        check_payload("largest_payload", limits.largest_payload, LARGEST_PAYLOAD)?;
        let positive = [
            ("preferred_gap", limits.preferred_gap.as_f64()),
            ("longest_gap", limits.longest_gap.as_f64()),
            ("streams", settings.streams as f64),
            ("packets", settings.packets as f64),
            ("resolution", settings.resolution.unwrap_or(1.0)),
            ("resolution_share", settings.resolution_share),
        ];
        for (name, value) in positive {
            if value.is_nan() || value <= 0.0 {
                return Err(ProbeError::NotPositive { name, value });
            }
        }
        Ok(Self {
            settings,
            trains: 0,
            dispersion_rate: None,
            search: None,
            fleet: Fleet::default(),
            stream: None,
            repeated: false,
            ended: None,
            fleets: 0,
            bytes: 0,
        })
    }

    /// What to do now, so long after the beginning.
    pub fn next(&mut self, elapsed: Span) -> Step {
        if self.ended.is_none() && elapsed >= self.settings.time_limit {
            self.ended = Some(Ending::Timeout);
        }
        if let Some(ending) = self.ended {
            return Step::End(self.report(ending, elapsed));
        }
        let Some(search) = &self.search else {
            let (packets, payload) = (TRAINS[self.trains], self.settings.limits.largest_payload);
            self.bytes += u64::from(payload + self.settings.limits.header_bytes) * packets as u64;
            return Step::Train { packets, payload };
        };
        let stream = Stream::at(search.rate(), self.settings.packets, &self.settings.limits);
        let after = self.stream.map_or(self.settings.round_trip, |before| self.pause(&before));
        self.bytes += stream.bytes();
        self.stream = Some(stream);
        Step::Stream { after, stream }
    }

    /// What became of the train.
    pub fn on_train(&mut self, packets: &[Sighting]) {
        self.trains += 1;
        let limits = &self.settings.limits;
        self.dispersion_rate =
            dispersion_rate(limits.largest_payload + limits.header_bytes, packets);
        if self.dispersion_rate.is_none() && self.trains < TRAINS.len() {
            return;
        }
        let (lowest, highest) = (self.settings.lowest_rate, self.settings.highest_rate);
        let within = self.dispersion_rate.filter(|rate| (lowest..=highest).contains(rate));
        let resolution = self
            .settings
            .resolution
            .or_else(|| within.map(|first| self.settings.resolution_share * first));
        self.search = Some(within.map_or_else(
            || Search::guessed(resolution, lowest, highest),
            |first| Search::new(first, resolution, lowest, highest),
        ));
    }

    /// What became of the stream scheduled last.
    pub fn on_stream(&mut self, packets: &[Sighting]) {
        let Some(stream) = self.stream else { return };
        let streams = if stream.duration() >= LONG_STREAM { 1 } else { self.settings.streams };
        let quality = self.fleet.on_stream(
            &stream,
            packets,
            &self.settings.limits,
            &self.settings.rules,
            streams,
        );
        if quality == Quality::Lossy || self.fleet.streams() >= streams {
            self.on_fleet(stream.rate());
        }
    }

    fn on_fleet(&mut self, scheduled: f64) {
        let fleet = std::mem::take(&mut self.fleet);
        self.fleets += 1;
        let Some(trend) = fleet.trend(&self.settings.rules) else {
            self.ended = self.repeated.then_some(Ending::Unusable);
            self.repeated = true;
            return;
        };
        self.repeated = false;
        let Some(search) = &mut self.search else { return };
        if search.on_fleet(fleet.rate().unwrap_or(scheduled), trend) {
            let found = search.bracket();
            self.ended = Some(match (found.grey, trend) {
                _ if search.is_open_above() => Ending::HighestRate,
                (_, FleetTrend::Increasing)
                    if found.low <= 0.0 && search.rate() <= self.settings.lowest_rate =>
                {
                    Ending::LowestRate
                }
                (true, _) => Ending::GreyRegion,
                (false, _) => Ending::Resolution,
            });
        }
    }

    /// So long the path is left alone after a stream.
    fn pause(&self, before: &Stream) -> Span {
        self.settings.round_trip.max(Span(before.duration().0.saturating_mul(PAUSE_STREAMS)))
    }

    fn report(&self, ending: Ending, duration: Span) -> PathloadReport {
        let found = self.search.as_ref().map(Search::bracket);
        let known = |bound: f64| (bound > 0.0).then_some(bound);
        PathloadReport {
            low: found.and_then(|bracket| known(bracket.low)),
            high: found
                .filter(|_| ending != Ending::HighestRate)
                .and_then(|bracket| known(bracket.high)),
            ending,
            dispersion_rate: self.dispersion_rate,
            fleets: self.fleets,
            bytes: self.bytes,
            duration,
        }
    }
}

/// What a packet must hold: its number, its stream and its stamp; and what fits into a frame of
/// 1500 bytes.
const LEAST_PAYLOAD: u32 = 32;
pub(crate) const LARGEST_PAYLOAD: u32 = 1472;

pub(crate) fn check_payload(
    name: &'static str,
    bytes: u32,
    largest: u32,
) -> Result<(), ProbeError> {
    if (LEAST_PAYLOAD..=largest.min(LARGEST_PAYLOAD)).contains(&bytes) {
        return Ok(());
    }
    Err(ProbeError::Payload {
        name,
        bytes,
        least: LEAST_PAYLOAD,
        largest: largest.min(LARGEST_PAYLOAD),
    })
}
