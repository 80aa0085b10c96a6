//! `trustbed-agent exec`: runs a command on a host of an experiment, and ends everything it
//! started.
//!
//! It joins a network namespace, starts the command in a process group of its own with its own
//! standard streams, and stays its parent. As a child subreaper (prctl(2)) it inherits whatever the
//! command leaves behind: when the command ends, when the control socket is closed (by the kernel
//! if the runner was killed), or on SIGTERM, it sends every descendant SIGTERM, and after a grace
//! period SIGKILL. SIGINT, SIGQUIT, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to the command's
//! group.
//!
//! Events go to the control socket in lines of JSON: `started` with the `pid`, `ended` with the
//! `code` or the `signal` and the number of descendants that had to be ended, or `error`. Without a
//! control socket errors go to standard error.
//!
//! The command is not isolated in PID or user namespaces: it sees the host as it is, except for its
//! network. The price: SIGKILL to this process ends the command, but not what the command has
//! started; `trustbed testbed clean` finds that by its namespace.

mod control;
mod descendants;
mod kernel;
mod options;
mod terminal;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpgrp, getpid, kill_process, kill_process_group, wait,
};

use control::Control;
use kernel::Signals;
use options::Options;
use terminal::Terminal;

/// The grace period of descendants between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
/// How long those that were killed are waited for: one that waits for a broken disk cannot be
/// helped.
const PATIENCE: Duration = Duration::from_secs(30);
/// The interval of scans for new descendants meanwhile, unless a child ends before. The kernel
/// signals no birth of a descendant; and scanning at each death would have a parent that ignores
/// SIGTERM and starts its children again spin as fast as it can.
const LOOK: Duration = Duration::from_millis(20);

/// Exit codes of exec itself, as env(1) and timeout(1) have them.
const FAILED: u8 = 125;
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Why the command was not run.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The command line is invalid.
    #[error("{message}")]
    Usage { message: String },
    /// The namespace cannot be joined.
    #[error("the network namespace {path} cannot be joined: {}", reason(source))]
    Namespace { path: String, source: io::Error },
    /// A system call that works everywhere did not.
    #[error("{what}: {}", reason(source))]
    System { what: &'static str, source: io::Error },
    /// There is no such command, or it is no program.
    #[error("{command} cannot be run: {}", reason(source))]
    Command { command: String, source: io::Error },
}

impl Error {
    fn hint(&self) -> String {
        match self {
            Self::Usage { .. } => options::USAGE.to_owned(),
            Self::Namespace { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "joining one needs CAP_SYS_ADMIN where it was made: run as root, or in the user \
                 namespace that owns it"
                    .to_owned()
            }
            Self::Namespace { .. } => "`trustbed testbed list` and `ip netns` name those that \
                exist"
                .to_owned(),
            Self::System { .. } => "Linux 5.3 or later is needed".to_owned(),
            Self::Command { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "check the spelling, and that it is installed and on the PATH".to_owned()
            }
            Self::Command { .. } => "it must be a program that this user may execute".to_owned(),
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Command { source, .. } if source.kind() == io::ErrorKind::NotFound => NOT_FOUND,
            Self::Command { .. } => CANNOT_RUN,
            _ => FAILED,
        }
    }
}

/// The error in words, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split_once(" (os error").map_or(text.as_str(), |(words, _)| words);
    words.chars().take(1).flat_map(char::to_lowercase).chain(words.chars().skip(1)).collect()
}

fn system(what: &'static str) -> impl Fn(Errno) -> Error {
    move |error| Error::System { what, source: error.into() }
}

/// Runs the verb with the arguments after `exec`.
pub(crate) fn run(words: Vec<OsString>) -> ExitCode {
    let mut control = None;
    let ended = options::read(words).and_then(|mut options| {
        control = options.control.take().map(Control::new);
        attend(&options, control.as_mut())
    });
    let code = match ended {
        Ok(code) => code,
        Err(error) => {
            match control.as_mut() {
                Some(control) => control.error(&error.to_string(), &error.hint()),
                None => complain(&error),
            }
            error.code()
        }
    };
    ExitCode::from(code)
}

fn complain(error: &Error) {
    use io::Write;
    // Where standard error is closed, the exit code remains.
    let _ = writeln!(io::stderr().lock(), "error: {error}\nhint: {}", error.hint());
}

/// Joins, starts, waits, ends.
fn attend(options: &Options, control: Option<&mut Control>) -> Result<u8, Error> {
    if let Some(path) = &options.namespace {
        join(path)?;
    }
    if options.replace {
        return Err(command_error(&options.command[0], kernel::become_command(&options.command)));
    }
    rustix::process::set_child_subreaper(Some(getpid())).map_err(system("no child subreaper"))?;
    if control.is_none() {
        kernel::end_with_parent().map_err(system("no signal at the parent's death"))?;
    }
    let signals = Signals::open()
        .map_err(|source| Error::System { what: "signals cannot be waited for", source })?;
    let terminal = if options.foreground { Terminal::open() } else { None };
    let command = kernel::start(&options.command, terminal.as_ref())
        .map_err(|error| command_error(&options.command[0], error))?;
    Attendant { command, signals, terminal, control, main: None, ending: false }.attend()
}

