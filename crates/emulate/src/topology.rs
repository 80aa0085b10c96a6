//! Hosts, routers, the pipes between them, and which pipes a packet crosses.
//!
//! Made once from a [`Description`] and then fixed. A host with access pipes is, to the network, as
//! many hosts as it has addresses: each has its own pipe to its router and back, whatever the
//! others do.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

use trustbed_units::Span;

use crate::ahead::{Ahead, least};
use crate::error::nearest;
use crate::paths::{Edge, MOST_ENDS, Paths, Stretch, delay, number, reached};
use crate::{
    AccessDescription, Description, EmulateError, HostDescription, LIMIT_INSIDE, LinkDescription,
    Refusal,
};

/// A network that packets can be sent through.
#[derive(Debug, Clone)]
pub struct Topology {
    hosts: Vec<Host>,
    routers: Vec<String>,
    pipes: Vec<Pipe>,
    /// By host: its index among the ends of [`Paths`].
    ends: Vec<usize>,
    addresses: HashMap<u128, Owner, BuildHasherDefault<AddressHasher>>,
    paths: Paths,
    overrides: BTreeMap<(usize, usize), Stretch>,
    /// Has every address that no other host has.
    outside: Option<Owner>,
    limit_inside: u64,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    access: bool,
}

/// A pipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipe {
    /// Its name; `host[address].up` and `host[address].down` for access pipes.
    pub name: String,
    /// The host or router where packets enter.
    pub from: String,
    /// The host or router where they come out.
    pub to: String,
    /// The link in it.
    pub link: Arc<LinkDescription>,
}

/// Who has an address.
#[derive(Debug, Clone, Copy)]
struct Owner {
    host: usize,
    /// Its access pipes, up and down.
    access: Option<[u32; 2]>,
}

/// The pipes that a packet crosses, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) up: Option<u32>,
    pub(crate) stretch: Stretch,
    pub(crate) down: Option<u32>,
    /// The host where it ends.
    pub(crate) host: u32,
}

impl Topology {
    /// Checks a description and computes the paths.
    ///
    /// # Errors
    /// Whatever is wrong first; the error names the location.
    pub fn new(description: &Description) -> Result<Self, EmulateError> {
        let description = description.written_out()?;
        let points = Points::new(&description)?;
        let mut topology = Self {
            hosts: Vec::new(),
            routers: description.routers.clone(),
            pipes: Vec::new(),
            ends: Vec::new(),
            addresses: HashMap::default(),
            paths: Paths::new(0, 0, &[], &[])
                .map_err(|_| EmulateError::TooFewHosts { hosts: 0 })?,
            overrides: BTreeMap::new(),
            outside: None,
            limit_inside: description.limit_bytes_inside.unwrap_or(LIMIT_INSIDE),
        };
        let edges = topology.add_pipes(&description, &points)?;
        for (index, host) in description.hosts.iter().enumerate() {
            topology.add_host(index, host, &points)?;
        }
        topology.outside = topology.find_outside(&description, &points)?;
        topology.check_pipes()?;
        topology.find_paths(&description, &points, &edges)?;
        Ok(topology)
    }

    /// The hosts, in the order of the description.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The routers, in the order of the description.
    pub fn routers(&self) -> &[String] {
        &self.routers
    }

    /// The pipes: the described ones in their order, then the access pipes, host by host, address
    /// by address, up before down.
    pub fn pipes(&self) -> &[Pipe] {
        &self.pipes
    }

    /// The index of a host in [`Topology::hosts`].
    ///
    /// # Errors
    /// [`EmulateError::UnknownName`] with the nearest name.
    pub fn host(&self, name: &str) -> Result<usize, EmulateError> {
        let names = || self.hosts.iter().map(|host| host.name.as_str());
        names().position(|host| host == name).ok_or_else(|| EmulateError::UnknownName {
            location: "ports".to_owned(),
            what: "host",
            name: name.to_owned(),
            nearest: nearest(name, names()),
        })
    }

    /// The indices in [`Topology::pipes`] of the pipes that a packet crosses.
    ///
    /// # Errors
    /// As [`crate::Network::offer`] refuses it.
    pub fn path(
        &self,
        host: usize,
        source: IpAddr,
        destination: IpAddr,
    ) -> Result<Vec<usize>, Refusal> {
        let route = self.route(host, source, destination)?;
        let steps = self.paths.steps(route.stretch).iter().copied();
        Ok(route.up.into_iter().chain(steps).chain(route.down).map(|pipe| pipe as usize).collect())
    }

    /// How much may be inside at once, in bytes.
    pub const fn limit_inside(&self) -> u64 {
        self.limit_inside
    }

