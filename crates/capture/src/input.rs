//! What can be opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One source of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file, a named pipe or a device.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// A file's contents that are in memory already.
    Memory {
        /// What to call it in facts and errors.
        name: String,
        /// The contents.
        bytes: Arc<[u8]>,
    },
}

impl Input {
    /// What the input is called in facts and errors: the path, `-` for standard input.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "-".to_owned(),
            Self::Memory { name, .. } => name.clone(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::Path(path) => path.clone(),
            Self::Stdin => PathBuf::from("-"),
            Self::Memory { name, .. } => PathBuf::from(name),
        }
    }
}

impl From<&Path> for Input {
    /// A path, where `-` means standard input.
    fn from(path: &Path) -> Self {
        if path.as_os_str() == "-" { Self::Stdin } else { Self::Path(path.to_owned()) }
    }
}
