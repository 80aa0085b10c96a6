//! A copy of a capture holds what the capture holds, and the comments.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod writer;

use std::path::Path;

use trustbed_capture::{CaptureFacts, Copier, Direction, Input, Reader};
use trustbed_units::Ns;
use trustbed_wire::DecodeOptions;
use writer::{Frame, Pcap, Pcapng, START_NS, frames, frames_from, gzip, memory, tcp, zstd};

/// What of a packet a copy must hold: time, interface's name, link type and length, bytes, options.
type Held = (Ns, Option<String>, u32, u32, Direction, Vec<u8>);

fn held(inputs: &[Input]) -> (Vec<Held>, CaptureFacts) {
    let facts = {
        let mut reader = Reader::open(inputs, DecodeOptions::default()).unwrap();
        while reader.frames(7, |_| {}) {}
        reader.facts()
    };
    let mut all = Vec::new();
    let mut reader = Reader::open(inputs, DecodeOptions::default()).unwrap();
    while reader.frames(7, |frame| {
        assert_eq!(frame.index, all.len() as u64 + 1);
        let interface = &facts.files[frame.file].interfaces[usize::from(frame.interface)];
        all.push((
            frame.ts,
            interface.name.clone(),
            interface.link_number,
            frame.original_length,
            frame.marked,
            frame.bytes.to_vec(),
        ));
    }) {}
    (all, facts)
}

/// Copies with a comment on every third packet.
fn copy(inputs: &[Input], facts: &CaptureFacts, path: &Path) -> Vec<u8> {
    let mut copier = Copier::create(path, "test", facts).unwrap();
    let mut reader = Reader::open(inputs, DecodeOptions::default()).unwrap();
    while reader.frames_with_options(5, |frame, options| {
        let comments: &[&str] = if frame.index.is_multiple_of(3) {
            &["trustbed: one", "trustbed: 2 → 3"]
        } else {
            &[]
        };
        assert!(copier.frame(frame, options, comments).unwrap());
    }) {}
    assert!(copier.finish().unwrap().complete);
    std::fs::read(path).unwrap()
}

fn count(bytes: &[u8], text: &str) -> usize {
    bytes.windows(text.len()).filter(|window| *window == text.as_bytes()).count()
}

/// Copies, compares, and copies the copy, which then is the same file.
fn check(inputs: &[Input]) -> (Vec<u8>, CaptureFacts) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy.pcapng");
    let (expected, facts) = held(inputs);
    let bytes = copy(inputs, &facts, &path);
    let copied = [Input::Path(path.clone())];
    let (found, copied_facts) = held(&copied);
    assert_eq!(found, expected);
    assert!(copied_facts.problems.is_empty(), "{:?}", copied_facts.problems);
    assert_eq!(count(&bytes, "trustbed: 2 → 3"), expected.len() / 3);
    let again = copy(&copied, &copied_facts, &directory.path().join("again.pcapng"));
    assert_eq!(again, bytes, "comments are replaced, not added");
    (bytes, copied_facts)
}

#[test]
fn every_dialect_of_pcap_plain_and_compressed() {
    for magic in [Pcap::MICROS.magic, Pcap::NANOS.magic, 0xa1b2_cd34] {
        for big in [false, true] {
            let dialect = Pcap { big, magic, link: 1, ..Pcap::MICROS };
            let file = dialect.file(&frames(30));
            for bytes in [file.clone(), gzip(&[&file]), zstd(&[&file])] {
                let (_, facts) = check(&[memory("a.pcap", &bytes)]);
                let interface = &facts.files[0].interfaces[0];
                let unit = if magic == Pcap::NANOS.magic { 1 } else { 1_000 };
                assert_eq!((interface.resolution.0, interface.snap_length), (unit, 65_535));
            }
        }
    }
}

fn text(code: u16, text: &str) -> (u16, Vec<u8>) {
    (code, text.as_bytes().to_vec())
}

/// Two interfaces with units of their own, one without a name that can be decoded, options and
/// counters.
fn many_sided(big: bool) -> Pcapng {
    let mut file = Pcapng::default();
    file.section(big, &[text(2, "a host"), text(3, "its system"), text(4, "dumpcap")]);
    let speed = 10_000_000_000_u64;
    let speed = if big { speed.to_be_bytes() } else { speed.to_le_bytes() };
    file.interface(
        1,
        262_144,
        &[text(2, "eth0"), (9, vec![9]), (8, speed.to_vec()), text(1, "the uplink")],
    );
    file.interface(147, 0, &[text(2, "user0"), (9, vec![3]), text(15, "a card")]);
    let flags = if big { [0, 0, 0, 2] } else { [2, 0, 0, 0] };
    for number in 0..20 {
        let frame = tcp(START_NS + i64::from(number) * 1_000_001, number, 100);
        let count = u64::try_from(frame.ts_ns).unwrap();
        let options = [text(1, "seen by someone"), (2, flags.to_vec()), file.drop_option(3)];
        file.enhanced(0, count, &frame, &options);
        file.enhanced(1, count / 1_000_000, &frame, &[]);
    }
    file.statistics(0, &[(4, 500), (5, 7), (7, 9)]);
    file
}

