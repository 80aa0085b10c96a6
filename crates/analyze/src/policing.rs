//! Whether a transfer's losses are a policer's, exchange by exchange (Flach et al., *An
//! Internet-Wide Analysis of Traffic Policing*, SIGCOMM 2016).
//!
//! A bucket refills while a connection waits for its next request, so tokens are counted within one
//! exchange: from its first loss on, at the rate that passed between its first and its last loss.
//! Two kinds of evidence come of it. *Empty buckets*: the published conditions on tokens at losses
//! and at passes hold for the exchange. *Bursts*: losses follow more bytes within one base RTT than
//! other packets do, whatever else draws on the bucket; the share is one half for losses that do
//! not depend on what was sent. A full queue does both, so how many packets' time the RTT
//! stood above its base just before losses is kept beside them: a queue holds packets, a policer
//! none.
//!
//! Beside the sender losses are dated by the first copy of what is retransmitted; away from it by
//! the packet that passed over them, and a queue shows by how late packets come by their sender's
//! clock, a tick more included. Only the first of adjacent losses counts as a burst, because the
//! rest of a burst meets the same bucket.
//!
//! Bounded: 2,048 packets from the first loss of an exchange on, then evaluated and begun again;
//! nothing is kept of exchanges without a loss.
//!
//! Bias: RTT samples are needed beside the sender, and its timestamps away from it. What other
//! connections take from the bucket is not seen: they leave it emptier than it seems.

use std::ops::Range;

use trustbed_flow::{Class, Records, Segment};
use trustbed_units::{Ns, Span};

use crate::Distribution;

/// Packets kept before they are evaluated.
const MOST: usize = 2048;
/// Packets in flight that are taken over at the first loss.
const IN_FLIGHT: usize = 1024;
/// Losses and passes that the published conditions need.
const LEAST: usize = 15;
/// Bytes within which the published conditions expect the first loss.
const FIRST_LOSS: i64 = 2_000_000;
/// RTTs' worth of tokens by which the published conditions let losses differ from their median …
const SPREAD: f64 = 2.0;
/// … and passes lie below it.
const BELOW: f64 = 0.75;
/// Share of losses that keep to their median.
const LOSSES_AT: f64 = 0.9;
/// Share of passes that are not below it.
const PASSES_ABOVE: f64 = 0.97;
/// Slices of one median RTT that must hold losses.
const SLICES: usize = 3;
/// Losses at either end that may be left out.
const CUT: usize = 2;
/// Losses, each the first of adjacent ones, from which bursts are compared.
const BURSTS: usize = 3;
/// Round trips measured before a loss: the smaller of two, since one may hold a delayed ACK.
const SAMPLES: usize = 2;
/// Packets before a loss among which they are looked for.
const NEAR: usize = 6;
/// The first step back when an acknowledged packet is searched.
const STEP: usize = 8;
/// Rates kept.
const RATES: usize = 64;
/// Thousandths of a packet's time, in which queued packets are kept.
const GRAIN: f64 = 1000.0;

/// A packet that was sent.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// After the first data, in nanoseconds.
    sent: i64,
    offset: i64,
    length: u32,
    /// Whether it was lost, and where.
    lost: Option<Lost>,
    /// How long it took from the capture to the receiver and back.
    rtt: Option<Span>,
    /// How late it came to the capture at most, by its sender's clock.
    lag: Option<Span>,
}

/// Where a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Before the capture.
    Before,
    /// Behind it.
    Behind,
}

impl Mark {
    fn new(sent: Span, offset: i64, length: u32) -> Self {
        Self { sent: sent.0, offset, length, lost: None, rtt: None, lag: None }
    }

    /// How long it queued where `lost` was lost, in nanoseconds.
    fn queued(&self, lost: Lost, times: RoundTrips) -> Option<f64> {
        match lost {
            Lost::Before => self.lag.map(|lag| lossy(lag.0)),
            Lost::Behind => self.rtt.map(|rtt| (lossy(rtt.0) - times.onward).max(0.0)),
        }
    }
}

/// One exchange, from its first loss on.
#[derive(Debug, Clone, Default)]
struct Exchange {
    /// When its first packet was sent.
    start: i64,
    /// Bytes sent before the first mark.
    before: i64,
    marks: Vec<Mark>,
}

/// What the exchanges amount to.
#[derive(Debug, Clone, Default)]
struct Found {
    tried: u32,
    emptied: u32,
    /// Sum of the ranks of losses among passes, and how many.
    ranks: (f64, u32),
    queued: Distribution,
    /// Losses before the capture with an unknown queue.
    unknown: u64,
    rates: Vec<(f64, f64)>,
}

