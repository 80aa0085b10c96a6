//! What holds when a key is not given.

pub(super) const fn yes() -> bool {
    true
}

pub(super) const fn one() -> f64 {
    1.0
}

/// The shape behind netem's table.
pub(super) const fn shape() -> f64 {
    3.0
}

/// A full packet, as mahimahi's 1504: there with the header of a TUN device, here with Ethernet's.
pub(super) const fn opportunity_bytes() -> u32 {
    1514
}

/// RFC 8289 §4.4.
pub(super) const fn target_ns() -> u64 {
    5_000_000
}

/// RFC 8289 §4.3.
pub(super) const fn interval_ns() -> u64 {
    100_000_000
}

/// A full frame without its check sequence: the lengths that an interface shows.
pub(super) const fn mtu_bytes() -> u32 {
    1514
}

/// Floyd's later recommendation (1997) instead of the 0.02 of the paper.
pub(super) const fn maximum_probability() -> f64 {
    0.1
}

/// The paper, §8.
pub(super) const fn weight() -> f64 {
    0.002
}

pub(super) const fn mean_packet_bytes() -> u32 {
    1000
}
