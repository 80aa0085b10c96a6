//! A connection as a capture of the link showed it.

use trustbed_units::{Ns, Span};

use super::Content;

/// One connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Its first packet.
    pub start: Ns,
    /// Its last data, or its last packet where it had none.
    pub end: Ns,
    /// Address of the side that opened it.
    pub client: [u8; 16],
    /// Address of the other side.
    pub server: [u8; 16],
    /// Port of the server.
    pub port: u16,
    /// Protocol of IP: 6 or 17.
    pub protocol: u8,
    /// It had begun before the capture did, or was not over at its end.
    pub partial: bool,
    /// Its content was cut: more units, or bytes that the capture does not hold.
    pub incomplete: bool,
    /// The largest IP packet with data, of the client and of the server; 0 where there was none.
    pub packet_bytes: [u32; 2],
    /// The window that the client offered, and the server, where it was a fixed one
    /// ([`fixed_window`]); 0 elsewhere.
    pub window_bytes: [u32; 2],
    /// What was said.
    pub content: Content,
    /// The client's side of the link, and the server's.
    pub links: [Link; 2],
}

/// What a connection shows of the network between the link and one of its hosts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Link {
    /// From the capture point to the host and back, by the handshake.
    pub round_trip: Option<Span>,
    /// Rates of packet pairs that the host sent, in bits per second.
    pub toward: Vec<f64>,
    /// Rates of pairs of its acknowledgements.
    pub from: Vec<f64>,
    /// The largest rate at which its data came for a while, in bits per second; none without so
    /// much of it.
    pub carried: Option<f64>,
    /// Data packets that it sent, and those among them that were lost before the capture point.
    pub sent: [u64; 2],
    /// Data packets sent to it that passed the capture point, and those among them that were lost
    /// behind it.
    pub received: [u64; 2],
}

/// How much a receiver got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// Bytes of data.
    pub carried: u64,
    /// Of these the most that came in a round trip.
    pub per_round_trip: u64,
}

/// The window of a receiver that offered a fixed one: the largest, in bytes.
///
/// A receiver that tunes its buffer opens the window once a windowful has come in about a round
/// trip; one that did not by then, never will. With less data, or slower ones, the window was no
/// limit, and none is stated.
///
/// `first`: offered when the first data were sent; `largest`: of all.
///
/// ```
/// use trustbed_traffic::structural::{Flight, fixed_window};
/// let got = |carried, per_round_trip| Flight { carried, per_round_trip };
/// assert_eq!(fixed_window(17_520, 17_520, got(222_173, 13_000)), Some(17_520));
/// assert_eq!(fixed_window(64_240, 346_112, got(1_000_000, 300_000)), None);
/// assert_eq!(fixed_window(17_520, 17_520, got(9_000, 9_000)), None);
/// // 200 bytes now and then.
/// assert_eq!(fixed_window(64_240, 65_535, got(1_000_000, 200)), None);
/// ```
pub fn fixed_window(first: u32, largest: u32, got: Flight) -> Option<u32> {
    let opened = u64::from(largest) * 8 > u64::from(first) * 9;
    let filled = got.carried >= u64::from(largest) && got.per_round_trip * 4 >= u64::from(largest);
    (largest > 0 && !opened && filled).then_some(largest)
}
