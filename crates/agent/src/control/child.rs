//! A command on this host: its standard streams, each with a thread of its own, and its end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::{Winsize, tcsetwinsize};
use serde::Deserialize;

use super::Error;
use super::frame::Kind;
use super::kernel;
use super::port::Port;
use super::window::Window;

/// What is read at once; small enough that others get on between.
const PIECE: usize = 16 << 10;

/// What is to be run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// The command and its arguments.
    words: Vec<String>,
    /// What it has around it besides what we have.
    environment: BTreeMap<String, String>,
    /// Where it begins.
    directory: Option<String>,
    /// It gets a terminal of this size instead of pipes.
    terminal: Option<Size>,
}

/// Of a terminal, in characters.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Size {
    pub(crate) rows: u16,
    pub(crate) columns: u16,
}

impl Order {
    /// What the content of a frame orders.
    pub(crate) fn read(content: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(content).map_err(|source| Error::Content { kind: "open", source })
    }
}

impl Size {
    const fn of_window(self) -> Winsize {
        Winsize { ws_row: self.rows, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 }
    }
}

/// A command that was started.
#[derive(Debug)]
pub(super) struct Running {
    group: Pid,
    ended: Arc<AtomicBool>,
    input: Option<Sender<Vec<u8>>>,
    output: Arc<Window>,
    errors: Arc<Window>,
    terminal: Option<OwnedFd>,
}

/// The three ends of its streams that are ours.
#[derive(Debug)]
struct Streams {
    input: Option<File>,
    output: Option<File>,
    errors: Option<File>,
    terminal: Option<OwnedFd>,
}

impl Running {
    /// Starts a command, whose frames are those of a channel. It belongs to the calling thread,
    /// which must live on.
    pub(super) fn start(order: &Order, channel_number: u32, port: &Arc<Port>) -> io::Result<Self> {
        let (mut child, streams) = spawn(order)?;
        let group = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::InvalidData)?;
        port.send(channel_number, Kind::Started, &child.id().to_le_bytes());
        let (sender, receiver) = channel();
        let (output, errors) = (Arc::new(Window::new()), Arc::new(Window::new()));
        if let Some(input) = streams.input {
            let port = Arc::clone(port);
            thread::Builder::new().spawn(move || feed(&port, channel_number, input, &receiver))?;
        }
        for (stream, window, kind, end) in [
            (streams.output, &output, Kind::Output, Kind::OutputEnd),
            (streams.errors, &errors, Kind::Errors, Kind::ErrorsEnd),
        ] {
            let (port, window) = (Arc::clone(port), Arc::clone(window));
            thread::Builder::new().spawn(move || {
                if let Some(stream) = stream {
                    listen(&port, channel_number, stream, kind, &window);
                }
                port.send(channel_number, end, &[]);
            })?;
        }
        let ended = Arc::new(AtomicBool::new(false));
        let (port, over) = (Arc::clone(port), Arc::clone(&ended));
        thread::Builder::new().spawn(move || {
            let code = code_of(&mut child);
            over.store(true, Ordering::Release);
            port.send(channel_number, Kind::Ended, &code.to_le_bytes());
        })?;
        Ok(Self { group, ended, input: Some(sender), output, errors, terminal: streams.terminal })
    }

    /// More for it to read.
    pub(super) fn feed(&self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            // A command that has ended reads nothing.
            let _ = input.send(bytes);
        }
    }

    /// There is no more to read.
    pub(super) fn end_input(&mut self) {
        self.input = None;
    }

    /// The window of one of the streams that it writes: 1 or 2.
    pub(super) fn window(&self, stream: u8) -> Option<&Window> {
        match stream {
            1 => Some(&self.output),
            2 => Some(&self.errors),
            _ => None,
        }
    }

    /// A signal for the command and those in its group.
    pub(super) fn signal(&self, number: u8) {
        if let (Some(signal), false) =
            (Signal::from_named_raw(i32::from(number)), self.ended.load(Ordering::Acquire))
        {
            // It may be ending this very moment.
            let _ = kill_process_group(self.group, signal);
        }
    }

    /// Its terminal has another size.
    pub(super) fn resize(&self, size: Size) {
        if let Some(terminal) = &self.terminal {
            // A terminal without programs keeps its size.
            let _ = tcsetwinsize(terminal, size.of_window());
        }
    }
}

