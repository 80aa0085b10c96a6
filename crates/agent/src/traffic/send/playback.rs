//! Recordings for playback, read once for all sources that play them.

use std::path::Path;
use std::sync::Arc;

use trustbed_capture::{Input, OpenError, Reader};
use trustbed_traffic::{Description, Recording};
use trustbed_wire::{Contents, DecodeOptions, Filter, IpContents};

use crate::capture::filter;
use crate::session::{Failure, Stop};

/// Frames between two readings whether stop was requested.
const LOOK: usize = 65_536;
/// Packets stored: 12 bytes each.
const MOST_PACKETS: usize = 50_000_000;

/// A capture, a filter, and among how many sources its flows are dealt.
type Read = (String, Option<String>, u16);

/// The recordings that were read, one per part.
#[derive(Default)]
pub(super) struct Recordings(Vec<(Read, Vec<Arc<Recording>>)>);

impl Recordings {
    /// The recording that a model plays, if it plays one.
    pub(super) fn of(
        &mut self,
        model: &Description,
        stop: Stop,
    ) -> Result<Option<Arc<Recording>>, Failure> {
        let Description::Playback(playback) = model else { return Ok(None) };
        let (part, parts) = (playback.part, playback.parts);
        if part >= parts {
            let message = format!("model.part: there is no part {part} of {parts}");
            return Err(Failure::configuration(message, "count parts from 0"));
        }
        let key = (playback.capture.clone(), playback.filter.clone(), parts);
        let at = if let Some(at) = self.0.iter().position(|(read, _)| *read == key) {
            at
        } else {
            let filter = playback.filter.as_deref().map(filter::parse).transpose()?;
            let found = read(&playback.capture, filter.as_ref(), parts, stop)?;
            self.0.push((key, found.into_iter().map(Arc::new).collect()));
            self.0.len() - 1
        };
        let recording = self.0[at].1.get(usize::from(part)).map(Arc::clone);
        if parts > 1
            && !stop.is_requested()
            && recording.as_ref().is_some_and(|part| part.packets() == 0)
        {
            let message =
                format!("{}: its flows are too few for {parts} sources", playback.capture);
            return Err(Failure::configuration(message, "give fewer sources"));
        }
        Ok(recording)
    }
}

/// The part to which the flow of a packet is dealt.
fn part_of(ip: &IpContents, parts: u16) -> u16 {
    let (from, to) = ip.ports.unwrap_or_default();
    let words = [from.to_be_bytes(), to.to_be_bytes()];
    let bytes = ip.source.iter().chain(&ip.destination).chain(words.as_flattened());
    // FNV-1a: the same parts in every run and of every version.
    let hash = bytes.chain([&ip.protocol]).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    u16::try_from((hash >> 32) % u64::from(parts)).unwrap_or(0)
}

/// The recordings of all parts. They have one time zero: the first packet of any of them.
fn read(
    capture: &str,
    filter: Option<&Filter>,
    parts: u16,
    stop: Stop,
) -> Result<Vec<Recording>, Failure> {
    let unreadable = |error: OpenError| Failure::configuration(error.to_string(), error.hint());
    let input = Input::Path(Path::new(capture).to_owned());
    let mut reader = Reader::open(&[input], DecodeOptions::default()).map_err(unreadable)?;
    let mut recordings = vec![Recording::default(); parts.into()];
    let mut packets = 0;
    let mut more = true;
    while more && !stop.is_requested() {
        more = reader.frames(LOOK, |frame| {
            let contents =
                frame.record().map(|record| Contents::of(&record, false)).unwrap_or_default();
            if filter.is_none_or(|filter| filter.matches(&contents)) {
                if contents.ip.is_some() {
                    if packets == 0 {
                        for part in &mut recordings {
                            part.begin(frame.ts);
                        }
                    }
                    packets += 1;
                }
                let part = contents.ip.map_or(0, |ip| part_of(&ip, parts));
                recordings[usize::from(part)].push(frame.ts, contents.ip.map(|ip| ip.length));
            }
        });
        if packets > MOST_PACKETS {
            let message = format!("{capture}: more than {MOST_PACKETS} packets to play");
            return Err(Failure::configuration(
                message,
                "choose fewer with a filter, or cut the capture (editcap)",
            ));
        }
    }
    Ok(recordings)
}
