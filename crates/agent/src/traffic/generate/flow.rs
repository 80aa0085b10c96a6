//! One generated flow of datagrams: each side sends its own at equal distances, whatever arrives.
//! The server begins when the first datagram of the client has arrived.

use std::net::{SocketAddr, UdpSocket};

use trustbed_traffic::structural::{Datagrams, Session, Side};
use trustbed_units::Span;

/// The largest payload of a datagram.
const MOST: u64 = 65_507;

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) class: usize,
    pub(super) session: Session,
    pub(super) number: u64,
    pub(super) client: UdpSocket,
    /// Which of the servers' sockets, and where the client is.
    pub(super) server: usize,
    pub(super) peer: SocketAddr,
    plan: [Datagrams; 2],
    sent: [u64; 2],
    /// When a side began.
    begun: [Option<Span>; 2],
}

impl Flow {
    pub(super) fn new(
        (class, session, number): (usize, Session, u64),
        client: UdpSocket,
        (server, peer): (usize, SocketAddr),
        plan: [Datagrams; 2],
    ) -> Self {
        Self { class, session, number, client, server, peer, plan, sent: [0; 2], begun: [None; 2] }
    }

    /// A side begins now, if it has not.
    pub(super) fn begin(&mut self, side: Side, now: Span) {
        self.begun[side.index()].get_or_insert(now);
    }

    /// When a side is to send next.
    pub(super) fn due(&self, side: Side) -> Option<Span> {
        let own = side.index();
        let (plan, sent) = (self.plan[own], self.sent[own]);
        let number = i64::try_from(sent).unwrap_or(i64::MAX);
        (sent < plan.packets).then(|| {
            Some(Span(self.begun[own]?.0.saturating_add(plan.gap.0.saturating_mul(number))))
        })?
    }

    /// Payload of the next datagram of a side, which counts as sent.
    pub(super) fn take(&mut self, side: Side) -> usize {
        let own = side.index();
        let Datagrams { packets, bytes, .. } = self.plan[own];
        let number = self.sent[own];
        self.sent[own] += 1;
        let before = |number: u64| {
            u64::try_from(u128::from(bytes) * u128::from(number) / u128::from(packets.max(1)))
                .unwrap_or(0)
        };
        usize::try_from((before(number + 1) - before(number)).min(MOST)).unwrap_or(0)
    }

    /// Whether both sides have sent everything; a server that never heard anything has not.
    pub(super) fn is_over(&self) -> bool {
        (0..2).all(|side| self.sent[side] >= self.plan[side].packets)
    }

    /// Whether only the server is left, which never heard anything.
    pub(super) fn is_unheard(&self) -> bool {
        self.sent[0] >= self.plan[0].packets && self.begun[1].is_none()
    }
}
