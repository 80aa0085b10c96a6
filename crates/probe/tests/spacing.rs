//! Whether a sender kept to what was requested: streams and chirps with known pauses in them.

use trustbed_probe::{Chirp, Sighting, Stream, StreamLimits};
use trustbed_units::{Ns, Span};

/// Packets at their times, each later by what `late` returns for it.
fn sent(
    packets: usize,
    due: impl Fn(usize) -> Span,
    late: impl Fn(usize) -> Span,
) -> Vec<Sighting> {
    (0..packets)
        .map(|number| Sighting { sent: Ns(7) + due(number) + late(number), received: None })
        .collect()
}

fn stream() -> Stream {
    Stream::at(40e6, 100, &StreamLimits::default())
}

#[test]
fn a_stream_on_time_and_one_that_is_late_as_a_whole_are_as_requested() {
    let stream = stream();
    for late in [Span::ZERO, Span::from_millis(50)] {
        assert!(stream.is_as_scheduled(&sent(100, |number| stream.due(number), |_| late)));
    }
}

#[test]
fn some_gaps_may_be_off_but_not_more_than_15_in_100() {
    let stream = stream();
    // A packet that is late by half a gap spoils the gap before it and the one behind it.
    let late = |invalid: usize| {
        move |number: usize| {
            if number % 4 == 1 && number < 4 * invalid { Span::from_micros(40) } else { Span::ZERO }
        }
    };
    assert!(stream.is_as_scheduled(&sent(100, |number| stream.due(number), late(7))));
    assert!(!stream.is_as_scheduled(&sent(100, |number| stream.due(number), late(8))));
}

#[test]
fn a_pause_has_to_leave_37_packets_together() {
    let stream = stream();
    let pauses = |every: usize| {
        move |number: usize| Span::from_millis(2 * i64::try_from(number / every).unwrap_or(0))
    };
    assert!(stream.is_as_scheduled(&sent(100, |number| stream.due(number), pauses(37))));
    assert!(!stream.is_as_scheduled(&sent(100, |number| stream.due(number), pauses(36))));
    // Of a stream that is shorter than that no part can be long enough; it has to be whole.
    let short = Stream { packets: 20, ..stream };
    assert!(short.is_as_scheduled(&sent(20, |number| short.due(number), |_| Span::ZERO)));
    assert!(!short.is_as_scheduled(&sent(20, |number| short.due(number), pauses(10))));
}

#[test]
fn every_gap_of_a_chirp_counts() {
    let chirp = Chirp::new(1000, 10e6, 200e6, 1.2);
    let packets = chirp.packets();
    let one = |at: usize, late: i64| {
        move |number: usize| if number >= at { Span::from_micros(late) } else { Span::ZERO }
    };
    assert!(chirp.is_as_scheduled(&sent(packets, |number| chirp.due(number), |_| Span::ZERO)));
    assert!(chirp.is_as_scheduled(&sent(packets, |number| chirp.due(number), one(packets - 1, 9))));
    assert!(!chirp.is_as_scheduled(&sent(
        packets,
        |number| chirp.due(number),
        one(packets - 1, 11)
    )));
    assert!(!chirp.is_as_scheduled(&sent(packets - 1, |number| chirp.due(number), |_| Span::ZERO)));
}
