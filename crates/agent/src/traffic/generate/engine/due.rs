//! What is due: connections are opened, both ends write, datagrams leave.

use std::cmp::Reverse;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;

use socket2::SockAddr;
use trustbed_traffic::structural::{Content, Conversation, Opening, Side};
use trustbed_units::Span;

use super::{
    BUFFER, Engine, FULL_PACKET, HEADERS, LEAST_SEGMENT, MOST_WINDOW, UNHEARD, What, fault,
};
use crate::sys::readiness::Interest;
use crate::sys::socket::{TcpOptions, datagrams_to};
use crate::traffic::generate::connection::Connection;
use crate::traffic::generate::flow::Flow;
use crate::traffic::generate::report::Kind;

impl Engine {
    pub(super) fn open_due(&mut self) {
        let until = self.now;
        while let Some(opening) = self.population.take(until) {
            let (class, session) = (opening.class, opening.session);
            if self.slots.len() - self.free.len() >= self.most {
                self.failed(class, session, "too_many");
                continue;
            }
            self.note(opening.due, (self.number, class, opening.client), (Kind::Opening, 0));
            self.number += 1;
            self.counts.classes[class].connections += 1;
            let opened = if matches!(opening.content, Content::Datagrams(_)) {
                self.open_flow(&opening)
            } else {
                self.open_stream(opening)
            };
            if let Err(reason) = opened {
                self.failed(class, session, reason);
            }
            self.publish();
        }
    }

    fn publish(&mut self) {
        let open = self.slots.len() - self.free.len();
        self.counts.most_open = self.counts.most_open.max(open);
        self.progress.connections.store(self.number, Ordering::Relaxed);
        self.progress.open.store(open as u64, Ordering::Relaxed);
    }

