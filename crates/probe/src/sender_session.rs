//! What became of the probes of one session: answered, lost, late, twice, overtaken; and where, as
//! far as the reflector reports it.
//!
//! A probe is *lost* when no answer came within the time after which it is given up (RFC 7680,
//! section 2.4); an answer behind that is *late*, and its probe stays lost. *Reordered* is an
//! answer whose probe was sent before one that was answered already (RFC 4737, section 3).
//!
//! A reflector that counts its own packets (RFC 8762, section 4: stateful) shows in which direction
//! something happened: a gap in its numbers was lost on the reverse path, other probes were lost on
//! the forward path. One that does not count sends the probe's number instead. The two look alike
//! until something is lost, so that directions are reported only of a reflector that is known to
//! count or was seen to.
//!
//! Bias: what was lost before the first answer (unless that is the reflector's first) and behind
//! the last has no direction. A probe that was duplicated on the forward path and lost both answers
//! counts as two answers lost and takes one from the probes lost there; a doubled answer of a
//! reflector that does not count is doubled in no direction.

use std::collections::VecDeque;

use trustbed_units::{Ns, Span};

use crate::{ErrorEstimate, ReflectorPacket, RoundTrip, StampTime};

/// Probes that are waited for at once; an older one is given up.
const MOST_WAITING: usize = 65_536;
/// Numbers are compared as 64 bits, from here on, so that something may come before the first.
const BASE: u64 = 1 << 32;

/// The probes of one session. For every probe [`SenderSession::on_sent`], then
/// [`SenderSession::on_left`] if the kernel reports when it left; for whatever comes
/// [`SenderSession::on_answer`]; and [`SenderSession::poll_outcome`] until there is none. At the
/// end [`SenderSession::poll_remaining`] gives those still waited for.
#[derive(Debug, Clone)]
pub struct SenderSession {
    give_up: Span,
    session: u16,
    stateful: Option<bool>,
    waiting: VecDeque<Waiting>,
    /// Those of them that have no answer.
    unanswered: usize,
    /// The number of the first that is waited for.
    front: u64,
    counts: SessionCounts,
    /// The lowest and the highest number of the probes that were answered, and of the answers.
    probes: Option<(u64, u64)>,
    answers: Option<(u64, u64)>,
    /// Answers with different numbers.
    distinct_answers: u64,
    reordered_forward: u64,
    reordered_backward: u64,
    duplicated_forward: u64,
    duplicated_backward: u64,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    stamp: StampTime,
    sent: Ns,
    since: Ns,
    left: bool,
    answer: Option<Held>,
    copies: u32,
}

/// The content of an answer.
#[derive(Debug, Clone, Copy)]
struct Held {
    reflector_received: Ns,
    reflector_sent: Ns,
    received: Ns,
    packet: ReflectorPacket,
    reordered: bool,
}

/// What something that came was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerFate {
    /// The first answer to a probe.
    Answer,
    /// Another answer to a probe that was answered.
    Duplicate,
    /// An answer to a probe that was given up.
    Late,
    /// Of another session.
    OtherSession,
    /// To no probe: a number that was not sent, or another timestamp than that probe's.
    Unknown,
    /// With times that are none.
    NoTime,
}

/// What became of one probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Its number, from 0.
    pub sequence: u64,
    /// When it was sent: the kernel's time if there is one, else its timestamp.
    pub sent: Ns,
    /// Whether the time is the kernel's.
    pub kernel_stamped: bool,
    /// Its answer; none when it was lost.
    pub answer: Option<Answered>,
    /// It had no answer, and might still have got one.
    pub indeterminate: bool,
    /// Answers that came to it besides.
    pub duplicates: u32,
}

/// The answer to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// Its moments.
    pub trip: RoundTrip,
    /// The reflector's own number of it, or the probe's.
    pub sequence: u32,
    /// The hops that the probe could still have made when it came to the reflector.
    pub ttl: u8,
    /// What the reflector thinks of its clock.
    pub estimate: ErrorEstimate,
    /// It came behind the answer to a later probe.
    pub reordered: bool,
}

