//! Where generated servers listen: in another network namespace than the one of this process.
//!
//! A socket stays in the namespace in which it was opened; the thread returns to its own.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use trustbed_traffic::structural::Offer;

use crate::session::Failure;
use crate::sys::socket::{TcpOptions, datagrams_at};

const OWN: &str = "/proc/thread-self/ns/net";
/// Buffer of a server's datagrams.
const BUFFER: u32 = 1 << 20;

/// The sockets of all servers.
#[derive(Debug, Default)]
pub(super) struct Servers {
    /// By port: all servers of a class share one.
    pub(super) listeners: Vec<TcpListener>,
    /// Servers of datagrams, by address.
    pub(super) datagrams: Vec<(SocketAddr, UdpSocket)>,
}

impl Servers {
    /// Opens them. The calling thread is in its own namespace before and afterwards.
    pub(super) fn open(
        offer: &Offer,
        servers: &[IpAddr],
        namespace: &Path,
    ) -> Result<Self, Failure> {
        let failed = |what: &str, error: String| {
            Failure::running(
                format!("server_namespace: {what}: {error}"),
                "the file of a network namespace that this process may enter",
            )
        };
        let own = File::open(OWN).map_err(|error| failed(OWN, error.to_string()))?;
        let shown = namespace.display().to_string();
        let there = File::open(namespace).map_err(|error| failed(&shown, error.to_string()))?;
        let enter = |file: &File, name: &str| {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|error| failed(name, error.to_string()))
        };
        enter(&there, &shown)?;
        let opened = Self::listen(offer, servers);
        enter(&own, OWN)?;
        opened
    }

    fn listen(offer: &Offer, servers: &[IpAddr]) -> Result<Self, Failure> {
        let mut found = Self::default();
        let mut streams = BTreeSet::new();
        let mut datagrams = BTreeSet::new();
        for class in &offer.classes {
            for number in &class.servers {
                let Some(address) = servers.get(*number as usize) else { continue };
                if class.datagrams {
                    datagrams.insert(SocketAddr::new(*address, class.port));
                } else {
                    streams.insert((class.port, address.is_ipv6()));
                }
            }
        }
        for (port, is_ipv6) in streams {
            let any = if is_ipv6 {
                IpAddr::V6(Ipv6Addr::UNSPECIFIED)
            } else {
                IpAddr::V4(Ipv4Addr::UNSPECIFIED)
            };
            found.listeners.push(TcpOptions::default().listen(SocketAddr::new(any, port))?);
        }
        for address in datagrams {
            found.datagrams.push((address, datagrams_at(address, BUFFER)?));
        }
        Ok(found)
    }
}