fn join(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Namespace { path: path.display().to_string(), source };
    let file = File::open(path).map_err(failed)?;
    rustix::thread::move_into_link_name_space(
        file.as_fd(),
        Some(rustix::thread::LinkNameSpaceType::Network),
    )
    .map_err(|error| failed(error.into()))
}

fn command_error(command: &OsStr, source: io::Error) -> Error {
    Error::Command { command: command.to_string_lossy().into_owned(), source }
}

/// How the command itself ended.
#[derive(Debug, Clone, Copy)]
enum End {
    Code(u8),
    Signal(u8),
}

impl End {
    /// The exit code that a shell would report.
    fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(number) => 128_u8.saturating_add(number),
        }
    }
}

/// The process beside the command.
struct Attendant<'a> {
    command: Pid,
    signals: Signals,
    terminal: Option<Terminal>,
    control: Option<&'a mut Control>,
    main: Option<End>,
    ending: bool,
}

impl Attendant<'_> {
    fn attend(mut self) -> Result<u8, Error> {
        if let Some(control) = self.control.as_deref_mut() {
            control.started(self.command);
        }
        let waited = self.wait();
        // After any failure of the wait, nothing is left behind.
        let ended = self.end_descendants()?;
        if let Some(terminal) = &self.terminal {
            terminal.take_back(self.main.is_none_or(|end| matches!(end, End::Signal(_))));
        }
        waited?;
        let end = self.main.unwrap_or(End::Signal(
            Signal::KILL.as_raw().unsigned_abs().try_into().unwrap_or(u8::MAX),
        ));
        if let Some(control) = self.control.as_deref_mut() {
            control.ended(end, ended);
        }
        Ok(end.code())
    }

    /// Until the command has ended, or everything is to end.
    fn wait(&mut self) -> Result<(), Error> {
        let failed = |source| Error::System { what: "waiting failed", source };
        while self.main.is_none() {
            let descriptors = self.control.as_deref().map(Control::descriptor);
            let woken = self.signals.wait(descriptors, None).map_err(failed)?;
            if woken.hung_up || woken.signals.contains(&Signal::TERM) {
                break;
            }
            for signal in woken.signals {
                if signal == Signal::CHILD {
                    self.reap()?;
                } else if signal == Signal::CONT {
                    // `fg` of a job that runs in the background.
                    if let Some(terminal) = &mut self.terminal {
                        terminal.hand_over_again(self.command);
                    }
                } else {
                    // It may have ended this very moment.
                    let _ = kill_process_group(self.command, signal);
                }
            }
        }
        Ok(())
    }

    /// Takes note of every child that has ended or stopped. False once there is none left.
    fn reap(&mut self) -> Result<bool, Error> {
        loop {
            match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((pid, status))) if pid == self.command => self.on_status(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(true),
                Err(Errno::CHILD) => return Ok(false),
                Err(error) => return Err(system("children cannot be waited for")(error)),
            }
        }
    }

    /// The command itself ended or stopped.
    fn on_status(&mut self, status: WaitStatus) {
        let small = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
        if let Some(code) = status.exit_status() {
            self.main = Some(End::Code(small(code)));
        } else if let Some(number) = status.terminating_signal() {
            self.main = Some(End::Signal(small(number)));
        } else if status.stopped() && !self.ending {
            self.stopped();
        }
    }

    /// Ctrl-Z in the command: the parent (a shell) has to notice, so we stop with it, and wake it
    /// when we are woken.
    fn stopped(&mut self) {
        let Some(terminal) = &mut self.terminal else { return };
        if terminal.somebody_waits() {
            terminal.take_back(true);
            let _ = kill_process_group(getpgrp(), Signal::STOP);
            // Here SIGCONT has arrived.
            terminal.after_stop(self.command);
        }
        let _ = kill_process_group(self.command, Signal::CONT);
    }

    /// SIGTERM, then SIGKILL to all descendants; how many there were besides the command.
    fn end_descendants(&mut self) -> Result<usize, Error> {
        self.ending = true;
        let mut requested = HashSet::new();
        let begun = Instant::now();
        while self.reap()? {
            let found = descendants::of(getpid())
                .map_err(|source| Error::System { what: "/proc cannot be read", source })?;
            for pid in found {
                // Any of them may have ended by now, which is the purpose.
                if requested.insert(pid) {
                    let _ = kill_process(pid, Signal::TERM);
                    // One that is stopped receives no signal before it is woken.
                    let _ = kill_process(pid, Signal::CONT);
                } else if begun.elapsed() >= GRACE {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            if begun.elapsed() >= PATIENCE {
                return Err(Error::System {
                    what: "a process does not end",
                    source: io::ErrorKind::TimedOut.into(),
                });
            }
            self.signals
                .wait(None, Some(LOOK))
                .map_err(|source| Error::System { what: "waiting failed", source })?;
        }
        requested.remove(&self.command);
        Ok(requested.len())
    }
}
