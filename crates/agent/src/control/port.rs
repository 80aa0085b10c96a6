//! The port to the machine outside: what comes in is carried out in the order in which it came.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::child::{Order, Running, Size};
use super::frame::{self, Fault, Frame, Kind};
use super::vigil::Vigil;
use super::{Error, kernel};
use crate::clock;

/// The way out, which all threads share.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) writer: Mutex<File>,
}

/// Which port, and how long the machine outside may be silent before it is taken to be gone; without end if none is given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) port: PathBuf,
    pub(super) silence: Option<Duration>,
}

/// Serves the port until the other end is gone.
pub(super) fn run(options: &Options) -> Result<(), Error> {
    let failed = |source| Error::Port { path: options.port.clone(), source };
    let (mut reader, writer) = open(options).map_err(failed)?;
    let vigil = options.silence.map(Vigil::begin).transpose().map_err(failed)?;
    let port = Arc::new(Port { writer: Mutex::new(writer) });
    port.say(0, Kind::Hello, &hello());
    let mut served = Served { port, commands: BTreeMap::new() };
    loop {
        let frame = frame::read(&mut reader);
        if let Some(vigil) = &vigil {
            vigil.heard();
        }
        match frame {
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
        let (input, output) = (io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?);
        return Ok((input.into(), output.into()));
    }
    let device = File::options().read(true).write(true).open(&options.port)?;
    Ok((device.try_clone()?, device))
}

fn hello() -> Vec<u8> {
    let system = rustix::system::uname();
    let folder = std::env::current_dir().ok().map(|folder| folder.to_string_lossy().into_owned());
    let about = serde_json::json!({ "kernel": system.release().to_string_lossy(), "version": env!("CARGO_PKG_VERSION"), "folder": folder });
    about.to_string().into_bytes()
}

/// The commands of the port.
struct Served {
    port: Arc<Port>,
    commands: BTreeMap<u32, Running>,
}

impl Served {
    fn carry_out(&mut self, frame: Frame) -> Result<(), Error> {
        let Frame { channel, kind, content } = frame;
        match kind {
            Kind::Open => return self.open(channel, &content),
            Kind::Clock => self.tell_time(channel, &content),
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
        let order: Order = serde_json::from_slice(content).map_err(|source| Error::Content { kind: "open", source })?;
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
        self.port.say(channel, Kind::Refused, &content);
    }

    /// As late as possible: what was asked goes back behind the time.
    fn tell_time(&self, channel: u32, asked: &[u8]) {
        let mut content = clock::realtime().0.to_le_bytes().to_vec();
        content.extend(asked);
        self.port.say(channel, Kind::Time, &content);
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
        (Kind::Size, [a, b, c, d]) => command.resize(Size { rows: u16::from_le_bytes([*a, *b]), columns: u16::from_le_bytes([*c, *d]) }),
        // What only a host says does not come in.
        _ => {}
    }
}
