//! One sequence per thread from a trace of many.
//!
//! Interleaved threads would make transitions that no thread made, so a trace is taken apart before
//! anything is counted.

use hashbrown::HashTable;

use crate::{CallsError, chain::mixed};

/// The calls of every thread, in entry order: two bytes a call.
#[derive(Debug, Clone, Default)]
pub struct Threads {
    sequences: Vec<(u32, Vec<u16>)>,
    by_thread: HashTable<usize>,
}

impl Threads {
    /// Takes the next calls of a trace, each with the number of its thread.
    ///
    /// # Errors
    ///
    /// [`CallsError::UnequalColumns`] if there are more of one than of the other.
    pub fn push(&mut self, threads: &[u32], calls: &[u16]) -> Result<(), CallsError> {
        if threads.len() != calls.len() {
            return Err(CallsError::UnequalColumns { threads: threads.len(), calls: calls.len() });
        }
        let mut rest = calls;
        for run in threads.chunk_by(|one, next| one == next) {
            let (own, later) = rest.split_at(run.len());
            let at = self.position(run[0]);
            self.sequences[at].1.extend_from_slice(own);
            rest = later;
        }
        Ok(())
    }

    /// Every thread with its calls, in the order in which the threads first called.
    pub fn into_sequences(self) -> Vec<(u32, Vec<u16>)> {
        self.sequences
    }

    fn position(&mut self, thread: u32) -> usize {
        let sequences = &self.sequences;
        let hash = mixed(u64::from(thread));
        if let Some(at) = self.by_thread.find(hash, |at| sequences[*at].0 == thread) {
            return *at;
        }
        let at = sequences.len();
        self.by_thread.insert_unique(hash, at, |at| mixed(u64::from(sequences[*at].0)));
        self.sequences.push((thread, Vec::new()));
        at
    }
}
