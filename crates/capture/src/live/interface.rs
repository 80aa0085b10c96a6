//! What is known about a network interface: its number, what its frames begin with, its speed, its
//! clock.

use std::io;

use trustbed_units::{Rate, Size};
use trustbed_wire::LinkType;

use super::LiveError;
use super::kernel::{self, PacketSocket};

/// Requests of `linux/ethtool.h`.
const ETHTOOL_GSET: u32 = 0x1;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
/// Raw IP (`linux/if_arp.h`), as some modems have it; not in libc.
const ARPHRD_RAWIP: u16 = 519;
/// Every frame that comes in is stamped (`linux/net_tstamp.h`, `HWTSTAMP_FILTER_ALL`).
const STAMPS_ALL: u32 = 1;

/// An interface that is up and whose frames can be decoded.
#[derive(Debug, Clone)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) index: i32,
    pub(super) link: LinkType,
    pub(super) loopback: bool,
    pub(super) mtu: Option<Size>,
    pub(super) speed: Option<Rate>,
    /// Whether the interface stamps every frame that comes in.
    pub(super) stamps: bool,
}

impl Interface {
    pub(super) fn look(socket: &PacketSocket, name: &str) -> Result<Self, LiveError> {
        let owned = || name.to_owned();
        let index = match socket.query(libc::SIOCGIFINDEX, name) {
            Ok(answer) => word(&answer).cast_signed(),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                return Err(LiveError::NoSuchInterface {
                    name: owned(),
                    known: kernel::interface_names(),
                });
            }
            Err(source) => {
                return Err(LiveError::Kernel {
                    name: owned(),
                    step: "look the interface up",
                    source,
                });
            }
        };
        let query = |request, step| {
            socket.query(request, name).map_err(|source| LiveError::Kernel {
                name: owned(),
                step,
                source,
            })
        };
        let flags = half(&query(libc::SIOCGIFFLAGS, "read its flags")?);
        let hardware_type = half(&query(libc::SIOCGIFHWADDR, "read its hardware type")?);
        let Some(link) = link(hardware_type) else {
            return Err(LiveError::UnsupportedLink { name: owned(), hardware_type });
        };
        if i32::from(flags) & libc::IFF_UP == 0 {
            return Err(LiveError::InterfaceDown { name: owned() });
        }
        let mtu =
            socket.query(libc::SIOCGIFMTU, name).ok().map(|answer| Size(word(&answer).into()));
        let (speed, stamps) = (speed(socket, name), stamps(socket, name).unwrap_or(false));
        Ok(Self {
            name: owned(),
            index,
            link,
            loopback: hardware_type == libc::ARPHRD_LOOPBACK,
            mtu,
            speed,
            stamps,
        })
    }
}

/// What frames begin with. Tunnels without a header of their own hand out IP packets.
fn link(hardware_type: u16) -> Option<LinkType> {
    match hardware_type {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Some(LinkType::Ethernet),
        libc::ARPHRD_NONE
        | ARPHRD_RAWIP
        | libc::ARPHRD_TUNNEL
        | libc::ARPHRD_TUNNEL6
        | libc::ARPHRD_SIT => Some(LinkType::Raw),
        _ => None,
    }
}

/// The speed, where the driver states one. Virtual interfaces state one that means nothing (veth:
/// 10 Gbit/s).
fn speed(socket: &PacketSocket, name: &str) -> Option<Rate> {
    let mut answer = [0; 16];
    answer[0] = ETHTOOL_GSET;
    socket.ask_at_length(libc::SIOCETHTOOL, name, &mut answer).ok()?;
    // `ethtool_cmd`: the lower half of the speed is the first half of word 3, the upper one that of
    // word 7.
    let half = |word: u32| u16::from_ne_bytes([word.to_ne_bytes()[0], word.to_ne_bytes()[1]]);
    let megabits = u32::from(half(answer[7])) << 16 | u32::from(half(answer[3]));
    (megabits != 0 && megabits != u32::MAX && megabits != 0xffff)
        .then(|| Rate(u64::from(megabits) * 1_000_000))
}

/// Whether the interface can stamp frames and has been configured to stamp every one. Configuring
/// it is left to its owner (`hwstamp_ctl`, `ptp4l`): it changes what other programs see.
fn stamps(socket: &PacketSocket, name: &str) -> io::Result<bool> {
    let mut information = [0; 16];
    information[0] = ETHTOOL_GET_TS_INFO;
    socket.ask_at_length(libc::SIOCETHTOOL, name, &mut information)?;
    let able = libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
    if information[1] & able != able {
        return Ok(false);
    }
    // `hwtstamp_config`: flags, what of the sent, what of the received is stamped.
    let mut configuration = [0; 16];
    socket.ask_at_length(libc::SIOCGHWTSTAMP, name, &mut configuration)?;
    Ok(configuration[2] == STAMPS_ALL)
}

fn word(answer: &[u8; 24]) -> u32 {
    u32::from_ne_bytes([answer[0], answer[1], answer[2], answer[3]])
}

fn half(answer: &[u8; 24]) -> u16 {
    u16::from_ne_bytes([answer[0], answer[1]])
}
