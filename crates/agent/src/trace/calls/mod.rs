//! System calls by number: their names, and the few numbers that the tracer itself must know.

mod aarch64;
mod x86_64;

/// The architecture for which this program is built; calls are numbered as it numbers them.
pub(super) const ARCHITECTURE: &str = std::env::consts::ARCH;

/// The call that marks: a number that no kernel uses, and that returns at once with `ENOSYS`.
pub(super) const MARKER: u32 = 1000;
/// Numbers from here on are one: [`OTHER`].
const NUMBERED: u16 = 512;
/// In rows: a call of a 32-bit program, whose numbers are of another architecture.
pub(super) const COMPAT: u16 = NUMBERED;
/// In rows: a call whose number is beyond all known ones.
pub(super) const OTHER: u16 = NUMBERED + 1;
/// How many codes of calls there are in rows.
pub(super) const CODES: usize = OTHER as usize + 1;

/// The code of a call in rows.
pub(super) fn code(number: u32) -> u16 {
    u16::try_from(number).ok().filter(|number| *number < NUMBERED).unwrap_or(OTHER)
}

/// The names by code.
pub(super) fn names() -> Vec<String> {
    let mut names: Vec<String> = (0..NUMBERED).map(|number| format!("call_{number}")).collect();
    let known = if ARCHITECTURE == "aarch64" { aarch64::NAMES } else { x86_64::NAMES };
    for (first, run) in known {
        for (slot, name) in names[*first..].iter_mut().zip(run.split_whitespace()) {
            name.clone_into(slot);
        }
    }
    names.extend(["compat".to_owned(), "unknown".to_owned()]);
    names
}

/// Calls that do not return; a thread's last.
pub(super) const LAST: [i64; 2] = [libc::SYS_exit, libc::SYS_exit_group];

/// Whether a call reads data: its result is a count of bytes (of `recvmmsg`, of messages).
pub(super) fn is_read(name: &str) -> bool {
    matches!(
        name,
        "read" | "readv" | "pread64" | "preadv" | "preadv2" | "recvfrom" | "recvmsg" | "recvmmsg"
    )
}

/// Whether a call writes data: its result is a count of bytes (of `sendmmsg`, of messages).
pub(super) fn is_write(name: &str) -> bool {
    matches!(
        name,
        "write"
            | "writev"
            | "pwrite64"
            | "pwritev"
            | "pwritev2"
            | "sendto"
            | "sendmsg"
            | "sendmmsg"
            | "sendfile"
    )
}

/// Whether the result of a call is a count of bytes.
pub(super) fn counts_bytes(name: &str) -> bool {
    (is_read(name) || is_write(name)) && !matches!(name, "recvmmsg" | "sendmmsg")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_names_of_their_numbers() {
        let names = names();
        for (number, name) in [
            (libc::SYS_read, "read"),
            (libc::SYS_openat, "openat"),
            (libc::SYS_execve, "execve"),
            (libc::SYS_exit_group, "exit_group"),
            (libc::SYS_recvmmsg, "recvmmsg"),
            (libc::SYS_statx, "statx"),
            (libc::SYS_io_uring_setup, "io_uring_setup"),
            (libc::SYS_clone3, "clone3"),
            (libc::SYS_futex_waitv, "futex_waitv"),
        ] {
            assert_eq!(names[usize::from(code(u32::try_from(number).unwrap()))], name);
        }
        assert_eq!((names.len(), names[usize::from(COMPAT)].as_str()), (CODES, "compat"));
        assert_eq!(names[usize::from(code(u32::MAX))], "unknown");
    }

    #[test]
    fn both_tables_name_every_call_once() {
        for table in [x86_64::NAMES, aarch64::NAMES] {
            let mut all: Vec<&str> =
                table.iter().flat_map(|(_, run)| run.split_whitespace()).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert!(count > 300 && all.len() == count);
            assert!(
                table
                    .windows(2)
                    .all(|pair| { pair[0].0 + pair[0].1.split_whitespace().count() < pair[1].0 })
            );
        }
    }
}
