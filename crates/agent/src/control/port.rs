//! The port to the controller: executes frames in the order of arrival.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::child::{Order, Running, Size};
use super::frame::{self, Fault, Frame, Kind};
use super::replay_buffer::ReplayBuffer;
use super::watchdog::Watchdog;
use super::{Error, kernel};
use crate::sys::clock;

/// The output, which all threads share.
#[derive(Debug)]
pub(super) struct Port {
    out: Mutex<Out>,
}

#[derive(Debug)]
struct Out {
    /// None while there is no connection.
    to: Option<File>,
    /// Where the connection may be lost and another comes.
    replay: Option<ReplayBuffer>,
}

/// Which port, and how long the controller may be silent before it is taken to be gone; without end
/// if none is given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) port: PathBuf,
    pub(super) silence: Option<Duration>,
    pub(super) mode: Mode,
}

/// What the port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A device, or the standard streams: there is no other when it is lost.
    Device,
    /// A new socket, over its connections, one after another.
    Listen,
    /// The socket that another process of ours has made: what passes the standard streams passes
    /// it.
    Attach,
}

/// Serves the port until the other end is gone.
pub(super) fn run(options: &Options) -> Result<(), Error> {
    let failed = |source| Error::Port { path: options.port.clone(), source };
    let (mut reader, writer) = open(options).map_err(failed)?;
    let watchdog = options.silence.map(Watchdog::begin).transpose().map_err(failed)?;
    let port = Arc::new(Port { out: Mutex::new(Out { to: Some(writer), replay: None }) });
    port.send(0, Kind::Hello, &hello());
    let mut served = Served::new(port, watchdog);
    loop {
        match served.next(&mut reader) {
            Ok(Some(frame)) => served.carry_out(frame)?,
            Ok(None) => return Ok(()),
            Err(Fault::Read(source)) => return Err(failed(source)),
            Err(Fault::Content(error)) => return Err(error),
        }
    }
}

/// Both directions: of a device, or of the standard streams where the name is `-`.
fn open(options: &Options) -> io::Result<(File, File)> {
    if options.port.as_os_str() == "-" {
        let (input, output) =
            (io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?);
        return Ok((input.into(), output.into()));
    }
    let device = File::options().read(true).write(true).open(&options.port)?;
    Ok((device.try_clone()?, device))
}

pub(super) fn hello() -> Vec<u8> {
    let system = rustix::system::uname();
    let directory =
        std::env::current_dir().ok().map(|directory| directory.to_string_lossy().into_owned());
    let about = serde_json::json!({ "kernel": system.release().to_string_lossy(),
        "version": env!("CARGO_PKG_VERSION"), "directory": directory });
    about.to_string().into_bytes()
}

impl Port {
    /// One whose connection may be lost; there is none yet.
    pub(super) fn lasting() -> Self {
        Self { out: Mutex::new(Out { to: None, replay: Some(ReplayBuffer::default()) }) }
    }

    /// Sends a frame. Once the port is broken, nothing is sent, and its reader notices; where
    /// another transport may follow, the frame waits for it.
    pub(super) fn send(&self, channel_number: u32, kind: Kind, content: &[u8]) {
        // A frame that is too long is malformed; none that is sent here is.
        let Ok(packed) = frame::packed(channel_number, kind, content) else { return };
        let mut out = self.out();
        out.pass(&packed);
        if let Some(replay) = &mut out.replay {
            replay.push(packed);
        }
    }

    /// Sends a frame that concerns this transport only.
    pub(super) fn send_once(&self, kind: Kind, number: u64) {
        if let Ok(packed) = frame::packed(0, kind, &number.to_le_bytes()) {
            self.out().pass(&packed);
        }
    }

    /// A new transport, and the number of frames the controller received before. False if that is
    /// impossible.
    pub(super) fn resume(&self, to: File, count: u64) -> bool {
        let mut out = self.out();
        let Out { to: current, replay: Some(replay) } = &mut *out else { return false };
        let possible = replay.forget(count);
        if possible {
            *current = Some(to);
            for packed in replay.rest() {
                pass(current, packed);
            }
        }
        possible
    }

