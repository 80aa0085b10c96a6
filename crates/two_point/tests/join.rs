//! What is found of a connection whose every frame is known.

mod scene;

use proptest::prelude::*;
use scene::{Client, Clock, Fate, MS, PAYLOAD, S, Scene, key, span};
use trustbed_flow::FlowKey;
use trustbed_two_point::{Capture, Direction, Fates, Frame, JoinLimits, Relation, RelationError};
use trustbed_units::{Ns, Span};

const AHEAD: Clock = Clock { ahead: 3 * S, skew: 0.0 };

fn plain(fates: &[Fate]) -> Scene {
    let mut scene = Scene::default();
    scene.transfer(Client::default(), fates, AHEAD);
    scene.sorted()
}

fn counted(sent: u64, delivered: u64, lost: u64) -> Fates {
    Fates { sent, delivered, lost, missed: 0, indeterminate: 0 }
}

#[test]
fn clocks_are_compared_by_the_least_delays_of_both_ways() {
    let fates: Vec<Fate> = (0..20).map(|n| Fate::Takes(10 * MS + n * 1000)).collect();
    let relation = plain(&fates).relation().unwrap();
    assert_eq!(
        (relation.ahead.height, relation.error, relation.owd_min),
        (span(3 * S), span(10 * MS), [span(10 * MS); 2])
    );
    assert_eq!(
        (relation.near(&key(40_000).source(0)), relation.near(&key(40_000).source(1))),
        (Some(Capture::First), Some(Capture::Second))
    );
    assert_eq!(relation.skew_error, None);
}

#[test]
fn an_asymmetric_path_is_wrong_by_less_than_the_error_that_is_stated() {
    let scene = plain(&[Fate::Takes(2 * MS); 10]);
    let relation = scene.relation().unwrap();
    assert_eq!((relation.ahead.height, relation.error), (span(3 * S - 4 * MS), span(6 * MS)));
    let stated = scene.stated(span(3 * S)).unwrap();
    assert_eq!((stated.error, stated.owd_min), (Span::ZERO, [span(2 * MS), span(10 * MS)]));
}

#[test]
fn every_frame_is_counted_where_it_was_seen() {
    let mut fates = vec![Fate::Takes(10 * MS); 30];
    (fates[3], fates[4], fates[9], fates[20]) =
        (Fate::Lost(50 * MS), Fate::Lost(50 * MS), Fate::Lost(300 * MS), Fate::Missed(10 * MS));
    let mut scene = Scene::default();
    let before = Client { key: key(40_001), begin: S - 100 * MS, ..Client::default() };
    scene.transfer(before, &[Fate::Takes(10 * MS); 3], AHEAD);
    scene.transfer(Client::default(), &fates, AHEAD);
    let scene = scene.sorted();
    let (join, two_point) = scene.join(scene.relation().unwrap(), &JoinLimits::default());
    let [_, _, data, answers] = two_point.as_slice() else { panic!("two directions") };
    assert_eq!(
        data.data,
        Fates { missed: 1, ..counted(32, 29, 3) },
        "two were lost one behind the other"
    );
    assert_eq!((data.lost_bytes, data.loss_events, data.spurious), (3 * u64::from(PAYLOAD), 2, 0));
    assert_eq!(answers.no_payload, counted(30, 30, 0));
    assert_eq!((data.from, answers.from), (Capture::First, Capture::Second));
    // What was sent again arrived behind what was sent after it the first time, but not behind what
    // was sent after it.
    assert_eq!(data.reordered, 0);
    assert_eq!((data.owd_min, data.delays_negative), (Some(span(10 * MS)), 0));
    assert_eq!(join.facts().without_capture_point, [0, 0]);
}

#[test]
fn spurious_retransmissions_are_distinguished_from_needed_ones() {
    let mut scene = plain(&[Fate::Takes(10 * MS); 10]);
    let again = *scene.seen[0].iter().find(|frame| frame.payload > 0).unwrap();
    let fingerprint = scene::fingerprint(999);
    scene.seen[0].push(Frame { at: again.at + span(40 * MS), fingerprint, ..again });
    scene.seen[1].push(Frame { at: again.at + span(3 * S + 50 * MS), fingerprint, ..again });
    let scene = scene.sorted();
    let (_, two_point) = scene.join(scene.relation().unwrap(), &JoinLimits::default());
    assert_eq!((two_point[0].spurious, two_point[0].data), (1, counted(11, 11, 0)));
}

