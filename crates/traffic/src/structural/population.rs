//! Users: when their sessions begin, and which connection is to be opened when.
//!
//! Sessions of a class begin by its distribution of gaps, whatever the network does. Within a
//! session the loop is closed: the next exchange waits for the end of all connections of the one
//! before, and then its gap.
//!
//! Call [`Population::due`] for the next moment, [`Population::take`] at it until nothing comes,
//! and [`Population::on_over`] when a connection has ended, in whatever way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand_chacha::ChaCha8Rng;
use trustbed_units::Span;

use super::decks::{Decks, Whole};
use super::past::rest;
use super::{Content, Offer, PlacedOffer};
use crate::TrafficError;
use crate::seed::{below, generator, generator_of};

/// A session that is going on, by its place in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Session(usize);

/// A connection that is to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// When it was to be opened.
    pub due: Span,
    /// Number of its class.
    pub class: usize,
    /// Its session, to be named when it is over.
    pub session: Session,
    /// Its client.
    pub client: u32,
    /// Its server.
    pub server: u32,
    /// The largest IP packets of client and server; 0: what the path allows.
    pub packet_bytes: [u32; 2],
    /// The largest windows that client and server offer; 0: what the kernel tunes.
    pub window_bytes: [u32; 2],
    /// What is said in it.
    pub content: Content,
}

/// All users of all classes.
#[derive(Debug)]
pub struct Population {
    classes: Vec<Decks>,
    /// For what comes when the network lets it: in its order.
    random: ChaCha8Rng,
    /// For the sessions of each class, which come when they come: the same with every network.
    arrivals: Vec<ChaCha8Rng>,
    sessions: Vec<Going>,
    free: Vec<usize>,
    events: BinaryHeap<Reverse<(Span, u64, Event)>>,
    /// What had begun before the start, the next one last.
    before: Vec<Opening>,
    number: u64,
}

/// What had begun before the start is opened within this time.
const OPENED_WITHIN: u64 = 1_000_000_000;
/// At most so many connections are followed through the time before the start.
const FOLLOWED: usize = 2_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A session of this class begins.
    Session(usize),
    /// The next connection of this session's exchange is opened.
    Connection(usize),
}

/// A session that is going on.
#[derive(Debug, Clone, Copy, Default)]
struct Going {
    class: usize,
    client: u32,
    /// Exchanges after this one.
    exchanges: u32,
    /// Connections of this exchange that are not opened yet, and that are open.
    to_open: u32,
    open: u32,
    /// Of a session that was drawn whole: which, and how many of its exchanges and of this
    /// exchange's connections have begun.
    whole: Option<Whole>,
}

impl Population {
    /// Users whose first sessions begin within one gap of the start.
    ///
    /// # Errors
    /// [`TrafficError::EmptyClass`].
    #[expect(clippy::cast_possible_wrap, reason = "below a gap, which is not negative")]
    pub fn new(offer: &Offer, seed: u64) -> Result<Self, TrafficError> {
        let mut arrivals: Vec<_> =
            (1..=offer.classes.len() as u64).map(|class| generator_of(seed, class)).collect();
        let mut classes =
            offer.classes.iter().map(Decks::new).collect::<Result<Vec<_>, TrafficError>>()?;
        let mut events = BinaryHeap::new();
        for ((number, decks), random) in classes.iter_mut().enumerate().zip(&mut arrivals) {
            let first = if offer.classes[number].in_order {
                Span(offer.classes[number].first_session_ns)
            } else {
                // The start lies anywhere between two sessions.
                let gap = decks.session_gap.draw(random).unwrap_or(0).max(0);
                Span(below(random, gap.unsigned_abs()) as i64)
            };
            events.push(Reverse((first, number as u64, Event::Session(number))));
        }
        let number = classes.len() as u64;
        let (sessions, free, before) = (Vec::new(), Vec::new(), Vec::new());
        let random = generator(seed);
        Ok(Self { classes, random, arrivals, sessions, free, events, before, number })
    }

