//! Drives one session over one byte stream, plain or with TLS: reads, ticks, requests from users, writes.

use std::borrow::Cow;
use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use super::connection_limit::Slot;
use super::finish::finish;
use super::ledger::{Full, Ledger};
use super::tcp::linger;
use super::tls::Wire;
use super::turns::Effort;
use crate::clock::now;
use crate::contract::{Peer, Refusal, Session, SessionError};
use crate::model::Departure;
use crate::store::RequestQueue;

/// Most bytes of one read.
const READ_MAX: usize = 64 << 10;
/// Input of more bytes stays where it is: it is not copied with each read.
const REST_MAX: usize = READ_MAX / 2;
/// Most bytes of one read from a peer that has not identified itself: thousands can come at once,
/// and together they have a small part of the memory.
const READ_PENDING: usize = 4 << 10;
/// A connection is dropped when a write to its peer takes longer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for the peer to take the last bytes and to end its side.
const LINGER: Duration = Duration::from_millis(250);
/// Replies of more bytes are written even while the session has unfinished input.
const REPLIES: usize = 4 << 10;
/// Time between two ticks of a session.
const TICK: Duration = Duration::from_secs(1);
/// Ticks fall on multiples of this, on the monotonic clock.
const PHASE: Duration = Duration::from_millis(125);

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    #[error("{0}")]
    Session(#[from] SessionError),
    #[error("connection: {0}")]
    Io(#[from] std::io::Error),
    #[error("does not take what is sent to it")]
    WriteTimeout,
    #[error("limits.instances is reached")]
    Refused,
    #[error("{0}")]
    Full(#[from] Full),
    #[error("gave way to newer connections: limits.pending is reached")]
    Displaced,
    #[error("closed by the peer")]
    Eof,
    #[error("the PMDA stops")]
    Stop,
}

impl End {
    /// The peer caused the end by a fault.
    const fn is_fault(&self) -> bool {
        match self {
            Self::Session(e) => !matches!(e, SessionError::Closed(_)),
            Self::WriteTimeout | Self::Full(Full::Peer { .. }) => true,
            Self::Io(_)
            | Self::Refused
            | Self::Full(Full::All)
            | Self::Displaced
            | Self::Eof
            | Self::Stop => false,
        }
    }

    /// The end in words for operators. `goodbye`: the protocol has a last message, and a plain end
    /// is one without it.
    fn departure(&self, goodbye: bool) -> Departure {
        match self {
            Self::Session(e) => e.departure(),
            Self::Io(e) => Departure::lost(in_words(e)),
            Self::WriteTimeout => Departure::lost("it does not take what is sent to it"),
            Self::Full(full) => Departure::lost(full.to_string()),
            Self::Eof if goodbye => Departure::lost("closed by the agent without a good-bye"),
            Self::Eof => Departure::regular("closed by the agent"),
            Self::Stop => Departure::regular("the PMDA stopped"),
            Self::Refused | Self::Displaced => Departure::regular(self.to_string()),
        }
    }
}

/// An error of a socket in words.
fn in_words(e: &std::io::Error) -> Cow<'static, str> {
    match e.kind() {
        ErrorKind::ConnectionReset => "connection reset".into(),
        ErrorKind::BrokenPipe => "the agent reads no more".into(),
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            "its host does not answer".into()
        }
        _ => format!("connection: {e}").into(),
    }
}

/// Drives one session over one byte stream.
pub(super) struct Driver<'a, W> {
    pub(super) stream: W,
    pub(super) session: Box<dyn Session>,
    pub(super) peer: Peer,
    pub(super) queue: Arc<RequestQueue>,
    pub(super) requests: Arc<Notify>,
    pub(super) slot: Slot<'a>,
    pub(super) ledger: Ledger,
    pub(super) stop: CancellationToken,
}

