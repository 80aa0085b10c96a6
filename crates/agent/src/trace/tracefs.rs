//! What tracefs says of a tracepoint: its number and where its fields are.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use super::kernel;

/// Where it usually is mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The directory of tracefs.
#[derive(Debug)]
pub(super) struct Tracefs(OwnedFd);

/// A tracepoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tracepoint {
    pub(super) number: u64,
    format: String,
}

impl Tracefs {
    /// Opens it where it is mounted, or mounts it where nobody else sees it.
    pub(super) fn open() -> io::Result<Self> {
        for place in PLACES {
            if Path::new(place).join("events").is_dir() {
                return Ok(Self(File::open(place)?.into()));
            }
        }
        kernel::mount_tracefs().map(Self)
    }

    /// A tracepoint: `sched/sched_process_fork`.
    pub(super) fn tracepoint(&self, name: &str) -> io::Result<Tracepoint> {
        let number = self.read(&format!("events/{name}/id"))?;
        let number = number.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Tracepoint { number, format: self.read(&format!("events/{name}/format"))? })
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        File::from(kernel::open_below(self.0.as_fd(), path)?).read_to_string(&mut text)?;
        Ok(text)
    }
}

impl Tracepoint {
    /// Where a field of four bytes begins.
    pub(super) fn offset(&self, field: &str) -> io::Result<i16> {
        self.format
            .lines()
            .find_map(|line| {
                let (declared, rest) = line.trim().strip_prefix("field:")?.split_once(';')?;
                let is_meant = declared.rsplit(' ').next() == Some(field);
                let offset = rest.trim().strip_prefix("offset:")?.split(';').next()?;
                is_meant.then(|| offset.parse().ok())?
            })
            .ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, format!("the tracepoint has no {field}"))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let format = "name: sched_process_fork\nID: 301\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:char parent_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            \tfield:pid_t parent_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
            \tfield:pid_t child_pid;\toffset:44;\tsize:4;\tsigned:1;\n";
        let found = Tracepoint { number: 301, format: format.to_owned() };
        assert_eq!(found.offset("child_pid").unwrap(), 44);
        assert!(found.offset("pid").is_err());
    }
}
