//! The emulator's configuration: the network, and the interface of each host.

use std::path::PathBuf;

use serde::Deserialize;
use trustbed_emulate::{Description, Topology};

use super::error::EmulatorError;
use super::frame::{self, Mac};
use super::tap::TapDescription;
use super::times::TimesBegin;
use crate::sys::clock::Priority;
use crate::sys::idle::Idle;

/// The configuration, as it is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Configuration {
    /// Hosts, routers, pipes, routes.
    pub(super) topology: Description,
    /// One for every host.
    pub(super) ports: Vec<PortDescription>,
    /// Where chance begins.
    #[serde(default = "one")]
    pub(super) seed: u64,
    /// Where every packet is written down.
    pub(super) ledger: Option<LedgerDescription>,
    /// Routers whose packets are captured.
    #[serde(default)]
    pub(super) taps: Vec<TapDescription>,
    /// From when on the times of links count.
    #[serde(default)]
    pub(super) times: TimesBegin,
    /// How the moving thread is scheduled.
    #[serde(default)]
    pub(super) priority: Priority,
    /// What idle processors do meanwhile.
    #[serde(default)]
    pub(super) idle: Idle,
}

/// An interface whose other end is a host's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PortDescription {
    /// The host's name in the topology.
    pub(super) host: String,
    /// The interface on this side.
    pub(super) interface: String,
    /// The Ethernet address of the host's side.
    pub(super) mac: String,
}

/// The ledger.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LedgerDescription {
    /// The file, which is replaced.
    pub(super) path: PathBuf,
    /// How much is written down.
    #[serde(default)]
    pub(super) detail: Detail,
}

/// How much is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Detail {
    /// Every packet at every pipe.
    #[default]
    Packets,
    /// Nothing: the report at the end is all.
    Summary,
}

fn one() -> u64 {
    1
}

/// A port whose names and address are right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PortPlan {
    /// The host's index in the topology.
    pub(super) host: usize,
    pub(super) name: String,
    pub(super) interface: String,
    pub(super) mac: Mac,
}

/// The ports in the order of the topology's hosts: each host has one, each interface is that of
/// one.
pub(super) fn plan(
    ports: &[PortDescription],
    topology: &Topology,
) -> Result<Vec<PortPlan>, EmulatorError> {
    let mut planned: Vec<Option<PortPlan>> = vec![None; topology.hosts().len()];
    for port in ports {
        let (name, interface) = (port.host.clone(), port.interface.clone());
        let host = topology.host(&port.host).map_err(EmulatorError::UnknownHost)?;
        let Some(mac) = frame::mac(&port.mac) else {
            return Err(EmulatorError::NotAnAddress { host: name, text: port.mac.clone() });
        };
        if let Some(first) = planned.iter().flatten().find(|one| one.interface == interface) {
            return Err(EmulatorError::InterfaceTwice {
                interface,
                first: first.name.clone(),
                second: name,
            });
        }
        match planned.get_mut(host) {
            Some(slot @ None) => *slot = Some(PortPlan { host, name, interface, mac }),
            _ => return Err(EmulatorError::PortTwice { host: name }),
        }
    }
    let missing =
        |host: usize| topology.hosts().get(host).map(|host| host.name.clone()).unwrap_or_default();
    planned
        .into_iter()
        .enumerate()
        .map(|(host, port)| port.ok_or_else(|| EmulatorError::NoPort { host: missing(host) }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPOLOGY: &str = r#"{"chain":{"ends":[{"name":"near","addresses":["10.0.0.1"]},
        {"name":"far","addresses":["10.0.0.2"]}],
                                       "up":[{"delay_ns":10}]}}"#;

    fn planned(ports: &str) -> Result<Vec<PortPlan>, EmulatorError> {
        let text = format!(r#"{{"topology":{TOPOLOGY},"ports":{ports}}}"#);
        let configuration: Configuration = serde_json::from_str(&text).unwrap();
        assert_eq!((configuration.seed, configuration.priority), (1, Priority::Fifo));
        plan(&configuration.ports, &Topology::new(&configuration.topology).unwrap())
    }

    #[test]
    fn ports_are_in_the_order_of_the_hosts() {
        let found = planned(
            r#"[{"host":"far","interface":"p1","mac":"02:00:00:00:00:02"},
                {"host":"near","interface":"p0","mac":"02:00:00:00:00:01"}]"#,
        );
        let names: Vec<String> = found.unwrap().into_iter().map(|port| port.interface).collect();
        assert_eq!(names, ["p0", "p1"]);
    }

    #[test]
    fn every_wrong_port_is_named() {
        let near = r#"{"host":"near","interface":"p0","mac":"02:00:00:00:00:01"}"#;
        let refusal = |ports: String| planned(&ports).unwrap_err().to_string();
        assert!(refusal(format!("[{near}]")).contains("far"));
        assert!(refusal(format!("[{near},{near}]")).contains("p0"));
        assert!(
            refusal(format!(
                r#"[{near},{{"host":"near","interface":"p1","mac":"02:00:00:00:00:02"}}]"#
            ))
            .contains("near")
        );
        assert!(
            refusal(format!(
                r#"[{near},{{"host":"farr","interface":"p1","mac":"02:00:00:00:00:02"}}]"#
            ))
            .contains("far")
        );
        assert!(
            refusal(format!(r#"[{near},{{"host":"far","interface":"p1","mac":"02"}}]"#))
                .contains("02")
        );
    }
}
