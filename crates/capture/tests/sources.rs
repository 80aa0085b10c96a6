//! Where bytes come from: files, pipes, standard input, memory; plain and compressed; in pieces of
//! any size.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly, and its numbers are small")]

mod writer;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use proptest::prelude::*;
use trustbed_capture::{Compression, Input, Progress, Reader};
use trustbed_wire::{Batch, DecodeOptions};
use writer::{Pcap, Pcapng, assert_packets, codes, frames, gzip, memory, read, read_bytes, zstd};

fn stored(directory: &Path, name: &str, bytes: &[u8]) -> Input {
    let path = directory.join(name);
    std::fs::write(&path, bytes).unwrap();
    Input::Path(path)
}

fn both_formats() -> [Vec<u8>; 2] {
    let mut file = Pcapng::simple(false);
    file.packets(&frames(300));
    [Pcap::MICROS.file(&frames(300)), file.bytes]
}

#[test]
fn compression_is_found_by_content_not_by_name() {
    let directory = tempfile::tempdir().unwrap();
    for plain in both_formats() {
        let (one, two) = plain.split_at(plain.len() / 2 + 3);
        let variants = [
            ("capture.gz", plain.clone(), Compression::None),
            ("capture.pcap", gzip(&[&plain]), Compression::Gzip),
            ("capture", gzip(&[one, two]), Compression::Gzip),
            ("capture.txt", zstd(&[&plain]), Compression::Zstd),
            ("capture.gz", zstd(&[one, two]), Compression::Zstd),
        ];
        for (name, bytes, compression) in variants {
            for input in [stored(directory.path(), name, &bytes), memory(name, &bytes)] {
                let (packets, facts) = read(&[input]).unwrap();
                assert_packets(&packets, &frames(300), 1_000);
                assert_eq!(facts.files[0].compression, compression);
                assert_eq!(facts.files[0].bytes, bytes.len() as u64);
                assert!(facts.problems.is_empty());
            }
        }
    }
}

#[test]
fn skippable_zstandard_frames_are_skipped() {
    let plain = Pcap::MICROS.file(&frames(10));
    let bytes = [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4][..], &zstd(&[&plain])].concat();
    assert_packets(&read_bytes(&bytes).0, &frames(10), 1_000);
}

#[test]
fn named_pipes_are_read_to_their_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    for plain in both_formats() {
        for bytes in [plain.clone(), gzip(&[&plain]), zstd(&[&plain])] {
            let to = path.clone();
            let writer = thread::spawn(move || {
                let mut pipe = File::options().write(true).open(to).unwrap();
                // In pieces that have nothing to do with records.
                for piece in bytes.chunks(997) {
                    pipe.write_all(piece).unwrap();
                }
                bytes.len() as u64
            });
            let (packets, facts) = read(&[Input::Path(path.clone())]).unwrap();
            assert_packets(&packets, &frames(300), 1_000);
            assert_eq!(facts.files[0].bytes, writer.join().unwrap());
        }
    }
}

#[test]
fn a_pipe_that_closes_leaves_what_came_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let to = path.clone();
    let writer = thread::spawn(move || {
        let bytes = Pcap::MICROS.file(&frames(300));
        File::options()
            .write(true)
            .open(to)
            .unwrap()
            .write_all(&bytes[..bytes.len() - 10])
            .unwrap();
    });
    let (packets, facts) = read(&[Input::Path(path)]).unwrap();
    writer.join().unwrap();
    assert_packets(&packets, &frames(299), 1_000);
    assert_eq!(codes(&facts), ["truncated_record"]);
}

/// Set where the test is its own child.
const CHILD: &str = "TRUSTBED_TEST_READS_STANDARD_INPUT";

/// Standard input belongs to the process, so a second one reads it.
#[test]
fn standard_input_is_read() {
    if std::env::var_os(CHILD).is_some() {
        return read_own_standard_input();
    }
    for bytes in both_formats().iter().flat_map(|plain| [plain.clone(), zstd(&[plain])]) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "standard_input_is_read", "--nocapture", "--test-threads=1"])
            .env(CHILD, "")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains("file - has 300 records"), "{printed}");
    }
}

