//! The conversation with whoever started the agent: lines of JSON on standard input and output.
//!
//! In: the configuration, then `{"do":"start"}` (with `at_ns`, a moment of the real-time clock, or at once) and `{"do":"stop"}`; in between, to
//! the emulator, `{"do":"times"}` with the moment from which on the times of its links count. Out: objects
//! that name their `event`: `ready`, `started`, `progress`, `report`, or `error` with a hint. The end of standard input, SIGINT and SIGTERM mean
//! the same as `stop`, so that nobody who started an agent can leave one behind.
//!
//! Writing waits for the reader: whatever must not wait (a loop that moves packets) runs in a thread of its own and leaves talking to the main
//! one.

use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use trustbed_units::{Ns, Span};

use crate::clock;
use crate::kernel::{self, Poll};

/// A line longer than this is not a configuration: some thousand hosts with their pipes need a few MiB.
const LONGEST_LINE: usize = 256 << 20;
/// Commands that are kept until they are asked for.
const COMMANDS_WAITING: usize = 64;

/// Why the agent cannot do what it was asked to: what, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    message: String,
    hint: String,
    code: u8,
}

impl Failure {
    /// What was asked for is wrong or impossible; exit code 2.
    pub(crate) fn configuration(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), code: 2 }
    }

    /// What was asked for is right, and the world does not let it happen; exit code 1.
    pub(crate) fn running(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), code: 1 }
    }

    /// What is wrong.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The same, and where it was.
    pub(crate) fn within(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// What the other side asks for after the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Begin: at a moment of the real-time clock, or at once.
    Start {
        /// The moment.
        at: Option<Ns>,
    },
    /// Only for verbs that wait for it: where the times of their configuration begin, by the real-time clock.
    Times {
        /// The moment.
        at: Ns,
    },
    /// End in order: report, and exit.
    Stop,
}

/// One of the lines that come in.
#[derive(Debug, serde::Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Order {
    Start { at_ns: Option<i64> },
    Times { at_ns: i64 },
    Stop {},
}

/// The longest that is slept without looking at the clock.
const LONGEST_WAIT: Span = Span::from_millis(100);

/// Whether the end was asked for; copies know the same. Its descriptor becomes readable then and stays so, for loops that wait for descriptors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop {
    bell: BorrowedFd<'static>,
}

impl Stop {
    /// Whether the end was asked for. As cheap as reading a number.
    #[inline]
    #[expect(
        clippy::unused_self,
        reason = "whoever has a `Stop` has a conversation, which listens"
    )]
    pub(crate) fn is_asked(self) -> bool {
        kernel::stop_is_asked()
    }

    /// Readable once the end was asked for.
    pub(crate) fn descriptor(self) -> BorrowedFd<'static> {
        self.bell
    }

    /// Sleeps until a moment of the monotonic clock; false when the end was asked for before.
    pub(crate) fn wait_until(self, due: Ns) -> bool {
        while !self.is_asked() {
            let left = due - clock::monotonic();
            if left.0 <= 0 {
                return true;
            }
            // The kernel counts down what is left only while nobody stops the process: the clock is looked at again and again.
            if Poll::new(&[self.bell]).wait(Some(left.min(LONGEST_WAIT))).is_err() {
                return false;
            }
        }
        false
    }

    /// Asks for the end: what a thread does that cannot go on.
    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn ask(self) {
        kernel::ask_to_stop();
    }

    /// Asks for the end when what is returned is dropped: for a thread without which nothing goes on, however it ends.
    pub(crate) fn when_dropped(self) -> AskedWhenDropped {
        AskedWhenDropped(self)
    }
}

#[cfg(test)]
impl Stop {
    /// One that nobody asks for, as long as no test of this program does.
    pub(crate) fn unasked() -> Self {
        Self { bell: kernel::stop_bell().expect("an eventfd") }
    }
}

/// See [`Stop::when_dropped`].
#[derive(Debug)]
pub(crate) struct AskedWhenDropped(Stop);

