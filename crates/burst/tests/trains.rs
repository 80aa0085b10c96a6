//! Packet trains: by hand, against a plain list of them, and joined from parts.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod random;

use random::{Random, pieces};
use trustbed_burst::{BurstError, Packets, Train, TrainSummary, Trains};
use trustbed_units::{Ns, Span};

const GAP: Span = Span(200);

fn trains(times: &[i64], lengths: &[u32]) -> Trains {
    let mut trains = Trains::new(GAP).unwrap();
    trains.add(Packets::new(times, lengths).unwrap()).unwrap();
    trains
}

/// The obvious method: all of them in a list.
fn plainly(times: &[i64], lengths: &[u32]) -> Vec<Train> {
    let mut found: Vec<Train> = Vec::new();
    for (&time, &length) in times.iter().zip(lengths) {
        match found.last_mut() {
            Some(train) if time - train.end.0 <= GAP.0 => {
                *train = Train {
                    end: Ns(time),
                    packets: train.packets + 1,
                    bytes: train.bytes + u64::from(length),
                    ..*train
                };
            }
            _ => found.push(Train {
                start: Ns(time),
                end: Ns(time),
                packets: 1,
                bytes: u64::from(length),
            }),
        }
    }
    found
}

fn agrees(found: &TrainSummary, expected: &[Train]) {
    let sum =
        |of: fn(&Train) -> u64| expected.iter().map(|train| u128::from(of(train))).sum::<u128>();
    assert_eq!(found.packets.count(), expected.len() as u64);
    assert_eq!((found.packets.sum(), found.bytes.sum()), (sum(|t| t.packets), sum(|t| t.bytes)));
    assert_eq!(found.durations.sum(), sum(|t| t.duration().0.unsigned_abs()));
    assert_eq!(found.spacing.sum(), found.durations.sum(), "a train lasts as long as its gaps");
    assert_eq!(u128::from(found.spacing.count()), sum(|t| t.packets - 1));
    assert_eq!(found.pauses.count(), expected.len().saturating_sub(1) as u64);
    assert!(
        found.pauses.min().is_none_or(|pause| pause > 200)
            && found.spacing.max().is_none_or(|gap| gap <= 200)
    );
    let most = expected.iter().map(|train| train.packets).max();
    assert_eq!(found.longest, expected.iter().find(|train| Some(train.packets) == most).copied());
    assert_eq!(found.bytes.max(), expected.iter().map(|train| train.bytes).max());
}

#[test]
fn by_hand() {
    let found = trains(&[0, 100, 300, 501, 501, 9_000], &[10, 20, 30, 40, 50, 60]).summary();
    assert_eq!((found.gap, found.packets.count()), (GAP, 3));
    assert_eq!(found.longest, Some(Train { start: Ns(0), end: Ns(300), packets: 3, bytes: 60 }));
    assert_eq!((found.bytes.min(), found.bytes.max()), (Some(60), Some(90)));
    assert_eq!((found.spacing.count(), found.spacing.sum()), (3, 300));
    assert_eq!((found.pauses.min(), found.pauses.max()), (Some(201), Some(8_499)));
    assert_eq!(found.durations.max(), Some(300));
}

#[test]
fn equals_a_plain_list() {
    let mut random = Random(1);
    for _ in 0..500 {
        let packets = random.index(200);
        let (times, lengths) = random.columns(packets);
        agrees(&trains(&times, &lengths).summary(), &plainly(&times, &lengths));
    }
}

#[test]
fn any_cuts_give_the_very_same_trains() {
    let mut random = Random(2);
    for _ in 0..2000 {
        let packets = 1 + random.index(60);
        let (times, lengths) = random.columns(packets);
        let cuts = random.cuts(times.len(), 5);
        let mut parts: Vec<Trains> = pieces(&times, &cuts)
            .into_iter()
            .zip(pieces(&lengths, &cuts))
            .map(|(times, lengths)| trains(times, lengths))
            .collect();
        while parts.len() > 1 {
            let seam = random.index(parts.len() - 1);
            let later = parts.remove(seam + 1);
            parts[seam].merge(&later).unwrap();
            parts[seam].merge(&trains(&[], &[])).unwrap();
        }
        assert_eq!(parts[0], trains(&times, &lengths), "{times:?} cut at {cuts:?}");
    }
}

#[test]
fn edges_of_the_definition() {
    assert_eq!(Trains::new(Span(-1)), Err(BurstError::NoWindow { length: Span(-1) }));
    let mut together = Trains::new(Span::ZERO).unwrap();
    together.add(Packets::new(&[1, 1, 2], &[5, 5, 5]).unwrap()).unwrap();
    assert_eq!(together.summary().packets.count(), 2);
    let none = trains(&[], &[]).summary();
    assert_eq!((none.packets.count(), none.longest), (0, None));
    let apart = trains(&[i64::MIN, i64::MAX], &[1, 1]).summary();
    assert_eq!(apart.pauses.max(), Some(u64::MAX));
}

#[test]
fn what_lies_in_the_past_is_refused() {
    let mut later = trains(&[10, 20], &[1, 1]);
    let error = Err(BurstError::Overlap { end: Ns(20), start: Ns(19) });
    assert_eq!(later.merge(&trains(&[19], &[1])), error);
    assert_eq!(later.add(Packets::new(&[19], &[1]).unwrap()), error);
    assert_eq!(later, trains(&[10, 20], &[1, 1]));
}
