//! Random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", IEEE/ACM Transactions on Networking 1(4), 1993), in packets, with the gentle variant
//! (Floyd, "Recommendation on using the gentle variant of RED", 2000).
//!
//! Drops; it does not mark. The average moves with arriving packets only, and while the queue is
//! empty as if typical packets had arrived all the time: with other lengths than the described mean
//! it falls too fast or too slowly. The packet being sent counts in the queue.

use rand_chacha::ChaCha8Rng;
use trustbed_units::Ns;

use super::{Discipline, Setting};
use crate::check::{bounded, probability};
use crate::{EmulateError, Fate, QueueDescription, random};

/// The average queue and what is dropped for it.
#[derive(Debug, Clone)]
struct Red {
    minimum: f64,
    maximum: f64,
    maximum_probability: f64,
    weight: f64,
    gentle: bool,
    /// Transmission time of a typical packet, ns.
    typical: f64,
    average: f64,
    /// Packets since the last drop while the average is in between; −1 below the minimum.
    count: f64,
    random: ChaCha8Rng,
}

/// Nothing when the description is one of another discipline.
pub(super) fn make(setting: &Setting<'_>) -> Result<Option<Box<dyn Discipline>>, EmulateError> {
    Ok(Red::new(setting)?.map(|red| Box::new(red) as Box<dyn Discipline>))
}

impl Red {
    fn new(setting: &Setting<'_>) -> Result<Option<Self>, EmulateError> {
        let &QueueDescription::Red {
            minimum_packets: minimum,
            maximum_packets: maximum,
            maximum_probability,
            weight,
            gentle,
            mean_packet_bytes,
            ..
        } = setting.description
        else {
            return Ok(None);
        };
        let key = |key: &str| format!("{}: queue.{key}", setting.location);
        bounded(minimum, minimum >= 0.0, "a number of packets, 0 or above", || {
            key("minimum_packets")
        })?;
        bounded(maximum, maximum > minimum, "a number of packets above minimum_packets", || {
            key("maximum_packets")
        })?;
        probability(maximum_probability, || key("maximum_probability"))?;
        bounded(
            weight,
            weight > 0.0 && weight <= 1.0,
            "a number above 0, at most 1, as 0.002",
            || key("weight"),
        )?;
        bounded(mean_packet_bytes.into(), mean_packet_bytes > 0, "a length above 0", || {
            key("mean_packet_bytes")
        })?;
        let typical = setting.sender.mean_time(mean_packet_bytes);
        Ok(Some(Self {
            minimum,
            maximum,
            maximum_probability,
            weight,
            gentle,
            typical,
            average: 0.0,
            count: -1.0,
            random: setting.random.clone(),
        }))
    }

    /// What is left of the average behind an idle time: (1 − w)^m, m the typical packets that could
    /// have left.
    fn decay(&self, now: Ns, idle_since: Option<Ns>) -> f64 {
        let idle = idle_since.map_or(f64::INFINITY, |since| (now - since).as_f64().max(0.0));
        if self.typical <= 0.0 { 0.0 } else { (1.0 - self.weight).powf(idle / self.typical) }
    }

    /// Nothing below the minimum, 1 where everything is dropped.
    fn base_probability(&self) -> Option<f64> {
        let Self { minimum, maximum, maximum_probability: most, average, gentle, .. } = *self;
        if average < minimum {
            None
        } else if average < maximum {
            Some(most * (average - minimum) / (maximum - minimum))
        } else if gentle && average < 2.0 * maximum {
            Some(most + (1.0 - most) * (average - maximum) / maximum)
        } else {
            Some(1.0)
        }
    }
}

