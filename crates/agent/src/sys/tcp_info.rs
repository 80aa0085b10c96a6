//! `struct tcp_info` of `linux/tcp.h`, read from its bytes.
//!
//! The structure has grown with the kernels; fields that a kernel lacks are absent. The bytes come
//! from `getsockopt(TCP_INFO)` or socket diagnosis (`sock_diag(7)`). Nothing is computed: durations
//! have the kernel's resolution (milliseconds for times since an event, microseconds for round
//! trips and limits of the sender).

use serde::Serialize;

/// A connection as its kernel sees it. Absent: the kernel does not report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(crate) struct TcpInfo {
    /// State of the connection, as in `include/net/tcp_states.h`.
    pub(crate) state: Option<u8>,
    /// What congestion control thinks: 0 open, 1 disorder, 2 congestion window reduced, 3 recovery,
    /// 4 loss.
    pub(crate) congestion_state: Option<u8>,
    pub(crate) rto_ns: Option<u64>,
    pub(crate) rtt_ns: Option<u64>,
    pub(crate) rtt_variance_ns: Option<u64>,
    pub(crate) rtt_min_ns: Option<u64>,
    pub(crate) send_mss_bytes: Option<u32>,
    pub(crate) snd_cwnd: Option<u32>,
    /// Absent before the first loss.
    pub(crate) slow_start_threshold_segments: Option<u32>,
    pub(crate) unacknowledged_segments: Option<u32>,
    pub(crate) lost_segments: Option<u32>,
    /// Over the life of the connection.
    pub(crate) retransmitted_segments: Option<u32>,
    pub(crate) retransmitted_bytes: Option<u64>,
    pub(crate) sent_bytes: Option<u64>,
    pub(crate) acknowledged_bytes: Option<u64>,
    pub(crate) received_bytes: Option<u64>,
    /// Written, and not sent yet.
    pub(crate) not_sent_bytes: Option<u32>,
    /// What the receiver's window allows.
    pub(crate) send_window_bytes: Option<u32>,
    pub(crate) receive_window_bytes: Option<u32>,
    pub(crate) delivery_rate_bytes_per_second: Option<u64>,
    /// Absent where nothing paces.
    pub(crate) pacing_rate_bytes_per_second: Option<u64>,
    /// How long there was something to send, and of that how long the receiver's window or the own
    /// buffer was what limited.
    pub(crate) busy_ns: Option<u64>,
    pub(crate) receive_window_limited_ns: Option<u64>,
    pub(crate) send_buffer_limited_ns: Option<u64>,
    pub(crate) reordering_seen: Option<u32>,
    pub(crate) duplicates_reported: Option<u32>,
}

/// `TCP_INFINITE_SSTHRESH`: there was no loss yet.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

impl TcpInfo {
    /// Reads what the kernel wrote, however much that is.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let byte = |at: usize| bytes.get(at).copied();
        let u32 = |at: usize| {
            bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map(u32::from_ne_bytes)
        };
        let u64 = |at: usize| {
            bytes.get(at..at + 8).and_then(|part| part.try_into().ok()).map(u64::from_ne_bytes)
        };
        let short_micros = |at| u32(at).map(|micros| u64::from(micros) * 1_000);
        let micros = |at| u64(at).map(|micros| micros.saturating_mul(1_000));
        Self {
            state: byte(0),
            congestion_state: byte(1),
            rto_ns: short_micros(8),
            rtt_ns: short_micros(68),
            rtt_variance_ns: short_micros(72),
            // All ones: nothing measured yet.
            rtt_min_ns: u32(148)
                .filter(|micros| *micros != u32::MAX)
                .map(|micros| u64::from(micros) * 1_000),
            send_mss_bytes: u32(16),
            snd_cwnd: u32(80),
            slow_start_threshold_segments: u32(76).filter(|segments| *segments < NO_THRESHOLD),
            unacknowledged_segments: u32(24),
            lost_segments: u32(32),
            retransmitted_segments: u32(100),
            retransmitted_bytes: u64(208),
            sent_bytes: u64(200),
            acknowledged_bytes: u64(120),
            received_bytes: u64(128),
            not_sent_bytes: u32(144),
            send_window_bytes: u32(228),
            receive_window_bytes: u32(232),
            delivery_rate_bytes_per_second: u64(160),
            pacing_rate_bytes_per_second: u64(104).filter(|rate| *rate != u64::MAX),
            busy_ns: micros(168),
            receive_window_limited_ns: micros(176),
            send_buffer_limited_ns: micros(184),
            reordering_seen: u32(220),
            duplicates_reported: u32(216),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn an_older_kernel_has_fewer_fields() {
        let mut bytes = vec![0_u8; 104];
        bytes[0] = 1;
        bytes[68..72].copy_from_slice(&20_500_u32.to_ne_bytes());
        bytes[76..80].copy_from_slice(&NO_THRESHOLD.to_ne_bytes());
        bytes[100..104].copy_from_slice(&7_u32.to_ne_bytes());
        let info = TcpInfo::read(&bytes);
        assert_eq!(
            (info.state, info.rtt_ns, info.retransmitted_segments),
            (Some(1), Some(20_500_000), Some(7))
        );
        assert_eq!(
            (info.slow_start_threshold_segments, info.busy_ns, info.sent_bytes),
            (None, None, None)
        );
        assert_eq!(TcpInfo::read(&[]), TcpInfo::default());
    }

    #[test]
    fn offsets_agree_with_libc() {
        assert_eq!(offset_of!(libc::tcp_info, tcpi_rtt), 68);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_snd_cwnd), 80);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_total_retrans), 100);
    }

    #[test]
    fn unknown_values_are_absent() {
        let bytes = [0xff_u8; 240];
        let info = TcpInfo::read(&bytes);
        assert_eq!(
            (
                info.rtt_min_ns,
                info.pacing_rate_bytes_per_second,
                info.slow_start_threshold_segments
            ),
            (None, None, None)
        );
    }
}
