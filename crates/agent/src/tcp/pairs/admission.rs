//! Which connections belong to a round: what their header must show, which have arrived, and why
//! others are refused.

use serde::Serialize;

use super::declared::{Connection, Nonce, Role};
use super::header::{Header, LENGTH, Unreadable};

/// Why a connection was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    OtherPeer,
    /// No complete header within the time.
    NoHeader,
    /// It ended within its header.
    CutHeader,
    /// Pushed out by newer connections before its header.
    PushedOut,
    NotAHeader,
    OtherVersion,
    MeaninglessHeader,
    OtherNonce,
    OtherRound,
    NotDeclared,
    /// The port is that of the other role.
    OtherPort,
    OtherSize,
    Second,
}

/// Refused connections by reason; the errors are the kernel's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct Refused {
    other_peer: u64,
    no_header: u64,
    cut_header: u64,
    pushed_out: u64,
    not_a_header: u64,
    other_version: u64,
    meaningless_header: u64,
    other_nonce: u64,
    other_round: u64,
    not_declared: u64,
    other_port: u64,
    other_size: u64,
    second: u64,
    errors: u64,
    /// The first.
    error: Option<String>,
}

/// The declared connections, and which of them were admitted.
#[derive(Debug)]
pub(super) struct Admission {
    round: u64,
    nonce: Nonce,
    pub(super) connections: Vec<Connection>,
    admitted: Vec<bool>,
}

impl Refused {
    pub(super) fn count(&mut self, reason: Reason) {
        *match reason {
            Reason::OtherPeer => &mut self.other_peer,
            Reason::NoHeader => &mut self.no_header,
            Reason::CutHeader => &mut self.cut_header,
            Reason::PushedOut => &mut self.pushed_out,
            Reason::NotAHeader => &mut self.not_a_header,
            Reason::OtherVersion => &mut self.other_version,
            Reason::MeaninglessHeader => &mut self.meaningless_header,
            Reason::OtherNonce => &mut self.other_nonce,
            Reason::OtherRound => &mut self.other_round,
            Reason::NotDeclared => &mut self.not_declared,
            Reason::OtherPort => &mut self.other_port,
            Reason::OtherSize => &mut self.other_size,
            Reason::Second => &mut self.second,
        } += 1;
    }

    pub(super) fn error(&mut self, error: &str) {
        self.errors += 1;
        self.error.get_or_insert_with(|| error.to_owned());
    }
}

impl Admission {
    pub(super) fn new(round: u64, nonce: Nonce, connections: Vec<Connection>) -> Self {
        let admitted = vec![false; connections.len()];
        Self { round, nonce, connections, admitted }
    }

    /// Whether every declared connection was admitted.
    pub(super) fn is_done(&self) -> bool {
        self.admitted.iter().all(|admitted| *admitted)
    }

    /// Which connection shows this header, at the port of a role; it is admitted from now on.
    pub(super) fn admit(
        &mut self,
        bytes: &[u8; LENGTH],
        port: Role,
    ) -> Result<(usize, Connection), Reason> {
        let header = Header::read(bytes).map_err(|unreadable| match unreadable {
            Unreadable::Foreign => Reason::NotAHeader,
            Unreadable::OtherVersion => Reason::OtherVersion,
            Unreadable::Meaningless => Reason::MeaninglessHeader,
        })?;
        if header.nonce != self.nonce {
            return Err(Reason::OtherNonce);
        }
        if header.round != self.round {
            return Err(Reason::OtherRound);
        }
        let mut all = self.connections.iter().copied().enumerate();
        let is_it =
            |(_, one): &(usize, Connection)| (one.pair, one.role) == (header.pair, header.role);
        let (number, declared) = all.find(is_it).ok_or(Reason::NotDeclared)?;
        if header.role != port {
            return Err(Reason::OtherPort);
        }
        if header.bytes != declared.bytes {
            return Err(Reason::OtherSize);
        }
        match self.admitted.get_mut(number) {
            Some(admitted) if !*admitted => *admitted = true,
            _ => return Err(Reason::Second),
        }
        Ok((number, declared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: Nonce = Nonce(5);

    fn admission() -> Admission {
        let one = |pair, role, bytes| Connection { pair, role, bytes };
        Admission::new(
            7,
            NONCE,
            vec![one(0, Role::Probe, 10), one(0, Role::Data, 20), one(4, Role::Data, 30)],
        )
    }

    #[test]
    fn a_declared_connection_is_admitted_once() {
        let mut admission = admission();
        let third = admission.connections[2];
        let header = Header { round: 7, pair: 4, role: Role::Data, bytes: 30, nonce: NONCE };
        assert_eq!(admission.admit(&header.write(), Role::Data), Ok((2, third)));
        assert_eq!(admission.admit(&header.write(), Role::Data), Err(Reason::Second));
        assert_eq!(admission.admitted, [false, false, true]);
    }

    #[test]
    fn any_other_header_is_refused_with_a_reason_and_changes_nothing() {
        let mut admission = admission();
        let header = Header { round: 7, pair: 0, role: Role::Data, bytes: 20, nonce: NONCE };
        let cases = [
            (Header { nonce: Nonce(4), round: 8, ..header }, Role::Data, Reason::OtherNonce),
            (Header { round: 8, ..header }, Role::Data, Reason::OtherRound),
            (Header { pair: 1, ..header }, Role::Data, Reason::NotDeclared),
            (Header { pair: 4, role: Role::Probe, ..header }, Role::Probe, Reason::NotDeclared),
            (header, Role::Probe, Reason::OtherPort),
            (Header { bytes: 21, ..header }, Role::Data, Reason::OtherSize),
        ];
        for (wrong, port, reason) in cases {
            assert_eq!(admission.admit(&wrong.write(), port), Err(reason));
        }
        let mut version = header.write();
        version[9] = 2;
        let mut meaningless = header.write();
        meaningless[63] = 1;
        for (bytes, reason) in [
            ([0; LENGTH], Reason::NotAHeader),
            (version, Reason::OtherVersion),
            (meaningless, Reason::MeaninglessHeader),
        ] {
            assert_eq!(admission.admit(&bytes, Role::Data), Err(reason));
        }
        assert_eq!(admission.admitted, [false; 3]);
        assert_eq!(admission.admit(&header.write(), Role::Data).map(|(number, _)| number), Ok(1));
    }
}