#[test]
fn a_round_trip_is_taken_apart_without_comparing_clocks() {
    let scene = plain(&[Fate::Takes(30 * MS); 40]);
    // As wrong as the asymmetry makes it: 10 ms.
    let relation = scene.relation().unwrap();
    let (_, mut two_point) = scene.join(relation, &JoinLimits::default());
    let trips = &mut two_point[0].round_trips;
    let medians = [&mut trips.whole, &mut trips.turnaround, &mut trips.path]
        .map(|one| (one.count(), one.min(), one.max()));
    let exactly = |nanoseconds| (40, Some(nanoseconds), Some(nanoseconds));
    assert_eq!(medians, [exactly(40 * MS + 50_000), exactly(50_000), exactly(40 * MS)]);
}

#[test]
fn what_was_sent_again_is_timed_from_the_copy_that_arrived() {
    let scene = plain(&[Fate::Takes(10 * MS), Fate::Lost(50 * MS), Fate::Takes(10 * MS)]);
    let (_, mut two_point) = scene.join(scene.relation().unwrap(), &JoinLimits::default());
    // Not from the copy that was lost, 50 ms before.
    assert_eq!(two_point[0].round_trips.whole.max(), Some(20 * MS + 50_000));
    assert_eq!(two_point[0].round_trips.whole.quantile(0.5), Some(20_050_000.0));
}

#[test]
fn what_one_capture_could_not_see_is_not_lost() {
    let scene = plain(&vec![Fate::Takes(10 * MS); 1500]);
    let relation = scene.relation().unwrap();
    let mut late = Scene { seen: scene.seen.clone(), number: 0 };
    // The second capture begins a second later and ends half a second earlier.
    late.seen[1].retain(|frame| (5 * S..6 * S + S / 2).contains(&frame.at.0));
    let (_, two_point) = late.join(relation, &JoinLimits::default());
    let data = two_point[0].data;
    assert_eq!(data.sent, 1500);
    assert!((740..=760).contains(&data.delivered), "{data:?}");
    assert_eq!((data.lost, data.missed, data.indeterminate), (0, 0, 1500 - data.delivered));
}

#[test]
fn what_was_in_transit_when_the_first_capture_began_is_not_lost() {
    // A queue: the frames take 300 ms, where the least takes ten.
    let mut fates = vec![Fate::Takes(300 * MS); 1500];
    (fates[0], fates[900], fates[1000]) =
        (Fate::Takes(10 * MS), Fate::Missed(300 * MS), Fate::Lost(100 * MS));
    let scene = plain(&fates);
    let relation = scene.relation().unwrap();
    let mut late = Scene { seen: scene.seen.clone(), number: 0 };
    // It begins a second after the first frame was sent.
    late.seen[0].retain(|frame| frame.at.0 >= 2 * S);
    let (_, two_point) = late.join(relation, &JoinLimits::default());
    let data = two_point.iter().find(|one| one.direction == 0).unwrap().data;
    assert_eq!(data, Fates { missed: 1, indeterminate: 500, ..counted(1000, 999, 1) });
}

#[test]
fn memory_is_bounded_by_deciding_nothing_about_the_oldest() {
    let mut scene = plain(&[Fate::Takes(10 * MS); 200]);
    let relation = scene.relation().unwrap();
    let last = scene.seen[1].len() - 1;
    scene.seen[1].retain(|frame| frame.payload == 0);
    assert!(scene.seen[1].len() < last);
    let (_, two_point) = scene.join(relation, &JoinLimits { waiting: 20, ..JoinLimits::default() });
    assert_eq!(
        (two_point[0].data.sent, two_point[0].data.indeterminate + two_point[0].data.lost),
        (200, 200)
    );
    assert!(two_point[0].data.indeterminate >= 180);
}

#[test]
fn what_waits_of_many_connections_is_bounded_and_losses_are_still_known() {
    let mut fates = vec![Fate::Takes(10 * MS); 2000];
    for lost in (50..2000).step_by(100) {
        fates[lost] = Fate::Lost(50 * MS);
    }
    let mut scene = Scene::default();
    scene.transfer(Client::default(), &fates, AHEAD);
    for port in 0..20 {
        unjoined(&mut scene, FlowKey { high: [9; 16], ..key(1000 + port) }, true);
    }
    let scene = scene.sorted();
    let limits = JoinLimits { waiting_total: 400, ..JoinLimits::default() };
    let (join, two_point) = scene.join(scene.relation().unwrap(), &limits);
    assert!(join.facts().most_waiting <= 401, "{}", join.facts().most_waiting);
    assert_eq!(
        two_point.iter().find(|one| one.key == key(40_000)).unwrap().data,
        counted(2020, 2000, 20)
    );
}

