//! The configuration of a verb that has two sides.

use serde::Deserialize;

/// The configuration of one side, with the side as its `role`.
#[derive(Debug, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Side<S, R> {
    Send(S),
    Receive(R),
}
