//! Why frames cannot be captured from an interface, or no further.

use std::io;

/// Why an interface cannot be watched, or no longer. [`LiveError::hint`] states what can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// There is no such interface.
    #[error("{name}: there is no such interface")]
    NoSuchInterface {
        /// The name as given.
        name: String,
        /// The interfaces that there are.
        known: Vec<String>,
    },
    /// The program may not capture.
    #[error("{name}: capturing is not permitted: {source}")]
    NotPermitted {
        /// The interface.
        name: String,
        /// The program that would need the capability.
        program: String,
        /// What the operating system reports.
        source: io::Error,
    },
    /// The interface is there, but down: at the beginning, or from now on.
    #[error("{name}: the interface is down")]
    InterfaceDown {
        /// The interface.
        name: String,
    },
    /// The interface is no longer there.
    #[error("{name}: the interface has vanished")]
    InterfaceGone {
        /// The name that it had.
        name: String,
    },
    /// The frames of the interface cannot be decoded.
    #[error("{name}: hardware type {hardware_type} is not supported")]
    UnsupportedLink {
        /// The interface.
        name: String,
        /// Its type by the number that the kernel has for it (`ARPHRD_`).
        hardware_type: u16,
    },
    /// The kernel refuses a step.
    #[error("{name}: cannot {step}: {source}")]
    Kernel {
        /// The interface.
        name: String,
        /// What was to be done.
        step: &'static str,
        /// What the operating system reports.
        source: io::Error,
    },
    /// Live capture needs Linux.
    #[error("{name}: live capture needs Linux")]
    NotLinux {
        /// The interface.
        name: String,
    },
}

impl LiveError {
    /// What can be done: one sentence without a full stop.
    pub fn hint(&self) -> String {
        match self {
            Self::NoSuchInterface { name, .. } if name == "any" => {
                "name one interface: `any` is not one".to_owned()
            }
            Self::NoSuchInterface { known, .. } if known.is_empty() => {
                "there are no interfaces here at all".to_owned()
            }
            Self::NoSuchInterface { known, .. } => format!("there are: {}", known.join(", ")),
            Self::NotPermitted { program, .. } => {
                format!(
                    "run it as root, or capture with a `trustbed-agent` that has cap_net_raw \
                    and a group of its own (docs/cli.md); do not give the capability to {program}"
                )
            }
            Self::InterfaceDown { name } => format!("bring it up: `sudo ip link set {name} up`"),
            Self::InterfaceGone { .. } => "what was captured until then is kept; `ip link` lists \
                the interfaces that there are"
                .to_owned(),
            Self::UnsupportedLink { .. } => {
                "name an Ethernet, loopback or tunnel (raw IP) interface".to_owned()
            }
            Self::Kernel { source, .. } if source.kind() == io::ErrorKind::OutOfMemory => {
                "ask for a smaller ring".to_owned()
            }
            Self::Kernel { .. } => {
                "Linux 3.19 or later, with AF_PACKET sockets, is needed".to_owned()
            }
            Self::NotLinux { .. } => {
                "capture with `tcpdump -w FILE` and analyse the file".to_owned()
            }
        }
    }
}
