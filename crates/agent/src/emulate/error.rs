//! Why there is no emulated network.

use std::io;
use std::path::PathBuf;

use trustbed_capture::WriteError;
use trustbed_emulate::EmulateError;

use crate::talk::Failure;

/// What can be wrong before the first packet, and what can end the moving. [`Failure`] is made of it, with a hint.
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
    /// Where times begin is told, and nobody waits for it.
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
        "packet sockets are not permitted, which need CAP_NET_RAW in the user namespace that the network namespace belongs to: {source}"
    )]
    NotPermitted {
        /// What the operating system says.
        source: io::Error,
    },
    /// The kernel refuses a step.
    #[error("interface {name:?}: cannot {step}: {source}")]
    Kernel {
        /// The interface.
        name: String,
        /// What was to be done.
        step: &'static str,
        /// What the operating system says.
        source: io::Error,
    },
    /// The ledger cannot be begun.
    #[error("ledger: {path}: {source}", path = path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// There is no thread, or no more waiting.
    #[error("cannot {step}: {source}")]
    System {
        /// What was to be done.
        step: &'static str,
        /// What the operating system says.
        source: io::Error,
    },
}

impl EmulatorError {
    fn hint(&self) -> String {
        match self {
            Self::Topology(_) => "correct the topology; what each key means is in the documentation of links and networks".to_owned(),
            Self::UnknownHost(_) => "a port names a host of the topology".to_owned(),
            Self::UnknownRouter(_) => "a tap names a router of the topology, each one once".to_owned(),
            Self::Tap(error) => error.hint(),
            Self::TimesBegun => r#"configure "times": "told" to say where they begin, and say it once"#.to_owned(),
            Self::NoPort { .. } => "every host of the topology needs an interface that leads to it".to_owned(),
            Self::PortTwice { .. } => "a host with several addresses needs one interface only".to_owned(),
            Self::InterfaceTwice { .. } => "two hosts behind one interface are one host with two addresses and access pipes".to_owned(),
            Self::NotAnAddress { .. } => "it is written like 02:00:00:00:00:01".to_owned(),
            Self::NoSuchInterface { known, .. } if known.is_empty() => "there are no interfaces here at all".to_owned(),
            Self::NoSuchInterface { known, .. } => format!("in this network namespace there are: {}", known.join(", ")),
            Self::NotEthernet { .. } => "name one end of a veth pair".to_owned(),
            Self::InterfaceDown { name } => format!("bring it up: ip link set {name} up"),
            Self::NotPermitted { .. } => {
                "run it as root; without root, make the network inside `unshare --user --map-root-user --net --mount` and run it there"
                    .to_owned()
            }
            Self::Kernel { .. } => "Linux 4.20 or later, with AF_PACKET sockets, is needed".to_owned(),
            Self::Ledger { .. } => "name a file in a folder that exists and may be written to".to_owned(),
            Self::System { .. } => "raise the limits of this user (ulimit -a)".to_owned(),
        }
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
