//! The session with the controller that started the agent: lines of JSON on standard input and
//! output.
//!
//! In: the configuration, then `{"do":"start"}` (at once, or at `at_ns` of the real-time clock) and
//! `{"do":"stop"}`; for the emulator also `{"do":"times"}`, the moment at which the times of its
//! links begin. Out: objects with an `event`: `ready`, `started`, `progress`, `report`, or `error`
//! with a hint. The end of standard input, SIGINT and SIGTERM mean `stop`, so that no agent
//! outlives its controller.
//!
//! Writing waits for the reader: what must not wait (a loop that moves packets) runs in a thread of
//! its own.

mod side;
pub(crate) mod workers;

use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use trustbed_capture::give_up_capabilities;
use trustbed_units::{Ns, Span};

pub(crate) use self::side::Side;
use crate::sys::clock;
use crate::sys::kernel::{self, Event, Poll};

/// A line longer than this is not a configuration: some thousand hosts with their pipes need a few
/// MiB.
const LONGEST_LINE: usize = 256 << 20;
/// Commands that wait to be read.
const COMMANDS_WAITING: usize = 64;

/// Why the agent failed: what and where, and a hint how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    message: String,
    hint: String,
    code: u8,
}

impl Failure {
    /// The configuration is wrong or impossible; exit code 2.
    pub(crate) fn configuration(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), code: 2 }
    }

    /// The configuration is right, and the host or network refuses; exit code 1.
    pub(crate) fn running(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), code: 1 }
    }

    /// What failed.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The same, with its location.
    pub(crate) fn within(self, location: &str) -> Self {
        Self { message: format!("{location}: {}", self.message), ..self }
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// A command of the controller, after the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Begin: at a moment of the real-time clock, or at once.
    Start {
        /// The moment.
        at: Option<Ns>,
    },
    /// Only for verbs that wait for it: where the times of their configuration begin, by the
    /// real-time clock.
    Times {
        /// The moment.
        at: Ns,
    },
    /// Report, and exit.
    Stop,
}

/// A command as a line of JSON.
#[derive(Debug, serde::Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Order {
    Start { at_ns: Option<i64> },
    Times { at_ns: i64 },
    Stop {},
}

/// A longer wait needs a timer, or stopping the process (SIGSTOP) prolongs it.
const LONGEST_POLL: Span = Span::from_millis(100);

/// Ends the wait of the session's own thread: a command arrived, or a worker ended.
static WAKE: OnceLock<Arc<Event>> = OnceLock::new();

/// That event, opened once.
pub(crate) fn wake_event() -> Result<Arc<Event>, Failure> {
    if let Some(event) = WAKE.get() {
        return Ok(Arc::clone(event));
    }
    let event = Event::new().map_err(|error| {
        Failure::running(
            format!("no event to wait for: {error}"),
            "raise the limit of open files (ulimit -n)",
        )
    })?;
    Ok(Arc::clone(WAKE.get_or_init(|| Arc::new(event))))
}

/// The stop event of the session; copies are of the same one. Its descriptor becomes readable when
/// stop is requested, and stays so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop {
    event: BorrowedFd<'static>,
}

