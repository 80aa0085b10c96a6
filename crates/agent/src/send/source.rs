//! One source: what it is asked for, its socket, its schedule, and what became of it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trustbed_traffic::{
    Description, Headers, IpVersion, Lateness, Recording, Release, Schedule, Transport,
};
use trustbed_units::Span;

use super::channel::Channel;
use crate::net::attend::span;
use crate::net::seconds::Seconds;
use crate::net::socket::{TcpOptions, unusable};
use crate::talk::{Failure, Stop};

/// What a source is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceConfiguration {
    pub(super) name: String,
    transport: Transport,
    to: SocketAddr,
    /// An address, or an address with a port. The kernel chooses unless given.
    from: Option<Origin>,
    pub(super) model: Description,
    #[serde(default)]
    release: Release,
    /// Of its random numbers. 0 unless given.
    #[serde(default)]
    seed: u64,
    /// It sends until told to stop unless given; a recording ends by itself.
    duration_ns: Option<u64>,
    /// Of a TCP connection.
    #[serde(default)]
    tcp: TcpOptions,
    /// Of a UDP socket.
    send_buffer_bytes: Option<u32>,
    /// How long connecting may take. 10 s unless given.
    #[serde(default = "connect_timeout_ns")]
    connect_timeout_ns: u64,
}

const fn connect_timeout_ns() -> u64 {
    10_000_000_000
}

/// Where a source sends from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Origin(pub(crate) SocketAddr);

impl TryFrom<String> for Origin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let with_port = text.parse().ok();
        let found = with_port
            .or_else(|| text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, 0)));
        found.map(Self).ok_or_else(|| {
            format!("{text:?} is no address: 10.0.0.1, 10.0.0.1:4000 or [fd00::1]:4000")
        })
    }
}

/// What is said of a source before it begins.
#[derive(Debug, Serialize)]
pub(super) struct Opened<'a> {
    name: &'a str,
    transport: Transport,
    to: SocketAddr,
}

impl<'a> Opened<'a> {
    pub(super) fn of(configuration: &'a SourceConfiguration) -> Self {
        Self { name: &configuration.name, transport: configuration.transport, to: configuration.to }
    }
}

/// A source at work.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) number: u16,
    pub(super) to: SocketAddr,
    pub(super) kind: &'static str,
    pub(super) release: Release,
    pub(super) seed: u64,
    pub(super) channel: Channel,
    /// Taken when sending begins, and put back at the end.
    pub(super) schedule: Option<Schedule>,
    pub(super) lateness: Lateness,
    pub(super) counts: Counts,
    pub(super) seconds: Seconds,
}

/// What fell due so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) packets: u64,
    pub(super) ip_bytes: u64,
    pub(super) payload_bytes: u64,
    pub(super) first_due: Option<Span>,
    pub(super) last_due: Option<Span>,
    /// How late the last one was: what drift would look like.
    pub(super) last_late: Option<Span>,
}

impl Source {
    /// Opens the socket, connects, and computes the first packet.
    pub(super) fn open(
        asked: &SourceConfiguration,
        number: u16,
        nonce: u16,
        recording: Option<Arc<Recording>>,
        stop: Stop,
    ) -> Result<Self, Failure> {
        let version = if asked.to.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 };
        let source = trustbed_traffic::Source {
            model: asked.model.clone(),
            headers: Headers::of(version, asked.transport),
            release: asked.release,
            seed: asked.seed,
            duration: asked.duration_ns.map(span),
        };
        let described = |error: trustbed_traffic::TrafficError| {
            let text = error.to_string();
            match text.split_once("; ") {
                Some((message, hint)) => Failure::configuration(message, hint),
                None => Failure::configuration(text, "correct the description of the source"),
            }
        };
        let schedule = Schedule::new(&source, recording).map_err(described)?;
        let from = asked.from.map(|origin| origin.0);
        let channel = match asked.transport {
            Transport::Udp => {
                Channel::datagrams(asked.to, from, asked.send_buffer_bytes, number, nonce)?
            }
            Transport::Tcp => {
                // What is wrong with the options or the own address is told apart from what the network says.
                drop(asked.tcp.socket(asked.to, from)?);
                let connected =
                    asked.tcp.connect(asked.to, from, span(asked.connect_timeout_ns), stop);
                let stream =
                    connected.map_err(|error| unusable("cannot connect to", asked.to, &error))?;
                Channel::stream(stream, number, nonce)?
            }
        };
        Ok(Self {
            name: asked.name.clone(),
            number,
            to: asked.to,
            kind: asked.model.kind(),
            release: asked.release,
            seed: asked.seed,
            channel,
            schedule: Some(schedule),
            lateness: Lateness::default(),
            counts: Counts::default(),
            seconds: Seconds::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_an_address_with_or_without_a_port() {
        let origin =
            |text: &str| Origin::try_from(text.to_owned()).map(|origin| origin.0.to_string());
        assert_eq!(origin("10.0.0.1"), Ok("10.0.0.1:0".to_owned()));
        assert_eq!(origin("10.0.0.1:4000"), Ok("10.0.0.1:4000".to_owned()));
        assert_eq!(origin("fd00::1"), Ok("[fd00::1]:0".to_owned()));
        assert!(origin("near").is_err_and(|text| text.contains("is no address")));
    }
}
