//! The sender's view from a capture that is not beside the sender.
//!
//! What the capture sees leave the receiver's side reaches the sender later, and what the sender
//! sent arrived later: there and back takes the smallest time from a packet towards the sender
//! to the sender's answer. Acknowledgements are therefore held back by that time before the sender
//! "receives" them; data count when they are seen. Whether a pause was the sender's or the
//! network's follows from the sender's own clock in the timestamp option: if it stopped while the
//! capture's ran, the network held the packets.
//!
//! Bias: queueing before the capture point looks like `departure_error` of the sender unless
//! timestamps show it; estimates, not measurements.

use std::collections::VecDeque;

use trustbed_units::{Ns, Span};

use crate::{Arrival, Budget, Departure, SenderView, Sent, Turn, Window};

/// The smallest time to the sender and back within the last second, or the last eight of them: a
/// route may change, and a queue of acknowledgements stand.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recent {
    began: Option<Ns>,
    now: Option<i64>,
    before: Option<i64>,
}

/// Half of the time for which it counts.
const RECENT: i64 = 500_000_000;
/// The same in round trips.
const RECENT_ROUND_TRIPS: i64 = 4;

impl Recent {
    /// The time was `echoed` at `now`.
    pub fn add(&mut self, now: Ns, echoed: i64) {
        let began = *self.began.get_or_insert(now);
        let least = self.least().unwrap_or(echoed);
        if (now - began).0 > RECENT.max(RECENT_ROUND_TRIPS.saturating_mul(least)) {
            self.before = self.now.take();
            self.began = Some(now);
        }
        self.now = Some(self.now.map_or(echoed, |least| least.min(echoed)));
    }

    /// The smallest.
    #[inline]
    pub fn least(&self) -> Option<i64> {
        match (self.now, self.before) {
            (Some(now), Some(before)) => Some(now.min(before)),
            (now, before) => now.or(before),
        }
    }
}

/// A sender view fed from elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Elsewhere {
    /// The view.
    pub view: SenderView,
    /// Where the time went, by the sender's own clock where it is known.
    pub budget: Budget,
    waiting: VecDeque<(Ns, i64, u32, bool)>,
    arriving: VecDeque<Passed>,
    /// Those of them with data.
    asking: usize,
}

/// An [`Arrival`] on its way: thousands may be where much is received and little is sent.
#[derive(Debug, Clone, Copy)]
struct Passed {
    at: i64,
    una: i64,
    /// The delay, and when its data had left; `i64::MIN` where either is not known.
    delay: i64,
    sent: i64,
    window: u32,
    data: bool,
    marked: bool,
}

const UNKNOWN: i64 = i64::MIN;

impl From<Arrival> for Passed {
    fn from(arrival: Arrival) -> Self {
        Self {
            at: arrival.at,
            una: arrival.una,
            delay: arrival.delay.unwrap_or(UNKNOWN),
            sent: arrival.sent.unwrap_or(UNKNOWN),
            window: arrival.window,
            data: arrival.data,
            marked: arrival.marked,
        }
    }
}

impl From<Passed> for Arrival {
    fn from(passed: Passed) -> Self {
        let known = |time: i64| (time != UNKNOWN).then_some(time);
        Self {
            at: passed.at,
            una: passed.una,
            window: passed.window,
            data: passed.data,
            marked: passed.marked,
            delay: known(passed.delay),
            sent: known(passed.sent),
        }
    }
}

/// How much sooner than by the smallest time to the sender and back an answer may seem to come …
const SLACK: i64 = 2_000_000;
/// … or by this part of it.
const SLACK_PART: i64 = 16;
/// Acknowledgements under way at most.
const MOST: usize = 4096;