    /// The same users, who have been there for a time when the start comes: sessions go on, and
    /// what is left of their connections is opened within a second.
    ///
    /// What the network takes is not known before the start; connections are followed as if their
    /// data ran at 10 Mbit/s.
    #[must_use]
    pub fn since(mut self, past: Span) -> Self {
        let events = std::mem::take(&mut self.events).into_iter();
        self.events = events
            .map(|Reverse((due, number, event))| Reverse((due - past, number, event)))
            .collect();
        let mut ends: BinaryHeap<Reverse<(Span, Session)>> = BinaryHeap::new();
        let mut waiting: Vec<Opening> = Vec::new();
        for _ in 0..FOLLOWED {
            let end = ends.peek().map(|Reverse((end, _))| *end);
            let Some(now) = self.due().into_iter().chain(end).min().filter(|now| *now < Span::ZERO)
            else {
                break;
            };
            if end == Some(now)
                && let Some(Reverse((_, session))) = ends.pop()
            {
                self.on_over(session, now);
                continue;
            }
            let Some(mut opening) = self.take(now) else { continue };
            match rest(&opening.content, Span::ZERO - opening.due) {
                Err(took) => ends.push(Reverse((opening.due + took, opening.session))),
                Ok(content) => {
                    opening.content = content;
                    waiting.push(opening);
                }
            }
        }
        // So many that not all could be followed: the start is where they were left.
        let behind = Span::ZERO - self.due().unwrap_or(Span::ZERO).min(Span::ZERO);
        if behind > Span::ZERO {
            let events = std::mem::take(&mut self.events).into_iter();
            self.events = events
                .map(|Reverse((due, number, event))| Reverse((due + behind, number, event)))
                .collect();
        }
        for opening in &mut waiting {
            opening.due = Span(below(&mut self.random, OPENED_WITHIN).cast_signed());
        }
        waiting.sort_by_key(|opening| Reverse(opening.due));
        self.before = waiting;
        // What ends after the start although nothing is left of it, has ended.
        for Reverse((end, session)) in ends {
            self.on_over(session, end.max(Span::ZERO));
        }
        self
    }

    /// The next moment at which something begins; none when all have ended.
    pub fn due(&self) -> Option<Span> {
        let before = self.before.last().map(|opening| opening.due);
        let event = self.events.peek().map(|Reverse((due, ..))| *due);
        before.into_iter().chain(event).min()
    }

    /// The next connection that is to be opened at this moment or was before.
    pub fn take(&mut self, now: Span) -> Option<Opening> {
        if self.before.last().is_some_and(|opening| opening.due <= now) {
            return self.before.pop();
        }
        while let Some(Reverse((due, _, event))) = self.events.peek().copied() {
            if due > now {
                return None;
            }
            self.events.pop();
            match event {
                Event::Session(class) => self.begin(class, due),
                Event::Connection(session) => return self.open(session, due),
            }
        }
        None
    }

    /// A connection of this session is over.
    pub fn on_over(&mut self, session: Session, now: Span) {
        let Some(going) = self.sessions.get_mut(session.0) else { return };
        going.open = going.open.saturating_sub(1);
        if going.open > 0 || going.to_open > 0 {
            return;
        }
        if going.exchanges == 0 {
            self.free.push(session.0);
            return;
        }
        going.exchanges -= 1;
        let (class, whole) = (going.class, going.whole);
        let decks = &mut self.classes[class];
        let gap = match whole {
            Some(whole) => decks.exchange_of(whole).map_or(0, |exchange| exchange.gap_ns),
            None => decks.exchange_gap.draw(&mut self.random).unwrap_or(0),
        };
        self.exchange(session.0, now + Span(gap.max(0)));
    }

    /// How many sessions are going on.
    pub fn going_on(&self) -> usize {
        self.sessions.len() - self.free.len()
    }

    fn schedule(&mut self, due: Span, event: Event) {
        self.events.push(Reverse((due, self.number, event)));
        self.number += 1;
    }

    /// A session begins, and the next one of its class is scheduled.
    fn begin(&mut self, class: usize, due: Span) {
        let (decks, random) = (&mut self.classes[class], &mut self.arrivals[class]);
        let gap = decks.session_gap.draw(random).unwrap_or(0).max(0);
        let whole = decks.which.draw(random);
        let (client, exchanges) = match whole.and_then(|which| decks.sessions.get(which)) {
            Some(one) => (one.client, u32::try_from(one.exchanges.len()).unwrap_or(1).max(1) - 1),
            None => (
                decks.clients.draw(random).unwrap_or(0),
                decks.exchanges.draw(random).unwrap_or(1).max(1) - 1,
            ),
        };
        let whole = whole.map(|session| Whole { session, exchanges: 0, connections: 0 });
        self.schedule(due + Span(gap), Event::Session(class));
        let going = Going { class, client, exchanges, whole, ..Going::default() };
        let at = self.free.pop().unwrap_or(self.sessions.len());
        if at == self.sessions.len() {
            self.sessions.push(going);
        } else {
            self.sessions[at] = going;
        }
        self.exchange(at, due);
    }

