//! What changes over a transfer's time: the bend of its bytes, the step of its floor, losses
//! against a bucket, answers.

use trustbed_analyze::{Answers, Bucket, Floor, Passing, Profile, WindowTime};
use trustbed_units::{Ns, Span};

const MS: i64 = 1_000_000;

fn ms(n: i64) -> Span {
    Span(n * MS)
}

/// `rate(t)` bytes per millisecond and `rtt(t)` milliseconds, sampled every millisecond.
fn profile(milliseconds: i64, rate: impl Fn(i64) -> i64, rtt: impl Fn(i64) -> i64) -> Profile {
    let (mut profile, mut delivered) = (Profile::default(), 0);
    for t in 0..milliseconds {
        delivered += rate(t);
        profile.on_ack(ms(t), delivered);
        profile.on_rtt(ms(t), ms(rtt(t)));
    }
    profile
}

fn near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 0.05
}

#[test]
fn a_burst_before_a_lower_rate_is_a_bend() {
    let bend =
        profile(3000, |t| if t < 900 { 2000 } else { 500 }, |t| if t < 900 { 20 } else { 60 });
    let bend = bend.bend(ms(3000), Floor::Here).expect("it bends");
    assert!(near(bend.rate_before, 2e6) && near(bend.rate_after, 5e5), "{bend:?}");
    assert!(bend.floor_after.is_some_and(|floor| near(floor, 60e6)));
}

#[test]
fn a_rate_that_grows_does_not_bend() {
    assert_eq!(profile(3000, |t| t / 10, |_| 20).bend(ms(3000), Floor::Here), None);
}

fn ticks(milliseconds: i64) -> u32 {
    u32::try_from(milliseconds).unwrap_or_default()
}

/// Data sent and stamped by a clock of 1 ms at `sent(t)`, seen at `seen(t)`, in milliseconds.
fn rise(sent: impl Fn(i64) -> i64, seen: impl Fn(i64) -> i64) -> Option<f64> {
    let mut profile = Profile::default();
    for t in 0..2000 {
        // It wraps on the way.
        profile.on_timestamp(ms(seen(t)), u32::MAX.wrapping_sub(500).wrapping_add(ticks(sent(t))));
    }
    profile.rise(1e6)
}

#[test]
fn a_queue_raises_the_one_way_delay_and_a_late_sender_does_not() {
    let queue = |t: i64| if t < 300 { 0 } else { 40 };
    assert_eq!(rise(|t| 500 + t, |t| t + queue(t)), Some(40e6));
    assert_eq!(rise(|t| 500 + t + queue(t), |t| t + queue(t)), Some(0.0));
}

#[test]
fn a_coarse_clock_measures_no_way() {
    let mut profile = Profile::default();
    (0..2000).for_each(|t| profile.on_timestamp(ms(t), ticks(t / 10)));
    assert_eq!(profile.rise(10e6), None);
}

#[test]
fn a_new_route_is_a_step_that_leaves_nothing() {
    let step =
        profile(3000, |t| if t < 1200 { 2000 } else { 1000 }, |t| if t < 1200 { 20 } else { 40 });
    let step = step.floor_step(ms(3000), Floor::Here).expect("it steps");
    assert!(near(step.before, 20e6) && near(step.after, 40e6) && step.left < 0.05, "{step:?}");
    assert!(
        step.flight_ratio.is_some_and(|ratio| near(ratio, 1.0)),
        "the same data in flight: {step:?}"
    );
}

#[test]
fn a_queue_that_breathes_is_no_step() {
    let step = profile(3000, |_| 1000, |t| 20 + (t % 700) / 20);
    assert!(step.floor_step(ms(3000), Floor::Here).is_none_or(|step| step.left > 0.3));
}

#[test]
fn a_floor_that_never_varied_has_no_step_and_neither_has_one_of_few_samples() {
    assert_eq!(profile(3000, |_| 1000, |_| 20).floor_step(ms(3000), Floor::Here), None);
    assert_eq!(profile(5, |_| 1000, |t| 20 + t).floor_step(ms(5), Floor::Here), None);
}

