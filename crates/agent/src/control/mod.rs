//! `trustbed-agent control PORT [--silence SECONDS] [--listen | --attach]`: the host's end of the
//! control channel to another machine.
//!
//! The port is a device (the virtio serial port of a guest), or `-` for the standard streams (over
//! SSH, or in a container). It carries frames (`frame.rs`) that start, feed and signal commands,
//! and read and set the clock. Any number of commands run at once. It ends when the controller is
//! gone, or silent for `--silence`; its parent ends what is left: a guest is powered off; elsewhere
//! `trustbed-agent exec` around it cleans up.
//!
//! With `--listen` the port is a socket that outlives its connections: the controller may come back
//! by a second process with `--attach`, and neither side loses a byte.
//!
//! It does not decide what runs. Bias: everything shares one port, so an answer can wait behind a
//! command's output; a clock reading is only as exact as the time between request and answer.

mod attach;
mod child;
mod frame;
mod kernel;
mod listener;
mod port;
mod replay_buffer;
mod watchdog;
mod window;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub(crate) use child::Order;
pub(crate) use frame::{Kind, packed, read as read_frame};
use port::{Mode, Options};

const USAGE: &str = "trustbed-agent control PORT [--silence SECONDS] [--listen | --attach], where \
    PORT is a device, - for the standard streams, \
                     or the name of a socket";

/// Why it ended before the other side did.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line is invalid.
    #[error("{message}")]
    Usage { message: String },
    /// The port to the controller.
    #[error("{path}: {source}")]
    Port { path: PathBuf, source: io::Error },
    /// The input is not a frame.
    #[error("a frame of kind {kind} and {length} bytes is impossible")]
    Frame { kind: u8, length: usize },
    /// A frame's content does not match its kind.
    #[error("a frame of kind {kind}: {source}")]
    Content { kind: &'static str, source: serde_json::Error },
}

/// Runs the verb with the arguments after `control`.
pub(crate) fn run(words: Vec<OsString>) -> ExitCode {
    match read(words).and_then(|options| serve(&options)) {
        Ok(code) => code,
        Err(error) => complain(&error),
    }
}

fn serve(options: &Options) -> Result<ExitCode, Error> {
    match options.mode {
        Mode::Device => port::run(options).map(|()| ExitCode::SUCCESS),
        Mode::Listen => listener::run(options).map(|()| ExitCode::SUCCESS),
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
        _ => ("the controller must be of the same version of trustbed", 1),
    };
    // Where standard error is closed, the exit code remains.
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
