//! From bytes to the header and to buffers (docs/protocols/mono-mlpd.md 1, 2).

use bytes::{Buf, BytesMut};

use super::cursor::Cursor;
use super::decode::{self, Addresses, List};
use super::{Buffer, MlpdError, Stop, Visitor};
use crate::heap_size;
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

heap_size!(Decoder { header, addresses });

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

/// The first bytes of a stream.
pub const MAGIC: [u8; 4] = *b"\x01ZPM";
/// Data versions whose events are known.
const VERSIONS: std::ops::RangeInclusive<u8> = 13..=17;

/// The header of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Version of the header: from 3 on with [`start_ns`](Self::start_ns).
    pub major: u8,
    /// Minor version of the header.
    pub minor: u8,
    /// Data version, 13 to 17.
    pub version: u8,
    /// Bytes of a pointer in the process: 4 or 8.
    pub pointer_size: u8,
    /// When the stream began, in ms since 1970, of whole seconds.
    pub start_ms: u64,
    /// The same in the clock of events (`CLOCK_MONOTONIC`), in ns.
    pub start_ns: Option<u64>,
    /// What two readings of the clock took, in ns.
    pub timer_overhead: u32,
    /// Process id in the process's own pid namespace.
    pub pid: u32,
    /// TCP port for commands; 0: none.
    pub port: u16,
    /// `log:…`.
    pub options: String,
    /// Such as `x86-64`.
    pub architecture: String,
    /// Such as `linux`.
    pub system: String,
}

heap_size!(Header { options, architecture, system });

impl Header {
    /// The header at the start of `bytes` and its length. `None`: it is not whole.
    ///
    /// # Errors
    /// Bytes of no stream that this decoder knows, as soon as they show it.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, MlpdError> {
        let start = bytes.get(..MAGIC.len()).unwrap_or(bytes);
        if !MAGIC.starts_with(start) {
            return Err(MlpdError::Signature);
        }
        if let Some(&version) = bytes.get(6).filter(|version| !VERSIONS.contains(version)) {
            return Err(MlpdError::Version(version));
        }
        Self::read(&mut read::Cursor::new(bytes, read::Order::Little)).transpose()
    }

    fn read(c: &mut read::Cursor<'_>) -> Option<Result<(Self, usize), MlpdError>> {
        c.bytes(MAGIC.len())?;
        let (major, minor, version, pointer_size) = (c.u8()?, c.u8()?, c.u8()?, c.u8()?);
        let start_ms = c.u64()?;
        let start_ns = if major >= 3 { Some(c.u64()?) } else { None };
        let (timer_overhead, flags) = (c.u32()?, c.u32()?);
        if flags != 0 {
            return Some(Err(MlpdError::Flags(flags)));
        }
        let (pid, port) = (c.u32()?, c.u16()?);
        let mut texts = [String::new(), String::new(), String::new()];
        for text in &mut texts {
            let length = c.u32()?;
            if length > limits::MLPD_HEADER_TEXT {
                return Some(Err(MlpdError::HeaderText(length)));
            }
            let bytes = c.bytes(length as usize)?;
            let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            *text = String::from_utf8_lossy(bytes).into_owned();
        }
        let [options, architecture, system] = texts;
        let header = Self {
            major,
            minor,
            version,
            pointer_size,
            start_ms,
            start_ns,
            timer_overhead,
            pid,
            port,
            options,
            architecture,
            system,
        };
        Some(Ok((header, c.position())))
    }
}
