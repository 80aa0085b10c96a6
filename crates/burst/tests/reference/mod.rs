//! The virtual bottleneck as its definition reads: one packet after the other, one window after the
//! other, in exact fractions. Slow.

#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use proptest::prelude::*;
use trustbed_burst::{Backlog, Mode, Row};
use trustbed_units::{Ns, Rate, Span};

/// Arrival (ns) and length (bytes).
pub type Packet = (i64, u32);

/// A rate in bytes per nanosecond, as a fraction.
#[derive(Debug, Clone, Copy)]
pub struct Speed {
    pub numerator: i128,
    pub denominator: i128,
}

pub fn speed(rate: Rate) -> Speed {
    Speed { numerator: rate.0.into(), denominator: 8_000_000_000 }
}

impl Speed {
    /// What is left of `backlog`, in 1/denominator bytes, after so many nanoseconds.
    pub fn drain(self, backlog: i128, nanoseconds: i128) -> i128 {
        (backlog - self.numerator * nanoseconds).max(0)
    }
}

/// (wait, with the packet) of every packet, and what is left after the last, in 1/denominator
/// bytes.
pub fn serial(speed: Speed, initial: i128, packets: &[Packet]) -> (Vec<(i128, i128)>, i128) {
    let mut backlog = initial;
    let mut last = packets.first().map_or(0, |packet| packet.0);
    let found = packets.iter().map(|&(time, length)| {
        let wait = speed.drain(backlog, i128::from(time) - i128::from(last));
        last = time;
        backlog = wait + i128::from(length) * speed.denominator;
        (wait, backlog)
    });
    (found.collect(), backlog)
}

/// Whether a backlog is this fraction of a byte.
pub fn same(backlog: Backlog, units: i128, denominator: i128) -> bool {
    let (found, per_byte) = backlog.fraction();
    // Both are reduced to a whole and a rest first: the products of the tests' extremes do not fit
    // otherwise.
    let (found, per_byte) = (found.cast_signed(), i128::from(per_byte));
    found / per_byte == units / denominator
        && (found % per_byte) * denominator == (units % denominator) * per_byte
}

/// One window: start, packets, bytes, the largest wait and system backlog as fractions, and whether
/// the capture ends in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    pub start: i64,
    pub packets: u64,
    pub bytes: u64,
    pub peaks: Option<(i128, i128, i128)>,
    pub partial: bool,
}

/// What is requested of the windows.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub mode: Mode,
    /// Of the static mode.
    pub rate: Rate,
    pub origin: i64,
    pub length: i64,
    pub end: i64,
}

/// Window after window, from the one with the first packet to the one that `end` cuts.
pub fn windows(question: Options, packets: &[Packet]) -> Vec<Window> {
    let Options { mode, rate, origin, length, end } = question;
    let Some(&(first, _)) = packets.first() else { return vec![] };
    let end = packets.last().map_or(end, |packet| packet.0.max(end));
    let mut start = origin + (first - origin).div_euclid(length) * length;
    let (mut backlog, mut previous) = (0, None);
    let mut found = vec![];
    while start < end || packets.last().is_some_and(|packet| packet.0 >= start) {
        let inside: Vec<Packet> = packets
            .iter()
            .copied()
            .filter(|(time, _)| (start..start + length).contains(time))
            .collect();
        let bytes: u64 = inside.iter().map(|(_, length)| u64::from(*length)).sum();
        let average = |bytes: u64| Speed { numerator: bytes.into(), denominator: length.into() };
        let speed = match mode {
            Mode::Static(_) => Some(speed(rate)),
            Mode::DynamicSame | Mode::DynamicSameCarry => Some(average(bytes)),
            Mode::DynamicPrevious => previous.map(average),
        };
        if matches!(mode, Mode::DynamicSame | Mode::DynamicPrevious) {
            backlog = 0;
        }
        let peaks = speed.map(|speed| {
            let at_first = speed
                .drain(backlog, inside.first().map_or(0, |packet| i128::from(packet.0 - start)));
            let (each, left) = serial(speed, at_first, &inside);
            let wait = each.iter().map(|(wait, _)| *wait).max().unwrap_or(0);
            let system = each.iter().map(|(_, system)| *system).max().unwrap_or(0).max(backlog);
            let rest = inside.last().map_or(length, |packet| start + length - packet.0);
            backlog = speed.drain(if inside.is_empty() { backlog } else { left }, rest.into());
            (wait, system, speed.denominator)
        });
        if bytes > 0 {
            previous = Some(bytes);
        }
        found.push(Window {
            start,
            packets: inside.len() as u64,
            bytes,
            peaks,
            partial: end < start + length,
        });
        start += length;
    }
    found
}

/// Rows against windows, one by one.
pub fn agree(rows: &[Row], windows: &[Window]) -> Result<(), TestCaseError> {
    let rows: Vec<Row> = rows.iter().flat_map(|row| row.each()).collect();
    prop_assert_eq!(rows.len(), windows.len());
    for (row, window) in rows.iter().zip(windows) {
        prop_assert_eq!(
            (row.start, row.packets, row.bytes, row.partial),
            (Ns(window.start), window.packets, window.bytes, window.partial)
        );
        prop_assert_eq!(row.peaks.is_some(), window.peaks.is_some());
        if let Some((peaks, (wait, system, denominator))) = row.peaks.zip(window.peaks) {
            prop_assert!(same(peaks.wait, wait, denominator), "wait of {:?}: {:?}", window, peaks);
            prop_assert!(
                same(peaks.system, system, denominator),
                "system of {:?}: {:?}",
                window,
                peaks
            );
        }
    }
    Ok(())
}

/// Packets in order: equal times, dense stretches and silences, lengths of 0 and long ones.
pub fn traffic(most: usize, longest_gap: i64) -> impl Strategy<Value = Vec<Packet>> {
    let gap =
        prop_oneof![3 => Just(0_i64), 4 => 1..2_000_i64, 3 => 0..200_000_i64, 1 => 0..=longest_gap];
    let length = prop_oneof![1 => Just(0_u32), 6 => 40..1515_u32, 1 => 0..70_000_u32];
    (-5_000_000..5_000_000_i64, prop::collection::vec((gap, length), 0..most)).prop_map(
        |(mut time, packets)| {
            let arrive = |(gap, length)| {
                time += gap;
                (time, length)
            };
            packets.into_iter().map(arrive).collect()
        },
    )
}

/// Rates of few digits and of many, slow and fast.
pub fn rates() -> impl Strategy<Value = Rate> {
    let round = (1..1000_u64, 0..11_u32).prop_map(|(digits, zeros)| digits * 10_u64.pow(zeros));
    prop_oneof![round, 1..=10_000_000_000_000_u64, 1_000_000..20_000_000_000_u64]
        .prop_map(|rate| Rate(rate.min(10_000_000_000_000)))
}

/// Positions to cut `length` things at, in order, ends included.
pub fn cuts(length: usize, indexes: &[prop::sample::Index]) -> Vec<usize> {
    let mut cuts: Vec<usize> =
        indexes.iter().map(|index| index.index(length + 1)).chain([0, length]).collect();
    cuts.sort_unstable();
    cuts
}

/// As two columns.
pub fn columns(packets: &[Packet]) -> (Vec<i64>, Vec<u32>) {
    packets.iter().copied().unzip()
}

/// Milliseconds, as a window.
pub const fn milliseconds(milliseconds: i64) -> Span {
    Span::from_millis(milliseconds)
}