#[test]
fn what_waits_is_bounded_where_every_frame_has_the_same_time() {
    let mut scene = plain(&[Fate::Takes(10 * MS); 50]);
    let relation = scene.relation().unwrap();
    for number in 0..4000 {
        let key = key(1000 + u16::try_from(number % 100).unwrap());
        let once = Frame { at: Ns(2 * S), ..scene::frame(key, 0, 10_000 + number) };
        scene.seen[0].push(once);
    }
    let limits = JoinLimits { waiting_total: 400, ..JoinLimits::default() };
    let (join, two_point) = scene.join(relation, &limits);
    assert!(join.facts().most_waiting <= 401, "{}", join.facts().most_waiting);
    let counted: u64 = two_point.iter().map(|one| one.data.sent + one.no_payload.sent).sum();
    assert_eq!(counted, 4000 + 100, "each frame has one fate");
}

#[test]
fn what_is_unacknowledged_is_bounded_and_who_is_acknowledged_keeps_its_round_trips() {
    let mut scene = Scene::default();
    scene.transfer(Client::default(), &[Fate::Takes(10 * MS); 200], AHEAD);
    // Ten clients whose frames all arrive and are never acknowledged.
    for port in 0..10 {
        let from = scene.seen.each_ref().map(Vec::len);
        let silent = Client { key: key(1000 + port), ..Client::default() };
        scene.transfer(silent, &[Fate::Takes(10 * MS); 200], AHEAD);
        for (frames, from) in scene.seen.iter_mut().zip(from) {
            let answers = frames.split_off(from).into_iter().filter(|frame| frame.ack.is_none());
            frames.extend(answers);
        }
    }
    let scene = scene.sorted();
    let limits = JoinLimits { outstanding_total: 400, ..JoinLimits::default() };
    let (join, two_point) = scene.join(scene.relation().unwrap(), &limits);
    let facts = join.facts();
    assert!((300..=401).contains(&facts.most_outstanding), "{facts:?}");
    let of = |port| two_point.iter().find(|one| one.key == key(port) && one.direction == 0);
    let answered = of(40_000).unwrap();
    assert_eq!((answered.round_trips.whole.count(), answered.round_trips.left_out), (200, 0));
    let all = |two_point: &[Direction]| -> u64 {
        two_point.iter().map(|one| one.round_trips.left_out).sum()
    };
    let left_out = all(&two_point);
    assert!((2000 - 400..2000).contains(&left_out), "{left_out} of 2000");
    assert!(two_point.iter().all(|one| one.data.delivered == one.data.sent), "nothing else");
    let (join, two_point) = scene.join(scene.relation().unwrap(), &JoinLimits::default());
    assert!(join.facts().most_outstanding > 2000 && all(&two_point) == 0);
}

#[test]
fn what_the_other_capture_is_too_short_for_does_not_wait() {
    // A minute, of which the second capture has half a second, at the beginning or at the end.
    let scene = plain(&vec![Fate::Takes(10 * MS); 30_000]);
    let relation = scene.relation().unwrap();
    for from in [4 * S, 63 * S] {
        let mut short = Scene { seen: scene.seen.clone(), number: 0 };
        short.seen[1].retain(|frame| (from..from + S / 2).contains(&frame.at.0));
        let (join, two_point) = short.join(relation.clone(), &JoinLimits::default());
        let data = two_point[0].data;
        assert_eq!(
            (data.sent, data.lost, data.delivered + data.indeterminate),
            (30_000, 0, 30_000),
            "{data:?}"
        );
        assert!(
            data.delivered > 200 && join.facts().most_waiting < 11_000,
            "{data:?}, {}",
            join.facts().most_waiting
        );
    }
}

#[test]
fn a_capture_that_is_silent_for_a_while_goes_on() {
    // For half a minute everything is lost: the second capture has not ended.
    let mut fates = vec![Fate::Takes(10 * MS); 200];
    fates[50..150].fill(Fate::Lost(20 * S));
    let mut scene = Scene::default();
    scene.transfer(Client { every: 200 * MS, ..Client::default() }, &fates, AHEAD);
    let scene = scene.sorted();
    let (_, two_point) = scene.join(scene.relation().unwrap(), &JoinLimits::default());
    assert_eq!(two_point[0].data, counted(300, 200, 100));
}

