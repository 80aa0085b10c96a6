//! Writes captures byte by byte, in every dialect, and reads them back: what the tests of this
//! crate have in common.
#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly, and its numbers are small"
)]

use std::io::Write;
use std::sync::Arc;

use trustbed_capture::{CaptureFacts, Input, OpenError, Reader};
use trustbed_units::Ns;
use trustbed_wire::{Batch, DecodeOptions, Packet};

pub(crate) const START_NS: i64 = 1_700_000_000_000_000_000;

/// A frame and what a capture records about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) ts_ns: i64,
    pub(crate) original: u32,
    pub(crate) bytes: Vec<u8>,
}

/// An Ethernet frame with an IPv4 TCP segment in it.
pub(crate) fn tcp(ts_ns: i64, number: u32, payload: u16) -> Frame {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let [id_high, id_low] = (number as u16).to_be_bytes();
    let [length_high, length_low] = (40 + payload).to_be_bytes();
    bytes.extend([0x45, 0, length_high, length_low, id_high, id_low, 0x40, 0, 64, 6, 0, 0]);
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend([0x9c, 0x40, 0x14, 0x51]);
    bytes.extend((number * 1448).to_be_bytes());
    bytes.extend([0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend((0..payload).map(|byte| (byte % 251) as u8));
    Frame { ts_ns, original: u32::try_from(bytes.len()).unwrap(), bytes }
}

/// Frames 1 ms apart, of different sizes; every third one is cut to 64 bytes.
pub(crate) fn frames(count: u32) -> Vec<Frame> {
    frames_from(START_NS, 0, count)
}

pub(crate) fn frames_from(start_ns: i64, first: u32, count: u32) -> Vec<Frame> {
    let mut frames: Vec<Frame> = (0..count)
        .map(|i| {
            tcp(
                start_ns + i64::from(i) * 1_000_000,
                first + i,
                u16::try_from(20 + i * 37 % 900).unwrap(),
            )
        })
        .collect();
    for frame in frames.iter_mut().step_by(3) {
        frame.bytes.truncate(64);
    }
    frames
}

/// A pcap dialect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pcap {
    pub(crate) big: bool,
    pub(crate) magic: u32,
    pub(crate) version: (u16, u16),
    pub(crate) snap_length: u32,
    pub(crate) link: u32,
}

impl Pcap {
    pub(crate) const MICROS: Self =
        Self { big: false, magic: 0xa1b2_c3d4, version: (2, 4), snap_length: 65_535, link: 1 };
    pub(crate) const NANOS: Self = Self { magic: 0xa1b2_3c4d, ..Self::MICROS };

    fn word(self, number: u32) -> [u8; 4] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn half(self, number: u16) -> [u8; 2] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    pub(crate) fn header(self) -> Vec<u8> {
        let Self { magic, version: (major, minor), snap_length, link, .. } = self;
        [
            &self.word(magic)[..],
            &self.half(major),
            &self.half(minor),
            &[0; 8],
            &self.word(snap_length),
            &self.word(link),
        ]
        .concat()
    }

    /// A record with any lengths: they may lie.
    pub(crate) fn lying_record(self, frame: &Frame, captured: u32, original: u32) -> Vec<u8> {
        let unit = if self.magic == Self::NANOS.magic { 1 } else { 1_000 };
        let seconds = u32::try_from(frame.ts_ns / 1_000_000_000).unwrap();
        let fraction = u32::try_from(frame.ts_ns % 1_000_000_000 / unit).unwrap();
        let (first, second) =
            if self.version.1 < 3 { (original, captured) } else { (captured, original) };
        let modified: &[u8] = if self.magic == 0xa1b2_cd34 { &[0; 8] } else { &[] };
        let words = [seconds, fraction, first, second].map(|word| self.word(word)).concat();
        [&words, modified, &frame.bytes].concat()
    }

    pub(crate) fn record(self, frame: &Frame) -> Vec<u8> {
        self.lying_record(frame, u32::try_from(frame.bytes.len()).unwrap(), frame.original)
    }

    pub(crate) fn file(self, frames: &[Frame]) -> Vec<u8> {
        let mut bytes = self.header();
        for frame in frames {
            bytes.extend(self.record(frame));
        }
        bytes
    }
}

/// A pcapng file under construction. Blocks are in the byte order of the last section.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pcapng {
    pub(crate) bytes: Vec<u8>,
    pub(crate) big: bool,
}

impl Pcapng {
    /// A file with one section and one Ethernet interface that counts microseconds.
    pub(crate) fn simple(big: bool) -> Self {
        let mut file = Self::default();
        file.section(big, &[]);
        file.interface(1, 0, &[]);
        file
    }

    fn word(&self, number: u32) -> [u8; 4] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn half(&self, number: u16) -> [u8; 2] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn long(&self, number: u64) -> [u8; 8] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    /// A block of any type; returns where it begins.
    pub(crate) fn block(&mut self, kind: u32, body: &[u8]) -> usize {
        let start = self.bytes.len();
        let padding = body.len().next_multiple_of(4) - body.len();
        let length = self.word(u32::try_from(12 + body.len() + padding).unwrap());
        let kind = self.word(kind);
        self.bytes.extend([&kind[..], &length, body, &vec![0; padding], &length].concat());
        start
    }

