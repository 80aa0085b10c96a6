//! The connections that worker threads use, so that another thread can read their state and shut
//! all of them down at once.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Connections by number.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams(Mutex<Slots>);

#[derive(Debug, Default)]
struct Slots {
    streams: BTreeMap<usize, TcpStream>,
    ended: bool,
}

/// A connection that is among the open ones as long as this lives.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    all: &'a OpenStreams,
    number: usize,
}

impl OpenStreams {
    /// Adds a connection. After [`OpenStreams::end`] it is ended at once.
    pub(crate) fn add(&self, number: usize, stream: &TcpStream) -> io::Result<Entry<'_>> {
        let stream = stream.try_clone()?;
        let mut slots = self.slots();
        if slots.ended {
            let _ = stream.shutdown(Shutdown::Both);
        }
        slots.streams.insert(number, stream);
        Ok(Entry { all: self, number })
    }

    /// Shows every connection.
    pub(crate) fn each(&self, mut see: impl FnMut(usize, &TcpStream)) {
        self.slots().streams.iter().for_each(|(number, stream)| see(*number, stream));
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.slots().streams.len()
    }

    /// Ends all of them, and those that are added later: pending reads and writes return.
    pub(crate) fn end(&self) {
        let mut slots = self.slots();
        slots.ended = true;
        for stream in slots.streams.values() {
            // One that has ended already needs no end.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        // A thread that panicked leaves the map whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.all.slots().streams.remove(&self.number);
    }
}
