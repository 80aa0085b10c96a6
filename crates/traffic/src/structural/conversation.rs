//! The two ends of one generated connection: when each of them is to send, and how much.
//!
//! Call [`Conversation::on_open`] for each side when its end of the connection stands,
//! [`Conversation::on_received`] for what arrives there, [`Conversation::due`] for the next moment
//! at which it sends, [`Conversation::take`] at that moment, and [`Conversation::on_sent`] once its
//! socket has taken all of it.

use trustbed_units::Span;

use super::{Burst, Content, Pair};

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that opened it.
    Client,
    /// The other one.
    Server,
}

impl Side {
    /// 0 or 1.
    pub const fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }
}

/// What is said in one connection, and how far it has come. Times count from the same moment as
/// those of the [`Population`](super::Population).
#[derive(Debug)]
pub struct Conversation {
    script: Script,
    due: [Option<Span>; 2],
    /// Bytes that arrived and were not yet asked for.
    arrived: [u64; 2],
    /// What a side has taken and not yet sent in full.
    sending: [bool; 2],
    opened: [bool; 2],
}

#[derive(Debug)]
enum Script {
    Pairs { pairs: Vec<Pair>, at: usize, answering: bool },
    Streams { sides: [Vec<Burst>; 2], at: [usize; 2], left: [u64; 2] },
}

impl Conversation {
    /// A conversation that has not begun; none about datagrams.
    pub fn new(content: Content) -> Option<Self> {
        let script = match content {
            Content::Pairs(mut pairs) => {
                // Who says nothing and gets nothing is not waited for.
                pairs.retain(|pair| pair.request > 0 || pair.response > 0);
                Script::Pairs { pairs, at: 0, answering: false }
            }
            Content::Streams(sides) => {
                // What a side has yet to receive is what the other one sends.
                let left = [1, 0].map(|other: usize| sides[other].iter().map(|b| b.bytes).sum());
                Script::Streams { sides, at: [0; 2], left }
            }
            Content::Datagrams(_) => return None,
        };
        Some(Self {
            script,
            due: [None; 2],
            arrived: [0; 2],
            sending: [false; 2],
            opened: [false; 2],
        })
    }

    /// An end of the connection stands.
    pub fn on_open(&mut self, side: Side, now: Span) {
        self.opened[side.index()] = true;
        match &self.script {
            Script::Streams { sides, .. } => {
                self.due[side.index()] = sides[side.index()].first().map(|burst| now + burst.after);
            }
            Script::Pairs { pairs, .. } => {
                let Some(pair) = pairs.first() else { return };
                if pair.request > 0 && side == Side::Client {
                    self.due[0] = Some(now + pair.user_think.unwrap_or(Span::ZERO));
                } else if pair.request == 0 && side == Side::Server {
                    self.answer(now);
                }
            }
        }
        // What the other end sent may have been there before this end was known to stand.
        self.on_received(side, 0, now);
    }

    /// Bytes arrived at a side.
    pub fn on_received(&mut self, side: Side, bytes: u64, now: Span) {
        let own = side.index();
        self.arrived[own] += bytes;
        match &mut self.script {
            Script::Streams { left, .. } => {
                left[own] = left[own].saturating_sub(std::mem::take(&mut self.arrived[own]));
            }
            Script::Pairs { pairs, at, answering } => {
                let Some(pair) = pairs.get(*at) else { return };
                match side {
                    Side::Server
                        if !*answering
                            && pair.request > 0
                            && self.opened[1]
                            && self.arrived[1] >= pair.request =>
                    {
                        self.arrived[1] -= pair.request;
                        self.answer(now);
                    }
                    Side::Client
                        if *answering && pair.response > 0 && self.arrived[0] >= pair.response =>
                    {
                        self.arrived[0] -= pair.response;
                        self.go_on(now);
                    }
                    _ => {}
                }
            }
        }
    }

    /// The server has the whole request.
    fn answer(&mut self, now: Span) {
        let Script::Pairs { pairs, at, answering } = &mut self.script else { return };
        let Some(pair) = pairs.get(*at) else { return };
        *answering = true;
        if pair.response > 0 {
            self.due[1] = Some(now + pair.server_think.unwrap_or(Span::ZERO));
        } else {
            self.go_on(now);
        }
    }

    /// A pair is complete; the client thinks.
    fn go_on(&mut self, now: Span) {
        let Script::Pairs { pairs, at, answering } = &mut self.script else { return };
        *at += 1;
        *answering = false;
        let Some(pair) = pairs.get(*at) else { return };
        if pair.request > 0 {
            self.due[0] = Some(now + pair.user_think.unwrap_or(Span::ZERO));
        } else {
            self.answer(now);
        }
    }

    /// When a side is to send next; none while it waits.
    pub const fn due(&self, side: Side) -> Option<Span> {
        if self.sending[side.index()] { None } else { self.due[side.index()] }
    }