    fn options(&self, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (code, value) in options {
            bytes.extend(self.half(*code));
            bytes.extend(self.half(u16::try_from(value.len()).unwrap()));
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        if !options.is_empty() {
            bytes.extend([0; 4]);
        }
        bytes
    }

    pub(crate) fn section(&mut self, big: bool, options: &[(u16, Vec<u8>)]) -> usize {
        self.section_version(big, 1, options)
    }

    pub(crate) fn section_version(
        &mut self,
        big: bool,
        major: u16,
        options: &[(u16, Vec<u8>)],
    ) -> usize {
        self.big = big;
        let body = [
            &self.word(0x1a2b_3c4d)[..],
            &self.half(major),
            &self.half(0),
            &[0xff; 8],
            &self.options(options),
        ]
        .concat();
        self.block(0x0a0d_0d0a, &body)
    }

    pub(crate) fn interface(
        &mut self,
        link: u16,
        snap_length: u32,
        options: &[(u16, Vec<u8>)],
    ) -> usize {
        let body = [&self.half(link)[..], &[0; 2], &self.word(snap_length), &self.options(options)]
            .concat();
        self.block(1, &body)
    }

    pub(crate) fn enhanced(
        &mut self,
        interface: u32,
        count: u64,
        frame: &Frame,
        options: &[(u16, Vec<u8>)],
    ) -> usize {
        let [high, low] = [(count >> 32) as u32, count as u32];
        let captured = u32::try_from(frame.bytes.len()).unwrap();
        let mut body =
            [interface, high, low, captured, frame.original].map(|word| self.word(word)).concat();
        body.extend(&frame.bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(self.options(options));
        self.block(6, &body)
    }

    pub(crate) fn obsolete(
        &mut self,
        interface: u16,
        drops: u16,
        count: u64,
        frame: &Frame,
    ) -> usize {
        let mut body = [self.half(interface), self.half(drops)].concat();
        let captured = u32::try_from(frame.bytes.len()).unwrap();
        body.extend(
            [(count >> 32) as u32, count as u32, captured, frame.original]
                .map(|word| self.word(word))
                .concat(),
        );
        body.extend(&frame.bytes);
        self.block(2, &body)
    }

    pub(crate) fn packet(&mut self, frame: &Frame) -> usize {
        self.enhanced(0, u64::try_from(frame.ts_ns / 1_000).unwrap(), frame, &[])
    }

    pub(crate) fn packets(&mut self, frames: &[Frame]) {
        for frame in frames {
            self.packet(frame);
        }
    }

    pub(crate) fn simple_packet(&mut self, frame: &Frame) -> usize {
        let body = [&self.word(frame.original)[..], &frame.bytes].concat();
        self.block(3, &body)
    }

    pub(crate) fn statistics(&mut self, interface: u32, counters: &[(u16, u64)]) -> usize {
        let options: Vec<_> =
            counters.iter().map(|(code, value)| (*code, self.long(*value).to_vec())).collect();
        let body = [&self.word(interface)[..], &[0; 8], &self.options(&options)].concat();
        self.block(5, &body)
    }

    pub(crate) fn offset_option(&self, seconds: i64) -> (u16, Vec<u8>) {
        (14, self.long(seconds.cast_unsigned()).to_vec())
    }

    pub(crate) fn drop_option(&self, drops: u64) -> (u16, Vec<u8>) {
        (4, self.long(drops).to_vec())
    }
}

/// gzip with as many members as there are parts.
pub(crate) fn gzip(parts: &[&[u8]]) -> Vec<u8> {
    let member = |part: &&[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    };
    parts.iter().map(member).collect::<Vec<_>>().concat()
}

/// Zstandard with as many frames as there are parts.
pub(crate) fn zstd(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().map(|part| zstd::encode_all(*part, 1).unwrap()).collect::<Vec<_>>().concat()
}

pub(crate) fn memory(name: &str, bytes: &[u8]) -> Input {
    Input::Memory { name: name.to_owned(), bytes: Arc::from(bytes) }
}

/// Everything that a capture holds.
pub(crate) fn read(inputs: &[Input]) -> Result<(Vec<Packet>, CaptureFacts), OpenError> {
    read_by(inputs, 100)
}

/// The same, so many records at a time.
pub(crate) fn read_by(
    inputs: &[Input],
    limit: usize,
) -> Result<(Vec<Packet>, CaptureFacts), OpenError> {
    let mut reader = Reader::open(inputs, DecodeOptions::default())?;
    // Never cleared: packets point into the options of their batch.
    let mut batch = Batch::default();
    let mut before = 0;
    while reader.fill(&mut batch, limit) {
        assert!(batch.packets.len() <= before + limit);
        before = batch.packets.len();
    }
    assert_eq!(batch.packets.len(), before, "the last call appended nothing");
    Ok((batch.packets, reader.facts()))
}

pub(crate) fn read_bytes(bytes: &[u8]) -> (Vec<Packet>, CaptureFacts) {
    read(&[memory("capture", bytes)]).unwrap()
}

/// Asserts that the packets are those of the frames, in order, numbered from one.
pub(crate) fn assert_packets(packets: &[Packet], frames: &[Frame], resolution_ns: i64) {
    assert_eq!(packets.len(), frames.len());
    for (i, (packet, frame)) in packets.iter().zip(frames).enumerate() {
        assert_eq!(packet.index, i as u64 + 1);
        assert_eq!(packet.ts, Ns(frame.ts_ns - frame.ts_ns.rem_euclid(resolution_ns)));
        assert_eq!(packet.original_length, frame.original);
        let seq: [u8; 4] = frame.bytes[38..42].try_into().unwrap();
        assert_eq!(packet.seq, u32::from_be_bytes(seq));
    }
}

/// The codes of the problems, in order.
pub(crate) fn codes(facts: &CaptureFacts) -> Vec<&'static str> {
    facts.problems.iter().map(|problem| problem.code).collect()
}
