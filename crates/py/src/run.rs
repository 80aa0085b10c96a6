//! One pass over a capture: read, put in order, share among workers, collect rows.
//!
//! With one worker everything happens on one thread. With more, one thread reads and decodes, and
//! every worker takes every batch and measures the packets of its own shards; rows are joined batch
//! by batch, so that they come out as with one worker.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use trustbed_analyze::{Options, Rows, Shards};
use trustbed_capture::Reader;
use trustbed_flow::{Limits, Order, OrderFacts, Reordered, TableFacts};
use trustbed_record::RecordError;
use trustbed_wire::Batch;

/// Records per batch: large enough to hide the cost of passing it on, small enough to stay in the
/// cache.
const BATCH: usize = 1024;
/// Batches that may wait for a worker.
const WAITING: usize = 64;
/// Time between two calls of the progress function.
const PROGRESS: Duration = Duration::from_millis(100);

/// Called now and then with bytes read and bytes in all; an error ends the pass.
pub(crate) type Progress<'a, E> = dyn FnMut(u64, Option<u64>) -> Result<(), E> + 'a;

/// Takes rows in order.
pub(crate) trait Takes {
    /// Rows as they come to be: once for every batch, and for every part of the end.
    fn take(&mut self, rows: Rows) -> Result<(), RecordError>;
}

/// How packets are measured, and by how many.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) options: Options,
    pub(crate) limits: Limits,
    /// Threads that measure, at least one.
    pub(crate) workers: usize,
    /// Which part this pass is, of how many that share the shards. Every part reads and decodes
    /// everything, so that batches, their order and their numbers are the same in all of them.
    pub(crate) part: (usize, usize),
}

impl Plan {
    /// Everything in one pass.
    pub(crate) fn whole(options: Options, limits: Limits, workers: usize) -> Self {
        Self { options, limits, workers: workers.max(1), part: (0, 1) }
    }

    /// The shards of one of the workers.
    fn shards(&self, worker: usize) -> Shards {
        let (part, parts) = self.part;
        Shards::new(self.options, self.limits, part + parts * worker, parts * self.workers)
    }
}

/// What one pass found besides rows.
pub(crate) struct Passed {
    pub(crate) order: OrderFacts,
    pub(crate) tables: TableFacts,
}

/// Why a pass ended early.
pub(crate) enum Ended<E> {
    Rows(RecordError),
    Caller(E),
}

impl<E> From<RecordError> for Ended<E> {
    fn from(error: RecordError) -> Self {
        Self::Rows(error)
    }
}

/// What only this run knows, from the entropy of the standard library's hash maps.
pub(crate) fn hash_secret() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// Reads everything.
pub(crate) fn pass<E>(
    reader: &mut Reader,
    plan: &Plan,
    collector: &mut impl Takes,
    progress: &mut Progress<'_, E>,
) -> Result<Passed, Ended<E>> {
    if plan.workers <= 1 {
        alone(reader, plan, collector, progress)
    } else {
        shared(reader, plan, collector, progress)
    }
}

fn alone<E>(
    reader: &mut Reader,
    plan: &Plan,
    collector: &mut impl Takes,
    progress: &mut Progress<'_, E>,
) -> Result<Passed, Ended<E>> {
    let mut shards = plan.shards(0);
    let mut source = Source::new();
    while let Some(ordered) = source.next(reader, progress).map_err(Ended::Caller)? {
        shards.on_batch(&ordered.batch, ordered.epoch);
        collector.take(Rows::join(vec![shards.take()]))?;
        source.recycle(ordered.batch);
    }
    loop {
        let more = shards.finish_part();
        collector.take(Rows::join(vec![shards.take()]))?;
        if !more {
            break;
        }
    }
    Ok(Passed { order: source.order.facts(), tables: shards.facts() })
}

/// Batches in order, from the reader through the reorder buffer.
pub(crate) struct Source {
    order: Order,
    spare: Vec<Batch>,
    ended: bool,
    reported: Instant,
}

impl Source {
    pub(crate) fn new() -> Self {
        Self { order: Order::default(), spare: Vec::new(), ended: false, reported: Instant::now() }
    }