impl Stop {
    /// Whether stop was requested. As cheap as reading a number.
    #[inline]
    #[expect(
        clippy::unused_self,
        reason = "a `Stop` exists in a session only, which has the stop event"
    )]
    pub(crate) fn is_requested(self) -> bool {
        kernel::stop_is_requested()
    }

    /// Readable once stop was requested.
    pub(crate) fn descriptor(self) -> BorrowedFd<'static> {
        self.event
    }

    /// Sleeps until a moment of the monotonic clock; false when stop is requested before.
    pub(crate) fn wait_until(self, due: Ns) -> bool {
        while !self.is_requested() {
            if clock::monotonic() >= due {
                return true;
            }
            if self.wait(&[self.event], due).is_err() {
                return false;
            }
        }
        false
    }

    /// Sleeps until an event is signalled, stop is requested or a moment has come.
    pub(crate) fn wait_for(self, event: &Event, due: Ns) -> io::Result<()> {
        self.wait(&[self.event, event.descriptor()], due)
    }

    #[expect(clippy::unused_self, reason = "as above")]
    fn wait(self, descriptors: &[BorrowedFd<'_>], due: Ns) -> io::Result<()> {
        let left = due - clock::monotonic();
        if left <= LONGEST_POLL {
            return Poll::new(descriptors).wait(Some(left)).map(|_| ());
        }
        let timer = kernel::timer(due)?;
        Poll::new(&[descriptors, &[timer.as_fd()]].concat()).wait(None).map(|_| ())
    }

    /// Requests stop: for a thread that cannot go on.
    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn request(self) {
        kernel::request_stop();
    }

    /// Requests stop when the result is dropped: for a thread whose end, of whatever kind, ends the
    /// verb.
    pub(crate) fn when_dropped(self) -> RequestWhenDropped {
        RequestWhenDropped(self)
    }
}

#[cfg(test)]
impl Stop {
    /// A stop event that no test signals.
    pub(crate) fn never() -> Self {
        Self { event: kernel::stop_event().expect("an eventfd") }
    }
}

/// See [`Stop::when_dropped`].
#[derive(Debug)]
pub(crate) struct RequestWhenDropped(Stop);

impl Drop for RequestWhenDropped {
    fn drop(&mut self) {
        self.0.request();
    }
}

/// The session. In this order: [`Session::configuration`] once, [`Session::ready`], then
/// [`Session::next`] until it returns stop.
#[derive(Debug)]
pub(crate) struct Session {
    stop: Stop,
    /// Before the configuration is read.
    lines: Option<Lines>,
    /// Afterwards.
    commands: Option<Receiver<Result<Command, Failure>>>,
}

/// Runs a verb with a session, and turns its result into an exit code.
pub(crate) fn run(verb: fn(&mut Session) -> Result<(), Failure>) -> ExitCode {
    match Session::open().and_then(|mut session| verb(&mut session)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report_failure(&failure),
    }
}

/// Reports a failure.
pub(crate) fn report_failure(failure: &Failure) -> ExitCode {
    #[derive(Serialize)]
    struct Body<'a> {
        message: &'a str,
        hint: &'a str,
    }
    // A controller that no longer reads this sees the exit code.
    let _ = write_event("error", &Body { message: &failure.message, hint: &failure.hint });
    ExitCode::from(failure.code)
}

