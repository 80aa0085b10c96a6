//! Damaged files: what could be read is read, what could not is reported, and nothing panics.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly, and its numbers are small"
)]

mod writer;

use proptest::prelude::*;
use trustbed_capture::{CaptureFacts, Reader};
use trustbed_wire::{Batch, DecodeOptions, Packet};
use writer::{
    Frame, Pcap, Pcapng, assert_packets, codes, frames, gzip, memory, read, read_bytes, tcp, zstd,
};

const FILE_HEADER: usize = 24;

fn pcapng_file(frames: &[Frame]) -> Vec<u8> {
    let mut file = Pcapng::simple(false);
    file.packets(frames);
    file.bytes
}

/// Where each record of a pcap file begins, and where the file ends.
fn borders(frames: &[Frame]) -> Vec<usize> {
    let mut borders = vec![FILE_HEADER];
    for frame in frames {
        borders.push(borders.last().unwrap() + 16 + frame.bytes.len());
    }
    borders
}

#[test]
fn a_pcap_file_cut_anywhere_yields_a_prefix() {
    let frames = frames(12);
    let bytes = Pcap::MICROS.file(&frames);
    let borders = borders(&frames);
    for length in FILE_HEADER..bytes.len() {
        let (packets, facts) = read_bytes(&bytes[..length]);
        let whole = borders.iter().filter(|border| **border <= length).count() - 1;
        assert_packets(&packets, &frames[..whole], 1_000);
        if borders.contains(&length) {
            assert!(facts.problems.is_empty());
        } else {
            assert_eq!(codes(&facts), ["truncated_record"]);
            assert_eq!(
                (facts.problems[0].offset, facts.problems[0].record),
                (borders[whole] as u64, whole as u64 + 1)
            );
            assert_eq!(facts.files[0].skipped_bytes, (length - borders[whole]) as u64);
        }
    }
}

#[test]
fn a_pcapng_file_cut_anywhere_yields_a_prefix() {
    let frames = frames(12);
    let bytes = pcapng_file(&frames);
    let mut borders = vec![28, 48];
    for frame in &frames {
        borders.push(borders.last().unwrap() + 32 + frame.bytes.len().next_multiple_of(4));
    }
    for length in 28..bytes.len() {
        let (packets, facts) = read_bytes(&bytes[..length]);
        let whole = borders.iter().filter(|border| **border <= length).count().saturating_sub(2);
        assert_packets(&packets, &frames[..whole], 1_000);
        assert_eq!(
            codes(&facts),
            if borders.contains(&length) { vec![] } else { vec!["truncated_record"] }
        );
    }
}

#[test]
fn compressed_files_cut_anywhere_yield_a_prefix() {
    let frames = frames(40);
    let plain = Pcap::MICROS.file(&frames);
    for bytes in [gzip(&[&plain]), zstd(&[&plain])] {
        for length in (0..bytes.len()).step_by(7) {
            let Ok((packets, facts)) = read(&[memory("capture", &bytes[..length])]) else {
                continue;
            };
            assert_packets(&packets, &frames[..packets.len()], 1_000);
            assert!(codes(&facts).contains(&"decompression"), "cut at {length} of {}", bytes.len());
        }
    }
}

#[test]
fn damage_within_a_compressed_file_leaves_what_came_before() {
    let frames = frames(4_000);
    let plain = Pcap::MICROS.file(&frames);
    let mut bytes = gzip(&[&plain]);
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xff);
    let (packets, facts) = read_bytes(&bytes);
    assert!(packets.len() > 1_000, "{}", packets.len());
    assert_packets(&packets[..1_000], &frames[..1_000], 1_000);
    assert!(codes(&facts).contains(&"decompression"));
}