/// Losses of a transfer, exchange by exchange.
#[derive(Debug, Clone, Default)]
pub struct Policing {
    /// Of the present exchange: when it began and how many bytes it sent.
    start: i64,
    sent: i64,
    /// Data of the peer when this side last sent new data.
    peer: i64,
    open: Option<Box<Exchange>>,
    found: Option<Box<Found>>,
}

/// What the losses of a transfer show.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Policed {
    /// Exchanges with enough losses for the published conditions.
    pub tried: u32,
    /// Of them, those at whose losses a bucket was empty.
    pub emptied: u32,
    /// Mean share of passed packets that followed fewer bytes within one base RTT than a loss.
    pub burst_rank: Option<f64>,
    /// Losses behind it.
    pub losses: u32,
    /// Median of the RTT above its base just before losses, in packets' times at the rate; `None`
    /// where it is unknown for more than half of those before the capture.
    pub queued: Option<f64>,
    /// Median rate of the exchanges, in bytes per second.
    pub rate: Option<f64>,
    /// Median bytes that an exchange passed above that rate before its first loss.
    pub burst: Option<f64>,
}

/// Round-trip times by which an exchange is read.
#[derive(Debug, Clone, Copy)]
pub struct RoundTrips {
    /// The smallest, in nanoseconds.
    pub base: f64,
    /// The median.
    pub median: f64,
    /// Of the smallest, what lies behind the capture.
    pub onward: f64,
}

impl Policing {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        let open = self
            .open
            .as_deref()
            .map_or(0, |open| size_of::<Exchange>() + open.marks.capacity() * size_of::<Mark>());
        let found = self.found.as_deref().map_or(0, |found| {
            size_of::<Found>()
                + found.queued.held_bytes()
                + found.rates.capacity() * size_of::<(f64, f64)>()
        });
        open + found
    }

    /// Data were sent `since` the first data; the peer had sent `peer` bytes by then.
    #[inline]
    pub fn on_data(
        &mut self,
        since: Span,
        segment: &Segment,
        peer: i64,
        round_trips: impl FnOnce() -> Option<RoundTrips>,
    ) {
        let length = i64::from(segment.length);
        let again = segment.class == Class::Retransmission;
        let begins = !again && peer > self.peer && segment.outstanding <= length;
        let full = self.open.as_ref().is_some_and(|open| open.marks.len() >= MOST);
        if begins || full {
            if let Some((open, times)) = self.open.take().zip(round_trips()) {
                self.found.get_or_insert_default().take(&open, times);
            }
            (self.start, self.sent) = (since.0, 0);
        }
        if !again {
            self.peer = peer;
        }
        self.sent += length;
        if let Some(open) = &mut self.open {
            open.marks.push(Mark::new(since, segment.start, segment.length));
        }
    }

    /// What was sent at `offset` is about to be retransmitted since it was lost. Called before
    /// [`Policing::on_data`]; `since` turns a time into one after the first data.
    pub fn on_loss(&mut self, offset: i64, records: &Records, since: impl Fn(Ns) -> Span) {
        let open = self.open.get_or_insert_with(|| {
            let mut marks: Vec<Mark> = records
                .iter()
                .map(|record| (record, Records::offset(record, offset)))
                .skip_while(|&(_, start)| start < offset)
                .take(IN_FLIGHT)
                .map(|(record, start)| Mark::new(since(record.first_sent), start, record.length))
                .collect();
            marks.sort_by_key(|mark| mark.sent);
            let known: i64 = marks.iter().map(|mark| i64::from(mark.length)).sum();
            Box::new(Exchange { start: self.start, before: (self.sent - known).max(0), marks })
        });
        if let Some(mark) = open.marks.iter_mut().rev().find(|mark| mark.offset == offset) {
            mark.lost = Some(Lost::Behind);
        }
    }

    /// Away from the sender: data that came `since` the first data passed over `passed_over`.
    /// Called before [`Policing::on_data`].
    ///
    /// They are dated by the data before them, since what is lost at the end of a burst shows by
    /// the next one only; but no more than `within`, a round trip, before.
    pub fn on_gap(&mut self, since: Span, passed_over: Range<i64>, mss: u32, within: Span) {
        let open = self.open.get_or_insert_with(|| {
            Box::new(Exchange { start: self.start, before: self.sent, marks: Vec::new() })
        });
        let before = open.marks.last().map_or(since.0, |mark| mark.sent);
        let sent = Span(before.max(since.0.saturating_sub(within.0)));
        let mut offset = passed_over.start;
        for _ in 0..IN_FLIGHT {
            let length = (passed_over.end - offset).min(i64::from(mss.max(1)));
            if length <= 0 || open.marks.len() >= MOST {
                break;
            }
            let length = u32::try_from(length).unwrap_or(mss);
            let lost = Some(Lost::Before);
            open.marks.push(Mark { lost, ..Mark::new(sent, offset, length) });
            offset += i64::from(length);
        }
    }

    /// What had been passed over at `offset` came after all: it was overtaken.
    pub fn on_overtaken(&mut self, offset: i64) {
        let Some(open) = &mut self.open else { return };
        if let Some(mark) = open.marks.iter_mut().rev().find(|mark| mark.offset == offset) {
            mark.lost = None;
        }
    }

    /// Away from the sender: the last data came at most `lag` later than their sender's clock says.
    #[inline]
    pub fn on_lag(&mut self, lag: Span) {
        if let Some(mark) = self.open.as_mut().and_then(|open| open.marks.last_mut()) {
            mark.lag = Some(lag);
        }
    }

    /// A round trip of `rtt` was measured by the acknowledgement that came `since` the first data.
    #[inline]
    pub fn on_rtt(&mut self, since: Span, rtt: Span) {
        let Some(open) = &mut self.open else { return };
        let sent = since.0 - rtt.0;
        // What is acknowledged was sent of late: the search widens from the end.
        let (mut from, mut step) = (open.marks.len(), STEP);
        while from > 0 && open.marks[from - 1].sent >= sent {
            from = from.saturating_sub(step);
            step *= 2;
        }
        let at = from + open.marks[from..].partition_point(|mark| mark.sent < sent);
        for mark in open.marks[at..].iter_mut().take_while(|mark| mark.sent == sent) {
            mark.rtt = Some(rtt);
        }
    }

    /// What was found, with the exchange that is not over.
    pub fn result(&mut self, round_trips: Option<RoundTrips>) -> Option<Policed> {
        if let Some((open, times)) = self.open.take().zip(round_trips) {
            self.found.get_or_insert_default().take(&open, times);
        }
        let found = self.found.as_mut()?;
        let losses = found.ranks.1;
        let known = found.queued.count() >= found.unknown;
        Some(Policed {
            tried: found.tried,
            emptied: found.emptied,
            burst_rank: (losses > 0).then(|| found.ranks.0 / f64::from(losses)),
            losses,
            queued: found.queued.quantile(0.5).filter(|_| known).map(|queued| queued / GRAIN),
            rate: middle(found.rates.iter().map(|rate| rate.0)),
            burst: middle(found.rates.iter().map(|rate| rate.1)),
        })
    }

    /// The clock stepped: the present exchange is not read.
    pub fn on_clock_step(&mut self) {
        self.open = None;
        self.sent = FIRST_LOSS;
    }
}