fn spawn(order: &Order) -> io::Result<(Child, Streams)> {
    let (name, arguments) = order.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(name);
    command.args(arguments).envs(&order.environment);
    if let Some(directory) = &order.directory {
        command.current_dir(directory);
    }
    if let Some(size) = order.terminal {
        return spawn_on_terminal(command, size);
    }
    let mut child = command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let streams = Streams {
        input: child.stdin.take().map(|stream| File::from(OwnedFd::from(stream))),
        output: child.stdout.take().map(|stream| File::from(OwnedFd::from(stream))),
        errors: child.stderr.take().map(|stream| File::from(OwnedFd::from(stream))),
        terminal: None,
    };
    Ok((child, streams))
}

fn spawn_on_terminal(mut command: Command, size: Size) -> io::Result<(Child, Streams)> {
    let (ours, its) = kernel::open_terminal()?;
    tcsetwinsize(&ours, size.of_window())?;
    command.stdin(its.try_clone()?).stdout(its.try_clone()?).stderr(its);
    kernel::begin_session_on_terminal(&mut command);
    let child = command.spawn()?;
    // The command holds the other end: ours must be the last one here, or the terminal would never
    // hang up.
    drop(command);
    let streams = Streams {
        input: Some(File::from(ours.try_clone()?)),
        output: Some(File::from(ours.try_clone()?)),
        errors: None,
        terminal: Some(ours),
    };
    Ok((child, streams))
}

/// Gives the command what it reads. Room is given back even when it does not read any more.
fn feed(port: &Port, channel_number: u32, mut input: File, pieces: &Receiver<Vec<u8>>) {
    let mut reads = true;
    while let Ok(piece) = pieces.recv() {
        reads = reads && input.write_all(&piece).is_ok();
        let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
        let mut content = vec![0];
        content.extend(length.to_le_bytes());
        port.send(channel_number, Kind::Room, &content);
    }
}

/// Forwards its output, until it closes the stream or the controller shuts it.
fn listen(port: &Port, channel_number: u32, mut stream: File, kind: Kind, window: &Window) {
    let mut piece = vec![0; PIECE];
    while let Some(room) = window.wait(PIECE) {
        match stream.read(&mut piece[..room]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A terminal whose last program has ended returns EIO.
            Ok(0) | Err(_) => break,
            Ok(length) => {
                if !window.spend(length) {
                    break;
                }
                port.send(channel_number, kind, &piece[..length]);
            }
        }
    }
}

/// As a shell reports it.
fn code_of(child: &mut Child) -> i32 {
    match child.wait() {
        Ok(status) => {
            status.code().or_else(|| status.signal().map(|number| 128 + number)).unwrap_or(125)
        }
        // The first process of a machine takes children that are not its own; ours it does not.
        Err(_) => 125,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(words: &[&str]) -> Order {
        let environment = BTreeMap::from([
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("GREETING".to_owned(), "hello".to_owned()),
        ]);
        Order {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            environment,
            directory: None,
            terminal: None,
        }
    }

    #[test]
    fn a_command_has_the_environment_of_this_host_and_what_is_given() {
        let (mut child, streams) =
            spawn(&order(&["sh", "-c", "echo $GREETING $PATH $CARGO_PKG_NAME"])).unwrap();
        let mut output = String::new();
        streams.output.unwrap().read_to_string(&mut output).unwrap();
        assert_eq!(
            output,
            format!("hello /usr/bin:/bin {}\n", std::env::var("CARGO_PKG_NAME").unwrap())
        );
        assert_eq!(code_of(&mut child), 0);
    }

    #[test]
    fn codes_are_those_of_a_shell() {
        let (mut child, _) = spawn(&order(&["sh", "-c", "exit 7"])).unwrap();
        assert_eq!(code_of(&mut child), 7);
        let (mut child, _) = spawn(&order(&["sh", "-c", "kill -9 $$"])).unwrap();
        assert_eq!(code_of(&mut child), 137);
    }

    #[test]
    fn a_missing_command_is_an_error() {
        assert_eq!(
            spawn(&order(&["/no/such/program"])).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert_eq!(spawn(&order(&[])).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_command_with_a_terminal_has_one() {
        let mut wanted = order(&["sh", "-c", "test -t 0 && test -t 2 && stty size"]);
        wanted.terminal = Some(Size { rows: 33, columns: 77 });
        let (mut child, streams) = spawn(&wanted).unwrap();
        let mut output = Vec::new();
        // It hangs up by an error.
        let _ = streams.output.unwrap().read_to_end(&mut output);
        assert_eq!(String::from_utf8_lossy(&output), "33 77\r\n");
        assert_eq!(code_of(&mut child), 0);
    }
}
