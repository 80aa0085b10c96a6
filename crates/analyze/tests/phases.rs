//! Where the time of a synthetic transfer went, beside the sender and by events alone.
#![expect(clippy::cast_precision_loss, reason = "nanoseconds of a test")]

use proptest::prelude::*;
use trustbed_analyze::{
    Account, Afar, Arrival, Budget, Departure, STATES, Sending, State, Whole, Window,
};

const MS: i64 = 1_000_000;
const MSS: u32 = 1000;
const RTT: i64 = 20 * MS;

/// A sender and its clock: what it sends, and what it hears.
struct Paced {
    budget: Budget,
    now: i64,
    high: i64,
}

impl Paced {
    fn new(window: i64) -> Self {
        Self::of(Window::Known(u32::try_from(window).unwrap_or(u32::MAX)))
    }

    fn of(window: Window) -> Self {
        Self { budget: Budget::new(0, window, 0), now: 0, high: 0 }
    }

    fn sends(&mut self, bytes: i64) {
        self.departs(self.high, self.high + bytes, Sending::New);
        self.high += bytes;
    }

    fn departs(&mut self, start: i64, end: i64, sending: Sending) {
        self.leaves(Departure { start, end, sending, ..self.departure() });
    }

    fn leaves(&mut self, departure: Departure) {
        let length = u32::try_from(departure.end - departure.start).unwrap_or(MSS);
        self.budget.on_departure(&Departure { at: self.now, length, ..departure });
    }

    /// What leaves beside the sender.
    fn departure(&self) -> Departure {
        Departure {
            at: self.now,
            start: self.high,
            end: self.high,
            length: 0,
            mss: MSS,
            sending: Sending::New,
            base: Some(RTT),
            smoothed: Some(RTT),
            lag: 0,
            onward: 0,
            afar: None,
            prompted: false,
            unheard: false,
        }
    }

    fn acknowledged(&mut self, una: i64, window: u32, data: bool) {
        self.acknowledged_after(RTT, una, window, data);
    }

    fn acknowledged_after(&mut self, delay: i64, una: i64, window: u32, data: bool) {
        self.budget.on_arrival(
            &Arrival {
                at: self.now,
                una,
                window,
                data,
                marked: false,
                delay: Some(delay),
                sent: Some(self.now - delay),
            },
            MSS,
        );
    }

    fn account(self) -> Account {
        let end = self.now;
        self.account_until(end)
    }

    fn account_until(mut self, end: i64) -> Account {
        self.budget.account(&Whole {
            handshake: RTT,
            end,
            base: Some(RTT as f64),
            mss: f64::from(MSS),
            known: true,
            closed: false,
        })
    }
}

/// A window of ten segments, `rounds` times, with pauses before some of them.
fn window_limited(rounds: i64, pause: impl Fn(i64) -> i64) -> Account {
    let mut paced = Paced::new(10_000);
    for round in 0..rounds {
        paced.now += pause(round);
        for _ in 0..10 {
            paced.sends(1000);
        }
        paced.now += RTT;
        paced.acknowledged(paced.high, 10_000, false);
    }
    paced.account()
}

fn share(account: &Account, state: State) -> f64 {
    let whole: i64 = account.times.iter().sum();
    account.times[state.index()] as f64 / whole as f64
}

#[test]
fn a_window_that_is_always_full_is_the_windows() {
    let account = window_limited(250, |_| 0);
    assert!(share(&account, State::Window) >= 0.95, "{:?}", account.times);
    assert_eq!(account.times.iter().sum::<i64>(), 251 * RTT);
}

#[test]
fn silences_with_acknowledgements_unanswered_are_the_senders() {
    let account = window_limited(250, |round| if round % 10 == 9 { 50 * MS } else { 0 });
    assert_eq!(account.times[State::IdleSender.index()], 25 * 50 * MS, "{:?}", account.times);
    assert_eq!(account.idle.0, 25);
    assert_eq!(account.idle.1, 50 * MS);
}

