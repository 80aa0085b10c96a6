//! Captures written and read back: by this crate, and by Wireshark's tools where the machine has
//! them.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::panic,
    reason = "a test may fail loudly, and its numbers are small"
)]
#![expect(clippy::print_stdout, reason = "a test that cannot run says why")]

mod writer;

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use trustbed_capture::{
    CaptureFacts, Counters, Direction, Frame, Input, InterfaceDescription, Reader, WriteError,
    Writer,
};
use trustbed_units::{Ns, Rate, Span};
use trustbed_wire::{DecodeOptions, LinkType};
use writer::{START_NS, frames};

fn description(name: &str, link: LinkType) -> InterfaceDescription {
    InterfaceDescription {
        name: name.to_owned(),
        link,
        snap_length: 128,
        hardware_timestamps: true,
        speed: Some(Rate(10_000_000_000)),
    }
}

/// A frame of the tests' own kind as one that can be written.
fn written(frame: &writer::Frame, number: usize) -> Frame<'_> {
    let marked = [Direction::Inbound, Direction::Outbound, Direction::Unknown][number % 3];
    let link = Some(LinkType::Ethernet);
    Frame {
        ts: Ns(frame.ts_ns + 7),
        index: number as u64 + 1,
        file: 0,
        interface: 0,
        link,
        original_length: frame.original,
        marked,
        bytes: &frame.bytes,
    }
}

fn facts(path: &Path, mut see: impl FnMut(&Frame<'_>)) -> CaptureFacts {
    let mut reader =
        Reader::open(&[Input::Path(path.to_owned())], DecodeOptions::default()).unwrap();
    while reader.frames(100, &mut see) {}
    reader.facts()
}

const COUNTERS: Counters = Counters {
    start: Ns(START_NS),
    end: Ns(START_NS + 100_000_000),
    received: 0x1_0000_0064,
    dropped: 0x1_0000_0000,
};

fn write_hundred(path: &Path) -> Vec<writer::Frame> {
    let all = frames(100);
    let mut writer = Writer::create(path, "trustbed test").unwrap();
    assert_eq!(writer.interface(&description("eth0", LinkType::Ethernet)).unwrap(), 0);
    for (number, frame) in all.iter().enumerate() {
        writer.frame(&written(frame, number)).unwrap();
    }
    writer.statistics(0, &COUNTERS).unwrap();
    let written = writer.finish().unwrap();
    assert_eq!((written.frames, written.frames_left_out, written.complete), (100, 0, true));
    assert_eq!(written.bytes, std::fs::metadata(path).unwrap().len());
    all
}

#[test]
fn what_was_written_reads_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.pcapng");
    let all = write_hundred(&path);
    let mut number = 0;
    let facts = facts(&path, |frame| {
        assert_eq!(*frame, written(&all[number], number));
        number += 1;
    });
    assert_eq!(number, 100);
    assert!(facts.problems.is_empty());
    let file = &facts.files[0];
    assert_eq!(
        (file.application.as_deref(), file.os.as_deref()),
        (Some("trustbed test"), Some(std::env::consts::OS))
    );
    let eth0 = &file.interfaces[0];
    assert_eq!(
        (eth0.name.as_deref(), eth0.snap_length, eth0.resolution),
        (Some("eth0"), 128, Span(1))
    );
    assert_eq!((eth0.received, eth0.dropped), (Some(COUNTERS.received), Some(COUNTERS.dropped)));
}

#[test]
fn a_file_can_be_read_while_it_grows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.pcapng");
    let all = frames(30);
    let mut writer = Writer::create(&path, "trustbed test").unwrap();
    writer.interface(&description("eth0", LinkType::Ethernet)).unwrap();
    for (number, frame) in all.iter().enumerate() {
        writer.frame(&written(frame, number)).unwrap();
        if number % 10 == 9 {
            writer.flush().unwrap();
            writer.statistics(0, &Counters { dropped: number as u64, ..COUNTERS }).unwrap();
            let facts = facts(&path, |_| {});
            assert_eq!((facts.files[0].records, facts.problems.len()), (number as u64 + 1, 0));
            assert_eq!(
                facts.files[0].interfaces[0].dropped,
                Some(number as u64),
                "the last statement counts"
            );
        }
    }
}

#[test]
fn a_writer_that_is_dropped_leaves_what_it_was_given() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.pcapng");
    let all = frames(3);
    let mut writer = Writer::create(&path, "trustbed test").unwrap();
    writer.interface(&description("eth0", LinkType::Ethernet)).unwrap();
    for (number, frame) in all.iter().enumerate() {
        writer.frame(&written(frame, number)).unwrap();
    }
    drop(writer);
    assert_eq!(facts(&path, |_| {}).files[0].records, 3);
}