    /// By pipe: how much delay follows at least behind it.
    pub(crate) fn ahead(&self) -> Vec<Span> {
        let mut ahead = Ahead::new(self.pipes.iter().map(|pipe| least(&pipe.link)).collect());
        // Of a host's access pipes the shortest counts.
        let tail = |host: &Host| {
            let owners =
                host.addresses.iter().filter_map(|address| self.addresses.get(&key(*address)));
            let downs = owners.filter_map(|owner| owner.access.map(|[_, down]| ahead.own(down)));
            downs.min().unwrap_or(Span::ZERO)
        };
        let tails: Vec<_> = self.hosts.iter().map(tail).collect();
        let ends = self.ends.iter().max().map_or(0, |last| last + 1);
        let hosts_at = |end| {
            self.ends.iter().enumerate().filter(move |&(_, &at)| at == end).map(|(host, _)| host)
        };
        let nearest: Vec<_> = (0..ends)
            .map(|end| hosts_at(end).map(|host| tails[host]).min().unwrap_or(Span::ZERO))
            .collect();
        let mut heads = vec![Span::MAX; ends];
        for (from, head) in heads.iter_mut().enumerate() {
            for (to, tail) in nearest.iter().enumerate() {
                *head =
                    (*head).min(ahead.on_path(&self.paths, self.paths.between(from, to), *tail));
            }
        }
        for (&(from, to), &stretch) in &self.overrides {
            let head = ahead.on_path(&self.paths, stretch, tails[to]);
            heads[self.ends[from]] = heads[self.ends[from]].min(head);
        }
        for owner in self
            .hosts
            .iter()
            .flat_map(|host| &host.addresses)
            .filter_map(|address| self.addresses.get(&key(*address)))
        {
            if let Some([up, down]) = owner.access {
                ahead.on_pipe(up, heads[self.ends[owner.host]]);
                ahead.on_pipe(down, Span::ZERO);
            }
        }
        ahead.finish()
    }

    pub(crate) const fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The path of a packet. Only a host with access pipes must send from an address of its own:
    /// its pipes hang on it. The host that leads outside has all that no other host has; they share
    /// the pipes of its first one.
    #[inline]
    pub(crate) fn route(
        &self,
        host: usize,
        source: IpAddr,
        destination: IpAddr,
    ) -> Result<Route, Refusal> {
        let Some(sender) = self.hosts.get(host) else { return Err(Refusal::UnknownSource) };
        let owner = |address| self.addresses.get(&key(address)).or(self.outside.as_ref());
        let known = self.addresses.get(&key(destination));
        let to = known.or(self.outside.as_ref()).ok_or(Refusal::UnknownDestination)?;
        let up = if sender.access {
            let from =
                owner(source).filter(|owner| owner.host == host).ok_or(Refusal::UnknownSource)?;
            from.access.map(|[up, _]| up)
        } else {
            None
        };
        // From the outside to the outside: given back, its host would send it here again.
        if to.host == host && (to.access.is_none() || known.is_none()) {
            return Err(Refusal::SameHost);
        }
        let stretch = if self.overrides.is_empty() {
            None
        } else {
            self.overrides.get(&(host, to.host)).copied()
        };
        let stretch =
            stretch.unwrap_or_else(|| self.paths.between(self.ends[host], self.ends[to.host]));
        Ok(Route { up, stretch, down: to.access.map(|[_, down]| down), host: number(to.host) })
    }

    /// The described pipes, as edges between points.
    fn add_pipes(
        &mut self,
        description: &Description,
        points: &Points,
    ) -> Result<Vec<Edge>, EmulateError> {
        let mut edges = Vec::with_capacity(description.pipes.len());
        for pipe in &description.pipes {
            let location = || format!("pipe {:?}", pipe.name);
            let [from, to] = [points.find(&pipe.from, location)?, points.find(&pipe.to, location)?];
            if from == to {
                return Err(EmulateError::Loop {
                    pipe: pipe.name.clone(),
                    name: pipe.from.clone(),
                });
            }
            for end in [from, to] {
                if description.hosts.get(end).is_some_and(|host| host.access.is_some()) {
                    let host = description.hosts[end].name.clone();
                    return Err(EmulateError::PipeBesideAccess { pipe: pipe.name.clone(), host });
                }
            }
            let link = Arc::new(pipe.link());
            edges.push(Edge { from, to, delay: delay(&link) });
            self.pipes.push(Pipe {
                name: pipe.name.clone(),
                from: pipe.from.clone(),
                to: pipe.to.clone(),
                link,
            });
        }
        Ok(edges)
    }

