//! Sums of floating-point numbers that do not depend on how many there are.

/// A compensated sum (A. Neumaier, *Rundungsfehleranalyse einiger Verfahren zur Summation endlicher
/// Summen*, ZAMM 54, 1974): the error of n additions is that of a few.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, value: f64) {
        let total = self.total + value;
        let (larger, smaller) =
            if self.total.abs() >= value.abs() { (self.total, value) } else { (value, self.total) };
        self.lost += (larger - total) + smaller;
        self.total = total;
    }

    pub(crate) fn value(self) -> f64 {
        self.total + self.lost
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        let mut sum = Self::default();
        values.into_iter().for_each(|value| sum.add(value));
        sum
    }
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 calls: months of a busy host")]
pub(crate) const fn float(count: u64) -> f64 {
    count as f64
}
