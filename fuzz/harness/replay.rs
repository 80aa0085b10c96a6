//! Replays the corpus of a fuzz target in a crate's tests.

/// Runs `check` on every file of a target's corpus: `fuzz/corpus/TARGET`.
#[allow(
    clippy::disallowed_methods,
    reason = "a pure crate reads no files, but its tests' inputs are files"
)]
pub(crate) fn replay(target: &str, check: fn(&[u8])) {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = crates.join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 10, "the corpus in {} is missing", directory.display());
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let outcome = std::panic::catch_unwind(|| check(&bytes));
        assert!(outcome.is_ok(), "{} fails", path.display());
    }
}
