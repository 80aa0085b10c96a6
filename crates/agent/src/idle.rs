//! What processors do while nobody wants them: halt, or poll.
//!
//! A processor that halts has to be woken. On a virtual machine that is the hypervisor's business: the processor was given to others
//! meanwhile, and comes back when it comes back. What sleeps for a millisecond then wakes up milliseconds late, a tenth of a second at the
//! worst, where the same machine keeps a busy processor running without a gap. On hardware it is the way out of a deep sleep, tens to
//! hundreds of microseconds.
//!
//! Linux lets a program ask for a bound of that time as long as it holds `/dev/cpu_dma_latency` open (see the kernel's
//! `Documentation/power/pm_qos_interface.rst`); with a bound of zero every idle processor polls. It counts for the whole machine, ends with the
//! program, and costs what busy processors cost: power, and elsewhere credits.
//!
//! Bias: what waits while this is held wakes up earlier than on this machine by itself. Who measures the machine must not hold it.

use std::fs::{self, File};
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

const DEVICE: &str = "/dev/cpu_dma_latency";
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// What idle processors are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Idle {
    /// Wait busily, so that whatever wakes up runs at once.
    #[default]
    Poll,
    /// What the machine does by itself.
    Halt,
}

/// What idle processors do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Granted {
    idle: Idle,
    /// Why not as asked; none when they do.
    idle_refused: Option<String>,
}

/// Holds what was granted for as long as it lives.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) granted: Granted,
    _held: Option<File>,
}

impl Kept {
    fn new(idle: Idle, idle_refused: Option<String>, held: Option<File>) -> Self {
        Self { granted: Granted { idle, idle_refused }, _held: held }
    }
}

/// Has every idle processor of this machine poll, if that is asked and permitted.
pub(crate) fn keep(asked: Idle) -> Kept {
    if asked == Idle::Halt {
        return Kept::new(Idle::Halt, None, None);
    }
    match polling() {
        Ok(file) => Kept::new(Idle::Poll, None, Some(file)),
        Err(reason) => Kept::new(Idle::Halt, Some(reason), None),
    }
}

fn polling() -> Result<File, String> {
    // Without a driver nobody asks what was asked for: processors halt all the same.
    let driver = fs::read_to_string(DRIVER).unwrap_or_default();
    if matches!(driver.trim(), "" | "none") {
        return Err(
            "this kernel has no driver for idle processors (cpuidle) that could be told".to_owned()
        );
    }
    bounded().map_err(|error| format!("{DEVICE} needs root, and a host that shows it: {error}"))
}

fn bounded() -> io::Result<File> {
    let mut file = File::options().write(true).open(DEVICE)?;
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_is_not_refused() {
        let kept = keep(Idle::Halt);
        assert_eq!(kept.granted, Granted { idle: Idle::Halt, idle_refused: None });
    }

    #[test]
    fn a_refusal_has_a_reason() {
        let kept = keep(Idle::Poll);
        assert_eq!(kept.granted.idle == Idle::Poll, kept.granted.idle_refused.is_none());
        if kept.granted.idle == Idle::Poll {
            assert_eq!(
                fs::read(DEVICE).ok().and_then(|bytes| bytes.first_chunk().copied()),
                Some([0; 4])
            );
        }
    }
}
