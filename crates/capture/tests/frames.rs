//! Records as they are: the same ones that are decoded, and those that cannot be.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly, and its numbers are small"
)]

mod writer;

use proptest::prelude::*;
use trustbed_capture::{CaptureFacts, Direction, Input, Reader};
use trustbed_units::Ns;
use trustbed_wire::{Batch, DecodeOptions, Decoder, LinkType};
use writer::{Frame, Pcap, Pcapng, START_NS, codes, frames, frames_from, gzip, memory, read, tcp};

/// A frame with its bytes, to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    ts: Ns,
    index: u64,
    file: usize,
    interface: u16,
    link: Option<LinkType>,
    original_length: u32,
    direction: Direction,
    bytes: Vec<u8>,
}

fn keep(frame: &trustbed_capture::Frame<'_>) -> Kept {
    let trustbed_capture::Frame {
        ts, index, file, interface, link, original_length, bytes, ..
    } = *frame;
    Kept {
        ts,
        index,
        file,
        interface,
        link,
        original_length,
        direction: frame.direction(),
        bytes: bytes.to_vec(),
    }
}

fn show_by(inputs: &[Input], limit: usize) -> (Vec<Kept>, CaptureFacts) {
    let mut reader = Reader::open(inputs, DecodeOptions::default()).unwrap();
    let mut kept = Vec::new();
    loop {
        let before = kept.len();
        let more = reader.frames(limit, |frame| kept.push(keep(frame)));
        assert!(kept.len() <= before + limit);
        assert_eq!(more, kept.len() > before, "true means that there was something");
        if !more {
            return (kept, reader.facts());
        }
    }
}

fn show(inputs: &[Input]) -> (Vec<Kept>, CaptureFacts) {
    show_by(inputs, 100)
}

/// Asserts that frames are shown as decoding sees them: what the decoder makes of each is what
/// `fill` appended.
fn assert_same_as_decoded(inputs: &[Input], limit: usize) {
    let (packets, decoded_facts) = read(inputs).unwrap();
    let mut reader = Reader::open(inputs, DecodeOptions::default()).unwrap();
    let (mut decoder, mut batch) = (Decoder::new(DecodeOptions::default()), Batch::default());
    while reader.frames(limit, |frame| {
        let _ = frame.record().map(|record| decoder.decode(&record, &mut batch));
    }) {}
    assert_eq!(batch.packets, packets);
    let facts = reader.facts();
    assert!(facts.skips.iter().all(|skip| skip.records == 0), "nothing is skipped by looking");
    assert_eq!((facts.files, facts.problems), (decoded_facts.files, decoded_facts.problems));
}

