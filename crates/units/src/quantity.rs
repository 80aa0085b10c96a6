//! Rates, sizes, ratios and durations as people write them.

use std::fmt;
use std::str::FromStr;

use crate::grammar::{Kind, write_decimal};
use crate::{QuantityError, Span};

/// Bits per second.
///
/// Read as `10Mbit/s`, `10Mbps`, `1.5 Gbit/s`, `40kbit`, `100Mb/s`; `5MB/s` are bytes, eight times
/// as many bits; a plain number is bit/s. Prefixes are decimal (k, M, G, T) or binary (Ki, Mi, Gi,
/// Ti). Written exactly, so that reading gives the same rate again.
///
/// ```
/// use trustbed_units::Rate;
/// assert_eq!("1.5 Gbit/s".parse(), Ok(Rate(1_500_000_000)));
/// assert_eq!("5MB/s".parse(), Ok(Rate(40_000_000)));
/// assert_eq!(Rate(10_000_000).to_string(), "10Mbit/s");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

/// Bytes.
///
/// Read as `1500`, `1500B`, `64KiB`, `2 MiB` (powers of 1024) or `1MB`, `20kB` (powers of 1000).
/// `64K` and `1M` are refused: some programs mean 1000 and others 1024. Written exactly, so that
/// reading gives the same size again.
///
/// ```
/// use trustbed_units::Size;
/// assert_eq!("64KiB".parse(), Ok(Size(65_536)));
/// assert_eq!("1MB".parse(), Ok(Size(1_000_000)));
/// assert_eq!(Size(2_097_152).to_string(), "2MiB");
/// assert!("64K".parse::<Size>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(pub u64);

/// A share, 0…1 where it is a share of something; printed as percent.
///
/// Read as `0.1%` or `0.001`. Written as the shortest percentage that reads as the same number
/// again; a precision rounds. What is not a finite number is written as it is, and never read.
///
/// ```
/// use trustbed_units::Ratio;
/// assert_eq!("0.1%".parse(), Ok(Ratio(0.001)));
/// assert_eq!(Ratio(0.29).to_string(), "29%");
/// assert_eq!(format!("{:.1}", Ratio(1.0 / 3.0)), "33.3%");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Ratio(pub f64);

static RATE: Kind = Kind {
    quantity: "a rate",
    accepted: "10Mbit/s, 1.5Gbit/s, 40kbit, 5MB/s or 64000bit/s",
    smallest: "1bit/s",
    largest: "18446744Tbit/s",
    signed: false,
};

static SIZE: Kind = Kind {
    quantity: "a size",
    accepted: "1500B, 64KiB, 2MiB, 1MB or 1GB",
    smallest: "1B",
    largest: "16777215TiB",
    signed: false,
};

static RATIO: Kind = Kind {
    quantity: "a ratio",
    accepted: "0.1% or 0.001",
    smallest: "0",
    largest: "the largest floating-point number",
    signed: true,
};

static SPAN: Kind = Kind {
    quantity: "a duration",
    accepted: "20ms, 1.5s, 40us, 100ns, 2min or 1h",
    smallest: "1ns",
    largest: "292 years",
    signed: true,
};

/// A prefix in front of `bit` or `B`. Milli makes no sense there, but `m` is left to the caller to
/// accept.
fn prefix(text: &str) -> Option<u128> {
    Some(match text {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" | "ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    })
}

/// Bits per second in one of a unit of rate.
fn rate_unit(unit: &str) -> Option<u128> {
    // In the order in which one is not the end of another.
    const BITS: [&str; 5] = ["bits/s", "bit/s", "bit", "bps", "b/s"];
    const BYTES: [&str; 2] = ["B/s", "Bps"];
    if let Some(before) = BITS.iter().find_map(|ending| unit.strip_suffix(ending)) {
        // `10mbit` is what tc and its users write.
        return prefix(match before {
            "m" => "M",
            "g" => "G",
            "t" => "T",
            before => before,
        });
    }
    let before = BYTES.iter().find_map(|ending| unit.strip_suffix(ending))?;
    prefix(before).map(|bytes| bytes * 8)
}

impl FromStr for Rate {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let parts = RATE.parts(text)?;
        let per_unit = if parts.unit.is_empty() { Some(1) } else { rate_unit(parts.unit) };
        let bits = parts.times(per_unit.ok_or_else(|| parts.unknown_unit())?)?;
        u64::try_from(bits).map(Self).map_err(|_| parts.out_of_range())
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u128, &str); 5] = [
            (1_000_000_000_000, "Tbit/s"),
            (1_000_000_000, "Gbit/s"),
            (1_000_000, "Mbit/s"),
            (1_000, "kbit/s"),
            (1, "bit/s"),
        ];
        write_decimal(f, false, self.0.into(), &UNITS)
    }
}

