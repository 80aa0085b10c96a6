//! The fast bottleneck against the definition, and joined pieces against the whole.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod reference;

use proptest::prelude::*;
use reference::{columns, cuts, rates, same, serial, speed, traffic};
use trustbed_burst::{Backlog, BurstError, Chunk, Drain, Packets, Server};
use trustbed_units::{Ns, Rate, Span};

proptest! {

    #[test]
    fn the_fast_pass_is_the_definition(
        packets in traffic(400, 1 << 40),
        rate in rates(),
        initial in 0..10_000_000_u64,
    ) {
        let (times, lengths) = columns(&packets);
        let chunk = Chunk::of(Drain::at(rate)?, Packets::new(&times, &lengths)?);
        prop_assert_eq!(chunk.is_none(), packets.is_empty());
        let Some(chunk) = chunk else { return Ok(()) };
        let (speed, before) = (speed(rate), Backlog::of_bytes(initial));
        let (found, end) = serial(speed, i128::from(initial) * speed.denominator, &packets);
        let peaks = chunk.peaks_after(before);
        let (wait, system) =
            (found.iter().map(|both| both.0).max(), found.iter().map(|both| both.1).max());
        prop_assert!(same(peaks.wait, wait.unwrap_or(0), speed.denominator));
        prop_assert!(same(peaks.system, system.unwrap_or(0), speed.denominator));
        prop_assert!(same(chunk.end_after(before), end, speed.denominator));
        prop_assert_eq!(chunk.packets(), packets.len() as u64);
        prop_assert_eq!(
            chunk.bytes(),
            lengths.iter().map(|length| u64::from(*length)).sum::<u64>()
        );
    }

    #[test]
    fn the_slow_twin_is_the_definition(packets in traffic(200, 1 << 40), rate in rates()) {
        let mut server = Server::new(Drain::at(rate)?);
        let speed = speed(rate);
        for (&(time, length), (wait, system)) in packets.iter().zip(serial(speed, 0, &packets).0) {
            let peaks = server.on_packet(Ns(time), length);
            prop_assert!(
                same(peaks.wait, wait, speed.denominator)
                    && same(peaks.system, system, speed.denominator)
            );
        }
    }

    #[test]
    fn joined_pieces_are_the_whole(
        packets in traffic(400, 1 << 50),
        rate in rates(),
        indexes in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        left in any::<bool>(),
    ) {
        let (times, lengths) = columns(&packets);
        let (all, link) = (Packets::new(&times, &lengths)?, Drain::at(rate)?);
        let cuts = cuts(packets.len(), &indexes);
        let pieces: Vec<Chunk> =
            cuts.windows(2).filter_map(|cut| Chunk::of(link, all.slice(cut[0]..cut[1]))).collect();
        // From the left and from the right: the order in which neighbours are joined must not
        // matter either.
        let joined = if left {
            pieces.into_iter().reduce(|earlier, later| earlier.merge(&later))
        } else {
            pieces.into_iter().rev().reduce(|later, earlier| earlier.merge(&later))
        };
        prop_assert_eq!(joined, Chunk::of(link, all));
    }

    #[test]
    fn whatever_a_file_holds_fits(
        mut times in prop::collection::vec(any::<i64>(), 1..300),
        rate in rates(),
        length in any::<u32>(),
    ) {
        times.sort_unstable();
        let packets: Vec<_> = times.iter().map(|&time| (time, length)).collect();
        let lengths = vec![length; times.len()];
        let chunk = Chunk::of(Drain::at(rate)?, Packets::new(&times, &lengths)?);
        let speed = speed(rate);
        let system = serial(speed, 0, &packets).0.into_iter().map(|both| both.1).max();
        prop_assert!(chunk.is_some_and(|chunk| same(
            chunk.peaks().system,
            system.unwrap_or(0),
            speed.denominator
        )));
    }
}

#[test]
fn blocks_beyond_64_bits_are_measured_as_well() {
    // A silence of a hundred years between dense packets, at a rate whose unit is the smallest
    // there is.
    let century = 3_155_760_000_000_000_000_i64;
    let packets: Vec<(i64, u32)> = (0..6000)
        .map(|index| (index * 3 + if index < 4000 { -century } else { century }, u32::MAX))
        .collect();
    let (times, lengths) = columns(&packets);
    let rate = Rate(9_999_999_999_999);
    let chunk =
        Chunk::of(Drain::at(rate).unwrap(), Packets::new(&times, &lengths).unwrap()).unwrap();
    let (found, end) = serial(speed(rate), 0, &packets);
    assert!(same(
        chunk.peaks().wait,
        found.iter().map(|both| both.0).max().unwrap(),
        8_000_000_000
    ));
    assert!(same(chunk.end_after(Backlog::of_bytes(0)), end, 8_000_000_000));
}

#[test]
fn impossible_rates_are_refused() {
    assert_eq!(Drain::at(Rate(0)), Err(BurstError::ZeroRate));
    let beyond = Drain::at(Rate(10_000_000_000_001)).unwrap_err();
    assert_eq!(
        beyond.to_string(),
        "10.000000000001Tbit/s is beyond the largest rate that is measured, 10Tbit/s"
    );
    assert!(Drain::at(Rate(10_000_000_000_000)).is_ok());
}

#[test]
fn a_backlog_is_so_many_seconds_of_the_link() {
    let link = Drain::at(Rate(40_000_000)).unwrap();
    assert!(
        (Backlog::of_bytes(5000).seconds_at(link) - Span::from_millis(1).as_secs_f64()).abs()
            < 1e-15
    );
    assert!((link.bits_per_second() - 40e6).abs() < 1e-6);
}
