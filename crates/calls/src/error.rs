//! What can be wrong with calls, orders and chains.

/// Calls or options that no chain can be made of.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallsError {
    /// A state is 1 to 4 calls.
    #[error("a chain of order {order} is not supported; give an order from 1 to 4")]
    Order {
        /// The order that was given.
        order: usize,
    },
    /// Chains of different orders have no transitions in common.
    #[error("a chain of order {left} and one of order {right} cannot be combined")]
    OrdersDiffer {
        /// The order of one.
        left: usize,
        /// The order of the other.
        right: usize,
    },
    /// The bound on a chain's memory.
    #[error(
        "the calls make more than {bound} different transitions of order {order}, the most that a \
         chain holds; lower the order, or raise the bound"
    )]
    TooManyTransitions {
        /// How many the chain may hold.
        bound: usize,
        /// Its order.
        order: usize,
    },
    /// Names of calls are numbered with 16 bits.
    #[error("more than {bound} different names of calls, the last one `{name}`")]
    TooManyNames {
        /// How many there can be.
        bound: usize,
        /// The first one beyond.
        name: String,
    },
    /// A number that no name has.
    #[error("call {call} is the number of no name; the alphabet has {names}")]
    UnknownCall {
        /// The number.
        call: u16,
        /// How many names there are.
        names: usize,
    },
    /// Columns of one trace are equally long.
    #[error("{threads} thread numbers and {calls} calls do not make a trace")]
    UnequalColumns {
        /// How many thread numbers there are.
        threads: usize,
        /// How many calls there are.
        calls: usize,
    },
    /// Smoothing that would leave probabilities of 0, or of more than 1.
    #[error(
        "smoothing with a = {additive} and b = {backoff} is not possible; both are finite and \
         above 0"
    )]
    Smoothing {
        /// What is added to every count.
        additive: f64,
        /// The weight of the next lower order.
        backoff: f64,
    },
}
