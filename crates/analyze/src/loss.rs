//! Loss over a transfer's life: recoveries, their time, and whether loss was persistent.

use trustbed_units::{Ns, Span};

/// Loss recoveries of one transfer.
#[derive(Debug, Clone, Default)]
pub struct Losses {
    recovery_point: Option<i64>,
    /// Recoveries: each begins at the first retransmission beyond the previous recovery point.
    pub events: u32,
    genuine: Vec<Tally>,
    width: i64,
}

/// Genuine retransmissions in one slot of time.
#[derive(Debug, Clone, Copy)]
struct Tally {
    slot: i64,
    count: i32,
}

/// Slots of time in which retransmissions are distinguished at most; a slot doubles when there are
/// more.
const SLOTS: usize = 256;
/// Width of a slot at first: 1 µs.
const NARROWEST: i64 = 1_000;
const SLICES: i64 = 10;

impl Losses {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.genuine.capacity() * size_of::<Tally>()
    }

    /// A retransmission of the byte at `start` was sent, `since_start` after the first data.
    /// True when a recovery begins with it.
    pub fn on_retransmission(
        &mut self,
        start: i64,
        snd_max: i64,
        una: i64,
        since_start: Span,
        genuine: bool,
    ) -> bool {
        let begins =
            self.recovery_point.is_none_or(|point| start >= point || una >= point) && start >= una;
        if begins {
            self.events += 1;
            self.recovery_point = Some(snd_max);
        }
        if genuine {
            self.tally(since_start, 1);
        }
        begins
    }

    /// A retransmission sent `since_start` after the first data turned out to be unnecessary.
    pub fn on_disproved(&mut self, since_start: Span) {
        self.tally(since_start, -1);
    }

    /// Whether a recovery is under way.
    #[inline]
    pub fn in_recovery(&self, una: i64) -> bool {
        self.recovery_point.is_some_and(|point| una < point)
    }

    fn tally(&mut self, since_start: Span, count: i32) {
        self.width = self.width.max(NARROWEST);
        let slot = since_start.0 / self.width;
        match self.genuine.binary_search_by_key(&slot, |t| t.slot) {
            Ok(at) => self.genuine[at].count += count,
            Err(at) => self.genuine.insert(at, Tally { slot, count }),
        }
        while self.genuine.len() > SLOTS {
            self.width *= 2;
            let mut wider: Vec<Tally> = Vec::with_capacity(self.genuine.len());
            for tally in &self.genuine {
                let slot = tally.slot / 2;
                match wider.last_mut() {
                    Some(last) if last.slot == slot => last.count += tally.count,
                    _ => wider.push(Tally { slot, count: tally.count }),
                }
            }
            self.genuine = wider;
        }
    }

    /// Share of ten equal slices of `duration` that hold at least one genuine retransmission.
    pub fn persistence(&self, duration: Span) -> f64 {
        let mut hit = [false; 10];
        for tally in self.genuine.iter().filter(|t| t.count > 0) {
            let at =
                tally.slot.saturating_mul(self.width).saturating_mul(SLICES) / duration.0.max(1);
            if let Some(hit) =
                usize::try_from(at.min(SLICES - 1)).ok().and_then(|at| hit.get_mut(at))
            {
                *hit = true;
            }
        }
        hit.iter().map(|&h| f64::from(u8::from(h))).sum::<f64>() / 10.0
    }
}

/// Silences of a sender, as host stalls and outages need them.
#[derive(Debug, Clone, Default)]
pub struct Silences {
    last_new: Option<Ns>,
    progress: Option<Ns>,
    /// Time without progress although data were outstanding, in pieces of at least two seconds.
    pub outage: i64,
    /// Silences of at least two seconds between new data.
    pub gaps: Vec<Silence>,
}

/// A silence of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// Last new data before it.
    pub from: Ns,
    /// Next new data.
    pub to: Ns,
    /// There was work: data outstanding, or a transfer cut in the middle.
    pub pending: bool,
}

/// The shortest silence that counts.
const SILENCE: Span = Span::from_secs(2);
/// Silences kept at most.
const KEPT: usize = 64;

impl Silences {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.gaps.capacity() * size_of::<Silence>()
    }

    /// New data at `now`. `pending`: there was work to do since the last.
    #[inline]
    pub fn on_new(&mut self, now: Ns, pending: bool, outstanding_before: bool) {
        if let Some(last) = self.last_new
            && now - last >= SILENCE
            && self.gaps.len() < KEPT
        {
            self.gaps.push(Silence { from: last, to: now, pending });
        }
        self.last_new = Some(now);
        self.on_progress(now, outstanding_before);
    }

    /// Data were acknowledged or sent for the first time.
    #[inline]
    pub fn on_progress(&mut self, now: Ns, outstanding_before: bool) {
        if let Some(last) = self.progress
            && outstanding_before
            && now - last >= SILENCE
        {
            self.outage += (now - last).0;
        }
        self.progress = Some(now);
    }

    /// The connection ended at `now` with or without data outstanding.
    pub fn on_end(&mut self, now: Ns, outstanding: bool) {
        if outstanding {
            self.on_progress(now, true);
            if let Some(last) = self.last_new
                && now - last >= SILENCE
                && self.gaps.len() < KEPT
            {
                self.gaps.push(Silence { from: last, to: now, pending: true });
            }
        }
    }

    /// Last new data.
    pub fn last(&self) -> Option<Ns> {
        self.last_new
    }

    /// The clock stepped.
    pub fn on_clock_step(&mut self) {
        self.last_new = None;
        self.progress = None;
    }
}
