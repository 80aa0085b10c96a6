//! The grammar of quantities: what is read, what is refused and why, and that what is written reads
//! as the same quantity again.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use proptest::prelude::*;
use trustbed_units::{QuantityError, Rate, Ratio, Size, Span};

fn reads<T: FromStr<Err = QuantityError> + PartialEq + Debug>(cases: &[(&str, T)]) {
    for (text, quantity) in cases {
        assert_eq!(text.parse::<T>().as_ref(), Ok(quantity), "{text:?}");
    }
}

#[expect(clippy::expect_used, reason = "a helper of tests, which may fail loudly")]
fn refused<T: FromStr<Err = QuantityError> + Debug>(texts: &[&str]) -> Vec<QuantityError> {
    texts.iter().map(|text| text.parse::<T>().expect_err(text)).collect()
}

#[test]
fn rates_are_bits_and_byte_rates_count_eightfold() {
    reads(&[
        ("10Mbit/s", Rate(10_000_000)),
        ("10Mbps", Rate(10_000_000)),
        ("10mbit", Rate(10_000_000)),
        ("1.5 Gbit/s", Rate(1_500_000_000)),
        (" 40kbit ", Rate(40_000)),
        ("100Mb/s", Rate(100_000_000)),
        ("2Mibit/s", Rate(2 << 20)),
        ("5MB/s", Rate(40_000_000)),
        ("1KiB/s", Rate(8192)),
        ("64000", Rate(64_000)),
        ("0", Rate(0)),
        ("0.0000015Mbit/s", Rate(2)),
        ("18446744073709551615", Rate(u64::MAX)),
    ]);
    refused::<Rate>(&[
        "",
        "fast",
        "-1Mbit/s",
        "10M",
        "10MB",
        "10 parsec",
        "1e6",
        "1,5Mbit/s",
        "10mb/s ec",
        "18446744073709551616",
    ]);
    // Not milli: no link is that slow. Not mega either: lower-case bytes are refused as
    // ambiguous.
    refused::<Rate>(&["10mB/s"]);
}

#[test]
fn sizes_are_decimal_or_binary_and_never_ambiguous() {
    reads(&[
        ("1500", Size(1500)),
        ("1500B", Size(1500)),
        ("64KiB", Size(65_536)),
        ("2 MiB", Size(2_097_152)),
        ("1MB", Size(1_000_000)),
        ("1.5kB", Size(1500)),
        ("0.5KiB", Size(512)),
    ]);
    refused::<Size>(&["64K", "1M", "1Mb", "-1", "17000000000000000000000B", "0.1B", "KiB"]);
}

#[test]
fn spans_need_a_unit_unless_they_are_zero() {
    reads(&[
        ("20ms", Span::from_millis(20)),
        ("1.5s", Span::from_millis(1500)),
        ("40us", Span::from_micros(40)),
        ("40\u{b5}s", Span::from_micros(40)),
        ("40\u{3bc}s", Span::from_micros(40)),
        ("100ns", Span(100)),
        ("2min", Span::from_secs(120)),
        ("1h", Span::from_secs(3600)),
        ("-3ms", Span::from_millis(-3)),
        ("0", Span::ZERO),
        ("0.00", Span::ZERO),
        ("1.4ns", Span(1)),
        ("-9223372036854775808ns", Span(i64::MIN)),
    ]);
    refused::<Span>(&[
        "",
        "20",
        "0.4ns",
        "ms",
        "20 m",
        "20 msec",
        "9223372036854775808ns",
        "1.s",
        "..5s",
        "--1s",
    ]);
}

#[test]
fn ratios_are_percentages_or_plain_numbers() {
    reads(&[
        ("0.1%", Ratio(0.001)),
        ("0.001", Ratio(0.001)),
        ("100 %", Ratio(1.0)),
        ("0%", Ratio(0.0)),
        ("-2.5%", Ratio(-0.025)),
    ]);
    refused::<Ratio>(&[
        "",
        "%",
        "NaN",
        "inf",
        "1/3",
        "5 percent",
        &format!("1{}", "0".repeat(400)),
    ]);
}

