//! What a transfer could have achieved: bounds by window, measured delay, loss and capacity.

/// The inputs of the bounds. Sizes in bytes, times in seconds, capacity in bytes per second at IP
/// level.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Path {
    /// Largest advertised window W.
    pub window: Option<f64>,
    /// Payload per packet p.
    pub payload: f64,
    /// IP packet size P.
    pub packet: f64,
    /// Base round-trip time R₀.
    pub rtt_base: Option<f64>,
    /// Mean round-trip time R.
    pub rtt: Option<f64>,
    /// Loss rate (0…1).
    pub loss: Option<f64>,
    /// Capacity C.
    pub capacity: Option<f64>,
}

/// W·p / (P·R) in bytes per second: what the window allows at round-trip time `rtt` (Lee et al.,
/// Eq. 1). `None` for W = 0 or R ≤ 0.
pub fn window_bound(window: f64, payload: f64, packet: f64, rtt: f64) -> Option<f64> {
    (window > 0.0 && rtt > 0.0 && packet > 0.0).then(|| window * payload / (packet * rtt))
}

impl Path {
    /// X₀: the window at the base round-trip time.
    pub fn x0(&self) -> Option<f64> {
        window_bound(self.window?, self.payload, self.packet, self.rtt_base?)
    }

    /// X₁: the window at the measured mean round-trip time.
    pub fn x1(&self) -> Option<f64> {
        window_bound(self.window?, self.payload, self.packet, self.rtt?)
    }

    /// X₂: p/R·√(1.5/loss) (Mathis et al. 1997, no delayed ACKs). `None` (no bound) without loss.
    pub fn x2(&self) -> Option<f64> {
        let (rtt, loss) = (self.rtt?, self.loss?);
        (rtt > 0.0 && loss > 0.0).then(|| self.payload / rtt * (1.5 / loss).sqrt())
    }

    /// X₃: the payload share of the capacity. `None` (no bound) when it is unknown.
    pub fn x3(&self) -> Option<f64> {
        self.capacity.map(|c| c * self.payload / self.packet)
    }

    /// The packet period P·R₀/W of the ideal self-clocked sender; with known capacity at least
    /// 8P/C. Seconds.
    pub fn packet_period(&self) -> Option<f64> {
        let window = self.window.filter(|&w| w > 0.0)?;
        let period = self.packet * self.rtt_base? / window;
        Some(self.capacity.map_or(period, |c| period.max(self.packet / c)))
    }
}
