//! What of a connection is left at a moment after it began, if the network took no longer than a
//! nominal rate and its own think times.

use trustbed_units::Span;

use super::{Burst, Content, Datagrams, Pair};

/// What a transfer is taken to run at before the start, in bits per second.
const NOMINAL: f64 = 10e6;

/// What is left of a connection that began `since` ago; the time after which it ended, if it has.
///
/// # Errors
/// The time from its begin to its end, where nothing is left.
pub(super) fn rest(content: &Content, since: Span) -> Result<Content, Span> {
    match content {
        Content::Pairs(pairs) => of_pairs(pairs, since).map(Content::Pairs),
        Content::Streams([client, server]) => {
            match (of_bursts(client, since), of_bursts(server, since)) {
                (Err(first), Err(second)) => Err(first.max(second)),
                (client, server) => {
                    Ok(Content::Streams([client.unwrap_or_default(), server.unwrap_or_default()]))
                }
            }
        }
        Content::Datagrams(sides) => {
            let left = sides.map(|side| of_datagrams(side, since));
            if left.iter().all(|side| side.packets == 0) {
                let end = |side: &Datagrams| {
                    let packets = i64::try_from(side.packets).unwrap_or(i64::MAX);
                    Span(side.gap.0.saturating_mul(packets))
                };
                Err(sides.iter().map(end).max().unwrap_or(Span::ZERO))
            } else {
                Ok(Content::Datagrams(left))
            }
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "an estimate of a duration"
)]
fn takes(bytes: u64) -> Span {
    Span((bytes as f64 * 8e9 / NOMINAL) as i64)
}

fn of_pairs(pairs: &[Pair], since: Span) -> Result<Vec<Pair>, Span> {
    let mut at = Span::ZERO;
    for (number, pair) in pairs.iter().enumerate() {
        let asks = at + pair.user_think.unwrap_or(Span::ZERO);
        at = asks + pair.server_think.unwrap_or(Span::ZERO) + takes(pair.request + pair.response);
        if at > since {
            let mut left = pairs[number..].to_vec();
            left[0].user_think = Some((asks - since).max(Span::ZERO));
            return Ok(left);
        }
    }
    Err(at)
}

fn of_bursts(bursts: &[Burst], since: Span) -> Result<Vec<Burst>, Span> {
    let mut at = Span::ZERO;
    for (number, burst) in bursts.iter().enumerate() {
        let begins = at + burst.after;
        at = begins + takes(burst.bytes);
        if at > since {
            let mut left = bursts[number..].to_vec();
            left[0].after = (begins - since).max(Span::ZERO);
            return Ok(left);
        }
    }
    Err(at)
}

fn of_datagrams(side: Datagrams, since: Span) -> Datagrams {
    let sent = if side.gap > Span::ZERO { since.0 / side.gap.0 + 1 } else { i64::MAX };
    let sent = u64::try_from(sent).unwrap_or(0).min(side.packets);
    let packets = side.packets - sent;
    let bytes = u128::from(side.bytes) * u128::from(packets) / u128::from(side.packets.max(1));
    Datagrams { packets, bytes: u64::try_from(bytes).unwrap_or(0), gap: side.gap }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(s: i64) -> Span {
        Span::from_secs(s)
    }

    #[test]
    fn pairs_that_are_over_are_left_out_and_a_think_time_goes_on() {
        let pair = |user| Pair {
            request: 1,
            response: 1,
            user_think: Some(user),
            server_think: Some(Span::ZERO),
        };
        let content = Content::Pairs(vec![pair(Span::ZERO), pair(s(10)), pair(s(20))]);
        let Ok(Content::Pairs(left)) = rest(&content, s(4)) else { panic!("something is left") };
        assert_eq!(left.len(), 2);
        assert!((left[0].user_think.unwrap() - s(6)).0.abs() < 10_000);
        assert_eq!(left[1].user_think, Some(s(20)));
        assert!((rest(&content, s(31)).unwrap_err() - s(30)).0 < 10_000);
    }

    #[test]
    fn streams_are_over_when_both_sides_are() {
        let burst = |after, bytes| Burst { after: s(after), bytes };
        let content = Content::Streams([vec![burst(0, 5)], vec![burst(1, 5), burst(9, 7)]]);
        let Ok(Content::Streams([client, server])) = rest(&content, s(5)) else {
            panic!("something is left")
        };
        assert!(client.is_empty());
        assert_eq!(server.len(), 1);
        assert!((server[0].after - s(5)).0.abs() < 10_000);
        assert!(rest(&content, s(11)).is_err());
    }

    #[test]
    fn of_datagrams_the_later_ones_are_left() {
        let flow = Datagrams { packets: 10, bytes: 1000, gap: s(1) };
        let content = Content::Datagrams([flow, Datagrams::default()]);
        let Ok(Content::Datagrams([left, _])) = rest(&content, Span::from_millis(6500)) else {
            panic!("something is left")
        };
        assert_eq!((left.packets, left.bytes), (3, 300));
        assert_eq!(rest(&content, s(12)), Err(s(10)));
    }
}
