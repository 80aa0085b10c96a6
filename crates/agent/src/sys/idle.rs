//! Idle processors: halt, or poll.
//!
//! A halted processor has to be woken. On a virtual machine the hypervisor schedules another guest
//! meanwhile: a thread that sleeps for a millisecond wakes up milliseconds late, 100 ms at worst,
//! where the same machine runs a busy processor without a gap. On hardware the exit from a deep
//! idle state takes tens to hundreds of microseconds.
//!
//! Linux bounds that latency for a program that holds `/dev/cpu_dma_latency` open (the kernel's
//! `Documentation/power/pm_qos_interface.rst`); with a bound of zero every idle processor polls.
//! The bound holds for the whole host, ends with the program, and costs what busy processors cost:
//! power, and in a cloud CPU credits.
//!
//! Bias: while it is held, threads wake up earlier than they otherwise would. A program that
//! measures the host must not hold it.

use std::fs::{self, File};
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

const DEVICE: &str = "/dev/cpu_dma_latency";
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// What idle processors are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Idle {
    /// Poll, so that a woken thread runs at once.
    #[default]
    Poll,
    /// The host's default.
    Halt,
}

/// What idle processors do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Granted {
    idle: Idle,
    /// Why not as requested; none when they do.
    idle_refused: Option<String>,
}

/// Holds the request while it lives.
#[derive(Debug)]
pub(crate) struct IdleGranted {
    pub(crate) granted: Granted,
    _held: Option<File>,
}

impl IdleGranted {
    fn new(idle: Idle, idle_refused: Option<String>, held: Option<File>) -> Self {
        Self { granted: Granted { idle, idle_refused }, _held: held }
    }
}

/// Requests that every idle processor of this host poll, where permitted.
pub(crate) fn request(requested: Idle) -> IdleGranted {
    if requested == Idle::Halt {
        return IdleGranted::new(Idle::Halt, None, None);
    }
    match polling() {
        Ok(file) => IdleGranted::new(Idle::Poll, None, Some(file)),
        Err(reason) => IdleGranted::new(Idle::Halt, Some(reason), None),
    }
}

fn polling() -> Result<File, String> {
    // Without a driver the request has no effect: processors halt all the same.
    let driver = fs::read_to_string(DRIVER).unwrap_or_default();
    if matches!(driver.trim(), "" | "none") {
        return Err("this kernel has no cpuidle driver".to_owned());
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
    fn no_request_means_no_refusal() {
        let held = request(Idle::Halt);
        assert_eq!(held.granted, Granted { idle: Idle::Halt, idle_refused: None });
    }

    #[test]
    fn a_refusal_has_a_reason() {
        let held = request(Idle::Poll);
        assert_eq!(held.granted.idle == Idle::Poll, held.granted.idle_refused.is_none());
        if held.granted.idle == Idle::Poll {
            assert_eq!(
                fs::read(DEVICE).ok().and_then(|bytes| bytes.first_chunk().copied()),
                Some([0; 4])
            );
        }
    }
}
