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
    for (answers, unit) in units {
        if answers {
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
