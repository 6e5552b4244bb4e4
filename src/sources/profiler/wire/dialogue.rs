//! The dialogue with an agent (docs/protocols/java-profiler.md A): commands in, events and replies
//! out. The agent always speaks first.
//!
//! ```text
//!  Sniffing ─1f 8b─▶ gzip ─┐
//!      └────────────────▶ plain ─▶ before hello ─Hello─▶ established ─CLOSE─▶ ended
//!                                     └── LegacyHello, INIT_STREAM ──▶ ┘
//! ```
//!
//! Each command appends its reply to the output when it is handled, so replies have the order of
//! the commands. The driver sends the output after each `feed`: this is the rule "flush when the
//! input is drained" of A.4, so no agent waits for a reply that is ready.

use std::borrow::Cow;

use bytes::{Buf, BufMut, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};

use super::{
    Command, Event, Hello, NULL, Open, Opened, ProtocolError, Settings, StreamKind, Uuid, Violation,
};
use crate::model::HeapSize;
use crate::read::{Cursor, Order};
use crate::sources::profiler::limits;
use crate::sources::profiler::wire;

/// Memory of an inflater, in bytes: the window of 32 KiB and tables.
const INFLATE: usize = 48 << 10;

/// Encoding of the requests.
#[derive(Debug)]
enum Input {
    Sniffing,
    Plain,
    Gzip(Box<(Inflate, BytesMut)>),
}

#[derive(Debug)]
struct Stream {
    name: Cow<'static, str>,
    handle: Uuid,
    sequence: i32,
}

/// The dialogue of one connection, without I/O.
#[derive(Debug)]
pub struct Dialogue {
    settings: Settings,
    source: Input,
    handler: CommandHandler,
    /// The last turn ended before all input was inflated.
    unfinished: bool,
}

impl HeapSize for Dialogue {
    fn heap_size(&self) -> usize {
        let gzip = match &self.source {
            Input::Gzip(gzip) => INFLATE + gzip.1.heap_size(),
            Input::Sniffing | Input::Plain => 0,
        };
        gzip + self.handler.streams.heap_size()
    }
}

#[derive(Debug)]
struct CommandHandler {
    settings: Settings,
    /// A hello has arrived; the legacy one does not identify the agent.
    greeted: bool,
    /// The agent is identified.
    known: bool,
    /// CLOSE has arrived.
    ended: bool,
    streams: Vec<Stream>,
    /// Number of handles so far.
    handles: u64,
    /// Bytes of the whole commands so far, inflated.
    consumed: u64,
    /// Commands without a payload since the last tick.
    empty: u32,
}

impl Dialogue {
    /// A dialogue that has not begun.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        let handler = CommandHandler {
            settings,
            greeted: false,
            known: false,
            ended: false,
            streams: Vec::new(),
            handles: 0,
            consumed: 0,
            empty: 0,
        };
        Self { settings, source: Input::Sniffing, handler, unfinished: false }
    }

    /// The settings that replies contain.
    #[must_use]
    pub const fn settings(&self) -> Settings {
        self.settings
    }

    /// Whether CLOSE has arrived: no further input is read.
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.handler.ended
    }

    /// The agent is identified.
    #[must_use]
    pub const fn established(&self) -> bool {
        self.handler.known
    }

    /// The requests are gzip.
    #[must_use]
    pub const fn is_gzip(&self) -> bool {
        matches!(self.source, Input::Gzip(_))
    }

    /// Bytes of whole commands so far, inflated.
    #[must_use]
    pub const fn consumed(&self) -> u64 {
        self.handler.consumed
    }

    /// A second has passed.
    pub const fn tick(&mut self) {
        self.handler.empty = 0;
    }

    /// The last [`feed`](Self::feed) stopped after [`limits::TURN`] inflated bytes; the next one
    /// resumes there.
    #[must_use]
    pub const fn unfinished(&self) -> bool {
        self.unfinished
    }

    /// Consumes whole commands from the front of `input`, leaves a partial one, appends the replies
    /// to `out`. Compressed requests are limited to one turn: see [`unfinished`](Self::unfinished).
    ///
    /// # Errors
    /// [`Violation`]: send `out`, whose last byte may be an error ack or a null handle, then close.
    pub fn feed(
        &mut self,
        input: &mut BytesMut,
        out: &mut BytesMut,
        events: &mut impl FnMut(Event<'_>),
    ) -> Result<(), Violation> {
        if matches!(self.source, Input::Sniffing) {
            self.source = match **input {
                [] => return Ok(()),
                [first] if first == MAGIC[0] => return Ok(()),
                [first, second, ..] if [first, second] == MAGIC => {
                    Input::Gzip(Box::new((Inflate::new(), BytesMut::new())))
                }
                _ => Input::Plain,
            };
        }
        match &mut self.source {
            Input::Gzip(gzip) => {
                let (inflate, plain) = &mut **gzip;
                self.unfinished = false;
                for _ in 0..limits::TURN / limits::INFLATED {
                    let at = self.handler.consumed;
                    if !inflate.inflate(input, plain).map_err(|what| Violation { at, what })? {
                        return Ok(());
                    }
                    self.handler.feed(plain, out, events)?;
                    if self.handler.ended {
                        input.clear();
                        return Ok(());
                    }
                }
                self.unfinished = true;
                Ok(())
            }
            _ => self.handler.feed(input, out, events),
        }
    }
}

