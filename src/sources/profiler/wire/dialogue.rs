//! The conversation with an agent (spec A): commands in, events and replies out. The collector
//! never speaks first.
//!
//! ```text
//!  Sniffing ─1f 8b─▶ gzip ─┐
//!      └────────────────▶ plain ─▶ Stranger ─Hello─▶ Known ─CLOSE─▶ Ended
//!                                     └ LegacyHello, INIT_STREAM ─▶ ┘
//! ```
//!
//! Every reply is appended to the output when its command is handled, so they are in the order of
//! the commands; the driver sends the output whenever `feed` has returned. That is the rule "flush
//! when the input is drained" of A.4, and no command that needs its answer at once ever waits.

use bytes::{Buf, BufMut, BytesMut};

use super::command::{
    self as wire, Command, Event, Hello, NULL, Open, Opened, ProtocolError, Settings, StreamKind,
    Uuid, Violation,
};
use super::inflate::{Inflate, MAGIC};
use crate::sources::profiler::limits;

/// Bytes that it takes to inflate: the window of 32 KiB and tables.
const INFLATE: usize = 48 << 10;

/// Where commands come from.
#[derive(Debug)]
enum Input {
    Sniffing,
    Plain,
    Gzip(Box<(Inflate, BytesMut)>),
}

#[derive(Debug)]
struct Stream {
    name: Box<str>,
    handle: Uuid,
    sequence: i32,
}

/// One connection, without I/O.
#[derive(Debug)]
pub struct Dialogue {
    settings: Settings,
    source: Input,
    handler: CommandHandler,
    /// The turn ended before all was done that could be.
    unfinished: bool,
}

#[derive(Debug)]
struct CommandHandler {
    settings: Settings,
    /// Some hello was there; the legacy one does not say who it is.
    greeted: bool,
    known: bool,
    ended: bool,
    streams: Vec<Stream>,
    /// Handles given out.
    handles: u64,
    /// Bytes of the commands so far.
    consumed: u64,
    /// Commands since the last tick that carry nothing.
    empty: u32,
}

impl Dialogue {
    /// For a new connection.
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

    /// How it was told to behave.
    #[must_use]
    pub const fn settings(&self) -> Settings {
        self.settings
    }

    /// The agent has said good-bye: nothing is read any more.
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.handler.ended
    }

    /// The agent has said who it is.
    #[must_use]
    pub const fn established(&self) -> bool {
        self.handler.known
    }

    /// The requests are compressed.
    #[must_use]
    pub const fn is_gzip(&self) -> bool {
        matches!(self.source, Input::Gzip(_))
    }

    /// Bytes allocated.
    #[must_use]
    pub fn memory(&self) -> usize {
        match &self.source {
            Input::Gzip(gzip) => INFLATE + gzip.1.capacity(),
            _ => 0,
        }
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

    /// The last [`feed`](Self::feed) has stopped after [`limits::TURN`] inflated bytes; the next
    /// goes on.
    #[must_use]
    pub const fn unfinished(&self) -> bool {
        self.unfinished
    }

    /// Consumes whole commands from the front of `input`, leaves a partial one, appends the replies
    /// to `out`. Of requests that are compressed, not more than a turn's: see
    /// [`unfinished`](Self::unfinished).
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
                // The last opened are the ones that are open, and most data is in the first.
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

    const fn greeted(&self, what: &'static str) -> Result<(), ProtocolError> {
        if self.greeted { Ok(()) } else { Err(ProtocolError::Stranger(what)) }
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
            _ if !self.known => Some(ProtocolError::Stranger("INIT_STREAM_V2")),
            None if self.streams.len() >= limits::STREAMS => Some(ProtocolError::Streams),
            _ => None,
        };
        if let Some(refusal) = refusal {
            // An agent abandons the connection without closing it, so we do (spec A.6).
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
            self.streams.push(Stream { name: open.name.into(), handle, sequence });
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

/// Handles need only differ from each other on one connection, and from null.
const fn handle(number: u64) -> Uuid {
    (0x706d_6461_6170_6d00_u128 << 64 | number as u128).to_be_bytes()
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