#[test]
fn a_request_that_acknowledges_the_answer_was_waited_for() {
    // The client asks again 300 ms after each answer, and acknowledges it with nothing before.
    let mut paced = Paced::new(100_000);
    paced.sends(900);
    for _ in 0..20 {
        paced.now += RTT + 300 * MS;
        paced.acknowledged(paced.high, 65_000, true);
        paced.sends(900);
    }
    paced.now += RTT;
    paced.acknowledged(paced.high, 65_000, false);
    let account = paced.account();
    assert_eq!(account.times[State::Peer.index()], 20 * 300 * MS, "{:?}", account.times);
}

#[test]
fn a_window_of_unknown_scale_limits_nothing_that_can_be_told() {
    // 501 in the header is 64,128 bytes with the scale that was agreed before the capture.
    let mut paced = Paced::of(Window::Estimated);
    for _ in 0..20 {
        paced.sends(400);
        paced.now += RTT;
        paced.acknowledged(paced.high, 501, true);
        paced.now += 10 * MS;
    }
    let account = paced.account();
    for state in [State::ZeroWindow, State::ReceiverWindow, State::Window] {
        assert_eq!(account.times[state.index()], 0, "{state:?}: {:?}", account.times);
    }
    // A window of 0 is one at any scale.
    let mut paced = Paced::of(Window::Estimated);
    for _ in 0..20 {
        paced.sends(400);
        paced.now += RTT;
        paced.acknowledged(paced.high, 0, false);
        paced.now += 100 * MS;
        paced.acknowledged(paced.high, 501, false);
    }
    assert!(share(&paced.account(), State::ZeroWindow) > 0.5);
}

#[test]
fn requests_and_answers_are_told_apart() {
    // Each request comes 300 ms after the last answer; the answer begins 50 ms later.
    let mut paced = Paced::new(100_000);
    paced.sends(1000);
    for _ in 0..20 {
        paced.now += RTT;
        paced.acknowledged(paced.high, 65_000, false);
        paced.now += 300 * MS;
        paced.acknowledged(paced.high, 65_000, true);
        paced.now += 50 * MS;
        paced.sends(1500);
    }
    paced.now += RTT;
    paced.acknowledged(paced.high, 65_000, false);
    let account = paced.account();
    assert_eq!(account.times[State::Peer.index()], 20 * 300 * MS, "{:?}", account.times);
    assert_eq!(account.times[State::Think.index()], 20 * 50 * MS, "{:?}", account.times);
}

#[test]
fn the_first_flight_of_an_answer_waits_for_no_send_buffer() {
    let mut paced = Paced::new(100_000);
    paced.sends(1000);
    for _ in 0..5 {
        paced.now += RTT;
        paced.acknowledged(paced.high, 100_000, false);
        paced.now += 100 * MS;
        paced.acknowledged(paced.high, 100_000, true);
        for _ in 0..10 {
            paced.now += MS;
            paced.sends(1000);
        }
    }
    paced.now += RTT;
    paced.acknowledged(paced.high, 100_000, false);
    let times = paced.account().times;
    assert_eq!(times[State::SenderBuffer.index()], 0, "{times:?}");
}

#[test]
fn waiting_after_the_last_acknowledged_byte_is_no_part_of_the_transfer() {
    let mut paced = Paced::new(100_000);
    for _ in 0..20 {
        paced.sends(1000);
        paced.now += RTT;
        paced.acknowledged(paced.high, 65_000, false);
    }
    let end = paced.now;
    paced.now += 60_000 * MS;
    paced.acknowledged(paced.high, 65_000, true);
    paced.now += 5 * MS;
    paced.acknowledged(paced.high + 1, 65_000, false); // its FIN
    paced.sends(50); // a goodbye that a reset answers
    let account = paced.account_until(end);
    assert_eq!(account.times[State::Peer.index()], 0);
    assert_eq!(account.times.iter().sum::<i64>(), 21 * RTT);
    assert!(account.phases.iter().all(|phase| phase.end <= end), "{:?}", account.phases);
}

