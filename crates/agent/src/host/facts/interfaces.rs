//! Interfaces of this network namespace: driver, offloads, queueing disciplines, drops.
//!
//! Links and queueing disciplines come from rtnetlink(7), card settings from ethtool. What a card
//! does not support is null without a note: loopback has no rings. Counters count since the
//! interface was created or its driver loaded.
//!
//! Bias: a guest sees the virtual card only; coalescing and drops of the card below it are
//! invisible.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use super::reading::HostReader;
use crate::sys::ethtool::{Card, Query};
use crate::sys::netlink::{Netlink, attributes, number16, number32, number64, text};

/// `NETLINK_ROUTE`, `RTM_GETLINK`, `RTM_GETQDISC`, and the lengths of their headers.
const ROUTE: i32 = 0;
const LINKS: u16 = 18;
const QDISCS: u16 = 38;
const LINK: usize = 16;
const QDISC: usize = 20;
/// Attributes of a link (`linux/if_link.h`), and of its kind.
const LINK_NAME: u16 = 3;
const LINK_MTU: u16 = 4;
const LINK_QUEUE_LENGTH: u16 = 13;
const LINK_INFO: u16 = 18;
const LINK_STATISTICS: u16 = 23;
const INFO_KIND: u16 = 1;
/// Attributes of a discipline (`linux/rtnetlink.h`), and of its statistics.
const QDISC_KIND: u16 = 1;
const QDISC_STATISTICS: u16 = 7;
const STATISTICS_QUEUE: u16 = 3;
/// Above which discipline another is: nothing is above the root.
const ROOT: u32 = 0xffff_ffff;
/// Interfaces that are described, disciplines and counters of each that are reported; further ones
/// are counted.
const MOST_INTERFACES: usize = 64;
const MOST_QDISCS: usize = 128;
const MOST_COUNTERS: usize = 1024;

/// One interface.
#[derive(Debug, Default, Serialize)]
pub(super) struct Interface {
    name: String,
    #[serde(skip)]
    index: u32,
    up: bool,
    loopback: bool,
    /// The kind of a virtual interface: `veth`, `bridge`, `wireguard`.
    kind: Option<String>,
    driver: Option<String>,
    driver_version: Option<String>,
    mtu_bytes: Option<u32>,
    speed_bits_per_second: Option<u64>,
    full_duplex: Option<bool>,
    queue_length_packets: Option<u32>,
    qdiscs: Vec<Qdisc>,
    qdiscs_left_out: usize,
    offloads: Offloads,
    coalescing: Option<Coalescing>,
    rings: Option<Rings>,
    channels: Option<u32>,
    hardware_timestamps: Option<bool>,
    traffic: Option<Traffic>,
    /// The driver's counters that are not 0, and how many are left out.
    counters: Option<BTreeMap<String, u64>>,
    counters_left_out: usize,
}

/// A queueing discipline and its drops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Qdisc {
    kind: String,
    root: bool,
    /// In the notation of tc(8).
    parent: String,
    drops: Option<u32>,
    waiting_packets: Option<u32>,
}

/// Offloads of the card.
#[derive(Debug, Default, Serialize)]
struct Offloads {
    receive_checksum: Option<bool>,
    send_checksum: Option<bool>,
    scatter_gather: Option<bool>,
    tcp_segmentation: Option<bool>,
    generic_segmentation: Option<bool>,
    generic_receive: Option<bool>,
    large_receive: Option<bool>,
}

/// How long a card waits before it interrupts.
#[derive(Debug, Serialize)]
struct Coalescing {
    receive_ns: u64,
    receive_packets: u32,
    send_ns: u64,
    send_packets: u32,
    adaptive_receive: bool,
    adaptive_send: bool,
}

#[derive(Debug, Serialize)]
struct Rings {
    receive: u32,
    receive_most: u32,
    send: u32,
    send_most: u32,
}

/// Packets carried and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Traffic {
    received_packets: u64,
    sent_packets: u64,
    received_errors: u64,
    sent_errors: u64,
    received_drops: u64,
    sent_drops: u64,
    received_missed: u64,
}

