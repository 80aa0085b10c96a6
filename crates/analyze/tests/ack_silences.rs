//! Silences of a receiver, and whose they were.

use trustbed_analyze::{AckSilences, Outstanding, Stamp};
use trustbed_units::Ns;

const MS: i64 = 1_000_000;
const RTT: u32 = 20;
const SILENCE: u32 = 100;
const MSS: u32 = 1000;

/// Ten silences of 100 ms, each ended by one acknowledgement of ten segments. `stamped`: how long
/// after the acknowledgement before it, by its own clock of 1 ms, the receiver sent it.
fn silences(stamped: u32, tick: Option<f64>) -> AckSilences {
    let mut silences = AckSilences::default();
    let (mut now, mut tsval, mut una) = (0, 0_u32, 0);
    for _ in 0..=10 {
        let before = una;
        una += 10 * i64::from(MSS);
        let outstanding = Outstanding { before, una, high: una, mss: MSS };
        let stamp = Stamp { tsval, tick };
        silences.on_ack(Ns(now * MS), &outstanding, Some(i64::from(RTT) * MS), false, Some(stamp));
        silences.on_data(Ns(now * MS));
        now += i64::from(SILENCE);
        tsval = tsval.wrapping_add(stamped);
    }
    silences
}

#[test]
fn a_receiver_that_stamped_late_was_silent_itself() {
    let own = silences(SILENCE, Some(1e6));
    assert_eq!((own.count, own.own), (10, 10));
}

#[test]
fn what_was_stamped_in_time_was_held_on_its_way() {
    let held = silences(RTT, Some(1e6));
    assert_eq!((held.count, held.own), (10, 0));
}

#[test]
fn without_a_clock_nothing_is_said_of_whose_they_were() {
    let unknown = silences(SILENCE, None);
    assert_eq!((unknown.count, unknown.own), (10, 0));
}