#[test]
fn both_halves_are_needed_in_the_middle() {
    let mut profile = profile(3000, |_| 1000, |_| 20);
    assert_eq!(profile.floor_step(ms(3000), Floor::Both), None);
    for t in 0..3000 {
        profile.on_echo(ms(t), ms(if t < 1500 { 5 } else { 25 }));
    }
    let step = profile.floor_step(ms(3000), Floor::Both).expect("both");
    assert!(near(step.before, 25e6) && near(step.after, 45e6), "{step:?}");
}

/// Packets of 1000 bytes every millisecond; those for which `lost` returns true are retransmitted
/// 20 ms later.
fn rank(lost: impl Fn(i64) -> bool, pace: impl Fn(i64) -> i64) -> Option<f64> {
    let (mut bucket, mut offset, mut late) = (Bucket::default(), 0, Vec::new());
    for t in 0..3000 {
        for _ in 0..pace(t) {
            bucket.on_new(ms(t), offset, 1000, None);
            if lost(t) {
                late.push((t, offset));
            }
            offset += 1000;
        }
        late.retain(|&(then, at)| {
            if t - then >= 20 {
                bucket.on_loss(ms(then), at, 1000);
            }
            t - then < 20
        });
    }
    bucket.rank(ms(3000))
}

#[test]
fn a_policer_drops_when_its_bucket_is_empty() {
    // Nine quiet milliseconds fill the bucket, then a burst empties it and its last packet is lost.
    let rank = rank(|t| t % 10 == 9, |t| if t % 10 == 9 { 1 } else { i64::from(t % 10 > 6) });
    assert!(rank.is_some_and(|rank| rank < 0.3), "{rank:?}");
}

#[test]
fn few_losses_have_no_rank() {
    assert_eq!(rank(|_| false, |_| 1), None);
    assert_eq!(rank(|t| t == 1000 || t == 2000, |_| 1), None);
    assert_eq!(rank(|t| t < 300, |_| 1), None, "slow start");
}

#[test]
fn a_gap_dates_a_loss_before_the_capture() {
    let mut bucket = Bucket::default();
    bucket.on_new(ms(0), 0, 1000, None);
    bucket.on_new(ms(1), 2000, 1000, Some(ms(30)));
    assert_eq!(bucket.on_fill(1000, 1000), Some(ms(30)));
    assert_eq!(bucket.on_fill(5000, 1000), None, "no packet passed these over");
}

#[test]
fn timeouts_without_an_answer_add_up() {
    let mut answers = Answers::default();
    answers.on_data(Ns(0), 1000, Passing::New);
    answers.on_data(Ns(300 * MS), 1000, Passing::Recovery);
    answers.on_data(Ns(900 * MS), 1000, Passing::Again);
    answers.on_ack(Ns(1000 * MS), (1000, 1000), true, false);
    assert_eq!(answers.unanswered, 1000 * MS);
    answers.on_data(Ns(2000 * MS), 2000, Passing::New);
    answers.on_data(Ns(2300 * MS), 2000, Passing::Recovery);
    answers.on_ack(Ns(3000 * MS), (2000, 2000), true, false);
    assert_eq!(answers.unanswered, 1000 * MS, "probed again once: a lost packet");
}

#[test]
fn a_silence_that_a_lone_packet_ends_was_an_interruption() {
    let rtt = Some(ms(200));
    let mut answers = Answers::default();
    answers.on_passing(Ns(0), true, false, rtt);
    answers.on_passing(Ns(2000 * MS), true, false, rtt);
    answers.on_passing(Ns(2200 * MS), true, false, rtt);
    assert_eq!(answers.interrupted, 2000 * MS);
    answers.on_passing(Ns(4200 * MS), true, false, rtt);
    answers.on_passing(Ns(4201 * MS), true, false, rtt);
    assert_eq!(answers.interrupted, 2000 * MS, "it went on at once: it had stopped");
    answers.on_passing(Ns(6201 * MS), false, true, rtt);
    assert_eq!(answers.interrupted, 4000 * MS, "repeated");
    answers.on_passing(Ns(9000 * MS), true, false, rtt);
    answers.on_passing(Ns(9900 * MS), true, false, rtt);
    assert_eq!(answers.interrupted, 4000 * MS, "after a short segment it had nothing to send");
}

