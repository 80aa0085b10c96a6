//! What happens to a packet behind its transmission: loss, then duplication, then delay, then
//! holding back.

use trustbed_units::{Ns, Span};

use crate::delay::Delay;
use crate::duplicate::Duplicate;
use crate::loss::Loss;
use crate::random::{Part, stream};
use crate::reorder::Reorder;
use crate::{EmulateError, LinkDescription};

/// The wire of a link.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    loss: Loss,
    duplicate: Option<Box<Duplicate>>,
    delay: Delay,
    reorder: Option<Box<Reorder>>,
}

/// When a packet comes out of the wire, and whether a copy comes right behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crossing {
    pub(crate) due: Ns,
    pub(crate) twice: bool,
}

impl Wire {
    pub(crate) fn new(
        link: &LinkDescription,
        seed: u64,
        name: &str,
        location: &str,
    ) -> Result<Self, EmulateError> {
        let random = |part| stream(seed, name, part);
        let duplicate = link.duplicate.map(|description| {
            Duplicate::new(description, random(Part::Duplicate), location).map(Box::new)
        });
        let reorder = link.reorder.map(|description| {
            Reorder::new(description, random(Part::Reorder), location).map(Box::new)
        });
        Ok(Self {
            loss: Loss::new(link.loss.as_ref(), random(Part::Loss), location)?,
            duplicate: duplicate.transpose()?,
            delay: Delay::new(link, random(Part::Jitter), location)?,
            reorder: reorder.transpose()?,
        })
    }

    /// A recording over time begins here, unless it has begun.
    pub(crate) fn begin(&mut self, at: Ns) {
        self.delay.begin(at);
    }

    /// The times of steps are counted from here.
    pub(crate) fn begin_times(&mut self, at: Ns) {
        self.delay.begin_times(at);
    }

    /// Whether no packet overtakes another.
    pub(crate) const fn keeps_order(&self) -> bool {
        self.delay.keeps_order() && self.reorder.is_none()
    }

    /// The next packet, sent at `departed`; nothing if it is lost, or if it never gets here
    /// (`out`). Every part draws for every packet, lost ones too, so that a part that is added or
    /// taken away leaves what the others do to the n-th packet as it was; nobody waits for those.
    #[inline]
    pub(crate) fn cross(&mut self, departed: Ns, out: bool) -> Option<Crossing> {
        let lost = self.loss.next();
        let twice = self.duplicate.as_mut().is_some_and(|duplicate| duplicate.next());
        let delay = self.delay.next(departed);
        let held = self.reorder.as_mut().map_or(Span::ZERO, |reorder| reorder.next());
        (!lost && !out)
            .then(|| Crossing { due: self.delay.in_order(departed + delay) + held, twice })
    }
}
