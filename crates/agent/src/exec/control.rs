//! The control socket of `exec`: events out as lines of JSON; closing it orders the end.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::Pid;
use serde::Serialize;

use super::End;

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'a> {
    /// The command runs.
    Started { pid: i32 },
    /// It has ended, and so has everything that it had started.
    Ended {
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<u8>,
        #[serde(skip_serializing_if = "Option::is_none")]
        signal: Option<u8>,
        ended_descendants: usize,
    },
    /// It was not run.
    Error { message: &'a str, hint: &'a str },
}

/// Our end of the socket.
#[derive(Debug)]
pub(super) struct Control(File);

impl Control {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self(File::from(socket))
    }

    /// Readable once the other end is closed.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    pub(super) fn started(&mut self, pid: Pid) {
        self.send(&Event::Started { pid: pid.as_raw_nonzero().get() });
    }

    pub(super) fn ended(&mut self, end: End, ended_descendants: usize) {
        let (code, signal) = match end {
            End::Code(code) => (Some(code), None),
            End::Signal(number) => (None, Some(number)),
        };
        self.send(&Event::Ended { code, signal, ended_descendants });
    }

    pub(super) fn error(&mut self, message: &str, hint: &str) {
        self.send(&Event::Error { message, hint });
    }

    fn send(&mut self, event: &Event<'_>) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        // A controller that is gone needs no event.
        let _ = self.0.write_all(&line);
    }
}
