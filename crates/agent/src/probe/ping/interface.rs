//! The interface of an address.

use std::io;
use std::net::IpAddr;

use crate::sys::netlink::{Netlink, attributes, number32, text};

/// `NETLINK_ROUTE`, and what it is requested: `RTM_GETADDR`, `RTM_GETLINK` (rtnetlink(7)).
const ROUTE: i32 = 0;
const ADDRESSES: u16 = 22;
const LINKS: u16 = 18;
/// Lengths of `ifaddrmsg` and `ifinfomsg`; the number of the interface is at the fourth byte of
/// both.
const ADDRESS: usize = 8;
const LINK: usize = 16;
const INDEX: usize = 4;
/// Attributes: `IFA_ADDRESS`, `IFA_LOCAL`, `IFLA_IFNAME`.
const REMOTE: u16 = 1;
const LOCAL: u16 = 2;
const NAME: u16 = 3;

/// Its name; none where no interface has the address.
pub(super) fn of(address: IpAddr) -> io::Result<Option<String>> {
    let mut netlink = Netlink::open(ROUTE)?;
    let mut number = None;
    netlink.dump(ADDRESSES, &[0; ADDRESS], |message| {
        // Every address of the loopback network is this host's, and one of them is written down.
        if local(message)
            .is_some_and(|found| found == address || (found.is_loopback() && address.is_loopback()))
        {
            number = number32(message, INDEX);
        }
    })?;
    let Some(number) = number else { return Ok(None) };
    let mut name = None;
    netlink.dump(LINKS, &[0; LINK], |message| {
        if number32(message, INDEX) == Some(number) {
            let named =
                attributes(message.get(LINK..).unwrap_or_default()).find(|(kind, _)| *kind == NAME);
            name = named.map(|(_, value)| text(value));
        }
    })?;
    Ok(name)
}

/// The address of this host. On a link between two the other attribute is that of the other end.
fn local(message: &[u8]) -> Option<IpAddr> {
    let of = |wanted| {
        attributes(message.get(ADDRESS..).unwrap_or_default())
            .find(|(kind, _)| *kind == wanted)
            .map(|(_, value)| value)
    };
    let value = of(LOCAL).or_else(|| of(REMOTE))?;
    match value.len() {
        4 => value.first_chunk::<4>().map(|bytes| IpAddr::from(*bytes)),
        _ => value.first_chunk::<16>().map(|bytes| IpAddr::from(*bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_the_address_of_this_host() {
        for address in ["127.0.0.1", "127.0.0.2"] {
            assert_eq!(of(address.parse().unwrap()).unwrap().as_deref(), Some("lo"));
        }
        assert_eq!(of("192.0.2.1".parse().unwrap()).unwrap(), None, "an address of documentation");
    }
}