impl Elsewhere {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.view.held_bytes()
            + self.budget.held_bytes()
            + self.waiting.capacity() * size_of::<(Ns, i64, u32, bool)>()
            + self.arriving.capacity() * size_of::<Passed>()
    }

    /// A view that begins with what is known of the connection.
    pub fn new(una: i64, window: u32, offered: Window, snd_max: i64) -> Self {
        Self {
            view: SenderView::new(una, window, snd_max),
            budget: Budget::new(una, offered, snd_max),
            waiting: VecDeque::new(),
            arriving: VecDeque::new(),
            asking: 0,
        }
    }

    /// A packet of the receiver passed the capture at `arrival.at`, for the budget of time.
    pub fn on_arrival(&mut self, arrival: Arrival) {
        if self.arriving.len() >= MOST {
            let _ = self.next_arrival();
        }
        self.asking += usize::from(arrival.data);
        grow(&mut self.arriving);
        self.arriving.push_back(arrival.into());
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        let arrival = self.arriving.pop_front()?;
        self.asking -= usize::from(arrival.data);
        Some(arrival.into())
    }

    /// Data left the sender; `rtt` is the time from the capture to the sender and back of late,
    /// `least` the smallest. Data of the receiver's may be what these answer, so they came at the
    /// latest with them.
    pub fn on_departure(&mut self, departure: &Departure, rtt: Span, least: Span) {
        // As exactly as the sender's clock and a jittery path are known.
        let slack = SLACK.max(least.0 / SLACK_PART);
        let asked = if self.asking == 0 {
            None
        } else {
            self.arriving
                .iter()
                .enumerate()
                .take_while(|(_, arrival)| {
                    arrival.at.saturating_add(least.0) - slack <= departure.at
                })
                .filter(|(_, arrival)| arrival.data)
                .map(|(at, _)| at)
                .last()
        };
        for _ in 0..asked.map_or(0, |asked| asked + 1) {
            let Some(arrival) = self.next_arrival() else { break };
            let at = (arrival.at.saturating_add(rtt.0)).min(departure.at);
            self.budget.on_arrival(&Arrival { at, ..arrival }, departure.mss);
        }
        while self
            .arriving
            .front()
            .is_some_and(|next| next.at.saturating_add(rtt.0) <= departure.at)
        {
            let Some(arrival) = self.next_arrival() else { break };
            self.budget.on_arrival(
                &Arrival { at: arrival.at.saturating_add(rtt.0), ..arrival },
                departure.mss,
            );
        }
        let next = self.arriving.front().map(|arrival| arrival.at.saturating_add(rtt.0) - slack);
        let prompted = next.is_some_and(|next| next <= departure.at);
        self.budget.on_departure(&Departure { prompted, ..*departure });
    }

    /// The transfer is over: what is still under way arrives.
    pub fn on_end(&mut self, mss: u32, rtt: Span) {
        while let Some(arrival) = self.next_arrival() {
            self.budget
                .on_arrival(&Arrival { at: arrival.at.saturating_add(rtt.0), ..arrival }, mss);
        }
    }

    /// A packet of the receiver passed the capture towards the sender.
    pub fn on_ack(&mut self, now: Ns, una: i64, window: u32, in_recovery: bool) {
        if self.waiting.len() >= MOST {
            self.waiting.pop_front();
        }
        grow(&mut self.waiting);
        self.waiting.push_back((now, una, window, in_recovery));
    }

    /// Data passed the capture; `rtt` is the smallest time from the capture to the sender and back.
    pub fn on_data(&mut self, sent: &Sent, rtt: Span, in_recovery: bool) -> Option<Turn> {
        while let Some(&(seen, una, window, recovering)) = self.waiting.front()
            && seen + rtt <= sent.now
        {
            self.waiting.pop_front();
            self.view.on_receive(seen + rtt, una, window, sent.mss, recovering);
        }
        self.view.on_send(sent, in_recovery)
    }

    /// The clock stepped.
    pub fn on_clock_step(&mut self) {
        self.waiting.clear();
        self.arriving.clear();
        self.asking = 0;
        self.view.on_clock_step();
        self.budget.on_clock_step();
    }
}

/// Makes room for a quarter as many again, where there is none: doubled queues are half empty.
fn grow<T>(queue: &mut VecDeque<T>) {
    if queue.len() == queue.capacity() {
        queue.reserve_exact(4 + queue.len() / 4);
    }
}