#[test]
fn a_closed_window_is_the_receivers() {
    let mut paced = Paced::new(10_000);
    for _ in 0..40 {
        for _ in 0..10 {
            paced.sends(1000);
        }
        paced.now += RTT;
        paced.acknowledged(paced.high, 0, false);
        paced.now += 2 * RTT;
        paced.acknowledged(paced.high, 10_000, false);
    }
    let account = paced.account();
    assert!(share(&account, State::ZeroWindow) > 0.6, "{:?}", account.times);
}

#[test]
fn a_window_smaller_than_the_handshake_s_has_not_shrunk() {
    let mut paced = Paced::new(64_000);
    paced.sends(1000);
    for _ in 0..100 {
        paced.now += RTT;
        paced.acknowledged(paced.high, 2000, false);
        paced.sends(1000);
        paced.sends(1000);
    }
    paced.now += RTT;
    paced.acknowledged(paced.high, 2000, false);
    let account = paced.account();
    assert!(share(&account, State::Window) > 0.9, "{:?}", account.times);
    assert_eq!(account.times[State::ReceiverWindow.index()], 0, "{:?}", account.times);
}

/// Bursts that end in a short segment, the next one `late` after an acknowledgement of the first
/// part of the last.
fn short_bursts(late: i64) -> Account {
    let mut paced = Paced::new(100_000);
    let burst = |paced: &mut Paced| {
        for bytes in [1000, 1000, 1000, 1000, 1000, 1000, 300] {
            paced.sends(bytes);
        }
    };
    burst(&mut paced);
    for _ in 0..50 {
        paced.now += RTT;
        paced.acknowledged(paced.high - 4300, 100_000, false);
        paced.now += late;
        burst(&mut paced);
    }
    paced.now += RTT;
    paced.acknowledged(paced.high, 100_000, false);
    paced.account()
}

#[test]
fn data_that_an_acknowledgement_released_had_been_written() {
    let buffered = short_bursts(MS / 10);
    assert_eq!(buffered.times[State::IdleApplication.index()], 0, "{:?}", buffered.times);
    let written = short_bursts(5 * MS);
    assert!(share(&written, State::IdleApplication) > 0.9, "{:?}", written.times);
}

/// A second of one endless recovery.
fn recovers(paced: &mut Paced) {
    for _ in 0..50 {
        paced.sends(1000);
        paced.now += RTT;
        paced.acknowledged(0, 1_000_000, false);
        paced.departs(0, 1000, Sending::Repair);
    }
}

#[test]
fn a_pause_turns_nothing_from_before_a_step_of_the_clock() {
    let mut paced = Paced::new(1_000_000);
    recovers(&mut paced);
    recovers(&mut paced);
    paced.budget.on_clock_step();
    paced.now = 0;
    recovers(&mut paced);
    paced.sends(300);
    paced.now += 3 * RTT;
    paced.sends(1000);
    let times = paced.account().times;
    assert_eq!(times[State::IdleApplication.index()], 3 * RTT, "{times:?}");
}

/// Bursts of six segments and `rest` bytes, three round trips apart, while the very first segment
/// is repaired in vain. The next burst leaves `late` after the last duplicate acknowledgement.
fn bursts_within_recovery(rest: i64, late: i64) -> Account {
    let mut paced = Paced::new(1_000_000);
    for _ in 0..30 {
        for bytes in [1000, 1000, 1000, 1000, 1000, 1000, rest] {
            paced.sends(bytes);
        }
        paced.now += RTT;
        paced.acknowledged(0, 1_000_000, false);
        paced.departs(0, 1000, Sending::Repair);
        paced.now += 2 * RTT - late;
        paced.acknowledged(0, 1_000_000, false);
        paced.now += late;
    }
    paced.account()
}

