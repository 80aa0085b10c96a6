//! What is counted of one direction.

/// What one direction sent, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// All packets.
    pub packets: u64,
    /// Payload of data packets in bytes (keep-alives and window probes not included).
    pub payload: u64,
    /// Payload bytes that were seen for the first time.
    pub unique: u64,
    /// Bytes of retransmissions that had been seen before.
    pub retransmitted_bytes: u64,
    /// Payload bytes of packets that were retransmissions or filled holes already acknowledged.
    pub data_packets: u32,
    /// Data packets with at least one byte seen before.
    pub retransmitted: u32,
    /// … by sub-class.
    pub spurious: u32,
    /// After duplicate ACKs or SACKs.
    pub fast: u32,
    /// After a timeout (tail-loss probes included).
    pub timeout: u32,
    /// Tail-loss probes.
    pub tail_loss_probes: u32,
    /// Holes filled because of reordering.
    pub reordered: u32,
    /// Holes filled because the original never reached the capture.
    pub lost_upstream: u32,
    /// Pure acknowledgements sent.
    pub pure_acks: u32,
    /// Duplicate acknowledgements received for this direction's data.
    pub duplicate_acks: u32,
    /// Keep-alive probes.
    pub keep_alives: u32,
    /// Window probes.
    pub window_probes: u32,
    /// Packets captured twice.
    pub capture_duplicates: u32,
    /// Sequence numbers of this direction, and acknowledgements and SACK blocks for it, that lie
    /// far from all others: each was ignored.
    pub wild: u32,
    /// SYNs beyond the first.
    pub syn_retransmissions: u16,
    /// FINs beyond the first.
    pub fin_retransmissions: u16,
}