#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn read_own_standard_input() {
    let (packets, facts) = read(&[Input::from(Path::new("-"))]).unwrap();
    assert_packets(&packets, &frames(300), 1_000);
    println!("file {} has {} records", facts.files[0].name, facts.files[0].records);
}

#[test]
fn progress_counts_stored_bytes() {
    let plain = Pcap::MICROS.file(&frames(300));
    for bytes in [plain.clone(), gzip(&[&plain])] {
        let mut reader =
            Reader::open(&[memory("capture", &bytes)], DecodeOptions::default()).unwrap();
        let mut batch = Batch::default();
        let mut last = reader.progress().bytes_read;
        while reader.fill(&mut batch, 7) {
            let Progress { bytes_read, bytes_total } = reader.progress();
            assert_eq!(bytes_total, Some(bytes.len() as u64));
            assert!((last..=bytes.len() as u64).contains(&bytes_read));
            last = bytes_read;
        }
        assert_eq!(reader.progress().bytes_read, bytes.len() as u64);
    }
}

#[test]
fn what_is_written_after_opening_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = Pcap::MICROS.file(&frames(20));
    let Input::Path(path) = stored(directory.path(), "growing.pcap", &bytes) else {
        unreachable!()
    };
    let mut reader = Reader::open(&[Input::Path(path.clone())], DecodeOptions::default()).unwrap();
    File::options().append(true).open(&path).unwrap().write_all(&bytes[24..]).unwrap();
    let mut batch = Batch::default();
    while reader.fill(&mut batch, 100) {}
    assert_packets(&batch.packets, &frames(20), 1_000);
}

#[test]
fn a_file_that_is_cut_short_while_it_is_read_is_a_problem_with_the_byte() {
    let directory = tempfile::tempdir().unwrap();
    let all = frames(20_000);
    let bytes = Pcap::MICROS.file(&all);
    let path = directory.path().join("cut");
    std::fs::write(&path, &bytes).unwrap();
    let mut reader = Reader::open(&[Input::Path(path.clone())], DecodeOptions::default()).unwrap();
    let mut batch = Batch::default();
    assert!(reader.fill(&mut batch, 10));
    let cut = bytes.len() as u64 * 3 / 4;
    File::options().write(true).open(&path).unwrap().set_len(cut).unwrap();
    while reader.fill(&mut batch, 1000) {}
    let ends = all.iter().scan(24, |end, frame| {
        *end += 16 + frame.bytes.len() as u64;
        Some(*end)
    });
    let whole = ends.take_while(|&end| end <= cut).count();
    assert_packets(&batch.packets, &all[..whole], 1_000);
    let facts = reader.facts();
    let io = facts.problems.iter().find(|problem| problem.code == "io").unwrap();
    assert_eq!(io.offset, cut);
    assert!(io.detail.contains(&format!("ends at byte {cut} now")), "{}", io.detail);
}

#[test]
fn names_are_kept_as_given() {
    assert_eq!(Input::from(Path::new("-")).name(), "-");
    assert_eq!(Input::Path(PathBuf::from("a/../b.pcap")).name(), "a/../b.pcap");
}

#[test]
fn readers_can_move_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Reader>();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Members of a gzip file come out one read at a time, so the window slides over every kind of
    /// border.
    #[test]
    fn streams_read_like_mappings(
        format in 0_usize..2,
        mut cuts in proptest::collection::vec(0_usize..150_000, 0..20),
        limit in 1_usize..400,
    ) {
        let plain = &both_formats()[format];
        for cut in &mut cuts {
            *cut %= plain.len();
        }
        cuts.extend([0, plain.len()]);
        cuts.sort_unstable();
        let parts: Vec<&[u8]> = cuts.windows(2).map(|pair| &plain[pair[0]..pair[1]]).collect();
        let streamed = writer::read_by(&[memory("capture", &gzip(&parts))], limit).unwrap();
        prop_assert_eq!(streamed.0, read_bytes(plain).0);
        prop_assert!(streamed.1.problems.is_empty());
    }
}
