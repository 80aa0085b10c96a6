//! The golden connection of `tests/golden/flows.json` as packets.
#![allow(dead_code, reason = "every test file uses its own part")]

use serde_json::Value;
use trustbed_wire::{Batch, TcpFlags};

use crate::packets::{Ends, Made, Side, address, batch};

pub(crate) fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

pub(crate) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(i64::MIN)
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn unsigned<T: TryFrom<i64>>(value: &Value) -> Option<T> {
    T::try_from(number(value)).ok()
}

/// The file's content without its frame, and its packets.
pub(crate) fn golden() -> (Value, Batch) {
    let golden = read(include_str!("../../../../tests/golden/flows.json"));
    let packets: Vec<Made> = list(&golden["computed"]["packets"]).iter().filter_map(made).collect();
    assert_eq!(packets.len(), 22, "the golden file holds 22 packets");
    (golden, batch(&packets))
}

/// A packet as the script wrote it down.
fn made(row: &Value) -> Option<Made> {
    let ends = Ends {
        client: (address(1), 40_000),
        server: (address(2), 80),
        client_isn: 4_294_966_000,
        server_isn: 500,
    };
    let side = if row["dir"] == "s" { Side::Client } else { Side::Server };
    let flags = row["flags"].as_str()?;
    let bit = |letter, bit| if flags.contains(letter) { bit } else { 0 };
    let mut made = ends
        .packet(side, number(&row["t_us"]))
        .data(unsigned(&row["len"])?)
        .window(unsigned(&row["win"])?)
        .flags(bit('S', TcpFlags::SYN) | bit('A', TcpFlags::ACK) | bit('P', TcpFlags::PSH));
    if flags.contains('S') {
        made = made.opening(1000, None);
    }
    (made.packet.seq, made.packet.ack) = (unsigned(&row["seq"])?, unsigned(&row["ack"])?);
    Some(made)
}
