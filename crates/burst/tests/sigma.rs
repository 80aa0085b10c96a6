//! Burstiness against rate: exact whichever way it is computed, convex, falling, with its known
//! ends.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::float_cmp, reason = "the arithmetic is exact, and so is what is expected")]

mod reference;

use proptest::prelude::*;
use reference::{Packet, columns, cuts, rates, same, speed, traffic};
use trustbed_burst::{BurstError, Chunk, Drain, Packets, Sigma, SigmaPoint, default_rates};
use trustbed_units::Rate;

fn sigma(rates: &[Rate], packets: &[Packet]) -> Vec<SigmaPoint> {
    let (times, lengths) = columns(packets);
    let mut sigma = Sigma::new(rates).unwrap();
    sigma.push(Packets::new(&times, &lengths).unwrap());
    sigma.points()
}

/// The largest ΣL − ρ·(t − t') over all stretches of packets, in 1/(8·10⁹) bytes.
fn stretches(rate: Rate, packets: &[Packet]) -> i128 {
    let speed = speed(rate);
    let stretch = |from: usize| {
        let start = packets[from].0;
        packets[from..].iter().scan(0, move |sum, &(time, length)| {
            *sum += i128::from(length) * speed.denominator;
            Some(*sum - speed.numerator * (i128::from(time) - i128::from(start)))
        })
    };
    (0..packets.len()).flat_map(stretch).max().unwrap_or(0)
}

proptest! {

    #[test]
    fn it_is_the_fullest_stretch_of_packets(
        packets in traffic(120, 1 << 40),
        rates in prop::collection::vec(rates(), 1..20),
    ) {
        for (point, rate) in sigma(&rates, &packets).iter().zip(&rates) {
            prop_assert_eq!(point.rate, *rate);
            prop_assert!(
                same(point.depth, stretches(*rate, &packets), 8_000_000_000),
                "{:?}",
                point
            );
        }
    }

    #[test]
    fn pieces_and_workers_change_nothing(
        packets in traffic(600, 1 << 40),
        rates in prop::collection::vec(rates(), 1..20),
        cuts_at in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        share in any::<prop::sample::Index>(),
    ) {
        let whole: Vec<f64> =
            sigma(&rates, &packets).iter().map(|point| point.depth.bytes()).collect();
        let (times, lengths) = columns(&packets);
        let all = Packets::new(&times, &lengths)?;
        let mut pieces = Sigma::new(&rates)?;
        for cut in cuts(packets.len(), &cuts_at).windows(2) {
            pieces.push(all.slice(cut[0]..cut[1]));
        }
        prop_assert_eq!(
            &pieces.points().iter().map(|point| point.depth.bytes()).collect::<Vec<_>>(),
            &whole
        );
        let (some, others) = rates.split_at(share.index(rates.len()));
        let shared = [sigma(some, &packets), sigma(others, &packets)].concat();
        prop_assert_eq!(shared.iter().map(|point| point.depth.bytes()).collect::<Vec<_>>(), whole);
    }

    #[test]
    fn joined_chunks_know_it_too(
        packets in traffic(400, 1 << 40),
        rate in rates(),
        at in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!packets.is_empty());
        let (times, lengths) = columns(&packets);
        let (earlier, later) = Packets::new(&times, &lengths)?.split_at(at.index(packets.len()));
        let link = Drain::at(rate)?;
        let chunks = [Chunk::of(link, earlier), Chunk::of(link, later)];
        let joined =
            chunks.into_iter().flatten().reduce(|earlier, later| earlier.merge(&later)).unwrap();
        prop_assert_eq!(joined.peaks().system.bytes(), sigma(&[rate], &packets)[0].depth.bytes());
    }

    #[test]
    fn it_falls_and_is_convex(
        packets in traffic(300, 1 << 30),
        from in 0..1_000_000_u64,
        step in 1..1_000_000_000_u64,
    ) {
        let rates: Vec<Rate> = (0..20).map(|at| Rate(from + at * step)).collect();
        let depths: Vec<f64> =
            sigma(&rates, &packets).iter().map(|point| point.depth.bytes()).collect();
        for three in depths.windows(3) {
            prop_assert!(three[0] >= three[1] && three[1] >= three[2]);
            prop_assert!(three[0] + three[2] >= 2.0 * three[1] * (1.0 - 1e-15));
        }
    }

    #[test]
    fn its_ends_are_known(packets in traffic(300, 1 << 30)) {
        let ends = sigma(&[Rate(0), Rate(10_000_000_000_000)], &packets);
        let sum: u64 = packets.iter().map(|packet| u64::from(packet.1)).sum();
        prop_assert!(same(ends[0].depth, sum.into(), 1));
        // Sixty thousand bytes per 50 ns: nothing but equal times, or nearly so, makes a batch.
        let batch = packets
            .chunk_by(|one, next| one.0 == next.0)
            .map(|batch| batch.iter().map(|packet| u64::from(packet.1)).sum())
            .max();
        prop_assert!(ends[1].depth.bytes() >= f64::from(u32::try_from(batch.unwrap_or(0))?));
    }
}

#[test]
fn equal_times_are_one_batch_at_any_rate() {
    let packets: Vec<Packet> = (0..300).map(|at| (i64::from(at) / 3 * 1_000_000, 1000)).collect();
    assert!(same(sigma(&[Rate(10_000_000_000_000)], &packets)[0].depth, 3000, 1));
}

#[test]
fn a_backlog_beyond_the_whole_numbers_of_a_double_is_exact() {
    // 1 Gbit/s for minutes at a rate of 1 bit/s above nothing, in units of 1/(8·10⁹) byte: 10¹⁹ of
    // them.
    let packets: Vec<Packet> = (0..5000).map(|at| (i64::from(at) * 20_000, 1_000_000)).collect();
    let found = sigma(&[Rate(1), Rate(999_999_937), Rate(1_000_000_007)], &packets);
    for point in found {
        assert!(same(point.depth, stretches(point.rate, &packets), 8_000_000_000), "{point:?}");
    }
}

#[test]
fn default_rates_reach_from_a_hundredth_of_the_mean_to_the_link() {
    let rates = default_rates(12_345_678.0, Rate(1_000_000_000));
    assert_eq!((rates.first(), rates.last()), (Some(&Rate(123_000)), Some(&Rate(1_000_000_000))));
    assert!(rates.contains(&Rate(12_300_000)) && rates.contains(&Rate(24_700_000)));
    assert_eq!(rates.len(), 50);
    assert!(rates.is_sorted_by(|one, next| one < next));
    let odd = default_rates(30.0, Rate(1_234_567));
    assert_eq!((odd.first(), odd.last()), (Some(&Rate(1)), Some(&Rate(1_234_567))));
    assert_eq!(default_rates(0.0, Rate(1_000)), []);
    assert_eq!(default_rates(f64::NAN, Rate(1_000)), []);
}

#[test]
fn a_rate_beyond_the_largest_is_refused_and_none_is_legal() {
    assert!(matches!(
        Sigma::new(&[Rate(5), Rate(10_000_000_000_001)]),
        Err(BurstError::RateTooHigh { .. })
    ));
    assert_eq!(sigma(&[], &[(0, 100)]), []);
    assert!(sigma(&[Rate(5)], &[])[0].depth.is_zero());
}
