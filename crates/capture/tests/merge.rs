//! Several files as one capture.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly, and its numbers are small"
)]

mod writer;

use std::path::PathBuf;

use proptest::prelude::*;
use trustbed_capture::{Input, OpenError};
use trustbed_units::Ns;
use writer::{
    Frame, Pcap, Pcapng, START_NS, assert_packets, frames, frames_from, gzip, memory, read,
    read_by, tcp, zstd,
};

const MS: i64 = 1_000_000;

fn names(inputs: &[Input]) -> Vec<String> {
    read(inputs).unwrap().1.files.into_iter().map(|file| file.name).collect()
}

#[test]
fn rotated_files_follow_one_another_in_whatever_order_they_are_given() {
    let frames = frames(90);
    let parts: Vec<Input> = frames
        .chunks(30)
        .zip(["a", "b", "c"])
        .map(|(part, name)| memory(name, &Pcap::MICROS.file(part)))
        .collect();
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let inputs = order.map(|i| parts[i].clone());
        assert_packets(&read(&inputs).unwrap().0, &frames, 1_000);
        assert_eq!(names(&inputs), ["a", "b", "c"], "facts come in the order of reading");
    }
}

#[test]
fn formats_and_compressions_can_be_mixed() {
    let frames = frames(90);
    let mut second = Pcapng::simple(true);
    second.packets(&frames[30..60]);
    let inputs = [
        memory("c", &zstd(&[&Pcap { big: true, ..Pcap::NANOS }.file(&frames[60..])])),
        memory("b", &second.bytes),
        memory("a", &gzip(&[&Pcap::MICROS.file(&frames[..30])])),
    ];
    assert_packets(&read(&inputs).unwrap().0, &frames, 1_000);
}

#[test]
fn a_border_keeps_small_disorder_as_it_is() {
    // The last packets of the first file are up to 9 ms later than the first of the second.
    let mut frames = frames(20);
    for (i, late) in [(7, 9), (8, 7), (9, 5)] {
        frames[i].ts_ns += late * MS;
    }
    let inputs = [
        memory("b", &Pcap::MICROS.file(&frames[10..])),
        memory("a", &Pcap::MICROS.file(&frames[..10])),
    ];
    assert_packets(&read(&inputs).unwrap().0, &frames, 1_000);
}

#[test]
fn overlapping_files_are_merged_by_time() {
    let first = frames_from(START_NS, 0, 200);
    let second = frames_from(START_NS + 50 * MS + MS / 2, 1_000, 200);
    let inputs = [
        memory("first", &Pcap::MICROS.file(&first)),
        memory("second", &Pcap::MICROS.file(&second)),
    ];
    for limit in [1, 3, 1_000] {
        let (packets, facts) = read_by(&inputs, limit).unwrap();
        assert_eq!(packets.len(), 400);
        let mut expected: Vec<i64> = first.iter().chain(&second).map(|frame| frame.ts_ns).collect();
        expected.sort_unstable();
        let mut times: Vec<i64> = packets.iter().map(|packet| packet.ts.0).collect();
        let steps_back =
            times.windows(2).filter(|pair| pair[1] < pair[0]).map(|pair| pair[0] - pair[1]);
        assert!(
            steps_back.max().unwrap_or(0) <= 10 * MS,
            "disorder stays within what is put in order later"
        );
        times.sort_unstable();
        assert_eq!(times, expected);
        assert!(
            packets[80..].is_sorted_by_key(|packet| packet.ts),
            "after the beginning of the overlap, time goes forward"
        );
        assert!(packets.iter().zip(1..).all(|(packet, index)| packet.index == index));
        assert_eq!(facts.files.iter().map(|file| file.records).collect::<Vec<_>>(), [200, 200]);
    }
}

#[test]
fn of_equal_times_the_earlier_file_goes_first() {
    let at = |first: i64, numbers: [u32; 40]| -> Vec<Frame> {
        let step =
            |i: usize| if i == 0 { first } else { START_NS + i64::try_from(i).unwrap() * 20 * MS };
        numbers.iter().enumerate().map(|(i, number)| tcp(step(i), *number, 10)).collect()
    };
    let early = at(START_NS - MS, std::array::from_fn(|i| i as u32));
    let late = at(START_NS, std::array::from_fn(|i| 1_000 + i as u32));
    let inputs =
        [memory("late", &Pcap::MICROS.file(&late)), memory("early", &Pcap::MICROS.file(&early))];
    let (packets, _) = read(&inputs).unwrap();
    for pair in packets[2..].chunks(2) {
        assert_eq!(pair[0].ts, pair[1].ts);
        assert!(pair[0].seq < pair[1].seq);
    }
}

#[test]
fn files_without_packets_do_no_harm() {
    let frames = frames(10);
    let inputs = [
        memory("full", &Pcap::MICROS.file(&frames)),
        memory("bare", &Pcap::MICROS.header()),
        memory("bare too", &Pcapng::simple(false).bytes),
    ];
    let (packets, facts) = read(&inputs).unwrap();
    assert_packets(&packets, &frames, 1_000);
    assert_eq!(facts.files.len(), 3);
}