#[test]
fn a_writer_that_paused_while_losses_were_repaired_paused() {
    let paused = bursts_within_recovery(300, 5 * MS);
    assert!(share(&paused, State::IdleApplication) > 0.9, "{:?}", paused.times);
    for released in [bursts_within_recovery(300, MS / 10), bursts_within_recovery(1000, 5 * MS)] {
        assert_eq!(released.times[State::IdleApplication.index()], 0, "{:?}", released.times);
        assert!(share(&released, State::Recovery) > 0.9, "{:?}", released.times);
    }
}

#[test]
fn unanswered_retransmissions_are_an_outage() {
    let mut paced = Paced::new(100_000);
    for _ in 0..20 {
        paced.sends(1000);
        paced.now += RTT;
        paced.acknowledged(paced.high, 65_000, false);
    }
    paced.sends(1000);
    for wait in [300, 600, 1200, 2400] {
        paced.now += wait * MS;
        paced.departs(paced.high - 1000, paced.high, Sending::Timer);
    }
    paced.now += RTT;
    paced.acknowledged(paced.high, 65_000, false);
    let account = paced.account();
    assert!(account.times[State::Outage.index()] >= 4200 * MS, "{:?}", account.times);
    assert_eq!(account.times[State::IdleSender.index()], 0);
}

/// Bursts that a path of a packet per millisecond delivers, and then `packets` at a time, each time
/// behind a queue of two round trips.
fn behind_others(packets: i64) -> Account {
    let mut paced = Paced::new(1_000_000);
    for round in 0..60 {
        let (burst, queued) = if round < 20 { (30, 0) } else { (packets, 2 * RTT) };
        let (sent, first) = (paced.now, paced.high);
        for _ in 0..burst {
            paced.sends(1000);
        }
        for packet in 0..burst {
            paced.now = sent + RTT + queued + packet * MS;
            let una = first + (packet + 1) * 1000;
            paced.acknowledged_after(paced.now - sent, una, 1_000_000, false);
        }
    }
    paced.account()
}

#[test]
fn a_packet_that_waited_behind_others_did_not_fill_the_path() {
    let bursts = 20 * (RTT + 29 * MS);
    let alone = behind_others(1);
    assert!(alone.times[State::Path.index()] <= bursts, "{:?}", alone.times);
    let many = behind_others(30);
    assert!(many.times[State::Path.index()] >= 40 * (3 * RTT + 29 * MS), "{:?}", many.times);
}

const TIMED: Afar = Afar { whole: true, timed: true };

/// Segments that were acknowledged are sent again, `unheard` or not: always the first one, or,
/// after one timeout, one after the other.
fn repeated_in_vain(unheard: bool, same: bool) -> Account {
    let mut paced = Paced::new(100_000);
    for _ in 0..3 {
        paced.sends(1000);
    }
    paced.now += RTT;
    paced.acknowledged(3000, 65_000, false);
    for (at, wait) in [(0, 300), (1000, 600), (2000, 1200)] {
        paced.now += wait * MS;
        let start = if same { 0 } else { at };
        let (end, sending) = (start + 1000, Sending::Needless);
        paced.leaves(Departure { start, end, sending, unheard, ..paced.departure() });
    }
    paced.account()
}

#[test]
fn acknowledgements_that_the_sender_never_heard_were_lost_on_the_way() {
    let lost = repeated_in_vain(true, true);
    assert!(lost.times[State::Outage.index()] >= 2000 * MS, "{:?}", lost.times);
    for late in [repeated_in_vain(false, true), repeated_in_vain(true, false)] {
        assert!(late.times[State::IdleSender.index()] >= 2000 * MS, "{:?}", late.times);
    }
}

