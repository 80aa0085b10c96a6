//! Packets, bytes and drops of the namespace's interfaces (`/proc/net/dev`).

use std::collections::BTreeMap;
use std::fs;
use std::io;

use serde::Serialize;

use super::grown;

/// An interface's counters in an interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Traffic {
    name: String,
    received_bytes: u64,
    received_packets: u64,
    received_errors: u64,
    received_drops: u64,
    sent_bytes: u64,
    sent_packets: u64,
    sent_errors: u64,
    sent_drops: u64,
}

/// The columns of one line: eight of receiving, eight of sending.
type Counters = [u64; 16];

/// The last reading.
#[derive(Debug, Default)]
pub(super) struct Watch(BTreeMap<String, Counters>);

impl Watch {
    /// Differences from the last reading; an interface that is new is reported from its next
    /// interval on.
    pub(super) fn look(&mut self) -> io::Result<Vec<Traffic>> {
        let now = read(&fs::read_to_string("/proc/thread-self/net/dev")?);
        let found = now
            .iter()
            .filter_map(|(name, now)| self.0.get(name).map(|before| since(name, before, now)))
            .collect();
        self.0 = now;
        Ok(found)
    }
}

fn read(text: &str) -> BTreeMap<String, Counters> {
    let line = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let mut counters = Counters::default();
        for (counter, word) in counters.iter_mut().zip(rest.split_whitespace()) {
            *counter = word.parse().ok()?;
        }
        Some((name.trim().to_owned(), counters))
    };
    text.lines().filter_map(line).collect()
}

fn since(name: &str, before: &Counters, now: &Counters) -> Traffic {
    let growth = |column: usize| grown(before[column], now[column]);
    Traffic {
        name: name.to_owned(),
        received_bytes: growth(0),
        received_packets: growth(1),
        received_errors: growth(2),
        received_drops: growth(3),
        sent_bytes: growth(8),
        sent_packets: growth(9),
        sent_errors: growth(10),
        sent_drops: growth(11),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_interface() {
        let text = "Inter-|   Receive |  Transmit\n face |bytes    packets errs drop fifo frame \
            compressed multicast|bytes packets errs\n    \
                    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n  eth0:5000 50 1 2 0 0 0 0 6000 60 3 \
                    4 0 0 0 0\n";
        let before = read(text);
        let after = read(&text.replace("eth0:5000 50 1 2", "eth0:5900 57 1 4"));
        let found = since("eth0", &before["eth0"], &after["eth0"]);
        assert_eq!(
            (before.len(), found.received_bytes, found.received_packets, found.received_drops),
            (2, 900, 7, 2)
        );
        assert_eq!((found.received_errors, found.sent_bytes, found.sent_drops), (0, 0, 0));
    }
}