    /// What a side is to send now: when it was due, and the bytes. None while nothing is due.
    pub fn take(&mut self, side: Side, now: Span) -> Option<(Span, u64)> {
        let due = self.due(side).filter(|due| *due <= now)?;
        let own = side.index();
        self.due[own] = None;
        self.sending[own] = true;
        let bytes = match &self.script {
            Script::Pairs { pairs, at, .. } => pairs.get(*at).map(|pair| match side {
                Side::Client => pair.request,
                Side::Server => pair.response,
            })?,
            Script::Streams { sides, at, .. } => sides[own].get(at[own])?.bytes,
        };
        Some((due, bytes))
    }

    /// A side's socket has taken all of it.
    pub fn on_sent(&mut self, side: Side, now: Span) {
        let own = side.index();
        self.sending[own] = false;
        if let Script::Streams { sides, at, .. } = &mut self.script {
            at[own] += 1;
            self.due[own] = sides[own].get(at[own]).map(|burst| now + burst.after);
        }
    }

    /// Whether everything was said and heard.
    pub fn is_over(&self) -> bool {
        match &self.script {
            Script::Pairs { pairs, at, .. } => *at >= pairs.len(),
            Script::Streams { sides, at, left } => {
                *left == [0, 0] && (0..2).all(|side| at[side] >= sides[side].len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> Span {
        Span::from_millis(ms)
    }

    fn pair(request: u64, response: u64, user: i64, server: i64) -> Pair {
        Pair { request, response, user_think: Some(ms(user)), server_think: Some(ms(server)) }
    }

    #[test]
    fn each_side_waits_for_the_other_and_thinks() {
        let mut talk =
            Conversation::new(Content::Pairs(vec![pair(300, 4000, 0, 5), pair(400, 500, 1000, 5)]))
                .unwrap();
        talk.on_open(Side::Client, ms(10));
        talk.on_open(Side::Server, ms(12));
        assert_eq!(talk.take(Side::Client, ms(10)), Some((ms(10), 300)));
        talk.on_sent(Side::Client, ms(10));
        talk.on_received(Side::Server, 299, ms(20));
        assert_eq!(talk.due(Side::Server), None);
        talk.on_received(Side::Server, 1, ms(21));
        assert_eq!(talk.take(Side::Server, ms(25)), None);
        assert_eq!(talk.take(Side::Server, ms(26)), Some((ms(26), 4000)));
        talk.on_received(Side::Client, 4000, ms(40));
        talk.on_sent(Side::Server, ms(40));
        assert_eq!(talk.due(Side::Client), Some(ms(1040)));
        assert_eq!(talk.take(Side::Client, ms(1041)), Some((ms(1040), 400)));
        talk.on_received(Side::Server, 400, ms(1050));
        assert_eq!(talk.take(Side::Server, ms(1055)).unwrap().1, 500);
        assert!(!talk.is_over());
        talk.on_received(Side::Client, 500, ms(1070));
        assert!(talk.is_over());
    }

    #[test]
    fn a_server_may_speak_first_and_a_request_may_go_unanswered() {
        let mut talk =
            Conversation::new(Content::Pairs(vec![pair(0, 80, 0, 2), pair(10, 0, 3, 0)])).unwrap();
        talk.on_open(Side::Client, ms(0));
        assert_eq!((talk.due(Side::Client), talk.due(Side::Server)), (None, None));
        talk.on_open(Side::Server, ms(1));
        assert_eq!(talk.take(Side::Server, ms(3)), Some((ms(3), 80)));
        talk.on_received(Side::Client, 80, ms(5));
        assert_eq!(talk.take(Side::Client, ms(8)), Some((ms(8), 10)));
        talk.on_received(Side::Server, 10, ms(9));
        assert!(talk.is_over());
    }

    #[test]
    fn pairs_of_nothing_are_none() {
        let mut pairs = vec![Pair::default(); 1_000_000];
        pairs.push(pair(10, 20, 0, 0));
        let mut talk = Conversation::new(Content::Pairs(pairs)).unwrap();
        talk.on_open(Side::Client, ms(0));
        talk.on_open(Side::Server, ms(0));
        assert_eq!(talk.take(Side::Client, ms(0)), Some((ms(0), 10)));
    }

    #[test]
    fn streams_are_independent_and_over_when_both_have_heard_everything() {
        let burst = |after, bytes| Burst { after: ms(after), bytes };
        let mut talk = Conversation::new(Content::Streams([
            vec![burst(0, 10), burst(600, 20)],
            vec![burst(50, 70)],
        ]))
        .unwrap();
        talk.on_open(Side::Client, ms(0));
        talk.on_open(Side::Server, ms(0));
        assert_eq!(talk.take(Side::Client, ms(0)).unwrap().1, 10);
        assert_eq!(talk.due(Side::Client), None);
        talk.on_sent(Side::Client, ms(2));
        assert_eq!(talk.due(Side::Client), Some(ms(602)));
        assert_eq!(talk.take(Side::Server, ms(50)).unwrap().1, 70);
        talk.on_sent(Side::Server, ms(50));
        talk.on_received(Side::Client, 70, ms(60));
        talk.take(Side::Client, ms(602)).unwrap();
        talk.on_sent(Side::Client, ms(602));
        assert!(!talk.is_over());
        talk.on_received(Side::Server, 30, ms(610));
        assert!(talk.is_over());
    }
}
