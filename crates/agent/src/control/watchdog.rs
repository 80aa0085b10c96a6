//! Ends the host's side when the controller is silent for too long: a cut network closes nothing,
//! and commands would run on until TCP gives up.
//!
//! Bias: frames are read after earlier ones are executed, so a controller that does not take our
//! answers for so long counts as silent.

use std::io::{self, Write};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Exit code after a silence.
const SILENT: i32 = 4;

/// When the last frame arrived.
#[derive(Debug, Clone)]
pub(super) struct Watchdog {
    last: Arc<Mutex<Instant>>,
}

impl Watchdog {
    /// Starts the watchdog. The process ends after so long a silence, even if another thread blocks
    /// in a write.
    pub(super) fn begin(silence: Duration) -> io::Result<Self> {
        let watchdog = Self { last: Arc::new(Mutex::new(Instant::now())) };
        let watched = watchdog.clone();
        thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
            while let Some(left) = watched.left(silence) {
                thread::sleep(left);
            }
            // Where standard error is closed, the exit code remains.
            let _ = writeln!(
                io::stderr().lock(),
                "error: the controller has been silent for {} s",
                silence.as_secs()
            );
            process::exit(SILENT);
        })?;
        Ok(watchdog)
    }

    /// The controller is there.
    pub(super) fn reset(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long it may still be silent; none when it has been for too long.
    fn left(&self, silence: Duration) -> Option<Duration> {
        silence
            .checked_sub(self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed())
            .filter(|left| !left.is_zero())
    }
}
