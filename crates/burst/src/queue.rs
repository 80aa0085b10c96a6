//! A finite buffer in front of a link: which packets a drop-tail queue would have lost, and how
//! long the others would have waited.
//!
//! The buffer holds bytes, and the packet being sent counts with what of it is not sent yet. A
//! packet that finds w bytes is taken if w + L ≤ buffer, otherwise lost as a whole; so a buffer as
//! deep as the system backlog of [`crate::Chunk`] loses nothing, and one byte less loses something.
//! Real queues count whole packets or round to cells, and can differ by about one packet.
//!
//! The traffic is taken as it was (open loop): TCP would have slowed down after the first loss, so
//! losses here can over-, seldom understate what the same applications would suffer. What a queue
//! does to a stretch of traffic depends on what is in it, packet by packet: unlike the unlimited
//! bottleneck it cannot be cut in time. Workers share the queues of a [`Sweep`] instead.

use trustbed_units::{Ns, Rate, Size};

use crate::bottleneck::{ROOM, Units};
use crate::cells::in_order;
use crate::{Backlog, BurstError, Drain, Histogram, Packets};

/// As many packets go through every queue of a sweep before the next ones: they stay in the cache.
const BLOCK: usize = 4096;

/// A drop-tail queue in front of a link, as packets come.
///
/// ```
/// use trustbed_burst::{DropTail, Packets};
/// use trustbed_units::{Rate, Size};
/// let mut queue = DropTail::new(Rate(8_000_000), Some(Size(2500)))?;
/// let mut lost = Vec::new();
/// let packets = Packets::new(&[0, 0, 0, 1_000_000], &[1000, 1000, 1000, 1500])?;
/// queue.push_each(packets, &mut |packet| lost.push(packet));
/// assert_eq!(lost, [2]);
/// assert_eq!(queue.waits().max(), Some(1_000_000));
/// # Ok::<(), trustbed_burst::BurstError>(())
/// ```
#[derive(Debug, Clone)]
pub struct DropTail {
    rate: Rate,
    link: Drain,
    buffer: Option<Size>,
    backlog: i128,
    deepest: i128,
    last: Option<Ns>,
    steps_back: u64,
    counts: Counts,
}

/// What happened to the packets so far.
#[derive(Debug, Clone, Default)]
struct Counts {
    packets: u64,
    bytes: u64,
    lost_packets: u64,
    lost_bytes: u64,
    waits: Histogram,
    runs: Histogram,
    /// Packets lost since the last one that was taken.
    run: u64,
}

/// Queues of several rates and buffers, all of which see the same packets.
#[derive(Debug, Clone)]
pub struct Sweep {
    queues: Vec<DropTail>,
}

impl DropTail {
    /// An empty queue. Without a buffer size it loses nothing.
    ///
    /// # Errors
    /// [`BurstError::ZeroRate`], and [`BurstError::RateTooHigh`] beyond 10 Tbit/s.
    pub fn new(rate: Rate, buffer: Option<Size>) -> Result<Self, BurstError> {
        let link = Drain::at(rate)?;
        Ok(Self {
            rate,
            link,
            buffer,
            backlog: 0,
            deepest: 0,
            last: None,
            steps_back: 0,
            counts: Counts::default(),
        })
    }

    /// Takes packets. Those that come before the latest one are moved there and counted.
    pub fn push(&mut self, packets: Packets<'_>) {
        self.push_each(packets, &mut |_| {});
    }

    /// As [`DropTail::push`]; hands the number of every lost packet, counted from the first one of
    /// all, to `lost`.
    pub fn push_each(&mut self, packets: Packets<'_>, lost: &mut impl FnMut(u64)) {
        self.steps_back += in_order(self.last, packets, &mut |packets| {
            for block in packets.chunks(BLOCK) {
                self.on_block(block, lost);
            }
        });
    }

    /// The rate of the link behind it.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// How much it holds; nothing when it is not limited.
    pub const fn buffer(&self) -> Option<Size> {
        self.buffer
    }

    /// How many packets came, lost ones included.
    pub const fn packets(&self) -> u64 {
        self.counts.packets
    }

    /// How many bytes came, lost ones included.
    pub const fn bytes(&self) -> u64 {
        self.counts.bytes
    }

    /// How many packets were lost.
    pub const fn lost_packets(&self) -> u64 {
        self.counts.lost_packets
    }

    /// The bytes of the lost packets.
    pub const fn lost_bytes(&self) -> u64 {
        self.counts.lost_bytes
    }

    /// Lost packets among all packets; nothing when none came.
    pub fn loss_of_packets(&self) -> Option<f64> {
        share(self.counts.lost_packets, self.counts.packets)
    }

    /// Lost bytes among all bytes; nothing when none came.
    pub fn loss_of_bytes(&self) -> Option<f64> {
        share(self.counts.lost_bytes, self.counts.bytes)
    }

