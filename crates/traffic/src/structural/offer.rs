//! What a population of users is made from, as a configuration states it. Times are nanoseconds,
//! sizes bytes; every list holds the values of an empirical distribution, each as often as it was
//! seen.

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::{Burst, Content, Datagrams, Pair};

/// All classes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// One for each class that sends.
    pub classes: Vec<ClassOffer>,
}

/// A class of applications.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassOffer {
    /// Its name in reports.
    pub name: String,
    /// Where its servers listen.
    pub port: u16,
    /// UDP; TCP unless given.
    #[serde(default)]
    pub datagrams: bool,
    /// Between the starts of sessions of the whole population.
    pub session_gap_ns: Vec<i64>,
    /// Exchanges of a session.
    pub exchanges: Vec<u32>,
    /// From the end of an exchange to the next one of its session.
    #[serde(default)]
    pub exchange_gap_ns: Vec<i64>,
    /// Connections of an exchange.
    pub connections: Vec<u32>,
    /// Between the starts of connections of an exchange.
    #[serde(default)]
    pub connection_gap_ns: Vec<i64>,
    /// Clients of sessions, by their number.
    pub clients: Vec<u32>,
    /// Servers of connections, by their number.
    pub servers: Vec<u32>,
    /// The largest IP packets of connections, the client's and the server's; 0: what the path
    /// allows.
    #[serde(default)]
    pub packet_bytes: Vec<[u32; 2]>,
    /// Pairs of a connection: each is then made of independent draws from the four lists below.
    #[serde(default)]
    pub pairs: Vec<u32>,
    /// Bytes of requests.
    #[serde(default)]
    pub request_bytes: Vec<u64>,
    /// Bytes of responses.
    #[serde(default)]
    pub response_bytes: Vec<u64>,
    /// From a response to the next request of its connection.
    #[serde(default)]
    pub user_think_ns: Vec<i64>,
    /// From a request to its response.
    #[serde(default)]
    pub server_think_ns: Vec<i64>,
    /// Connections that are drawn whole.
    #[serde(default)]
    pub whole: Vec<ConnectionOffer>,
    /// Sessions that are drawn whole: of the lists above only the gaps between sessions count then.
    #[serde(default)]
    pub sessions: Vec<SessionOffer>,
    /// Gaps and sessions come in this order and not at random: the gap behind the first session
    /// first.
    #[serde(default)]
    pub in_order: bool,
    /// When the first of them begins.
    #[serde(default)]
    pub first_session_ns: i64,
}

/// A session that is drawn whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionOffer {
    /// Its client.
    pub client: u32,
    /// Its exchanges.
    pub exchanges: Vec<ExchangeOffer>,
}

/// An exchange of such a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeOffer {
    /// After the end of the exchange before.
    pub gap_ns: i64,
    /// Its connections.
    pub connections: Vec<PlacedOffer>,
}

/// A connection of such an exchange.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacedOffer {
    /// After the start of the connection before.
    pub gap_ns: i64,
    /// Its server.
    pub server: u32,
    /// The largest IP packets of client and server.
    #[serde(default)]
    pub packet_bytes: [u32; 2],
    /// What is said.
    pub content: ConnectionOffer,
}

/// A connection that is drawn whole: one of the three.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionOffer {
    /// The largest windows that client and server offer; 0: what the kernel tunes.
    #[serde(default)]
    pub window_bytes: [u32; 2],
    /// Request, response, user think time and server think time of every pair.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<(u64, u64, i64, i64)>,
    /// Both sides at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamsOffer>,
    /// Datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramsOffer>,
}

/// Bursts, as the time after the one before and their bytes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamsOffer {
    /// The client's.
    pub client: Vec<(i64, u64)>,
    /// The server's.
    pub server: Vec<(i64, u64)>,
}

/// Datagrams of a flow: packets, bytes of payload in all, nanoseconds between two.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatagramsOffer {
    /// The client's.
    pub client: (u64, u64, i64),
    /// The server's.
    pub server: (u64, u64, i64),
}

impl ConnectionOffer {
    /// What it says.
    pub fn content(&self) -> Content {
        if let Some(streams) = &self.streams {
            return Content::Streams([&streams.client, &streams.server].map(|side| {
                side.iter().map(|&(after, bytes)| Burst { after: Span(after), bytes }).collect()
            }));
        }
        if let Some(flow) = &self.datagrams {
            return Content::Datagrams(
                [flow.client, flow.server].map(|(packets, bytes, gap)| Datagrams {
                    packets,
                    bytes,
                    gap: Span(gap),
                }),
            );
        }
        let pair = |&(request, response, user, server): &(u64, u64, i64, i64)| Pair {
            request,
            response,
            user_think: Some(Span(user)),
            server_think: Some(Span(server)),
        };
        Content::Pairs(self.pairs.iter().map(pair).collect())
    }
}