#[test]
fn an_answer_that_is_prepared_is_not_ended_by_a_repetition() {
    let mut paced = Paced::new(100_000);
    paced.sends(1000);
    paced.now += RTT;
    paced.acknowledged(1000, 65_000, false);
    paced.acknowledged(1000, 65_000, true);
    paced.now += 40 * MS;
    paced.departs(0, 1000, Sending::Needless);
    paced.now += 60 * MS;
    paced.sends(1000);
    paced.now += RTT;
    paced.acknowledged(2000, 65_000, false);
    let account = paced.account();
    assert_eq!(account.times[State::Think.index()], 100 * MS, "{:?}", account.times);
}

/// Bursts of ten segments beside the receiver, the next one `wait` after the last.
fn bursts_afar(timed: bool, wait: i64) -> Account {
    let mut paced = Paced::new(100_000);
    for _ in 0..30 {
        for _ in 0..10 {
            let (end, afar) = (paced.high + 1000, Some(Afar { timed, ..TIMED }));
            paced.leaves(Departure { end, afar, ..paced.departure() });
            paced.high = end;
        }
        paced.now += MS;
        paced.acknowledged(paced.high, 100_000, false);
        paced.now += wait;
    }
    paced.account()
}

#[test]
fn a_silence_without_the_sender_s_clock_may_be_a_round_trip() {
    let timed = bursts_afar(true, 3 * RTT);
    assert!(share(&timed, State::IdleSender) > 0.8, "{:?}", timed.times);
    let untimed = bursts_afar(false, 3 * RTT);
    assert_eq!(untimed.times[State::IdleSender.index()], 0, "{:?}", untimed.times);
    assert!(share(&untimed, State::Unknown) > 0.8, "{:?}", untimed.times);
    let long = bursts_afar(false, 9 * RTT);
    assert!(share(&long, State::IdleSender) > 0.8, "{:?}", long.times);
}

#[test]
fn a_round_that_waits_for_a_repair_is_no_full_send_buffer() {
    for (waits, below, buffer) in [(5, 110 * MS, 0), (1, 0, 2 * RTT)] {
        let mut paced = Paced::new(100_000);
        for _ in 0..10 {
            for _ in 0..10 {
                paced.sends(1000);
            }
            paced.now += RTT;
            paced.acknowledged(paced.high - 1000, 100_000, false);
        }
        let before = paced.high - 1000;
        for _ in 0..10 {
            paced.now += waits * RTT / 10;
            paced.acknowledged(before, 100_000, false);
            paced.sends(1000);
        }
        paced.departs(before, before + 1000, Sending::Repair);
        paced.now += RTT;
        paced.acknowledged(paced.high, 100_000, false);
        let times = paced.account().times;
        assert_eq!(times[State::BelowPath.index()], below, "{times:?}");
        assert_eq!(times[State::SenderBuffer.index()], buffer, "{times:?}");
    }
}

/// Twenty rounds of ten or fourteen segments seen beside the receiver; in each the fourth comes
/// `late`, and is what `sending` says.
fn out_of_order(sending: Sending, late: i64) -> Account {
    let mut paced = Paced::new(1_000_000);
    for round in 0..20 {
        let segments = 10 + 4 * (round % 2);
        let (began, first) = (paced.now, paced.high);
        let mut arrive = |at: i64, segment: i64, sending: Sending| {
            let (start, afar) = (first + segment * 1000, Some(TIMED));
            paced.now = at;
            paced.leaves(Departure {
                start,
                end: start + 1000,
                sending,
                afar,
                ..paced.departure()
            });
        };
        for segment in (0..segments).filter(|&segment| segment != 3) {
            arrive(began + segment * MS / 10, segment, Sending::New);
        }
        arrive(began + MS + late, 3, sending);
        paced.high = first + segments * 1000;
        paced.now = began + RTT + late;
        paced.acknowledged(paced.high, 1_000_000, false);
    }
    paced.account()
}

