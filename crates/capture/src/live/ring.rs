//! The capture itself: sets the ring up, waits for blocks, shows their frames, notices when the
//! interface goes.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trustbed_units::{Ns, Size, Span};
use trustbed_wire::LinkType;

use super::block::{Cursor, Stored};
use super::interface::Interface;
use super::kernel::{Membership, PacketSocket, Ring, RingRequest, RingStatistics, Woken};
use super::{LiveError, LiveFacts, LiveOptions, Statistics};
use crate::frame::{Direction, Frame};

const BLOCK_LENGTH: u32 = 256 * 1024;
/// Blocks are whole pages; no page of a usual Linux is larger.
const GRAIN: u32 = 64 * 1024;
const LARGEST_RING: u64 = 1 << 30;
/// What the kernel wants to hear and version 3 of the ring does not use: blocks hold frames of any
/// size.
const FRAME_SIZE: u32 = 2048;
/// Bytes before the type of an Ethernet frame, where a tag is.
const ADDRESSES: usize = 12;
/// How long an interface that went down is given to vanish, before it is called down.
const FAREWELL: Duration = Duration::from_millis(100);
const PACKET_OUTGOING: u8 = 4;

/// A capture of an interface: [`Live::open`], then [`Live::frames`] until it fails;
/// [`Live::statistics`] and [`Live::facts`] at any time. It ends when it is dropped.
pub struct Live {
    facts: LiveFacts,
    index: i32,
    socket: PacketSocket,
    ring: Ring,
    /// The block that comes next, and how far it has been read.
    block: usize,
    cursor: Option<Cursor>,
    statistics: Statistics,
    /// Why the capture ended: what the ring holds is shown before it is reported.
    end: Option<End>,
    /// A frame with its tag put back.
    tagged: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Down,
    Gone,
}

impl fmt::Debug for Live {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Live")
            .field("facts", &self.facts)
            .field("statistics", &self.statistics)
            .finish_non_exhaustive()
    }
}

/// Readable when a block is ready or the interface failed: to wait for frames beside other things.
impl AsFd for Live {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.descriptor()
    }
}

