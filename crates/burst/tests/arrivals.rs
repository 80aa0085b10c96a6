//! Columns of packets: what is taken, moved or refused, and what counts as a length.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use trustbed_burst::{Arrivals, Basis, BurstError, Packets};
use trustbed_units::Ns;

#[test]
fn times_that_run_backwards_are_moved_and_counted() {
    let mut arrivals = Arrivals::new();
    for (time, length) in [(5, 100), (9, 0), (7, 200), (9, 300), (8, 1)] {
        arrivals.push(Ns(time), length);
    }
    assert_eq!(arrivals.packets().times(), [5, 9, 9, 9, 9]);
    assert_eq!(arrivals.packets().lengths(), [100, 0, 200, 300, 1]);
    assert_eq!(arrivals.steps_back(), 2);
    arrivals.clear();
    assert!(arrivals.packets().is_empty());
    assert_eq!(arrivals.steps_back(), 2);
}

#[test]
fn cleared_columns_stay_behind_what_they_held() {
    let mut arrivals = Arrivals::with_capacity(2);
    arrivals.push(Ns(100), 1);
    arrivals.clear();
    arrivals.push(Ns(50), 1);
    assert_eq!(arrivals.packets().times(), [100]);
    assert_eq!(arrivals.steps_back(), 1);
}

#[test]
fn columns_that_make_no_packets_are_refused() {
    assert_eq!(
        Packets::new(&[1, 2], &[5]),
        Err(BurstError::UnequalColumns { times: 2, lengths: 1 })
    );
    let refused = Packets::new(&[1, 3, 2], &[5, 5, 5]).unwrap_err();
    assert_eq!(refused, BurstError::RunsBackwards { index: 2, time: Ns(2), earlier: Ns(3) });
}

#[test]
fn packets_can_be_looked_at_in_stretches() {
    let packets = Packets::new(&[1, 2, 2, 7], &[10, 20, 30, u32::MAX]).unwrap();
    assert_eq!(
        (packets.first(), packets.last(), packets.bytes()),
        (Some(Ns(1)), Some(Ns(7)), 60 + u64::from(u32::MAX))
    );
    let (earlier, later) = packets.split_at(1);
    assert_eq!((earlier, later), (packets.slice(0..1), packets.slice(1..4)));
    assert_eq!(packets.chunks(3).map(|chunk| chunk.len()).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(packets.iter().nth(2), Some((Ns(2), 30)));
}

#[test]
fn every_basis_has_a_name_and_its_bytes() {
    let lengths =
        Basis::ALL.map(|basis| (basis.name(), basis.length(60, Some(46)), basis.length(42, None)));
    let expected = [
        ("frame", Some(60), Some(42)),
        ("frame_fcs", Some(64), Some(46)),
        ("wire", Some(84), Some(84)),
        ("ip", Some(46), None),
    ];
    assert_eq!(lengths, expected);
    assert_eq!(Basis::Wire.length(u32::MAX, None), Some(u32::MAX));
    assert!(Basis::ALL.iter().all(|basis| Basis::named(basis.name()) == Some(*basis)));
    assert_eq!(Basis::named("bytes"), None);
}
