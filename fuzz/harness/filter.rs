//! What must hold for every filter, whatever words it is made of. The fuzz target `filter` calls
//! this with bytes that libFuzzer makes up; the test `fuzz_corpus` of the crate `wire` calls it
//! with those in `fuzz/corpus`.

use trustbed_wire::{Contents, Filter, IpContents};

const WORDS: [&str; 32] = [
    "host",
    "net",
    "port",
    "portrange",
    "src",
    "dst",
    "tcp",
    "udp",
    "icmp",
    "icmp6",
    "arp",
    "ip",
    "ip6",
    "vlan",
    "less",
    "greater",
    "and",
    "or",
    "not",
    "(",
    ")",
    "&&",
    "||",
    "!",
    "10.0.0.1",
    "::1",
    "10.0.0.0/8",
    "80",
    "80-90",
    "65536",
    "mask",
    "fe80::/10",
];

/// Bytes above 127 are words of the language, so that sentences come about; others are letters.
fn text(data: &[u8]) -> String {
    let mut text = String::new();
    for &byte in data {
        if byte & 0x80 == 0 {
            text.push(char::from(byte));
        } else {
            text.extend([" ", WORDS[usize::from(byte & 31)], " "]);
        }
    }
    text
}

/// A filter is refused, or holds for a frame if and only if its contrary does not.
pub fn filter(data: &[u8]) {
    let text = text(data);
    let filter = match text.parse::<Filter>() {
        Ok(filter) => filter,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    // What is nested as deeply as is permitted cannot be put into parentheses.
    let Ok(contrary) = format!("not ({text})").parse::<Filter>() else { return };
    for is_v6 in [false, true] {
        let ip = IpContents {
            source: [u8::from(is_v6); 16],
            destination: [0; 16],
            is_v6,
            protocol: if is_v6 { 17 } else { 6 },
            length: 60,
            ports: Some((80, 443)),
        };
        let contents = Contents { length: 74, vlan: Some(7), arp: false, ip: Some(ip) };
        assert_ne!(filter.matches(&contents), contrary.matches(&contents), "{text}");
    }
}