/// What became of all probes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionCounts {
    /// Probes that were sent.
    pub sent: u64,
    /// Probes that were answered, of those whose outcome was reported.
    pub answered: u64,
    /// Probes that were given up.
    pub lost: u64,
    /// Probes that might still have been answered when the session stopped waiting.
    pub indeterminate: u64,
    /// Answers to probes that were given up.
    pub late: u64,
    /// Answers to probes that were answered.
    pub duplicated: u64,
    /// Answers behind the answer to a later probe.
    pub reordered: u64,
    /// Answers that named another session.
    pub other_session: u64,
    /// Answers to nothing.
    pub unknown: u64,
    /// Answers with times that are none.
    pub no_time: u64,
    /// Answers that named no session, though the probe named one: RFC 8972, section 3.
    pub without_session: u64,
    /// Probes whose delay to the reflector was negative, by the clocks as they are.
    pub negative_forward: u64,
    /// Likewise from the reflector.
    pub negative_backward: u64,
    /// Probes whose round trip was negative: a clock was set meanwhile.
    pub negative_round_trip: u64,
}

/// Where it happened; only of a reflector that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectionCounts {
    /// Probes that did not come to the reflector.
    pub lost_forward: u64,
    /// Answers that did not come back.
    pub lost_backward: u64,
    /// Lost probes of which neither is known.
    pub lost_somewhere: u64,
    /// Probes that came to the reflector twice.
    pub duplicated_forward: u64,
    /// Answers that came back twice.
    pub duplicated_backward: u64,
    /// Probes that came to the reflector behind a later one, of those whose answers came in order.
    pub reordered_forward: u64,
    /// Answers that came back behind a later one.
    pub reordered_backward: u64,
}

impl SenderSession {
    /// A session of which nothing was sent, whose packets name it (0: they do not). Whether the
    /// reflector counts may be given; else it is inferred.
    pub fn new(session: u16, give_up: Span, stateful: Option<bool>) -> Self {
        Self {
            give_up,
            session,
            stateful,
            waiting: VecDeque::new(),
            unanswered: 0,
            front: BASE,
            counts: SessionCounts::default(),
            probes: None,
            answers: None,
            distinct_answers: 0,
            reordered_forward: 0,
            reordered_backward: 0,
            duplicated_forward: 0,
            duplicated_backward: 0,
        }
    }

    /// The number of the next probe, as it is on the wire.
    pub fn sequence(&self) -> u32 {
        low(self.next())
    }

    /// The next probe was sent with a timestamp that means the moment `sent`; `now` is by a clock
    /// that is never set.
    pub fn on_sent(&mut self, stamp: StampTime, sent: Ns, now: Ns) {
        self.waiting.push_back(Waiting {
            stamp,
            sent,
            since: now,
            left: false,
            answer: None,
            copies: 0,
        });
        self.unanswered += 1;
        self.counts.sent += 1;
    }

    /// The kernel reports when a probe left; nothing happens where that probe's outcome was
    /// reported already.
    pub fn on_left(&mut self, sequence: u32, at: Ns) {
        let number = nearest(sequence, self.next());
        if let Some(probe) = self.waiting_mut(number) {
            (probe.sent, probe.left) = (at, true);
        }
    }

    /// A packet came.
    pub fn on_answer(&mut self, packet: &ReflectorPacket, received: Ns) -> AnswerFate {
        let fate = self.judge(packet, received);
        let counts = &mut self.counts;
        match fate {
            AnswerFate::Answer => {}
            AnswerFate::Duplicate => counts.duplicated += 1,
            AnswerFate::Late => counts.late += 1,
            AnswerFate::OtherSession => counts.other_session += 1,
            AnswerFate::Unknown => counts.unknown += 1,
            AnswerFate::NoTime => counts.no_time += 1,
        }
        fate
    }

