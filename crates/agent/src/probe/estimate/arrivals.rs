//! Arrival times of the packets of the latest run.

use trustbed_units::Ns;

use super::wire::{Arrivals, Label, MOST_PACKETS, Request};

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is recorded.
    Accepted,
    /// It was there already.
    Duplicate,
    /// Its run is over.
    Late,
    /// No run has such a number.
    Beyond,
}

/// The packets of one run; a packet of a later one begins anew.
#[derive(Debug, Default)]
pub(super) struct Run {
    number: u32,
    received: Vec<Option<Ns>>,
    came: usize,
}

impl Run {
    /// A packet arrived.
    pub(super) fn on_packet(&mut self, label: Label, at: Ns) -> Fate {
        let index = label.number as usize;
        if index >= MOST_PACKETS {
            return Fate::Beyond;
        }
        if label.run < self.number {
            return Fate::Late;
        }
        if label.run > self.number {
            self.received.clear();
            (self.number, self.came) = (label.run, 0);
        }
        if self.received.len() <= index {
            self.received.resize(index + 1, None);
        }
        match self.received.get_mut(index) {
            Some(moment @ None) => {
                *moment = Some(at);
                self.came += 1;
                Fate::Accepted
            }
            _ => Fate::Duplicate,
        }
    }

    /// Whether everything of a request has arrived.
    pub(super) fn is_whole(&self, request: Request) -> bool {
        request.packets == 0
            || (self.number == request.run && self.came >= request.packets as usize)
    }

    /// The requested arrivals; none of another run than the latest.
    pub(super) fn answer(
        &self,
        request: Request,
        clock_steps: u32,
        dropped: Option<u32>,
    ) -> Arrivals {
        let mut received =
            if self.number == request.run { self.received.clone() } else { Vec::new() };
        received.resize(request.packets as usize, None);
        Arrivals { run: request.run, clock_steps, dropped, received }
    }
}

#[cfg(test)]
mod tests {
    use trustbed_units::Span;

    use super::*;

    fn label(run: u32, number: u32) -> Label {
        Label { nonce: 1, run, number }
    }

    fn request(run: u32, packets: u32) -> Request {
        Request { run, packets, patience: Span::ZERO }
    }

    #[test]
    fn a_run_is_whole_when_all_its_packets_came_in_any_order() {
        let mut run = Run::default();
        assert_eq!(run.on_packet(label(1, 2), Ns(30)), Fate::Accepted);
        assert_eq!(run.on_packet(label(1, 0), Ns(10)), Fate::Accepted);
        assert_eq!(
            (run.on_packet(label(1, 2), Ns(99)), run.is_whole(request(1, 3))),
            (Fate::Duplicate, false)
        );
        assert_eq!(
            run.answer(request(1, 4), 0, None).received,
            [Some(Ns(10)), None, Some(Ns(30)), None]
        );
        assert_eq!(
            (run.on_packet(label(1, 1), Ns(20)), run.is_whole(request(1, 3))),
            (Fate::Accepted, true)
        );
    }

    #[test]
    fn a_later_run_replaces_an_earlier_one() {
        let mut run = Run::default();
        run.on_packet(label(1, 0), Ns(10));
        assert_eq!(run.on_packet(label(3, 1), Ns(20)), Fate::Accepted);
        assert_eq!(run.on_packet(label(2, 0), Ns(30)), Fate::Late);
        assert_eq!(run.answer(request(1, 1), 0, None).received, [None]);
        assert_eq!(
            run.answer(request(3, 2), 7, Some(8)),
            Arrivals {
                run: 3,
                clock_steps: 7,
                dropped: Some(8),
                received: vec![None, Some(Ns(20))]
            }
        );
        assert!(!run.is_whole(request(1, 1)) && run.is_whole(request(9, 0)));
    }

    #[test]
    fn packet_numbers_beyond_a_run_take_no_memory() {
        let mut run = Run::default();
        assert_eq!(run.on_packet(label(1, 1000), Ns(10)), Fate::Beyond);
        assert_eq!(run.on_packet(label(1, u32::MAX), Ns(10)), Fate::Beyond);
        assert!(run.received.is_empty());
        assert_eq!(run.on_packet(label(1, 999), Ns(10)), Fate::Accepted);
    }
}
