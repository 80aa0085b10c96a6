//! `trustbed-agent guest`: what an agent does for the network of a machine that was started for an experiment.
//!
//! `guest netlink` passes requests to the kernel's rtnetlink(7) and its answers back, so that the machine's network is described by the same
//! messages as that of a host in a namespace. `guest offloads INTERFACE` has the interface leave nothing to the card. How anything is said to such
//! a machine is `control`'s business.

mod netlink;
mod offloads;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

const USAGE: &str = "trustbed-agent guest netlink | guest offloads INTERFACE";

/// Why it ended before the other side did.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The words make no sense.
    #[error("{message}")]
    Usage { message: String },
    /// The kernel's tables of the network.
    #[error("netlink: {source}")]
    Netlink { source: io::Error },
    /// A network card that keeps its offloads.
    #[error("{interface}: {what} cannot be switched off: {source}")]
    Offload { interface: String, what: &'static str, source: io::Error },
}

/// Runs the verb: the words behind `guest`.
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
        Error::Netlink { .. } => {
            ("the machine outside has to speak first, with the same version of trustbed", 1)
        }
    };
    // Whoever closed standard error sees the exit code.
    let _ = writeln!(io::stderr().lock(), "error: {error}\nhint: {hint}");
    ExitCode::from(code)
}