#[test]
fn garbage_between_records_is_passed_over() {
    let frames = frames(30);
    let borders = borders(&frames);
    for garbage in [
        vec![0xff; 100],
        vec![0; 4096],
        b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".to_vec(),
        vec![0x55; 3],
    ] {
        let mut bytes = Pcap::MICROS.file(&frames);
        bytes.splice(borders[10]..borders[10], garbage.iter().copied());
        let (packets, facts) = read_bytes(&bytes);
        assert_packets(&packets, &frames, 1_000);
        assert_eq!(facts.problems.len(), 1, "{:?}", facts.problems);
        assert_eq!((facts.problems[0].offset, facts.problems[0].record), (borders[10] as u64, 11));
        assert_eq!(facts.files[0].skipped_bytes, garbage.len() as u64);
    }
}

#[test]
fn garbage_between_blocks_is_passed_over() {
    let frames = frames(30);
    for garbage in [
        vec![0xff; 100],
        vec![0; 4096],
        b"lorem ipsum".to_vec(),
        vec![6, 0, 0, 0, 40, 0, 0, 0, 1, 2, 3],
    ] {
        let mut file = Pcapng::simple(false);
        file.packets(&frames[..10]);
        let border = file.bytes.len();
        file.bytes.extend(&garbage);
        file.packets(&frames[10..]);
        let (packets, facts) = read_bytes(&file.bytes);
        assert_packets(&packets, &frames, 1_000);
        assert_eq!(codes(&facts), ["bad_block"]);
        assert_eq!((facts.problems[0].offset, facts.problems[0].record), (border as u64, 11));
        assert_eq!(facts.files[0].skipped_bytes, garbage.len() as u64);
    }
}

#[test]
fn a_length_that_claims_too_much_is_found_out() {
    let frames = frames(30);
    for claim in [500_u32, 5_000, 200_000] {
        let mut bytes = Pcap::MICROS.header();
        for (i, frame) in frames.iter().enumerate() {
            let captured = if i == 10 { claim } else { frame.bytes.len() as u32 };
            bytes.extend(Pcap::MICROS.lying_record(frame, captured, frame.original.max(captured)));
        }
        let (packets, facts) = read_bytes(&bytes);
        assert_eq!(packets.len(), 30, "claimed {claim}");
        assert_eq!(packets[11].seq, 11 * 1448);
        assert_eq!(codes(&facts), ["bad_record_length"]);
        assert_eq!(
            (facts.problems[0].offset, facts.problems[0].record),
            (borders(&frames)[10] as u64, 11)
        );
    }
}

#[test]
fn a_length_that_claims_too_little_loses_no_further_record() {
    let frames = frames(30);
    let mut bytes = Pcap::MICROS.header();
    for (i, frame) in frames.iter().enumerate() {
        let captured = if i == 10 { 60 } else { frame.bytes.len() as u32 };
        bytes.extend(Pcap::MICROS.lying_record(frame, captured, frame.original));
    }
    let (packets, facts) = read_bytes(&bytes);
    assert_eq!(packets.len(), 30);
    assert_eq!(packets[11].seq, 11 * 1448);
    assert_eq!(facts.problems.len(), 1);
}

#[test]
fn an_impossible_length_costs_one_record() {
    let frames = frames(30);
    let mut bytes = Pcap::MICROS.header();
    for (i, frame) in frames.iter().enumerate() {
        let captured = if i == 10 { u32::MAX } else { frame.bytes.len() as u32 };
        bytes.extend(Pcap::MICROS.lying_record(frame, captured, frame.original));
    }
    let (packets, facts) = read_bytes(&bytes);
    assert_eq!(packets.len(), 29);
    assert_eq!(facts.files[0].records, 29);
    assert_eq!(codes(&facts), ["bad_record_length"]);
    assert_eq!(facts.files[0].skipped_bytes, 16 + frames[10].bytes.len() as u64);
}

#[test]
fn a_frame_shorter_than_what_was_captured_is_reported() {
    let frames = frames(5);
    let mut bytes = Pcap::MICROS.header();
    for (i, frame) in frames.iter().enumerate() {
        let captured = frame.bytes.len() as u32;
        bytes.extend(Pcap::MICROS.lying_record(
            frame,
            captured,
            if i == 2 { 10 } else { frame.original },
        ));
    }
    let (packets, facts) = read_bytes(&bytes);
    assert_eq!(packets.len(), 5);
    assert_eq!(packets[2].original_length, frames[2].bytes.len() as u32);
    assert_eq!(codes(&facts), ["bad_record_length"]);
}