    /// How many packets were lost in a row, for every row, the last one included.
    pub fn loss_runs(&self) -> Histogram {
        let mut runs = self.counts.runs.clone();
        if self.counts.run > 0 {
            runs.add(self.counts.run);
        }
        runs
    }

    /// How long the packets that were taken waited until their own transmission began, in whole
    /// nanoseconds, rounded down.
    pub const fn waits(&self) -> &Histogram {
        &self.counts.waits
    }

    /// The most that was ever in the queue. Without a limit: the smallest buffer that loses
    /// nothing.
    pub fn deepest(&self) -> Backlog {
        self.link.backlog(self.deepest)
    }

    /// How many packets were moved forward because they came out of order.
    pub const fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// As [`crate::bottleneck`]: halved until the sums fit 64 bits, and in 128 bits where they do
    /// not.
    fn on_block(&mut self, block: Packets<'_>, lost: &mut impl FnMut(u64)) {
        const FEW: usize = 64;
        let (Some(before), Some(end)) = (self.last.or_else(|| block.first()), block.last()) else {
            return;
        };
        let (numerator, denominator) = (self.link.numerator(), self.link.denominator());
        let span = end.0.abs_diff(before.0);
        let added = u128::from(block.bytes()) * u128::from(denominator);
        let most = self.backlog.unsigned_abs() + added + u128::from(numerator) * u128::from(span);
        let narrow =
            (i64::try_from(numerator), i64::try_from(denominator), i64::try_from(self.backlog));
        match narrow {
            (Ok(numerator), Ok(denominator), Ok(backlog))
                if most < ROOM && u128::from(span) < ROOM =>
            {
                self.walk(&Link { numerator, denominator, before: before.0, backlog }, block, lost);
            }
            _ if block.len() > FEW => {
                let (left, right) = block.split_at(block.len() / 2);
                self.on_block(left, lost);
                self.on_block(right, lost);
            }
            _ => {
                let (numerator, denominator) = (i128::from(numerator), i128::from(denominator));
                self.walk(
                    &Link { numerator, denominator, before: before.0, backlog: self.backlog },
                    block,
                    lost,
                );
            }
        }
        self.last = Some(end);
    }

    fn walk<U: Units>(&mut self, link: &Link<U>, block: Packets<'_>, lost: &mut impl FnMut(u64)) {
        let room = self
            .buffer
            .map_or(i128::MAX, |buffer| i128::from(buffer.0) * i128::from(self.link.denominator()));
        // A limit that the narrow numbers cannot hold is one that the backlog cannot reach in them.
        let room = U::saturating_from(room);
        let (mut backlog, mut deepest) = (link.backlog, U::ZERO);
        let mut before = U::from(link.before);
        for (&time, &length) in block.times().iter().zip(block.lengths()) {
            let time = U::from(time);
            let wait = (backlog - link.numerator * (time - before)).max(U::ZERO);
            before = time;
            let with = wait + link.denominator * U::from(i64::from(length));
            if with <= room {
                backlog = with;
                deepest = deepest.max(with);
                self.counts.on_taken(
                    length,
                    if wait > U::ZERO { (wait / link.numerator).into() } else { 0 },
                );
            } else {
                backlog = wait;
                lost(self.counts.packets);
                self.counts.on_lost(length);
            }
        }
        self.backlog = backlog.into();
        self.deepest = self.deepest.max(deepest.into());
    }
}

/// A link and the state in front of a block, in numbers of one width.
struct Link<U> {
    numerator: U,
    denominator: U,
    before: i64,
    backlog: U,
}

impl Counts {
    #[inline]
    fn on_taken(&mut self, length: u32, nanoseconds: i128) {
        self.packets += 1;
        self.bytes += u64::from(length);
        self.waits.add(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        if self.run > 0 {
            self.runs.add(self.run);
            self.run = 0;
        }
    }

    #[inline]
    fn on_lost(&mut self, length: u32) {
        self.packets += 1;
        self.bytes += u64::from(length);
        self.lost_packets += 1;
        self.lost_bytes += u64::from(length);
        self.run += 1;
    }
}

impl Sweep {
    /// A queue for every rate with every buffer, rate by rate. A buffer that is not given is not
    /// limited.
    ///
    /// # Errors
    /// [`BurstError::ZeroRate`], and [`BurstError::RateTooHigh`] beyond 10 Tbit/s.
    pub fn new(rates: &[Rate], buffers: &[Option<Size>]) -> Result<Self, BurstError> {
        let mut queues = Vec::with_capacity(rates.len() * buffers.len());
        for rate in rates {
            for buffer in buffers {
                queues.push(DropTail::new(*rate, *buffer)?);
            }
        }
        Ok(Self { queues })
    }

    /// Takes packets.
    pub fn push(&mut self, packets: Packets<'_>) {
        for block in packets.chunks(BLOCK) {
            for queue in &mut self.queues {
                queue.push(block);
            }
        }
    }

    /// The queues, in the order in which they were made.
    pub fn queues(&self) -> &[DropTail] {
        &self.queues
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share is a float")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