    pub(crate) fn next<E>(
        &mut self,
        reader: &mut Reader,
        progress: &mut Progress<'_, E>,
    ) -> Result<Option<Reordered>, E> {
        loop {
            if let Some(ordered) = self.order.pop() {
                return Ok(Some(ordered));
            }
            if self.ended {
                return Ok(None);
            }
            let mut batch = self.spare.pop().unwrap_or_default();
            if reader.fill(&mut batch, BATCH) {
                self.order.push(batch);
            } else {
                self.ended = true;
                self.order.finish();
            }
            if self.reported.elapsed() >= PROGRESS {
                self.reported = Instant::now();
                let at = reader.progress();
                progress(at.bytes_read, at.bytes_total)?;
            }
        }
    }

    /// Takes back the memory of a batch.
    pub(crate) fn recycle(&mut self, mut batch: Batch) {
        batch.clear();
        if self.spare.len() < WAITING {
            self.spare.push(batch);
        }
    }
}

type Numbered = (u64, Rows);

fn shared<E>(
    reader: &mut Reader,
    plan: &Plan,
    collector: &mut impl Takes,
    progress: &mut Progress<'_, E>,
) -> Result<Passed, Ended<E>> {
    thread::scope(|scope| {
        let (rows_in, rows_out) = channel::<Numbered>();
        let mut batches = Vec::new();
        let mut threads = Vec::new();
        for worker in 0..plan.workers {
            let (batches_in, batches_out) = sync_channel::<Arc<Reordered>>(WAITING);
            let rows_in = rows_in.clone();
            batches.push(batches_in);
            threads.push(scope.spawn(move || work(plan.shards(worker), &batches_out, &rows_in)));
        }
        drop(rows_in);
        let mut joiner = Joiner { waiting: BTreeMap::new(), next: 0, workers: plan.workers };
        let mut source = Source::new();
        let mut sent = Vec::new();
        while let Some(ordered) = source.next(reader, progress).map_err(Ended::Caller)? {
            let ordered = Arc::new(ordered);
            for worker in &batches {
                send(worker, &ordered);
            }
            sent.push(ordered);
            reclaim(&mut sent, &mut source);
            while let Ok(numbered) = rows_out.try_recv() {
                joiner.add(numbered, collector)?;
            }
        }
        drop(batches);
        for numbered in &rows_out {
            joiner.add(numbered, collector)?;
        }
        let tables = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .sum();
        Ok(Passed { order: source.order.facts(), tables })
    })
}

fn send(worker: &SyncSender<Arc<Reordered>>, batch: &Arc<Reordered>) {
    // A worker ends only when its channel is closed, so a full channel is the one thing that can
    // prevent it.
    if let Err(TrySendError::Full(batch)) = worker.try_send(Arc::clone(batch)) {
        let _ = worker.send(batch);
    }
}

/// Takes back batches that every worker has finished with, oldest first.
fn reclaim(sent: &mut Vec<Arc<Reordered>>, source: &mut Source) {
    let done = sent.iter().take_while(|batch| Arc::strong_count(batch) == 1).count();
    for batch in sent.drain(..done) {
        if let Some(ordered) = Arc::into_inner(batch) {
            source.recycle(ordered.batch);
        }
    }
}

/// A worker's life: every batch in order, its rows sent back under the batch's number.
fn work(
    mut shards: Shards,
    batches: &Receiver<Arc<Reordered>>,
    rows: &std::sync::mpsc::Sender<Numbered>,
) -> TableFacts {
    let mut number = 0;
    for ordered in batches {
        shards.on_batch(&ordered.batch, ordered.epoch);
        drop(ordered);
        if rows.send((number, shards.take())).is_err() {
            return shards.facts();
        }
        number += 1;
    }
    let mut more = true;
    while more {
        more = shards.finish_part();
        if rows.send((number, shards.take())).is_err() {
            break;
        }
        number += 1;
    }
    shards.facts()
}

/// Waits until every worker has done a batch, then passes its rows on.
struct Joiner {
    waiting: BTreeMap<u64, Vec<Rows>>,
    next: u64,
    workers: usize,
}

impl Joiner {
    fn add(
        &mut self,
        (number, rows): Numbered,
        collector: &mut impl Takes,
    ) -> Result<(), RecordError> {
        self.waiting.entry(number).or_default().push(rows);
        while self.waiting.get(&self.next).is_some_and(|parts| parts.len() == self.workers) {
            if let Some(parts) = self.waiting.remove(&self.next) {
                collector.take(Rows::join(parts))?;
            }
            self.next += 1;
        }
        Ok(())
    }
}
