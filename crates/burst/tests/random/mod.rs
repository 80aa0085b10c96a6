//! Reproducible random numbers, the same on every machine.

#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

/// `SplitMix64` (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014).
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 … `bound` − 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.word() % bound
    }

    /// Of any order of magnitude below 2^`bits`.
    pub fn magnitude(&mut self, bits: u64) -> u64 {
        let bound = 1 << self.below(bits);
        self.below(bound)
    }

    /// As `below`, for an index of a list.
    pub fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).unwrap()
    }

    /// 0 … 1, never 0.
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    pub fn uniform(&mut self) -> f64 {
        ((self.word() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Mean 0, variance 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    /// Up to `most` different positions to cut `length` things at, in order, none at an end.
    pub fn cuts(&mut self, length: usize, most: usize) -> Vec<usize> {
        let mut cuts: Vec<usize> = if length < 2 {
            vec![]
        } else {
            (0..self.index(most + 1)).map(|_| 1 + self.index(length - 1)).collect()
        };
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// Columns of packets: sometimes equal times, sometimes neighbours within a bin of 1000 ns,
    /// sometimes long silence.
    pub fn columns(&mut self, packets: usize) -> (Vec<i64>, Vec<u32>) {
        let mut time = i64::try_from(self.below(20_000)).unwrap() - 10_000;
        let column = |_| {
            let reach = [1, 300, 3_000, 100_000][self.index(4)];
            time += i64::try_from(self.below(reach)).unwrap();
            (time, u32::try_from(self.below(1515)).unwrap())
        };
        (0..packets).map(column).unzip()
    }
}

/// The pieces between cuts.
pub fn pieces<'a, T>(things: &'a [T], cuts: &[usize]) -> Vec<&'a [T]> {
    let edges: Vec<usize> = [&[0], cuts, &[things.len()]].concat();
    edges.windows(2).map(|pair| &things[pair[0]..pair[1]]).collect()
}
