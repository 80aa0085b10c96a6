//! Sockets that listen, and a thread for everyone who connects.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread::JoinHandle;

use super::socket::{TcpOptions, unusable};
use crate::kernel::Poll;
use crate::talk::{Failure, Stop};

/// Sockets that listen.
#[derive(Debug)]
pub(crate) struct Listeners(Vec<(TcpListener, SocketAddr)>);

/// Those who could not be served.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    pub(crate) connections: u64,
    /// Why, the first time.
    pub(crate) error: Option<String>,
}

impl Listeners {
    /// Listens at addresses; port 0 lets the kernel choose one.
    pub(crate) fn open(addresses: &[SocketAddr], options: &TcpOptions) -> Result<Self, Failure> {
        if addresses.is_empty() {
            return Err(Failure::configuration(
                "listen: there is no address to listen at",
                r#"as in {"listen": ["10.0.0.2:8080"]}"#,
            ));
        }
        let open = |address: &SocketAddr| {
            let listener = options.listen(*address)?;
            let bound = listener
                .local_addr()
                .map_err(|error| unusable("cannot listen at", *address, &error))?;
            Ok((listener, bound))
        };
        Ok(Self(addresses.iter().map(open).collect::<Result<_, Failure>>()?))
    }

    /// Where they listen.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().map(|(_, address)| *address).collect()
    }

    /// Hands everyone who connects to a thread, until the end is asked for; then waits for the threads, which have to end by themselves.
    /// What a thread came to goes to `on_end`. While `most` are being served, others wait in the kernel's queue.
    pub(crate) fn serve<T>(
        self,
        stop: Stop,
        most: usize,
        mut begin: impl FnMut(usize, TcpStream) -> Result<JoinHandle<T>, Failure>,
        mut on_end: impl FnMut(T),
    ) -> Refused {
        let (mut refused, mut number) = (Refused::default(), 0);
        let mut threads: Vec<JoinHandle<T>> = Vec::new();
        while !stop.is_asked() {
            refused.reap(&mut threads, JoinHandle::is_finished, &mut on_end);
            if let Err(error) = self.wait(stop, threads.len() < most) {
                refused.error = Some(error.to_string());
                break;
            }
            for (listener, _) in &self.0 {
                if threads.len() >= most {
                    break;
                }
                match accept(listener).map(|stream| stream.map(|stream| begin(number, stream))) {
                    Ok(None) => {}
                    Ok(Some(Ok(thread))) => {
                        threads.push(thread);
                        number += 1;
                    }
                    // The connection is closed; perhaps there is room for the next one.
                    Ok(Some(Err(failure))) => refused.add(failure.message()),
                    Err(error) => refused.add(&error.to_string()),
                }
            }
        }
        refused.reap(&mut threads, |_| true, &mut on_end);
        refused
    }

    /// Waits until somebody connects, at most so long that threads that have ended are noticed.
    fn wait(&self, stop: Stop, room: bool) -> io::Result<()> {
        const LOOK: trustbed_units::Span = trustbed_units::Span::from_millis(100);
        let listeners = self.0.iter().filter(|_| room).map(|(listener, _)| listener.as_fd());
        let all: Vec<_> = std::iter::once(stop.descriptor()).chain(listeners).collect();
        let look = if room { LOOK } else { trustbed_units::Span::from_millis(2) };
        Poll::new(&all).wait(Some(look)).map(|_| ())
    }
}

/// Whoever waits, in blocking mode; none when nobody does.
fn accept(listener: &TcpListener) -> io::Result<Option<TcpStream>> {
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nonblocking(false)?;
            Ok(Some(stream))
        }
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Refused {
    fn add(&mut self, error: &str) {
        self.connections += 1;
        self.error.get_or_insert_with(|| error.to_owned());
        // Without files or threads to spare, trying again at once would only keep a core busy.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }

    /// Takes what threads came to.
    fn reap<T>(
        &mut self,
        threads: &mut Vec<JoinHandle<T>>,
        which: impl Fn(&JoinHandle<T>) -> bool,
        on_end: &mut impl FnMut(T),
    ) {
        for thread in threads.extract_if(.., |thread| which(thread)) {
            match thread.join() {
                Ok(result) => on_end(result),
                Err(_) => self.add("the thread of a connection broke off: a mistake in the agent"),
            }
        }
    }
}
