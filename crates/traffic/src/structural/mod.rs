//! Background traffic as users and applications make it: sessions, request–response exchanges,
//! connections, pairs of requests and responses (Vishwanath and Vahdat, *Swing*, SIGCOMM 2006;
//! where it leaves details open, Hernández-Campos et al., *Tmix*).
//!
//! Learned: an [`Extraction`] takes connections as a capture showed them ([`Observed`]) and puts
//! them in order ([`Extracted`]). Generated: a [`Population`] says which connection is to be opened
//! when, and a [`Conversation`] what its two ends send. The loop is closed: what comes next waits
//! for what came before, so that a slow network slows the traffic down.
//!
//! No address and no payload goes into what is extracted.

mod content;
mod conversation;
mod deck;
mod decks;
mod extraction;
mod hosts;
mod observed;
mod offer;
mod past;
mod population;
mod sessions;

pub use content::{Burst, Content, Datagrams, Pair, Unit, bursts, pairs, parts, repeat};
pub use conversation::{Conversation, Side};
pub use deck::Deck;
pub use extraction::{Class, Classes, Extracted, ExtractedConnection, Extraction, Thresholds};
pub use hosts::{HostLink, LEAST_PAIRS, median};
pub use observed::{Flight, Link, Observed, fixed_window};
pub use offer::{
    ClassOffer, ConnectionOffer, DatagramsOffer, ExchangeOffer, Offer, PlacedOffer, SessionOffer,
    StreamsOffer,
};
pub use population::{Opening, Population, Session};
pub use sessions::{Place, group};
