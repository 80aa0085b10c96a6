//! The books: what was not measured and what was wrong, bounded however broken a file is.

use trustbed_wire::Skip;

use crate::facts::{CaptureFacts, Problem, SkipCount};

/// Skips and problems of a capture.
#[derive(Debug)]
pub(crate) struct Ledger {
    skips: [SkipCount; 8],
    problems: Vec<Problem>,
    counts: [u64; Problem::CODES.len()],
}

impl Ledger {
    pub(crate) fn new() -> Self {
        let skips = Skip::ALL.map(|reason| SkipCount { reason, records: 0, first_index: None });
        Self { skips, problems: Vec::new(), counts: [0; Problem::CODES.len()] }
    }

    /// Counts a record that is not measured.
    #[inline]
    pub(crate) fn skip(&mut self, reason: Skip, index: u64) {
        let count = &mut self.skips[reason as usize];
        count.records += 1;
        count.first_index.get_or_insert(index);
    }

    /// Notes a problem, or only counts it when there are many of its code already.
    #[cold]
    pub(crate) fn problem(&mut self, file: &str, found: Found) {
        let count = Problem::CODES
            .iter()
            .zip(&mut self.counts)
            .find(|(code, _)| **code == found.code)
            .map(|(_, count)| count);
        let Some(count) = count else {
            unreachable!("a problem code that is not in the list of codes")
        };
        *count += 1;
        if *count <= CaptureFacts::PROBLEMS_KEPT as u64 {
            let Found { code, offset, record, detail } = found;
            self.problems.push(Problem { code, file: file.to_owned(), offset, record, detail });
        }
    }

    pub(crate) fn skips(&self) -> [SkipCount; 8] {
        self.skips
    }

    pub(crate) fn problems(&self) -> Vec<Problem> {
        self.problems.clone()
    }

    pub(crate) fn problems_left_out(&self) -> Vec<(&'static str, u64)> {
        let kept = CaptureFacts::PROBLEMS_KEPT as u64;
        Problem::CODES
            .into_iter()
            .zip(self.counts)
            .filter(|(_, count)| *count > kept)
            .map(|(code, count)| (code, count - kept))
            .collect()
    }
}

/// A problem before it is known which file it is in.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) code: &'static str,
    pub(crate) offset: u64,
    pub(crate) record: u64,
    pub(crate) detail: String,
}
