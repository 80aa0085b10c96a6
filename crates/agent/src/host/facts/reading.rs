//! Reads the kernel's files and notes why a value is unavailable.
//!
//! Files are read up to a length that no kernel file reaches. A file that is missing, unreadable or
//! malformed leaves a note and no value: unknown is never 0.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Serialize;

/// Longer than any file of the kernel that is read here.
const LONGEST: u64 = 4 << 20;
/// Processors that a list may name; the kernel itself ends at 8192.
const MOST_PROCESSORS: usize = 1 << 14;

/// A value that is unavailable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Unavailable {
    pub(super) what: String,
    pub(super) why: String,
}

/// Reads below a root, and notes what is unavailable.
#[derive(Debug)]
pub(super) struct HostReader {
    root: PathBuf,
    pub(super) unavailable: Vec<Unavailable>,
}

impl HostReader {
    /// Reads below a directory as if it were `/`.
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned(), unavailable: Vec::new() }
    }

    /// Where a path of the host is.
    pub(super) fn path_of(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The bytes of a file.
    pub(super) fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        // Opening and reading never block, whatever the file is.
        let file =
            File::options().read(true).custom_flags(libc::O_NONBLOCK).open(self.path_of(path))?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let mut found = Vec::new();
        file.take(LONGEST).read_to_end(&mut found)?;
        Ok(found)
    }

    /// The trimmed text of a file; invalid UTF-8 is replaced.
    pub(super) fn text(&self, path: &str) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?)
            .trim_matches(|letter: char| letter.is_whitespace() || letter == '\0')
            .to_owned())
    }

    /// The names in a directory, in their order; none where there is none.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path_of(path)).into_iter().flatten().flatten();
        let names: BTreeSet<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.into_iter().collect()
    }

    /// The text of a file, or a note that it cannot be known.
    pub(super) fn read(&mut self, what: &str, path: &str) -> Option<String> {
        let found = self.text(path).map_err(|error| format!("{path}: {error}"));
        self.or_note(what, found)
    }

    /// The words of a file, or a note.
    pub(super) fn words(&mut self, what: &str, path: &str) -> Option<Vec<String>> {
        self.read(what, path).map(|text| text.split_whitespace().map(str::to_owned).collect())
    }

    /// The parsed text of a file, or a note that it is missing or malformed.
    pub(super) fn parsed<T>(
        &mut self,
        what: &str,
        path: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.read(what, path)?;
        self.or_note(
            what,
            parse(&text).ok_or_else(|| format!("{path}: not as expected: {}", shortened(&text))),
        )
    }

    /// The number in a file, or a note.
    pub(super) fn number<T: FromStr>(&mut self, what: &str, path: &str) -> Option<T> {
        self.parsed(what, path, |text| text.parse().ok())
    }

    /// The list of processors in a file, or a note.
    pub(super) fn processors(&mut self, what: &str, path: &str) -> Option<Vec<usize>> {
        self.parsed(what, path, list)
    }

    /// The value, or a note with the reason.
    pub(super) fn or_note<T>(&mut self, what: &str, found: Result<T, String>) -> Option<T> {
        found.map_err(|why| self.unavailable.push(Unavailable { what: what.to_owned(), why })).ok()
    }
}

/// The beginning of a text that is shown to people.
fn shortened(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(60).collect()
}

/// A list as the kernel writes it: `0-3,8`; empty for none.
pub(super) fn list(text: &str) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse().ok()?, last.parse::<usize>().ok()?);
        if last < first || found.len() + (last - first) >= MOST_PROCESSORS {
            return None;
        }
        found.extend(first..=last);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read_and_no_others() {
        assert_eq!(list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(list(""), Some(vec![]));
        for wrong in ["one", "3-1", "0-99999999999", "1-", "-", "0-16383,16384-16390"] {
            assert_eq!(list(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_unavailable_value_leaves_a_note_with_its_reason() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("number"), " 17\n").unwrap();
        fs::write(directory.path().join("nonsense"), b"\xff\x00seventeen").unwrap();
        fs::create_dir(directory.path().join("directory")).unwrap();
        let mut reader = HostReader::below(directory.path());
        assert_eq!(reader.number::<u64>("a", "/number"), Some(17));
        assert_eq!(reader.number::<u64>("b", "/nonsense"), None);
        assert_eq!(reader.read("c", "/missing"), None);
        assert_eq!(reader.read("d", "/directory"), None);
        let noted: Vec<_> = reader.unavailable.iter().map(|note| note.what.as_str()).collect();
        assert_eq!(noted, ["b", "c", "d"]);
        assert!(
            reader.unavailable[0].why.contains("not as expected")
                && reader.unavailable[1].why.contains("No such file")
        );
        assert_eq!((reader.names("/").len(), reader.names("/missing").len()), (3, 0));
    }
}
