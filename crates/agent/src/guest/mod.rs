//! `trustbed-agent guest`: the network of a virtual machine that was started for an experiment.
//!
//! `guest netlink` passes requests to rtnetlink(7) and returns the answers, so that a guest's
//! network is configured by the same messages as that of a namespace. `guest offloads INTERFACE`
//! switches the card's offloads off. `control` transports both.

mod netlink;
mod offloads;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

const USAGE: &str = "trustbed-agent guest netlink | guest offloads INTERFACE";

/// Why it ended before the other side did.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The command line is invalid.
    #[error("{message}")]
    Usage { message: String },
    /// The kernel's tables of the network.
    #[error("netlink: {source}")]
    Netlink { source: io::Error },
    /// A network card that keeps its offloads.
    #[error("{interface}: {what} cannot be switched off: {source}")]
    Offload { interface: String, what: &'static str, source: io::Error },
}

/// Runs the verb with the arguments after `guest`.
pub(crate) fn run(words: Vec<OsString>) -> ExitCode {
    let words: Vec<String> =
        words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let ended = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["netlink"] => netlink::relay(),
        ["offloads", interface] => offloads::switch_off(interface),
        _ => Err(Error::Usage {
            message: format!("`guest {}` is nothing that it does", words.join(" ")),
        }),
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
        Error::Netlink { .. } => ("the controller must be of the same version of trustbed", 1),
    };
    // Where standard error is closed, the exit code remains.
    let _ = writeln!(io::stderr().lock(), "error: {error}\nhint: {hint}");
    ExitCode::from(code)
}
