//! Timestamps and their echoes (RFC 7323), against a twin that follows the rule word by word.

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_flow::Echo;
use trustbed_units::{Ns, Span};

const SECOND: i64 = 1_000_000_000;

#[test]
fn a_value_is_timed_once_from_its_first_packet() {
    let mut echo = Echo::default();
    echo.sent(10, Ns(100));
    echo.sent(10, Ns(150));
    assert_eq!(echo.echoed(10, Ns(400)), Some(Span(300)));
    assert_eq!(echo.echoed(10, Ns(500)), None, "it was taken");
}

/// A clock of milliseconds ticks less often than segments leave: the echo of an earlier segment
/// must not stop a later one's stopwatch.
#[test]
fn one_sample_per_tick_even_when_nothing_waits() {
    let mut echo = Echo::default();
    echo.sent(10, Ns(0));
    assert_eq!(echo.echoed(10, Ns(200)), Some(Span(200)));
    echo.sent(10, Ns(210));
    assert_eq!(echo.echoed(10, Ns(215)), None, "this echo may answer a segment sent before");
    echo.sent(11, Ns(300));
    assert_eq!(echo.echoed(11, Ns(500)), Some(Span(200)));
}

#[test]
fn an_echo_drops_everything_older() {
    let mut echo = Echo::default();
    for tick in 1..=5 {
        echo.sent(tick, Ns(i64::from(tick) * 10));
    }
    assert_eq!(echo.echoed(3, Ns(100)), Some(Span(70)));
    assert_eq!(echo.echoed(2, Ns(110)), None, "older than one that came back");
    assert_eq!(echo.echoed(5, Ns(120)), Some(Span(70)));
}

#[test]
fn an_unknown_echo_gives_nothing_and_takes_nothing_newer() {
    let mut echo = Echo::default();
    echo.sent(10, Ns(0));
    echo.sent(20, Ns(10));
    assert_eq!(echo.echoed(15, Ns(50)), None, "never sent");
    assert_eq!(echo.echoed(20, Ns(60)), Some(Span(50)));
}

#[test]
fn an_older_value_does_not_enter() {
    let mut echo = Echo::default();
    echo.sent(20, Ns(0));
    echo.sent(19, Ns(10));
    assert_eq!(echo.echoed(19, Ns(50)), None, "it left out of order");
}

#[test]
fn after_ten_seconds_it_is_no_echo() {
    let mut echo = Echo::default();
    echo.sent(1, Ns(0));
    echo.sent(2, Ns(1));
    assert_eq!(echo.echoed(1, Ns(10 * SECOND)), Some(Span(10 * SECOND)));
    assert_eq!(echo.echoed(2, Ns(10 * SECOND + 2)), None);
}

#[test]
fn the_clock_wraps() {
    let mut echo = Echo::default();
    echo.sent(u32::MAX, Ns(0));
    echo.sent(0, Ns(10));
    echo.sent(1, Ns(20));
    assert_eq!(echo.echoed(u32::MAX, Ns(30)), Some(Span(30)));
    assert_eq!(echo.echoed(1, Ns(30)), Some(Span(10)));
}

#[test]
fn a_clock_step_clears_it() {
    let mut echo = Echo::default();
    echo.sent(1, Ns(0));
    echo.clear();
    assert_eq!(echo.echoed(1, Ns(10)), None);
}

/// The rule of RFC 7323 as *pping* follows it, with a plain list and numbers that do not wrap.
#[derive(Default)]
struct Twin {
    table: Vec<(u32, i64)>,
}

impl Twin {
    fn sent(&mut self, tsval: u32, now: i64) {
        if self.table.iter().all(|&(old, _)| tsval > old) {
            self.table.push((tsval, now));
        }
    }

    fn echoed(&mut self, tsecr: u32, now: i64) -> Option<i64> {
        let found =
            self.table.iter().find(|&&(tsval, _)| tsval == tsecr).map(|&(_, sent)| now - sent);
        self.table.retain(|&(tsval, _)| tsval > tsecr);
        found.filter(|&sample| sample > 0 && sample <= 10 * SECOND)
    }
}

proptest! {
    #[test]
    fn it_follows_the_rule(
        base: u32,
        steps in vec((any::<bool>(), 0_u32..40, 0_i64..SECOND), 1..80),
    ) {
        let (mut echo, mut twin) = (Echo::default(), Twin::default());
        let mut now = 0;
        let mut newest = None;
        for (send, tick, passed) in steps {
            now += passed;
            let value = base.wrapping_add(tick);
            if send {
                // A value that came back leaves the list; a stack's clock never returns to it.
                if newest.is_none_or(|newest| tick >= newest) {
                    echo.sent(value, Ns(now));
                    twin.sent(tick, now);
                    newest = Some(tick + 1);
                }
            } else {
                prop_assert_eq!(
                    echo.echoed(value, Ns(now)).map(|span| span.0),
                    twin.echoed(tick, now)
                );
            }
        }
    }
}
