//! `trustbed-agent guest`: what an agent does inside a machine that was started for an experiment, where nothing else of ours can reach.
//!
//! `guest control PORT` is started by the first process of the machine. It reads frames from a virtio serial port and writes frames to it
//! (`frame.rs` says which): commands are started, fed, heard, signalled; the clock is told and set. Any number of them run at once. When the
//! other end is gone, it ends, and the machine is switched off by whoever started it.
//!
//! `guest netlink` passes requests to the kernel's rtnetlink(7) and its answers back, so that the machine's network is described by the same
//! messages as that of a host in a namespace. `guest offloads INTERFACE` has the interface leave nothing to the card.
//!
//! Not done here: deciding what runs. Bias: everything passes one port, so an answer can wait behind the output of a command; a reading of the
//! clock is therefore only as exact as the time between question and answer says.

mod child;
mod control;
mod frame;
mod kernel;
mod netlink;
mod window;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "trustbed-agent guest control PORT | guest netlink | guest offloads INTERFACE";

/// Why it ended before the other side did.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The words make no sense.
    #[error("{message}")]
    Usage { message: String },
    /// The port to the machine outside.
    #[error("{path}: {source}")]
    Port { path: PathBuf, source: io::Error },
    /// What came in is none of our frames.
    #[error("a frame of kind {kind} and {length} bytes is impossible")]
    Frame { kind: u8, length: usize },
    /// What came in as a frame does not hold what its kind says.
    #[error("a frame of kind {kind}: {source}")]
    Content { kind: &'static str, source: serde_json::Error },
    /// The kernel's tables of the network.
    #[error("netlink: {source}")]
    Netlink { source: io::Error },
    /// A network card that keeps its offloads.
    #[error("{interface}: {what} cannot be switched off: {source}")]
    Offload { interface: String, what: &'static str, source: io::Error },
}

/// Runs the verb: the words behind `guest`.
pub(crate) fn run(words: Vec<OsString>) -> ExitCode {
    let words: Vec<String> = words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let ended = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["control", port] => control::run(Path::new(port)),
        ["netlink"] => netlink::relay(),
        ["offloads", interface] => kernel::switch_offloads_off(interface),
        _ => Err(Error::Usage { message: format!("`guest {}` is nothing that it does", words.join(" ")) }),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

fn complain(error: &Error) -> ExitCode {
    use io::Write;
    let (hint, code) = match error {
        Error::Usage { .. } => (USAGE, 2),
        Error::Offload { .. } => ("another model of network card may do without", 1),
        _ => ("the machine outside has to speak first, with the same version of trustbed", 1),
    };
    // Whoever closed standard error sees the exit code.
    let _ = writeln!(io::stderr().lock(), "error: {error}\nhint: {hint}");
    ExitCode::from(code)
}
