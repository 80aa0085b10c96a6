//! Hands the terminal to the command and takes it back, as a shell does for its jobs
//! (tcsetpgrp(3)).
//!
//! Keys like Ctrl-C signal the foreground group. While that is the command's, they reach the
//! command alone.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::process::{Pid, getpgrp, getsid};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

/// The terminal that controls us, held by our group when we began.
#[derive(Debug)]
pub(super) struct Terminal {
    file: File,
    own: Pid,
    modes: Option<Termios>,
    /// Whether a shell that stopped us has left us in the background since (`bg`): then the
    /// terminal is the shell's, which does not take it again before its next job.
    background: bool,
}

impl Terminal {
    /// None without a terminal, or when it is not ours to give away (started in the background).
    pub(super) fn open() -> Option<Self> {
        let file = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let own = getpgrp();
        if tcgetpgrp(&file).ok()? != own {
            return None;
        }
        let modes = tcgetattr(&file).ok();
        Some(Self { file, own, modes, background: false })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Whether a parent waits for us that could wake us again. None does when our group began the
    /// session.
    pub(super) fn somebody_waits(&self) -> bool {
        getsid(None).is_ok_and(|session| session != self.own)
    }

    /// We hold the terminal again, unless we are in the background; with the modes it had, if the
    /// command cannot have seen to that itself.
    ///
    /// SIGTTOU is blocked in this process, or this would stop it.
    pub(super) fn take_back(&self, with_modes: bool) {
        if self.background {
            return;
        }
        // A terminal that was closed meanwhile needs nothing any more.
        let _ = tcsetpgrp(&self.file, self.own);
        if let (true, Some(modes)) = (with_modes, &self.modes) {
            let _ = tcsetattr(&self.file, OptionalActions::Drain, modes);
        }
    }

    /// We were woken: the command gets the terminal if that was into the foreground.
    pub(super) fn hand_over_again(&mut self, group: Pid) {
        if tcgetpgrp(&self.file).is_ok_and(|holder| holder == self.own) {
            self.background = false;
            let _ = tcsetpgrp(&self.file, group);
        }
    }

    /// We were woken after a stop.
    pub(super) fn after_stop(&mut self, group: Pid) {
        self.background = true;
        self.hand_over_again(group);
    }
}