impl Drop for AskedWhenDropped {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// The conversation. In this order: [`Talk::configuration`] once, [`Talk::ready`], then [`Talk::next`] until it says stop.
#[derive(Debug)]
pub(crate) struct Talk {
    stop: Stop,
    /// Before the configuration is read.
    lines: Option<Lines>,
    /// Afterwards.
    commands: Option<Receiver<Result<Command, Failure>>>,
}

/// Runs a verb that converses, and turns its end into an exit code.
pub(crate) fn converse(verb: fn(&mut Talk) -> Result<(), Failure>) -> ExitCode {
    match Talk::open().and_then(|mut talk| verb(&mut talk)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => refuse(&failure),
    }
}

/// Says why nothing was done, or no more.
pub(crate) fn refuse(failure: &Failure) -> ExitCode {
    #[derive(Serialize)]
    struct Body<'a> {
        message: &'a str,
        hint: &'a str,
    }
    // Whoever does not read this any more sees the exit code.
    let _ = say("error", &Body { message: &failure.message, hint: &failure.hint });
    ExitCode::from(failure.code)
}

impl Talk {
    fn open() -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::running(
                format!("the agent cannot be set up: {error}"),
                "Linux 4.20 or later is needed",
            )
        };
        let bell = kernel::stop_bell().map_err(failed)?;
        kernel::stop_on_signals().map_err(failed)?;
        kernel::end_with_parent().map_err(failed)?;
        Ok(Self {
            stop: Stop { bell },
            lines: Some(Lines::open(bell).map_err(failed)?),
            commands: None,
        })
    }

    /// The handle that says whether the end was asked for.
    pub(crate) fn stop(&self) -> Stop {
        self.stop
    }

    /// Reads the configuration, the first line; afterwards commands are listened to.
    pub(crate) fn configuration<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let hint =
            "the first line of standard input is one JSON object: the configuration of the verb";
        let Some(mut lines) = self.lines.take() else {
            return Err(Failure::configuration("the configuration was read already", hint));
        };
        let line = lines.next().map_err(|error| {
            Failure::running(format!("standard input cannot be read: {error}"), hint)
        })?;
        let Some(line) = line else {
            return Err(Failure::configuration("there is no configuration on standard input", hint));
        };
        let found = serde_json::from_slice(&line)
            .map_err(|error| Failure::configuration(format!("configuration: {error}"), hint))?;
        let (tell, commands) = sync_channel(COMMANDS_WAITING);
        thread::Builder::new()
            .name("commands".to_owned())
            .spawn(move || lines.listen(&tell))
            .map_err(|error| {
                Failure::running(
                    format!("no thread for commands: {error}"),
                    "raise the limit of processes (ulimit -u)",
                )
            })?;
        self.commands = Some(commands);
        Ok(found)
    }

    /// The next command, or none within the time. Once the end was asked for, it is always [`Command::Stop`].
    pub(crate) fn next(&self, timeout: Duration) -> Result<Option<Command>, Failure> {
        let Some(commands) = &self.commands else { return Ok(Some(Command::Stop)) };
        match commands.recv_timeout(timeout) {
            Ok(found) => found.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Ok(Some(Command::Stop)),
        }
    }

    /// Waits for the command to start: the moment, if one was named. None when the end came first.
    pub(crate) fn wait_for_start(&self) -> Result<Option<Started>, Failure> {
        loop {
            match self.next(Duration::from_hours(1))? {
                Some(Command::Start { at }) => return Ok(Some(Started { at })),
                Some(Command::Stop) => return Ok(None),
                Some(Command::Times { .. }) | None => {}
            }
        }
    }

    /// Says that everything stands: interfaces are bound, sockets listen.
    pub(crate) fn ready<T: Serialize>(&self, body: &T) -> Result<(), Failure> {
        self.tell("ready", body)
    }

    /// Says that the start has come.
    pub(crate) fn started<T: Serialize>(&self, body: &T) -> Result<(), Failure> {
        self.tell("started", body)
    }

    /// Says how it goes; once a second at most.
    pub(crate) fn progress<T: Serialize>(&self, body: &T) -> Result<(), Failure> {
        self.tell("progress", body)
    }

    /// Says what came out: the last event.
    pub(crate) fn report<T: Serialize>(&self, body: &T) -> Result<(), Failure> {
        self.tell("report", body)
    }

    fn tell<T: Serialize>(&self, event: &'static str, body: &T) -> Result<(), Failure> {
        say(event, body).map_err(|error| {
            self.stop().ask();
            Failure::running(
                format!("standard output cannot be written: {error}"),
                "whoever starts the agent has to read what it says",
            )
        })
    }
}

