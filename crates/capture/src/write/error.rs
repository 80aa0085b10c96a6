//! Why a capture cannot be written.

use std::io;
use std::path::PathBuf;

/// Why a capture cannot be written, or no further. [`WriteError::hint`] states what can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file cannot be made.
    #[error("{}: cannot be written: {source}", path.display())]
    Create {
        /// The path as given.
        path: PathBuf,
        /// What the operating system reports.
        source: io::Error,
    },
    /// More interfaces than frames have numbers for.
    #[error("{name}: the capture has more interfaces than the {most} that a file can number")]
    Interfaces {
        /// The path as given.
        name: String,
        /// How many there can be.
        most: usize,
    },
    /// Writing failed part of the way. What was kept is whole blocks, unless it went into a pipe.
    #[error(
        "{name}: writing failed after {frames_kept} frames ({bytes_kept} bytes), which are kept: \
         {source}"
    )]
    Write {
        /// The path as given, or what the stream is called.
        name: String,
        /// Frames that are in the file.
        frames_kept: u64,
        /// Bytes of the file.
        bytes_kept: u64,
        /// What the operating system reports.
        source: io::Error,
    },
}

impl WriteError {
    /// Whether the reader of the stream has closed it.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What can be done: one sentence without a full stop.
    pub fn hint(&self) -> String {
        let source = match self {
            Self::Create { source, .. } | Self::Write { source, .. } => source,
            Self::Interfaces { .. } => return "take fewer files at once".to_owned(),
        };
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => {
                "make room or write elsewhere; what was kept can be read as it is".to_owned()
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "write to a directory of your own".to_owned()
            }
            io::ErrorKind::NotFound => "the directory does not exist: make it first".to_owned(),
            io::ErrorKind::IsADirectory => "name a file, not a directory".to_owned(),
            io::ErrorKind::BrokenPipe => "the program that read this has ended".to_owned(),
            _ => "write to a local disk".to_owned(),
        }
    }
}
