//! What the words of a filter mean, and the errors for others.

use std::net::IpAddr;

use super::*;
use crate::IpContents;

fn address(text: &str) -> [u8; 16] {
    match text.parse().expect("an address") {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

fn frame(protocol: u8, from: &str, to: &str, ports: Option<(u16, u16)>) -> Contents {
    let (source, destination) = (address(from), address(to));
    let ip = IpContents {
        source,
        destination,
        is_v6: from.contains(':'),
        protocol,
        length: 1500,
        ports,
    };
    Contents { length: 1514, vlan: None, arp: false, ip: Some(ip) }
}

/// TCP 10.0.0.1:43210 → 192.168.7.9:80.
fn web() -> Contents {
    frame(6, "10.0.0.1", "192.168.7.9", Some((43210, 80)))
}

fn ping() -> Contents {
    frame(1, "10.0.0.1", "10.0.0.2", None)
}

fn dns() -> Contents {
    Contents { vlan: Some(5), ..frame(17, "2001:db8::1", "2001:db9::2", Some((5353, 53))) }
}

fn arp() -> Contents {
    Contents { length: 42, vlan: None, arp: true, ip: None }
}

/// Which of the four frames a filter means, by their first letters.
fn meant(text: &str) -> String {
    let filter: Filter = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let all = [('w', web()), ('p', ping()), ('d', dns()), ('a', arp())];
    all.iter().filter(|(_, contents)| filter.matches(contents)).map(|(name, _)| *name).collect()
}

#[test]
fn single_tests() {
    for (text, frames) in [
        ("tcp", "w"),
        ("udp", "d"),
        ("icmp", "p"),
        ("arp", "a"),
        ("ip", "wp"),
        ("ip6", "d"),
        ("host 10.0.0.1", "wp"),
        ("src host 10.0.0.1", "wp"),
        ("dst 10.0.0.1", ""),
        ("10.0.0.2", "p"),
        ("host 2001:db8::1", "d"),
        ("net 10", "wp"),
        ("net 10.0.0.0/8", "wp"),
        ("dst net 192.168", "w"),
        ("net 192.168.0.0 mask 255.255.0.0", "w"),
        ("src net 2001:db8::/32", "d"),
        ("dst net 2001:db8::/31", "d"),
        ("net 0.0.0.0/0", "wp"),
        ("src and dst net 10", "p"),
        ("src or dst net 10", "wp"),
        ("port 80", "w"),
        ("src port 80", ""),
        ("tcp dst port 80", "w"),
        ("udp port 80", ""),
        ("portrange 50-60", "d"),
        ("ip6 port 53", "d"),
        ("vlan", "d"),
        ("vlan 5", "d"),
        ("vlan 6", ""),
        ("less 42", "a"),
        ("greater 43", "wpd"),
    ] {
        assert_eq!(meant(text), frames, "{text}");
    }
}

#[test]
fn words_are_joined_from_left_to_right() {
    for (text, frames) in [
        ("not arp", "wpd"),
        ("! arp && !tcp", "pd"),
        ("!(arp||tcp)", "pd"),
        ("arp or tcp and greater 100", "w"),
        ("arp or (tcp and greater 100)", "wa"),
        ("port 80 or 53", "wd"),
        ("port 80 or 53 and udp", "d"),
        ("not port 80 or 53", "pda"),
        ("host 10.0.0.2 or 192.168.7.9 and tcp", "w"),
        ("not not arp", "a"),
        ("((((icmp))))", "p"),
    ] {
        assert_eq!(meant(text), frames, "{text}");
    }
}

#[test]
fn errors_state_where_and_what() {
    for (text, message) in [
        ("", "the filter ends where a test such as"),
        ("tcp and", "the filter ends where a test such as"),
        ("(tcp", "the filter ends where `)` is expected"),
        ("(tcp udp)", "udp (at 6) stands where `and`, `or` or `)` is expected"),
        ("tcp)", ") (at 4) stands where `and`, `or` or the end is expected"),
        ("tcp udp", "udp (at 5) stands where"),
        ("tcpp", "tcpp (at 1) stands where a test such as"),
        ("port http", "http (at 6) is no port"),
        ("port 65536", "65536 (at 6) is no port"),
        ("portrange 9-8", "9-8 (at 11) is no range"),
        ("portrange 9", "9 (at 11) is no range"),
        ("host example.org", "example.org (at 6) is no address"),
        ("net 10.0.0.1/8", "10.0.0.1/8 (at 5) is no network: bits are set behind its mask"),
        ("net 10.0.0.0/33", "is no network"),
        ("net 1.2.3.4.5", "is no network"),
        ("vlan 4095", "4095 (at 6) is no VLAN id"),
        ("less many", "many (at 6) is no length"),
        ("icmp port 80", "stands where a protocol with ports"),
        ("tcp host 10.0.0.1", "stands where `port`"),
        ("tcp[13] & 2", "tcp[13] (at 1) stands where"),
    ] {
        let error = text.parse::<Filter>().expect_err(text).to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

/// Far beyond every limit; an interpreter takes minutes for so many.
const FAR: usize = if cfg!(miri) { 5_000 } else { 200_000 };

#[test]
fn length_has_an_end() {
    let of = |tests: usize| vec!["tcp"; tests].join(" or ").parse::<Filter>();
    let contents = Contents::default();
    assert!(of(4096).is_ok_and(|filter| !filter.matches(&contents)));
    assert_eq!(of(4097), Err(FilterError::TooLong));
    assert_eq!(of(FAR), Err(FilterError::TooLong));
}

#[test]
fn nesting_has_an_end() {
    let nested =
        |depth: usize| format!("{}arp{}", "(".repeat(depth), ")".repeat(depth)).parse::<Filter>();
    assert!(nested(50).is_ok());
    assert_eq!(nested(FAR), Err(FilterError::TooDeep));
    assert_eq!(format!("{} arp", "! ".repeat(FAR)).parse::<Filter>(), Err(FilterError::TooDeep));
}
