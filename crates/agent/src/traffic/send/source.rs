//! One source: configuration, socket, schedule, results.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trustbed_traffic::{
    DepartureError, Description, Headers, IpVersion, Recording, Release, Schedule, Transport,
};
use trustbed_units::Span;

use super::channel::Channel;
use crate::output::seconds::Seconds;
use crate::session::workers::span;
use crate::session::{Failure, Stop};
use crate::sys::socket::{TcpOptions, unusable};

/// What a source is requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceConfiguration {
    pub(super) name: String,
    transport: Transport,
    to: SocketAddr,
    /// An address, or an address with a port. The kernel chooses by default.
    from: Option<Origin>,
    pub(super) model: Description,
    #[serde(default)]
    release: Release,
    /// Of its random numbers. 0 by default.
    #[serde(default)]
    seed: u64,
    /// Until stopped by default; a recording ends on its own.
    duration_ns: Option<u64>,
    /// Of a TCP connection.
    #[serde(default)]
    tcp: TcpOptions,
    /// Of a UDP socket.
    send_buffer_bytes: Option<u32>,
    /// How long connecting may take. 10 s by default.
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

/// The report of a source before it begins.
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
    pub(super) departure_error: DepartureError,
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
        configuration: &SourceConfiguration,
        number: u16,
        nonce: u16,
        recording: Option<Arc<Recording>>,
        stop: Stop,
    ) -> Result<Self, Failure> {
        let version = if configuration.to.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 };
        let source = trustbed_traffic::Source {
            model: configuration.model.clone(),
            headers: Headers::of(version, configuration.transport),
            release: configuration.release,
            seed: configuration.seed,
            duration: configuration.duration_ns.map(span),
        };
        let described = |error: trustbed_traffic::TrafficError| {
            let text = error.to_string();
            match text.split_once("; ") {
                Some((message, hint)) => Failure::configuration(message, hint),
                None => Failure::configuration(text, "correct the description of the source"),
            }
        };
        let schedule = Schedule::new(&source, recording).map_err(described)?;
        let from = configuration.from.map(|origin| origin.0);
        let channel = match configuration.transport {
            Transport::Udp => Channel::datagrams(
                configuration.to,
                from,
                configuration.send_buffer_bytes,
                number,
                nonce,
            )?,
            Transport::Tcp => {
                // Wrong options or a wrong own address are distinguished from network errors.
                drop(configuration.tcp.socket(configuration.to, from)?);
                let connected = configuration.tcp.connect(
                    configuration.to,
                    from,
                    span(configuration.connect_timeout_ns),
                    stop,
                );
                let stream = connected
                    .map_err(|error| unusable("cannot connect to", configuration.to, &error))?;
                Channel::stream(stream, number, nonce)?
            }
        };
        Ok(Self {
            name: configuration.name.clone(),
            number,
            to: configuration.to,
            kind: configuration.model.kind(),
            release: configuration.release,
            seed: configuration.seed,
            channel,
            schedule: Some(schedule),
            departure_error: DepartureError::default(),
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