#[test]
fn an_overtaken_segment_is_no_loss() {
    let overtaken = out_of_order(Sending::New, MS);
    assert_eq!(overtaken.times[State::Recovery.index()], 0, "{:?}", overtaken.times);
    assert_eq!(overtaken.levels.0, 0);
    let lost = out_of_order(Sending::Fill, RTT);
    assert!(share(&lost, State::Recovery) > 0.9, "{:?}", lost.times);
    // Three segments were outstanding at each loss; at the repairs ten or fourteen were.
    assert_eq!(lost.levels, (20, Some(0.0)));
}

/// 4,000 segments, of which so many queue at once and come back at the link's pace.
fn paced_by(at_once: i64, each: impl Fn(i64) -> i64) -> Paced {
    let mut paced = Paced::new(1_000_000);
    let mut sent = 0;
    for round in 0..4000 / at_once {
        for _ in 0..at_once {
            paced.sends(1000);
        }
        let began = paced.now;
        for segment in 1..=at_once {
            sent += 1000;
            paced.now = began + RTT + segment * each(round);
            paced.budget.on_arrival(
                &Arrival {
                    at: paced.now,
                    una: sent,
                    window: 1_000_000,
                    data: false,
                    marked: false,
                    delay: Some(RTT + segment * each(round)),
                    sent: Some(began),
                },
                MSS,
            );
        }
    }
    paced
}

#[test]
fn equal_rates_on_either_side_of_a_change_are_not_split_further() {
    // What is left of the variance is rounding alone.
    let mut split = Vec::new();
    for (fast, slow) in
        [(745_341, 2_166_064), (1_234_567, 3_333_333), (700_001, 1_900_003), (333_333, 777_777)]
    {
        for at in 2..18 {
            let paced = paced_by(200, |round| if round < at { fast } else { slow });
            let change = paced.account().change;
            if change.is_none_or(|change| change.count != 1 || change.before < 1.5 * change.after) {
                split.push((fast, at, change));
            }
        }
    }
    assert!(split.is_empty(), "{} {split:?}", split.len());
}

#[test]
fn a_rate_that_falls_once_is_found_with_one_change() {
    for (at_once, at) in [(10, 20), (10, 200), (10, 360), (200, 3), (200, 10), (200, 18)] {
        let paced = paced_by(at_once, |round| if round < at { MS } else { 2 * MS });
        let change = paced.account().change;
        let change = change.as_ref();
        assert_eq!(change.map(|change| change.count), Some(1), "at {at}");
        assert!(
            change.is_some_and(|change| (change.before / 1e6 - 1.0).abs() < 0.05
                && (change.after / 0.5e6 - 1.0).abs() < 0.05
                && change.left < 0.05),
            "at {at}: {change:?}"
        );
    }
}

proptest! {
    /// A pause of known length adds exactly that to one state, and shares stay complete.
    #[test]
    fn a_pause_adds_exactly_itself(rounds in 20_i64..400, at in 1_i64..19, pause in 10_i64..3000) {
        let without = window_limited(rounds, |_| 0);
        let with = window_limited(rounds, |round| if round == at { pause * MS } else { 0 });
        for state in State::ALL {
            let more = with.times[state.index()] - without.times[state.index()];
            let expected = if state == State::IdleSender { pause * MS } else { 0 };
            prop_assert_eq!(more, expected, "{}", state.name());
        }
    }

    /// However long a transfer, its phases are few, in order, and hold all of its time.
    #[test]
    fn phases_are_few_and_complete(rounds in 1_i64..4000, every in 2_i64..40) {
        let pause = |round: i64| if round % every == 0 { 30 * MS } else { 0 };
        let account = window_limited(rounds, pause);
        prop_assert!(account.phases.len() <= 256);
        let mut times = [0; STATES];
        for phase in &account.phases {
            for (time, more) in times.iter_mut().zip(phase.times) {
                *time += more;
            }
        }
        prop_assert_eq!(times, account.times);
        prop_assert!(account.phases.windows(2).all(|pair| pair[0].end <= pair[1].start));
    }
}
