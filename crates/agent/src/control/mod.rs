//! `trustbed-agent control PORT [--silence SECONDS] [--listen | --attach]`: one end of the only channel by which anything is said to a host that is another machine.
//!
//! The port is a device (the virtio serial port of a guest), or `-` for the standard streams (of a program that was started over SSH, or in a
//! container). Frames are read from it and written to it (`frame.rs` says which): commands are started, fed, heard, signalled; the clock is told
//! and set. Any number of commands run at once. When the other end is gone, or has said nothing for `--silence`, this ends; whoever started it
//! ends what is left: in a guest, the machine is switched off; elsewhere `trustbed-agent exec` around it sees to that.
//!
//! With `--listen` the port is a socket that is made here, and the loss of whoever is connected ends nothing: it may come back, by a second process
//! with `--attach` whose standard streams lead outside, and neither side has lost a byte.
//!
//! Not done here: deciding what runs. Bias: everything passes one port, so an answer can wait behind the output of a command; a reading of the
//! clock is therefore only as exact as the time between question and answer says.

mod attach;
mod child;
mod frame;
mod kept;
mod kernel;
mod lasting;
mod port;
mod vigil;
mod window;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use port::{Mode, Options};

const USAGE: &str = "trustbed-agent control PORT [--silence SECONDS] [--listen | --attach], where PORT is a device, - for the standard streams, \
                     or the name of a socket";

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
}

/// Runs the verb: the words behind `control`.
pub(crate) fn run(words: Vec<OsString>) -> ExitCode {
    match read(words).and_then(|options| serve(&options)) {
        Ok(code) => code,
        Err(error) => complain(&error),
    }
}

fn serve(options: &Options) -> Result<ExitCode, Error> {
    match options.mode {
        Mode::Device => port::run(options).map(|()| ExitCode::SUCCESS),
        Mode::Listen => lasting::run(options).map(|()| ExitCode::SUCCESS),
        Mode::Attach => attach::run(options),
    }
}

fn read(words: Vec<OsString>) -> Result<Options, Error> {
    let usage = |message: String| Error::Usage { message };
    let mut words = words.into_iter();
    let port = words.next().ok_or_else(|| usage("no port is given".to_owned()))?;
    let mut options = Options { port: port.into(), silence: None, mode: Mode::Device };
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--silence") => {
                let value =
                    words.next().ok_or_else(|| usage("--silence needs a value".to_owned()))?;
                let seconds = value
                    .to_str()
                    .and_then(|text| text.parse().ok())
                    .filter(|seconds| *seconds > 0);
                let seconds = seconds.ok_or_else(|| {
                    usage(format!("{} is no number of seconds", value.to_string_lossy()))
                })?;
                options.silence = Some(Duration::from_secs(seconds));
            }
            Some("--listen") if options.mode == Mode::Device => options.mode = Mode::Listen,
            Some("--attach") if options.mode == Mode::Device => options.mode = Mode::Attach,
            _ => return Err(usage(format!("no such option, {}", word.to_string_lossy()))),
        }
    }
    Ok(options)
}

fn complain(error: &Error) -> ExitCode {
    use io::Write;
    let (hint, code) = match error {
        Error::Usage { .. } => (USAGE, 2),
        _ => ("the machine outside has to speak first, with the same version of trustbed", 1),
    };
    // Whoever closed standard error sees the exit code.
    let _ = writeln!(io::stderr().lock(), "error: {error}\nhint: {hint}");
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_port_and_a_silence_are_read() {
        assert_eq!(
            read(words("/dev/vport0p1")).unwrap(),
            Options { port: "/dev/vport0p1".into(), silence: None, mode: Mode::Device }
        );
        let silent = Options {
            port: "-".into(),
            silence: Some(Duration::from_secs(90)),
            mode: Mode::Device,
        };
        assert_eq!(read(words("- --silence 90")).unwrap(), silent);
        let lasting = Options {
            port: "link".into(),
            silence: Some(Duration::from_secs(5)),
            mode: Mode::Listen,
        };
        assert_eq!(read(words("link --listen --silence 5")).unwrap(), lasting);
        assert_eq!(
            read(words("x/link --attach")).unwrap(),
            Options { port: "x/link".into(), silence: None, mode: Mode::Attach }
        );
    }

    #[test]
    fn nonsense_is_named() {
        for (line, part) in [
            ("", "no port"),
            ("- --silence", "value"),
            ("- --silence 0", "0"),
            ("- --silence soon", "soon"),
            ("- -x", "-x"),
            ("x --listen --attach", "--attach"),
        ] {
            let error = read(words(line)).unwrap_err().to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