    /// What became of the next probe in the order of sending; none while it may still be answered,
    /// or answered once more.
    pub fn poll_outcome(&mut self, now: Ns) -> Option<Outcome> {
        let probe = *self.waiting.front()?;
        if now - probe.since < self.give_up && self.waiting.len() <= MOST_WAITING {
            return None;
        }
        self.waiting.pop_front();
        Some(self.outcome(&probe, false))
    }

    /// The same, of a session that ends now: also of probes that might still be answered.
    pub fn poll_remaining(&mut self, now: Ns) -> Option<Outcome> {
        let probe = self.waiting.pop_front()?;
        Some(self.outcome(&probe, now - probe.since < self.give_up))
    }

    /// When [`SenderSession::poll_outcome`] has something next, if nothing else happens.
    pub fn next_wakeup(&self) -> Option<Ns> {
        self.waiting.front().map(|probe| probe.since + self.give_up)
    }

    /// How many probes are waited for that have no answer yet.
    pub const fn unanswered(&self) -> usize {
        self.unanswered
    }

    /// What became of all probes so far.
    pub const fn counts(&self) -> SessionCounts {
        self.counts
    }

    /// Whether the reflector counts its packets: as it was given, or because its numbers differed
    /// from the probes'. None where neither is known.
    pub const fn is_stateful(&self) -> Option<bool> {
        self.stateful
    }

    /// Where it happened; none where the reflector is not known to count. Meant for the end, when
    /// everything was given up.
    pub fn directions(&self) -> Option<DirectionCounts> {
        if self.stateful != Some(true) {
            return None;
        }
        let mut found = DirectionCounts {
            duplicated_forward: self.duplicated_forward,
            duplicated_backward: self.duplicated_backward,
            reordered_forward: self.reordered_forward,
            reordered_backward: self.reordered_backward,
            ..DirectionCounts::default()
        };
        // An answer that came too late was not lost in any direction.
        let lost = self.counts.lost.saturating_sub(self.counts.late);
        if let (Some((low_probe, high_probe)), Some((low_answer, high_answer))) =
            (self.probes, self.answers)
        {
            let first_probe = if low_answer == BASE { BASE } else { low_probe };
            let different = self.distinct_answers - self.duplicated_forward;
            let missing = (high_probe - first_probe + 1).saturating_sub(different).min(lost);
            found.lost_backward =
                (high_answer - low_answer + 1).saturating_sub(self.distinct_answers).min(lost);
            found.lost_forward = missing.saturating_sub(found.lost_backward);
        }
        found.lost_somewhere = lost.saturating_sub(found.lost_forward + found.lost_backward);
        Some(found)
    }

    fn judge(&mut self, packet: &ReflectorPacket, received: Ns) -> AnswerFate {
        if packet.session != self.session && packet.session != 0 {
            return AnswerFate::OtherSession;
        }
        let format = packet.error_estimate.format();
        let times =
            (packet.received.moment(format, received), packet.timestamp.moment(format, received));
        let (Some(reflector_received), Some(reflector_sent)) = times else {
            return AnswerFate::NoTime;
        };
        let number = nearest(packet.sender_sequence, self.next());
        if number >= self.next() || number < BASE {
            return AnswerFate::Unknown;
        }
        let Some(probe) = self.waiting_mut(number) else {
            // Whether it is the answer to that probe is not known any more: its timestamp is
            // forgotten.
            return AnswerFate::Late;
        };
        if probe.stamp != packet.sender_timestamp {
            return AnswerFate::Unknown;
        }
        if let Some(held) = probe.answer {
            probe.copies = probe.copies.saturating_add(1);
            self.on_copy(&held.packet, packet);
            return AnswerFate::Duplicate;
        }
        let reordered = self.on_numbers(number, packet.sequence);
        self.counts.without_session += u64::from(packet.session != self.session);
        self.counts.reordered += u64::from(reordered);
        if let Some(probe) = self.waiting_mut(number) {
            probe.answer = Some(Held {
                reflector_received,
                reflector_sent,
                received,
                packet: *packet,
                reordered,
            });
            self.unanswered -= 1;
        }
        AnswerFate::Answer
    }

