//! What a class of applications draws from: a deck of the values of each variable.

use rand_chacha::ChaCha8Rng;
use trustbed_units::Span;

use super::{ClassOffer, ConnectionOffer, Content, Deck, ExchangeOffer, Pair, SessionOffer};
use crate::TrafficError;

/// A session that was drawn whole: which, and how many of its exchanges and of this exchange's
/// connections have begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    pub(super) session: usize,
    pub(super) exchanges: usize,
    pub(super) connections: usize,
}

/// What a class draws from.
#[derive(Debug)]
pub(super) struct Decks {
    pub(super) session_gap: Deck<i64>,
    pub(super) exchanges: Deck<u32>,
    pub(super) exchange_gap: Deck<i64>,
    pub(super) connections: Deck<u32>,
    pub(super) connection_gap: Deck<i64>,
    pub(super) clients: Deck<u32>,
    pub(super) servers: Deck<u32>,
    pub(super) packet_bytes: Deck<[u32; 2]>,
    /// Pairs of a connection, or the number of a connection that is drawn whole.
    kinds: Deck<Kind>,
    request: Deck<u64>,
    response: Deck<u64>,
    user_think: Deck<i64>,
    server_think: Deck<i64>,
    whole: Vec<ConnectionOffer>,
    pub(super) sessions: Vec<SessionOffer>,
    pub(super) which: Deck<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Pairs(u32),
    Whole(usize),
}

impl Decks {
    /// Decks of the values of a class; an error that names the key of which it has none.
    pub(super) fn new(class: &ClassOffer) -> Result<Self, TrafficError> {
        let lacks = |key: &'static str| TrafficError::EmptyClass { class: class.name.clone(), key };
        let whole = !class.sessions.is_empty();
        let complete = |one: &SessionOffer| {
            !one.exchanges.is_empty()
                && one.exchanges.iter().all(|exchange| !exchange.connections.is_empty())
        };
        for (empty, key) in [
            (class.session_gap_ns.is_empty(), "session_gap_ns"),
            (!class.sessions.iter().all(complete), "connection in one of its exchanges"),
            (!whole && class.exchanges.is_empty(), "exchanges"),
            (!whole && class.connections.is_empty(), "connections"),
            (!whole && class.clients.is_empty(), "clients"),
            (!whole && class.servers.is_empty(), "servers"),
            (!whole && class.pairs.is_empty() && class.whole.is_empty(), "pairs"),
            (!class.pairs.is_empty() && class.request_bytes.is_empty(), "request_bytes"),
            (!class.pairs.is_empty() && class.response_bytes.is_empty(), "response_bytes"),
        ] {
            if empty {
                return Err(lacks(key));
            }
        }
        // Sessions that all begin at once would never end.
        if class.session_gap_ns.iter().all(|gap| *gap <= 0) {
            return Err(lacks("session_gap_ns above 0"));
        }
        let kinds = class
            .pairs
            .iter()
            .map(|pairs| Kind::Pairs(*pairs))
            .chain((0..class.whole.len()).map(Kind::Whole))
            .collect();
        let which = (0..class.sessions.len()).collect();
        let gaps = class.session_gap_ns.clone();
        Ok(Self {
            session_gap: if class.in_order { Deck::in_order(gaps) } else { Deck::new(gaps) },
            which: if class.in_order { Deck::in_order(which) } else { Deck::new(which) },
            sessions: class.sessions.clone(),
            exchanges: Deck::new(class.exchanges.clone()),
            exchange_gap: Deck::new(class.exchange_gap_ns.clone()),
            connections: Deck::new(class.connections.clone()),
            connection_gap: Deck::new(class.connection_gap_ns.clone()),
            clients: Deck::new(class.clients.clone()),
            servers: Deck::new(class.servers.clone()),
            packet_bytes: Deck::new(class.packet_bytes.clone()),
            kinds: Deck::new(kinds),
            request: Deck::new(class.request_bytes.clone()),
            response: Deck::new(class.response_bytes.clone()),
            user_think: Deck::new(class.user_think_ns.clone()),
            server_think: Deck::new(class.server_think_ns.clone()),
            whole: class.whole.clone(),
        })
    }

    /// The exchange that a whole session comes to next.
    pub(super) fn exchange_of(&self, whole: Whole) -> Option<&ExchangeOffer> {
        self.sessions.get(whole.session)?.exchanges.get(whole.exchanges)
    }

    /// What is said on the next connection, and the windows of its two ends; 0: no limit.
    pub(super) fn content(&mut self, random: &mut ChaCha8Rng) -> (Content, [u32; 2]) {
        let count = match self.kinds.draw(random) {
            Some(Kind::Whole(number)) => {
                let nothing = (Content::Pairs(Vec::new()), [0; 2]);
                let found = self.whole.get(number);
                return found.map_or(nothing, |one| (one.content(), one.window_bytes));
            }
            Some(Kind::Pairs(count)) => count,
            None => 0,
        };
        let pairs = (0..count).map(|number| {
            let (request, response) = (self.request.draw(random), self.response.draw(random));
            let user = if number == 0 { None } else { self.user_think.draw(random) };
            Pair {
                request: request.unwrap_or(0),
                response: response.unwrap_or(0),
                user_think: user.map(Span),
                server_think: self.server_think.draw(random).map(Span),
            }
        });
        (Content::Pairs(pairs.collect()), [0; 2])
    }
}
