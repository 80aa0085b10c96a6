//! What can be wrong with the description of a link or a network.

use std::net::IpAddr;

use trustbed_units::Rate;

/// A description that no link or network can be made from. `location` names the pipe and the key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EmulateError {
    /// A link of rate 0 never sends anything.
    #[error(
        "{location}: a rate of 0 never sends a packet; give a rate above 0, or none for a link \
         without a rate"
    )]
    ZeroRate {
        /// Pipe and key.
        location: String,
    },
    /// Above what the exact arithmetic was sized for, and above any link.
    #[error("{location}: {rate} is beyond the largest rate, {largest}")]
    RateTooHigh {
        /// Pipe and key.
        location: String,
        /// The rate that was given.
        rate: Rate,
        /// The largest that is accepted.
        largest: Rate,
    },
    /// Two keys that describe the same thing differently.
    #[error("{location}: {first} and {second} cannot both be given; leave one away")]
    Both {
        /// Pipe.
        location: String,
        /// One key.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A probability outside 0…1.
    #[error("{location}: {value} is no probability; give a number from 0 to 1")]
    NotAProbability {
        /// Pipe and key.
        location: String,
        /// What was given.
        value: f64,
    },
    /// A number that must lie within bounds does not.
    #[error("{location}: {value} does not do; give {expected}")]
    OutOfBounds {
        /// Pipe and key.
        location: String,
        /// What was given.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
    /// A trace or recording with nothing in it.
    #[error("{location}: it is empty; give at least one value")]
    Empty {
        /// Pipe and key.
        location: String,
    },
    /// A list that must rise does not.
    #[error("{location}: value {index}, {value}, comes after {earlier}; put the list in order")]
    RunsBackwards {
        /// Pipe and key.
        location: String,
        /// Which value, counted from 0.
        index: usize,
        /// The value.
        value: u64,
        /// The one in front of it.
        earlier: u64,
    },
    /// Two outages at the same time, or out of order.
    #[error(
        "{location}: number {index}, counted from 0, begins before the one in front of it is over; \
         put them in order, or make one of the two"
    )]
    Overlap {
        /// Pipe and key.
        location: String,
        /// Which one, counted from 0.
        index: usize,
    },
    /// A trace whose last opportunity is at 0 lasts no time, so that it cannot be repeated.
    #[error(
        "{location}: the trace ends at 0 ms and cannot be repeated; its last value is also its \
         length"
    )]
    TraceWithoutTime {
        /// Pipe and key.
        location: String,
    },
    /// A queue that is limited by nothing.
    #[error(
        "{location}: a drop-tail queue needs limit_packets or limit_bytes; a queue without a limit \
         is of the kind \"unlimited\""
    )]
    NoLimit {
        /// Pipe and key.
        location: String,
    },
    /// Something has no name.
    #[error("{location}: a name is empty")]
    NoName {
        /// What kind of thing.
        location: String,
    },
    /// Two things of one name.
    #[error("{what} {name:?} is described twice; names must differ")]
    NameTwice {
        /// What kind of thing.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// An unknown name.
    #[error("{location}: there is no {what} {name:?}{}", hint(nearest.as_deref()))]
    UnknownName {
        /// Where it is used.
        location: String,
        /// What kind of thing was meant.
        what: &'static str,
        /// The name.
        name: String,
        /// The name it may have been meant to be.
        nearest: Option<String>,
    },
    /// A host that cannot be spoken to.
    #[error("host {host:?} has no address; give at least one")]
    NoAddress {
        /// The host.
        host: String,
    },
    /// An address given twice.
    #[error(
        "{address} belongs to host {first:?} and to host {second:?}; an address can be given once"
    )]
    AddressTwice {
        /// The address.
        address: IpAddr,
        /// The host that has it first.
        first: String,
        /// The host that has it again; may be the same.
        second: String,
    },
    /// Fewer than two hosts.
    #[error("a network needs two hosts at least; {hosts} described")]
    TooFewHosts {
        /// How many there are.
        hosts: usize,
    },
    /// More ends than paths are kept for.
    #[error(
        "{ends} hosts and routers have paths to one another, at most {most} can; describe hosts \
         of one kind as addresses with access pipes"
    )]
    TooManyEnds {
        /// How many there are.
        ends: usize,
        /// The most.
        most: usize,
    },
    /// A pipe from something to itself.
    #[error("pipe {pipe:?} leads from {name:?} to itself")]
    Loop {
        /// The pipe.
        pipe: String,
        /// Its both ends.
        name: String,
    },
    /// A host with access pipes is joined to the network by them alone.
    #[error(
        "pipe {pipe:?} ends at host {host:?}, which has access pipes; join it to the router \
         instead, or leave access away"
    )]
    PipeBesideAccess {
        /// The pipe.
        pipe: String,
        /// The host.
        host: String,
    },
    /// An access link that leads nowhere.
    #[error("host {host:?}: its access pipes need a router; give access.router")]
    AccessWithoutRouter {
        /// The host.
        host: String,
    },
    /// Access links of single addresses, but not one for each.
    #[error(
        "host {host:?}: access.each has {links} links; give one for each of the {addresses} \
         addresses"
    )]
    AccessNumber {
        /// The host.
        host: String,
        /// How many links there are.
        links: usize,
        /// How many addresses.
        addresses: usize,
    },
    /// No path between two hosts.
    #[error("no pipes lead from host {from:?} to host {to:?}; {missing}")]
    NoPath {
        /// Where packets would come from.
        from: String,
        /// Where they would go.
        to: String,
        /// What is missing.
        missing: String,
    },
    /// A route whose pipes do not join.
    #[error("route from {from:?} to {to:?}: {problem}")]
    BrokenRoute {
        /// Where it begins.
        from: String,
        /// Where it ends.
        to: String,
        /// What is wrong.
        problem: String,
    },
    /// A shorthand and something beside it.
    #[error("{shorthand} describes the whole network; leave {beside} away")]
    BesideShorthand {
        /// The shorthand.
        shorthand: &'static str,
        /// What is given beside it.
        beside: &'static str,
    },
    /// A chain of nothing, or of different lengths.
    #[error("chain: {problem}")]
    BrokenChain {
        /// What is wrong.
        problem: String,
    },
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean {nearest:?}?"))
}

/// The candidate that differs least from a name, when it differs little.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let most = (name.chars().count() / 2).max(1);
    candidates
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(far, _)| *far <= most)
        .min()
        .map(|(_, name)| name.to_owned())
}

/// How many characters must be changed, added or removed (Levenshtein, 1965), case aside.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, character) in one.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, compared) in other.iter().enumerate() {
            let changed = diagonal + usize::from(character != *compared);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_name_that_was_meant() {
        let names = ["client", "server", "left", "right"];
        assert_eq!(nearest("clinet", names.into_iter()).as_deref(), Some("client"));
        assert_eq!(nearest("Server", names.into_iter()).as_deref(), Some("server"));
        assert_eq!(nearest("lft", names.into_iter()).as_deref(), Some("left"));
        assert_eq!(nearest("elsewhere", names.into_iter()), None);
    }
}
