//! What is lost on the wire.
//!
//! A packet's loss does not depend on its length or its time, only on its number and the seed.

use rand_chacha::ChaCha8Rng;

use crate::check::{bounded, probability};
use crate::{EmulateError, LossDescription, random};

/// Decides for one packet after another.
#[derive(Debug, Clone)]
pub(crate) enum Loss {
    Nothing,
    Independent { probability: f64, random: Box<ChaCha8Rng> },
    GilbertElliott(Box<GilbertElliott>),
    Periodic { every: u64, left: u64 },
    Recorded(Recorded),
}

/// Two states; the state changes behind each packet.
#[derive(Debug, Clone)]
pub(crate) struct GilbertElliott {
    bad: bool,
    /// The probability to leave the state good, and the state bad.
    leave: [f64; 2],
    loss: [f64; 2],
    random: ChaCha8Rng,
}

#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    lost: Vec<u64>,
    period: u64,
    number: u64,
    next: usize,
}

impl Loss {
    pub(crate) fn new(
        description: Option<&LossDescription>,
        mut random: ChaCha8Rng,
        location: &str,
    ) -> Result<Self, EmulateError> {
        let key = |key: &'static str| move || format!("{location}: loss.{key}");
        Ok(match description {
            None => Self::Nothing,
            Some(&LossDescription::Independent { probability: share }) => {
                probability(share, key("probability"))?;
                Self::Independent { probability: share, random: Box::new(random) }
            }
            Some(&LossDescription::GilbertElliott {
                good_to_bad,
                bad_to_good,
                loss_in_good,
                loss_in_bad,
            }) => {
                probability(good_to_bad, key("good_to_bad"))?;
                probability(bad_to_good, key("bad_to_good"))?;
                probability(loss_in_good, key("loss_in_good"))?;
                probability(loss_in_bad, key("loss_in_bad"))?;
                // Begins as it is in the long run; a channel that never changes begins good.
                let sum = good_to_bad + bad_to_good;
                let bad =
                    random::happens(&mut random, if sum > 0.0 { good_to_bad / sum } else { 0.0 });
                let (leave, loss) = ([good_to_bad, bad_to_good], [loss_in_good, loss_in_bad]);
                Self::GilbertElliott(Box::new(GilbertElliott { bad, leave, loss, random }))
            }
            Some(&LossDescription::Periodic { every, first }) => {
                bounded(
                    0.0,
                    every > 0,
                    "every how many packets one is lost, above 0",
                    key("every"),
                )?;
                bounded(
                    0.0,
                    first != Some(0),
                    "the number of the first lost packet, counted from 1",
                    key("first"),
                )?;
                Self::Periodic { every, left: first.unwrap_or(every) }
            }
            Some(LossDescription::Recorded { lost, period_packets }) => {
                Self::Recorded(Recorded::new(lost, *period_packets, location)?)
            }
        })
    }

    /// Whether the next packet is lost.
    #[inline]
    pub(crate) fn next(&mut self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Independent { probability, random } => random::happens(random, *probability),
            Self::GilbertElliott(channel) => channel.next(),
            Self::Periodic { every, left } => {
                *left -= 1;
                let lost = *left == 0;
                if lost {
                    *left = *every;
                }
                lost
            }
            Self::Recorded(recorded) => recorded.next(),
        }
    }
}

impl GilbertElliott {
    /// Draws twice, so that the states do not depend on the losses.
    fn next(&mut self) -> bool {
        let state = usize::from(self.bad);
        let lost = random::happens(&mut self.random, self.loss[state]);
        self.bad ^= random::happens(&mut self.random, self.leave[state]);
        lost
    }
}

impl Recorded {
    fn new(lost: &[u64], period: Option<u64>, location: &str) -> Result<Self, EmulateError> {
        if let Some(index) = lost.windows(2).position(|pair| pair[1] <= pair[0]) {
            let (earlier, value) = (lost[index], lost[index + 1]);
            return Err(EmulateError::RunsBackwards {
                location: format!("{location}: loss.lost"),
                index: index + 1,
                value,
                earlier,
            });
        }
        let beyond = lost.last().copied().unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "for the message")]
        bounded(
            period.unwrap_or(1) as f64,
            period.is_none_or(|period| period > beyond),
            "a period above the last lost packet",
            || format!("{location}: loss.period_packets"),
        )?;
        Ok(Self { lost: lost.to_vec(), period: period.unwrap_or(u64::MAX), number: 0, next: 0 })
    }

    fn next(&mut self) -> bool {
        let lost = self.lost.get(self.next) == Some(&self.number);
        self.next += usize::from(lost);
        self.number += 1;
        if self.number == self.period {
            (self.number, self.next) = (0, 0);
        }
        lost
    }
}