    /// A further answer to a probe: the same packet again, or the answer to the probe's copy.
    fn on_copy(&mut self, first: &ReflectorPacket, packet: &ReflectorPacket) {
        if first.sequence == packet.sequence {
            self.duplicated_backward += 1;
        } else {
            self.duplicated_forward += 1;
            self.on_answer_number(packet.sequence);
            self.stateful.get_or_insert(true);
        }
    }

    /// Notes the numbers of an answer; whether it is reordered.
    fn on_numbers(&mut self, number: u64, answer: u32) -> bool {
        if answer != low(number) {
            self.stateful.get_or_insert(true);
        }
        let overtaken = self.probes.is_some_and(|(_, highest)| number < highest);
        self.probes = Some(self.probes.map_or((number, number), |(lowest, highest)| {
            (lowest.min(number), highest.max(number))
        }));
        let answer_overtaken = self.on_answer_number(answer);
        if answer_overtaken {
            self.reordered_backward += 1;
        } else if overtaken {
            self.reordered_forward += 1;
        }
        overtaken
    }

    /// Notes the reflector's number; whether a higher one came before.
    fn on_answer_number(&mut self, answer: u32) -> bool {
        self.distinct_answers += 1;
        let number =
            nearest(answer, self.answers.map_or(BASE + u64::from(answer), |(_, highest)| highest));
        let overtaken = self.answers.is_some_and(|(_, highest)| number < highest);
        self.answers = Some(self.answers.map_or((number, number), |(lowest, highest)| {
            (lowest.min(number), highest.max(number))
        }));
        overtaken
    }

    fn outcome(&mut self, probe: &Waiting, is_early: bool) -> Outcome {
        let sequence = self.front - BASE;
        self.front += 1;
        let answer = probe.answer.map(|held| self.answered(probe, &held));
        self.unanswered -= usize::from(answer.is_none());
        let indeterminate = answer.is_none() && is_early;
        self.counts.lost += u64::from(answer.is_none() && !indeterminate);
        self.counts.indeterminate += u64::from(indeterminate);
        Outcome {
            sequence,
            sent: probe.sent,
            kernel_stamped: probe.left,
            answer,
            indeterminate,
            duplicates: probe.copies,
        }
    }

    fn answered(&mut self, probe: &Waiting, held: &Held) -> Answered {
        let Held { reflector_received, reflector_sent, received, packet, reordered } = *held;
        let trip = RoundTrip { sent: probe.sent, reflector_received, reflector_sent, received };
        let counts = &mut self.counts;
        counts.answered += 1;
        counts.negative_forward += u64::from(trip.forward() < Span::ZERO);
        counts.negative_backward += u64::from(trip.backward() < Span::ZERO);
        counts.negative_round_trip += u64::from(trip.round_trip() < Span::ZERO);
        Answered {
            trip,
            sequence: packet.sequence,
            ttl: packet.sender_ttl,
            estimate: packet.error_estimate,
            reordered,
        }
    }

    fn next(&self) -> u64 {
        self.front + self.waiting.len() as u64
    }

    fn waiting_mut(&mut self, number: u64) -> Option<&mut Waiting> {
        let index = usize::try_from(number.checked_sub(self.front)?).ok()?;
        self.waiting.get_mut(index)
    }
}

/// The number with these low bits that is nearest to another.
fn nearest(sequence: u32, near: u64) -> u64 {
    let ahead = sequence.wrapping_sub(low(near)).cast_signed();
    near.saturating_add_signed(ahead.into())
}

#[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are meant")]
const fn low(number: u64) -> u32 {
    number as u32
}
