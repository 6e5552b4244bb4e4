//! The destination of messages: a connection to an inspector, or a file.
//!
//! A message is one write. A message that cannot be written whole within [`SEND_LIMIT`] ends the
//! link, so that no reader ever gets half a message followed by another
//! (docs/protocols/mono-counters.md section 7).

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use crate::os::descriptor::Descriptor;
use crate::os::stop::Stop;
use crate::os::sys::{self, Ready};

/// Limit for an inspector to read a message, and for a connection attempt.
pub(crate) const SEND_LIMIT: Duration = Duration::from_secs(2);

/// An open link.
#[derive(Debug)]
pub(crate) enum Link {
    /// An inspector, which may send requests.
    Tcp(Descriptor<TcpStream>),
    /// A file, samples only.
    File(Descriptor<File>),
}

impl Link {
    /// Connects to the first address of `host` that answers. Names are resolved here, which can
    /// take long and cannot be interrupted.
    pub(crate) fn connect(host: &str, port: u16, stop: &Stop) -> io::Result<Self> {
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in stop.while_resolving(|| (host, port).to_socket_addrs())? {
            // The program may have ended while the name was resolved.
            if stop.deadline().is_some() {
                return Err(ErrorKind::Interrupted.into());
            }
            match connect_one(address, stop) {
                Ok(socket) => {
                    let number = socket.get()?.as_raw_fd();
                    sys::close_in_child(Some((number, socket.identity())));
                    return Ok(Self::Tcp(socket));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Truncates or creates the file (docs/protocols/mono-counters.md section 2, file mode:
    /// truncate and append, 0644).
    pub(crate) fn create(path: &str) -> io::Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o644)
            // Non-blocking matters only for a FIFO without a reader: an error instead of a wait.
            .custom_flags(libc::O_APPEND | libc::O_NONBLOCK)
            .open(path)?;
        Descriptor::new(file).map(Self::File)
    }

    /// The descriptor on which requests arrive.
    pub(crate) fn requests(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Tcp(socket) => socket.to_wait_for(),
            Self::File(_) => None,
        }
    }

    /// Writes one whole message; after an error the link must be dropped. Waits for the reader at
    /// most `limit`, and at most until the deadline of a stop.
    pub(crate) fn send(&self, message: &[u8], limit: Duration, stop: &Stop) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => send(socket, message, limit, stop),
            Self::File(file) => {
                let mut file: &File = file.get()?;
                match file.write(message)? {
                    whole if whole == message.len() => Ok(()),
                    _ => Err(io::Error::new(ErrorKind::WriteZero, "no room for a message")),
                }
            }
        }
    }

    /// Reads the bytes that have arrived, without waiting. Returns their number, 0 at the end of
    /// the stream.
    pub(crate) fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => {
                let mut socket: &TcpStream = socket.get()?;
                socket.read(into)
            }
            Self::File(_) => Err(ErrorKind::WouldBlock.into()),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let Self::Tcp(socket) = self else {
            return;
        };
        sys::close_in_child(None);
        let Ok(mut socket) = socket.get() else {
            return;
        };
        let _ = socket.shutdown(Shutdown::Write);
        // Unread requests would turn the close into a reset, which can drop the last messages
        // before the reader gets them.
        let mut unread = [0; 1024];
        for _ in 0..64 {
            if !matches!(socket.read(&mut unread), Ok(1..)) {
                break;
            }
        }
    }
}

fn connect_one(address: SocketAddr, stop: &Stop) -> io::Result<Descriptor<TcpStream>> {
    let connecting = Descriptor::new(sys::connect(address)?)?;
    let deadline = Instant::now() + SEND_LIMIT;
    let connected = || connecting.to_wait_for().map(|fd| (fd, Ready::Write));
    while !stop.wait(connected(), left(deadline)?)? {
        if stop.deadline().is_some() {
            return Err(ErrorKind::Interrupted.into());
        }
    }
    let socket: &TcpStream = connecting.get()?;
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    // Loopback connects a socket to itself if its own port is the one it connects to.
    if socket.local_addr()? == socket.peer_addr()? {
        return Err(ErrorKind::ConnectionRefused.into());
    }
    socket.set_nodelay(true)?;
    Ok(connecting)
}

fn send(
    socket: &Descriptor<TcpStream>,
    message: &[u8],
    limit: Duration,
    stop: &Stop,
) -> io::Result<()> {
    let limit = Instant::now() + limit;
    let mut rest = message;
    loop {
        match sys::send(socket.get()?.as_fd(), rest) {
            Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if rest.is_empty() {
            return Ok(());
        }
        let writable = socket.to_wait_for().map(|fd| (fd, Ready::Write));
        match stop.deadline() {
            None => stop.wait(writable, left(limit)?)?,
            // The wake-up has happened: from here on only the reader and the clock count.
            Some(deadline) => sys::poll([writable], left(deadline.min(limit))?)? == [true],
        };
    }
}

/// Time until `deadline`; an error when there is none left.
fn left(deadline: Instant) -> io::Result<Duration> {
    deadline
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
        .ok_or_else(|| io::Error::new(ErrorKind::TimedOut, "the other side did not answer in time"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn connected() -> (Link, TcpStream, Stop) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stop = Stop::new().unwrap();
        let port = listener.local_addr().unwrap().port();
        let link = Link::connect("127.0.0.1", port, &stop).unwrap();
        (link, listener.accept().unwrap().0, stop)
    }

    #[test]
    fn what_is_sent_arrives_also_with_requests_left_unread() {
        let (link, mut peer, stop) = connected();
        peer.write_all(b"unread").unwrap();
        link.send(b"last words", SEND_LIMIT, &stop).unwrap();
        drop(link);
        let mut got = Vec::new();
        peer.read_to_end(&mut got).unwrap();
        assert_eq!(got, b"last words");
    }

    #[test]
    fn a_reader_who_does_not_read_costs_the_limit_and_no_more() {
        let (link, _peer, stop) = connected();
        let limit = Duration::from_millis(50);
        let message = vec![0; 1 << 20];
        let begin = Instant::now();
        let error = loop {
            if let Err(error) = link.send(&message, limit, &stop) {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(begin.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn a_stop_shortens_the_wait_for_the_reader() {
        let (link, _peer, stop) = connected();
        stop.request(Duration::from_millis(50));
        let message = vec![0; 1 << 26];
        let begin = Instant::now();
        let error = link.send(&message, Duration::from_secs(60), &stop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(begin.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn nobody_there_is_an_error_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let stop = Stop::new().unwrap();
        let error = Link::connect("127.0.0.1", port, &stop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }

    #[test]
    fn a_file_is_emptied_first_and_appended_to() {
        let path = std::env::temp_dir().join(format!("apm-link-{}.bin", std::process::id()));
        std::fs::write(&path, "old and long").unwrap();
        let stop = Stop::new().unwrap();
        let link = Link::create(path.to_str().unwrap()).unwrap();
        link.send(b"one", SEND_LIMIT, &stop).unwrap();
        link.send(b"two", SEND_LIMIT, &stop).unwrap();
        assert!(link.requests().is_none());
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
        std::fs::remove_file(&path).unwrap();
        assert!(Link::create("/nonexistent/directory/file").is_err());
    }
}