impl Live {
    /// Captures from now on what passes on an interface, in both directions; on a loopback
    /// interface each frame once.
    ///
    /// # Errors
    ///
    /// No such interface, no right to capture (`CAP_NET_RAW`), an interface that is down or whose
    /// frames cannot be decoded, no memory for the ring; see [`LiveError`].
    pub fn open(name: &str, options: LiveOptions) -> Result<Self, LiveError> {
        let socket = PacketSocket::open().map_err(|source| not_open(name, source))?;
        let interface = Interface::look(&socket, name)?;
        let failed = |step| move |source| LiveError::Kernel { name: name.to_owned(), step, source };
        let snap_length = if options.snap_length == 0 { BLOCK_LENGTH } else { options.snap_length };
        socket
            .filter(&mut filter(interface.loopback, snap_length))
            .map_err(failed("say how much of a frame is kept"))?;
        let request = ring_request(&options, snap_length);
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        socket
            .set(libc::SOL_PACKET, libc::PACKET_VERSION, &version)
            .map_err(failed("choose the version of the packet ring"))?;
        socket
            .set(libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
            .map_err(failed("set up the packet ring"))?;
        let ring = Ring::map(&socket, request.block_size as usize, request.blocks as usize)
            .map_err(failed("map the packet ring"))?;
        let hardware_timestamps = options.hardware_timestamps && interface.stamps;
        if hardware_timestamps {
            let raw = libc::SOF_TIMESTAMPING_RAW_HARDWARE.cast_signed();
            socket
                .set(libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &raw)
                .map_err(failed("ask for hardware timestamps"))?;
        }
        if options.promiscuous && !interface.loopback {
            let membership =
                Membership { index: interface.index, kind: PROMISCUOUS, ..Membership::default() };
            socket
                .set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
                .map_err(failed("see frames for other hosts"))?;
        }
        socket.bind(interface.index).map_err(failed("listen on it"))?;
        let facts = LiveFacts {
            name: interface.name,
            link: interface.link,
            loopback: interface.loopback,
            mtu: interface.mtu,
            speed: interface.speed,
            snap_length,
            ring: Size(u64::from(request.block_size) * u64::from(request.blocks)),
            block: Size(request.block_size.into()),
            block_timeout: Span::from_millis(request.retire_milliseconds.into()),
            hardware_timestamps,
            hardware_clock_ahead: None,
        };
        let index = interface.index;
        Ok(Self {
            facts,
            index,
            socket,
            ring,
            block: 0,
            cursor: None,
            statistics: Statistics::default(),
            end: None,
            tagged: Vec::new(),
        })
    }

    /// Shows up to `limit` frames to `see`, in the order in which the kernel took them up, and says
    /// how many there were. If there is none it waits, at most for `timeout`; then, and when a
    /// signal comes, the answer is 0.
    ///
    /// Frames are numbered from 1 in the order in which they are shown. Their bytes lie in the
    /// ring: `see` should be quick, for a block is given back when its last frame was seen.
    ///
    /// # Errors
    ///
    /// [`LiveError::InterfaceGone`] when the interface has vanished, from then on always;
    /// [`LiveError::InterfaceDown`] when it went down, once: later calls go on and show frames when
    /// it is up again. Both come after the frames that were captured before, and about 0.1 s late.
    pub fn frames(
        &mut self,
        limit: usize,
        timeout: Span,
        mut see: impl FnMut(&Frame<'_>),
    ) -> Result<usize, LiveError> {
        let shown = self.show(limit, &mut see);
        if shown > 0 || limit == 0 {
            return Ok(shown);
        }
        if self.end.is_none() {
            let timeout = Duration::from_nanos(u64::try_from(timeout.0).unwrap_or(0));
            match self
                .socket
                .wait(timeout)
                .map_err(|source| self.failed("wait for frames", source))?
            {
                Woken::Ready => return Ok(self.show(limit, &mut see)),
                Woken::Interrupted => return Ok(0),
                // The error of the socket may have gone to another call.
                Woken::TimedOut if self.socket.name_of(self.index).is_some() => return Ok(0),
                Woken::TimedOut => self.end = Some(End::Gone),
                Woken::Failed => self.on_error()?,
            }
            let shown = self.show(limit, &mut see);
            if shown > 0 {
                return Ok(shown);
            }
        }
        let name = self.facts.name.clone();
        match self.end {
            Some(End::Gone) => Err(LiveError::InterfaceGone { name }),
            Some(End::Down) => {
                self.end = None;
                Err(LiveError::InterfaceDown { name })
            }
            None => Ok(0),
        }
    }

    /// What was counted so far.
    ///
    /// # Errors
    ///
    /// [`LiveError::Kernel`] when the kernel does not say.
    pub fn statistics(&mut self) -> Result<Statistics, LiveError> {
        let new: RingStatistics = self
            .socket
            .get(libc::SOL_PACKET, libc::PACKET_STATISTICS)
            .map_err(|source| self.failed("read the drop counters", source))?;
        // Asking sets the kernel's counters to zero.
        self.statistics.received += u64::from(new.packets.saturating_sub(new.drops));
        self.statistics.dropped += u64::from(new.drops);
        self.statistics.frozen += u64::from(new.freezes);
        Ok(self.statistics)
    }

    /// How many frames the kernel has taken up that were not shown yet: they wait in the ring.
    ///
    /// A block is shown when it is full or a timer of the kernel's has run out. On a machine whose
    /// processors stall at times that timer may come late by as much; this count does not
    /// depend on it.
    ///
    /// # Errors
    ///
    /// As [`Live::statistics`].
    pub fn waiting(&mut self) -> Result<u64, LiveError> {
        let statistics = self.statistics()?;
        Ok(statistics.received.saturating_sub(statistics.shown))
    }

    /// What is known about the interface and the capture.
    pub fn facts(&self) -> LiveFacts {
        self.facts.clone()
    }

    /// Shows what the ring holds.
    fn show(&mut self, limit: usize, see: &mut impl FnMut(&Frame<'_>)) -> usize {
        let mut shown = 0;
        while shown < limit {
            let Some(block) = self.ring.block(self.block) else { break };
            let mut cursor = self.cursor.unwrap_or_else(|| Cursor::begin(block));
            while shown < limit {
                let Some(stored) = cursor.next(block) else { break };
                self.statistics.shown += 1;
                shown += 1;
                if stored.hardware {
                    self.statistics.hardware_stamped += 1;
                    self.facts.hardware_clock_ahead.get_or_insert_with(|| stored.ts - now());
                }
                see(&frame(&stored, &self.facts, self.statistics.shown, &mut self.tagged));
            }
            if shown == limit && cursor.left() > 0 {
                self.cursor = Some(cursor);
                break;
            }
            // A block that contradicts itself: what it still claims is lost.
            self.statistics.dropped += u64::from(cursor.left());
            self.statistics.received =
                self.statistics.received.saturating_sub(cursor.left().into());
            self.cursor = None;
            self.ring.release(self.block);
            self.block = (self.block + 1) % self.ring.blocks();
        }
        shown
    }

    /// The socket has an error: the interface went down, and perhaps away.
    fn on_error(&mut self) -> Result<(), LiveError> {
        let error = self
            .socket
            .take_error()
            .map_err(|source| self.failed("read why capturing failed", source))?;
        match error {
            None => return Ok(()),
            Some(error) if error.raw_os_error() == Some(libc::ENETDOWN) => {}
            Some(source) => return Err(self.failed("capture", source)),
        }
        // An interface that is removed goes down first. Meanwhile the kernel hands over the last
        // block.
        let block_timeout = Duration::from_nanos(self.facts.block_timeout.0.unsigned_abs());
        thread::sleep(FAREWELL.max(2 * block_timeout));
        self.end =
            Some(if self.socket.name_of(self.index).is_some() { End::Down } else { End::Gone });
        Ok(())
    }

    fn failed(&self, step: &'static str, source: io::Error) -> LiveError {
        LiveError::Kernel { name: self.facts.name.clone(), step, source }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "1")]
const PROMISCUOUS: u16 = libc::PACKET_MR_PROMISC as u16;

fn not_open(name: &str, source: io::Error) -> LiveError {
    let name = name.to_owned();
    if source.kind() != io::ErrorKind::PermissionDenied {
        return LiveError::Kernel { name, step: "open a packet socket", source };
    }
    let program = std::env::current_exe()
        .map_or_else(|_| "PROGRAM".to_owned(), |path| path.display().to_string());
    LiveError::NotPermitted { name, program, source }
}

/// A classic BPF program that keeps the first bytes of each frame. On a loopback interface every
/// frame leaves and comes in: the one that leaves is left out, as libpcap does.
fn filter(loopback: bool, snap_length: u32) -> Vec<libc::sock_filter> {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let instruction = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let keep = instruction(RETURN, 0, 0, snap_length);
    if !loopback {
        return vec![keep];
    }
    let kind = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE).cast_unsigned();
    vec![
        instruction(LOAD, 0, 0, kind),
        instruction(JUMP_IF_EQUAL, 0, 1, PACKET_OUTGOING.into()),
        instruction(RETURN, 0, 0, 0),
        keep,
    ]
}

/// The ring in blocks: as many as fill the memory, at least four, each large enough for a frame.
fn ring_request(options: &LiveOptions, snap_length: u32) -> RingRequest {
    let memory = options.ring.0.min(LARGEST_RING);
    let quarter = u32::try_from(memory / 4).unwrap_or(u32::MAX);
    let frame = snap_length.saturating_add(FRAME_SIZE);
    let block_size = quarter.max(frame).min(BLOCK_LENGTH).next_multiple_of(GRAIN);
    let blocks = u32::try_from(memory.div_ceil(block_size.into())).unwrap_or(u32::MAX).max(4);
    let retire_milliseconds =
        u32::try_from(options.block_timeout.0 / 1_000_000).unwrap_or(0).clamp(1, 1_000);
    let frames = blocks * (block_size / FRAME_SIZE);
    RingRequest {
        block_size,
        blocks,
        frame_size: FRAME_SIZE,
        frames,
        retire_milliseconds,
        private_size: 0,
        features: 0,
    }
}

/// A frame as others see it, with its tag put back.
#[inline]
fn frame<'a>(
    stored: &Stored<'a>,
    facts: &LiveFacts,
    index: u64,
    tagged: &'a mut Vec<u8>,
) -> Frame<'a> {
    let marked = match stored.kind {
        _ if facts.loopback => Direction::Unknown,
        PACKET_OUTGOING => Direction::Outbound,
        _ => Direction::Inbound,
    };
    let Stored { ts, mut original_length, mut bytes, .. } = *stored;
    if let (Some(tag), LinkType::Ethernet, Some((addresses, rest))) =
        (stored.tag, facts.link, bytes.split_at_checked(ADDRESSES))
    {
        tagged.clear();
        for part in [addresses, &tag, rest] {
            tagged.extend_from_slice(part);
        }
        tagged.truncate(facts.snap_length as usize);
        original_length += 4;
        bytes = tagged;
    }
    Frame {
        ts,
        index,
        file: 0,
        interface: 0,
        link: Some(facts.link),
        original_length,
        marked,
        bytes,
    }
}

fn now() -> Ns {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ns(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
