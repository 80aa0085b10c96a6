//! Time arithmetic: exact where it can be, saturating where a file holds impossible timestamps,
//! signed always.

use proptest::prelude::*;
use trustbed_units::{Ns, Span};

#[test]
fn a_difference_is_signed() {
    assert_eq!(Ns(5) - Ns(8), Span(-3));
    assert_eq!(Ns(5) + Span(-8), Ns(-3));
    assert_eq!(Ns(5) - Span(8), Ns(-3));
    assert_eq!(-Span(4), Span(-4));
}

#[test]
fn arithmetic_saturates_at_both_ends() {
    assert_eq!(Ns::MAX - Ns::MIN, Span::MAX);
    assert_eq!(Ns::MIN - Ns::MAX, Span(i64::MIN));
    assert_eq!(Ns::MAX + Span(1), Ns::MAX);
    assert_eq!(Ns::MIN - Span(1), Ns::MIN);
    assert_eq!(-Span(i64::MIN), Span::MAX);
    assert_eq!(Span::MAX + Span::MAX, Span::MAX);
    let mut sum = Span::MAX;
    sum += Span(1);
    assert_eq!(sum, Span::MAX);
    sum -= Span(1);
    assert_eq!(sum, Span(i64::MAX - 1));
}

#[test]
fn constructors_and_conversions_agree() {
    assert_eq!(Span::from_secs(2), Span::from_millis(2000));
    assert_eq!(Span::from_millis(2), Span::from_micros(2000));
    assert!((Span::from_millis(-1500).as_secs_f64() + 1.5).abs() < f64::EPSILON);
    assert!((Span(7).as_f64() - 7.0).abs() < f64::EPSILON);
}

proptest! {
    #[test]
    fn never_overflows(a: i64, b: i64) {
        let exact = i128::from(a) - i128::from(b);
        let clamped =
            i64::try_from(exact.clamp(i64::MIN.into(), i64::MAX.into())).expect("clamped");
        prop_assert_eq!(Ns(a) - Ns(b), Span(clamped));
        prop_assert_eq!(Span(a) - Span(b), Span(clamped));
        let _ = (Ns(a) + Span(b), Ns(a) - Span(b), Span(a) + Span(b), -Span(a));
    }

    #[test]
    fn adding_a_difference_leads_back(a in -(1_i64 << 62)..1 << 62, b in -(1_i64 << 62)..1 << 62) {
        prop_assert_eq!(Ns(a) + (Ns(b) - Ns(a)), Ns(b));
    }
}
