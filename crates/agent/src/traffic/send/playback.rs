//! Recordings for playback, read once for all sources that play them.

use std::path::Path;
use std::sync::Arc;

use trustbed_capture::{Input, OpenError, Reader};
use trustbed_traffic::{Description, Recording};
use trustbed_wire::{Contents, DecodeOptions, Filter};

use crate::capture::filter;
use crate::session::{Failure, Stop};

/// Frames between two readings whether stop was requested.
const LOOK: usize = 65_536;
/// Packets stored: 12 bytes each.
const MOST_PACKETS: usize = 50_000_000;

/// The recordings that were read, by capture and filter.
#[derive(Default)]
pub(super) struct Recordings(Vec<(String, Option<String>, Arc<Recording>)>);

impl Recordings {
    /// The recording that a model plays, if it plays one.
    pub(super) fn of(
        &mut self,
        model: &Description,
        stop: Stop,
    ) -> Result<Option<Arc<Recording>>, Failure> {
        let Description::Playback(playback) = model else { return Ok(None) };
        let same = |(capture, filter, _): &&(String, Option<String>, Arc<Recording>)| {
            (capture, filter) == (&playback.capture, &playback.filter)
        };
        if let Some((.., recording)) = self.0.iter().find(same) {
            return Ok(Some(Arc::clone(recording)));
        }
        let filter = playback.filter.as_deref().map(filter::parse).transpose()?;
        let recording = Arc::new(read(&playback.capture, filter.as_ref(), stop)?);
        self.0.push((playback.capture.clone(), playback.filter.clone(), Arc::clone(&recording)));
        Ok(Some(recording))
    }
}

fn read(capture: &str, filter: Option<&Filter>, stop: Stop) -> Result<Recording, Failure> {
    let unreadable = |error: OpenError| Failure::configuration(error.to_string(), error.hint());
    let input = Input::Path(Path::new(capture).to_owned());
    let mut reader = Reader::open(&[input], DecodeOptions::default()).map_err(unreadable)?;
    let mut recording = Recording::default();
    let mut more = true;
    while more && !stop.is_requested() {
        more = reader.frames(LOOK, |frame| {
            let contents =
                frame.record().map(|record| Contents::of(&record, false)).unwrap_or_default();
            if filter.is_none_or(|filter| filter.matches(&contents)) {
                recording.push(frame.ts, contents.ip.map(|ip| ip.length));
            }
        });
        if recording.packets() > MOST_PACKETS {
            let message = format!("{capture}: more than {MOST_PACKETS} packets to play");
            return Err(Failure::configuration(
                message,
                "choose fewer with a filter, or cut the capture (editcap)",
            ));
        }
    }
    Ok(recording)
}
