//! CPU availability: the share of one core that a thread obtains which always wants to run.
//!
//! A thread reads the clock in a loop. Where two readings lie further apart than a threshold it was
//! not running: a gap. Time in gaps is lost; what is left of every second is the share of a core
//! that a newcomer would have had. This is not utilisation, which is what others use: an idle guest
//! whose hypervisor gives it nothing has none of either.
//!
//! The method is that of `PlanetLab`'s spin monitor, and of the kernel's osnoise tracer
//! (`Documentation/trace/osnoise-tracer.rst`; `rtla osnoise` prints `% CPU Aval` and `Max Single`),
//! except that the thread is a user's: what ordinary scheduling takes counts as well.
//!
//! Here nothing spins. [`Availability`] takes gaps and sums them by the second; [`DutyCycle`] gives
//! the part of each second in which a monitor runs that must not burn a whole core;
//! [`gap_threshold`] defines a gap; [`Charging`] compares with what the kernel states that the
//! thread used; [`cpu_share`] is what a transfer had. Moments are of any one clock, and a second
//! begins where that clock shows a whole one.
//!
//! Bias: shares are over-estimated by what is taken in pieces shorter than the threshold, such as
//! interrupts. A monitor competes: beside another thread that spins it has half of the core,
//! whatever one that sleeps most of the time would have had. [`DutyCycle`] has a bias of its own.

mod charge;
mod duty;
mod gap;
mod monitor;
mod second;
mod threshold;

pub use charge::{Charge, Charging};
pub use duty::{DutyCycle, Window};
pub use gap::{Gap, GapLengths};
pub use monitor::{Availability, AvailabilitySettings, AvailabilityTotals};
pub use second::{AvailabilitySecond, GapTally, cpu_share, node_percent};
pub use threshold::gap_threshold;

use trustbed_units::Span;

const SECOND: Span = Span::from_secs(1);