impl Found {
    /// Reads an exchange.
    fn take(&mut self, exchange: &Exchange, times: RoundTrips) {
        let marks = &exchange.marks;
        let lost: Vec<usize> = (0..marks.len()).filter(|&at| marks[at].lost.is_some()).collect();
        let (Some(&first), Some(&until)) = (lost.first(), lost.last()) else { return };
        if lost.len() >= LEAST {
            self.tried += 1;
            self.emptied += u32::from(is_emptied(exchange, &lost, times));
        }
        if lost.len() < BURSTS || marks[until].sent <= marks[first].sent {
            return;
        }
        let rate = rate(marks, first, until);
        if rate <= 0.0 {
            return;
        }
        if self.rates.len() < RATES {
            let before = exchange.before + bytes(&marks[..first]);
            let passed = lossy(before) - rate * lossy(marks[first].sent - exchange.start) / 1e9;
            self.rates.push((rate, passed.max(0.0)));
        }
        self.compare(marks, &lost, rate, times);
    }

    /// Bursts and queues before losses that are the first of adjacent ones.
    #[expect(clippy::cast_possible_truncation, reason = "thousandths of a packet's time")]
    fn compare(&mut self, marks: &[Mark], lost: &[usize], rate: f64, times: RoundTrips) {
        let base = times.base;
        let (begin, until) = (lost[0], lost[lost.len() - 1]);
        let from = marks[0].sent + base as i64;
        let burst = recent(marks, base as i64);
        let alone: Vec<usize> =
            lost.iter().copied().filter(|&at| at == 0 || marks[at - 1].lost.is_none()).collect();
        for &at in &alone {
            let Some(lost) = marks[at].lost else { continue };
            let before = marks[at.saturating_sub(NEAR)..at].iter().rev();
            let near = before
                .take_while(|mark| lossy(marks[at].sent - mark.sent) <= base)
                .filter_map(|mark| mark.queued(lost, times))
                .take(SAMPLES);
            if let Some(queued) = near.min_by(f64::total_cmp) {
                let packet = f64::from(marks[at].length.max(1)) / rate * 1e9;
                self.queued.add((queued / packet * GRAIN) as i64);
            } else if lost == Lost::Before {
                self.unknown += 1;
            }
        }
        let counted = |at: usize| at >= begin && at <= until && marks[at].sent >= from;
        let mut passed: Vec<i64> = (0..marks.len())
            .filter(|&at| counted(at) && marks[at].lost.is_none())
            .map(|at| burst[at])
            .collect();
        let alone: Vec<usize> = alone.into_iter().filter(|&at| counted(at)).collect();
        if alone.len() < BURSTS || passed.len() < LEAST {
            return;
        }
        passed.sort_unstable();
        for at in alone {
            let below = passed.partition_point(|&bytes| bytes < burst[at]);
            let equal = passed.partition_point(|&bytes| bytes <= burst[at]) - below;
            self.ranks.0 += (count(below) + count(equal) / 2.0) / count(passed.len());
            self.ranks.1 += 1;
        }
    }
}

