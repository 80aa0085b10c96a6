//! What the two ends of a connection say to each other.
//!
//! *Sequential*: one speaks, then the other; a unit of the client and the unit of the server that
//! follows are a pair, and either may be empty (a server that speaks first answers an empty
//! request). *Concurrent*: both send when they like; silences of 500 ms cut each side's data into
//! bursts, and the two sides are independent. Datagrams have neither: they leave at equal
//! distances.

use trustbed_units::{Ns, Span};

/// A run of new data of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Its first packet.
    pub first: Ns,
    /// Its last packet.
    pub last: Ns,
    /// Its bytes.
    pub bytes: u64,
}

impl Unit {
    /// The same, with its times after a moment.
    #[must_use]
    pub fn after(&self, start: Ns) -> Self {
        Self { first: start + Span(self.first.0), last: start + Span(self.last.0), ..*self }
    }
}

/// A silence within what one side says.
const SILENCE: Span = Span::from_millis(500);
/// Pairs of a connection.
const MOST: usize = 1 << 17;

/// A request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pair {
    /// Bytes of the request; 0 where the server speaks first.
    pub request: u64,
    /// Bytes of the response; 0 where there was none.
    pub response: u64,
    /// From the end of the response before to the request, without the network; none for the first
    /// pair.
    pub user_think: Option<Span>,
    /// From the end of the request to the response, without the network; none without a response.
    pub server_think: Option<Span>,
}

/// What one side of a concurrent connection sends without a silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// After the end of this side's burst before; for the first one after the connection was
    /// opened.
    pub after: Span,
    /// Its bytes.
    pub bytes: u64,
}

/// What one side of a flow of datagrams sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Datagrams {
    /// How many.
    pub packets: u64,
    /// Payload of all of them.
    pub bytes: u64,
    /// From one to the next.
    pub gap: Span,
}

/// What is said in a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// One side after the other.
    Pairs(Vec<Pair>),
    /// Both at once: the client's bursts, the server's.
    Streams([Vec<Burst>; 2]),
    /// The client's datagrams, the server's.
    Datagrams([Datagrams; 2]),
}

impl Content {
    /// Pairs, bursts or flows of datagrams.
    pub fn units(&self) -> usize {
        match self {
            Self::Pairs(pairs) => pairs.len(),
            Self::Streams(sides) => sides.iter().map(Vec::len).sum(),
            Self::Datagrams(sides) => sides.iter().filter(|flow| flow.packets > 0).count(),
        }
    }

    /// Bytes of the client and of the server.
    pub fn bytes(&self) -> [u64; 2] {
        match self {
            Self::Pairs(pairs) => pairs.iter().fold([0, 0], |[client, server], pair| {
                [client + pair.request, server + pair.response]
            }),
            Self::Streams(sides) => {
                [0, 1].map(|side: usize| sides[side].iter().map(|burst| burst.bytes).sum())
            }
            Self::Datagrams(sides) => [sides[0].bytes, sides[1].bytes],
        }
    }
}

