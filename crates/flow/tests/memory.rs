//! Memory per connection is bounded whatever the packets are: counted by an allocator that counts.
#![expect(
    unsafe_code,
    reason = "an allocator cannot be written without it; it only counts and passes on"
)]

mod packets;
mod recorder;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use packets::{Ends, MS, Made};
use recorder::{Recorder, feed, table};
use trustbed_flow::{Connection, Limits, Table};

thread_local! {
    /// Bytes that this thread holds.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn count(bytes: usize, sign: i64) {
    // A thread that is being torn down has nothing to count any more.
    let _ = HELD.try_with(|held| held.set(held.get() + sign * i64::try_from(bytes).unwrap_or(0)));
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes of a connection with nothing on the heap. Every flow of a capture pays it.
const CONNECTION_BYTES: usize = 800;
/// What one direction may hold on the heap when its packets are made to hurt: 2¹⁶ records of 32
/// bytes, in a queue that doubles, and as much again for everything else.
const WORST_BYTES: i64 = 8 << 20;

/// Feeds packets without keeping them and without keeping what the table reports; bytes held by the
/// table after each thousandth.
fn grown(packets: impl Iterator<Item = Made>) -> Vec<i64> {
    let mut recorder = Recorder::default();
    let mut table: Table<Recorder> = table(Limits::default());
    let before = HELD.get();
    let mut held: Vec<i64> = Vec::with_capacity(2_000);
    let own = i64::try_from(held.capacity() * size_of::<i64>()).unwrap_or(0);
    for (mut made, index) in packets.zip(1..) {
        made.packet.index = index;
        feed(
            &mut table,
            &made.packet,
            Some(&made.options).filter(|o| o.sack_count > 0),
            0,
            &mut recorder,
        );
        if index % 1_000 == 0 {
            recorder = Recorder::default();
            held.push(HELD.get() - before - own);
        }
    }
    held
}

/// What a table says that it holds is what it holds, but for what grew since it was counted and the
/// table's own slots.
#[test]
fn a_table_knows_what_it_holds() {
    let before = HELD.get();
    let mut recorder = Recorder::default();
    let mut table = table(Limits::default());
    for port in 0..500 {
        let ends = Ends::with_port(port);
        for n in 0..256_i64 {
            let at = i64::from(port) * MS + n * 10;
            let made = ends.client(at).seq(n * 1000).data(1000);
            feed(&mut table, &made.packet, None, 0, &mut recorder);
        }
        recorder = Recorder::default();
    }
    let (held, said) = (HELD.get() - before, i64::try_from(table.held_bytes()).unwrap_or(0));
    assert!(said <= held && said * 10 >= held * 9, "{said} of {held} bytes");
}

#[test]
fn a_connection_is_small() {
    let bytes = size_of::<Connection<()>>();
    assert!(bytes <= CONNECTION_BYTES, "{bytes} bytes, {CONNECTION_BYTES} are documented");
}

#[test]
fn a_one_sided_flow_keeps_1024_records() {
    let mut recorder = Recorder::default();
    let mut table = table(Limits::default());
    for n in 0..5_000_i64 {
        let made = Ends::default().client(n * 10).seq(n * 1000).data(1000);
        feed(&mut table, &made.packet, None, 0, &mut recorder);
    }
    table.finish(&mut recorder);
    let records = &recorder.client().records;
    assert!(records.len() <= 1024, "{} records", records.len());
    assert_eq!(usize::try_from(records.forgotten).unwrap_or(0) + records.len(), 5_000);
}

#[test]
fn a_one_sided_flow_of_overlapping_segments_keeps_1024_records() {
    let mut recorder = Recorder::default();
    let mut table = table(Limits::default());
    for n in 0..20_000_i64 {
        // Each repeats the last byte of the one before.
        let made = Ends::default().client(n * 10).seq(n * 999).data(1000);
        feed(&mut table, &made.packet, None, 0, &mut recorder);
    }
    table.finish(&mut recorder);
    assert!(recorder.client().records.len() <= 1024, "{} records", recorder.client().records.len());
}

#[test]
fn acknowledged_traffic_does_not_grow() {
    let packets = (0..100_000_i64).flat_map(|n| {
        let ends = Ends::default();
        [
            ends.client(n * MS).seq(n * 1000).data(1000),
            ends.server(n * MS + 500).ack((n + 1) * 1000),
        ]
    });
    let held = grown(packets);
    assert!(held.iter().all(|&bytes| bytes < 128 << 10), "at most {:?} bytes", held.iter().max());
    assert_eq!(held.first(), held.last(), "the same at the beginning and at the end");
}

#[test]
fn many_connections_that_come_and_go_do_not_grow() {
    let packets = (0..100_000_i64).map(|n| {
        let port = u16::try_from(n % 60_000).unwrap_or(0);
        Ends::with_port(port).client(n * 50 * MS).data(1000)
    });
    let held = grown(packets);
    let most = held.iter().max().copied().unwrap_or(0);
    // 600 s of 20 new connections per second, a sweep of 60 s, and some slack for the table itself.
    assert!(most < 600 * 20 * 1600, "at most {most} bytes");
}

/// Packets that each leave a hole.
#[test]
fn holes_are_capped() {
    let held = grown((0..200_000_i64).flat_map(|n| {
        let ends = Ends::default();
        [ends.client(n * MS).seq(n * 2000).data(1000), ends.server(n * MS + 1)]
    }));
    assert!(held.iter().all(|&bytes| bytes < WORST_BYTES), "at most {:?} bytes", held.iter().max());
}

/// Acknowledgements that each SACK one more island of an endless sea.
#[test]
fn sacked_ranges_are_capped() {
    let ends = Ends::default();
    let flight = (0..1_000_i64).map(move |n| ends.client(n).seq(n * 1_000_000).data(1_000_000));
    let islands = (0..400_000_i64).map(move |n| {
        let blocks = [0, 1, 2, 3].map(|k| (2 * (4 * n + k) + 10, 2 * (4 * n + k) + 11));
        ends.server(1_000 + n).ack(0).sack(&blocks)
    });
    let held = grown(flight.chain(islands));
    assert!(held.iter().all(|&bytes| bytes < WORST_BYTES), "at most {:?} bytes", held.iter().max());
}

/// Retransmissions that each cut one more record in two.
#[test]
fn cut_records_are_capped() {
    let ends = Ends::default();
    let flight = (0..1_000_i64).map(move |n| ends.client(n).seq(n * 1_000_000).data(1_000_000));
    let cuts = (0..400_000_i64).map(move |n| ends.client(1_000 + n).seq(1_000 + n * 4).data(2));
    let held = grown(flight.chain([ends.server(1_000).ack(1)]).chain(cuts));
    assert!(held.iter().all(|&bytes| bytes < WORST_BYTES), "at most {:?} bytes", held.iter().max());
}

/// A new timestamp on every packet, none of which is ever echoed.
#[test]
fn timestamps_that_are_never_echoed_are_capped() {
    let held = grown((0_u32..200_000).flat_map(|n| {
        let ends = Ends::default();
        let at = i64::from(n) * 10;
        [
            ends.client(at).seq(i64::from(n) * 100).data(100).clock(n, 0),
            ends.server(at + 1).ack(i64::from(n) * 100 + 100).clock(n, 0),
        ]
    }));
    assert!(held.iter().all(|&bytes| bytes < 512 << 10), "at most {:?} bytes", held.iter().max());
}
