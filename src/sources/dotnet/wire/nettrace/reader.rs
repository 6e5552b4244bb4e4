//! From bytes to blocks: the frames of versions 4 to 6 (docs/protocols/dotnet.md 3, 4).

use bytes::{Buf, BytesMut};

use super::blocks::{Blocks, Fault, Kind, Losses};
use super::bytes::Bytes;
use super::{ErrorKind, Header, NettraceError, Visitor};
use crate::sources::dotnet::limits;

const MAGIC: &[u8] = b"Nettrace";
/// What follows the magic in versions 4 and 5: the length of a name, and the name.
const SERIALIZER: &[u8] = b"\x14\0\0\0!FastSerialization.1";
/// Tags of objects.
const BEGIN: &[u8] = &[5, 5, 1];
const END: u8 = 6;
const NULL: u8 = 1;
/// Bytes of an object's header before its name, and behind its begin tags.
const OBJECT: usize = 15;
/// The latest versions that objects may need.
const TRACE_VERSION: u32 = 5;
const BLOCK_VERSION: u32 = 2;

/// An incremental decoder of one stream.
#[derive(Debug, Default)]
pub struct Reader {
    next: Next,
    /// Version 6.
    six: bool,
    /// Bytes consumed.
    offset: u64,
    failed: Option<NettraceError>,
    blocks: Blocks,
}

crate::heap_size!(Reader { blocks });

/// What comes next in the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Magic,
    /// An object or the end of the stream.
    Object,
    /// The body of a trace object.
    Trace { version: u32 },
    /// The size of a block's body; `None`: of an unknown kind.
    Size { kind: Option<Kind> },
    /// A body, behind zeros.
    Body { kind: Kind, zeros: usize, size: usize },
    /// Bytes of no use.
    Skip { bytes: u64 },
    /// The end tag of an object.
    End,
    /// A block of version 6.
    Six,
    /// Nothing.
    Ended,
}

impl Reader {
    /// A reader at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes and consumes all whole items of `input`. What it leaves is the start of an item, or
    /// what follows the end of the stream.
    ///
    /// # Errors
    /// Bytes that are no nettrace, or over a limit. What came before them has been handed over; the
    /// error stays.
    pub fn feed(
        &mut self,
        input: &mut BytesMut,
        visitor: &mut impl Visitor,
    ) -> Result<(), NettraceError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        loop {
            match self.step(input, visitor) {
                Ok(Some(bytes)) => {
                    input.advance(bytes);
                    self.offset += bytes as u64;
                }
                Ok(None) => return Ok(()),
                Err((kind, at)) => {
                    let error = NettraceError::new(kind, self.offset + at as u64);
                    self.failed = Some(error);
                    return Err(error);
                }
            }
        }
    }

    /// True behind the end of the stream. A stream that stops before was cut.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.next == Next::Ended
    }

    /// The trace header, once it came.
    #[must_use]
    pub const fn header(&self) -> Option<&Header> {
        self.blocks.header()
    }

    /// Events that the process could not write.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        self.blocks.losses()
    }

    /// Events so far.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.blocks.events()
    }

    /// Event types so far.
    #[must_use]
    pub const fn event_types(&self) -> usize {
        self.blocks.types()
    }

    /// Bytes consumed so far.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the next item as far as its length is known: room for so many is worth having.
    #[must_use]
    pub const fn needs(&self) -> usize {
        match self.next {
            Next::Magic => MAGIC.len() + SERIALIZER.len(),
            Next::Object => OBJECT,
            Next::Trace { .. } => Header::LENGTH,
            Next::Size { .. } | Next::Six => 4,
            Next::Body { zeros, size, .. } => zeros + size,
            Next::Skip { .. } | Next::End => 1,
            Next::Ended => 0,
        }
    }

    /// One item: the bytes consumed. `None`: it is not whole.
    fn step(&mut self, input: &[u8], v: &mut impl Visitor) -> Result<Option<usize>, Fault> {
        let mut b = Bytes::new(input);
        let was = self.next;
        let next = match was {
            Next::Magic => magic(&mut b)?,
            Next::Object => object(&mut b)?,
            Next::Trace { version } => match b.take(Header::LENGTH) {
                Some(body) => {
                    self.blocks.trace(body, version, v).map_err(|(kind, _)| (kind, 0))?;
                    Some(Next::End)
                }
                None => None,
            },
            Next::Size { kind } => self.size(&mut b, kind)?,
            Next::Body { kind, zeros, size } => {
                let Some(body) = b.take(zeros + size).and_then(|body| body.get(zeros..)) else {
                    return Ok(None);
                };
                let done = self.blocks.decode(kind, body, v);
                done.map_err(|(kind, left)| (kind, (zeros + size).saturating_sub(left)))?;
                Some(if self.six { Next::Six } else { Next::End })
            }
            Next::Skip { bytes } => return Ok(self.skip(input.len(), bytes)),
            Next::End => match b.u8() {
                Some(END) => Some(Next::Object),
                Some(_) => return Err((ErrorKind::Object, 0)),
                None => None,
            },
            Next::Six => block6(&mut b)?,
            Next::Ended => None,
        };
        let Some(next) = next else { return Ok(None) };
        self.six |= next == Next::Six;
        self.next = next;
        Ok(Some(input.len() - b.len()))
    }

    /// The size of a block of versions 4 and 5. Zeros follow up to a multiple of 4 bytes.
    fn size(&self, b: &mut Bytes<'_>, kind: Option<Kind>) -> Result<Option<Next>, Fault> {
        let Some(size) = b.u32() else { return Ok(None) };
        let zeros = if self.offset.is_multiple_of(4) { 0 } else { 4 - (self.offset % 4) as usize };
        match kind {
            None if i32::try_from(size).is_ok() => {
                Ok(Some(Next::Skip { bytes: u64::from(size) + zeros as u64 }))
            }
            Some(kind) if size as usize <= limits::BLOCK => {
                Ok(Some(Next::Body { kind, zeros, size: size as usize }))
            }
            _ => Err((ErrorKind::Size, 0)),
        }
    }

    /// Consumes of `bytes` what is there.
    fn skip(&mut self, there: usize, bytes: u64) -> Option<usize> {
        let now = usize::try_from(bytes).map_or(there, |bytes| bytes.min(there));
        let left = bytes - now as u64;
        self.next = match left {
            0 if self.six => Next::Six,
            0 => Next::End,
            bytes => Next::Skip { bytes },
        };
        (now > 0 || left == 0).then_some(now)
    }
}