    fn add_host(
        &mut self,
        index: usize,
        host: &HostDescription,
        points: &Points,
    ) -> Result<(), EmulateError> {
        if host.addresses.is_empty() {
            return Err(EmulateError::NoAddress { host: host.name.clone() });
        }
        let links = host
            .access
            .as_ref()
            .map(|access| (access, Arc::new(access.up.clone()), Arc::new(access.down.clone())));
        if let Some(access) = &host.access
            && !access.each.is_empty()
            && access.each.len() != host.addresses.len()
        {
            return Err(EmulateError::AccessNumber {
                host: host.name.clone(),
                links: access.each.len(),
                addresses: host.addresses.len(),
            });
        }
        for (place, &address) in host.addresses.iter().enumerate() {
            let access = match &links {
                None => None,
                Some((access, up, down)) => {
                    let own = access
                        .each
                        .get(place)
                        .map(|own| (Arc::new(own.up.clone()), Arc::new(own.down.clone())));
                    let (up, down) = own.as_ref().map_or((up, down), |(up, down)| (up, down));
                    Some(self.add_access(host, access, address, points, [up, down])?)
                }
            };
            if let Some(first) = self.addresses.insert(key(address), Owner { host: index, access })
            {
                let first = self
                    .hosts
                    .get(first.host)
                    .map_or_else(|| host.name.clone(), |first| first.name.clone());
                return Err(EmulateError::AddressTwice {
                    address,
                    first,
                    second: host.name.clone(),
                });
            }
        }
        self.hosts.push(Host {
            name: host.name.clone(),
            addresses: host.addresses.clone(),
            access: links.is_some(),
        });
        Ok(())
    }

    /// The two pipes of an address.
    fn add_access(
        &mut self,
        host: &HostDescription,
        access: &AccessDescription,
        address: IpAddr,
        points: &Points,
        [up, down]: [&Arc<LinkDescription>; 2],
    ) -> Result<[u32; 2], EmulateError> {
        let Some(router) = &access.router else {
            return Err(EmulateError::AccessWithoutRouter { host: host.name.clone() });
        };
        points.find_router(router, &host.name)?;
        let first = number(self.pipes.len());
        let name = |direction: &str| format!("{}[{address}].{direction}", host.name);
        self.pipes.push(Pipe {
            name: name("up"),
            from: host.name.clone(),
            to: router.clone(),
            link: Arc::clone(up),
        });
        self.pipes.push(Pipe {
            name: name("down"),
            from: router.clone(),
            to: host.name.clone(),
            link: Arc::clone(down),
        });
        Ok([first, first + 1])
    }

    fn find_outside(
        &self,
        description: &Description,
        points: &Points,
    ) -> Result<Option<Owner>, EmulateError> {
        let Some(name) = &description.outside else { return Ok(None) };
        let host = points.find_host(name, || "outside".to_owned())?;
        Ok(self.addresses.get(&key(self.hosts[host].addresses[0])).copied())
    }

    fn check_pipes(&self) -> Result<(), EmulateError> {
        let mut names: Vec<&str> = self.pipes.iter().map(|pipe| pipe.name.as_str()).collect();
        if names.contains(&"") {
            return Err(EmulateError::NoName { location: "pipes".to_owned() });
        }
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(EmulateError::NameTwice { what: "pipe", name: pair[0].to_owned() }),
            None => Ok(()),
        }
    }

    fn find_paths(
        &mut self,
        description: &Description,
        points: &Points,
        edges: &[Edge],
    ) -> Result<(), EmulateError> {
        let mut ends = Vec::new();
        for (index, host) in description.hosts.iter().enumerate() {
            let router = host.access.as_ref().and_then(|access| access.router.as_deref());
            let point =
                router.map_or(Ok(index), |router| points.find_router(router, &host.name))?;
            let known = ends.iter().position(|&end| end == point);
            self.ends.push(known.unwrap_or(ends.len()));
            if known.is_none() {
                ends.push(point);
            }
        }
        if ends.len() > MOST_ENDS {
            return Err(EmulateError::TooManyEnds { ends: ends.len(), most: MOST_ENDS });
        }
        self.paths =
            Paths::new(points.names.len(), points.hosts, edges, &ends).map_err(|(from, to)| {
                let host = |end| {
                    self.ends
                        .iter()
                        .position(|&index| index == end)
                        .map_or("", |host| &self.hosts[host].name)
                };
                let reached: Vec<&str> =
                    reached(points.names.len(), points.hosts, edges, ends[from])
                        .into_iter()
                        .map(|point| points.names[point].as_str())
                        .collect();
                EmulateError::no_path(host(from), host(to), &reached)
            })?;
        for route in &description.routes {
            let problem = |problem: String| EmulateError::BrokenRoute {
                from: route.from.clone(),
                to: route.to.clone(),
                problem,
            };
            let location = || format!("route from {:?} to {:?}", route.from, route.to);
            let [from, to] =
                [points.find_host(&route.from, location)?, points.find_host(&route.to, location)?];
            let pipes = route
                .through
                .iter()
                .map(|name| self.find_pipe(name, edges.len(), location))
                .collect::<Result<Vec<_>, _>>()?;
            let mut point = ends[self.ends[from]];
            for &pipe in &pipes {
                let edge = &edges[pipe];
                if edge.from != point {
                    let (name, begins) = (&self.pipes[pipe].name, &self.pipes[pipe].from);
                    return Err(problem(format!(
                        "pipe {name:?} begins at {begins:?}, but the packet is at {:?}",
                        points.names[point]
                    )));
                }
                point = edge.to;
                if point < points.hosts && point != to {
                    return Err(problem(format!(
                        "it leads through host {:?}, and hosts do not pass packets on",
                        points.names[point]
                    )));
                }
            }
            if point != ends[self.ends[to]] {
                return Err(problem(format!("it ends at {:?}", points.names[point])));
            }
            let stretch = self.paths.keep(&pipes);
            if self.overrides.insert((from, to), stretch).is_some() {
                return Err(problem("it is given twice".to_owned()));
            }
        }
        Ok(())
    }

    /// One of the first `count` pipes: those that were described.
    fn find_pipe(
        &self,
        name: &str,
        count: usize,
        location: impl Fn() -> String,
    ) -> Result<usize, EmulateError> {
        let names = || self.pipes[..count].iter().map(|pipe| pipe.name.as_str());
        names().position(|pipe| pipe == name).ok_or_else(|| EmulateError::UnknownName {
            location: location(),
            what: "pipe",
            name: name.to_owned(),
            nearest: nearest(name, names()),
        })
    }
}

