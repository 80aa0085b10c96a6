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
        let location = format!("{location}: delay_steps.steps");
        let begins = begins(
            description.steps.iter().map(|step| step.at_ns),
            &location,
            "0 for the first step: the delay that it begins with",
        )?;
        let delays = description
            .steps
            .iter()
            .map(|step| time(step.delay_ns, || format!("{location}.delay_ns")).map(Span));
        let delays = delays.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { steps: begins.into_iter().zip(delays).collect(), origin: None })
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

/// When the steps of a list begin: the first at 0, each later than the one before it. `location`
/// names the list, `first` what is expected of the first.
pub(crate) fn begins(
    at_ns: impl Iterator<Item = u64>,
    location: &str,
    first: &'static str,
) -> Result<Vec<Span>, EmulateError> {
    let key = || format!("{location}.at_ns");
    let described: Vec<u64> = at_ns.collect();
    match described.first() {
        None => return Err(EmulateError::Empty { location: location.to_owned() }),
        #[expect(clippy::cast_precision_loss, reason = "for the message")]
        Some(&at) if at > 0 => {
            let value = at as f64;
            return Err(EmulateError::OutOfBounds { location: key(), value, expected: first });
        }
        Some(_) => {}
    }
    if let Some(index) = described.windows(2).position(|pair| pair[1] <= pair[0]) {
        let (earlier, value) = (described[index], described[index + 1]);
        return Err(EmulateError::RunsBackwards {
            location: key(),
            index: index + 1,
            value,
            earlier,
        });
    }
    described.into_iter().map(|at| time(at, key).map(Span)).collect()
}