#[test]
fn joined_files_are_read_through() {
    let frames = frames(20);
    let bytes = [Pcap::MICROS.file(&frames[..10]), Pcap::MICROS.file(&frames[10..])].concat();
    let (packets, facts) = read_bytes(&bytes);
    assert_packets(&packets, &frames, 1_000);
    assert_eq!(codes(&facts), ["skipped_bytes"]);
    assert!(facts.problems[0].detail.contains("joined"));
    assert_eq!(facts.files[0].skipped_bytes, FILE_HEADER as u64);
}

#[test]
fn a_file_that_ends_in_zeros_ends_before_them() {
    let frames = frames(10);
    for mut bytes in [Pcap::MICROS.file(&frames), pcapng_file(&frames)] {
        bytes.extend([0; 8192]);
        let (packets, facts) = read_bytes(&bytes);
        assert_packets(&packets, &frames, 1_000);
        assert_eq!(facts.files[0].records, 10);
        assert_eq!(facts.problems.len(), 1);
        assert_eq!(facts.files[0].skipped_bytes, 8192);
    }
}

#[test]
fn blocks_whose_lengths_differ_are_accepted_when_another_follows() {
    let frames = frames(10);
    let mut file = Pcapng::simple(false);
    file.packets(&frames[..5]);
    let end = file.bytes.len();
    file.bytes[end - 4] ^= 0x40;
    file.packets(&frames[5..]);
    let (packets, facts) = read_bytes(&file.bytes);
    assert_packets(&packets, &frames, 1_000);
    assert_eq!(codes(&facts), ["bad_block"]);
    assert_eq!(facts.problems[0].record, 5);
}

#[test]
fn a_block_length_that_lies_costs_one_packet() {
    let frames = frames(10);
    for length in [0_u32, 8, 13, 60, 100_000, u32::MAX] {
        let mut file = Pcapng::simple(false);
        file.packets(&frames[..5]);
        let at = file.packet(&frames[5]) + 4;
        file.bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
        file.packets(&frames[6..]);
        let (packets, facts) = read_bytes(&file.bytes);
        assert_eq!(packets.len(), 9, "length {length}");
        assert_eq!(codes(&facts), ["bad_block"], "length {length}");
        assert_eq!(packets[5].seq, 6 * 1448);
    }
}

#[test]
fn a_captured_length_beyond_its_block_takes_what_is_there() {
    let frames = frames(4);
    let mut file = Pcapng::simple(false);
    let at = file.packet(&frames[1]) + 20;
    file.bytes[at..at + 4].copy_from_slice(&60_000_u32.to_le_bytes());
    file.packets(&frames[2..]);
    let (packets, facts) = read_bytes(&file.bytes);
    assert_packets(&packets, &frames[1..], 1_000);
    assert_eq!(codes(&facts), ["bad_record_length"]);
}

#[test]
fn options_that_overrun_their_block_cost_only_themselves() {
    let frames = frames(3);
    let mut file = Pcapng::default();
    file.section(false, &[(2, b"Xeon".to_vec()), (3, b"Linux".to_vec())]);
    file.bytes[34] = 0xff;
    file.interface(1, 0, &[]);
    file.packets(&frames);
    let (packets, facts) = read_bytes(&file.bytes);
    assert_packets(&packets, &frames, 1_000);
    assert_eq!(codes(&facts), ["bad_block"]);
}