fn arp(ts_ns: i64) -> Frame {
    let mut bytes = vec![0xff; 6];
    bytes.extend([2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    bytes.resize(42, 0);
    Frame { ts_ns, original: 60, bytes }
}

#[test]
fn what_is_not_decoded_is_shown_too() {
    let mut all = frames(20);
    all.insert(3, arp(START_NS + 2_500_000));
    all.push(arp(START_NS + 30_000_000));
    let mut pcapng = Pcapng::simple(false);
    pcapng.packets(&all);
    for bytes in [
        Pcap::MICROS.file(&all),
        Pcap { big: true, ..Pcap::NANOS }.file(&all),
        pcapng.bytes,
        gzip(&[&Pcap::MICROS.file(&all)]),
    ] {
        let input = [memory("capture", &bytes)];
        let (kept, facts) = show(&input);
        assert_eq!(facts.files[0].records, 22);
        let expected: Vec<Kept> = all
            .iter()
            .zip(1..)
            .map(|(frame, index)| Kept {
                ts: Ns(frame.ts_ns),
                index,
                file: 0,
                interface: 0,
                link: Some(LinkType::Ethernet),
                original_length: frame.original,
                direction: Direction::Unknown,
                bytes: frame.bytes.clone(),
            })
            .collect();
        assert_eq!(kept, expected);
        assert_eq!(read(&input).unwrap().0.len(), 20, "of which the decoder takes these");
        assert_same_as_decoded(&input, 7);
    }
}

#[test]
fn merged_files_show_which_file_a_frame_is_of() {
    let first = frames_from(START_NS, 0, 100);
    let second = frames_from(START_NS + 50_500_000, 1_000, 100);
    let inputs = [
        memory("second", &Pcap::MICROS.file(&second)),
        memory("first", &Pcap::MICROS.file(&first)),
    ];
    for limit in [1, 3, 1_000] {
        let (kept, facts) = show_by(&inputs, limit);
        assert_eq!(
            facts.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(),
            ["first", "second"]
        );
        for (position, part) in [(0, &first), (1, &second)] {
            let times: Vec<i64> = kept
                .iter()
                .filter(|frame| frame.file == position)
                .map(|frame| frame.ts.0)
                .collect();
            assert_eq!(times, part.iter().map(|frame| frame.ts_ns).collect::<Vec<_>>());
        }
        assert!(kept.iter().zip(1..).all(|(frame, index)| frame.index == index));
        assert_same_as_decoded(&inputs, limit);
    }
}

#[test]
fn directions_and_interfaces_come_from_the_file() {
    for big in [false, true] {
        let mut file = Pcapng::simple(big);
        file.interface(147, 0, &[]);
        let flags =
            |value: u32| (2, if big { value.to_be_bytes() } else { value.to_le_bytes() }.to_vec());
        let count = (START_NS / 1_000) as u64;
        file.enhanced(0, count, &tcp(START_NS, 0, 10), &[flags(1)]);
        file.enhanced(0, count + 1, &tcp(START_NS, 1, 10), &[flags(2)]);
        file.enhanced(0, count + 2, &tcp(START_NS, 2, 10), &[(1, b"why".to_vec()), flags(2)]);
        file.enhanced(1, count + 3, &tcp(START_NS, 3, 10), &[]);
        file.obsolete(0, u16::MAX, count + 4, &tcp(START_NS, 4, 10));
        let (kept, _) = show(&[memory("capture", &file.bytes)]);
        let reported: Vec<_> =
            kept.iter().map(|frame| (frame.interface, frame.link, frame.direction)).collect();
        let ethernet = Some(LinkType::Ethernet);
        assert_eq!(
            reported,
            [
                (0, ethernet, Direction::Inbound),
                (0, ethernet, Direction::Outbound),
                (0, ethernet, Direction::Outbound),
                (1, None, Direction::Unknown),
                (0, ethernet, Direction::Unknown),
            ]
        );
    }
}

#[test]
fn showing_and_decoding_take_turns() {
    let all = frames(30);
    let mut reader =
        Reader::open(&[memory("capture", &Pcap::MICROS.file(&all))], DecodeOptions::default())
            .unwrap();
    let mut batch = Batch::default();
    let mut seen = Vec::new();
    assert!(reader.frames(10, |frame| seen.push(frame.index)));
    assert!(reader.fill(&mut batch, 10));
    assert!(reader.frames(100, |frame| seen.push(frame.index)));
    assert!(!reader.frames(100, |frame| seen.push(frame.index)));
    assert!(!reader.fill(&mut batch, 10));
    assert_eq!(seen, (1..=10).chain(21..=30).collect::<Vec<_>>());
    assert_eq!(
        batch.packets.iter().map(|packet| packet.index).collect::<Vec<_>>(),
        (11..=20).collect::<Vec<_>>()
    );
}

#[test]
fn damage_is_passed_over_and_reported() {
    let all = frames(40);
    let mut bytes = Pcap::MICROS.file(&all[..20]);
    let hole = bytes.len();
    bytes.extend([0xee; 333]);
    bytes.extend(all[20..].iter().flat_map(|frame| Pcap::MICROS.record(frame)));
    bytes.truncate(bytes.len() - 5);
    let input = [memory("capture", &bytes)];
    let (kept, facts) = show_by(&input, 3);
    assert_eq!(
        kept.iter().map(|frame| frame.ts.0).collect::<Vec<_>>(),
        all[..39].iter().map(|frame| frame.ts_ns).collect::<Vec<_>>()
    );
    assert_eq!(codes(&facts).last(), Some(&"truncated_record"));
    assert!(facts.problems[0].offset <= hole as u64 && facts.files[0].skipped_bytes >= 333);
    assert_same_as_decoded(&input, 3);
}

proptest! {
    /// Whatever is damaged, looking at frames and decoding them see the same.
    #[test]
    fn damaged_files_show_what_they_decode(
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        pcapng in any::<bool>(),
        limit in 1_usize..40,
    ) {
        let all = frames(60);
        let mut bytes = if pcapng {
            let mut file = Pcapng::simple(false);
            file.packets(&all);
            file.bytes
        } else {
            Pcap::MICROS.file(&all)
        };
        bytes.truncate(bytes.len() - cut.index(200));
        for (position, value) in hits {
            let position = 48 + position.index(bytes.len() - 48);
            bytes[position] = value;
        }
        assert_same_as_decoded(&[memory("capture", &bytes)], limit);
    }
}
