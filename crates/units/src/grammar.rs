//! What a person types: a number and a unit.

/// Bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

/// Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(pub u64);

/// A share, 0…1 where it is a share of something; printed as percent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Ratio(pub f64);

/// What was wrong with a quantity that somebody typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError;