#[test]
fn both_ends_of_a_transfer_are_refused() {
    // The receiver saw everything 20 ms later, in another format, and missed some.
    let sent = frames(200);
    let mut received = Pcapng::simple(false);
    for frame in sent.iter().filter(|frame| frame.ts_ns % 7 != 0) {
        received.packet(&Frame { ts_ns: frame.ts_ns + 20 * MS, ..frame.clone() });
    }
    let inputs = [
        memory("sender.pcap", &Pcap::NANOS.file(&sent)),
        memory("receiver.pcapng", &received.bytes),
    ];
    let error = read(&inputs).unwrap_err();
    let OpenError::SamePackets { first, second, common, compared } = &error else {
        panic!("{error}")
    };
    assert_eq!((first, second), (&PathBuf::from("sender.pcap"), &PathBuf::from("receiver.pcapng")));
    assert_eq!(common, compared);
    assert!(error.hint().contains("--sender FILE --receiver FILE"));
}

#[test]
fn offloaded_packets_are_recognised_by_their_first_segment() {
    // At the sender, super-packets of ten segments; at the receiver, the segments.
    let sent: Vec<Frame> =
        (0..50).map(|i| tcp(START_NS + i64::from(i) * MS, i * 10, 1_000)).collect();
    let received: Vec<Frame> =
        (0..500).map(|i| tcp(START_NS + MS + i64::from(i) * MS / 10, i, 100)).collect();
    let inputs = [
        memory("sender", &Pcap::MICROS.file(&sent)),
        memory("receiver", &Pcap::MICROS.file(&received)),
    ];
    assert!(matches!(read(&inputs), Err(OpenError::SamePackets { common: 50, compared: 50, .. })));
}

#[test]
fn a_retransmission_across_a_border_is_no_reason_to_refuse() {
    let frames = frames(60);
    let mut second = frames[30..].to_vec();
    second.splice(
        0..0,
        frames[22..30].iter().map(|frame| Frame { ts_ns: START_NS + 30 * MS, ..frame.clone() }),
    );
    let inputs =
        [memory("a", &Pcap::MICROS.file(&frames[..30])), memory("b", &Pcap::MICROS.file(&second))];
    assert_eq!(read(&inputs).unwrap().0.len(), 68);
}

#[test]
fn a_file_given_twice_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("capture.pcap");
    std::fs::write(&path, Pcap::MICROS.file(&frames(3))).unwrap();
    let other_name = directory.path().join(".").join("capture.pcap");
    let error = read(&[Input::Path(path), Input::Path(other_name)]).unwrap_err();
    assert!(matches!(error, OpenError::Repeated { .. }), "{error}");
    assert!(matches!(read(&[Input::Stdin, Input::Stdin]), Err(OpenError::Repeated { .. })));
}

#[test]
fn a_compressed_file_that_vanishes_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let frames = frames(60);
    let paths: Vec<PathBuf> = ["a", "b"].iter().map(|name| directory.path().join(name)).collect();
    for (path, part) in paths.iter().zip(frames.chunks(30)) {
        std::fs::write(path, gzip(&[&Pcap::MICROS.file(part)])).unwrap();
    }
    let inputs: Vec<Input> = paths.iter().cloned().map(Input::Path).collect();
    let mut reader =
        trustbed_capture::Reader::open(&inputs, trustbed_wire::DecodeOptions::default()).unwrap();
    std::fs::remove_file(&paths[1]).unwrap();
    let mut batch = trustbed_wire::Batch::default();
    while reader.fill(&mut batch, 100) {}
    assert_packets(&batch.packets, &frames[..30], 1_000);
    assert_eq!(writer::codes(&reader.facts()), ["io"]);
}

proptest! {
    /// Rotation changes nothing: packets, order and numbers are those of the whole, in any mixture
    /// of formats.
    #[test]
    fn parts_read_like_the_whole(
        steps in proptest::collection::vec(-3_i64..20, 30..150),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..5),
        formats in proptest::collection::vec(0_u8..4, 6),
        limit in 1_usize..50,
    ) {
        let mut ts = START_NS;
        let mut frames = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            // Small disorder anywhere, but no part begins before the one in front of it.
            ts += step.max(&0) * 100_000;
            frames.push(tcp(ts + step.min(&0) * 100_000, i as u32, 20));
        }
        let mut cuts: Vec<usize> =
            cuts.iter().map(|cut| cut.index(frames.len())).chain([0, frames.len()]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        prop_assume!(cuts.windows(2).all(|pair| pair[0] == 0
            || frames[pair[0]].ts_ns
                > frames[..pair[0]].iter().map(|frame| frame.ts_ns).max().unwrap() - 9 * MS));
        let starts: Vec<i64> =
            cuts[..cuts.len() - 1].iter().map(|cut| frames[*cut].ts_ns).collect();
        prop_assume!(starts.is_sorted_by(|a, b| a < b));
        let mut inputs = Vec::new();
        for (pair, format) in cuts.windows(2).zip(&formats) {
            let part = &frames[pair[0]..pair[1]];
            let bytes = match format {
                0 => Pcap::MICROS.file(part),
                1 => gzip(&[&Pcap { big: true, ..Pcap::NANOS }.file(part)]),
                2 => zstd(&[&Pcap::NANOS.file(part)]),
                _ => {
                    let mut file = Pcapng::simple(true);
                    file.packets(part);
                    file.bytes
                }
            };
            inputs.push(memory("part", &bytes));
        }
        inputs.reverse();
        let whole = read(&[memory("whole", &Pcap::MICROS.file(&frames))]).unwrap().0;
        let parts = read_by(&inputs, limit).unwrap().0;
        prop_assert_eq!(parts, whole);
        prop_assert!(frames.iter().all(|frame| Ns(frame.ts_ns) > Ns(0)));
    }
}
