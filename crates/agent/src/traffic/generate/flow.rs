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
    /// Everything was sent: what is under way is still received.
    pub(super) over: bool,
    /// Number of the client.
    pub(super) host: u32,
}

impl Flow {
    pub(super) fn new(
        (class, session, number, host): (usize, Session, u64, u32),
        client: UdpSocket,
        (server, peer): (usize, SocketAddr),
        plan: [Datagrams; 2],
    ) -> Self {
        let (sent, begun) = ([0; 2], [None; 2]);
        Self { class, session, number, client, server, peer, plan, sent, begun, over: false, host }
    }

    /// A side begins now, if it has not sent anything before.
    pub(super) fn begin(&mut self, side: Side, now: Span) {
        let own = side.index();
        if self.sent[own] == 0 {
            self.begun[own] = Some(self.begun[own].map_or(now, |begun| begun.min(now)));
        }
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

#[cfg(test)]
mod tests {
    use trustbed_traffic::structural::{
        ClassOffer, ConnectionOffer, DatagramsOffer, Offer, Population,
    };

    use super::*;

    /// A flow of these datagrams, and the session that it belongs to.
    fn flow(plan: [Datagrams; 2]) -> Flow {
        let whole = ConnectionOffer {
            datagrams: Some(DatagramsOffer::default()),
            ..ConnectionOffer::default()
        };
        let class = ClassOffer {
            session_gap_ns: vec![1],
            exchanges: vec![1],
            connections: vec![1],
            clients: vec![0],
            servers: vec![0],
            whole: vec![whole],
            ..ClassOffer::default()
        };
        let mut population = Population::new(&Offer { classes: vec![class] }, 1).unwrap();
        let session = population.take(Span::from_secs(1)).unwrap().session;
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let peer = socket.local_addr().unwrap();
        Flow::new((0, session, 0, 0), socket, (0, peer), plan)
    }

    fn datagrams(packets: u64, bytes: u64, gap: i64) -> Datagrams {
        Datagrams { packets, bytes, gap: Span::from_millis(gap) }
    }

    #[test]
    fn a_server_answers_when_it_hears_and_not_when_it_had_given_up() {
        let mut flow = flow([datagrams(1, 40, 0), datagrams(1, 120, 0)]);
        flow.begin(Side::Client, Span::ZERO);
        assert_eq!(flow.due(Side::Client), Some(Span::ZERO));
        assert_eq!(flow.take(Side::Client), 40);
        assert!(flow.is_unheard());
        flow.begin(Side::Server, Span::from_secs(1));
        flow.begin(Side::Server, Span::from_millis(30));
        assert_eq!(flow.due(Side::Server), Some(Span::from_millis(30)));
        assert_eq!(flow.take(Side::Server), 120);
        assert!(flow.is_over());
    }

    #[test]
    fn datagrams_leave_at_their_distances_and_their_bytes_add_up() {
        let mut flow = flow([datagrams(3, 100, 20), Datagrams::default()]);
        flow.begin(Side::Client, Span::from_millis(5));
        let mut found = Vec::new();
        while let Some(due) = flow.due(Side::Client) {
            found.push((due.0 / 1_000_000, flow.take(Side::Client)));
        }
        assert_eq!(found, [(5, 33), (25, 33), (45, 34)]);
        assert!(flow.is_over() && flow.due(Side::Server).is_none());
    }
}