/// Pairs of a sequential connection from the units of both sides, each in the order of time.
///
/// `opened`: the client's acknowledgement of the handshake; `[client, server]`: from the capture
/// point to that side and back, 0 where it is not known. A think time below 0 is 0.
///
/// Who goes on after a silence of 500 ms, though the other one has said nothing, answers an empty
/// request, or asks once more after an empty response.
///
/// ```
/// use trustbed_traffic::structural::{Unit, pairs};
/// use trustbed_units::{Ns, Span};
/// let ms = |ms: f64| Ns((ms * 1e6) as i64);
/// let unit = |first, last, bytes| Unit { first: ms(first), last: ms(last), bytes };
/// let client = [unit(40.0, 40.0, 300), unit(1079.4, 1079.4, 400)];
/// let server = [unit(75.0, 75.4, 4000), unit(1114.4, 1114.4, 500)];
/// let found = pairs(&client, &server, Some(ms(34.0)), [Span(4_000_000), Span(30_000_000)]);
/// assert_eq!((found[0].request, found[0].response, found[0].user_think), (300, 4000, None));
/// assert_eq!(found[0].server_think, Some(Span(5_000_000)));
/// assert_eq!(found[1].user_think, Some(Span(1_000_000_000)));
/// ```
pub fn pairs(
    client: &[Unit],
    server: &[Unit],
    opened: Option<Ns>,
    [to_client, to_server]: [Span; 2],
) -> Vec<Pair> {
    let mut units: Vec<(bool, &Unit)> = client
        .iter()
        .map(|unit| (false, unit))
        .chain(server.iter().map(|unit| (true, unit)))
        .collect();
    units.sort_by_key(|(answers, unit)| (unit.first, *answers));
    let mut found: Vec<Pair> = Vec::new();
    // The end of what was said last by each side.
    let (mut asked, mut answered): (Option<Ns>, Option<Ns>) = (opened, None);
    let mut answering = true;
    // Over both sides of the link and back, of which half is on the way to the other end.
    let way = Span(i64::midpoint(to_client.0, to_server.0));
    for (answers, unit) in units {
        let before = if answers { answered } else { asked };
        let silence = before.map(|before| unit.first - before).filter(|gap| *gap >= SILENCE);
        let goes_on = silence.filter(|_| answers == answering && !found.is_empty());
        if let Some(silence) = goes_on {
            let think = Some((silence - way).max(Span::ZERO));
            found.push(if answers {
                Pair { response: unit.bytes, server_think: think, ..Pair::default() }
            } else {
                Pair { request: unit.bytes, user_think: think, ..Pair::default() }
            });
            *(if answers { &mut answered } else { &mut asked }) = Some(unit.last);
        } else if answers {
            let think = asked.map(|asked| (unit.first - asked - to_server).max(Span::ZERO));
            if found.is_empty() {
                found.push(Pair::default());
            }
            if let Some(pair) = found.last_mut() {
                pair.response += unit.bytes;
                pair.server_think = pair.server_think.or(think).or(Some(Span::ZERO));
            }
            answered = Some(unit.last);
        } else if answering || found.is_empty() {
            let think =
                answered.map(|answered| (unit.first - answered - to_client).max(Span::ZERO));
            found.push(Pair { request: unit.bytes, user_think: think, ..Pair::default() });
            asked = Some(unit.last);
        } else if let Some(pair) = found.last_mut() {
            pair.request += unit.bytes;
            asked = Some(unit.last);
        }
        answering = answers;
    }
    found
}

/// A unit in parts, cut at the silences within it: from when, until when, and the bytes of the
/// unit before it, in the order of time.
pub fn parts(whole: Unit, silences: impl IntoIterator<Item = (Ns, Ns, u64)>) -> Vec<Unit> {
    let mut found = Vec::new();
    let mut rest = whole;
    for (from, until, before) in silences {
        if from < rest.first || until > rest.last {
            continue;
        }
        let bytes = before.saturating_sub(whole.bytes - rest.bytes).min(rest.bytes);
        if bytes > 0 && bytes < rest.bytes {
            found.push(Unit { first: rest.first, last: from, bytes });
            rest = Unit { first: until, bytes: rest.bytes - bytes, ..rest };
        }
    }
    found.push(rest);
    found
}

/// Goes on as before until both sides have said all of their bytes: `[client, server]`.
pub fn repeat(pairs: &mut Vec<Pair>, all: [u64; 2]) {
    let known = pairs.clone();
    let mut said = Content::Pairs(known.clone()).bytes();
    let think = known.get(1).and_then(|pair| pair.user_think);
    for one in known.iter().cycle() {
        if (said[0] >= all[0] && said[1] >= all[1]) || pairs.len() >= MOST {
            return;
        }
        said = [said[0] + one.request, said[1] + one.response];
        if said == [0, 0] {
            return;
        }
        pairs.push(Pair { user_think: one.user_think.or(think).or(Some(Span::ZERO)), ..*one });
    }
}