#[test]
fn more_connections_than_are_held_are_finished_early() {
    let mut scene = Scene::default();
    for port in 0..40 {
        let client = Client {
            key: key(1000 + port),
            begin: S + i64::from(port) * 100 * MS,
            ..Client::default()
        };
        scene.transfer(client, &[Fate::Takes(10 * MS); 10], AHEAD);
    }
    let scene = scene.sorted();
    let (join, two_point) = scene
        .join(scene.relation().unwrap(), &JoinLimits { connections: 8, ..JoinLimits::default() });
    assert!(join.facts().evicted >= 30);
    assert_eq!(two_point.len(), 80);
    assert!(
        two_point.iter().filter(|one| one.data.sent > 0).all(|one| one.data == counted(10, 10, 0))
    );
}

#[test]
fn a_successor_on_the_same_ports_is_a_connection_of_its_own() {
    let mut scene = Scene::default();
    for (begin, seq) in [(S, 1000), (20 * S, 9000)] {
        let before = [scene.seen[0].len(), scene.seen[1].len()];
        scene.transfer(Client { begin, ..Client::default() }, &[Fate::Takes(10 * MS); 10], AHEAD);
        for (frames, from) in scene.seen.iter_mut().zip(before) {
            let opening = frames[from..].iter_mut().find(|frame| frame.payload > 0).unwrap();
            (opening.opens, opening.seq, opening.payload, opening.length) = (true, seq, 0, 1);
        }
    }
    let scene = scene.sorted();
    let (_, two_point) = scene.join(scene.relation().unwrap(), &JoinLimits::default());
    let sent: Vec<u64> = two_point.iter().map(|one| one.data.sent + one.no_payload.sent).collect();
    assert_eq!(sent, [10, 10, 10, 10]);
}

#[test]
fn captures_that_share_nothing_are_not_joined() {
    let mut other = Scene { number: 10_000, ..Scene::default() };
    other.transfer(Client { back: MS, ..Client::default() }, &[Fate::Takes(MS); 50], AHEAD);
    let mut scene = plain(&[Fate::Takes(10 * MS); 50]);
    scene.seen[1] = other.sorted().seen[1].clone();
    assert_eq!(scene.relation(), Err(RelationError::TooFew { matches: 0, needed: 4 }));
    let mut one_way = plain(&[Fate::Takes(10 * MS); 50]);
    one_way.seen[1].retain(|frame| frame.direction == 0);
    assert_eq!(one_way.relation(), Err(RelationError::OneWay));
}

#[test]
fn a_quiet_connection_is_not_located_by_how_far_the_clocks_drift_between_its_frames() {
    let clock = Clock { ahead: 3 * S, skew: 50e-6 };
    let quick = Client { every: 20 * MS, back: MS / 10, turnaround: 10_000, ..Client::default() };
    let mut scene = Scene::default();
    scene.transfer(quick, &vec![Fate::Takes(MS / 10); 5000], clock);
    let quiet = Client { key: key(40_001), every: 2 * S, turnaround: S, ..quick };
    scene.transfer(quiet, &[Fate::Takes(MS / 10); 50], clock);
    // Of its answers only late ones are compared: 3 ms of drift behind its first frames, where the
    // path there and back takes 0.2 ms.
    scene.seen.iter_mut().for_each(|seen| {
        seen.retain(|frame| {
            frame.key != quiet.key || frame.direction == 0 || frame.at.0 % (1000 * S) > 60 * S
        });
    });
    let scene = scene.sorted();
    let relation = scene.relation().unwrap();
    assert_eq!((relation.slewed, relation.near(&quiet.key.source(0))), (None, None));
    assert!(relation.error < span(MS / 10 + 10) && relation.skew_error.is_some(), "{relation:?}");
    let (_, two_point) = scene.join(relation, &JoinLimits::default());
    assert_eq!(two_point.iter().map(|one| one.from.index()).collect::<Vec<_>>(), [0, 1, 0, 1]);
    assert!(two_point.iter().all(|one| one.delays_negative == 0));
}

#[test]
fn a_server_at_both_capture_points_is_located_by_its_clients() {
    let mut scene = Scene::default();
    scene.transfer(Client::default(), &[Fate::Takes(10 * MS); 40], AHEAD);
    // The same endpoint beside the first point: what it sends is in the first capture first.
    let mirrored = FlowKey { low: [3; 16], ..key(40_000) };
    let mut other = Scene { number: 1000, ..Scene::default() };
    other.transfer(
        Client { key: mirrored, ..Client::default() },
        &[Fate::Takes(10 * MS); 40],
        Clock { ahead: -3 * S, skew: 0.0 },
    );
    let [first, second] = other.seen;
    scene.seen[0]
        .extend(second.into_iter().map(|frame| Frame { at: frame.at + span(3 * S), ..frame }));
    scene.seen[1]
        .extend(first.into_iter().map(|frame| Frame { at: frame.at + span(3 * S), ..frame }));
    let relation = scene.sorted().relation().unwrap();
    assert_eq!(relation.near(&key(40_000).source(1)), None);
    assert_eq!(
        [0, 1].map(|direction| relation.origin(&key(40_000), direction)),
        [Some(Capture::First), Some(Capture::Second)]
    );
    assert_eq!(
        [0, 1].map(|direction| relation.origin(&mirrored, direction)),
        [Some(Capture::Second), Some(Capture::First)]
    );
}

