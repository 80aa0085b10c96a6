//! The kernel's state of its real-time clock.
#![expect(unsafe_code, reason = "the state of the clock is reached by a system call only")]

use std::mem::zeroed;

use trustbed_units::Span;

/// What the kernel thinks of the real-time clock: whether something keeps it to UTC, and by how
/// much it may be wrong at most (adjtimex(2)).
pub(super) fn clock_error() -> (bool, Span) {
    // SAFETY: all zeros asks for nothing to be changed.
    let mut found = unsafe { zeroed::<libc::timex>() };
    // SAFETY: the pointer leads to a `timex`; with no modes nothing is set, so that no privilege is
    // needed.
    let state = unsafe { libc::adjtimex(&raw mut found) };
    let synchronized =
        state >= 0 && state != libc::TIME_ERROR && found.status & libc::STA_UNSYNC == 0;
    let error = if state < 0 { Span::MAX } else { Span(found.maxerror.saturating_mul(1000)) };
    (synchronized, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_has_an_error() {
        assert!(clock_error().1 >= Span::ZERO);
    }
}
