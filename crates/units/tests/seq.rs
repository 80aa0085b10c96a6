//! Sequence numbers across their wrap, in both directions.

use proptest::prelude::*;
use trustbed_units::Seq;

#[test]
fn unwraps_forward_and_backward() {
    assert_eq!(Seq(10).unwrap_near(0), 10);
    assert_eq!(Seq(0).unwrap_near(0xffff_ffff), 0x1_0000_0000);
    assert_eq!(Seq(0xffff_ffff).unwrap_near(0x1_0000_0000), 0xffff_ffff);
    assert_eq!(Seq(0xffff_fff0).unwrap_near(5), -16);
    assert_eq!(Seq(0xffff_fff0).unwrap_near(-5), -16);
    assert_eq!(Seq(3).unwrap_near(-0x1_0000_0000), -0xffff_fffd);
}

#[test]
fn at_exactly_half_the_circle_the_earlier_offset_is_taken() {
    assert_eq!(Seq(0x8000_0000).unwrap_near(0), -0x8000_0000);
    assert_eq!(Seq(0x7fff_ffff).unwrap_near(0), 0x7fff_ffff);
}

proptest! {
    #[test]
    fn finds_the_offset_again(
        offset in -(1_i64 << 62)..1 << 62,
        away in -(1_i64 << 31) + 1..1 << 31,
    ) {
        let low = u32::try_from(offset.rem_euclid(1 << 32)).expect("32 bits");
        prop_assert_eq!(Seq(low).unwrap_near(offset - away), offset);
    }

    #[test]
    fn is_always_near_and_always_congruent(number: u32, reference: i64) {
        let unwrapped = Seq(number).unwrap_near(reference);
        prop_assert_eq!(unwrapped.rem_euclid(1 << 32), i64::from(number));
        let away = unwrapped.wrapping_sub(reference);
        prop_assert!((-(1 << 31)..1 << 31).contains(&away));
    }
}