/// A scene whose second clock does not run evenly: by so much at a moment of true time.
fn slewed(mut scene: Scene, by: impl Fn(i64) -> i64) -> Scene {
    for frame in &mut scene.seen[1] {
        frame.at = frame.at + span(by(frame.at.0 - 3 * S));
    }
    scene.sorted()
}

#[test]
fn clocks_that_were_slewed_by_more_than_the_path_takes_are_compared_bit_by_bit() {
    let quick = Client { every: 5 * MS, back: MS / 10, turnaround: 10_000, ..Client::default() };
    let mut scene = Scene::default();
    scene.transfer(quick, &vec![Fate::Takes(MS / 10); 8000], Clock { ahead: 3 * S, skew: 0.0 });
    // Four milliseconds to and fro in forty seconds, where the path takes a tenth of one.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "nanoseconds of a minute"
    )]
    let by = |at: i64| (2e6 * (at as f64 / 40e9 * std::f64::consts::TAU).sin()) as i64;
    let scene = slewed(scene, by);
    let relation = scene.relation().unwrap();
    let reach = relation.slewed.unwrap();
    assert!(reach >= span(3 * MS) && reach <= span(5 * MS), "{reach:?}");
    assert!(relation.error <= span(MS / 10 + MS / 1000), "{:?}", relation.error);
    for at in (2..40).map(|second| second * S) {
        let off = relation.ahead_at(Ns(at)) - span(3 * S + by(at));
        assert!(off.0.abs() <= MS / 1000, "{at}: {off:?}");
    }
    let (_, two_point) = scene.join(relation, &JoinLimits::default());
    let delivered: u64 = two_point.iter().map(|one| one.data.delivered).sum();
    assert_eq!(delivered, 8000);
}

#[test]
fn a_clock_that_was_set_by_a_little_is_followed() {
    let quick = Client { every: 5 * MS, back: MS, turnaround: 10_000, ..Client::default() };
    let mut scene = Scene::default();
    scene.transfer(quick, &vec![Fate::Takes(MS); 4000], Clock { ahead: 3 * S, skew: 0.0 });
    let scene = slewed(scene, |at| if at > 10 * S { 50 * MS } else { 0 });
    let relation = scene.relation().unwrap();
    let is_near = |found: Span, truth: i64| (found.0 - truth).abs() < MS / 100;
    assert!(
        is_near(relation.slewed.unwrap(), 50 * MS) && relation.error < span(2 * MS),
        "{relation:?}"
    );
    assert!(
        is_near(relation.ahead_at(Ns(5 * S)), 3 * S)
            && is_near(relation.ahead_at(Ns(15 * S)), 3 * S + 50 * MS)
    );
}

#[test]
fn a_clock_that_was_set_is_noticed() {
    let mut scene = plain(&[Fate::Takes(10 * MS); 400]);
    let middle = scene.seen[1].len() / 2;
    for frame in &mut scene.seen[1][middle..] {
        frame.at = frame.at - span(S);
    }
    let Err(RelationError::Stepped { by }) = scene.sorted().relation() else {
        panic!("a clock was set")
    };
    assert!((by.0 - S).abs() < MS, "{by:?}");
}

/// To and fro by a millisecond in forty seconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "nanoseconds of a minute"
)]
fn wandering(at: i64) -> i64 {
    (1e6 * (at as f64 / 40e9 * std::f64::consts::TAU).sin()) as i64
}

