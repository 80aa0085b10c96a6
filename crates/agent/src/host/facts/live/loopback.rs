//! Tests whether a capture on loopback holds every packet with its true time.
//!
//! Sends short trains of known packets over loopback and captures them with the packet ring that
//! all captures here use. The kernel delivers such a packet within the call that sends it: a true
//! timestamp lies between clock readings before and after the call.
//!
//! Bias: a timestamp error shorter than the call goes unnoticed, and a card's receive path is not
//! tested.

use std::net::UdpSocket;

use serde::Serialize;
use trustbed_capture::{Live, LiveOptions};
use trustbed_units::{Ns, Size, Span};

use super::{quantile, sleep_until};
use crate::session::Stop;
use crate::sys::clock;

/// Packets of a train, and the time from one to the next.
const TRAIN: u32 = 20;
const EVERY: Span = Span::from_millis(1);
/// The mark at the beginning of our packets, before the number.
const MARK: &[u8; 12] = b"trustbed-lo:";
const LENGTH: usize = 64;
/// How long a frame may wait in a block of the ring, and how long the last one is waited for at
/// most.
const BLOCK: Span = Span::from_millis(10);
const PATIENCE: Span = Span::from_secs(10);

/// The fate of the packets.
#[derive(Debug, Serialize)]
pub(in crate::host::facts) struct Loopback {
    sent: usize,
    captured: usize,
    /// Frames that the ring had no room for, whosever they were.
    dropped: u64,
    /// Timestamps that lie before or behind the call, and by how much the worst one does.
    stamped_outside: usize,
    stamped_outside_most_ns: i64,
    /// From the beginning of the call to the timestamp, and how long calls lasted.
    stamp_p50_ns: Option<i64>,
    stamp_p99_ns: Option<i64>,
    call_p50_ns: Option<i64>,
    call_p99_ns: Option<i64>,
}

/// A packet: the clock before and behind its call, and its timestamp.
#[derive(Debug, Clone, Copy)]
struct Sent {
    before: Ns,
    behind: Ns,
    stamp: Option<Ns>,
}

/// Sends and captures.
pub(super) fn run(packets: u32, stop: Stop) -> Result<Loopback, String> {
    let options = LiveOptions {
        snap_length: 128,
        ring: Size(8 << 20),
        block_timeout: BLOCK,
        promiscuous: false,
        hardware_timestamps: false,
    };
    let mut live =
        Live::open("lo", options).map_err(|error| format!("{error} ({})", error.hint()))?;
    let mut sent =
        send(packets, stop).map_err(|error| format!("loopback: {error} (ip link set lo up)"))?;
    let begun = clock::monotonic();
    let mut captured = 0;
    while captured < sent.len() && !stop.is_requested() {
        let shown = live.frames(4096, Span(2 * BLOCK.0), |frame| {
            let known = number(frame.bytes).and_then(|number| sent.get_mut(number));
            if let Some(one) = known.filter(|one| one.stamp.is_none()) {
                one.stamp = Some(frame.ts);
                captured += 1;
            }
        });
        let (shown, waited) =
            (shown.map_err(|error| error.to_string())?, clock::monotonic() - begun);
        // What waits in a block of the ring comes with the block's timer, or when a processor that
        // was unavailable comes back to it.
        let is_empty = shown == 0
            && waited > Span(4 * BLOCK.0)
            && !live.waiting().is_ok_and(|frames| frames > 0);
        if is_empty || waited > PATIENCE {
            break;
        }
    }
    let dropped = live.statistics().map_err(|error| error.to_string())?.dropped;
    Ok(compared(&sent, dropped))
}

/// Sends packets to a socket of our own, which reads them on arrival.
fn send(packets: u32, stop: Stop) -> std::io::Result<Vec<Sent>> {
    let receiver = UdpSocket::bind("127.0.0.1:0")?;
    receiver.set_nonblocking(true)?;
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(receiver.local_addr()?)?;
    let (mut sent, mut taken) = (Vec::new(), [0; LENGTH]);
    let mut due = clock::monotonic();
    for number in 0..packets {
        if number % TRAIN == 0 {
            while receiver.recv(&mut taken).is_ok() {}
            sleep_until(due);
            due = due + EVERY;
            if stop.is_requested() {
                break;
            }
        }
        let payload = payload(number);
        let before = clock::realtime();
        sender.send(&payload)?;
        sent.push(Sent { before, behind: clock::realtime(), stamp: None });
    }
    Ok(sent)
}

fn payload(number: u32) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..MARK.len()].copy_from_slice(MARK);
    bytes[MARK.len()..MARK.len() + 4].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The number of a packet of ours: behind 14 bytes of loopback's Ethernet header, 20 of IPv4 and 8
/// of UDP.
fn number(frame: &[u8]) -> Option<usize> {
    let number = frame.get(42..)?.strip_prefix(MARK)?.first_chunk()?;
    usize::try_from(u32::from_be_bytes(*number)).ok()
}

fn compared(sent: &[Sent], dropped: u64) -> Loopback {
    let stamped: Vec<(Sent, Ns)> =
        sent.iter().filter_map(|one| one.stamp.map(|stamp| (*one, stamp))).collect();
    let outside = |(one, stamp): &(Sent, Ns)| (one.before - *stamp).max(*stamp - one.behind);
    let wrong: Vec<Span> = stamped.iter().map(outside).filter(|by| *by > Span::ZERO).collect();
    let mut stamps: Vec<Span> = stamped.iter().map(|(one, stamp)| *stamp - one.before).collect();
    let mut calls: Vec<Span> = sent.iter().map(|one| one.behind - one.before).collect();
    let nanoseconds = |value: Option<Span>| value.map(|value| value.0);
    Loopback {
        sent: sent.len(),
        captured: stamped.len(),
        dropped,
        stamped_outside: wrong.len(),
        stamped_outside_most_ns: wrong.iter().max().map_or(0, |most| most.0),
        stamp_p50_ns: nanoseconds(quantile(&mut stamps, 50)),
        stamp_p99_ns: nanoseconds(quantile(&mut stamps, 99)),
        call_p50_ns: nanoseconds(quantile(&mut calls, 50)),
        call_p99_ns: nanoseconds(quantile(&mut calls, 99)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_recognised_by_their_mark() {
        let mut frame = vec![0; 42];
        frame.extend(payload(70_000));
        assert_eq!(number(&frame), Some(70_000));
        for other in [&frame[..45], &frame[1..], &[0; 128], &[]] {
            assert_eq!(number(other), None);
        }
    }

    #[test]
    fn timestamps_outside_the_call_and_missing_packets_are_counted() {
        let one = |before: i64, behind: i64, stamp: Option<i64>| Sent {
            before: Ns(before),
            behind: Ns(behind),
            stamp: stamp.map(Ns),
        };
        let sent = [
            one(100, 200, Some(150)),
            one(300, 400, Some(290)),
            one(500, 600, Some(625)),
            one(700, 800, None),
        ];
        let found = compared(&sent, 3);
        assert_eq!((found.sent, found.captured, found.dropped), (4, 3, 3));
        assert_eq!((found.stamped_outside, found.stamped_outside_most_ns), (2, 25));
        assert_eq!(
            (found.stamp_p50_ns, found.stamp_p99_ns, found.call_p50_ns),
            (Some(50), Some(125), Some(100))
        );
        let nothing = compared(&[], 0);
        assert_eq!(
            (nothing.sent, nothing.stamp_p50_ns, nothing.stamped_outside_most_ns),
            (0, None, 0)
        );
    }
}
