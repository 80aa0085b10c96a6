//! Filter expressions in configurations.

use trustbed_wire::Filter;

use crate::session::Failure;

/// Reads one.
pub(crate) fn parse(text: &str) -> Result<Filter, Failure> {
    let hint =
        "the language is that of tcpdump, without names: `src net 10.0.0.0/8 and udp port 9000`";
    text.parse().map_err(|error| Failure::configuration(format!("filter: {error}"), hint))
}
