//! The offload switches of a guest's network card.

use std::io;

use super::Error;
use crate::sys::ethtool::{Card, Switch};

/// Offloads that are switched off, the same as those of a host in a namespace: segmentation before
/// checksums, which it needs.
const OFFLOADS: [(Switch, &str); 4] = [
    (Switch::SendSegmentation, "TCP segmentation"),
    (Switch::GenericSegmentation, "generic segmentation"),
    (Switch::GenericReceive, "generic receive offload"),
    (Switch::SendChecksum, "checksums of what is sent"),
];

/// Has the network stack do everything that it would leave to the card.
pub(super) fn switch_off(interface: &str) -> Result<(), Error> {
    let failed =
        |what, source: io::Error| Error::Offload { interface: interface.to_owned(), what, source };
    let card = Card::of(interface).map_err(|error| failed("anything", error))?;
    for (switch, what) in OFFLOADS {
        match card.switch_off(switch) {
            // A card that has no such offload has it off.
            Err(error) if error.raw_os_error() != Some(libc::EOPNOTSUPP) => {
                return Err(failed(what, error));
            }
            _ => {}
        }
    }
    Ok(())
}
