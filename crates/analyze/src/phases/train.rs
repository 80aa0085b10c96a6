//! The rate at which the path delivers, where a queue stood or the data had come faster.

/// Packets' times by which a delay stands above its floor where a queue is.
pub(super) const QUEUED_PACKETS: f64 = 3.0;
/// Segments over which it is read.
const SEGMENTS: i64 = 8;

/// An acknowledgement of data whose departure is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Train {
    /// When it reached the sender, in nanoseconds after the first data.
    pub(super) at: i64,
    /// Up to where it acknowledges.
    pub(super) una: i64,
    /// What it leaves outstanding.
    pub(super) outstanding: i64,
    /// When the last segment that it acknowledges left.
    pub(super) sent: i64,
    /// Its delay, in nanoseconds.
    pub(super) delay: i64,
}

impl Train {
    /// Whether enough has been acknowledged since to read a rate.
    pub(super) fn ends_with(&self, last: &Self, mss: u32) -> bool {
        last.una - self.una >= SEGMENTS * i64::from(mss)
    }

    /// Bytes per second from this acknowledgement to a later one, if that is the path's rate: what
    /// came was queued before and after, or had left clearly faster. Where this one leaves hardly
    /// anything outstanding (a receiver that acknowledges once in a round trip), the path stood
    /// idle until the sender went on.
    #[expect(clippy::cast_precision_loss, reason = "bytes per second")]
    pub(super) fn rate(&self, last: &Self, least_delay: i64, mss: u32) -> Option<f64> {
        let packets = QUEUED_PACKETS * f64::from(mss);
        let passed = last.at - self.at;
        if passed <= 0 || (self.outstanding as f64) < packets {
            return None;
        }
        let rate = (last.una - self.una) as f64 * 1e9 / passed as f64;
        let above = last.delay.min(self.delay) - least_delay;
        let queued = above as f64 >= packets * 1e9 / rate;
        (queued || 4 * (last.sent - self.sent) <= 3 * passed).then_some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;
    const MS: i64 = 1_000_000;

    fn after(segments: i64, at: i64, outstanding: i64, sent: i64, delay: i64) -> Train {
        let mss = i64::from(MSS);
        let una = segments * mss;
        Train { at: at * MS, una, outstanding: outstanding * mss, sent: sent * MS, delay }
    }

    #[test]
    fn data_that_were_queued_before_and_after_came_at_the_path_s_rate() {
        let first = after(0, 30, 50, 0, 30 * MS);
        let last = after(8, 38, 50, 8, 30 * MS);
        assert!(first.ends_with(&last, MSS) && !first.ends_with(&after(7, 38, 50, 8, 0), MSS));
        let rate = first.rate(&last, 20 * MS, MSS);
        assert!(rate.is_some_and(|rate| (rate - 1_448_000.0).abs() < 1.0), "{rate:?}");
    }

    #[test]
    fn data_that_had_left_faster_did_too_without_a_queue_at_their_begin() {
        let (first, last) = (after(0, 20, 10, 0, 20 * MS), after(8, 28, 2, 0, 28 * MS));
        assert!(first.rate(&last, 20 * MS, MSS).is_some());
        // As fast as they left, and nothing queued: the sender's own pace.
        assert!(first.rate(&after(8, 28, 2, 8, 20 * MS), 20 * MS, MSS).is_none());
    }

    #[test]
    fn a_receiver_that_acknowledges_once_in_a_round_trip_shows_no_rate_of_the_path() {
        // 92 segments leave in 22 ms, and one acknowledgement answers all: the next ones leave
        // 20 ms later. Half of the time the path stood idle.
        let first = after(92, 42, 0, 22, 24 * MS);
        let last = after(184, 84, 0, 64, 24 * MS);
        assert!(first.rate(&last, 20 * MS, MSS).is_none());
    }
}
