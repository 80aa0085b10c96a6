//! What is between the queue and the wire: a shaper, the rate behind it, and outages in which both
//! stop or send in vain.
//!
//! Both run by the sender's own clock, which outages stop: a shaper gathers no bytes meanwhile, and
//! holds back afterwards what it would have held back without them.

use trustbed_units::Ns;

use crate::outages::Outages;
use crate::rate::{Sent, Transmitter};
use crate::shaper::Shaper;
use crate::{EmulateError, LinkDescription};

/// Sends packets one after another.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    transmitter: Transmitter,
    shaper: Option<Box<Shaper>>,
    outages: Option<Box<Outages>>,
}

impl Sender {
    pub(crate) fn new(link: &LinkDescription, location: &str) -> Result<Self, EmulateError> {
        let shaper = link
            .shaper
            .map(|description| Shaper::new(description, location).map(Box::new))
            .transpose()?;
        Ok(Self {
            transmitter: Transmitter::new(link, location)?,
            shaper,
            outages: Outages::new(&link.outages, location)?,
        })
    }

    /// A trace begins here, unless it has begun.
    pub(crate) fn begin(&mut self, at: Ns) {
        self.transmitter.begin(at);
    }

    /// The times of outages, and of the steps of a rate, are counted from here.
    pub(crate) fn begin_times(&mut self, at: Ns) {
        if let Some(outages) = &mut self.outages {
            outages.begin_times(at);
        }
        let outages = &self.outages;
        self.transmitter.begin_times(at, |moment| {
            outages.as_ref().map_or(moment, |outages| outages.own(moment))
        });
    }

    /// Whether packets can have to wait.
    #[inline]
    pub(crate) fn delays(&self) -> bool {
        !matches!(self.transmitter, Transmitter::Unlimited)
            || self.shaper.is_some()
            || self.outages.is_some()
    }

    /// When the transmission of a packet that is there since `ready` could begin, rounded up.
    pub(crate) fn start(&self, ready: Ns, length: u32) -> Ns {
        let ready = self.own(ready);
        let passed = self.shaper.as_ref().map_or(ready, |shaper| shaper.when(ready, length));
        let start = self.transmitter.start(passed);
        self.outages.as_ref().map_or(start, |outages| outages.begins(start))
    }

    /// Sends a packet that came at `arrived` behind all before it, and not before `decided` (when
    /// the discipline decides later than it arrives).
    #[inline]
    pub(crate) fn send(&mut self, arrived: Ns, decided: Ns, length: u32) -> Sent {
        let (arrived, decided) = (self.own(arrived), self.own(decided));
        let passed = self.shaper.as_mut().map(|shaper| shaper.pass(decided, length));
        // Where the wire becomes free within the nanosecond in which a packet may pass, it is sent
        // when the wire is free.
        let ready =
            passed.filter(|passed| *passed > self.transmitter.start(arrived)).unwrap_or(arrived);
        let sent = self.transmitter.send(ready, length);
        let Some(outages) = &self.outages else { return sent };
        let Sent { start, end, time } = sent;
        let real_end = if end > start { outages.ends(end) } else { outages.begins(end) };
        Sent { start: outages.begins(start), end: real_end, time }
    }

    /// Whether a packet that was sent then is lost in an outage.
    #[inline]
    pub(crate) fn loses(&self, sent: Sent) -> bool {
        self.outages.as_ref().is_some_and(|outages| outages.loses(sent.start, sent.end))
    }

    /// What a backlog is counted in: so many units make a byte.
    #[inline]
    pub(crate) const fn per_byte(&self) -> u64 {
        self.transmitter.per_byte()
    }

    /// What of everything sent so far has not left at `now`, in units. Behind a shaper or in front
    /// of a trace a packet counts as a whole, and this gives nothing.
    #[inline]
    pub(crate) fn unsent(&self, now: Ns) -> Option<u128> {
        match (&self.shaper, &self.transmitter) {
            (Some(_), _) => None,
            // Without a rate, packets wait only for the end of an outage.
            (None, Transmitter::Unlimited) if self.outages.is_some() => None,
            (None, transmitter) => transmitter.unsent(self.own(now)),
        }
    }

    /// How long so many bytes take in the mean, in nanoseconds.
    pub(crate) fn mean_time(&self, bytes: u32) -> f64 {
        self.transmitter
            .mean_time(bytes)
            .max(self.shaper.as_ref().map_or(0.0, |shaper| shaper.mean_time(bytes)))
    }

    /// What the sender's own clock shows.
    #[inline]
    fn own(&self, moment: Ns) -> Ns {
        self.outages.as_ref().map_or(moment, |outages| outages.own(moment))
    }
}