/// Bytes sent in the `span` before each packet.
fn recent(marks: &[Mark], span: i64) -> Vec<i64> {
    let (mut from, mut sum) = (0, 0);
    marks
        .iter()
        .map(|mark| {
            while marks[from].sent < mark.sent - span {
                sum -= i64::from(marks[from].length);
                from += 1;
            }
            let before = sum;
            sum += i64::from(mark.length);
            before
        })
        .collect()
}

/// The published conditions, as they are and with the outermost losses left out.
fn is_emptied(exchange: &Exchange, lost: &[usize], times: RoundTrips) -> bool {
    holds(exchange, lost, times)
        || (lost.len() > 2 * CUT && holds(exchange, &lost[CUT..lost.len() - CUT], times))
}

#[expect(clippy::cast_possible_truncation, reason = "a number of round trips")]
fn holds(exchange: &Exchange, lost: &[usize], times: RoundTrips) -> bool {
    let marks = &exchange.marks;
    let (Some(&first), Some(&until)) = (lost.first(), lost.last()) else { return false };
    let before = exchange.before + bytes(&marks[..first]);
    let inner = &marks[first..=until];
    let delivered = inner.iter().filter(|mark| mark.lost.is_none()).count();
    if lost.len() < LEAST || delivered < LEAST || before > FIRST_LOSS {
        return false;
    }
    if inner[inner.len() - 1].sent <= inner[0].sent || times.median <= 0.0 {
        return false;
    }
    let start = inner[0].sent;
    let mut slices: Vec<i64> =
        lost.iter().map(|&at| (lossy(marks[at].sent - start) / times.median) as i64).collect();
    slices.dedup();
    let rate = rate(marks, first, until);
    let round_trip = rate * times.median / 1e9;
    let began = lossy(before) - rate * lossy(start - exchange.start) / 1e9;
    if slices.len() < SLICES || began < -BELOW * round_trip {
        return false;
    }
    let (mut empty_at, mut filled_at) =
        (Vec::with_capacity(lost.len()), Vec::with_capacity(delivered));
    let mut passed = 0_i64;
    for mark in inner {
        let tokens = rate * lossy(mark.sent - start) / 1e9 - lossy(passed);
        if mark.lost.is_some() {
            empty_at.push(tokens);
        } else {
            filled_at.push(tokens);
            passed += i64::from(mark.length);
        }
    }
    let (Some(empty), Some(filled)) =
        (middle(empty_at.iter().copied()), middle(filled_at.iter().copied()))
    else {
        return false;
    };
    let share = |tokens: &[f64], holds: &dyn Fn(f64) -> bool| {
        count(tokens.iter().filter(|tokens| holds(**tokens)).count()) / count(tokens.len())
    };
    empty < filled
        && mean(&empty_at) < mean(&filled_at)
        && share(&empty_at, &|tokens| (tokens - empty).abs() <= SPREAD * round_trip) >= LOSSES_AT
        && share(&filled_at, &|tokens| tokens >= empty - BELOW * round_trip) >= PASSES_ABOVE
}

/// Bytes per second that passed from `first` to `last`.
fn rate(marks: &[Mark], first: usize, last: usize) -> f64 {
    let passed: i64 = marks[first..=last]
        .iter()
        .filter(|mark| mark.lost.is_none())
        .map(|mark| i64::from(mark.length))
        .sum();
    lossy(passed) / lossy((marks[last].sent - marks[first].sent).max(1)) * 1e9
}

fn bytes(marks: &[Mark]) -> i64 {
    marks.iter().map(|mark| i64::from(mark.length)).sum()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds of a transfer")]
fn lossy(value: i64) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "a count")]
fn count(value: usize) -> f64 {
    value as f64
}