#[test]
fn an_error_states_what_where_and_what_is_accepted() {
    let error = "12 furlongs".parse::<Span>().expect_err("no unit of time");
    assert_eq!(
        error,
        QuantityError::UnknownUnit {
            quantity: "a duration",
            found: "12 furlongs".into(),
            unit: "furlongs".into(),
            position: 4,
            accepted: "20ms, 1.5s, 40us, 100ns, 2min or 1h",
        }
    );
    let messages: Vec<String> = refused::<Rate>(&["fast", "1.x", "10M", "99999999999999Gbit/s"])
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        messages,
        [
            "\"fast\" has no number at character 1 (a rate is written like 10Mbit/s, 1.5Gbit/s, \
             40kbit, 5MB/s or 64000bit/s)",
            "\"1.x\" has no number at character 3 (a rate is written like 10Mbit/s, 1.5Gbit/s, \
             40kbit, 5MB/s or 64000bit/s)",
            "\"10M\" has the unknown unit \"M\" at character 3 (a rate is written like 10Mbit/s, \
             1.5Gbit/s, 40kbit, 5MB/s or 64000bit/s)",
            "\"99999999999999Gbit/s\" cannot be held: a rate reaches from 1bit/s to 18446744Tbit/s",
        ]
    );
}

#[test]
fn the_limits_that_errors_name_are_accepted() {
    assert!("18446744Tbit/s".parse::<Rate>().is_ok() && "18446745Tbit/s".parse::<Rate>().is_err());
    assert!("16777215TiB".parse::<Size>().is_ok() && "16777216TiB".parse::<Size>().is_err());
    assert!("2562047h".parse::<Span>().is_ok() && "2562048h".parse::<Span>().is_err());
}

#[test]
fn quantities_are_written_in_the_unit_that_reads_best() {
    let written = [
        Rate(0).to_string(),
        Rate(999).to_string(),
        Rate(1_000_000_001).to_string(),
        Size(0).to_string(),
        Size(65_536).to_string(),
        Size(1_000_000).to_string(),
        Size(1_234_567).to_string(),
        Span(0).to_string(),
        Span(-1500).to_string(),
        Span(i64::MIN).to_string(),
        Ratio(0.001).to_string(),
        Ratio(-1.5).to_string(),
        Ratio(1.0).to_string(),
        Ratio(f64::INFINITY).to_string(),
    ];
    let expected = [
        "0bit/s",
        "999bit/s",
        "1.000000001Gbit/s",
        "0B",
        "64KiB",
        "1MB",
        "1234567B",
        "0s",
        "-1.5µs",
        "-9223372036.854775808s",
        "0.1%",
        "-150%",
        "100%",
        "inf",
    ];
    assert_eq!(written, expected);
}

#[test]
fn a_precision_rounds_and_a_width_pads() {
    assert_eq!(format!("{:.1}", Rate(1_234_567)), "1.2Mbit/s");
    assert_eq!(format!("{:.1}", Size(65_536)), "65.5kB");
    assert_eq!(format!("{:.2}", Span(-1_234_567)), "-1.23ms");
    assert_eq!(format!("{:.0}", Ratio(0.125)), "12%");
    assert_eq!(format!("{:>10}", Rate(1000)), "   1kbit/s");
}

fn same<T: FromStr<Err = QuantityError> + Display + PartialEq + Debug>(quantity: &T) {
    let text = quantity.to_string();
    assert_eq!(text.parse::<T>().as_ref(), Ok(quantity), "{text:?}");
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same(
        number: u64,
        shift in 0_u32..64,
        nanoseconds: i64,
        ratio in
            proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO,
    ) {
        same(&Rate(number >> shift));
        same(&Size(number >> shift));
        same(&Size((number >> shift) << (shift / 2)));
        same(&Span(nanoseconds >> shift));
        same(&Ratio(ratio));
    }

    #[test]
    fn any_text_is_a_quantity_or_an_error(
        text in "\\PC*",
        near in "-?[0-9]{0,45}\\.?[0-9]{0,45} ?[a-zA-Z%µ/]{0,6}",
    ) {
        for text in [&text, &near] {
            // What is read must also be written and read again.
            if let Ok(rate) = text.parse::<Rate>() {
                same(&rate);
            }
            if let Ok(size) = text.parse::<Size>() {
                same(&size);
            }
            if let Ok(span) = text.parse::<Span>() {
                same(&span);
            }
            if let Ok(ratio) = text.parse::<Ratio>() {
                same(&ratio);
            }
        }
    }

    #[test]
    fn units_scale(number in 0_u64..1_000_000, unit in 0_usize..3) {
        let (name, size) = [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)][unit];
        let nanoseconds = i64::try_from(number * size).expect("small enough");
        prop_assert_eq!(format!("{number}{name}").parse(), Ok(Span(nanoseconds)));
    }

    #[test]
    fn too_much_is_an_error(number in 18_446_744_073_709_551_616_u128..) {
        let out_of_range = |error| matches!(error, QuantityError::OutOfRange { .. });
        prop_assert!(number.to_string().parse::<Rate>().is_err_and(out_of_range));
        prop_assert!((number.to_string() + "B").parse::<Size>().is_err_and(out_of_range));
        prop_assert!((number.to_string() + "ns").parse::<Span>().is_err_and(out_of_range));
    }
}