#[test]
fn a_queue_while_a_clock_is_slewed_is_a_queue() {
    let quick = Client { every: 5 * MS, back: MS / 10, turnaround: 10_000, ..Client::default() };
    // The error is what a clock can go in half of that time, and a round trip.
    for (queued, most) in [(10 * S..18 * S, 2_200_000), (6 * S..36 * S, 7_700_000)] {
        let takes = |at: i64| if queued.contains(&at) { 20 * MS + MS / 10 } else { MS / 10 };
        let fates: Vec<Fate> =
            (0..8000).map(|index| Fate::Takes(takes(S + 5 * MS * index))).collect();
        let mut scene = Scene::default();
        scene.transfer(quick, &fates, AHEAD);
        let scene = slewed(scene, wandering);
        let relation = scene.relation().unwrap();
        assert!(
            relation.error <= span(most) && relation.slewed.unwrap() <= span(2 * MS + MS / 10),
            "{relation:?}"
        );
        check_course(&scene, &relation, wandering).unwrap();
        let error = relation.error;
        let (_, mut two_point) = scene.join(relation, &JoinLimits::default());
        assert!(two_point.iter().all(|one| one.delays_negative == 0));
        let queue = two_point[0].owd_increase.quantile(0.99).unwrap();
        assert!(queue >= (span(20 * MS) - error).as_f64(), "{queue}");
        // The path back was idle all the time.
        assert!(two_point[1].owd_increase.quantile(0.99).unwrap() < span(MS).as_f64());
    }
}

#[test]
fn a_clock_that_was_slewed_fast_is_no_clock_that_was_set_again_and_again() {
    let mut scene = Scene::default();
    let client = Client { every: 5 * MS, turnaround: 10_000, ..Client::default() };
    scene.transfer(client, &vec![Fate::Takes(10 * MS); 4000], AHEAD);
    // 60 ms in ten seconds, as chrony does: three times what the path there and back takes.
    let by = |at: i64| 6 * (at - 5 * S).clamp(0, 10 * S) / 1000;
    let scene = slewed(scene, by);
    let relation = scene.relation().unwrap();
    assert!(relation.error < span(11 * MS), "{relation:?}");
    for at in (6..15).map(|second| second * S) {
        assert!((relation.ahead_at(Ns(at)) - span(3 * S + by(at))).0.abs() < MS / 4, "{at}");
    }
}

#[test]
fn a_skew_is_no_steering_however_far_it_takes_the_clocks() {
    let mut scene = Scene::default();
    let quick = Client { every: 400 * MS, back: MS / 10, turnaround: 10_000, ..Client::default() };
    scene.transfer(quick, &vec![Fate::Takes(MS / 10); 7500], Clock { ahead: 3 * S, skew: 50e-6 });
    // 150 ms in fifty minutes, and a millisecond to and fro.
    let relation = slewed(scene, wandering).relation().unwrap();
    assert!((relation.slewed.unwrap().0 - 2 * MS).abs() < MS / 10, "{:?}", relation.slewed);
}

#[test]
fn a_clock_that_was_set_late_is_noticed_though_lines_agree_in_the_beginning() {
    let mut scene = Scene::default();
    let quick =
        Client { every: 20 * MS, back: MS / 10, turnaround: 10_000, begin: 0, ..Client::default() };
    let clock = Clock { ahead: 3 * S, skew: 50e-6 };
    scene.transfer(quick, &vec![Fate::Takes(MS / 10); 5000], clock);
    let scene = slewed(scene, |at| if at > 70 * S { 5 * MS } else { 0 });
    let relation = scene.relation().unwrap();
    assert!((relation.slewed.unwrap().0 - 5 * MS).abs() < MS / 10, "{:?}", relation.slewed);
    let (_, two_point) = scene.join(relation, &JoinLimits::default());
    assert!(two_point.iter().all(|one| one.delays_negative == 0));
}

#[test]
fn a_stated_offset_is_kept_whatever_delays_do() {
    let client = Client { every: 10 * MS, ..Client::default() };
    // The path there grows by 3 ms in a minute: no skew where one clock stamped both.
    let fates: Vec<Fate> = (0..6000).map(|index| Fate::Takes(5 * MS + index * MS / 2000)).collect();
    let mut scene = Scene::default();
    scene.transfer(client, &fates, AHEAD);
    let scene = scene.sorted();
    let relation = scene.stated(span(3 * S)).unwrap();
    assert_eq!(
        (relation.is_stated, relation.skew_error, relation.owd_min),
        (true, None, [span(5 * MS), span(10 * MS)])
    );
    assert_eq!(relation.ahead_at(Ns(50 * S)), span(3 * S));
    let (_, two_point) = scene.join(relation, &JoinLimits::default());
    assert_eq!(two_point[0].owd_increase.max(), Some(5999 * MS / 2000));
    // The statement decides on frames of one direction, and what contradicts it is reported as it
    // is.
    let mut one_way = Scene { seen: scene.seen, number: 0 };
    one_way.seen[1].retain(|frame| frame.direction == 0);
    let origin = |ahead: i64| one_way.stated(span(ahead)).unwrap().origin(&client.key, 0);
    assert_eq!([origin(3 * S), origin(4 * S)], [Some(Capture::First), Some(Capture::Second)]);
}

