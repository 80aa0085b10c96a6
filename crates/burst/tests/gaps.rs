//! Inter-arrival times: parts against one pass, and their sum.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod random;

use random::{Random, pieces};
use trustbed_burst::{BurstError, Gaps, Packets};
use trustbed_units::Ns;

fn gaps(times: &[i64]) -> Gaps {
    let mut gaps = Gaps::new();
    gaps.add(Packets::new(times, &vec![1; times.len()]).unwrap()).unwrap();
    gaps
}

#[test]
fn gaps_between_packets() {
    let found = gaps(&[-10, -10, 5, 105]);
    assert_eq!(
        (found.times().count(), found.times().min(), found.times().max()),
        (3, Some(0), Some(100))
    );
    assert_eq!(found.times().quantile_bounds(0.5), Some((15, 15)));
    assert_eq!(gaps(&[7]).times().count(), 0);
    assert_eq!(gaps(&[]), Gaps::new());
    assert_eq!(gaps(&[i64::MIN, i64::MAX]).times().max(), Some(u64::MAX));
}

#[test]
fn any_cuts_give_the_very_same_distribution() {
    let mut random = Random(1);
    for _ in 0..1000 {
        let packets = 1 + random.index(100);
        let (times, _) = random.columns(packets);
        let cuts = random.cuts(times.len(), 5);
        let (mut merged, mut added) = (Gaps::new(), Gaps::new());
        for piece in pieces(&times, &cuts) {
            merged.merge(&gaps(piece)).unwrap();
            merged.merge(&Gaps::new()).unwrap();
            added.add(Packets::new(piece, &vec![1; piece.len()]).unwrap()).unwrap();
        }
        let whole = gaps(&times);
        assert_eq!(merged, whole);
        assert_eq!(added, whole);
        assert_eq!(whole.times().sum(), u128::from(times[times.len() - 1].abs_diff(times[0])));
    }
}

#[test]
fn what_lies_in_the_past_is_refused() {
    let (mut later, earlier) = (gaps(&[10, 20]), gaps(&[19]));
    assert_eq!(later.merge(&earlier), Err(BurstError::Overlap { end: Ns(20), start: Ns(19) }));
    assert_eq!(later, gaps(&[10, 20]));
}