impl Discipline for Red {
    /// The names are those of the paper, figure 2.
    fn drops(&mut self, now: Ns, found: u32, idle_since: Option<Ns>) -> bool {
        if found > 0 {
            self.average += self.weight * (f64::from(found) - self.average);
        } else {
            self.average *= self.decay(now, idle_since);
        }
        let Some(p_b) = self.base_probability() else {
            self.count = -1.0;
            return false;
        };
        if p_b >= 1.0 {
            self.count = 0.0;
            return true;
        }
        self.count += 1.0;
        // p_a = p_b / (1 − count · p_b): gaps between drops are spread evenly (§4 of the paper).
        let rest = 1.0 - self.count * p_b;
        let drops = rest <= 0.0 || random::happens(&mut self.random, p_b / rest);
        if drops {
            self.count = 0.0;
        }
        drops
    }

    fn fate(&self) -> Fate {
        Fate::RedDrop
    }

    fn boxed(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{Red, Setting};
    use crate::discipline::Discipline;
    use crate::random::{Part, stream};
    use crate::sender::Sender;
    use crate::{LinkDescription, QueueDescription};
    use trustbed_units::Ns;

    fn red(minimum: f64, maximum: f64, weight: f64, gentle: bool) -> Red {
        // 1000 bytes take a millisecond.
        let link = LinkDescription { rate_bits_per_second: Some(8_000_000), ..Default::default() };
        let description = QueueDescription::Red {
            minimum_packets: minimum,
            maximum_packets: maximum,
            maximum_probability: 0.1,
            weight,
            gentle,
            mean_packet_bytes: 1000,
            limit_packets: None,
            limit_bytes: None,
        };
        let (sender, random) = (Sender::new(&link, "").unwrap(), stream(1, "", Part::Red));
        Red::new(&Setting { description: &description, sender: &sender, random, location: "" })
            .unwrap()
            .unwrap()
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn the_average_follows_the_queue_and_fades_while_it_is_empty() {
        let mut red = red(100.0, 200.0, 0.25, true);
        red.drops(Ns(0), 8, None);
        assert!(close(red.average, 2.0));
        red.drops(Ns(0), 8, None);
        assert!(close(red.average, 3.5));
        // Three typical packets could have left.
        red.drops(Ns(5_000_000), 0, Some(Ns(2_000_000)));
        assert!(close(red.average, 3.5 * 0.75_f64.powi(3)));
        // Nothing was ever sent: as if idle for ever.
        red.drops(Ns(5_000_000), 0, None);
        assert!(close(red.average, 0.0));
    }

    #[test]
    fn the_probability_is_that_of_the_paper() {
        let at = |average: f64, gentle| {
            let mut red = red(10.0, 20.0, 0.5, gentle);
            red.average = average;
            red.base_probability()
        };
        assert_eq!(at(9.9, true), None);
        assert!(close(at(10.0, true).unwrap(), 0.0));
        assert!(close(at(15.0, true).unwrap(), 0.05));
        assert!(
            close(at(30.0, true).unwrap(), 0.55),
            "half way between 0.1 at the maximum and 1 at twice the maximum"
        );
        assert!(close(at(20.0, false).unwrap(), 1.0));
        assert!(close(at(40.0, true).unwrap(), 1.0));
    }

    #[test]
    fn gaps_between_drops_are_even() {
        // A standing average of 15 between 10 and 20: p_b = 0.05. The figure's count is 1 for the
        // first packet behind a drop, so the gaps lie evenly in 1…19, one less than the 1/p_b of
        // the text.
        let mut red = red(10.0, 20.0, 0.5, true);
        let mut gaps = [0_u32; 21];
        let mut since = 0;
        for _ in 0..200_000 {
            red.average = 15.0;
            since += 1;
            if red.drops(Ns(0), 15, None) {
                gaps[since] += 1;
                since = 0;
            }
        }
        let drops: u32 = gaps.iter().sum();
        assert_eq!((gaps[0], gaps[20]), (0, 0));
        let expected = f64::from(drops) / 19.0;
        // Five standard deviations of a binomial count.
        let tolerance = 5.0 * (expected * (1.0 - 1.0 / 19.0)).sqrt();
        for (gap, &count) in gaps.iter().enumerate().take(20).skip(1) {
            assert!(
                (f64::from(count) - expected).abs() < tolerance,
                "{count} gaps of {gap}, {expected} expected"
            );
        }
    }
}