/// The points of the graph: hosts, then routers.
struct Points {
    names: Vec<String>,
    hosts: usize,
    indices: BTreeMap<String, usize>,
}

impl Points {
    fn new(description: &Description) -> Result<Self, EmulateError> {
        let hosts = description.hosts.len();
        if hosts < 2 {
            return Err(EmulateError::TooFewHosts { hosts });
        }
        let names: Vec<String> = description
            .hosts
            .iter()
            .map(|host| host.name.clone())
            .chain(description.routers.iter().cloned())
            .collect();
        let mut indices = BTreeMap::new();
        for (index, name) in names.iter().enumerate() {
            if name.is_empty() {
                let location = if index < hosts { "hosts" } else { "routers" };
                return Err(EmulateError::NoName { location: location.to_owned() });
            }
            if indices.insert(name.clone(), index).is_some() {
                return Err(EmulateError::NameTwice { what: "host or router", name: name.clone() });
            }
        }
        Ok(Self { names, hosts, indices })
    }

    fn find(&self, name: &str, location: impl Fn() -> String) -> Result<usize, EmulateError> {
        self.indices
            .get(name)
            .copied()
            .ok_or_else(|| self.unknown(name, "host or router", location(), 0..self.names.len()))
    }

    fn find_host(&self, name: &str, location: impl Fn() -> String) -> Result<usize, EmulateError> {
        let host = self.indices.get(name).copied().filter(|&point| point < self.hosts);
        host.ok_or_else(|| self.unknown(name, "host", location(), 0..self.hosts))
    }

    fn find_router(&self, name: &str, host: &str) -> Result<usize, EmulateError> {
        let router = self.indices.get(name).copied().filter(|&point| point >= self.hosts);
        router.ok_or_else(|| {
            self.unknown(
                name,
                "router",
                format!("host {host:?}: access.router"),
                self.hosts..self.names.len(),
            )
        })
    }

    fn unknown(
        &self,
        name: &str,
        what: &'static str,
        location: String,
        among: std::ops::Range<usize>,
    ) -> EmulateError {
        let nearest = nearest(name, self.names[among].iter().map(String::as_str));
        EmulateError::UnknownName { location, what, name: name.to_owned(), nearest }
    }
}

/// An address as a number; one of version 4 as the mapped one of version 6.
#[inline]
fn key(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_ipv6_mapped()),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// Multiplies and folds: a lookup per packet must be cheap, and the addresses are the experiment's
/// own.
#[derive(Debug, Clone, Copy, Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u128(u128::from(*byte));
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a hash")]
    fn write_u128(&mut self, value: u128) {
        let folded = self.0 ^ (value as u64) ^ ((value >> 64) as u64).rotate_left(32);
        let wide = u128::from(folded) * 0x9E37_79B9_7F4A_7C15_u128;
        self.0 = (wide as u64) ^ ((wide >> 64) as u64);
    }
}
