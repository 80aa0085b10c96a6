//! Live capture where there is no packet ring: an error states it.

use std::convert::Infallible;
use std::io;

use trustbed_units::Span;

use super::{LiveError, LiveFacts, LiveOptions, Statistics, User};
use crate::frame::Frame;

/// Gives up privileges, which needs Linux.
///
/// # Errors
///
/// Always.
pub fn give_up_privileges(_user: Option<User>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives up capabilities, which needs Linux.
///
/// # Errors
///
/// Always.
pub fn give_up_capabilities() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A capture of an interface, which needs Linux.
#[derive(Debug)]
pub struct Live(Infallible);

impl Live {
    /// Captures from an interface.
    ///
    /// # Errors
    ///
    /// Always [`LiveError::NotLinux`] on this system.
    pub fn open(name: &str, _options: LiveOptions) -> Result<Self, LiveError> {
        Err(LiveError::NotLinux { name: name.to_owned() })
    }

    /// Shows frames.
    ///
    /// # Errors
    ///
    /// As on Linux.
    pub fn frames(
        &mut self,
        _limit: usize,
        _timeout: Span,
        _see: impl FnMut(&Frame<'_>),
    ) -> Result<usize, LiveError> {
        match self.0 {}
    }

    /// What was counted so far.
    ///
    /// # Errors
    ///
    /// As on Linux.
    pub fn statistics(&mut self) -> Result<Statistics, LiveError> {
        match self.0 {}
    }

    /// What is known about the interface and the capture.
    pub fn facts(&self) -> LiveFacts {
        match self.0 {}
    }
}
