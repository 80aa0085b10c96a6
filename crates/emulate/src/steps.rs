//! A delay that changes in steps: a route that becomes longer or shorter.
//!
//! What counts is when a packet leaves the sender. Packets that are on the wire at a step keep the
//! delay that they left with: behind a step down the later ones could arrive first, as they do when
//! a route changes. Until the times of the link begin, the first step holds.

use trustbed_units::{Ns, Span};

use crate::check::time;
use crate::{DelayStepsDescription, EmulateError};

/// The delay at any moment.
#[derive(Debug, Clone)]
pub(crate) struct Steps {
    /// When each of them begins, and what it is; the first one begins at 0.
    steps: Vec<(Span, Span)>,
    origin: Option<Ns>,
}

impl Steps {
    pub(crate) fn new(
        description: &DelayStepsDescription,
        location: &str,
    ) -> Result<Self, EmulateError> {
        let key = |key: &'static str| move || format!("{location}: delay_steps.steps.{key}");
        let described = &description.steps;
        match described.first() {
            None => {
                return Err(EmulateError::Empty {
                    location: format!("{location}: delay_steps.steps"),
                });
            }
            #[expect(clippy::cast_precision_loss, reason = "for the message")]
            Some(first) if first.at_ns > 0 => {
                let (location, value) = (key("at_ns")(), first.at_ns as f64);
                return Err(EmulateError::OutOfBounds {
                    location,
                    value,
                    expected: "0 for the first step: the delay that it begins with",
                });
            }
            Some(_) => {}
        }
        if let Some(index) = described.windows(2).position(|pair| pair[1].at_ns <= pair[0].at_ns) {
            let (earlier, value) = (described[index].at_ns, described[index + 1].at_ns);
            return Err(EmulateError::RunsBackwards {
                location: key("at_ns")(),
                index: index + 1,
                value,
                earlier,
            });
        }
        let steps = described.iter().map(|step| {
            Ok((Span(time(step.at_ns, key("at_ns"))?), Span(time(step.delay_ns, key("delay_ns"))?)))
        });
        Ok(Self { steps: steps.collect::<Result<_, EmulateError>>()?, origin: None })
    }

    /// Times are counted from here.
    pub(crate) fn begin_times(&mut self, at: Ns) {
        self.origin = Some(at);
    }

    /// The delay of a packet that leaves the sender at this moment.
    pub(crate) fn at(&self, departed: Ns) -> Span {
        let passed = self.origin.map_or(Span::ZERO, |origin| departed - origin);
        let begun = self.steps.partition_point(|(begin, _)| *begin <= passed);
        self.steps[begun.saturating_sub(1)].1
    }
}