    fn ends(&self, opening: &Opening) -> Result<(SocketAddr, SocketAddr), &'static str> {
        let client = self.addresses.clients.get(opening.client as usize);
        let server = self.addresses.servers.get(opening.server as usize);
        let (client, server) = client.zip(server).ok_or("no_address")?;
        Ok((SocketAddr::new(*client, 0), SocketAddr::new(*server, self.ports[opening.class])))
    }

    fn open_stream(&mut self, opening: Opening) -> Result<(), &'static str> {
        let (from, to) = self.ends(&opening)?;
        let windows = opening.window_bytes.map(fixed);
        // What the client's end announces limits what the server sends.
        let segment = opening.packet_bytes[1].saturating_sub(HEADERS);
        let tcp = TcpOptions {
            maximum_segment_bytes: (opening.packet_bytes[1] > 0
                && opening.packet_bytes[1] < FULL_PACKET)
                .then_some(segment.max(LEAST_SEGMENT)),
            window_clamp_bytes: windows[0].or(self.tcp.window_clamp_bytes),
            ..self.tcp.clone()
        };
        let socket = tcp.socket(to, Some(from)).map_err(|_| "no_socket")?;
        socket.set_nonblocking(true).map_err(|_| "no_socket")?;
        match socket.connect(&SockAddr::from(to)) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => return Err(fault(&error)),
        }
        let client = TcpStream::from(socket);
        let own = client.local_addr().map_err(|_| "no_socket")?;
        let talk = Conversation::new(opening.content).ok_or("no_content")?;
        let about = (opening.class, opening.session, self.number - 1, opening.client);
        let mut connection = Connection::new(about, (client, own, to), talk);
        connection.windows = windows;
        let slot = self.occupy(|| What::Stream(Box::new(connection)));
        let number = self.descriptor_number(slot, Side::Client);
        if let What::Stream(connection) = &self.slots[slot].what
            && let Some(client) = &connection.ends[0]
            && self.readiness.add(client, number, Interest::Changes).is_err()
        {
            self.release(slot);
            return Err("no_socket");
        }
        self.expected.insert((own, to), slot);
        Ok(())
    }

    fn open_flow(&mut self, opening: &Opening) -> Result<(), &'static str> {
        let (from, to) = self.ends(opening)?;
        let Content::Datagrams(plan) = opening.content else { return Err("no_content") };
        let server = self.servers.datagrams.iter().position(|(address, _)| *address == to);
        let server = server.ok_or("no_address")?;
        let client = datagrams_to(to, Some(from), None).map_err(|_| "no_socket")?;
        let own = client.local_addr().map_err(|_| "no_socket")?;
        let about = (opening.class, opening.session, self.number - 1, opening.client);
        let mut flow = Flow::new(about, client, (server, own), plan);
        flow.begin(Side::Client, self.now);
        let slot = self.occupy(|| What::Datagrams(Box::new(flow)));
        self.flows.insert((server, own), slot);
        let number = self.descriptor_number(slot, Side::Client);
        if let What::Datagrams(flow) = &self.slots[slot].what {
            // Where it fails, what comes back is not counted.
            let _ = self.readiness.add(&flow.client, number, Interest::Changes);
        }
        self.serve_flow(slot);
        Ok(())
    }

    pub(super) fn serve_due(&mut self) {
        // What falls due meanwhile waits for its turn, or nothing would ever be read.
        let until = self.now;
        while let Some(Reverse((due, slot, generation, side))) = self.timers.peek().copied() {
            if due > until {
                return;
            }
            self.timers.pop();
            let found = &mut self.slots[slot];
            if found.generation != generation || found.timers[side] != Some(due) {
                continue;
            }
            found.timers[side] = None;
            match &self.slots[slot].what {
                What::Stream(_) => self.advance(slot),
                What::Datagrams(_) => self.serve_flow(slot),
                What::Nothing => {}
            }
        }
    }

    /// Both ends write what is due, timers are set for what is due later; then the end, if it is.
    pub(super) fn advance(&mut self, slot: usize) {
        for side in [Side::Client, Side::Server] {
            while let Some((due, bytes, about)) = self.next_due(slot, side) {
                let (_, class, _) = about;
                self.note(due, about, (Kind::of(side), bytes));
                self.counted(class, side);
                let now = self.now;
                let What::Stream(connection) = &mut self.slots[slot].what else { return };
                connection.begin(side, bytes);
                if bytes == 0 {
                    connection.talk.on_sent(side, now);
                }
                match connection.write(side, now) {
                    Ok(written) => self.sent(class, side, written),
                    Err(error) => return self.fail(slot, fault(&error)),
                }
            }
        }
        if let What::Stream(connection) = &self.slots[slot].what
            && !connection.over
            && connection.talk.is_over()
        {
            self.finish(slot);
        }
    }

    /// What a side is to write now: when it was due, the bytes, and of which connection and class.
    fn next_due(&mut self, slot: usize, side: Side) -> Option<(Span, u64, (u64, usize, u32))> {
        let What::Stream(connection) = &mut self.slots[slot].what else { return None };
        let due = connection.talk.due(side).filter(|_| !connection.over)?;
        if due > self.now {
            self.set_timer(slot, side, due);
            return None;
        }
        let (due, bytes) = connection.talk.take(side, self.now)?;
        Some((due, bytes, (connection.number, connection.class, connection.host)))
    }

    fn counted(&mut self, class: usize, side: Side) {
        let counts = &mut self.counts.classes[class];
        match side {
            Side::Client => counts.requests += 1,
            Side::Server => counts.responses += 1,
        }
    }

    pub(super) fn serve_flow(&mut self, slot: usize) {
        let now = self.now;
        let (mut sent, mut next) = ([0_u64; 2], [None; 2]);
        let mut begun = Vec::new();
        let What::Datagrams(flow) = &mut self.slots[slot].what else { return };
        if flow.over {
            return self.release(slot);
        }
        for side in [Side::Client, Side::Server] {
            while let Some(due) = flow.due(side).filter(|due| *due <= now) {
                let length = flow.take(side);
                let bytes = &self.buffer[..length.min(BUFFER)];
                // What the socket refuses is lost, as it would be in the network.
                let done = match side {
                    Side::Client => flow.client.send(bytes),
                    Side::Server => self.servers.datagrams[flow.server].1.send_to(bytes, flow.peer),
                };
                sent[side.index()] += done.map_or(0, |count| count as u64);
                begun.push((due, side, length as u64));
            }
            next[side.index()] = flow.due(side);
        }
        let (class, number, session, host) = (flow.class, flow.number, flow.session, flow.host);
        let (over, unheard) = (flow.is_over(), flow.is_unheard());
        flow.over = over;
        for (due, side, bytes) in begun {
            self.note(due, (number, class, host), (Kind::of(side), bytes));
            self.counted(class, side);
        }
        for side in [Side::Client, Side::Server] {
            self.sent(class, side, sent[side.index()]);
        }
        if over {
            // What is under way is received before the sockets close.
            self.counts.classes[class].completed += 1;
            self.population.on_over(session, now);
            self.set_timer(slot, Side::Client, now + UNHEARD);
        } else if unheard {
            // The first datagrams may be lost: nobody waits for ever.
            let What::Datagrams(flow) = &mut self.slots[slot].what else { return };
            flow.begin(Side::Server, now + UNHEARD);
            next[1] = flow.due(Side::Server);
        }
        if !over {
            for side in [Side::Client, Side::Server] {
                if let Some(due) = next[side.index()] {
                    self.set_timer(slot, side, due);
                }
            }
        }
    }
}

/// A window that a socket is held to. Larger ones are left to the kernel: it may not grant the
/// buffer (`net.core.rmem_max`), and they hardly limit anybody.
fn fixed(window: u32) -> Option<u32> {
    (window > 0 && window <= MOST_WINDOW).then_some(window)
}
