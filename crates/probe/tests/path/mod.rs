//! A path in virtual time: one link, cross traffic at a constant rate, and hosts without faults.

use trustbed_emulate::{Link, LinkDescription, LossDescription};
use trustbed_probe::{
    Chirp, PathChirp, PathChirpSettings, Pathload, PathloadReport, PathloadSettings, Sighting, Step,
};
use trustbed_traffic::{Cbr, Headers, IpVersion, Transport};
use trustbed_units::{Ns, Rate, Span};

const HEADER_BYTES: u32 = 28;

/// A link and what is on it.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    /// Of the link, bit/s of IP packets.
    pub(crate) capacity: u64,
    /// One way.
    pub(crate) delay: Span,
    /// The share of the capacity that cross traffic takes.
    pub(crate) load: f64,
    /// Length of its packets, in bytes.
    pub(crate) cross: u32,
    /// The share of packets that the link loses.
    pub(crate) loss: f64,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            capacity: 10_000_000,
            delay: Span::from_millis(10),
            load: 0.0,
            cross: 1500,
            loss: 0.0,
        }
    }
}

impl Path {
    #[expect(clippy::cast_precision_loss, reason = "rates below 2⁵³ bit/s are exact")]
    pub(crate) fn capacity_f64(&self) -> f64 {
        self.capacity as f64
    }

    /// What cross traffic leaves, bit/s of IP packets.
    pub(crate) fn available(&self) -> f64 {
        self.capacity_f64() * (1.0 - self.load)
    }

    /// The same as UDP payload, in packets of so many bytes of it.
    pub(crate) fn available_payload(&self, payload: u32) -> f64 {
        self.available() * f64::from(payload) / f64::from(payload + HEADER_BYTES)
    }

    pub(crate) fn pathload(&self, settings: PathloadSettings) -> PathloadReport {
        let mut traffic = Traffic::new(self);
        let mut pathload = Pathload::new(settings).unwrap();
        loop {
            match pathload.next(traffic.now - Ns(0)) {
                Step::Train { packets, payload } => {
                    // Back to back from a host that is faster than any link here.
                    let gap = Span(i64::from(payload + HEADER_BYTES) * 8 / 10);
                    let due: Vec<Span> = (0..packets)
                        .map(|number| Span(gap.0 * i64::try_from(number).unwrap()))
                        .collect();
                    pathload.on_train(&traffic.send(&due, payload));
                }
                Step::Stream { after, stream } => {
                    traffic.now = traffic.now + after;
                    let due: Vec<Span> =
                        (0..stream.packets).map(|number| stream.due(number)).collect();
                    pathload.on_stream(&traffic.send(&due, stream.payload));
                }
                Step::End(report) => return report,
            }
        }
    }

    /// The mean of so many estimates behind the latest change of the range of rates.
    #[expect(clippy::cast_precision_loss, reason = "some dozen")]
    pub(crate) fn pathchirp(&self, settings: PathChirpSettings, estimates: usize) -> f64 {
        let mut traffic = Traffic::new(self);
        let mut pathchirp = PathChirp::new(settings).unwrap();
        let mut found: Vec<f64> = vec![];
        let mut chirp: Chirp = pathchirp.chirp().clone();
        while found.len() < estimates {
            assert!(traffic.now < Ns(100_000_000_000_000), "a day without estimates");
            let begun = traffic.now;
            let due: Vec<Span> = (0..chirp.packets()).map(|number| chirp.due(number)).collect();
            let seen = traffic.send(&due, chirp.payload());
            found.extend(pathchirp.on_chirp(&seen).map(|estimate| estimate.rate));
            if *pathchirp.chirp() != chirp {
                chirp = pathchirp.chirp().clone();
                found.clear();
            }
            traffic.now = traffic.now.max(begun + pathchirp.interval());
        }
        found.iter().sum::<f64>() / found.len() as f64
    }
}

/// So many paths that fill the space evenly: 1 to 1000 Mbit/s, round trips of 1 to 200 ms, up to 90
/// % of cross traffic. Any number of them is spread alike, because each is a multiple of irrational
/// numbers.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates and round trips of some digits"
)]
pub(crate) fn paths(count: u32, cross: u32) -> impl Iterator<Item = Path> {
    (1..=count).map(move |number| {
        let fraction = |of: f64| (f64::from(number) * of).fract();
        let capacity = 1e6 * 1000_f64.powf(fraction(0.618_034));
        let round_trip = 1e6 * 200_f64.powf(fraction(0.414_214));
        let (load, loss) = (0.9 * fraction(0.732_051), 0.0);
        Path { capacity: capacity as u64, delay: Span(round_trip as i64 / 2), load, cross, loss }
    })
}

/// The link with its cross traffic, while time goes on.
struct Traffic {
    link: Link<Option<usize>>,
    cross: Option<std::iter::Peekable<Cbr>>,
    now: Ns,
}

impl Traffic {
    fn new(path: &Path) -> Self {
        let description = LinkDescription {
            rate_bits_per_second: Some(path.capacity),
            delay_ns: Some(path.delay.0.unsigned_abs()),
            loss: (path.loss > 0.0)
                .then_some(LossDescription::Independent { probability: path.loss }),
            ..LinkDescription::default()
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a rate"
        )]
        let rate = (path.capacity_f64() * path.load) as u64;
        let cross = (rate > 0).then(|| {
            Cbr::new(Rate(rate), path.cross, Headers::of(IpVersion::V4, Transport::Udp))
                .unwrap()
                .peekable()
        });
        Self { link: Link::new(&description, 1).unwrap(), cross, now: Ns(0) }
    }

    /// Sends packets from now on and waits until each has come or is lost.
    fn send(&mut self, due: &[Span], payload: u32) -> Vec<Sighting> {
        let begun = self.now;
        let mut seen: Vec<Sighting> =
            due.iter().map(|due| Sighting { sent: begun + *due, received: None }).collect();
        let mut open = seen.len();
        for (number, due) in due.iter().enumerate() {
            let at = begun + *due;
            self.meanwhile(at, &mut seen, &mut open);
            if self.link.offer(at, payload + HEADER_BYTES, Some(number)).is_some() {
                open -= 1;
            }
        }
        while open > 0 {
            let next = self.link.next_wakeup().unwrap();
            self.meanwhile(next, &mut seen, &mut open);
            self.now = next;
        }
        self.now = self.now.max(begun + due.last().copied().unwrap_or(Span::ZERO));
        seen
    }

    /// Cross traffic that comes until then, and everything that leaves.
    fn meanwhile(&mut self, until: Ns, seen: &mut [Sighting], open: &mut usize) {
        while let Some(cross) = &mut self.cross {
            let Some(next) = cross.next_if(|departure| Ns(departure.due.0) <= until) else { break };
            let at = Ns(next.due.0);
            self.collect(at, seen, open);
            self.link.offer(at, next.length, None);
        }
        self.collect(until, seen, open);
    }

    fn collect(&mut self, now: Ns, seen: &mut [Sighting], open: &mut usize) {
        while let Some(outcome) = self.link.poll(now) {
            if let Some(number) = outcome.content {
                seen[number].received = outcome.passage.due;
                *open -= 1;
            }
        }
    }
}
