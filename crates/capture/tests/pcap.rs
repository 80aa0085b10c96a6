//! pcap in all its dialects.
#![allow(
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly, and its numbers are small"
)]

mod writer;

use trustbed_capture::{ByteOrder, Compression, Format};
use trustbed_units::{Ns, Span};
use writer::{Frame, Pcap, START_NS, assert_packets, codes, frames, read_bytes, tcp};

#[test]
fn both_byte_orders_and_both_resolutions() {
    let mut frames = frames(50);
    for (frame, late) in frames.iter_mut().zip(0..) {
        frame.ts_ns += late * 1_001;
    }
    for (dialect, resolution) in [(Pcap::MICROS, 1_000), (Pcap::NANOS, 1)] {
        for big in [false, true] {
            let (packets, facts) = read_bytes(&Pcap { big, ..dialect }.file(&frames));
            assert_packets(&packets, &frames, resolution);
            let file = &facts.files[0];
            assert_eq!((file.format, file.compression), (Format::Pcap, Compression::None));
            assert_eq!(file.byte_order, if big { ByteOrder::Big } else { ByteOrder::Little });
            assert_eq!((file.records, file.snapped_records, file.skipped_bytes), (50, 17, 0));
            assert_eq!((file.snap_length, file.timestamp_resolution), (65_535, Span(resolution)));
            assert_eq!(file.first_ts, Some(packets[0].ts));
            assert_eq!(file.last_ts, Some(packets[49].ts));
            assert_eq!(file.interfaces.len(), 1);
            assert_eq!((file.interfaces[0].link_number, file.interfaces[0].records), (1, 50));
            assert_eq!(file.interfaces[0].dropped, None, "unknown is not zero");
            assert!(facts.problems.is_empty());
        }
    }
}

#[test]
fn the_modified_format_has_longer_record_headers() {
    let frames = frames(20);
    for big in [false, true] {
        let (packets, facts) =
            read_bytes(&Pcap { magic: 0xa1b2_cd34, big, ..Pcap::MICROS }.file(&frames));
        assert_packets(&packets, &frames, 1_000);
        assert!(facts.problems.is_empty());
    }
}

#[test]
fn old_versions_have_the_lengths_the_other_way_round() {
    let frames = frames(20);
    let (packets, facts) = read_bytes(&Pcap { version: (2, 2), ..Pcap::MICROS }.file(&frames));
    assert_packets(&packets, &frames, 1_000);
    assert!(facts.problems.is_empty());
}

#[test]
fn version_2_3_was_written_both_ways() {
    let frames = frames(20);
    let dialect = Pcap { version: (2, 3), ..Pcap::MICROS };
    let mut bytes = dialect.header();
    for (i, frame) in frames.iter().enumerate() {
        let captured = frame.bytes.len() as u32;
        let (first, second) =
            if i % 2 == 0 { (captured, frame.original) } else { (frame.original, captured) };
        bytes.extend(dialect.lying_record(frame, first, second));
    }
    let (packets, facts) = read_bytes(&bytes);
    assert_packets(&packets, &frames, 1_000);
    assert!(facts.problems.is_empty());
}

#[test]
fn a_snap_length_of_zero_means_none() {
    let frames = frames(20);
    let (packets, facts) = read_bytes(&Pcap { snap_length: 0, ..Pcap::MICROS }.file(&frames));
    assert_packets(&packets, &frames, 1_000);
    assert!(facts.problems.is_empty());
}

#[test]
fn records_longer_than_the_snap_length_are_read() {
    let frames = frames(20);
    let (packets, facts) = read_bytes(&Pcap { snap_length: 60, ..Pcap::MICROS }.file(&frames));
    assert_packets(&packets, &frames, 1_000);
    assert!(facts.problems.is_empty());
}

#[test]
fn records_as_long_as_a_large_snap_length_are_read() {
    let long = Frame {
        original: 1_000_000,
        bytes: [tcp(START_NS, 0, 0).bytes, vec![7; 999_946]].concat(),
        ts_ns: START_NS,
    };
    let frames = [long, tcp(START_NS + 1_000, 1, 5)];
    let (packets, facts) =
        read_bytes(&Pcap { snap_length: 2_000_000, ..Pcap::MICROS }.file(&frames));
    assert_packets(&packets, &frames, 1_000);
    assert!(facts.problems.is_empty());
}

#[test]
fn the_upper_bits_of_the_link_type_tell_of_check_sequences() {
    let (packets, _) = read_bytes(&Pcap { link: 0x4400_0001, ..Pcap::MICROS }.file(&frames(5)));
    assert_eq!(packets.len(), 5);
}

#[test]
fn empty_records_count() {
    let mut frames = frames(5);
    frames[2].bytes.clear();
    let (packets, facts) = read_bytes(&Pcap::MICROS.file(&frames));
    assert_eq!(packets.iter().map(|packet| packet.index).collect::<Vec<_>>(), [1, 2, 4, 5]);
    assert_eq!(facts.files[0].records, 5);
    let skip = facts.skips.iter().find(|skip| skip.records > 0).unwrap();
    assert_eq!((skip.reason.name(), skip.records, skip.first_index), ("empty", 1, Some(3)));
    assert!(facts.problems.is_empty());
}

#[test]
fn impossible_fractions_carry_over() {
    let frames = frames(3);
    let mut bytes = Pcap::MICROS.file(&frames);
    bytes[28..32].copy_from_slice(&1_500_000_u32.to_le_bytes());
    let (packets, facts) = read_bytes(&bytes);
    assert_eq!(packets[0].ts, Ns(START_NS + 1_500_000_000));
    assert_eq!(packets.len(), 3);
    assert_eq!(codes(&facts), ["bad_timestamp"]);
    assert_eq!((facts.problems[0].offset, facts.problems[0].record), (24, 1));
}

#[test]
fn a_file_without_packets_is_a_capture() {
    let (packets, facts) = read_bytes(&Pcap::MICROS.header());
    assert!(packets.is_empty());
    assert_eq!((facts.files[0].records, facts.files[0].first_ts), (0, None));
    assert!(facts.problems.is_empty());
}