impl CommandHandler {
    fn feed(
        &mut self,
        input: &mut BytesMut,
        out: &mut BytesMut,
        events: &mut impl FnMut(Event<'_>),
    ) -> Result<(), Violation> {
        let mut at = 0;
        let result = loop {
            let (_, rest) = input.split_at(at);
            if self.ended {
                break Ok(());
            }
            match wire::command(rest) {
                Ok(None) => break Ok(()),
                Ok(Some((command, length))) => {
                    if let Err(what) = self.command(&command, out, events) {
                        break Err(Violation { at: self.consumed, what });
                    }
                    self.consumed += length as u64;
                    at += length;
                }
                Err((what, inside)) => {
                    out.put_u8(wire::ERROR);
                    break Err(Violation { at: self.consumed + inside as u64, what });
                }
            }
        };
        if self.ended {
            input.clear();
        } else {
            input.advance(at);
        }
        result
    }

    fn command(
        &mut self,
        command: &Command<'_>,
        out: &mut BytesMut,
        events: &mut impl FnMut(Event<'_>),
    ) -> Result<(), ProtocolError> {
        if out.len() >= limits::REPLIES {
            return Err(ProtocolError::Replies);
        }
        if matches!(
            command,
            Command::KeepAlive
                | Command::Flush
                | Command::Result { .. }
                | Command::Data { payload: [], .. }
        ) {
            self.empty += 1;
            if self.empty > limits::EMPTY {
                return Err(ProtocolError::Empty);
            }
        }
        match *command {
            Command::Data { handle, payload } => {
                // Each name has one handle, the newest, and most data is in the first streams.
                let Some(stream) = self.streams.iter().position(|s| s.handle == handle) else {
                    out.put_u8(wire::ERROR);
                    return Err(ProtocolError::Handle);
                };
                events(Event::Data { stream, payload });
                out.put_u8(wire::ACK);
            }
            Command::Flush => {
                self.greeted("REQUEST_ACK_FLUSH")?;
                events(Event::Flush);
                out.put_u8(wire::ACK);
            }
            Command::Open(open) => return self.open(&open, out, events),
            Command::Hello { version, pod, service, namespace } => {
                if self.greeted {
                    return Err(ProtocolError::SecondHello);
                }
                self.greeted = true;
                self.introduce(Hello { version: Some(version), namespace, service, pod }, events);
                out.put_u64(self.settings.version);
            }
            Command::LegacyHello => {
                if self.greeted {
                    return Err(ProtocolError::SecondHello);
                }
                self.greeted = true;
                out.put_u64(wire::LEGACY_VERSION);
            }
            Command::LegacyOpen { namespace, service, pod, open } => {
                self.greeted = true;
                if !self.known {
                    self.introduce(Hello { version: None, namespace, service, pod }, events);
                }
                return self.open(&open, out, events);
            }
            Command::Result { id, ok } => {
                self.greeted("REPORT_COMMAND_RESULT")?;
                events(Event::CommandResult { id, ok });
            }
            Command::KeepAlive => self.greeted("KEEP_ALIVE")?,
            Command::Close => {
                self.ended = true;
                events(Event::Close);
            }
        }
        Ok(())
    }

    const fn greeted(&self, command: &'static str) -> Result<(), ProtocolError> {
        if self.greeted { Ok(()) } else { Err(ProtocolError::BeforeHello(command)) }
    }

    fn introduce(&mut self, hello: Hello<'_>, events: &mut impl FnMut(Event<'_>)) {
        self.known = true;
        events(Event::Hello(hello));
    }

    fn open(
        &mut self,
        open: &Open<'_>,
        out: &mut BytesMut,
        events: &mut impl FnMut(Event<'_>),
    ) -> Result<(), ProtocolError> {
        let known = self.streams.iter().position(|s| *s.name == *open.name);
        let refusal = match known {
            _ if !self.known => Some(ProtocolError::BeforeHello("INIT_STREAM_V2")),
            None if self.streams.len() >= limits::STREAMS => Some(ProtocolError::Streams),
            _ => None,
        };
        if let Some(refusal) = refusal {
            // After a null handle agents abandon the connection without closing it, so this side
            // closes (docs/protocols/java-profiler.md A.6).
            out.put_slice(&NULL);
            return Err(refusal);
        }
        self.handles += 1;
        let handle = handle(self.handles);
        let stream = known.unwrap_or(self.streams.len());
        let mut sequence = open.sequence.max(0);
        if let Some(old) = self.streams.get_mut(stream) {
            sequence = sequence.max(old.sequence.saturating_add(1));
            (old.handle, old.sequence) = (handle, sequence);
        } else {
            self.streams.push(Stream { name: StreamKind::keep(open.name), handle, sequence });
        }
        let kind = StreamKind::of(open.name);
        let Settings { rotation_period_ms, rotation_size, .. } = self.settings;
        let (rotation_period_ms, rotation_size) =
            if kind.rotates() { (rotation_period_ms, rotation_size) } else { (0, 0) };
        wire::opened(out, handle, rotation_period_ms, rotation_size, sequence);
        events(Event::Opened(Opened {
            stream,
            name: open.name,
            kind,
            handle,
            requested: open.sequence,
            sequence,
            reset: open.reset,
            again: known.is_some(),
            rotation_period_ms,
            rotation_size,
        }));
        Ok(())
    }
}

/// A handle: unique within one connection, and never null.
const fn handle(number: u64) -> Uuid {
    (0x706d_6461_6170_6d00_u128 << 64 | number as u128).to_be_bytes()
}

/// RFC 1952, 2.3.1: bits of the flag byte.
const HAS_CRC: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// The first two bytes of gzip. No command begins like this.
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Inflates one gzip member piece by piece.
#[derive(Debug)]
pub(crate) struct Inflate {
    header: bool,
    deflate: Decompress,
    /// Bytes behind the end of the deflate data: checksum and length, 8 bytes. They are not
    /// checked, because TCP has checksums.
    trailer: Option<usize>,
    /// The error that `inflate` returns once the caller has all bytes before it.
    error: Option<&'static str>,
}

impl Inflate {
    pub(crate) fn new() -> Self {
        Self { header: true, deflate: Decompress::new(false), trailer: None, error: None }
    }

    /// Inflates from `input` until `plain` has [`limits::INFLATED`] bytes. True if `plain` has
    /// grown.
    pub(crate) fn inflate(
        &mut self,
        input: &mut BytesMut,
        plain: &mut BytesMut,
    ) -> Result<bool, ProtocolError> {
        if let Some(what) = self.error {
            return Err(ProtocolError::Gzip(what));
        }
        if self.header {
            let Some(length) = header(input)? else { return Ok(false) };
            input.advance(length);
            self.header = false;
        }
        let before = plain.len();
        while self.trailer.is_none() && plain.len() < limits::INFLATED {
            let filled = plain.len();
            plain.resize(limits::INFLATED, 0);
            let (_, free) = plain.split_at_mut(filled);
            let (taken, given) = (self.deflate.total_in(), self.deflate.total_out());
            let status = self.deflate.decompress(input, free, FlushDecompress::None);
            let moved = |now: u64, then: u64| usize::try_from(now - then).unwrap_or(0);
            let (taken, given) =
                (moved(self.deflate.total_in(), taken), moved(self.deflate.total_out(), given));
            plain.truncate(filled + given);
            input.advance(taken.min(input.len()));
            match status {
                Ok(Status::StreamEnd) => self.trailer = Some(0),
                // More input is needed.
                Ok(_) if taken == 0 && given == 0 => break,
                Ok(_) => {}
                Err(_) => {
                    self.error = Some("not deflate");
                    break;
                }
            }
        }
        if let Some(trailer) = &mut self.trailer {
            *trailer += input.len();
            input.clear();
            if *trailer > 8 {
                self.error = Some("something behind the end");
            }
        }
        if self.deflate.total_out()
            > limits::RATIO_FROM.max(self.deflate.total_in().saturating_mul(limits::RATIO))
        {
            self.error = Some("inflates to more than 250 times its size");
        }
        match self.error {
            Some(what) if plain.len() == before => Err(ProtocolError::Gzip(what)),
            _ => Ok(plain.len() > before),
        }
    }
}

/// Length of the gzip header in bytes; `None` when bytes are missing.
fn header(bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
    let mut c = Cursor::new(bytes, Order::Little);
    let Some(&[_, _, method, flags, ..]) = c.bytes(10) else { return Ok(None) };
    if method != 8 || flags & RESERVED != 0 {
        return Err(ProtocolError::Gzip("unknown method or flags"));
    }
    let whole = variable(&mut c, flags).is_some();
    if bytes.len().min(if whole { c.position() } else { usize::MAX }) > 10 + limits::GZIP_HEADER {
        return Err(ProtocolError::Gzip("long header"));
    }
    Ok(whole.then_some(c.position()))
}

fn variable(c: &mut Cursor<'_>, flags: u8) -> Option<()> {
    if flags & HAS_EXTRA != 0 {
        let length = c.u16()?;
        c.bytes(length.into())?;
    }
    for text in [HAS_NAME, HAS_COMMENT] {
        while flags & text != 0 && c.u8()? != 0 {}
    }
    if flags & HAS_CRC != 0 {
        c.u16()?;
    }
    Some(())
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/dialogue.rs"]
mod tests;