#[test]
fn duplicates_that_end_without_a_retransmission_were_late_segments() {
    let mut answers = Answers::default();
    answers.on_ack(Ns(1), (0, 9000), false, true);
    answers.on_ack(Ns(2), (1000, 9000), true, false);
    assert_eq!(answers.late, 1);
    answers.on_ack(Ns(3), (1000, 9000), false, true);
    answers.on_data(Ns(4), 9000, Passing::Recovery);
    answers.on_ack(Ns(5), (2000, 9000), true, false);
    answers.on_ack(Ns(6), (2000, 9000), false, true);
    answers.on_ack(Ns(7), (9000, 9000), true, false);
    assert_eq!(answers.late, 1, "two holes of one recovery");
    answers.on_ack(Ns(8), (9000, 12_000), false, true);
    answers.on_ack(Ns(9), (10_000, 12_000), true, false);
    assert_eq!(answers.late, 2, "a late segment after it");
    answers.on_data(Ns(10), 12_000, Passing::InVain);
    answers.on_ack(Ns(11), (12_000, 12_000), true, false);
    answers.on_ack(Ns(12), (12_000, 14_000), false, true);
    answers.on_ack(Ns(13), (14_000, 14_000), true, false);
    assert_eq!(answers.late, 2, "the duplicate was of what had been sent in vain");
}

#[test]
fn a_window_counts_from_the_first_one_that_was_heard() {
    let mut window = WindowTime::default();
    window.settle(Ns(5 * MS), 1000);
    window.on_window(Ns(10 * MS), 8_000, 1000, false);
    window.on_clock_step();
    window.on_window(Ns(20 * MS), 8_000, 1000, false);
    window.on_window(Ns(30 * MS), 8_000, 1000, false);
    assert_eq!((window.first(), window.zero()), (8_000, (Span(0), 0)));
    assert!((window.saturated(ms(10)) - 1.0).abs() < 1e-9);
}

#[test]
fn a_window_that_shrank_had_been_larger() {
    let mut window = WindowTime::begin(Ns(0), 10_000);
    window.on_window(Ns(40 * MS), 8_000, 1000, false);
    window.on_window(Ns(100 * MS), 8_000, 1000, false);
    assert!((window.shrunk(ms(100)) - 0.6).abs() < 1e-9);
    let mut growing = WindowTime::begin(Ns(0), 1_000);
    growing.on_window(Ns(90 * MS), 60_000, 1000, false);
    growing.on_window(Ns(100 * MS), 60_000, 1000, false);
    assert!(growing.shrunk(ms(100)) < 1e-12);
}

/// In the middle: so many losses behind the capture at 30 ms there, so many before it at 50 ms to
/// the sender and back.
fn between(behind: i64, before: i64) -> Option<f64> {
    let mut answers = Answers::default();
    answers.on_rtt(ms(30));
    answers.on_echo(ms(5));
    for n in 0..behind {
        answers.on_data(Ns(n), 1000, Passing::Recovery);
    }
    for _ in 0..before {
        answers.on_loss_upstream(Some(ms(50)));
    }
    answers.before_loss_between(Some(10e6), Some(5e6))
}

#[test]
fn losses_on_one_side_of_the_capture_take_the_other_half_as_it_mostly_is() {
    assert!(between(5, 0).is_some_and(|rtt| near(rtt, 35e6)));
    assert!(between(0, 5).is_some_and(|rtt| near(rtt, 60e6)));
    // One retransmission that was lost once more, behind the capture.
    assert!(between(1, 5).is_some_and(|rtt| near(rtt, 60e6)));
    assert_eq!(between(0, 0), None);
}

#[test]
fn a_half_that_was_never_measured_leaves_the_whole_unknown() {
    let mut answers = Answers::default();
    answers.on_loss_upstream(Some(ms(50)));
    assert_eq!(answers.before_loss_between(None, Some(5e6)), None);
}