#[test]
fn interfaces_options_and_counters_of_pcapng_in_both_byte_orders() {
    let [little, big] = [false, true].map(|big| {
        let (bytes, facts) = check(&[memory("a.pcapng", &many_sided(big).bytes)]);
        assert_eq!(count(&bytes, "seen by someone"), 20);
        let file = &facts.files[0];
        assert_eq!(
            (file.hardware.as_deref(), file.os.as_deref(), file.application.as_deref()),
            (Some("a host"), Some("its system"), Some("test"))
        );
        let [eth0, user0] = &file.interfaces[..] else { panic!("two interfaces") };
        assert_eq!((eth0.received, eth0.dropped, eth0.os_dropped), (Some(500), Some(7), Some(9)));
        assert_eq!(eth0.options.len(), 2, "speed and comment");
        assert_eq!((user0.resolution.0, user0.hardware.as_deref()), (1_000_000, Some("a card")));
        bytes
    });
    assert_eq!(little, big);
}

#[test]
fn rotated_files_are_merged_and_their_interface_is_one() {
    let dialect = Pcap::NANOS;
    let first = dialect.file(&frames_from(START_NS, 0, 20));
    let second = dialect.file(&frames_from(START_NS + 15_500_000, 20, 20));
    let other = Pcap { snap_length: 96, ..dialect }.file(&frames_from(START_NS + 9, 50, 20));
    let inputs = [("b", &second), ("a", &first), ("c", &other)];
    let (_, facts) = check(&inputs.map(|(name, bytes)| memory(name, bytes)));
    let snaps: Vec<_> = facts.files[0].interfaces.iter().map(|one| one.snap_length).collect();
    assert_eq!(snaps, [65_535, 96]);
}

#[test]
fn counts_of_drops_that_files_make_up_end_at_the_largest_number() {
    let files = [0, 20].map(|first| {
        let mut file = Pcapng::simple(false);
        file.packets(&frames_from(START_NS + i64::from(first) * 1_000_000, first, 20));
        file.statistics(0, &[(5, u64::MAX), (7, 3)]);
        memory(&format!("from {first}"), &file.bytes)
    });
    let (_, facts) = check(&files);
    let [one] = &facts.files[0].interfaces[..] else { panic!("one interface") };
    assert_eq!((one.dropped, one.os_dropped), (Some(u64::MAX), Some(6)));
}

#[test]
fn what_can_be_read_of_a_damaged_file_is_copied() {
    let dialect = Pcap::MICROS;
    let all = frames(20);
    let mut bytes = dialect.file(&all[..10]);
    bytes.extend([0xee; 75]);
    bytes.extend(all[10..].iter().flat_map(|frame| dialect.record(frame)));
    bytes.truncate(bytes.len() - 9);
    let inputs = [memory("a.pcap", &bytes)];
    let (found, facts) = held(&inputs);
    assert_eq!(facts.problems.len(), 2, "garbage, and a record that is cut");
    assert_eq!(found.len(), 19);
    check(&inputs);
}

#[test]
fn times_before_1970_and_times_that_were_borrowed() {
    let mut file = Pcapng::default();
    file.section(true, &[]);
    let offset = file.offset_option(-5);
    file.interface(1, 0, &[offset]);
    for number in 0..6 {
        file.enhanced(0, u64::from(number) * 900_000, &tcp(0, number, 40), &[]);
        file.simple_packet(&tcp(0, number + 10, 40));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy.pcapng");
    let inputs = [memory("a.pcapng", &file.bytes)];
    let (expected, facts) = held(&inputs);
    copy(&inputs, &facts, &path);
    let (found, _) = held(&[Input::Path(path)]);
    assert_eq!(found, expected);
    assert_eq!(found[0].0, Ns(-5_000_000_000));
}

#[test]
fn a_frame_of_an_interface_that_was_not_described_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy.pcapng");
    let described = [memory("a.pcapng", &Pcapng::simple(false).bytes)];
    let (_, facts) = held(&described);
    let mut grown = Pcapng::simple(false);
    grown.interface(1, 96, &[]);
    let frame: Frame = tcp(START_NS, 1, 40);
    grown.enhanced(1, u64::try_from(START_NS / 1_000).unwrap(), &frame, &[]);
    let mut copier = Copier::create(&path, "test", &facts).unwrap();
    let inputs = [memory("a.pcapng", &grown.bytes)];
    let mut reader = Reader::open(&inputs, DecodeOptions::default()).unwrap();
    let no_comments: &[&str] = &[];
    reader.frames_with_options(9, |frame, options| {
        assert!(!copier.frame(frame, options, no_comments).unwrap());
    });
    assert_eq!(copier.finish().unwrap().frames, 0);
}
