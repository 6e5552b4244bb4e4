//! From bytes to buffers (docs/protocols/mono-mlpd.md 1, 2).

use bytes::{Buf, BytesMut};

use super::bytes::Cursor;
use super::decode::{self, Addresses};
use super::error::{MlpdError, Stop};
use super::event::{Buffer, Visitor};
use super::header::{Header, MAGIC};
use super::list::List;
use crate::read;
use crate::sources::mono::limits;

/// The first bytes of a buffer.
pub(super) const BUFFER: [u8; 4] = *b"\x01LPM";
/// Bytes of a buffer's header.
pub(super) const HEAD: usize = 48;
/// Incomplete items up to this size are tried at each piece of input; longer ones when their bytes
/// have doubled, so that the sum of all trials stays proportional to the bytes.
const PATIENCE: usize = 4 << 10;

/// An incremental decoder of one stream.
#[derive(Debug, Default)]
pub struct Decoder {
    next: Next,
    header: Option<Header>,
    failed: Option<MlpdError>,
    /// Bytes consumed.
    offset: u64,
    /// Whole events, items not counted.
    events: u64,
    /// Bases of the open buffer.
    buffer: Buffer,
    /// Bytes of the open buffer that are not decoded.
    left: usize,
    /// Time of the last event of the open buffer.
    time: u64,
    method: u64,
    /// The items that are due.
    list: Option<List>,
    /// Bytes of input below which the next item is not tried.
    wait: usize,
    addresses: Addresses,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Header,
    Buffer,
    Events,
    /// What is left of a bad buffer.
    Skip,
}

impl Decoder {
    /// A decoder at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes and consumes all whole items of `input`. What it leaves is the start of an item.
    ///
    /// # Errors
    /// Bytes that are no such stream, or over a limit. What came before them has been handed over;
    /// the error stays.
    pub fn feed(&mut self, input: &mut BytesMut, v: &mut impl Visitor) -> Result<(), MlpdError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut done = 0;
        let result = loop {
            let rest = input.get(done..).unwrap_or_default();
            match self.step(rest, v) {
                Ok(Some(bytes)) => {
                    done += bytes;
                    self.offset += bytes as u64;
                }
                Ok(None) => break Ok(()),
                Err(error) => {
                    self.failed = Some(error);
                    break Err(error);
                }
            }
        };
        input.advance(done);
        result
    }

    /// The header, once it came.
    #[must_use]
    pub const fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Events so far; long ones count when they begin.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Bytes consumed so far.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// True between two buffers, where a stream may end. One that ends elsewhere was cut.
    #[must_use]
    pub fn between_buffers(&self) -> bool {
        self.next == Next::Buffer
    }

    /// `bytes` are one buffer of this stream of which each event can be decoded.
    pub(super) fn is_whole(&self, bytes: &[u8]) -> bool {
        struct Nothing(bool);
        impl Visitor for Nothing {
            fn event(&mut self, _time: u64, _event: super::Event<'_>) {}
            fn bad(&mut self, _reason: super::BadBuffer, _lost: u64) {
                self.0 = true;
            }
        }
        let (mut bad, mut input) = (Nothing(false), BytesMut::from(bytes));
        let mut trial = Self { next: Next::Buffer, header: self.header.clone(), ..Self::default() };
        let done = trial.feed(&mut input, &mut bad);
        done.is_ok() && !bad.0 && input.is_empty() && trial.between_buffers()
    }

    /// Bytes of memory, the header's texts included.
    #[must_use]
    pub fn memory(&self) -> usize {
        let texts = self
            .header
            .as_ref()
            .map_or(0, |h| h.options.capacity() + h.architecture.capacity() + h.system.capacity());
        texts + self.addresses.memory()
    }

    /// The bytes consumed. `None`: more are needed.
    fn step(&mut self, input: &[u8], v: &mut impl Visitor) -> Result<Option<usize>, MlpdError> {
        match self.next {
            Next::Header => {
                let Some((header, length)) = Header::parse(input)? else { return Ok(None) };
                v.header(&header);
                self.header = Some(header);
                self.next = Next::Buffer;
                Ok(Some(length))
            }
            Next::Buffer => self.buffer(input, v),
            Next::Events => Ok(self.items(input, v)),
            Next::Skip => {
                let bytes = self.left.min(input.len());
                self.left -= bytes;
                self.end_if_done(v);
                Ok((bytes > 0).then_some(bytes))
            }
        }
    }

    fn buffer(&mut self, input: &[u8], v: &mut impl Visitor) -> Result<Option<usize>, MlpdError> {
        let start = input.get(..BUFFER.len()).unwrap_or(input);
        if !BUFFER.starts_with(start) {
            return match start {
                _ if start == MAGIC => Err(MlpdError::SecondHeader(self.offset)),
                _ if MAGIC.starts_with(start) => Ok(None),
                _ => Err(MlpdError::NoBuffer(self.offset)),
            };
        }
        let mut c = read::Cursor::new(input, read::Order::Little);
        let Some(buffer) = parse(&mut c) else { return Ok(None) };
        if buffer.length > limits::MLPD_BUFFER {
            return Err(MlpdError::BufferLength(buffer.length));
        }
        v.buffer(&buffer);
        self.buffer = buffer;
        (self.time, self.method) = (buffer.time, buffer.method);
        self.left = buffer.length as usize;
        self.next = Next::Events;
        self.wait = 0;
        self.end_if_done(v);
        Ok(Some(c.position()))
    }

    fn end_if_done(&mut self, v: &mut impl Visitor) {
        if self.left == 0 {
            self.next = Next::Buffer;
            v.buffer_end();
        }
    }

    /// All whole items of the open buffer.
    fn items(&mut self, input: &[u8], v: &mut impl Visitor) -> Option<usize> {
        let bytes = input.get(..self.left).unwrap_or(input);
        let whole = bytes.len() == self.left;
        if bytes.is_empty() || (!whole && bytes.len() < self.wait) {
            return None;
        }
        let bases = (self.buffer.pointer, self.buffer.object, self.method);
        let version = self.header.as_ref().map_or(0, |h| h.version);
        let mut c = Cursor::new(bytes, self.left - bytes.len(), version, bases);
        let mut done = 0;
        let stop = loop {
            let result = if let Some(list) = self.list {
                list.item(&mut c, self.time, v).map(|list| self.list = list)
            } else if c.is_empty() {
                break None;
            } else {
                decode::event(&mut c, self.time, &mut self.addresses, v).map(|(time, list)| {
                    self.events += 1;
                    (self.time, self.list) = (time, list);
                })
            };
            if let Err(stop) = result {
                break Some(stop);
            }
            (done, self.method) = (c.position(), c.method);
        };
        self.left -= done;
        let bad = match stop {
            Some(Stop::Bad(bad)) => Some(bad),
            Some(Stop::Short) if whole => Some(super::BadBuffer::Truncated),
            Some(Stop::Short) | None => None,
        };
        if let Some(bad) = bad {
            v.bad(bad, self.left as u64);
            self.list = None;
            self.next = Next::Skip;
        }
        let tail = bytes.len() - done;
        self.wait = if tail > PATIENCE { tail.saturating_mul(2) } else { 0 };
        self.end_if_done(v);
        (done > 0 || self.next != Next::Events).then_some(done)
    }
}

fn parse(c: &mut read::Cursor<'_>) -> Option<Buffer> {
    c.bytes(BUFFER.len())?;
    let length = c.u32()?;
    let (time, pointer, object) = (c.u64()?, c.u64()?, c.u64()?);
    Some(Buffer { thread: c.u64()?, method: c.u64()?, length, time, pointer, object })
}
