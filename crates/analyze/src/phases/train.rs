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
