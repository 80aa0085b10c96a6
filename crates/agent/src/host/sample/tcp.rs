//! TCP counters of the namespace, all connections together (`/proc/net/snmp`, `/proc/net/netstat`;
//! RFC 4022 defines the former).

use std::collections::BTreeMap;
use std::fs;
use std::io;

use serde::Serialize;

use super::grown;

/// Counters of an interval, and open connections. Counters that a kernel lacks is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Counted {
    established: Option<u64>,
    received_segments: Option<u64>,
    /// Without retransmissions.
    sent_segments: Option<u64>,
    retransmitted_segments: Option<u64>,
    damaged_segments: Option<u64>,
    resets_sent: Option<u64>,
    opened: Option<u64>,
    accepted: Option<u64>,
    timeouts: Option<u64>,
    listen_drops: Option<u64>,
}

/// Counters by their kind and name: `Tcp.InSegs`.
type Counters = BTreeMap<String, u64>;

/// The last reading.
#[derive(Debug, Default)]
pub(super) struct Watch(Option<Counters>);

impl Watch {
    /// Differences from the last reading; nothing at the first.
    pub(super) fn look(&mut self) -> io::Result<Option<Counted>> {
        let mut now = Counters::new();
        read(&fs::read_to_string("/proc/thread-self/net/snmp")?, "Tcp", &mut now);
        // Not every sandbox has this one.
        if let Ok(text) = fs::read_to_string("/proc/thread-self/net/netstat") {
            read(&text, "TcpExt", &mut now);
        }
        let found = self.0.as_ref().map(|before| since(before, &now));
        self.0 = Some(now);
        Ok(found)
    }
}

/// The counters of a kind: a line with their names, and one with their values behind it.
fn read(text: &str, kind: &str, into: &mut Counters) {
    let mut lines =
        text.lines().filter_map(|line| line.split_once(':')).filter(|(name, _)| *name == kind);
    while let (Some((_, names)), Some((_, values))) = (lines.next(), lines.next()) {
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            // One of them is a limit and may be negative.
            if let Ok(value) = value.parse() {
                into.insert(format!("{kind}.{name}"), value);
            }
        }
    }
}

fn since(before: &Counters, now: &Counters) -> Counted {
    let more = |name: &str| Some(grown(*before.get(name)?, *now.get(name)?));
    Counted {
        established: now.get("Tcp.CurrEstab").copied(),
        received_segments: more("Tcp.InSegs"),
        sent_segments: more("Tcp.OutSegs"),
        retransmitted_segments: more("Tcp.RetransSegs"),
        damaged_segments: more("Tcp.InErrs"),
        resets_sent: more("Tcp.OutRsts"),
        opened: more("Tcp.ActiveOpens"),
        accepted: more("Tcp.PassiveOpens"),
        timeouts: more("TcpExt.TCPTimeouts"),
        listen_drops: more("TcpExt.ListenDrops"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_held_against_their_names() {
        let text = |segments: u64| {
            format!(
                "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm MaxConn ActiveOpens CurrEstab InSegs \
                 RetransSegs\nTcp: 1 -1 7 3 {segments} 5\n\
                 TcpExt: TCPTimeouts ListenDrops\nTcpExt: 9 1\n"
            )
        };
        let counters = |segments| {
            let mut found = Counters::new();
            read(&text(segments), "Tcp", &mut found);
            read(&text(segments), "TcpExt", &mut found);
            found
        };
        assert_eq!(counters(1).get("Tcp.MaxConn"), None);
        let found = since(&counters(100), &counters(142));
        assert_eq!(
            (found.received_segments, found.established, found.retransmitted_segments),
            (Some(42), Some(3), Some(0))
        );
        assert_eq!((found.timeouts, found.sent_segments), (Some(0), None));
    }
}