impl FromStr for Size {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let parts = SIZE.parts(text)?;
        let per_unit = if parts.unit.is_empty() {
            Some(1)
        } else {
            parts.unit.strip_suffix('B').and_then(prefix)
        };
        let bytes = parts.times(per_unit.ok_or_else(|| parts.unknown_unit())?)?;
        u64::try_from(bytes).map(Self).map_err(|_| parts.out_of_range())
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DECIMAL: [(u128, &str); 5] = [
            (1_000_000_000_000, "TB"),
            (1_000_000_000, "GB"),
            (1_000_000, "MB"),
            (1_000, "kB"),
            (1, "B"),
        ];
        /// Falling, binary and decimal mixed: the largest that divides the size is taken.
        const WHOLE: [(u64, &str); 9] = [
            (1 << 40, "TiB"),
            (1_000_000_000_000, "TB"),
            (1 << 30, "GiB"),
            (1_000_000_000, "GB"),
            (1 << 20, "MiB"),
            (1_000_000, "MB"),
            (1 << 10, "KiB"),
            (1_000, "kB"),
            (1, "B"),
        ];
        if f.precision().is_some() {
            return write_decimal(f, false, self.0.into(), &DECIMAL);
        }
        let (size, name) = WHOLE
            .into_iter()
            .find(|(size, _)| self.0 > 0 && self.0.is_multiple_of(*size))
            .unwrap_or((1, "B"));
        f.pad(&format!("{}{name}", self.0 / size))
    }
}

impl FromStr for Span {
    type Err = QuantityError;

    /// Reads `20ms`, `1.5s`, `40us`, `40µs`, `100ns`, `2min`, `1h`, with a minus sign if need be. A
    /// bare number is refused, except 0.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let parts = SPAN.parts(text)?;
        let per_unit = match parts.unit {
            "ns" => 1,
            // Two different characters look like a mu: the micro sign and the Greek letter.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" | "sec" => 1_000_000_000,
            "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "" if parts.is_zero() => return Ok(Self::ZERO),
            "" => return Err(parts.missing_unit()),
            _ => return Err(parts.unknown_unit()),
        };
        let magnitude = i128::try_from(parts.times(per_unit)?).map_err(|_| parts.out_of_range())?;
        let nanoseconds = if parts.negative { -magnitude } else { magnitude };
        i64::try_from(nanoseconds).map(Self).map_err(|_| parts.out_of_range())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u128, &str); 4] =
            [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];
        if *self == Self::ZERO {
            return f.write_str("0s");
        }
        write_decimal(f, self.0 < 0, self.0.unsigned_abs().into(), &UNITS)
    }
}

impl FromStr for Ratio {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let parts = RATIO.parts(text)?;
        let exponent = match parts.unit {
            "" => 0,
            "%" => -2,
            _ => return Err(parts.unknown_unit()),
        };
        // The decimal is shifted before it becomes binary, so that 0.1% is exactly 0.001.
        let sign = if parts.negative { "-" } else { "" };
        let number = format!(
            "{sign}{}.{}e{exponent}",
            parts.whole,
            if parts.fraction.is_empty() { "0" } else { parts.fraction }
        );
        match number.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Self(value)),
            _ => Err(parts.out_of_range()),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(precision) = f.precision() {
            return write!(f, "{:.precision$}%", self.0 * 100.0);
        }
        if !self.0.is_finite() {
            return write!(f, "{}", self.0);
        }
        // The shortest digits that mean this number, moved by two places, without arithmetic on the
        // number itself.
        let scientific = format!("{:e}", self.0.abs());
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let point = exponent.parse::<i32>().unwrap_or(0) + 3;
        let sign = if self.0.is_sign_negative() && self.0 != 0.0 { "-" } else { "" };
        match usize::try_from(point) {
            Ok(point) if point >= digits.len() => {
                write!(f, "{sign}{digits}{}%", "0".repeat(point - digits.len()))
            }
            Ok(point) if point > 0 => write!(f, "{sign}{}.{}%", &digits[..point], &digits[point..]),
            _ => write!(f, "{sign}0.{}{digits}%", "0".repeat(point.unsigned_abs() as usize)),
        }
    }
}
