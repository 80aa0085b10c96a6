//! What a person types: a decimal number, perhaps a space, and a unit. Read and written exactly,
//! without floating point.
//!
//! Numbers are plain decimals (`1.5`); there are no exponents, no digit groups and no locale.
//! Whether a bare number is a quantity, and whether it may be negative, is up to the quantity.

use std::fmt;

use crate::QuantityError;

/// One kind of quantity, for reading it and for saying what was wrong.
pub(crate) struct Kind {
    /// With its article, as in a sentence.
    pub(crate) quantity: &'static str,
    /// Examples of what is accepted.
    pub(crate) accepted: &'static str,
    pub(crate) smallest: &'static str,
    pub(crate) largest: &'static str,
    /// Whether a minus sign is allowed.
    pub(crate) signed: bool,
}

/// A text taken apart.
pub(crate) struct Parts<'a> {
    kind: &'static Kind,
    found: &'a str,
    pub(crate) negative: bool,
    /// Digits in front of and behind the decimal point.
    pub(crate) whole: &'a str,
    pub(crate) fraction: &'a str,
    pub(crate) unit: &'a str,
}

impl Kind {
    /// Takes a text apart into sign, digits and unit.
    pub(crate) fn parts<'a>(&'static self, found: &'a str) -> Result<Parts<'a>, QuantityError> {
        let text = found.trim();
        let negative = self.signed && text.starts_with('-');
        let digits = text.strip_prefix('-').filter(|_| negative).unwrap_or(text);
        let (whole, rest) = leading_digits(digits);
        if whole.is_empty() {
            return Err(self.not_a_number(found, digits));
        }
        let (fraction, rest) = match rest.strip_prefix('.') {
            None => ("", rest),
            Some(behind) => match leading_digits(behind) {
                ("", _) => return Err(self.not_a_number(found, behind)),
                parts => parts,
            },
        };
        Ok(Parts { kind: self, found, negative, whole, fraction, unit: rest.trim_start() })
    }

    fn not_a_number(&self, found: &str, at: &str) -> QuantityError {
        let Self { quantity, accepted, .. } = *self;
        QuantityError::NotANumber {
            quantity,
            found: found.to_owned(),
            position: position(found, at),
            accepted,
        }
    }
}

impl Parts<'_> {
    /// The magnitude in units of `per_unit`, rounded to the nearest whole, halves up.
    pub(crate) fn times(&self, per_unit: u128) -> Result<u128, QuantityError> {
        let fraction = self.fraction.trim_end_matches('0');
        let exact = || {
            let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            let mut mantissa: u128 = 0;
            for digit in self.whole.bytes().chain(fraction.bytes()) {
                mantissa = mantissa.checked_mul(10)?.checked_add(u128::from(digit - b'0'))?;
            }
            let product = mantissa.checked_mul(per_unit)?;
            let rounded = product.checked_add(scale / 2)? / scale;
            // A quantity that is not zero must not become zero: something may be divided by it.
            (rounded > 0 || product == 0).then_some(rounded)
        };
        exact().ok_or_else(|| self.out_of_range())
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.whole.bytes().chain(self.fraction.bytes()).all(|digit| digit == b'0')
    }

    pub(crate) fn out_of_range(&self) -> QuantityError {
        let Kind { quantity, smallest, largest, .. } = *self.kind;
        QuantityError::OutOfRange { quantity, found: self.found.to_owned(), smallest, largest }
    }

    pub(crate) fn missing_unit(&self) -> QuantityError {
        let Kind { quantity, accepted, .. } = *self.kind;
        QuantityError::MissingUnit { quantity, found: self.found.to_owned(), accepted }
    }

    pub(crate) fn unknown_unit(&self) -> QuantityError {
        let Kind { quantity, accepted, .. } = *self.kind;
        let (found, unit) = (self.found.to_owned(), self.unit.to_owned());
        QuantityError::UnknownUnit {
            quantity,
            found,
            unit,
            position: position(self.found, self.unit),
            accepted,
        }
    }
}

fn leading_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// Where `part` begins in `whole`, in characters counted from 1. `part` lies in `whole`, at most
/// its trailing space away from the end.
fn position(whole: &str, part: &str) -> usize {
    let before = whole.trim_end().len().saturating_sub(part.len());
    whole.get(..before).map_or(1, |text| text.chars().count() + 1)
}

/// Writes `value` in the largest of `units` (falling, the last one is 1) that it reaches, as an
/// exact decimal.
///
/// A precision rounds instead: `{:.1}` writes 1234567 bit/s as `1.2Mbit/s`.
pub(crate) fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    negative: bool,
    value: u128,
    units: &[(u128, &str)],
) -> fmt::Result {
    let unit = units.iter().find(|(size, _)| value >= *size).or(units.last());
    let Some(&(size, name)) = unit else { return Ok(()) };
    let sign = if negative && value > 0 { "-" } else { "" };
    if let Some(precision) = f.precision() {
        #[expect(clippy::cast_precision_loss, reason = "rounded on request")]
        let rounded = value as f64 / size as f64;
        return write!(f, "{sign}{rounded:.precision$}{name}");
    }
    let whole = value / size;
    let mut text = format!("{sign}{whole}");
    // A power of ten has as many decimals as zeros; of the decimals, trailing zeros mean nothing.
    let decimals = format!("{:0width$}", value % size, width = size.ilog10() as usize);
    let decimals = decimals.trim_end_matches('0');
    if !decimals.is_empty() {
        text.push('.');
        text.push_str(decimals);
    }
    text.push_str(name);
    f.pad(&text)
}
