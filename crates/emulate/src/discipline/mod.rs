//! Queue disciplines: what a queue drops apart from its limit.
//!
//! A discipline only decides; the link owns the packets and counts them. To add one, write its file
//! here with an implementation of [`Discipline`], describe it in
//! [`QueueDescription`](crate::QueueDescription), and add its constructor to [`DISCIPLINES`].

mod codel;
mod drop_tail;
mod red;

use std::fmt::Debug;

use rand_chacha::ChaCha8Rng;
use trustbed_units::Ns;

use crate::sender::Sender;
use crate::{EmulateError, Fate, QueueDescription};

/// Decides which packets of a queue are dropped.
///
/// The link calls [`drops`](Self::drops) for every packet that arrives. If the discipline
/// [`holds`](Self::holds) packets, they wait until the link is free; then the link calls
/// [`drops_in_front`](Self::drops_in_front). Otherwise a packet's departure is known on arrival.
pub(crate) trait Discipline: Debug + Send + Sync {
    /// Whether a packet that arrives now is dropped, whatever the limit.
    fn drops(&mut self, _now: Ns, _found_packets: u32, _idle_since: Option<Ns>) -> bool {
        false
    }

    /// Whether packets wait until the link is free, because their fate depends on their wait.
    fn holds(&self) -> bool {
        false
    }

    /// How many packets at the head are dropped before the next one is sent; `heads` are the
    /// waiting packets, the longest waiting first.
    fn drops_in_front(&mut self, _now: Ns, _heads: &mut dyn Iterator<Item = Head>) -> usize {
        0
    }

    /// The fate of the packets that it drops.
    fn fate(&self) -> Fate;

    /// A copy in the same state.
    fn boxed(&self) -> Box<dyn Discipline>;
}

impl Clone for Box<dyn Discipline> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// A packet that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) arrived: Ns,
    /// The bytes that wait behind it.
    pub(crate) bytes_behind: u64,
}

/// What a discipline is made from.
pub(crate) struct Setting<'a> {
    pub(crate) description: &'a QueueDescription,
    pub(crate) sender: &'a Sender,
    pub(crate) random: ChaCha8Rng,
    /// Of the link, for errors.
    pub(crate) location: &'a str,
}

/// A constructor; nothing when the description is one of another discipline.
type Make = fn(&Setting<'_>) -> Result<Option<Box<dyn Discipline>>, EmulateError>;

/// Every discipline.
const DISCIPLINES: [Make; 3] = [codel::make, drop_tail::make, red::make];

/// The discipline of a description.
pub(crate) fn discipline(setting: &Setting<'_>) -> Result<Box<dyn Discipline>, EmulateError> {
    for make in DISCIPLINES {
        if let Some(discipline) = make(setting)? {
            return Ok(discipline);
        }
    }
    unreachable!("a kind of queue without a discipline: {:?}", setting.description)
}
