//! What the connections of one side share, whatever the verb: the count of their bytes, their
//! threads, progress and stop.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use trustbed_units::Span;

use crate::session::workers::{self, Worker};
use crate::session::{Failure, Session, Stop};
use crate::sys::kernel::Poll;
use crate::sys::open_streams::OpenStreams;

/// The connections of one side.
#[derive(Debug)]
pub(super) struct Connections {
    pub(super) open: OpenStreams,
    pub(super) stop: Stop,
    payload_bytes: AtomicU64,
}

/// The body of a progress event.
#[derive(Debug, Serialize)]
pub(super) struct ProgressBody {
    payload_bytes: u64,
    open_connections: usize,
}

impl Connections {
    /// None yet.
    pub(super) fn new(stop: Stop) -> Self {
        Self { open: OpenStreams::default(), stop, payload_bytes: AtomicU64::new(0) }
    }

    /// More payload was moved.
    pub(super) fn count(&self, bytes: u64) {
        self.payload_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Sleeps; shorter when stop is requested.
    pub(super) fn pause(&self, span: Span) -> io::Result<()> {
        Poll::new(&[self.stop.descriptor()]).wait(Some(span)).map(|_| ())
    }

    pub(super) fn progress(&self) -> ProgressBody {
        ProgressBody {
            payload_bytes: self.payload_bytes.load(Ordering::Relaxed),
            open_connections: self.open.count(),
        }
    }

    /// Does each work in a thread of its own, with progress, until all have ended or stop is
    /// requested: the results in the same order.
    pub(super) fn run_all<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(
        &self,
        session: &Session,
        name: &str,
        works: impl IntoIterator<Item = W>,
        mut on_progress: impl FnMut(),
    ) -> Result<Vec<T>, Failure> {
        let spawned: Result<Vec<Worker<T>>, Failure> =
            works.into_iter().map(|work| workers::spawn(name, work)).collect();
        let supervised = spawned.map(|threads| {
            let is_done = || threads.iter().all(Worker::is_finished);
            let outcome = workers::supervise(session, is_done, || {
                on_progress();
                self.progress()
            });
            (threads, outcome)
        });
        // Threads that still wait return now, also those that were started before one could not be.
        self.stop.request();
        self.open.end();
        let (threads, outcome) = supervised?;
        let results = threads.into_iter().map(|thread| workers::join(name, thread)).collect();
        outcome.and(results)
    }
}