/// Every interface, and how many more there are.
pub(super) fn look(reader: &mut HostReader) -> (Option<Vec<Interface>>, usize) {
    let requested = request();
    let Some((mut found, left_out)) =
        reader.or_note("interfaces", requested.map_err(|error| format!("rtnetlink: {error}")))
    else {
        return (None, 0);
    };
    for one in &mut found {
        let name = one.name.clone();
        let card = Card::of(&name).map_err(|error| format!("ethtool: {error}"));
        if let Some(card) = reader.or_note(&format!("interfaces.{name}"), card) {
            let counters = one.query(&card).map_err(|error| format!("ethtool -S: {error}"));
            reader.or_note(&format!("interfaces.{name}.counters"), counters);
        }
    }
    (Some(found), left_out)
}

fn request() -> io::Result<(Vec<Interface>, usize)> {
    let mut netlink = Netlink::open(ROUTE)?;
    let (mut found, mut left_out) = (Vec::new(), 0);
    netlink.dump(LINKS, &[0; LINK], |message| match Interface::read(message) {
        Some(_) if found.len() >= MOST_INTERFACES => left_out += 1,
        one => found.extend(one),
    })?;
    netlink.dump(QDISCS, &[0; QDISC], |message| {
        let Some((index, qdisc)) = Qdisc::read(message) else { return };
        let Some(one) = found.iter_mut().find(|one| one.index == index) else { return };
        if one.qdiscs.len() < MOST_QDISCS {
            one.qdiscs.push(qdisc);
        } else {
            one.qdiscs_left_out += 1;
        }
    })?;
    Ok((found, left_out))
}

impl Interface {
    /// Parses a message about a link.
    fn read(message: &[u8]) -> Option<Self> {
        let (hardware, index, flags) =
            (number16(message, 2)?, number32(message, 4)?, number32(message, 8)?);
        let mut found = Self {
            index,
            up: flags & libc::IFF_UP.unsigned_abs() != 0
                && flags & libc::IFF_RUNNING.unsigned_abs() != 0,
            loopback: hardware == libc::ARPHRD_LOOPBACK,
            ..Self::default()
        };
        for (kind, value) in attributes(message.get(LINK..)?) {
            match kind {
                LINK_NAME => found.name = text(value),
                LINK_MTU => found.mtu_bytes = number32(value, 0),
                LINK_QUEUE_LENGTH => found.queue_length_packets = number32(value, 0),
                LINK_INFO => {
                    found.kind = attributes(value)
                        .find(|(kind, _)| *kind == INFO_KIND)
                        .map(|(_, value)| text(value));
                }
                LINK_STATISTICS => found.traffic = Traffic::read(value),
                _ => {}
            }
        }
        (!found.name.is_empty()).then_some(found)
    }