    /// An exchange begins at this moment.
    fn exchange(&mut self, session: usize, due: Span) {
        let going = &mut self.sessions[session];
        let decks = &mut self.classes[going.class];
        let connections = match &mut going.whole {
            Some(whole) => {
                let found = decks.exchange_of(*whole).map_or(1, |one| one.connections.len());
                (whole.exchanges, whole.connections) = (whole.exchanges + 1, 0);
                u32::try_from(found).unwrap_or(u32::MAX)
            }
            None => decks.connections.draw(&mut self.random).unwrap_or(1),
        };
        self.sessions[session].to_open = connections.max(1);
        self.schedule(due, Event::Connection(session));
    }

    fn open(&mut self, session: usize, due: Span) -> Option<Opening> {
        let going = self.sessions.get_mut(session)?;
        going.to_open -= 1;
        going.open += 1;
        let (class, client, more) = (going.class, going.client, going.to_open > 0);
        let decks = &mut self.classes[class];
        let mut placed = None;
        let mut gap = 0;
        if let Some(whole) = &mut going.whole {
            let now = Whole { exchanges: whole.exchanges.saturating_sub(1), ..*whole };
            whole.connections += 1;
            let all = decks.exchange_of(now).map_or(&[][..], |one| &one.connections);
            gap = all.get(whole.connections).map_or(0, |next| next.gap_ns);
            placed = all.get(now.connections).cloned();
        } else if more {
            gap = decks.connection_gap.draw(&mut self.random).unwrap_or(0);
        }
        if more {
            self.schedule(due + Span(gap.max(0)), Event::Connection(session));
        }
        let decks = &mut self.classes[class];
        let (server, packet_bytes, (content, window_bytes)) = if let Some(placed) = placed {
            let PlacedOffer { server, packet_bytes, content, .. } = placed;
            (server, packet_bytes, (content.content(), content.window_bytes))
        } else {
            let server = decks.servers.draw(&mut self.random).unwrap_or(0);
            let packet_bytes = decks.packet_bytes.draw(&mut self.random).unwrap_or([0; 2]);
            (server, packet_bytes, decks.content(&mut self.random))
        };
        let session = Session(session);
        let opening =
            Opening { due, class, session, client, server, packet_bytes, window_bytes, content };
        Some(opening)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ClassOffer, ConnectionOffer, ExchangeOffer, SessionOffer};
    use super::*;

    const MS: i64 = 1_000_000;

    fn offer() -> Offer {
        Offer {
            classes: vec![ClassOffer {
                name: "web".to_owned(),
                port: 80,
                session_gap_ns: vec![100 * MS, 300 * MS],
                exchanges: vec![1, 3],
                exchange_gap_ns: vec![1000 * MS],
                connections: vec![1, 2],
                connection_gap_ns: vec![10 * MS],
                clients: vec![0, 1, 2],
                servers: vec![3],
                pairs: vec![1, 2],
                request_bytes: vec![100],
                response_bytes: vec![1000, 3000],
                user_think_ns: vec![50 * MS],
                server_think_ns: vec![5 * MS],
                ..ClassOffer::default()
            }],
        }
    }

    /// All openings of some seconds, where every connection takes this long.
    fn openings(seconds: i64, takes: Span, seed: u64) -> Vec<Opening> {
        let mut population = Population::new(&offer(), seed).unwrap();
        let mut running: BinaryHeap<Reverse<(Span, Session)>> = BinaryHeap::new();
        let mut found = Vec::new();
        loop {
            let over = running.peek().map(|Reverse((end, _))| *end);
            let Some(now) = population.due().into_iter().chain(over).min() else { return found };
            if now > Span::from_secs(seconds) {
                return found;
            }
            if over == Some(now)
                && let Some(Reverse((_, session))) = running.pop()
            {
                population.on_over(session, now);
            }
            while let Some(opening) = population.take(now) {
                running.push(Reverse((now + takes, opening.session)));
                found.push(opening);
            }
        }
    }

