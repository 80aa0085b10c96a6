//! Why the emulated network cannot be set up.

use std::io;
use std::path::PathBuf;

use trustbed_capture::WriteError;
use trustbed_emulate::EmulateError;

use crate::session::Failure;

/// What can be wrong before the first packet, and what can end the moving. [`Failure`] is made of
/// it, with a hint.
#[derive(Debug, thiserror::Error)]
pub(super) enum EmulatorError {
    /// The network cannot be.
    #[error("topology: {0}")]
    Topology(#[from] EmulateError),
    /// A port of a host that there is not.
    #[error("{0}")]
    UnknownHost(EmulateError),
    /// A capture at a router that there is not, or two at one.
    #[error("{0}")]
    UnknownRouter(EmulateError),
    /// A capture at a router cannot be begun.
    #[error("taps: {0}")]
    Tap(WriteError),
    /// The moment at which times begin arrives, and nothing waits for it.
    #[error("the times of the links have begun with the emulator")]
    TimesBegun,
    /// A host that no packet could come from.
    #[error("ports: host {host:?} has none")]
    NoPort {
        /// The host.
        host: String,
    },
    /// Two interfaces for one host.
    #[error("ports: host {host:?} has two")]
    PortTwice {
        /// The host.
        host: String,
    },
    /// One interface for two hosts.
    #[error("ports: interface {interface:?} is that of host {first:?} and of host {second:?}")]
    InterfaceTwice {
        /// The interface.
        interface: String,
        /// The host that has it first.
        first: String,
        /// The other.
        second: String,
    },
    /// An Ethernet address that is none.
    #[error("ports: host {host:?}: {text:?} is no Ethernet address")]
    NotAnAddress {
        /// The host.
        host: String,
        /// What was given.
        text: String,
    },
    /// There is no such interface here.
    #[error("ports: host {host:?}: there is no interface {name:?}")]
    NoSuchInterface {
        /// The host.
        host: String,
        /// The interface.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Its frames are not Ethernet frames.
    #[error("ports: interface {name:?} is not an Ethernet interface")]
    NotEthernet {
        /// The interface.
        name: String,
    },
    /// It is down.
    #[error("ports: interface {name:?} is down")]
    InterfaceDown {
        /// The interface.
        name: String,
    },
    /// Packet sockets are not permitted.
    #[error(
        "packet sockets are not permitted, which need CAP_NET_RAW in the user namespace that the \
         network namespace belongs to: {source}"
    )]
    NotPermitted {
        /// The operating system's error.
        source: io::Error,
    },
    /// The kernel refuses a step.
    #[error("interface {name:?}: cannot {step}: {source}")]
    Kernel {
        /// The interface.
        name: String,
        /// What was to be done.
        step: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The ledger cannot be begun.
    #[error("ledger: {path}: {source}", path = path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// There is no thread, or no more waiting.
    #[error("cannot {step}: {source}")]
    System {
        /// What was to be done.
        step: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
}

impl EmulatorError {
    fn hint(&self) -> String {
        match self {
            Self::Tap(error) => return error.hint(),
            Self::NoSuchInterface { known, .. } if !known.is_empty() => {
                return format!("this network namespace has: {}", known.join(", "));
            }
            Self::InterfaceDown { name } => return format!("bring it up: ip link set {name} up"),
            Self::Topology(_) => "correct the topology: docs/scenario.md has its keys",
            Self::UnknownHost(_) => "each port names a host of the topology",
            Self::UnknownRouter(_) => "each tap names a router of the topology; one tap a router",
            Self::TimesBegun => {
                r#"configure "times": "on_command" and send where they begin, once"#
            }
            Self::NoPort { .. } => "give every host of the topology an interface that leads to it",
            Self::PortTwice { .. } => "give a host with several addresses one interface",
            Self::InterfaceTwice { .. } => {
                "describe two hosts behind one interface as one host with two addresses"
            }
            Self::NotAnAddress { .. } => "write it like 02:00:00:00:00:01",
            Self::NoSuchInterface { .. } => "this network namespace has no interfaces",
            Self::NotEthernet { .. } => "name one end of a veth pair",
            Self::NotPermitted { .. } => {
                "run it as root; without root, make the network inside `unshare --user \
                 --map-root-user --net --mount` and run it there"
            }
            Self::Kernel { .. } => "Linux 4.20 or later with AF_PACKET sockets is needed",
            Self::Ledger { .. } => "name a file in a writable directory",
            Self::System { .. } => "raise the limits of this user (ulimit -a)",
        }
        .to_owned()
    }

    /// Whether it is in the configuration that something has to change.
    fn is_configuration(&self) -> bool {
        !matches!(self, Self::NotPermitted { .. } | Self::Kernel { .. } | Self::System { .. })
    }
}

impl From<EmulatorError> for Failure {
    fn from(error: EmulatorError) -> Self {
        let (message, hint) = (error.to_string(), error.hint());
        if error.is_configuration() {
            Self::configuration(message, hint)
        } else {
            Self::running(message, hint)
        }
    }
}