/// Bursts of one side of a concurrent connection.
///
/// `opened`: when this side could have begun. `first`: its first data. `silences`: from when, until
/// when, and the bytes before it, in the order of time. `bytes`: all of its bytes.
pub fn bursts(
    opened: Option<Ns>,
    first: Ns,
    silences: impl IntoIterator<Item = (Ns, Ns, u64)>,
    bytes: u64,
) -> Vec<Burst> {
    let mut found = Vec::new();
    let mut after = opened.map_or(Span::ZERO, |opened| (first - opened).max(Span::ZERO));
    let mut sent = 0;
    for (from, until, before) in silences {
        found.push(Burst { after, bytes: before.saturating_sub(sent) });
        (after, sent) = (until - from, before);
    }
    found.push(Burst { after, bytes: bytes.saturating_sub(sent) });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> Ns {
        Ns(ms * 1_000_000)
    }

    fn unit(first: i64, last: i64, bytes: u64) -> Unit {
        Unit { first: ms(first), last: ms(last), bytes }
    }

    #[test]
    fn a_server_that_speaks_first_answers_an_empty_request() {
        let rtts = [Span::from_millis(4), Span::from_millis(30)];
        let found =
            pairs(&[unit(60, 60, 10)], &[unit(50, 50, 80), unit(95, 95, 20)], Some(ms(10)), rtts);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].request, found[0].response), (0, 80));
        assert_eq!(found[0].server_think, Some(Span::from_millis(10)));
        assert_eq!(found[1].user_think, Some(Span::from_millis(6)));
        assert_eq!(found[1].server_think, Some(Span::from_millis(5)));
    }

    #[test]
    fn think_times_are_not_negative_and_missing_answers_are_empty() {
        let found = pairs(
            &[unit(0, 0, 5), unit(9, 9, 5)],
            &[unit(1, 1, 7)],
            None,
            [Span::from_millis(20); 2],
        );
        assert_eq!(found[0].server_think, Some(Span::ZERO));
        assert_eq!(found[1].user_think, Some(Span::ZERO));
        assert_eq!((found[1].response, found[1].server_think), (0, None));
    }

    #[test]
    fn who_goes_on_after_a_silence_says_something_new() {
        let rtts = [Span::from_millis(4), Span::from_millis(36)];
        let found = pairs(
            &[unit(40, 40, 300), unit(5000, 5000, 20), unit(6000, 6000, 30)],
            &[unit(80, 100, 4000), unit(1100, 1110, 200), unit(1200, 1200, 50)],
            Some(ms(34)),
            rtts,
        );
        let bytes: Vec<_> = found.iter().map(|pair| (pair.request, pair.response)).collect();
        assert_eq!(bytes, [(300, 4000), (0, 250), (20, 0), (30, 0)]);
        assert_eq!(found[1].server_think, Some(Span::from_millis(980)));
        assert_eq!(found[3].user_think, Some(Span::from_millis(980)));
    }

    #[test]
    fn a_unit_is_cut_at_its_silences_and_not_at_those_of_others() {
        let silences = [(100, 700, 300), (800, 1800, 450), (9000, 9900, 900)];
        let cut = silences.map(|(from, until, bytes)| (ms(from), ms(until), bytes));
        let found = parts(unit(50, 2000, 500), cut);
        assert_eq!(found, [unit(50, 100, 300), unit(700, 800, 150), unit(1800, 2000, 50)]);
        assert_eq!(parts(unit(0, 50, 7), cut), [unit(0, 50, 7)]);
    }

    #[test]
    fn what_was_not_kept_is_like_what_was() {
        let think = Some(Span::from_millis(5));
        let one = Pair { request: 10, response: 90, user_think: None, server_think: think };
        let mut found = vec![one, Pair { user_think: think, ..one }];
        repeat(&mut found, [50, 400]);
        assert_eq!(Content::Pairs(found.clone()).bytes(), [50, 450]);
        assert!(found[1..].iter().all(|pair| pair.user_think == think));
        let mut nothing = vec![Pair::default()];
        repeat(&mut nothing, [1, 1]);
        assert_eq!(nothing.len(), 1);
        let mut small = vec![one];
        repeat(&mut small, [u64::MAX, 0]);
        assert_eq!(small.len(), MOST);
    }

    #[test]
    fn silences_cut_a_stream_into_bursts() {
        let found =
            bursts(Some(ms(5)), ms(25), [(ms(100), ms(700), 300), (ms(800), ms(1800), 450)], 500);
        let expected = [(20, 300), (600, 150), (1000, 50)];
        assert_eq!(found.len(), 3);
        for (burst, (after, bytes)) in found.iter().zip(expected) {
            assert_eq!((burst.after, burst.bytes), (Span::from_millis(after), bytes));
        }
    }
}
