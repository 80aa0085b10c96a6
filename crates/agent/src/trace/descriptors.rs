//! Which descriptor a call is about, and what it stands for.
//!
//! Calls that open one say what it is; what was open before, or came of a call that says it in
//! memory (`pipe2`), is looked up in /proc when it is used first. Bias: rows are read up to ten
//! milliseconds after the call, so a descriptor that was closed meanwhile, and given again, can be
//! taken for its successor.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use serde::Serialize;

use super::calls;

/// Descriptors that are remembered at a time.
const MOST: usize = 1 << 16;
/// The error of a descriptor that is not open (EBADF).
const NOT_OPEN: i64 = -9;

/// What a descriptor stands for; its place in [`KINDS`] is its code in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(super) enum Kind {
    File,
    Device,
    Socket,
    Pipe,
    Epoll,
    Event,
    Timer,
    Signals,
    Inotify,
    Other,
}

/// The words of kinds, by code.
pub(super) const KINDS: [&str; 10] =
    ["file", "device", "socket", "pipe", "epoll", "event", "timer", "signals", "inotify", "other"];

/// What a call does with descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Nothing,
    /// Its first argument is one.
    About,
    /// Its result is one, of a kind that the call says.
    Opens(Kind),
    /// Its result is one, of a kind that /proc says.
    OpensPath,
    /// Its first argument is one, and its result another of the same kind.
    Duplicates,
    /// Its first argument is a socket that listens, and its result one of a connection.
    Accepts,
    Closes,
    /// It opens or closes some that it does not name.
    Changes,
}

fn role(name: &str) -> Role {
    match name {
        "accept" | "accept4" => Role::Accepts,
        "open" | "openat" | "openat2" | "creat" | "open_by_handle_at" => Role::OpensPath,
        "socket" => Role::Opens(Kind::Socket),
        "memfd_create" => Role::Opens(Kind::File),
        "epoll_create" | "epoll_create1" => Role::Opens(Kind::Epoll),
        "eventfd" | "eventfd2" => Role::Opens(Kind::Event),
        "timerfd_create" => Role::Opens(Kind::Timer),
        "signalfd" | "signalfd4" => Role::Opens(Kind::Signals),
        "inotify_init" | "inotify_init1" => Role::Opens(Kind::Inotify),
        "pidfd_open" | "perf_event_open" | "userfaultfd" | "io_uring_setup" | "fanotify_init" => {
            Role::Opens(Kind::Other)
        }
        "dup" | "dup2" | "dup3" => Role::Duplicates,
        "close" => Role::Closes,
        "pipe" | "pipe2" | "socketpair" | "close_range" | "execve" | "execveat" => Role::Changes,
        "read" | "readv" | "pread64" | "preadv" | "preadv2" | "recvfrom" | "recvmsg"
        | "recvmmsg" | "write" | "writev" | "pwrite64" | "pwritev" | "pwritev2" | "sendto"
        | "sendmsg" | "sendmmsg" | "sendfile" | "splice" | "vmsplice" | "tee"
        | "copy_file_range" | "lseek" | "ioctl" | "fcntl" | "fsync" | "fdatasync" | "ftruncate"
        | "flock" | "fallocate" | "fadvise64" | "readahead" | "sync_file_range" | "syncfs"
        | "getdents" | "getdents64" | "fstat" | "fstatfs" | "fchmod" | "fchown" | "fchdir"
        | "connect" | "bind" | "listen" | "shutdown" | "getsockname" | "getpeername"
        | "setsockopt" | "getsockopt" | "epoll_ctl" | "epoll_wait" | "epoll_pwait"
        | "epoll_pwait2" | "timerfd_settime" | "timerfd_gettime" | "inotify_add_watch"
        | "inotify_rm_watch" | "io_uring_enter" | "io_uring_register" => Role::About,
        _ => Role::Nothing,
    }
}

/// Calls about descriptors of a kind, and what they moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Used {
    pub(super) calls: u64,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
}