/// When the start was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Started {
    /// A moment of the real-time clock; none is at once.
    pub(crate) at: Option<Ns>,
}

fn say<T: Serialize>(event: &'static str, body: &T) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a, T> {
        event: &'static str,
        #[serde(flatten)]
        body: &'a T,
    }
    let mut line = serde_json::to_vec(&Line { event, body })?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// The lines of standard input.
#[derive(Debug)]
struct Lines {
    /// Readable once nothing more is to be read.
    stop: Option<BorrowedFd<'static>>,
    input: File,
    read: Vec<u8>,
}

impl Lines {
    fn open(stop: BorrowedFd<'static>) -> io::Result<Self> {
        Ok(Self {
            stop: Some(stop),
            input: File::from(io::stdin().as_fd().try_clone_to_owned()?),
            read: Vec::new(),
        })
    }

    /// The next line without its end; none at the end of standard input, or when the end was asked for.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let (mut searched, mut piece) = (0, vec![0; 64 << 10]);
        loop {
            if let Some(found) = self.read[searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(searched + found + 1);
                let mut line = std::mem::replace(&mut self.read, rest);
                line.pop();
                return Ok(Some(line));
            }
            searched = self.read.len();
            if searched > LONGEST_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("a line has more than {LONGEST_LINE} bytes"),
                ));
            }
            let both: Vec<BorrowedFd<'_>> =
                std::iter::once(self.input.as_fd()).chain(self.stop).collect();
            let mut poll = Poll::new(&both);
            poll.wait(None)?;
            if poll.is_ready(1) {
                return Ok(None);
            }
            if !poll.is_ready(0) {
                continue;
            }
            match self.input.read(&mut piece) {
                // A last line without an end is one all the same.
                Ok(0) => return Ok((!self.read.is_empty()).then(|| std::mem::take(&mut self.read))),
                Ok(length) => self.read.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands on commands until there are no more; then the end is asked for.
    fn listen(mut self, tell: &SyncSender<Result<Command, Failure>>) {
        while let Ok(Some(line)) = self.next() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let command = command(&line);
            let last = !matches!(command, Ok(Command::Start { .. } | Command::Times { .. }));
            if tell.send(command).is_err() || last {
                break;
            }
        }
        kernel::ask_to_stop();
    }
}

fn command(line: &[u8]) -> Result<Command, Failure> {
    match serde_json::from_slice(line) {
        Ok(Order::Start { at_ns }) => Ok(Command::Start { at: at_ns.map(Ns) }),
        Ok(Order::Times { at_ns }) => Ok(Command::Times { at: Ns(at_ns) }),
        Ok(Order::Stop {}) => Ok(Command::Stop),
        Err(error) => {
            let hint = r#"after the configuration come {"do":"start"}, with "at_ns" or without, and {"do":"stop"}"#;
            Err(Failure::configuration(format!("command: {error}"), hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::OwnedFd;

    use super::*;

    fn lines(text: &[u8]) -> Lines {
        let (read, mut write) = io::pipe().unwrap();
        write.write_all(text).unwrap();
        Lines { stop: None, input: File::from(OwnedFd::from(read)), read: Vec::new() }
    }

    #[test]
    fn commands_are_read_and_nothing_else_is() {
        assert_eq!(command(br#"{"do":"start"}"#), Ok(Command::Start { at: None }));
        assert_eq!(
            command(br#"{"do":"start","at_ns":17}"#),
            Ok(Command::Start { at: Some(Ns(17)) })
        );
        assert_eq!(command(br#"{"do":"times","at_ns":17}"#), Ok(Command::Times { at: Ns(17) }));
        assert_eq!(command(br#"{"do":"stop"}"#), Ok(Command::Stop));
        for wrong in [
            &br#"{"do":"begin"}"#[..],
            br#"{"do":"start","at":1}"#,
            br#"{"do":"stop","at_ns":1}"#,
            br#"{"do":"times"}"#,
            b"start",
            b"",
        ] {
            assert_eq!(command(wrong).unwrap_err().code, 2);
        }
    }

    #[test]
    fn lines_are_cut_at_their_ends_and_the_last_needs_none() {
        let mut found = lines(b"one\n\ntwo\nthree");
        let said: Vec<_> = std::iter::from_fn(|| found.next().unwrap()).collect();
        assert_eq!(said, [&b"one"[..], b"", b"two", b"three"]);
    }
}
