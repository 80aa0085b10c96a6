//! What decoding costs, per packet: each bench decodes a thousand frames of one shape, so divan's
//! items per second are packets per second.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use trustbed_units::Ns;
use trustbed_wire::{Batch, DecodeOptions, Decoder, LinkType, Record};

const PACKETS: usize = 1000;

fn main() {
    divan::main();
}

/// Ethernet and IPv4 in front of `transport`, captured up to 128 bytes.
fn ipv4(protocol: u8, transport: &[u8], tags: &[[u8; 4]]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for tag in tags {
        frame.extend_from_slice(&[0x81, 0, tag[0], tag[1]]);
    }
    frame.extend_from_slice(&[
        8, 0, 0x45, 0, 5, 0xb4, 1, 2, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ]);
    frame.extend_from_slice(transport);
    frame.resize(128, 0);
    frame
}

fn tcp(options: &[u8]) -> Vec<u8> {
    let offset = u8::try_from(5 + options.len() / 4).unwrap_or(15) << 4;
    let mut header =
        vec![0x1f, 0x90, 0xc0, 0, 1, 2, 3, 4, 5, 6, 7, 8, offset, 0x10, 1, 0, 0, 0, 0, 0];
    header.extend_from_slice(options);
    header
}

const TIMESTAMP: [u8; 12] = [1, 1, 8, 10, 0, 1, 2, 3, 4, 5, 6, 7];

fn frame(shape: &str) -> Vec<u8> {
    let sack = [1, 1, 5, 10, 0, 0, 1, 0, 0, 0, 2, 0];
    let syn = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 1, 2, 3, 4, 5, 6, 7, 1, 3, 3, 7];
    match shape {
        "tcp" => ipv4(6, &tcp(&[]), &[]),
        "tcp_timestamp" => ipv4(6, &tcp(&TIMESTAMP), &[]),
        "tcp_timestamp_vlan" => ipv4(6, &tcp(&TIMESTAMP), &[[0, 7, 8, 0]]),
        "tcp_timestamp_sack" => ipv4(6, &tcp(&[TIMESTAMP, sack].concat()), &[]),
        "tcp_options_one_by_one" => ipv4(6, &tcp(&syn), &[]),
        "udp" => ipv4(17, &[0, 53, 0xc0, 0, 5, 0xa0, 0, 0], &[]),
        "fragment" => {
            let mut frame = ipv4(6, &tcp(&TIMESTAMP), &[]);
            frame[20] = 0x20;
            frame
        }
        other => unreachable!("no shape {other}"),
    }
}

#[divan::bench(args = [
    "tcp", "tcp_timestamp", "tcp_timestamp_vlan", "tcp_timestamp_sack", "tcp_options_one_by_one",
    "udp", "fragment"
])]
fn decode(bencher: Bencher<'_, '_>, shape: &str) {
    run(bencher, shape, |decoder, record, batch| decoder.decode(record, batch).is_ok());
}

#[divan::bench(args = ["tcp_timestamp", "udp"])]
fn decode_slowly(bencher: Bencher<'_, '_>, shape: &str) {
    run(bencher, shape, |decoder, record, batch| decoder.decode_slowly(record, batch).is_ok());
}

fn run(
    bencher: Bencher<'_, '_>,
    shape: &str,
    decode: impl Fn(&mut Decoder, &Record<'_>, &mut Batch) -> bool + Sync,
) {
    let bytes = frame(shape).repeat(PACKETS);
    let mut decoder = Decoder::new(DecodeOptions::default());
    let mut batch = Batch::default();
    bencher.counter(ItemsCount::new(PACKETS)).bench_local(|| {
        batch.clear();
        for (index, bytes) in (1..).zip(black_box(&bytes).chunks_exact(128)) {
            let record = Record {
                ts: Ns(index),
                index: 1,
                link: LinkType::Ethernet,
                interface: 0,
                original_length: 1514,
                bytes,
            };
            assert!(decode(&mut decoder, &record, &mut batch), "the frame of a bench decodes");
        }
        black_box(&batch);
    });
}