/// The descriptors of processes, as far as their calls tell.
#[derive(Debug)]
pub(super) struct Descriptors {
    roles: Vec<Role>,
    reads: Vec<bool>,
    writes: Vec<bool>,
    known: HashMap<(u32, i32), Kind>,
    used: BTreeMap<Kind, Used>,
    look: fn(u32, i32) -> Option<Kind>,
}

impl Descriptors {
    pub(super) fn new() -> Self {
        let names = calls::names();
        let of = |is_meant: fn(&str) -> bool| {
            names.iter().map(|name| is_meant(name) && calls::counts_bytes(name)).collect()
        };
        Self {
            roles: names.iter().map(|name| role(name)).collect(),
            reads: of(calls::is_read),
            writes: of(calls::is_write),
            known: HashMap::new(),
            used: BTreeMap::new(),
            look: in_proc,
        }
    }

    /// The descriptor that a call is about, and its kind. `code` is that of the call in rows,
    /// `first` its first argument.
    pub(super) fn of(
        &mut self,
        process: u32,
        code: u16,
        first: i32,
        result: Option<i64>,
    ) -> Option<(i32, Kind)> {
        let role = self.roles[usize::from(code)];
        let opened = result.and_then(|result| i32::try_from(result).ok()).filter(|one| *one >= 0);
        match role {
            Role::Nothing => return None,
            Role::Changes => {
                self.known.retain(|(of, _), _| *of != process);
                return None;
            }
            Role::Opens(kind) => self.open(process, opened, kind),
            Role::OpensPath => {
                if let Some(one) = opened {
                    let kind = (self.look)(process, one).unwrap_or(Kind::File);
                    self.open(process, opened, kind);
                }
            }
            Role::Accepts => self.open(process, opened, Kind::Socket),
            Role::Duplicates => {
                if let Some(kind) = self.kind(process, first) {
                    self.open(process, opened, kind);
                }
            }
            Role::About | Role::Closes => {}
        }
        if matches!(role, Role::Opens(_) | Role::OpensPath) || first < 0 {
            return None;
        }
        if result == Some(NOT_OPEN) {
            self.known.remove(&(process, first));
            return None;
        }
        let kind = self.kind(process, first);
        if role == Role::Closes {
            self.known.remove(&(process, first));
        }
        let kind = kind?;
        self.count(kind, usize::from(code), result);
        Some((first, kind))
    }

    fn open(&mut self, process: u32, descriptor: Option<i32>, kind: Kind) {
        if let Some(descriptor) = descriptor {
            if self.known.len() >= MOST {
                self.known.clear();
            }
            self.known.insert((process, descriptor), kind);
        }
    }

    fn kind(&mut self, process: u32, descriptor: i32) -> Option<Kind> {
        if let Some(known) = self.known.get(&(process, descriptor)) {
            return Some(*known);
        }
        let found = (self.look)(process, descriptor);
        if let Some(kind) = found {
            self.open(process, Some(descriptor), kind);
        }
        found
    }

    fn count(&mut self, kind: Kind, code: usize, result: Option<i64>) {
        let used = self.used.entry(kind).or_default();
        let bytes = result.and_then(|result| u64::try_from(result).ok()).unwrap_or(0);
        used.calls += 1;
        used.read_bytes += if self.reads[code] { bytes } else { 0 };
        used.written_bytes += if self.writes[code] { bytes } else { 0 };
    }

    /// What was done with descriptors of each kind.
    pub(super) fn used(&self) -> BTreeMap<&'static str, Used> {
        self.used.iter().map(|(kind, used)| (KINDS[*kind as usize], *used)).collect()
    }
}

/// What a descriptor of a process is now.
fn in_proc(process: u32, descriptor: i32) -> Option<Kind> {
    let target = fs::read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?;
    target.to_str().map_or(Some(Kind::File), |target| Some(kind_of(target)))
}

