//! Writes a capture once more, packet by packet, with comments.
//!
//! Kept are the number, order, times, bytes, lengths and options of the packets, and of interfaces
//! what [`InterfaceFacts`] has. Files of several inputs share one section; the interfaces that
//! files of a rotated capture describe alike become one. Blocks that are neither packets nor
//! interfaces nor statistics (decryption secrets, resolved names) are not copied.

use std::collections::HashMap;
use std::path::Path;

use trustbed_units::Ns;

use super::blocks::{self, COMMENT, Clock, Copied, WriterFacts};
use super::{State, WriteError, Writer, Written};
use crate::facts::{CaptureFacts, FileFacts, InterfaceFacts};
use crate::frame::Frame;
use crate::pcapng::FrameOptions;

/// Comments that begin so are replaced: a copy of a copy has each once.
const OWN: &[u8] = b"trustbed: ";
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Writes a capture again as pcapng: [`Copier::create`] with all that is known of it,
/// [`Copier::frame`] for every frame in order, [`Copier::finish`].
///
/// A file that cannot be completed is cut back to whole blocks, as by a [`Writer`]; whoever wants
/// all or nothing writes under another name first.
#[derive(Debug)]
pub struct Copier {
    writer: Writer,
    /// For each interface of each file, its number and its clock in the copy.
    numbers: Vec<Vec<(u16, Clock)>>,
    /// For each interface of the copy: its clock, when it was last heard of, and what it received,
    /// dropped, and lost to its operating system.
    totals: Vec<(Clock, Option<Ns>, [Option<u64>; 3])>,
}

impl Copier {
    /// Begins a copy of the capture that `facts` describes, complete, in place of what the path
    /// held before. `application` is what it records about its writer.
    ///
    /// # Errors
    ///
    /// As [`Writer::create`]; [`WriteError::Interfaces`] when files describe too many.
    pub fn create(
        path: &Path,
        application: &str,
        facts: &CaptureFacts,
    ) -> Result<Self, WriteError> {
        let first = |text: fn(&FileFacts) -> Option<&str>| facts.files.iter().find_map(text);
        let about = WriterFacts {
            hardware: first(|file| file.hardware.as_deref()),
            os: first(|file| file.os.as_deref()),
            application,
        };
        let writer = Writer::create_about(path, &about)?;
        let mut copier = Self { writer, numbers: Vec::new(), totals: Vec::new() };
        let mut known = HashMap::new();
        for file in &facts.files {
            copier.add_file(file, &mut known)?;
        }
        Ok(copier)
    }

    fn add_file(
        &mut self,
        file: &FileFacts,
        known: &mut HashMap<(Copied, usize), u16>,
    ) -> Result<(), WriteError> {
        let mut numbers = Vec::with_capacity(file.interfaces.len());
        // Interfaces that one file describes alike are several.
        let mut alike: HashMap<Copied, usize> = HashMap::new();
        for interface in &file.interfaces {
            let copied = copied(file, interface);
            let clock = copied.clock;
            let earlier = alike.entry(copied.clone()).or_default();
            *earlier += 1;
            let key = (copied, *earlier);
            let number = if let Some(number) = known.get(&key) {
                *number
            } else {
                let number = self.describe(&key.0)?;
                known.insert(key, number);
                number
            };
            numbers.push((number, clock));
            let (_, end, counts) = &mut self.totals[usize::from(number)];
            *end = (*end).max(file.last_ts);
            let more = [interface.received, interface.dropped, interface.os_dropped];
            for (count, more) in counts.iter_mut().zip(more) {
                *count = count.map_or(more, |count| Some(count.saturating_add(more.unwrap_or(0))));
            }
        }
        self.numbers.push(numbers);
        Ok(())
    }

    fn describe(&mut self, copied: &Copied) -> Result<u16, WriteError> {
        if self.writer.interfaces == u16::MAX {
            let name = self.writer.name.clone();
            return Err(WriteError::Interfaces { name, most: usize::from(u16::MAX) });
        }
        let number = self.writer.describe(|out| blocks::copied_interface(out, copied))?;
        self.totals.push((copied.clock, None, [None; 3]));
        Ok(number)
    }

    /// Appends a frame with its options, and comments behind those that it has; earlier comments of
    /// this program are left out. False, and nothing appended, when the frame is of a file or an
    /// interface that was not described: the capture changed since.
    ///
    /// # Errors
    ///
    /// [`WriteError::Write`], as [`Writer::frame`].
    pub fn frame(
        &mut self,
        frame: &Frame<'_>,
        options: FrameOptions<'_>,
        comments: &[impl AsRef<str>],
    ) -> Result<bool, WriteError> {
        let interfaces = self.numbers.get(frame.file);
        let Some(interface) = interfaces.and_then(|all| all.get(usize::from(frame.interface)))
        else {
            return Ok(false);
        };
        if self.writer.state != State::Sound {
            self.writer.left_out += 1;
            return Ok(true);
        }
        blocks::copied_packet(&mut self.writer.buffer, *interface, frame, |out| {
            options.each_little(|code, value| {
                if code != COMMENT || !value.starts_with(OWN) {
                    blocks::option(out, code, value);
                }
            });
            for comment in comments {
                blocks::option(out, COMMENT, comment.as_ref().as_bytes());
            }
        });
        self.writer.flush_if_full()?;
        Ok(true)
    }

    /// Ends the file with what its interfaces counted.
    ///
    /// # Errors
    ///
    /// As [`Writer::finish`].
    pub fn finish(mut self) -> Result<Written, WriteError> {
        for (number, (clock, end, counts)) in (0_u16..).zip(&self.totals) {
            if self.writer.state == State::Sound && counts.iter().any(Option::is_some) {
                let out = &mut self.writer.buffer;
                blocks::copied_statistics(out, (number, *clock), end.unwrap_or(Ns(0)), *counts);
            }
        }
        self.writer.finish()
    }
}

/// What the copy states about an interface.
#[expect(clippy::cast_possible_truncation, reason = "LINKTYPE_ numbers have 16 bits")]
fn copied(file: &FileFacts, interface: &InterfaceFacts) -> Copied {
    let InterfaceFacts {
        name, description, hardware, os, options, link_number, snap_length, ..
    } = interface.clone();
    let before_epoch = file.first_ts.map_or(0, |first| first.0.min(0));
    Copied {
        name,
        description,
        hardware,
        os,
        options,
        link_number: link_number as u16,
        snap_length,
        clock: Clock {
            digits: digits(file, interface),
            offset_seconds: before_epoch.div_euclid(NANOS_PER_SECOND),
        },
    }
}

/// The decimal unit that the interface declares, or nanoseconds where there is none in which all
/// times of its packets can be written.
fn digits(file: &FileFacts, interface: &InterfaceFacts) -> u8 {
    let borrowed = file.records_without_time > 0;
    let exact = |digits: &u8| 10_i64.pow(9 - u32::from(*digits)) == interface.resolution.0;
    (0..=9).find(exact).filter(|_| !borrowed).unwrap_or(9)
}
