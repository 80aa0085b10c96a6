//! What can be wrong with a quantity that a user typed.

/// A text that is no quantity of the expected kind: what was found, where, and what is accepted
/// instead.
///
/// ```
/// use trustbed_units::Span;
/// let error = "20".parse::<Span>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "\"20\" lacks a unit (a duration is written like 20ms, 1.5s, 40us, 100ns, 2min or 1h)"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// There is no number where one must be.
    #[error(
        "{found:?} has no number at character {position} ({quantity} is written like {accepted})"
    )]
    NotANumber {
        /// The kind of quantity, with its article.
        quantity: &'static str,
        /// The text as it was given.
        found: String,
        /// Where, in characters counted from 1.
        position: usize,
        /// Examples of what is accepted.
        accepted: &'static str,
    },
    /// A number without a unit, where a bare number could mean several things.
    #[error("{found:?} lacks a unit ({quantity} is written like {accepted})")]
    MissingUnit {
        /// The kind of quantity, with its article.
        quantity: &'static str,
        /// The text as it was given.
        found: String,
        /// Examples of what is accepted.
        accepted: &'static str,
    },
    /// The unit is not one of this kind of quantity.
    #[error(
        "{found:?} has the unknown unit {unit:?} at character {position} ({quantity} is written \
         like {accepted})"
    )]
    UnknownUnit {
        /// The kind of quantity, with its article.
        quantity: &'static str,
        /// The text as it was given.
        found: String,
        /// What was found where the unit must be.
        unit: String,
        /// Where, in characters counted from 1.
        position: usize,
        /// Examples of what is accepted.
        accepted: &'static str,
    },
    /// The number is too large, too precise, or so small that it would become zero.
    #[error("{found:?} cannot be held: {quantity} reaches from {smallest} to {largest}")]
    OutOfRange {
        /// The kind of quantity, with its article.
        quantity: &'static str,
        /// The text as it was given.
        found: String,
        /// The smallest value above zero.
        smallest: &'static str,
        /// The largest value.
        largest: &'static str,
    },
}
