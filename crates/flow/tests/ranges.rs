//! A set of byte ranges against its naive twin, a set of bytes.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_flow::RangeSet;

#[derive(Debug, Clone)]
enum Step {
    Insert(i64, i64),
    RemoveBelow(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (-20_i64..120, 0_i64..25)
            .prop_map(|(start, length)| Step::Insert(start, start + length)),
        1 => (-25_i64..130).prop_map(Step::RemoveBelow),
    ]
}

/// The maximal runs of consecutive bytes.
fn runs(bytes: &BTreeSet<i64>) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for &byte in bytes {
        match runs.last_mut() {
            Some(last) if last.1 == byte => last.1 += 1,
            _ => runs.push((byte, byte + 1)),
        }
    }
    runs
}

proptest! {
    #[test]
    fn it_holds_what_a_set_of_bytes_holds(
        steps in vec(step(), 1..40),
        probe in (-30_i64..140, 1_i64..30),
    ) {
        let mut set = RangeSet::default();
        let mut bytes = BTreeSet::new();
        for step in steps {
            match step {
                Step::Insert(start, end) => {
                    let mut reported = BTreeSet::new();
                    set.insert(start, end, |from, to| {
                        assert!(from < to, "a part is never empty");
                        reported.extend(from..to);
                    });
                    let fresh: BTreeSet<i64> =
                        (start..end).filter(|byte| bytes.insert(*byte)).collect();
                    prop_assert_eq!(reported, fresh, "the parts that were not in the set before");
                }
                Step::RemoveBelow(offset) => {
                    set.remove_below(offset);
                    bytes.retain(|&byte| byte >= offset);
                }
            }
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), runs(&bytes));
            prop_assert_eq!((set.len(), set.is_empty()), (runs(&bytes).len(), bytes.is_empty()));
        }
        let (start, length) = probe;
        prop_assert_eq!(
            set.covers(start, start + length),
            (start..start + length).all(|byte| bytes.contains(&byte))
        );
        prop_assert_eq!(
            set.bytes_above(start),
            i64::try_from(bytes.range(start..).count()).unwrap_or(-1)
        );
    }
}

#[test]
fn ranges_that_touch_become_one() {
    let mut set = RangeSet::default();
    set.insert(0, 10, |_, _| ());
    set.insert(20, 30, |_, _| ());
    set.insert(10, 20, |_, _| ());
    assert_eq!(set.iter().collect::<Vec<_>>(), [(0, 30)]);
}

#[test]
fn nothing_is_inserted_by_an_empty_range() {
    let mut set = RangeSet::default();
    set.insert(5, 5, |_, _| panic!("nothing is fresh"));
    set.insert(7, 3, |_, _| panic!("nothing is fresh"));
    assert!(set.is_empty());
}

#[test]
fn the_highest_are_kept() {
    let mut set = RangeSet::default();
    for start in [0, 10, 20] {
        set.insert(start, start + 5, |_, _| ());
    }
    set.keep_highest(3);
    assert_eq!(set.len(), 3);
    set.keep_highest(2);
    assert_eq!(set.iter().collect::<Vec<_>>(), [(10, 15), (20, 25)]);
}