    #[test]
    fn the_rates_are_those_of_the_distributions() {
        let found = openings(1000, Span::from_millis(1), 3);
        // 5 sessions a second, of two exchanges in the mean, of one and a half connections.
        let expected = 1000.0 * 5.0 * 2.0 * 1.5;
        let number = f64::from(u32::try_from(found.len()).unwrap());
        assert!((number / expected - 1.0).abs() < 0.01, "{number}");
        let bytes: u64 = found.iter().map(|one| one.content.bytes()[1]).sum();
        let mean = bytes / u64::try_from(found.len()).unwrap();
        assert!((2990..3010).contains(&mean), "{mean}");
        assert!(found.windows(2).all(|two| two[0].due <= two[1].due));
    }

    #[test]
    fn a_slow_network_slows_sessions_down_and_not_their_arrivals() {
        let quick = openings(60, Span::from_millis(1), 3);
        let slow = openings(60, Span::from_secs(20), 3);
        assert!(slow.len() < quick.len());
        // First connections of sessions are the same in number: 5 a second.
        assert!(slow.len() >= 300);
    }

    #[test]
    fn users_may_have_been_there_before() {
        let population = Population::new(&offer(), 4).unwrap().since(Span::from_secs(600));
        // Exchanges are a second apart: of five sessions a second, half have three of them.
        assert!((3..=12).contains(&population.going_on()), "{}", population.going_on());
        let mut population = population;
        assert!(population.due().unwrap() >= Span::ZERO);
        let opened = std::iter::from_fn(|| population.take(Span::from_secs(1))).count();
        // Those that went on, and those of a second.
        assert!(opened < 60, "{opened}");
    }

    #[test]
    fn whole_sessions_come_as_they_were() {
        let placed = |gap: i64, server: u32, bytes: u64| PlacedOffer {
            gap_ns: gap * MS,
            server,
            content: ConnectionOffer {
                pairs: vec![(bytes, 1, 0, 0)],
                ..ConnectionOffer::default()
            },
            ..PlacedOffer::default()
        };
        let exchange = |gap: i64, connections| ExchangeOffer { gap_ns: gap * MS, connections };
        let sessions = vec![
            SessionOffer {
                client: 4,
                exchanges: vec![
                    exchange(0, vec![placed(0, 1, 10), placed(30, 2, 20)]),
                    exchange(500, vec![placed(0, 3, 30)]),
                ],
            },
            SessionOffer { client: 5, exchanges: vec![exchange(0, vec![placed(0, 6, 40)])] },
        ];
        let class = ClassOffer {
            name: "web".to_owned(),
            port: 80,
            session_gap_ns: vec![2000 * MS, 100 * MS],
            sessions,
            in_order: true,
            first_session_ns: 100 * MS,
            ..ClassOffer::default()
        };
        let mut population = Population::new(&Offer { classes: vec![class] }, 9).unwrap();
        let mut seen = Vec::new();
        while let Some(due) = population.due().filter(|due| due.0 <= 2500 * MS) {
            while let Some(opening) = population.take(due) {
                let bytes = opening.content.bytes()[0];
                seen.push((opening.due.0 / MS, opening.client, opening.server, bytes));
                // Every connection takes no time.
                population.on_over(opening.session, due);
            }
        }
        assert_eq!(
            seen,
            [
                (100, 4, 1, 10),
                (130, 4, 2, 20),
                (630, 4, 3, 30),
                (2100, 5, 6, 40),
                (2200, 4, 1, 10),
                (2230, 4, 2, 20)
            ]
        );
    }

    #[test]
    fn sessions_come_when_they_come_whatever_the_network_does() {
        // Sessions begin at multiples of 100 ms after the first; what waits for an end does not.
        let begins = |takes: i64| -> Vec<(Span, u32)> {
            let found = openings(60, Span::from_millis(takes), 3);
            let first = found[0].due;
            let begins = |one: &&Opening| (one.due - first).0 % (100 * MS) == 0;
            found.iter().filter(begins).map(|one| (one.due, one.client)).collect()
        };
        assert!(begins(7).len() > 100);
        assert_eq!(begins(7), begins(903));
    }

    #[test]
    fn the_same_seed_gives_the_same_users() {
        let takes = Span::from_millis(7);
        assert_eq!(openings(20, takes, 5), openings(20, takes, 5));
        assert_ne!(openings(20, takes, 5), openings(20, takes, 6));
    }

    #[test]
    fn a_class_without_values_is_refused() {
        let mut offer = offer();
        offer.classes[0].servers.clear();
        let error = Population::new(&offer, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "class web has no servers; leave the class out, or extract the model again"
        );
        offer.classes[0].servers.push(1);
        offer.classes[0].session_gap_ns = vec![0];
        assert!(Population::new(&offer, 1).is_err());
    }
}