/// The offset where frames were compared.
fn check_course(
    scene: &Scene,
    relation: &Relation,
    by: impl Fn(i64) -> i64,
) -> Result<(), TestCaseError> {
    for frame in &scene.seen[0] {
        let wrong = relation.ahead_at(frame.at) - span(3 * S + by(frame.at.0));
        // Rounded to nanoseconds.
        prop_assert!(wrong.0.abs() <= relation.error.0 + 10, "{:?}: {:?}", frame.at, wrong);
    }
    Ok(())
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        20 => (0..5 * MS).prop_map(|jitter| Fate::Takes(10 * MS + jitter)),
        2 => (1_i64..200).prop_map(|after| Fate::Lost(after * MS)),
        1 => (0..5 * MS).prop_map(|jitter| Fate::Missed(10 * MS + jitter)),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_every_frame_has_one_fate_and_the_clocks_lie_within_their_error(
        fates in proptest::collection::vec(fate(), 20..300),
        ahead in -1_000_000 * S..1_000_000 * S,
        back in MS..40 * MS,
        tenths in -1000_i32..1000,
    ) {
        let clock = Clock { ahead, skew: f64::from(tenths) / 10.0 * 1e-6 };
        let mut scene = Scene::default();
        scene.transfer(Client { every: 100 * MS, back, ..Client::default() }, &fates, clock);
        // So that the captures begin before what is looked at, and end long behind it.
        for begin in [-S, 60 * S] {
            let other = Client { key: key(40_001), begin, back, ..Client::default() };
            scene.transfer(other, &[Fate::Takes(10 * MS); 10], clock);
        }
        let scene = scene.sorted();
        let relation = scene.relation().unwrap();
        check_clocks(&relation, clock, fates.len())?;
        let (_, two_point) = scene.join(relation, &JoinLimits::default());
        let lost = fates.iter().filter(|fate| matches!(fate, Fate::Lost(_))).count() as u64;
        let missed = fates.iter().filter(|fate| matches!(fate, Fate::Missed(_))).count() as u64;
        let all = fates.len() as u64;
        let two_point: Vec<_> = two_point.iter().filter(|one| one.key == key(40_000)).collect();
        let expected = Fates { missed, ..counted(all + lost - missed, all - missed, lost) };
        prop_assert_eq!(two_point[0].data, expected);
        prop_assert_eq!(two_point[0].spurious, 0);
        prop_assert_eq!(two_point[1].no_payload, counted(all, all, 0));
    }
}

proptest! {
    #[test]
    fn a_clock_that_is_slewed_is_within_the_error_whatever_queues_do(
        corners in proptest::collection::vec(-450_i64..450, 40),
        queues in proptest::collection::vec((0..2000_usize, 0..1000_usize, 0..30 * MS), 0..4),
        back in MS / 20..MS,
    ) {
        // Every second another rate, in ppm.
        let by = |at: i64| {
            let gained =
                |(second, ppm): (i64, &i64)| ppm * (at - second * S).clamp(0, S) / 1_000_000;
            (0..).zip(&corners).map(gained).sum()
        };
        let mut fates = vec![Fate::Takes(MS / 10); 2000];
        for (from, length, queue) in queues {
            fates.iter_mut().skip(from).take(length).for_each(|fate| {
                *fate = Fate::Takes(MS / 10 + queue);
            });
        }
        let mut scene = Scene::default();
        let client = Client { every: 20 * MS, back, turnaround: 10_000, ..Client::default() };
        scene.transfer(client, &fates, AHEAD);
        let scene = slewed(scene, by);
        let relation = scene.relation().unwrap();
        if relation.slewed.is_some() {
            check_course(&scene, &relation, by)?;
        }
    }
}

/// The offset at both ends of the connection.
fn check_clocks(relation: &Relation, clock: Clock, frames: usize) -> Result<(), TestCaseError> {
    let until = S + 100
        * MS
        * i64::try_from(frames).map_err(|error| TestCaseError::fail(error.to_string()))?;
    for at in [S, until] {
        let truth = clock.read(at) - Ns(at);
        let wrong = relation.ahead.at(Ns(at)) - truth;
        // What is not reported as a skew of 100 ppm makes 6 ms in a minute.
        let slack = if relation.skew_error.is_some() { span(MS) } else { span(6 * MS) };
        let bound = relation.error + slack;
        prop_assert!(
            -bound <= wrong && wrong <= bound,
            "{:?} against {:?}: {:?}",
            wrong,
            truth,
            relation
        );
    }
    Ok(())
}

