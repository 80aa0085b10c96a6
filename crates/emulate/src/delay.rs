//! How long a packet travels behind its transmission: always the same, changing in steps, varying
//! around a mean, or as recorded.
//!
//! A delay that would be negative is 0, which makes the mean larger than described where the jitter
//! is of the size of the delay. Where order is kept, a packet waits for those before it, and the
//! delays are no longer those of the distribution: larger in the mean, and alike for packets that
//! follow one another closely. netem, which the distributions are named after, does not keep order.

use rand_chacha::ChaCha8Rng;
use trustbed_units::{Ns, Span};

use crate::check::time;
use crate::jitter::Jitter;
use crate::steps::Steps;
use crate::{EmulateError, LinkDescription};

/// Delays one packet after another.
#[derive(Debug, Clone)]
pub(crate) struct Delay {
    source: Source,
    keep_order: bool,
    latest: Ns,
}

#[derive(Debug, Clone)]
enum Source {
    Constant(Span),
    Varying { mean: Span, jitter: Box<Jitter> },
    Stepped { mean: Steps, jitter: Option<Box<Jitter>> },
    PerPacket { delays: Vec<Span>, next: usize },
    OverTime { delays: Vec<Span>, step: Span, origin: Option<Ns> },
}

impl Delay {
    pub(crate) fn new(
        link: &LinkDescription,
        random: ChaCha8Rng,
        location: &str,
    ) -> Result<Self, EmulateError> {
        let both =
            |first, second| EmulateError::Both { location: location.to_owned(), first, second };
        if let Some(recorded) = &link.delay_recorded {
            let others = [
                ("delay_ns", link.delay_ns.is_some()),
                ("delay_steps", link.delay_steps.is_some()),
                ("jitter", link.jitter.is_some()),
            ];
            if let Some((second, _)) = others.into_iter().find(|(_, given)| *given) {
                return Err(both("delay_recorded", second));
            }
            if recorded.delays_ns.is_empty() {
                return Err(EmulateError::Empty {
                    location: format!("{location}: delay_recorded.delays_ns"),
                });
            }
            let key = |key: &'static str| move || format!("{location}: delay_recorded.{key}");
            let delays = recorded
                .delays_ns
                .iter()
                .map(|&delay| time(delay, key("delays_ns")).map(Span))
                .collect::<Result<Vec<_>, _>>()?;
            let source = match recorded.step_ns {
                None => Source::PerPacket { delays, next: 0 },
                Some(0) => {
                    let location = key("step_ns")();
                    return Err(EmulateError::OutOfBounds {
                        location,
                        value: 0.0,
                        expected: "a step above 0, or none",
                    });
                }
                Some(step) => Source::OverTime {
                    delays,
                    step: Span(time(step, key("step_ns"))?),
                    origin: None,
                },
            };
            return Ok(Self { source, keep_order: recorded.keep_order, latest: Ns::MIN });
        }
        if let Some(steps) = &link.delay_steps {
            if link.delay_ns.is_some() {
                return Err(both("delay_steps", "delay_ns"));
            }
            let mean = Steps::new(steps, location)?;
            let (jitter, keep_order) = link
                .jitter
                .map(|jitter| Jitter::new(jitter, random, location))
                .transpose()?
                .unzip();
            let keep_order = steps.keep_order && keep_order.unwrap_or(true);
            return Ok(Self {
                source: Source::Stepped { mean, jitter: jitter.map(Box::new) },
                keep_order,
                latest: Ns::MIN,
            });
        }
        let mean = Span(time(link.delay_ns.unwrap_or(0), || format!("{location}: delay_ns"))?);
        let Some(jitter) = link.jitter else {
            return Ok(Self { source: Source::Constant(mean), keep_order: true, latest: Ns::MIN });
        };
        let (jitter, keep_order) = Jitter::new(jitter, random, location)?;
        Ok(Self {
            source: Source::Varying { mean, jitter: Box::new(jitter) },
            keep_order,
            latest: Ns::MIN,
        })
    }

    /// A recording over time begins here, unless it has begun.
    pub(crate) fn begin(&mut self, at: Ns) {
        if let Source::OverTime { origin, .. } = &mut self.source {
            origin.get_or_insert(at);
        }
    }

    /// The times of steps are counted from here.
    pub(crate) fn begin_times(&mut self, at: Ns) {
        if let Source::Stepped { mean, .. } = &mut self.source {
            mean.begin_times(at);
        }
    }

    /// Whether no packet overtakes another.
    pub(crate) const fn keeps_order(&self) -> bool {
        self.keep_order
    }

    /// When a packet comes out that would at this moment: not before those in front of it, where
    /// order is kept.
    #[inline]
    pub(crate) fn in_order(&mut self, due: Ns) -> Ns {
        if !self.keep_order {
            return due;
        }
        self.latest = self.latest.max(due);
        self.latest
    }

    /// How long the next packet, sent at `departed`, travels.
    #[inline]
    pub(crate) fn next(&mut self, departed: Ns) -> Span {
        match &mut self.source {
            Source::Constant(delay) => *delay,
            Source::Varying { mean, jitter } => (*mean + jitter.next()).max(Span::ZERO),
            Source::Stepped { mean, jitter } => {
                let deviation = jitter.as_mut().map_or(Span::ZERO, |jitter| jitter.next());
                (mean.at(departed) + deviation).max(Span::ZERO)
            }
            Source::PerPacket { delays, next } => {
                let delay = delays[*next];
                *next = (*next + 1) % delays.len();
                delay
            }
            Source::OverTime { delays, step, origin } => {
                let passed = departed - *origin.get_or_insert(departed);
                let steps = usize::try_from(passed.0.max(0) / step.0).unwrap_or(0);
                delays[steps % delays.len()]
            }
        }
    }
}
