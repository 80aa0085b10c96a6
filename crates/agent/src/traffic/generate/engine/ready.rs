//! What is ready: connections are accepted, and what arrived is read.

use socket2::SockRef;
use trustbed_traffic::structural::Side;
use trustbed_units::Span;

use super::{DATAGRAMS, Engine, GENERATIONS, LISTENER, What, fault};
use crate::sys::readiness::Interest;
use crate::sys::socket::limit_window;
use crate::traffic::generate::connection::Served;

impl Engine {
    pub(super) fn serve_ready(&mut self) {
        loop {
            let Ok(ready) = self.readiness.wait(Some(Span::ZERO)) else { return };
            let more = ready.len();
            for one in ready {
                if one.number & LISTENER != 0 {
                    self.accept(usize::try_from(one.number & !LISTENER).unwrap_or(usize::MAX));
                } else if one.number & DATAGRAMS != 0 {
                    self.hear(usize::try_from(one.number & !DATAGRAMS).unwrap_or(usize::MAX));
                } else {
                    self.serve(one.number);
                }
            }
            if more < 256 {
                return;
            }
        }
    }

    fn accept(&mut self, index: usize) {
        while let Some(listener) = self.servers.listeners.get(index) {
            let Ok((stream, peer)) = listener.accept() else { return };
            let Ok(own) = stream.local_addr() else { continue };
            let Some(slot) = self.expected.remove(&(peer, own)) else { continue };
            let number = self.descriptor_number(slot, Side::Server);
            let added = stream.set_nonblocking(true).is_ok()
                && self.readiness.add(&stream, number, Interest::Changes).is_ok();
            let now = self.now;
            let What::Stream(connection) = &mut self.slots[slot].what else { continue };
            if let Some(bytes) = connection.windows[1] {
                // As for the client's, before it connects.
                let _ = limit_window(&stream, bytes);
            }
            connection.ends[1] = Some(stream);
            if !added {
                self.fail(slot, "no_socket");
                continue;
            }
            if !connection.over {
                connection.talk.on_open(Side::Server, now);
            }
            self.serve(number);
        }
    }

    /// Datagrams arrived at a server.
    fn hear(&mut self, index: usize) {
        while let Some((_, socket)) = self.servers.datagrams.get(index) {
            let Ok((count, peer)) = socket.recv_from(&mut self.buffer) else { return };
            let Some(&slot) = self.flows.get(&(index, peer)) else { continue };
            let now = self.now;
            let What::Datagrams(flow) = &mut self.slots[slot].what else { continue };
            let (class, over) = (flow.class, flow.over);
            flow.begin(Side::Server, now);
            self.received(class, Side::Server, count as u64);
            if !over {
                self.serve_flow(slot);
            }
        }
    }

    /// Something changed at an end of a connection.
    fn serve(&mut self, number: u64) {
        let slot = usize::try_from((number & u64::from(u32::MAX)) >> 1).unwrap_or(usize::MAX);
        let side = if number & 1 == 0 { Side::Client } else { Side::Server };
        let now = self.now;
        let Some(found) = self.slots.get_mut(slot) else { return };
        if u64::from(found.generation) & GENERATIONS != (number >> 32) & GENERATIONS {
            return;
        }
        if let What::Datagrams(flow) = &mut found.what {
            let class = flow.class;
            let mut received = 0;
            while let Ok(count) = flow.client.recv(&mut self.buffer) {
                received += count as u64;
            }
            return self.received(class, Side::Client, received);
        }
        let What::Stream(connection) = &mut found.what else { return };
        if side == Side::Client && !connection.connected && !connection.over {
            let error = connection.ends[0].as_ref().and_then(|end| end.take_error().ok().flatten());
            if let Some(error) = error {
                return self.fail(slot, fault(&error));
            }
            let end = connection.ends[0].as_ref().map(SockRef::from);
            if end.is_none_or(|end| end.peer_addr().is_err()) {
                return;
            }
            connection.connected = true;
            connection.talk.on_open(Side::Client, now);
        }
        let class = connection.class;
        match connection.serve(side, now, &mut self.buffer) {
            Ok(Served { received, written, ended }) => {
                let over = connection.over;
                self.received(class, side, received);
                self.sent(class, side, written);
                if over && ended {
                    return self.release(slot);
                }
                if !over {
                    self.advance(slot);
                }
                let unfinished = matches!(
                    &self.slots[slot].what,
                    What::Stream(connection) if !connection.over
                );
                if ended && unfinished {
                    self.fail(slot, "closed_early");
                }
            }
            Err(_) if connection.over => self.release(slot),
            Err(error) => self.fail(slot, fault(&error)),
        }
    }
}
