//! How much delay at least follows behind a pipe, whatever path a packet takes from there.

use trustbed_units::Span;

use crate::paths::{Paths, Stretch};
use crate::{JitterDescription, LinkDescription};

/// The least delay of a link's wire.
pub(crate) fn least(link: &LinkDescription) -> Span {
    let steps = link
        .delay_steps
        .as_ref()
        .and_then(|described| described.steps.iter().map(|step| step.delay_ns).min());
    let mean = steps.or(link.delay_ns).unwrap_or(0);
    let nanoseconds = match (&link.delay_recorded, link.jitter) {
        (Some(recorded), _) => recorded.delays_ns.iter().copied().min().unwrap_or(0),
        (None, None) => mean,
        (None, Some(JitterDescription::Uniform { spread_ns, .. })) => {
            mean.saturating_sub(spread_ns)
        }
        (None, Some(_)) => 0,
    };
    Span(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
}

/// What follows behind each pipe, while paths are added one after another.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// By pipe: its own least delay.
    own: Vec<Span>,
    /// By pipe: the least found so far of what follows.
    follows: Vec<Option<Span>>,
}

impl Ahead {
    pub(crate) fn new(own: Vec<Span>) -> Self {
        Self { follows: vec![None; own.len()], own }
    }

    /// A path that is followed by at least `tail`; returns what follows in front of it.
    pub(crate) fn on_path(&mut self, paths: &Paths, stretch: Stretch, tail: Span) -> Span {
        paths.steps(stretch).iter().rev().fold(tail, |follows, &pipe| {
            self.on_pipe(pipe, follows);
            follows + self.own[pipe as usize]
        })
    }

    /// A pipe that is followed by at least so much.
    pub(crate) fn on_pipe(&mut self, pipe: u32, follows: Span) {
        let known = &mut self.follows[pipe as usize];
        *known = Some(known.map_or(follows, |known| known.min(follows)));
    }

    /// A pipe's own least delay.
    pub(crate) fn own(&self, pipe: u32) -> Span {
        self.own[pipe as usize]
    }

    /// By pipe; none behind pipes that no path crosses.
    pub(crate) fn finish(self) -> Vec<Span> {
        self.follows.into_iter().map(|follows| follows.unwrap_or(Span::ZERO)).collect()
    }
}