fn magic(b: &mut Bytes<'_>) -> Result<Option<Next>, Fault> {
    let wrong = Err((ErrorKind::Signature, 0));
    let all = b.rest();
    let (start, rest) = all.split_at(all.len().min(MAGIC.len()));
    if !MAGIC.starts_with(start) {
        return wrong;
    }
    if rest.is_empty() {
        return Ok(None);
    }
    if rest.first() == Some(&0) {
        // Reserved zeros, major and minor version.
        let Some(versions) = rest.get(..12) else { return Ok(None) };
        b.take(MAGIC.len() + versions.len());
        return match *versions {
            [0, 0, 0, 0, 6, 0, 0, 0, ..] => Ok(Some(Next::Six)),
            _ => wrong,
        };
    }
    let (start, _) = rest.split_at(rest.len().min(SERIALIZER.len()));
    if !SERIALIZER.starts_with(start) {
        return wrong;
    }
    Ok(b.take(MAGIC.len() + SERIALIZER.len()).map(|_| Next::Object))
}

fn object(b: &mut Bytes<'_>) -> Result<Option<Next>, Fault> {
    let start = b.rest();
    if start.first() == Some(&NULL) {
        b.u8();
        return Ok(Some(Next::Ended));
    }
    if !BEGIN.starts_with(start.get(..BEGIN.len()).unwrap_or(start)) {
        return Err((ErrorKind::Object, 0));
    }
    let mut head = *b;
    head.take(BEGIN.len());
    let Some(((version, needs), length)) = head.u32().zip(head.u32()).zip(head.u32()) else {
        return Ok(None);
    };
    if length as usize > limits::OBJECT_NAME {
        return Err((ErrorKind::Size, OBJECT - 4));
    }
    let Some((name, end)) = head.take(length as usize).zip(head.u8()) else { return Ok(None) };
    if end != END {
        return Err((ErrorKind::Object, OBJECT + name.len()));
    }
    *b = head;
    let kind = match name {
        b"Trace" if needs <= TRACE_VERSION && (4..6).contains(&version) => {
            return Ok(Some(Next::Trace { version }));
        }
        b"EventBlock" => Kind::Events,
        b"MetadataBlock" => Kind::Metadata,
        b"StackBlock" => Kind::Stacks,
        b"SPBlock" => Kind::Point,
        b"Trace" => return Err((ErrorKind::Version, BEGIN.len())),
        _ => return Ok(Some(Next::Size { kind: None })),
    };
    if needs > BLOCK_VERSION {
        return Err((ErrorKind::Version, BEGIN.len()));
    }
    Ok(Some(Next::Size { kind: Some(kind) }))
}

/// The size and kind of a block of version 6.
fn block6(b: &mut Bytes<'_>) -> Result<Option<Next>, Fault> {
    let Some(word) = b.u32() else { return Ok(None) };
    let size = (word & 0x00ff_ffff) as usize;
    let kind = match word >> 24 {
        0 => return Ok(Some(Next::Ended)),
        1 => Kind::Trace,
        2 => Kind::Events,
        3 => Kind::Metadata,
        4 => Kind::Point,
        5 => Kind::Stacks,
        6 => Kind::Threads,
        7 => Kind::RemoveThreads,
        8 => Kind::Labels,
        _ => return Ok(Some(Next::Skip { bytes: size as u64 })),
    };
    if size > limits::BLOCK {
        return Err((ErrorKind::Size, 0));
    }
    Ok(Some(Next::Body { kind, zeros: 0, size }))
}