#[test]
fn problems_are_bounded_and_the_rest_counted() {
    let frames = frames(1_000);
    let mut bytes = Pcap::MICROS.header();
    for frame in &frames {
        bytes.extend(Pcap::MICROS.lying_record(frame, frame.bytes.len() as u32, 1));
    }
    let (packets, facts) = read_bytes(&bytes);
    assert_eq!(packets.len(), 1_000);
    assert_eq!(facts.problems.len(), CaptureFacts::PROBLEMS_KEPT);
    assert_eq!(facts.problems_left_out, [("bad_record_length", 900)]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_decompression_bomb_is_read_without_being_held() {
    // 64 MiB of zeros behind one packet: held, it would show in the resident set.
    let frame = tcp(writer::START_NS, 0, 10);
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut bomb, &Pcap::MICROS.file(&[frame])).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..64 {
        std::io::Write::write_all(&mut bomb, &zeros).unwrap();
    }
    let bytes = bomb.finish().unwrap();
    drop(zeros);
    let before = resident_bytes();
    let (packets, facts) = read_bytes(&bytes);
    assert!(resident_bytes() < before + (32 << 20), "the bomb was held in memory");
    assert_eq!(packets.len(), 1);
    assert_eq!(facts.files[0].skipped_bytes, 64 << 20);
}

/// The largest resident set so far.
#[cfg(target_os = "linux")]
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// What holds for every input whatever it is made of.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(mut reader) = Reader::open(&[memory("capture", bytes)], DecodeOptions::default()) else {
        return Ok(());
    };
    let mut batch = Batch::default();
    while reader.fill(&mut batch, 5) {}
    let facts = reader.facts();
    let records = facts.files[0].records;
    let skipped: u64 = facts.skips.iter().map(|skip| skip.records).sum();
    prop_assert_eq!(records, batch.packets.len() as u64 + skipped);
    let indices: Vec<u64> = batch.packets.iter().map(|packet| packet.index).collect();
    prop_assert!(
        indices.is_sorted_by(|a, b| a < b) && indices.last().is_none_or(|last| *last <= records)
    );

    let streamed =
        read(&[memory("capture", &gzip(&[&bytes[..bytes.len() / 3], &bytes[bytes.len() / 3..]]))]);
    let (packets, streamed) = streamed.map_err(|error| TestCaseError::fail(error.to_string()))?;
    let indices = |packets: &[Packet]| {
        packets.iter().map(|packet| (packet.index, packet.ts, packet.seq)).collect::<Vec<_>>()
    };
    prop_assert_eq!(indices(&packets), indices(&batch.packets));
    prop_assert_eq!(
        streamed.problems,
        facts.problems,
        "a stream finds the same problems at the same bytes"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn mutated_files_never_panic(
        format in 0_usize..4,
        changes in
            proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 1..12),
    ) {
        let frames = frames(25);
        let mut bytes = match format {
            0 => Pcap::MICROS.file(&frames),
            1 => Pcap { big: true, ..Pcap::NANOS }.file(&frames),
            2 => pcapng_file(&frames),
            _ => {
                let mut file = Pcapng::simple(true);
                file.packets(&frames[..10]);
                file.simple_packet(&frames[10]);
                file.statistics(0, &[(4, 9), (5, 1)]);
                file.section(false, &[(4, b"writer".to_vec())]);
                file.interface(1, 0, &[(9, vec![9])]);
                file.obsolete(0, 1, 5, &frames[11]);
                file.packets(&frames[12..]);
                file.bytes
            }
        };
        for (position, value, kind) in changes {
            let at = position.index(bytes.len());
            match kind {
                0 => bytes[at] = value,
                1 => bytes[at] ^= 1 << (value % 8),
                2 => drop(bytes.drain(at..(at + usize::from(value)).min(bytes.len()))),
                _ => drop(bytes.splice(at..at, std::iter::repeat_n(value, usize::from(value)))),
            }
            if bytes.is_empty() {
                return Ok(());
            }
        }
        check(&bytes)?;
    }

    #[test]
    fn noise_behind_a_header_never_panics(
        format in 0_usize..2,
        noise in proptest::collection::vec(any::<u8>(), 0..2_000),
    ) {
        let mut bytes =
            if format == 0 { Pcap::MICROS.header() } else { Pcapng::simple(false).bytes };
        bytes.extend(noise);
        check(&bytes)?;
    }
}
