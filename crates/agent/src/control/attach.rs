//! Connects the standard streams to the socket of a control listener (`listener.rs`), in both
//! directions. It does not interpret the bytes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use super::Error;
use super::port::Options;

/// Exit code when there is no session.
const NO_SESSION: u8 = 3;
/// Exit code when the session continues without this process.
const LOST: u8 = 5;
const PIECE: usize = 64 << 10;

/// Moves bytes in both directions until the session or the controller closes its end.
pub(super) fn run(options: &Options) -> Result<ExitCode, Error> {
    let failed = |source| Error::Port { path: options.port.clone(), source };
    let Ok(socket) = connect(&options.port) else {
        // Where standard error is closed, the exit code remains.
        let _ = writeln!(
            io::stderr().lock(),
            "error: the session has ended, {}",
            options.port.display()
        );
        return Ok(ExitCode::from(NO_SESSION));
    };
    let (mut input, mut output) = streams().map_err(failed)?;
    let mut there = File::from(OwnedFd::from(socket.try_clone().map_err(failed)?));
    let mut back = File::from(OwnedFd::from(socket.try_clone().map_err(failed)?));
    let inwards = thread::Builder::new().spawn(move || {
        pass(&mut input, &mut there);
        // The session closes its end for that.
        let _ = socket.shutdown(Shutdown::Write);
    });
    inwards.map_err(failed)?;
    pass(&mut back, &mut output);
    // A session that has ended takes its socket with it.
    Ok(if Path::new(&options.port).exists() { ExitCode::from(LOST) } else { ExitCode::SUCCESS })
}

/// A socket's name is limited to 107 bytes, its directory's path is not: connects from there.
fn connect(path: &Path) -> io::Result<UnixStream> {
    match (path.parent().filter(|directory| !directory.as_os_str().is_empty()), path.file_name()) {
        (Some(directory), Some(name)) => {
            let before = std::env::current_dir()?;
            std::env::set_current_dir(directory)?;
            let socket = UnixStream::connect(name);
            std::env::set_current_dir(before)?;
            socket
        }
        _ => UnixStream::connect(path),
    }
}

fn streams() -> io::Result<(File, File)> {
    Ok((
        io::stdin().as_fd().try_clone_to_owned()?.into(),
        io::stdout().as_fd().try_clone_to_owned()?.into(),
    ))
}

fn pass(from: &mut File, to: &mut File) {
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return,
            Ok(length) if to.write_all(&piece[..length]).is_ok() => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return,
        }
    }
}
