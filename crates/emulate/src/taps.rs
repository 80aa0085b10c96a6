//! Taps: callbacks for the packets that pass a router.
//!
//! A packet is seen at its scheduled time out of the pipe before the router: one that is lost
//! behind the router is seen, one that is lost before it is not. Packets are seen in order of time,
//! but for those that were offered late.

use std::fmt;

use trustbed_units::Ns;

use crate::error::nearest;
use crate::{EmulateError, Topology};

/// A packet at a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing<'a, P> {
    /// When it passes.
    pub at: Ns,
    /// Its length in bytes.
    pub length: u32,
    /// What it carries.
    pub payload: &'a P,
}

type Watcher<P> = Box<dyn FnMut(Passing<'_, P>)>;

/// All who look.
pub(crate) struct Taps<P> {
    watchers: Vec<(String, Watcher<P>)>,
    /// By pipe: the tap on what comes out of it.
    behind: Vec<Option<usize>>,
}

impl<P> Taps<P> {
    pub(crate) fn new(pipes: usize) -> Self {
        Self { watchers: Vec::new(), behind: vec![None; pipes] }
    }

    /// Adds a tap at a router.
    pub(crate) fn add(
        &mut self,
        topology: &Topology,
        router: &str,
        watcher: Watcher<P>,
    ) -> Result<(), EmulateError> {
        let routers = || topology.routers().iter().map(String::as_str);
        if !routers().any(|name| name == router) {
            let (location, name) = ("taps".to_owned(), router.to_owned());
            return Err(EmulateError::UnknownName {
                location,
                what: "router",
                nearest: nearest(&name, routers()),
                name,
            });
        }
        if self.watchers.iter().any(|(name, _)| name == router) {
            return Err(EmulateError::NameTwice { what: "tap at router", name: router.to_owned() });
        }
        for (behind, pipe) in self.behind.iter_mut().zip(topology.pipes()) {
            if pipe.to == router {
                *behind = Some(self.watchers.len());
            }
        }
        self.watchers.push((router.to_owned(), watcher));
        Ok(())
    }

    /// A packet comes out of a pipe.
    #[inline]
    pub(crate) fn on_passing(&mut self, pipe: u32, passing: Passing<'_, P>) {
        if let Some(watcher) = self.behind[pipe as usize] {
            (self.watchers[watcher].1)(passing);
        }
    }
}

impl<P> fmt::Debug for Taps<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.watchers.iter().map(|(router, _)| router)).finish()
    }
}
