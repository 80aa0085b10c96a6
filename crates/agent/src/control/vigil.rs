//! The end of a host's side when the machine outside has been silent for too long: a cut network closes nothing, and whatever was started here
//! would run on for as long as TCP hopes.
//!
//! Bias: what comes in is read behind what was asked before, so a machine outside that does not take our answers for so long counts as silent.

use std::io::{self, Write};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Exit code after a silence.
const SILENT: i32 = 4;

/// When something was heard last.
#[derive(Debug, Clone)]
pub(super) struct Vigil {
    last: Arc<Mutex<Instant>>,
}

impl Vigil {
    /// Begins to wait. This process ends when nothing has been heard for so long, even if another thread waits to be rid of what it says.
    pub(super) fn begin(silence: Duration) -> io::Result<Self> {
        let vigil = Self { last: Arc::new(Mutex::new(Instant::now())) };
        let watched = vigil.clone();
        thread::Builder::new().name("vigil".to_owned()).spawn(move || {
            while let Some(left) = watched.left(silence) {
                thread::sleep(left);
            }
            // Whoever closed standard error sees the exit code.
            let _ = writeln!(
                io::stderr().lock(),
                "error: the machine outside has been silent for {} s",
                silence.as_secs()
            );
            process::exit(SILENT);
        })?;
        Ok(vigil)
    }

    /// The machine outside is there.
    pub(super) fn heard(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long it may still be silent; none when it has been for too long.
    fn left(&self, silence: Duration) -> Option<Duration> {
        silence
            .checked_sub(self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed())
            .filter(|left| !left.is_zero())
    }
}
