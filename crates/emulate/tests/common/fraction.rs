//! Fractions of 128-bit integers, in lowest terms: the plainest exact arithmetic there is.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Sub};

/// A fraction with a denominator above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fraction(i128, i128);

impl Fraction {
    /// In lowest terms.
    pub fn new(numerator: i128, denominator: i128) -> Self {
        let (mut a, mut b) = (numerator.abs(), denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Self(numerator / a.max(1), denominator / a.max(1))
    }

    /// A whole number.
    pub fn whole(number: i64) -> Self {
        Self(number.into(), 1)
    }

    /// The whole number that is not below it.
    pub fn ceil(self) -> i64 {
        i64::try_from(-(-self.0).div_euclid(self.1)).unwrap()
    }
}

impl Add for Fraction {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
    }
}

impl Sub for Fraction {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self(-other.0, other.1)
    }
}

impl Mul for Fraction {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.0 * other.0, self.1 * other.1)
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0 * other.1).cmp(&(other.0 * self.1))
    }
}