    /// So many frames have arrived and can be discarded. False if that is impossible.
    pub(super) fn forget(&self, count: u64) -> bool {
        self.out().replay.as_mut().is_some_and(|replay| replay.forget(count))
    }

    /// The connection is lost.
    pub(super) fn pause(&self) {
        self.out().to = None;
    }

    fn out(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Out {
    fn pass(&mut self, packed: &[u8]) {
        pass(&mut self.to, packed);
    }
}

/// Nothing may follow a partial frame.
fn pass(to: &mut Option<File>, packed: &[u8]) {
    if to.as_mut().is_some_and(|file| file.write_all(packed).is_err()) {
        *to = None;
    }
}

/// The commands of the port.
pub(super) struct Served {
    port: Arc<Port>,
    watchdog: Option<Watchdog>,
    commands: BTreeMap<u32, Running>,
}

impl Served {
    pub(super) fn new(port: Arc<Port>, watchdog: Option<Watchdog>) -> Self {
        Self { port, watchdog, commands: BTreeMap::new() }
    }

    /// The next frame; the controller is there.
    pub(super) fn next(&self, reader: &mut impl Read) -> Result<Option<Frame>, Fault> {
        let frame = frame::read(reader);
        if let (Some(watchdog), Ok(Some(_))) = (&self.watchdog, &frame) {
            watchdog.reset();
        }
        frame
    }

    pub(super) fn carry_out(&mut self, frame: Frame) -> Result<(), Error> {
        let Frame { channel, kind, content } = frame;
        match kind {
            Kind::Open => return self.open(channel, &content),
            Kind::Clock => self.send_time(channel, &content),
            Kind::Shift => {
                if let Some(nanoseconds) = content.first_chunk() {
                    kernel::shift_clock(i64::from_le_bytes(*nanoseconds));
                }
            }
            Kind::Forget => {
                self.commands.remove(&channel);
            }
            // For a command that was forgotten meanwhile, or did not start, nothing is to be done.
            _ => {
                if let Some(command) = self.commands.get_mut(&channel) {
                    pass_on(command, kind, content);
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, channel: u32, content: &[u8]) -> Result<(), Error> {
        let order = Order::read(content)?;
        match Running::start(&order, channel, &self.port) {
            Ok(command) => {
                self.commands.insert(channel, command);
            }
            Err(error) => self.refuse(channel, &error),
        }
        Ok(())
    }

    fn refuse(&self, channel: u32, error: &io::Error) {
        let mut content = error.raw_os_error().unwrap_or(libc::EINVAL).to_le_bytes().to_vec();
        content.extend(error.to_string().as_bytes());
        self.port.send(channel, Kind::Refused, &content);
    }

    /// As late as possible: the bytes of the request follow the time.
    fn send_time(&self, channel: u32, requested: &[u8]) {
        let mut content = clock::realtime().0.to_le_bytes().to_vec();
        content.extend(requested);
        self.port.send(channel, Kind::Time, &content);
    }
}

fn pass_on(command: &mut Running, kind: Kind, content: Vec<u8>) {
    match (kind, &content[..]) {
        (Kind::Input, _) => command.feed(content),
        (Kind::InputEnd, _) => command.end_input(),
        (Kind::Signal, [number]) => command.signal(*number),
        (Kind::Shut, [stream]) => {
            if let Some(window) = command.window(*stream) {
                window.shut();
            }
        }
        (Kind::Room, [stream, a, b, c, d]) => {
            if let Some(window) = command.window(*stream) {
                window.widen(usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(0));
            }
        }
        (Kind::Size, [a, b, c, d]) => command.resize(Size {
            rows: u16::from_le_bytes([*a, *b]),
            columns: u16::from_le_bytes([*c, *d]),
        }),
        // Frames that only a host sends are invalid here.
        _ => {}
    }
}