impl<W: Wire> Driver<'_, W> {
    /// Runs until one side ends the connection. Returns the line to log as a warning, if any.
    pub(super) async fn run(mut self: Box<Self>, address: &str) -> Option<String> {
        let mut out = BytesMut::new();
        let end = match self.talk(&mut out).await {
            Err(end) => end,
            Ok(never) => match never {},
        };
        let at = now();
        self.peer.set_now(at);
        self.session.close(at, &mut out, &mut self.peer);
        let last = !matches!(end, End::Eof | End::Io(_) | End::WriteTimeout) && !out.is_empty();
        if last {
            // The last bytes are not worth a longer wait.
            let _ = timeout(Duration::from_millis(100), send(&mut self.stream, &out)).await;
        }
        // Without a reset, even if a kill of the process would have been one.
        linger(self.stream.tcp(), None);
        let name = self.peer.name();
        self.peer.finish(end.is_fault(), end.departure(self.session.says_goodbye()));
        let line = match (name, end.is_fault() || matches!(end, End::Full(_))) {
            (Some(name), true) => Some(format!("{name} from {address} dropped: {end}")),
            (Some(name), false) => {
                log::info!("{name} from {address} disconnected: {end}");
                None
            }
            (None, true) => Some(format!("connection from {address} dropped: {end}")),
            (None, false) => {
                log::debug!("connection from {address} ended before it said what it is: {end}");
                None
            }
        };
        let Self { stream, session, slot, ledger, .. } = *self;
        drop((session, ledger, out));
        if last {
            finish(stream, LINGER).await;
        }
        drop(slot);
        line
    }

    async fn talk(&mut self, out: &mut BytesMut) -> Result<std::convert::Infallible, End> {
        let mut input = BytesMut::new();
        // All connections tick at the same phases, so that a worker wakes once for many of them.
        let phase = now().monotonic.as_millis() % PHASE.as_millis();
        let first =
            PHASE.saturating_sub(Duration::from_millis(u64::try_from(phase).unwrap_or_default()));
        let mut ticks = interval_at(Instant::now() + first, TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut pending = true;
        let mut effort = Effort::default();
        loop {
            let go_on = self.session.unfinished();
            let most = if pending { READ_PENDING } else { READ_MAX };
            let fed = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err(End::Stop),
                () = self.slot.displaced.cancelled(), if pending => return Err(End::Displaced),
                () = self.requests.notified() => {
                    let at = now();
                    self.peer.set_now(at);
                    for request in self.queue.take() {
                        self.session.control(at, &request, out, &mut self.peer)?;
                    }
                    false
                }
                _ = ticks.tick() => {
                    effort.tick();
                    let at = now();
                    self.peer.set_now(at);
                    self.session.tick(at, out, &mut self.peer)?;
                    false
                }
                () = yield_now(), if go_on => true,
                read = read(&mut self.stream, &mut input, most), if !go_on => {
                    let n = read?;
                    self.peer.count_io(n, 0);
                    if n == 0 {
                        return Err(End::Eof);
                    }
                    true
                }
            };
            if fed {
                let turn = self.slot.turns().take(&effort).await;
                let at = now();
                self.peer.set_now(at);
                let result = self.session.feed(at, &mut input, out, &mut self.peer);
                self.peer.flush();
                effort.add(now().monotonic.saturating_sub(at.monotonic));
                drop(turn);
                result?;
                if !self.session.unfinished() {
                    release(&mut input);
                }
            } else {
                self.peer.flush();
            }
            match self.peer.refusal() {
                Some(Refusal::Instances) => return Err(End::Refused),
                Some(Refusal::Memory) => return Err(End::Full(Full::All)),
                None => {}
            }
            // Before the charge: what it has now is that of a peer.
            if pending && self.session.established() {
                self.slot.established();
                pending = false;
            }
            self.ledger.settle(
                pending,
                W::BUFFERS + input.capacity() + out.capacity(),
                self.session.held(),
                &self.peer,
            )?;
            if out.len() > if self.session.unfinished() { REPLIES } else { 0 } {
                timeout(WRITE_TIMEOUT, send(&mut self.stream, out))
                    .await
                    .map_err(|_| End::WriteTimeout)??;
                self.peer.count_io(0, out.len());
                *out = BytesMut::new();
            }
        }
    }
}

thread_local! {
    /// The buffer for reads of a worker thread. Most connections are idle most of the time and would only keep
    /// a buffer of their own: what a read brings is decoded at once, and a rest is short.
    static SPARE: Cell<BytesMut> = Cell::default();
}

/// Writes all, also what TLS has kept back.
async fn send(stream: &mut impl Wire, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

/// Reads at most `most` bytes behind `input`. While it waits, the connection has no more than
/// `input`.
async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    input: &mut BytesMut,
    most: usize,
) -> io::Result<usize> {
    poll_fn(|cx| {
        let large = input.len() > REST_MAX;
        let mut buffer = if large { std::mem::take(input) } else { SPARE.take() };
        buffer.reserve(READ_MAX);
        if !large {
            buffer.extend_from_slice(input);
        }
        let polled = pin!(stream.read_buf(&mut (&mut buffer).limit(most))).poll(cx);
        match polled {
            Poll::Ready(Ok(1..)) => *input = buffer,
            _ if large => *input = buffer,
            _ => give_back(buffer),
        }
        polled
    })
    .await
}

/// Takes the buffer from a connection whose input is decoded as far as possible.
fn release(input: &mut BytesMut) {
    if input.len() <= REST_MAX {
        let rest = BytesMut::from(&**input);
        give_back(std::mem::replace(input, rest));
    }
}

