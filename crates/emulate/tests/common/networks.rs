//! Descriptions of networks.

#![allow(clippy::needless_pass_by_value, reason = "values of JSON, written where they are used")]

use serde_json::{Value, json};
use trustbed_emulate::{Description, EmulateError, Topology};

/// The topology of a description.
pub fn topology(description: Value) -> Result<Topology, EmulateError> {
    Topology::new(&serde_json::from_value::<Description>(description).unwrap())
}

/// A host without access pipes.
pub fn host(name: &str, addresses: &[&str]) -> Value {
    json!({"name": name, "addresses": addresses})
}

/// A client, and a server with two addresses.
pub fn hosts() -> Value {
    json!([host("client", &["10.0.0.1"]), host("server", &["10.0.0.2", "10.0.0.3"])])
}

/// A pipe with a delay only.
pub fn pipe(name: &str, from: &str, to: &str, delay_ns: u64) -> Value {
    json!({"name": name, "from": from, "to": to, "delay_ns": delay_ns})
}

/// Two hosts, a and b, and these links between them, up and down.
pub fn chain(up: Value) -> Value {
    json!({"chain": {"ends": [host("a", &["10.0.0.0"]), host("b", &["10.0.1.0"])], "up": up}})
}
