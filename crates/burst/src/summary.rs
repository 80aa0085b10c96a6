//! Many windows in a line: mean and maximum of the average rate and of the burstiness, over all
//! windows and over those with packets.
//!
//! Sums are whole numbers, so the order of windows does not matter. Partial windows are counted and
//! otherwise left out, and so are, for the backlogs, windows whose rate is unknown.

use crate::{Backlog, Row};

/// Windows, summarised.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Summary {
    /// All complete windows.
    pub all: Averages,
    /// Complete windows with packets.
    pub active: Averages,
    /// Windows cut by the end of the capture.
    pub partial: u64,
}

/// Means and maxima over some windows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Averages {
    windows: u64,
    measured: u64,
    /// Bytes in all windows, and in the fullest; with the length of a window in nanoseconds they
    /// are rates.
    bytes: u128,
    most_bytes: u64,
    length: u64,
    wait: Total,
    system: Total,
}

/// Backlogs in one unit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Total {
    sum: u128,
    most: Option<Backlog>,
}

impl Summary {
    /// A row of any number of windows.
    pub fn add(&mut self, row: &Row) {
        if row.partial {
            self.partial += row.windows;
            return;
        }
        self.all.add(row);
        if row.packets > 0 {
            self.active.add(row);
        }
    }

    /// Of these rows.
    pub fn of(rows: &[Row]) -> Self {
        let mut summary = Self::default();
        for row in rows {
            summary.add(row);
        }
        summary
    }
}

#[expect(clippy::cast_precision_loss, reason = "means for people; the sums are exact")]
impl Averages {
    fn add(&mut self, row: &Row) {
        self.windows += row.windows;
        self.bytes += u128::from(row.bytes);
        self.most_bytes = self.most_bytes.max(row.bytes);
        self.length = row.length.0.unsigned_abs();
        if let Some(peaks) = row.peaks {
            self.measured += row.windows;
            // Windows without packets have no wait, so a row of several adds nothing but its
            // number.
            self.wait.add(peaks.wait, peaks.wait.fraction().0);
            self.system.add(peaks.system, row.system_units());
        }
    }

    /// How many windows.
    pub const fn windows(&self) -> u64 {
        self.windows
    }

    /// Mean of the average rates, in bits per second.
    pub fn abw_mean(&self) -> Option<f64> {
        (self.windows > 0)
            .then(|| self.bytes as f64 * 8e9 / (self.windows as f64 * self.length as f64))
    }

    /// The highest average rate, in bits per second.
    pub fn abw_max(&self) -> Option<f64> {
        (self.windows > 0).then(|| self.most_bytes as f64 * 8e9 / self.length as f64)
    }

    /// Mean of the burstiness of the windows whose rate is known, in bytes.
    pub fn wait_mean(&self) -> Option<f64> {
        self.wait.most.map(|most| most.in_bytes(self.wait.sum) / self.measured as f64)
    }

    /// The largest burstiness.
    pub const fn wait_max(&self) -> Option<Backlog> {
        self.wait.most
    }

    /// Mean of the largest system backlogs, in bytes.
    pub fn system_mean(&self) -> Option<f64> {
        self.system.most.map(|most| most.in_bytes(self.system.sum) / self.measured as f64)
    }

    /// The largest system backlog.
    pub const fn system_max(&self) -> Option<Backlog> {
        self.system.most
    }
}

impl Total {
    /// The largest backlog of a row, and the sum over its windows in the same unit.
    fn add(&mut self, largest: Backlog, sum: u128) {
        self.sum = self.sum.saturating_add(sum);
        if self.most.is_none_or(|most| most.fraction().0 < largest.fraction().0) {
            self.most = Some(largest);
        }
    }
}
