//! Full disks, simulated byte by byte.

use std::sync::{Arc, Mutex};

use super::*;
use crate::frame::Direction;
use crate::{Input, Reader};
use proptest::prelude::*;
use trustbed_wire::DecodeOptions;

/// A disk with room for so many bytes, which takes at most `step` at once.
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
    step: usize,
    can_cut: bool,
}

impl Target for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.bytes.lock().unwrap();
        let taken = bytes.len().min(self.room - held.len()).min(self.step);
        if taken == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        held.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn cut(&mut self, length: u64) -> bool {
        self.can_cut && {
            self.bytes.lock().unwrap().truncate(usize::try_from(length).unwrap());
            true
        }
    }
}

fn description() -> InterfaceDescription {
    let speed = Some(Rate(1_000_000_000));
    InterfaceDescription {
        name: "eth0".to_owned(),
        link: LinkType::Ethernet,
        snap_length: 128,
        hardware_timestamps: false,
        speed,
    }
}

const COUNTERS: Counters = Counters { start: Ns(0), end: Ns(1_000), received: 500, dropped: 3 };

fn frame(number: u64, bytes: &[u8]) -> Frame<'_> {
    let ts = Ns(1_000_000_000 + number.cast_signed());
    Frame {
        ts,
        index: number,
        file: 0,
        interface: 0,
        link: None,
        original_length: 1514,
        marked: Direction::Inbound,
        bytes,
    }
}

/// What a disk holds after an interface and `count` frames, flushed every `every`; and what
/// was reported.
fn fill(
    room: usize,
    step: usize,
    can_cut: bool,
    count: u64,
    every: u64,
) -> (Vec<u8>, Vec<WriteError>, Option<Written>) {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let disk = Disk { bytes: Arc::clone(&bytes), room, step, can_cut };
    let mut errors = Vec::new();
    let mut written = None;
    match Writer::begin("disk".to_owned(), Box::new(disk), &blocks::WriterFacts::of("test")) {
        Err(error) => errors.push(error),
        Ok(mut writer) => {
            errors.extend(writer.interface(&description()).err());
            for number in 1..=count {
                errors.extend(writer.frame(&frame(number, &[1; 77])).err());
                if number % every == 0 {
                    errors.extend(writer.flush().err());
                }
            }
            errors.extend(writer.statistics(0, &COUNTERS).err());
            match writer.finish() {
                Ok(all) => written = Some(all),
                Err(error) => errors.push(error),
            }
        }
    }
    let bytes = bytes.lock().unwrap().clone();
    (bytes, errors, written)
}

#[test]
fn a_full_disk_is_reported_once_and_what_was_written_is_valid() {
    let (whole, errors, written) = fill(usize::MAX, usize::MAX, true, 100, 1_000);
    assert!(errors.is_empty());
    let all =
        Written { frames: 100, bytes: whole.len() as u64, frames_left_out: 0, complete: true };
    assert_eq!(written, Some(all));
    let (bytes, errors, written) = fill(whole.len() / 2, 1_000, true, 100, 10);
    let written = written.unwrap();
    let [WriteError::Write { frames_kept, source, .. }] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!((source.kind(), *frames_kept), (io::ErrorKind::StorageFull, written.frames));
    assert!(errors[0].hint().starts_with("make room"));
    assert_eq!(written.frames + written.frames_left_out, 100);
    assert!(!written.complete);
    assert_eq!(written.bytes, bytes.len() as u64);
    let mut reader = Reader::open(
        &[Input::Memory { name: "disk".to_owned(), bytes: bytes.into() }],
        DecodeOptions::default(),
    )
    .unwrap();
    let mut seen = 0;
    while reader.frames(1_000, |frame| {
        seen += 1;
        assert_eq!(frame.ts.0, 1_000_000_000 + seen);
    }) {}
    let facts = reader.facts();
    assert_eq!(seen.cast_unsigned(), written.frames);
    assert!(facts.problems.is_empty(), "{:?}", facts.problems);
    let eth0 = &facts.files[0].interfaces[0];
    assert_eq!(
        (eth0.received, eth0.dropped),
        (Some(500), Some(3)),
        "the counters fit where the last frames were given up"
    );
}

#[test]
fn nothing_is_appended_behind_a_part_of_a_block() {
    let (bytes, errors, written) = fill(2_000, usize::MAX, false, 100, 10);
    let written = written.unwrap();
    assert_eq!((errors.len(), written.bytes, bytes.len()), (1, 2_000, 2_000));
    assert_eq!(written.frames + written.frames_left_out, 100);
}

proptest! {
    /// However little room there is, the file ends with a whole block, and every frame is accounted
    /// for.
    #[test]
    fn a_file_on_a_full_disk_is_whole(
        room in 0_usize..12_000,
        step in 1_usize..5_000,
        every in 1_u64..60,
    ) {
        let (bytes, errors, written) = fill(room, step, true, 60, every);
        prop_assert!(errors.len() <= 2, "{:?}", errors);
        let (end, frames) = blocks::whole(&bytes, bytes.len());
        prop_assert_eq!(end, bytes.len());
        if let Some(written) = written {
            prop_assert_eq!((written.frames, written.bytes), (frames, bytes.len() as u64));
            prop_assert_eq!(written.frames + written.frames_left_out, 60);
            // Only where not even one frame was kept, the counters may not fit.
            let counted = bytes.windows(4).any(|word| word == [5, 0, 0, 0]);
            prop_assert!(
                counted || written.frames == 0,
                "no counters behind {} frames",
                written.frames
            );
            prop_assert_eq!(written.complete, errors.is_empty());
        }
    }
}
