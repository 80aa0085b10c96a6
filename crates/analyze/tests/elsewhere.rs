//! The sender's view from a capture that is not beside it: acknowledgements arrive late.

use trustbed_analyze::{Category, Elsewhere, Sent, Window};
use trustbed_units::{Ns, Span};

const MS: i64 = 1_000_000;

fn sent(at: i64, end: i64) -> Sent {
    Sent {
        now: Ns(at),
        end,
        length: 1000,
        repeats: false,
        mss: 1000,
        rtt_base: Some(Span(20 * MS)),
        held_by_network: false,
    }
}

#[test]
fn an_acknowledgement_reaches_the_sender_after_a_round_trip() {
    let mut far = Elsewhere::new(0, 10_000, Window::Known(10_000), 0);
    let rtt = Span(20 * MS);
    assert_eq!(far.on_data(&sent(0, 1000), rtt, false), None);
    far.on_ack(Ns(MS), 1000, 10_000, false);
    let turn = far.on_data(&sent(26 * MS, 2000), rtt, false);
    assert_eq!(
        turn.map(|t| (t.spacing, t.category, t.empty)),
        Some((Some(Span(5 * MS)), Category::Spacing, true)),
        "26 ms less 1 ms less the round trip"
    );
}

#[test]
fn what_is_still_in_transit_is_no_reception() {
    let mut far = Elsewhere::new(0, 10_000, Window::Known(10_000), 0);
    let rtt = Span(20 * MS);
    far.on_data(&sent(0, 1000), rtt, false);
    far.on_ack(Ns(10 * MS), 1000, 10_000, false);
    assert_eq!(
        far.on_data(&sent(25 * MS, 2000), rtt, false),
        None,
        "sent before the acknowledgement came"
    );
    let turn = far.on_data(&sent(31 * MS, 3000), rtt, false);
    assert_eq!(turn.and_then(|t| t.spacing), Some(Span(MS)));
}

#[test]
fn a_pause_that_the_network_explains_is_no_spacing() {
    let mut far = Elsewhere::new(0, 10_000, Window::Known(10_000), 0);
    far.on_data(&sent(0, 1000), Span(0), false);
    far.on_ack(Ns(MS), 1000, 10_000, false);
    let held = Sent { held_by_network: true, ..sent(200 * MS, 2000) };
    assert_eq!(far.on_data(&held, Span(0), false), None);
    assert_eq!(
        (far.view.held_by_network, far.view.spacing.count(), far.view.response.count()),
        ((1, 199 * MS), 0, 0)
    );
}

#[test]
fn nothing_crosses_a_step_of_the_clock() {
    let mut far = Elsewhere::new(0, 10_000, Window::Known(10_000), 0);
    far.on_data(&sent(0, 1000), Span(0), false);
    far.on_ack(Ns(MS), 1000, 10_000, false);
    far.on_clock_step();
    assert_eq!(far.on_data(&sent(5 * MS, 2000), Span(0), false), None);
}
