//! What both sides of a round know before it begins: its connections, and their secret.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::session::Failure;

/// Threads of one process.
const MOST_CONNECTIONS: usize = 1024;
/// A terabyte: more is a configuration error.
const MOST_BYTES: u64 = 1 << 40;

/// What a connection of a pair is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    /// The short connection, from which the other is predicted.
    Probe,
    /// The long connection.
    Data,
}

impl Role {
    pub(super) const BOTH: [Self; 2] = [Self::Probe, Self::Data];
}

/// Something of either role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ByRole<T> {
    pub(super) probe: T,
    pub(super) data: T,
}

impl<T> ByRole<T> {
    pub(super) const fn of(&self, role: Role) -> &T {
        match role {
            Role::Probe => &self.probe,
            Role::Data => &self.data,
        }
    }
}

/// A connection of the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Connection {
    pub(super) pair: u32,
    pub(super) role: Role,
    /// Of payload.
    pub(super) bytes: u64,
}

/// The secret of a round: 32 hexadecimal digits. It is never printed.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Nonce(pub(super) u128);

impl Debug for Nonce {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("Nonce(…)")
    }
}

impl TryFrom<String> for Nonce {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u128::from_str_radix(&text, 16).ok().filter(|_| digits);
        number.map(Self).ok_or("a nonce is 32 hexadecimal digits, drawn anew for every round")
    }
}

/// Refuses duplicate connections, and sizes out of range.
pub(super) fn check(connections: &[Connection]) -> Result<(), Failure> {
    if connections.is_empty() || connections.len() > MOST_CONNECTIONS {
        let message = format!("connections: {} of them is out of range", connections.len());
        return Err(Failure::configuration(message, format!("give from 1 to {MOST_CONNECTIONS}")));
    }
    let mut seen = BTreeSet::new();
    for Connection { pair, role, bytes } in connections {
        if !(1..=MOST_BYTES).contains(bytes) {
            let message = format!("connections: pair {pair}: {bytes} bytes is out of range");
            return Err(Failure::configuration(message, format!("give from 1 to {MOST_BYTES}")));
        }
        if !seen.insert((pair, role)) {
            let message = format!("connections: pair {pair} has two of one role");
            return Err(Failure::configuration(
                message,
                "a pair has at most one probe and one data connection: give each a pair of its own",
            ));
        }
    }
    Ok(())
}

/// Refuses an address that is every address of this host.
pub(super) fn check_address(key: &str, address: IpAddr) -> Result<(), Failure> {
    if address.is_unspecified() {
        let hint = "give the address that is measured: data ports are nowhere else";
        return Err(Failure::configuration(
            format!("{key}: {address} is every address of this host"),
            hint,
        ));
    }
    Ok(())
}

/// Refuses a rate at which nothing moves.
pub(super) fn check_rate(rate: Option<u64>) -> Result<(), Failure> {
    if rate == Some(0) {
        return Err(Failure::configuration(
            "rate_bits_per_second: 0 moves nothing",
            "give more than 0, or null for no limit",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_has_32_digits_and_is_not_printed() {
        let nonce = Nonce::try_from("000102030405060708090a0b0c0d0eFF".to_owned()).unwrap();
        assert_eq!(nonce.0.to_be_bytes()[..3], [0, 1, 2]);
        assert_eq!((nonce.0.to_be_bytes()[15], format!("{nonce:?}").as_str()), (0xff, "Nonce(…)"));
        for wrong in [
            "",
            "00",
            "+00102030405060708090a0b0c0d0eff",
            "000102030405060708090a0b0c0d0eff0",
            "g00102030405060708090a0b0c0d0eff",
        ] {
            assert!(Nonce::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn connections_are_distinct_and_within_limits() {
        let one = |pair, role, bytes| Connection { pair, role, bytes };
        let pair = [one(3, Role::Probe, 1), one(3, Role::Data, MOST_BYTES)];
        assert_eq!(check(&pair), Ok(()));
        let many: Vec<Connection> =
            (0..).take(MOST_CONNECTIONS + 1).map(|pair| one(pair, Role::Data, 1)).collect();
        assert_eq!(check(&many[1..]), Ok(()));
        let cases: [(&[Connection], &str); 5] = [
            (&[], "0 of them is out of range"),
            (&many, "1025 of them is out of range"),
            (&[one(0, Role::Data, 0)], "pair 0: 0 bytes"),
            (&[one(0, Role::Data, MOST_BYTES + 1)], "pair 0: 1099511627777 bytes"),
            (&[pair[0], pair[1], pair[0]], "pair 3 has two of one role"),
        ];
        for (wrong, message) in cases {
            assert!(check(wrong).unwrap_err().message().contains(message), "{message}");
        }
    }
}