fn give_back(mut buffer: BytesMut) {
    buffer.clear();
    // Now it has the room in front of the decoded bytes again, unless it has enough without.
    buffer.reserve(READ_MAX);
    if buffer.capacity() <= 2 * READ_MAX {
        SPARE.set(buffer);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;
    use crate::catalogue::test_kit::{self, TOY};
    use crate::contract::Control;
    use crate::model::Now;
    use crate::net::connection_limit::ConnectionLimit;
    use crate::store::{Limits, Store};

    /// How the session of a connection behaves.
    enum Behaviour {
        /// Ends with its first input, and writes a byte.
        Brief,
        /// Sends back what it reads, in threes of bytes.
        Echo,
        /// Sends back what it reads, when it has so many bytes.
        Whole(usize),
    }

    impl Session for Behaviour {
        fn feed(
            &mut self,
            _: Now,
            input: &mut BytesMut,
            out: &mut BytesMut,
            _: &mut Peer,
        ) -> Result<(), SessionError> {
            match self {
                Self::Brief => Err(SessionError::Closed("enough")),
                Self::Echo => {
                    out.extend_from_slice(&input.split_to(input.len() / 3 * 3));
                    Ok(())
                }
                Self::Whole(length) => {
                    if input.len() >= *length {
                        out.extend_from_slice(&input.split());
                    }
                    Ok(())
                }
            }
        }

        fn tick(&mut self, _: Now, _: &mut BytesMut, _: &mut Peer) -> Result<(), SessionError> {
            Ok(())
        }

        fn control(
            &mut self,
            _: Now,
            _: &Control,
            _: &mut BytesMut,
            _: &mut Peer,
        ) -> Result<(), SessionError> {
            Ok(())
        }

        fn close(&mut self, _: Now, out: &mut BytesMut, _: &mut Peer) {
            out.extend_from_slice(b"!");
        }

        fn established(&self) -> bool {
            true
        }
    }

    /// Runs a connection of a client until it ends. Returns what the client got.
    async fn converse<F>(session: Behaviour, client: F) -> Vec<u8>
    where
        F: FnOnce(TcpStream) -> std::io::Result<Vec<u8>> + Send + 'static,
    {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("bound");
        let client = std::thread::spawn(move || client(TcpStream::connect(address)?));
        let (stream, from) = listener.accept().await.expect("a client");
        let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
        let limit = ConnectionLimit::new(1, 1, 1);
        let queue = Arc::new(RequestQueue::new(|| ()));
        let driver = Box::new(Driver {
            stream,
            session: Box::new(session),
            peer: store.peer_of(TOY, &queue),
            queue,
            requests: Arc::default(),
            slot: limit.enter(1, from.ip(), &store.stats).expect("free"),
            ledger: Ledger::new(&store.memory),
            stop: CancellationToken::new(),
        });
        assert_eq!(driver.run("client").await, None);
        client.join().expect("no panic").expect("no reset")
    }

    #[tokio::test]
    async fn the_last_byte_arrives_before_unread_input() {
        let got = converse(Behaviour::Brief, |mut stream| {
            stream.write_all(&vec![0; 1 << 20])?;
            let mut got = Vec::new();
            stream.read_to_end(&mut got).map(|_| got)
        });
        assert_eq!(got.await, b"!");
    }

    #[tokio::test]
    async fn reads_of_all_sizes_lose_no_byte() {
        let sizes = [3, 1, 2, 30, 31, 2, 5001, 3, 60_000, 1, 200_000, 2];
        let sent = move || (0..=250_u8).cycle().take(3 * sizes.iter().sum::<usize>());
        let got = converse(Behaviour::Echo, move |mut stream| {
            let bytes: Vec<u8> = sent().collect();
            let mut got = vec![0; bytes.len()];
            let (mut written, mut read) = (0, 0);
            for size in sizes.repeat(3) {
                stream.write_all(&bytes[written..written + size])?;
                written += size;
                let whole = written / 3 * 3;
                stream.read_exact(&mut got[read..whole])?;
                read = whole;
            }
            Ok(got)
        });
        assert!(got.await.into_iter().eq(sent()));
    }

    #[tokio::test]
    async fn long_input_stays_until_it_is_whole() {
        const LENGTH: usize = 300_000;
        let got = converse(Behaviour::Whole(LENGTH), |mut stream| {
            let bytes: Vec<u8> = (0..=250_u8).cycle().take(LENGTH).collect();
            for piece in bytes.chunks(70_001) {
                stream.write_all(piece)?;
                std::thread::sleep(Duration::from_millis(5));
            }
            let mut got = vec![0; LENGTH];
            stream.read_exact(&mut got)?;
            Ok(got)
        });
        assert!(got.await.into_iter().eq((0..=250_u8).cycle().take(LENGTH)));
    }
}