    /// Queries the card; the error is that of its counters. Unsupported queries stay unknown.
    fn query(&mut self, card: &Card) -> io::Result<()> {
        let words = |query: Query| card.query(query).ok();
        let named =
            |at: usize| card.query_text(Query::Driver, at, 32).ok().filter(|name| !name.is_empty());
        (self.driver, self.driver_version) = (named(4), named(36));
        let link = words(Query::Link);
        self.speed_bits_per_second = link.and_then(|link| speed(link[3], link[7]));
        self.full_duplex = link.and_then(|link| duplex(link[3]));
        let flag = |query: Query| words(query).map(|answer| answer[1] != 0);
        self.offloads = Offloads {
            receive_checksum: flag(Query::ReceiveChecksum),
            send_checksum: flag(Query::SendChecksum),
            scatter_gather: flag(Query::ScatterGather),
            tcp_segmentation: flag(Query::SendSegmentation),
            generic_segmentation: flag(Query::GenericSegmentation),
            generic_receive: flag(Query::GenericReceive),
            large_receive: words(Query::Flags).map(|answer| answer[1] & 1 << 15 != 0),
        };
        let nanoseconds = |micros: u32| u64::from(micros) * 1_000;
        self.coalescing = words(Query::Coalescing).map(|answer| Coalescing {
            receive_ns: nanoseconds(answer[1]),
            receive_packets: answer[2],
            send_ns: nanoseconds(answer[5]),
            send_packets: answer[6],
            adaptive_receive: answer[10] != 0,
            adaptive_send: answer[11] != 0,
        });
        self.rings = words(Query::Rings).map(|answer| Rings {
            receive_most: answer[1],
            send_most: answer[4],
            receive: answer[5],
            send: answer[8],
        });
        // Queues for receiving, or for both directions.
        self.channels = words(Query::Channels).map(|answer| answer[5].saturating_add(answer[8]));
        self.hardware_timestamps =
            words(Query::Timestamping).map(|answer| answer[1] & HARDWARE_STAMPS == HARDWARE_STAMPS);
        let mut counters = card.counters()?;
        counters.retain(|(_, value)| *value != 0);
        self.counters_left_out = counters.len().saturating_sub(MOST_COUNTERS);
        counters.truncate(MOST_COUNTERS);
        self.counters = Some(counters.into_iter().collect());
        Ok(())
    }
}

/// `SOF_TIMESTAMPING_RX_HARDWARE` and `SOF_TIMESTAMPING_RAW_HARDWARE`: incoming frames get hardware
/// timestamps, in raw form.
const HARDWARE_STAMPS: u32 = 1 << 2 | 1 << 6;

/// Megabits per second, the lower half in one word and the upper in another; all ones is unknown.
fn speed(low: u32, high: u32) -> Option<u64> {
    let [a, b, ..] = low.to_ne_bytes();
    let [c, d, ..] = high.to_ne_bytes();
    let megabits =
        u64::from(u16::from_ne_bytes([a, b])) | u64::from(u16::from_ne_bytes([c, d])) << 16;
    (megabits != 0 && megabits < u64::from(u16::MAX) << 16 && megabits != u64::from(u16::MAX))
        .then(|| megabits * 1_000_000)
}

/// The byte behind the speed: 0 is half, 1 is full, else unknown.
fn duplex(word: u32) -> Option<bool> {
    let [_, _, duplex, _] = word.to_ne_bytes();
    (duplex < 2).then_some(duplex == 1)
}

impl Traffic {
    /// `rtnl_link_stats64`.
    fn read(bytes: &[u8]) -> Option<Self> {
        let value = |number: usize| number64(bytes, number * 8);
        Some(Self {
            received_packets: value(0)?,
            sent_packets: value(1)?,
            received_errors: value(4)?,
            sent_errors: value(5)?,
            received_drops: value(6)?,
            sent_drops: value(7)?,
            received_missed: value(15)?,
        })
    }
}

impl Qdisc {
    /// What a message about a discipline holds, behind the number of its interface.
    fn read(message: &[u8]) -> Option<(u32, Self)> {
        let (index, parent) = (number32(message, 4)?, number32(message, 12)?);
        let mut found = Self {
            kind: String::new(),
            root: parent == ROOT,
            parent: notation(parent),
            drops: None,
            waiting_packets: None,
        };
        for (kind, value) in attributes(message.get(QDISC..)?) {
            match kind {
                QDISC_KIND => found.kind = text(value),
                QDISC_STATISTICS => {
                    let queue = attributes(value)
                        .find(|(kind, _)| *kind == STATISTICS_QUEUE)
                        .map(|(_, value)| value);
                    found.waiting_packets = queue.and_then(|queue| number32(queue, 0));
                    found.drops = queue.and_then(|queue| number32(queue, 8));
                }
                _ => {}
            }
        }
        (!found.kind.is_empty()).then_some((index, found))
    }
}

