//! A control port that survives the loss of its transport: a Unix socket that accepts one
//! connection after another.
//!
//! The client is `attach.rs`, a process whose standard streams lead to the controller. When it
//! goes, commands run on and their output waits (`replay_buffer.rs`); a new connection replaces the
//! old one, which may not have noticed yet that its transport is lost. The listener ends when the
//! controller leaves, or is silent for longer than allowed; and at once when the first connection
//! ends before any frame, since that controller knows of no session to resume.
//!
//! Only the user who started it can open the socket: its directory is private.

use std::fs::{self, File};
use std::io::Write;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use super::Error;
use super::frame::{self, Fault, Frame, Kind};
use super::port::{Options, Port, Served, hello};
use super::replay_buffer::EVERY;
use super::watchdog::Watchdog;

/// How long the first connection may take.
const FIRST: Duration = Duration::from_mins(1);

/// What became of a connection.
enum After {
    /// The controller has taken its leave.
    Left,
    /// The transport is lost; another may follow.
    Lost,
}

/// Serves one connection after another.
pub(super) fn run(options: &Options) -> Result<(), Error> {
    let failed = |source| Error::Port { path: options.port.clone(), source };
    let listener = listen(&options.port).map_err(failed)?;
    let watchdog = options.silence.map(Watchdog::begin).transpose().map_err(failed)?;
    let connections = accept(listener).map_err(failed)?;
    let port = Arc::new(Port::lasting());
    port.send(0, Kind::Hello, &hello());
    let mut session =
        Session { served: Served::new(Arc::clone(&port), watchdog), port, came: 0, begun: false };
    let mut next = connections.recv_timeout(FIRST).ok();
    while let Some(connection) = next {
        let mut after = session.serve(&connection);
        if matches!(after, Ok(After::Lost)) && !session.begun {
            after = Ok(After::Left);
        }
        if !matches!(after, Ok(After::Lost)) {
            // Shows the connected client that the session is over.
            let _ = fs::remove_file(&options.port);
        }
        // It is known to the thread that accepts as well, and does not end by being dropped here;
        // and a thread that holds the port may block in a write to it.
        let _ = connection.shutdown(Shutdown::Both);
        session.port.pause();
        if matches!(after?, After::Left) {
            break;
        }
        // The watchdog ends this if nothing comes any more.
        next = connections.recv().ok();
    }
    Ok(())
}

/// A socket that accepts connections from the moment it has its name: a client waits for the name,
/// and one that came between `bind` and `listen` would be refused.
fn listen(name: &Path) -> io::Result<UnixListener> {
    if name.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    let mut unready = name.as_os_str().to_owned();
    unready.push(".new");
    let listener = UnixListener::bind(&unready)?;
    fs::rename(&unready, name)?;
    Ok(listener)
}

/// Hands on what comes in, and ends what came before: a write to it may hang, and its reader waits
/// in vain.
fn accept(listener: UnixListener) -> io::Result<Receiver<UnixStream>> {
    let (sender, receiver) = channel();
    thread::Builder::new().name("accept".to_owned()).spawn(move || {
        let last: Mutex<Option<UnixStream>> = Mutex::new(None);
        for connection in listener.incoming().flatten() {
            let Ok(copy) = connection.try_clone() else { continue };
            if let Some(before) = last.lock().unwrap_or_else(PoisonError::into_inner).replace(copy)
            {
                let _ = before.shutdown(Shutdown::Both);
            }
            if sender.send(connection).is_err() {
                break;
            }
        }
    })?;
    Ok(receiver)
}

/// What lasts from one connection to the next.
struct Session {
    served: Served,
    port: Arc<Port>,
    /// Frames that have come.
    came: u64,
    /// Whether the controller was ever there.
    begun: bool,
}

impl Session {
    fn serve(&mut self, connection: &UnixStream) -> Result<After, Error> {
        let (mut reader, mut writer) = match (connection.try_clone(), connection.try_clone()) {
            (Ok(reader), Ok(writer)) => {
                (File::from(OwnedFd::from(reader)), File::from(OwnedFd::from(writer)))
            }
            _ => return Ok(After::Lost),
        };
        if frame::write(&mut writer, 0, Kind::Resume, &self.came.to_le_bytes())
            .and_then(|()| writer.flush())
            .is_err()
        {
            return Ok(After::Lost);
        }
        let mut writer = Some(writer);
        loop {
            let frame = match self.served.next(&mut reader) {
                Ok(Some(frame)) => frame,
                Ok(None) | Err(Fault::Read(_)) => return Ok(After::Lost),
                Err(Fault::Content(error)) => return Err(error),
            };
            let number = frame.content.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
            let possible = match (frame.kind, number, writer.take()) {
                (Kind::Resume, Some(count), Some(writer)) => {
                    self.begun = true;
                    self.port.resume(writer, count)
                }
                // Nothing else comes first, and it comes once.
                (Kind::Resume, _, _) | (_, _, Some(_)) => false,
                (Kind::Received, Some(count), None) => self.port.forget(count),
                (Kind::Leave, _, None) => return Ok(After::Left),
                (_, _, None) => {
                    self.carry_out(frame)?;
                    continue;
                }
            };
            if !possible {
                return Err(Error::Frame { kind: frame.kind as u8, length: frame.content.len() });
            }
        }
    }

    fn carry_out(&mut self, frame: Frame) -> Result<(), Error> {
        self.came += 1;
        self.served.carry_out(frame)?;
        if self.came.is_multiple_of(EVERY) {
            self.port.send_once(Kind::Received, self.came);
        }
        Ok(())
    }
}