#[cfg(unix)]
#[test]
fn a_new_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.pcapng");
    Writer::create(&path, "test").unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_cannot_be_built_is_an_error_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let error = Writer::create(directory.path(), "test").unwrap_err();
    assert!(
        matches!(error, WriteError::Create { .. }) && error.hint().contains("not a directory"),
        "{error}"
    );
    let error = Writer::create(&directory.path().join("no/such.pcapng"), "test").unwrap_err();
    assert!(error.hint().contains("does not exist"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_device_that_is_always_full() {
    let error = Writer::create(Path::new("/dev/full"), "test").unwrap_err();
    assert!(matches!(error, WriteError::Write { frames_kept: 0, bytes_kept: 0, .. }), "{error}");
    assert!(error.hint().contains("make room"));
}

#[test]
#[cfg(unix)]
fn a_pipe_that_closes() {
    let (reader, pipe) = std::io::pipe().unwrap();
    let mut writer = Writer::stream(pipe, "-", "test").unwrap();
    writer.interface(&description("eth0", LinkType::Ethernet)).unwrap();
    drop(reader);
    let all = frames(2);
    writer.frame(&written(&all[0], 0)).unwrap();
    let error = writer.flush().unwrap_err();
    assert!(error.is_closed_pipe(), "{error}");
    writer.frame(&written(&all[1], 1)).unwrap();
    let written = writer.finish().unwrap();
    assert_eq!((written.frames, written.frames_left_out, written.complete), (0, 2, false));
}

/// Runs one of Wireshark's tools. Where it is missing, reports so; in continuous integration it
/// must be there.
fn wireshark(tool: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(tool).args(arguments).output() {
        Ok(output) => {
            assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{tool} is missing");
            println!("skipped: {tool}: {error}");
            None
        }
    }
}

#[test]
fn wireshark_reads_it_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.pcapng");
    let all = write_hundred(&path);
    let path = path.to_str().unwrap();
    if let Some(reported) = wireshark("capinfos", &["-c", "-F", "-I", path]) {
        for needle in [
            "Number of packets:   100",
            "eth0",
            "trustbed test",
            "Comment = hardware timestamps",
            "Speed = 10000000000",
            "(9)",
        ] {
            assert!(reported.contains(needle), "{needle} is missing in:\n{reported}");
        }
    }
    let fields = ["frame.time_epoch", "frame.len", "frame.cap_len", "frame.packet_flags_direction"];
    let mut arguments = vec!["-r", path, "-T", "fields"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let Some(reported) = wireshark("tshark", &arguments) else { return };
    assert_eq!(reported.lines().count(), 100);
    for ((number, frame), line) in all.iter().enumerate().zip(reported.lines()) {
        let frame = written(frame, number);
        let reported: Vec<&str> = line.split('\t').collect();
        assert_eq!(
            reported[0],
            format!("{}.{:09}", frame.ts.0 / 1_000_000_000, frame.ts.0 % 1_000_000_000)
        );
        assert_eq!(
            (reported[1], reported[2]),
            (frame.original_length.to_string().as_str(), frame.bytes.len().to_string().as_str())
        );
        let direction = reported[3].trim_start_matches("0x").trim_start_matches('0');
        assert_eq!(direction, ["1", "2", ""][number % 3]);
    }
}

proptest! {
    /// Any frames, read back.
    #[test]
    fn any_frames_read_back(
        given in proptest::collection::vec(
            (0_i64..i64::MAX, any::<u32>(), 0_usize..200, 0_usize..3, 0_u16..3),
            0..60,
        ),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.pcapng");
        let mut writer = Writer::create(&path, "").unwrap();
        let links = [LinkType::Ethernet, LinkType::Raw, LinkType::Loopback];
        for link in links {
            writer.interface(&description("", link)).unwrap();
        }
        let bytes: Vec<u8> = (0..200).collect();
        let frames: Vec<Frame<'_>> = given
            .iter()
            .zip(1..)
            .map(|(&(ts, original, length, direction, interface), index)| Frame {
                ts: Ns(ts),
                index,
                file: 0,
                interface,
                link: Some(links[usize::from(interface)]),
                original_length: original.max(length as u32),
                marked: [Direction::Unknown, Direction::Inbound, Direction::Outbound][direction],
                bytes: &bytes[..length],
            })
            .collect();
        for frame in &frames {
            writer.frame(frame).unwrap();
        }
        writer.finish().unwrap();
        let mut number = 0;
        let facts = facts(&path, |frame| {
            assert_eq!(*frame, frames[number]);
            number += 1;
        });
        prop_assert_eq!((number, facts.problems.len()), (frames.len(), 0));
    }
}