/// Where a discipline hangs, as tc(8) writes it.
fn notation(parent: u32) -> String {
    match parent {
        ROOT => "root".to_owned(),
        0xffff_fff1 => "ingress".to_owned(),
        _ => format!("{:x}:{:x}", parent >> 16, parent & 0xffff),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::netlink::tests::attribute;

    fn link(name: &[u8]) -> Vec<u8> {
        let mut message = vec![0; LINK];
        message[2..4].copy_from_slice(&1_u16.to_ne_bytes());
        message[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        message[8..12].copy_from_slice(&0x41_u32.to_ne_bytes());
        let statistics: Vec<u8> = (0..24_u64).flat_map(u64::to_ne_bytes).collect();
        for (kind, value) in [
            (LINK_NAME, name),
            (LINK_MTU, &1400_u32.to_ne_bytes()[..]),
            (LINK_INFO, &attribute(INFO_KIND, b"veth\0")),
            (LINK_STATISTICS, &statistics),
        ] {
            message.extend(attribute(kind, value));
        }
        message
    }

    #[test]
    fn a_link_needs_a_name() {
        let found = Interface::read(&link(b"eth0\0")).unwrap();
        assert_eq!(
            (found.name.as_str(), found.index, found.up, found.loopback),
            ("eth0", 7, true, false)
        );
        assert_eq!((found.mtu_bytes, found.kind.as_deref()), (Some(1400), Some("veth")));
        let traffic = found.traffic.unwrap();
        assert_eq!(
            (traffic.sent_packets, traffic.received_drops, traffic.received_missed),
            (1, 6, 15)
        );
        assert!(Interface::read(&link(b"\0")).is_none() && Interface::read(&[0; 11]).is_none());
        assert!(Interface::read(&[0xff; 400]).is_none());
    }

    #[test]
    fn a_queueing_discipline_has_its_parent_and_drops() {
        let mut message = vec![0; QDISC];
        message[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        message[12..16].copy_from_slice(&0x8001_0002_u32.to_ne_bytes());
        message.extend(attribute(QDISC_KIND, b"fq\0"));
        let queue: Vec<u8> =
            [3_u32, 4096, 17, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        message.extend(attribute(QDISC_STATISTICS, &attribute(STATISTICS_QUEUE, &queue)));
        let qdisc = Qdisc {
            kind: "fq".to_owned(),
            root: false,
            parent: "8001:2".to_owned(),
            drops: Some(17),
            waiting_packets: Some(3),
        };
        assert_eq!(Qdisc::read(&message), Some((7, qdisc)));
        message[12..16].copy_from_slice(&ROOT.to_ne_bytes());
        assert!(Qdisc::read(&message).unwrap().1.root);
        assert_eq!((Qdisc::read(&message[..QDISC]), Qdisc::read(&[0xff; 90])), (None, None));
    }

    #[test]
    fn speeds_are_combined_and_unknown_ones_are_absent() {
        let word = |low: u16, duplex: u8| {
            let [a, b] = low.to_ne_bytes();
            u32::from_ne_bytes([a, b, duplex, 0])
        };
        assert_eq!(
            (speed(word(1000, 1), 0), duplex(word(1000, 1))),
            (Some(1_000_000_000), Some(true))
        );
        assert_eq!(speed(word(0x86a0, 1), word(1, 0)), Some(100_000_000_000));
        assert_eq!(
            (
                speed(word(u16::MAX, 0xff), word(u16::MAX, 0)),
                duplex(word(0, 0xff)),
                duplex(word(10, 0))
            ),
            (None, None, Some(false))
        );
        assert_eq!((speed(word(u16::MAX, 0), 0), speed(0, 0)), (None, None));
    }

    #[test]
    fn loopback_is_among_the_interfaces_and_has_no_coalescing() {
        let mut reader = HostReader::below("/".as_ref());
        let (found, _) = look(&mut reader);
        let found = found.expect("rtnetlink");
        let loopback = found.iter().find(|one| one.loopback).expect("a loopback interface");
        assert!(
            loopback.coalescing.is_none()
                && loopback.offloads.generic_segmentation.is_some()
                && loopback.mtu_bytes.is_some()
        );
    }
}
