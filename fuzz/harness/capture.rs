//! What must hold for every file, whatever it is made of. The fuzz targets `pcap` and `pcapng` call
//! this with bytes that libFuzzer makes up; the test `fuzz_corpus` of the crate calls it with those
//! in `fuzz/corpus`.

use std::io::Write;
use std::sync::Arc;

use trustbed_capture::{CaptureFacts, Input, Reader};
use trustbed_wire::{Batch, DecodeOptions, Packet};

/// Bytes behind a pcap file header, or a whole file.
pub fn pcap(data: &[u8]) {
    const HEADER: [u8; 24] =
        [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0];
    either(&HEADER, &[0xa1, 0xb2, 0xd4, 0xc3, 0x4d, 0x34], data);
}

/// Bytes behind a pcapng section header and an interface, or a whole file.
pub fn pcapng(data: &[u8]) {
    const SECTION: [u8; 28] = [
        10, 13, 13, 10, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255,
        255, 255, 255, 28, 0, 0, 0,
    ];
    const INTERFACE: [u8; 20] = [1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0];
    either(&[&SECTION[..], &INTERFACE].concat(), &[10], data);
}

/// Data that begins like a file is taken for one; to other data, a good beginning is lent.
fn either(beginning: &[u8], first_bytes: &[u8], data: &[u8]) {
    if data.first().is_some_and(|first| first_bytes.contains(first)) {
        check(data);
    } else {
        check(&[beginning, data].concat());
    }
}

fn check(bytes: &[u8]) {
    let Some((packets, facts)) = read(bytes, 3) else { return };
    let records = facts.files[0].records;
    let skipped: u64 = facts.skips.iter().map(|skip| skip.records).sum();
    assert_eq!(
        records,
        packets.len() as u64 + skipped,
        "every record is a packet or counted as skipped"
    );
    assert!(packets.is_sorted_by(|a, b| a.index < b.index), "packets are numbered in order");
    assert!(
        packets.last().is_none_or(|last| last.index <= records),
        "no number is larger than there are records"
    );
    assert!(facts.files[0].skipped_bytes <= bytes.len() as u64, "no more is skipped than there is");
    assert!(
        facts.problems.iter().all(|problem| problem.offset <= bytes.len() as u64),
        "problems lie within the file"
    );

    // A stream in two pieces holds what the whole holds, and the same is wrong with it.
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    let streamed = read(&[stored(head), stored(tail)].concat(), 1_000);
    assert!(
        streamed
            .is_some_and(|streamed| streamed.0 == packets && streamed.1.problems == facts.problems),
        "a stream reads like a file"
    );
}

fn read(bytes: &[u8], limit: usize) -> Option<(Vec<Packet>, CaptureFacts)> {
    let input = Input::Memory { name: "fuzz".to_owned(), bytes: Arc::from(bytes) };
    let mut reader = Reader::open(&[input], DecodeOptions::default()).ok()?;
    let mut batch = Batch::default();
    while reader.fill(&mut batch, limit) {}
    Some((batch.packets, reader.facts()))
}

/// A gzip member that only stores.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}
