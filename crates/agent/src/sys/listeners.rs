//! Listening sockets, and a thread for each connection.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;

use super::socket::{TcpOptions, unusable};
use crate::session::workers::Worker;
use crate::session::{Failure, Stop};
use crate::sys::kernel::{Event, Poll};

/// Sockets that listen.
#[derive(Debug)]
pub(crate) struct Listeners(Vec<(TcpListener, SocketAddr)>);

/// Connections that could not be served.
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

    /// Hands every connection to a worker until stop is requested; then waits for the workers,
    /// which end by themselves. `begin` spawns a worker that signals the event it is given; results
    /// go to `on_end`. While `most` connections are served, others wait in the kernel's queue.
    pub(crate) fn serve<T>(
        self,
        stop: Stop,
        most: usize,
        mut begin: impl FnMut(usize, TcpStream, Arc<Event>) -> Result<Worker<T>, Failure>,
        mut on_end: impl FnMut(T),
    ) -> Refused {
        let (mut refused, mut number) = (Refused::default(), 0);
        let ended = match Event::new() {
            Ok(event) => Arc::new(event),
            Err(error) => return Refused { error: Some(error.to_string()), ..refused },
        };
        let mut threads: Vec<Worker<T>> = Vec::new();
        while !stop.is_requested() {
            ended.clear();
            refused.reap(&mut threads, Worker::is_finished, &mut on_end);
            if let Err(error) = self.wait(stop, &ended, threads.len() < most) {
                refused.error = Some(error.to_string());
                break;
            }
            for (listener, _) in &self.0 {
                if threads.len() >= most {
                    break;
                }
                let begin = |stream| begin(number, stream, Arc::clone(&ended));
                match accept(listener).map(|stream| stream.map(begin)) {
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

    /// Waits until stop is requested, a worker ends or, where there is room, a client connects.
    fn wait(&self, stop: Stop, ended: &Event, room: bool) -> io::Result<()> {
        let listeners = self.0.iter().filter(|_| room).map(|(listener, _)| listener.as_fd());
        let all: Vec<_> =
            [stop.descriptor(), ended.descriptor()].into_iter().chain(listeners).collect();
        Poll::new(&all).wait(None).map(|_| ())
    }
}

/// The next connection, in blocking mode; none when none waits.
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

    /// Joins workers and passes their results on.
    fn reap<T>(
        &mut self,
        threads: &mut Vec<Worker<T>>,
        which: impl Fn(&Worker<T>) -> bool,
        on_end: &mut impl FnMut(T),
    ) {
        for thread in threads.extract_if(.., |thread| which(thread)) {
            match thread.join() {
                Ok(result) => on_end(result),
                Err(_) => self.add("the thread of a connection panicked: a bug in the agent"),
            }
        }
    }
}