/// What a link in /proc/PID/fd stands for (proc(5)).
fn kind_of(target: &str) -> Kind {
    if target.starts_with('/') {
        let is_device = target.starts_with("/dev/") && !target.starts_with("/dev/shm/");
        return if is_device { Kind::Device } else { Kind::File };
    }
    match target.split([':', '[']).next().unwrap_or("") {
        "socket" => Kind::Socket,
        "pipe" => Kind::Pipe,
        "anon_inode" => match target.trim_start_matches("anon_inode:").trim_matches(['[', ']']) {
            "eventpoll" => Kind::Epoll,
            "eventfd" => Kind::Event,
            "timerfd" => Kind::Timer,
            "signalfd" => Kind::Signals,
            "inotify" | "/inotify" => Kind::Inotify,
            _ => Kind::Other,
        },
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(number: i64) -> u16 {
        calls::code(u32::try_from(number).unwrap())
    }

    fn nothing_known() -> Descriptors {
        Descriptors { look: |_, _| None, ..Descriptors::new() }
    }

    #[test]
    fn calls_that_open_say_what_later_calls_are_about() {
        let mut known = nothing_known();
        assert_eq!(known.of(1, code(libc::SYS_socket), 2, Some(3)), None);
        let accepted = known.of(1, code(libc::SYS_accept4), 3, Some(7));
        assert_eq!(accepted, Some((3, Kind::Socket)));
        assert_eq!(known.of(1, code(libc::SYS_recvfrom), 7, Some(80)), Some((7, Kind::Socket)));
        assert_eq!(known.of(1, code(libc::SYS_openat), -100, Some(8)), None);
        assert_eq!(known.of(1, code(libc::SYS_pread64), 8, Some(500)), Some((8, Kind::File)));
        assert_eq!(known.of(1, code(libc::SYS_writev), 7, Some(600)), Some((7, Kind::Socket)));
        assert_eq!(known.of(1, code(libc::SYS_dup), 8, Some(9)), Some((8, Kind::File)));
        assert_eq!(known.of(1, code(libc::SYS_close), 8, Some(0)), Some((8, Kind::File)));
        assert_eq!(known.of(1, code(libc::SYS_read), 8, Some(NOT_OPEN)), None);
        assert_eq!(known.of(1, code(libc::SYS_read), 9, Some(1)), Some((9, Kind::File)));
        assert_eq!(known.of(2, code(libc::SYS_read), 9, Some(1)), None, "another process");
        let used = known.used();
        assert_eq!(used["socket"], Used { calls: 3, read_bytes: 80, written_bytes: 600 });
        assert_eq!(used["file"], Used { calls: 4, read_bytes: 501, written_bytes: 0 });
    }

    #[test]
    fn what_a_call_says_in_memory_is_looked_up_again() {
        let mut known = nothing_known();
        known.of(1, code(libc::SYS_socket), 2, Some(3));
        assert_eq!(known.of(1, code(libc::SYS_pipe2), 0, Some(0)), None);
        known.look = |_, _| Some(Kind::Pipe);
        assert_eq!(known.of(1, code(libc::SYS_read), 3, Some(1)), Some((3, Kind::Pipe)));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut known = nothing_known();
        for process in 0..u32::try_from(MOST).unwrap() + 10 {
            known.of(process, code(libc::SYS_socket), 2, Some(3));
        }
        assert!(known.known.len() <= MOST);
    }

    #[test]
    fn links_of_proc_say_what_they_stand_for() {
        for (target, kind) in [
            ("socket:[123]", Kind::Socket),
            ("pipe:[4]", Kind::Pipe),
            ("anon_inode:[eventpoll]", Kind::Epoll),
            ("anon_inode:inotify", Kind::Inotify),
            ("anon_inode:[io_uring]", Kind::Other),
            ("/dev/null", Kind::Device),
            ("/dev/shm/x", Kind::File),
            ("/srv/page (deleted)", Kind::File),
            ("net:[4026531840]", Kind::Other),
        ] {
            assert_eq!(kind_of(target), kind, "{target}");
        }
    }

    #[test]
    fn ones_of_this_process_are_found() {
        assert_eq!(in_proc(std::process::id(), i32::MAX), None);
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&one);
        assert_eq!(in_proc(std::process::id(), number), Some(Kind::Socket));
    }
}