#[test]
fn connections_of_which_no_frame_was_compared_are_joined_both_ways() {
    let mut scene = Scene::default();
    // 20 000 frames: more than a sketch keeps. Of connections as short as these it has both
    // directions of a part only.
    for port in 10_000..15_000_u16 {
        let client =
            Client { key: key(port), begin: S + i64::from(port) * MS / 10, ..Client::default() };
        scene.transfer(client, &[Fate::Takes(10 * MS); 2], AHEAD);
    }
    // The clients' addresses are enough where the server's port is no help either.
    for port in 20_000..20_100_u16 {
        let client = Client {
            key: FlowKey { high_port: port, ..key(port) },
            begin: 3 * S,
            ..Client::default()
        };
        scene.transfer(client, &[Fate::Takes(10 * MS); 2], AHEAD);
    }
    let scene = scene.sorted();
    let relation = scene.relation().unwrap();
    let is_known = |port: &u16| relation.near(&key(*port).source(0)).is_some();
    let unknown = (10_000..15_000_u16).filter(|port| !is_known(port)).count();
    assert!(unknown > 100, "{unknown}");
    assert!((20_000..20_100_u16).any(|port| !is_known(&port)));
    let (join, two_point) = scene.join(relation, &JoinLimits::default());
    assert_eq!((join.facts().without_capture_point, two_point.len()), ([0, 0], 2 * 5100));
    for direction in &two_point {
        assert_eq!(
            direction.from,
            if direction.direction == 0 { Capture::First } else { Capture::Second }
        );
        let seen = if direction.direction == 0 { direction.data } else { direction.no_payload };
        assert_eq!(seen, counted(2, 2, 0), "{:?}", direction.key);
    }
}

/// A connection, of which the frames that go there were seen at the first point only; and whether
/// an answer was.
fn unjoined(scene: &mut Scene, key: FlowKey, is_answered: bool) {
    let before = scene.seen.each_ref().map(Vec::len);
    scene.transfer(
        Client { key, begin: 2 * S, ..Client::default() },
        &[Fate::Takes(10 * MS); 500],
        AHEAD,
    );
    scene.seen[1].truncate(before[1]);
    let mut nth = 0;
    scene.seen[0].retain(|frame| {
        nth += 1;
        nth <= before[0] || is_answered || frame.direction == 0
    });
}

#[test]
fn what_goes_to_another_client_of_the_server_is_not_lost() {
    // The server is near the first capture point: it sends, from one port to all of its clients.
    let server = FlowKey { low_port: 80, high_port: 40_000, ..key(0) };
    let elsewhere = FlowKey { high: [9; 16], ..server };
    let mut scene = Scene::default();
    scene.transfer(
        Client { key: server, ..Client::default() },
        &vec![Fate::Takes(10 * MS); 8000],
        AHEAD,
    );
    unjoined(&mut scene, elsewhere, true);
    unjoined(&mut scene, FlowKey { high: [8; 16], ..server }, false);
    let scene = scene.sorted();
    let (_, two_point) = scene.join(scene.relation().unwrap(), &JoinLimits::default());
    let indeterminate = |sent| Fates { indeterminate: 500, ..counted(sent, 0, 0) };
    for direction in &two_point {
        match (direction.key.high == server.high, direction.direction) {
            (true, 0) => assert_eq!(direction.data, counted(8000, 8000, 0)),
            (true, _) => assert_eq!(direction.no_payload, counted(8000, 8000, 0)),
            (false, 0) => assert_eq!(
                (direction.data, direction.lost_bytes, direction.loss_events),
                (indeterminate(500), 0, 0)
            ),
            (false, _) => assert_eq!(direction.no_payload, indeterminate(0)),
        }
    }
    assert_eq!(two_point.len(), 5);
}

#[test]
fn a_connection_of_which_everything_is_lost_is_located_by_its_addresses() {
    let mut scene = Scene::default();
    scene.transfer(Client::default(), &vec![Fate::Takes(10 * MS); 8000], AHEAD);
    // Nothing of the one arrives anywhere; the other is answered, so the second capture only did
    // not look at it.
    for (port, is_answered) in [(40_001, false), (40_002, true)] {
        unjoined(&mut scene, key(port), is_answered);
    }
    let scene = scene.sorted();
    let (_, two_point) = scene.join(scene.relation().unwrap(), &JoinLimits::default());
    let data = |port| {
        two_point.iter().find(|one| one.key == key(port) && one.direction == 0).unwrap().data
    };
    assert_eq!(data(40_001), counted(500, 0, 500));
    assert_eq!(data(40_002), Fates { indeterminate: 500, ..counted(500, 0, 0) });
}
