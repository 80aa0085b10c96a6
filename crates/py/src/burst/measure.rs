//! Workers that share the measuring of columns. Their number changes nothing in the results.
//!
//! A study is shared by time: each worker takes a stretch of the capture, and the parts are joined.
//! What a queue does cannot be cut in time, so queues and rates are dealt out instead: each worker
//! sees all packets.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use trustbed_burst::{DropTail, Packets, Sigma, SigmaPoint, Study, StudyPlan};
use trustbed_units::{Rate, Size};

use super::Fault;
use super::columns::{Columns, Desk, Mark, See};

/// Time between two looks at whether to go on.
const ASK: Duration = Duration::from_millis(100);
/// Rates that σ is computed of at once: as many as its inner loop takes.
const RATES: usize = 8;

/// The packets of a capture that are meant.
pub(super) struct Chosen<'a> {
    pub(super) columns: &'a Columns,
    /// Whether a mark is meant; all are, if this is none.
    pub(super) owned: Option<&'a (dyn Fn(u32) -> bool + Sync)>,
}

/// Called now and then: whether to go on.
pub(super) type GoOn<'a, E> = dyn FnMut() -> Result<(), E> + 'a;

impl Chosen<'_> {
    fn each(
        &self,
        blocks: Range<usize>,
        stop: &AtomicBool,
        see: &mut See<'_>,
    ) -> Result<(), Fault> {
        let mut desk = Desk::default();
        let owned = self.owned.map(|owned| owned as &dyn Fn(u32) -> bool);
        for block in blocks {
            if stop.load(Ordering::Relaxed) {
                return Err(Fault::Stopped);
            }
            self.columns.each(block..block + 1, owned, &mut desk, see)?;
        }
        Ok(())
    }
}

/// Studies packets.
pub(super) fn study<E>(
    chosen: &Chosen<'_>,
    plan: &StudyPlan,
    workers: usize,
    go_on: &mut GoOn<'_, E>,
) -> Result<Study, Fault<E>> {
    let blocks = chosen.columns.blocks();
    let workers = workers.clamp(1, blocks.max(1));
    let parts = shared(workers, go_on, |worker, stop| {
        let mut study = Study::new(plan)?;
        chosen.each(
            blocks * worker / workers..blocks * (worker + 1) / workers,
            stop,
            &mut |packets, _| Ok(study.add(packets)?),
        )?;
        Ok(study)
    })?;
    let mut whole = Study::new(plan)?;
    for part in parts {
        whole = whole.merge(part)?;
    }
    Ok(whole)
}

/// What a load does to σ and to queues.
#[derive(Debug)]
enum Unit {
    Sigma(Sigma),
    Queue(Box<DropTail>),
}

/// σ of rates, and queues of rates and buffers; in the order in which they were requested.
pub(super) fn load<E>(
    chosen: &Chosen<'_>,
    rates: &[Rate],
    queues: &[(Rate, Option<Size>)],
    workers: usize,
    go_on: &mut GoOn<'_, E>,
) -> Result<(Vec<SigmaPoint>, Vec<DropTail>), Fault<E>> {
    let mut units = Vec::new();
    for rates in rates.chunks(RATES) {
        units.push(Unit::Sigma(Sigma::new(rates)?));
    }
    for (rate, buffer) in queues {
        units.push(Unit::Queue(Box::new(DropTail::new(*rate, *buffer)?)));
    }
    let workers = workers.clamp(1, units.len().max(1));
    let units = &units;
    let dealt = shared(workers, go_on, |worker, stop| {
        let mut own: Vec<Unit> =
            units.iter().skip(worker).step_by(workers).map(Unit::copied).collect();
        chosen.each(0..chosen.columns.blocks(), stop, &mut |packets, _| {
            for unit in &mut own {
                unit.push(packets);
            }
            Ok(())
        })?;
        Ok(own)
    })?;
    let mut hands: Vec<_> = dealt.into_iter().map(Vec::into_iter).collect();
    let (mut points, mut done) = (Vec::new(), Vec::new());
    for number in 0..units.len() {
        match hands[number % workers].next() {
            Some(Unit::Sigma(sigma)) => points.extend(sigma.points()),
            Some(Unit::Queue(queue)) => done.push(*queue),
            None => return Err(Fault::Stopped),
        }
    }
    Ok((points, done))
}

/// Packets that a queue lost: their records (0: not known), times and lengths.
#[derive(Debug, Default)]
pub(super) struct Lost {
    pub(super) records: Vec<u64>,
    pub(super) times: Vec<i64>,
    pub(super) lengths: Vec<u32>,
}

/// Which packets a queue loses.
pub(super) fn lost<E>(
    chosen: &Chosen<'_>,
    rate: Rate,
    buffer: Size,
    go_on: &mut GoOn<'_, E>,
) -> Result<Lost, Fault<E>> {
    let parts = shared(1, go_on, |_, stop| {
        let (mut queue, mut lost) = (DropTail::new(rate, Some(buffer))?, Lost::default());
        chosen.each(0..chosen.columns.blocks(), stop, &mut |packets, marks| {
            let before = queue.packets();
            queue.push_each(packets, &mut |number| {
                // A block has fewer packets than any processor has addresses.
                let index = usize::try_from(number - before).unwrap_or(usize::MAX);
                lost.records.push(marks.get(index).map_or(0, |mark: &Mark| mark.record()));
                lost.times.push(packets.times()[index]);
                lost.lengths.push(packets.lengths()[index]);
            });
            Ok(())
        })?;
        Ok(lost)
    })?;
    Ok(parts.into_iter().next().unwrap_or_default())
}

impl Unit {
    fn copied(&self) -> Self {
        match self {
            Self::Sigma(sigma) => Self::Sigma(sigma.clone()),
            Self::Queue(queue) => Self::Queue(queue.clone()),
        }
    }

    fn push(&mut self, packets: Packets<'_>) {
        match self {
            Self::Sigma(sigma) => sigma.push(packets),
            Self::Queue(queue) => queue.push(packets),
        }
    }
}

/// Runs workers and waits for them; checks now and then whether to go on, and stops them if not.
/// What they return comes in their order.
fn shared<T: Send, E>(
    workers: usize,
    go_on: &mut GoOn<'_, E>,
    work: impl Fn(usize, &AtomicBool) -> Result<T, Fault> + Sync,
) -> Result<Vec<T>, Fault<E>> {
    let stop = AtomicBool::new(false);
    let (stop, work) = (&stop, &work);
    thread::scope(|scope| {
        let (done_in, done_out) = channel::<()>();
        let threads: Vec<_> = (0..workers)
            .map(|worker| {
                let done_in = done_in.clone();
                scope.spawn(move || {
                    let result = work(worker, stop);
                    // Closing the channel shows that the worker has ended, should it panic too.
                    drop(done_in);
                    result
                })
            })
            .collect();
        drop(done_in);
        let mut ended = Ok(());
        while let Err(RecvTimeoutError::Timeout) = done_out.recv_timeout(ASK) {
            if ended.is_ok() {
                ended = go_on();
                stop.store(ended.is_err(), Ordering::Relaxed);
            }
        }
        let results: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        ended.map_err(Fault::Caller)?;
        results.into_iter().map(|result| result.map_err(Fault::widened)).collect()
    })
}