impl Session {
    fn open() -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::running(
                format!("the agent cannot be set up: {error}"),
                "Linux 4.20 or later is needed",
            )
        };
        let event = kernel::stop_event().map_err(failed)?;
        kernel::stop_on_signals().map_err(failed)?;
        kernel::end_with_parent().map_err(failed)?;
        Ok(Self {
            stop: Stop { event },
            lines: Some(Lines::open(event).map_err(failed)?),
            commands: None,
        })
    }

    /// The stop event.
    pub(crate) fn stop(&self) -> Stop {
        self.stop
    }

    /// Reads the configuration, the first line; afterwards a thread reads commands.
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
            return Err(Failure::configuration(
                "there is no configuration on standard input",
                hint,
            ));
        };
        let found = serde_json::from_slice(&line)
            .map_err(|error| Failure::configuration(format!("configuration: {error}"), hint))?;
        let wake = wake_event()?;
        let (sender, commands) = sync_channel(COMMANDS_WAITING);
        let begun = Arc::new(Barrier::new(2));
        let harmless = Arc::clone(&begun);
        thread::Builder::new()
            .name("commands".to_owned())
            .spawn(move || {
                // It reads, and needs none, whatever the verb still needs.
                let _ = give_up_capabilities();
                harmless.wait();
                lines.listen(&sender, &wake);
            })
            .map_err(|error| {
                Failure::running(
                    format!("no thread for commands: {error}"),
                    "raise the limit of processes (ulimit -u)",
                )
            })?;
        begun.wait();
        self.commands = Some(commands);
        Ok(found)
    }

    /// The next command, or none within the time. Once stop was requested, it is always
    /// [`Command::Stop`].
    pub(crate) fn next(&self, timeout: Duration) -> Result<Option<Command>, Failure> {
        let Some(commands) = &self.commands else { return Ok(Some(Command::Stop)) };
        match commands.recv_timeout(timeout) {
            Ok(found) => found.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Ok(Some(Command::Stop)),
        }
    }

    /// Waits for the start command and its moment. None when stop comes first.
    pub(crate) fn wait_for_start(&self) -> Result<Option<Started>, Failure> {
        loop {
            match self.next(Duration::from_hours(1))? {
                Some(Command::Start { at }) => return Ok(Some(Started { at })),
                Some(Command::Stop) => return Ok(None),
                Some(Command::Times { .. }) | None => {}
            }
        }
    }

    /// Reports that the verb is ready: interfaces are bound, sockets listen.
    pub(crate) fn ready<T: Serialize>(&self, body: &T) -> Result<(), Failure> {
        self.emit("ready", body)
    }

    /// Confirms the start.
    pub(crate) fn started<T: Serialize>(&self, body: &T) -> Result<(), Failure> {
        self.emit("started", body)
    }

    /// Reports progress, at most once a second.
    pub(crate) fn progress<T: Serialize>(&self, body: &T) -> Result<(), Failure> {
        self.emit("progress", body)
    }

    /// Reports the results: the last event.
    pub(crate) fn report<T: Serialize>(&self, body: &T) -> Result<(), Failure> {
        self.emit("report", body)
    }

    fn emit<T: Serialize>(&self, event: &'static str, body: &T) -> Result<(), Failure> {
        write_event(event, body).map_err(|error| {
            self.stop().request();
            Failure::running(
                format!("standard output cannot be written: {error}"),
                "the controller must read the agent's standard output",
            )
        })
    }
}

/// The requested start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Started {
    /// A moment of the real-time clock; none is at once.
    pub(crate) at: Option<Ns>,
}

fn write_event<T: Serialize>(event: &'static str, body: &T) -> io::Result<()> {
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
    /// The stop event.
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

    /// The next line without its end; none at the end of standard input, or when stop was
    /// requested.
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
                // A last line needs no newline.
                Ok(0) => return Ok((!self.read.is_empty()).then(|| std::mem::take(&mut self.read))),
                Ok(length) => self.read.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Passes commands on until there are no more; then requests stop.
    fn listen(mut self, commands: &SyncSender<Result<Command, Failure>>, wake: &Event) {
        while let Ok(Some(line)) = self.next() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let command = command(&line);
            let last = !matches!(command, Ok(Command::Start { .. } | Command::Times { .. }));
            let is_gone = commands.send(command).is_err();
            wake.signal();
            if is_gone || last {
                break;
            }
        }
        kernel::request_stop();
    }
}

fn command(line: &[u8]) -> Result<Command, Failure> {
    match serde_json::from_slice(line) {
        Ok(Order::Start { at_ns }) => Ok(Command::Start { at: at_ns.map(Ns) }),
        Ok(Order::Times { at_ns }) => Ok(Command::Times { at: Ns(at_ns) }),
        Ok(Order::Stop {}) => Ok(Command::Stop),
        Err(error) => {
            let hint = "after the configuration, send {\"do\":\"start\"} (optionally with at_ns) \
                and {\"do\":\"stop\"}";
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
    fn only_commands_are_accepted() {
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
    fn lines_end_at_newlines_and_the_last_needs_none() {
        let mut found = lines(b"one\n\ntwo\nthree");
        let found_lines: Vec<_> = std::iter::from_fn(|| found.next().unwrap()).collect();
        assert_eq!(found_lines, [&b"one"[..], b"", b"two", b"three"]);
    }
}
