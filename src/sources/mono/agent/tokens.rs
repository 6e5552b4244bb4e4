//! The tokenizer: decodes bytes of one framing and byte order into tokens
//! (docs/protocols/mono-counters.md section 1 and 2).
//!
//! A token is one header, one pair, one value or the fixed part of a message: at most 1046 bytes
//! unless it is a text value. Only the token at the front is decoded, so a Hello of 32767 headers
//! costs the same in one piece and byte by byte. An incomplete token changes nothing and is decoded
//! again when more bytes arrive.
//!
//! ```text
//!  N:         Command ─Hello─▶ Headers ─▶ Command ─Sampling─▶ Values ─▶ Command …
//!  B: Count ─▶ Headers ─▶ Command ─Hello─▶ …  as N, but List is answered with Headers
//!  A: Count ─▶ Headers ─▶ Stamp ─▶ Values ─▶ Stamp …
//! ```

use mono_counters::message;
use mono_counters::message::Status;
use mono_counters::numbers::{Kind, Numbers, Space, Unit, Variance};

use crate::heap_size;
use crate::read::{Cursor, Order};
use crate::sources::mono::counters::Header;
use crate::sources::mono::limits;

/// The framing of messages. The note and source C have the same one
/// (docs/protocols/mono-counters.md 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Hello, then a command byte before each message.
    N,
    /// Headers, then as N.
    B,
    /// Headers, then samples without a command byte.
    A,
}

/// The message that a Headers is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The first message of A and B.
    Preamble,
    Hello,
    /// Answer to List, B only.
    List,
}

/// One element of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    Headers(Part),
    Header(Part, Header<'a>),
    HeadersEnd(Part),
    List,
    /// Two strings in the order of the wire; the second may be null, which reads as empty.
    Pair(&'a str, &'a str),
    ListEnd,
    Added(Status, Option<Header<'a>>),
    Removed(Status),
    /// The agent's time, in its own clock.
    Sample(i64),
    Value {
        index: u16,
        bytes: &'a [u8],
    },
    SampleEnd,
}

/// A value that a stream of this framing cannot contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("version {0}")]
    Version(i16),
    #[error("count {0}")]
    Count(i16),
    #[error("string length {0}")]
    StringLength(i32),
    #[error("string is not UTF-8")]
    NotUtf8,
    #[error("control character in a string")]
    Control,
    #[error("index {0}")]
    Index(i16),
    #[error("index {0} announced twice")]
    Repeated(u16),
    #[error("value of unknown index {0}")]
    UnknownIndex(u16),
    #[error("size {size} of a {kind} value")]
    Size { size: i16, kind: &'static str },
    #[error("time {0}")]
    Time(i64),
    #[error("command {0} before Hello")]
    NotHello(u8),
    #[error("second Hello")]
    SecondHello,
    #[error("command {0}")]
    Command(u8),
    #[error("status {0}")]
    Status(u8),
    #[error("message longer than {} bytes", limits::MESSAGE)]
    Message,
    #[error("more values in a sample than counters")]
    Values,
}

/// A violation of the protocol, and the offset of the end of the offending field in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProtocolError {
    pub(crate) offset: u64,
    pub(crate) violation: Violation,
}

/// Why there is no token.
#[derive(Debug)]
enum Stop {
    Incomplete,
    Violation(Violation),
}

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}

const fn full<T: Copy>(field: Option<T>) -> Result<T, Stop> {
    match field {
        Some(field) => Ok(field),
        None => Err(Stop::Incomplete),
    }
}

/// The width of the values of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// No such counter.
    Absent,
    /// 4 or 8 bytes, by the type.
    Fixed(u8, Kind),
    /// The width of a pointer on the agent's host: 4 or 8 bytes.
    Word,
    /// Given by the size field: texts and unknown types.
    Stated(Kind),
}

impl Width {
    const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Int | Kind::Uint => Self::Fixed(4, kind),
            Kind::Long | Kind::Ulong | Kind::Double | Kind::TimeInterval => Self::Fixed(8, kind),
            Kind::Word => Self::Word,
            Kind::Text | Kind::Unknown => Self::Stated(kind),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Count,
    Headers(Part, u16),
    Command,
    Pairs,
    Stamp,
    Values,
}

/// Decodes one stream. The module's page has the order of states.
#[derive(Debug)]
pub(crate) struct Tokenizer {
    framing: Framing,
    order: Order,
    expect: Expect,
    greeted: bool,
    space: Option<Space>,
    /// By index.
    widths: Vec<Width>,
    known: usize,
    /// Width of a WORD, once a big-endian agent has shown it.
    word: Option<usize>,
    /// Values of the open sample so far.
    values: usize,
    /// Bytes of the open message so far.
    message: usize,
    consumed: u64,
    odd: Option<u64>,
}

heap_size!(Tokenizer { widths });

impl Tokenizer {
    pub(crate) const fn new(framing: Framing, order: Order) -> Self {
        Self {
            framing,
            order,
            expect: if matches!(framing, Framing::N) { Expect::Command } else { Expect::Count },
            greeted: false,
            space: None,
            widths: Vec::new(),
            known: 0,
            word: None,
            values: 0,
            message: 0,
            consumed: 0,
            odd: None,
        }
    }

    pub(crate) const fn framing(&self) -> Framing {
        self.framing
    }

    pub(crate) const fn order(&self) -> Order {
        self.order
    }

    /// Bytes of the tokens so far.
    pub(crate) const fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Offset of the first number that no known runtime sends: valid, but rejected by a strict
    /// reader.
    pub(crate) const fn odd(&self) -> Option<u64> {
        self.odd
    }

    /// Whether Hello and all messages since are complete.
    pub(crate) fn hello_complete(&self) -> bool {
        self.greeted && self.expect == Expect::Command
    }

    /// The token at the front of `bytes` and its length; `None`: it is incomplete.
    pub(crate) fn token<'a>(
        &mut self,
        bytes: &'a [u8],
    ) -> Result<Option<(Token<'a>, usize)>, ProtocolError> {
        let mut c = Cursor::new(bytes, self.order);
        let token = match self.expect {
            Expect::Count => self.headers(&mut c, Part::Preamble),
            Expect::Headers(part, 0) => Ok(self.headers_end(part)),
            Expect::Headers(part, left) => self.one_of_headers(&mut c, part, left),
            Expect::Command => self.command(&mut c),
            Expect::Pairs => self.pair(&mut c),
            Expect::Stamp => self.sample(&mut c),
            Expect::Values => self.value(&mut c),
        };
        let length = c.position();
        let error = |violation| ProtocolError { offset: self.consumed + length as u64, violation };
        match token {
            Err(Stop::Incomplete) => Ok(None),
            Err(Stop::Violation(violation)) => Err(error(violation)),
            Ok(_) if self.message + length > limits::MESSAGE => Err(error(Violation::Message)),
            Ok(token) => {
                self.consumed += length as u64;
                let ended = matches!(self.expect, Expect::Command | Expect::Stamp);
                self.message = if ended { 0 } else { self.message + length };
                Ok(Some((token, length)))
            }
        }
    }

    fn headers<'a>(&mut self, c: &mut Cursor<'_>, part: Part) -> Result<Token<'a>, Stop> {
        let count = full(c.i16())?;
        let count = u16::try_from(count).map_err(|_| Violation::Count(count))?;
        if part != Part::List {
            // B sends its headers twice; the second time counts.
            self.widths.clear();
            self.known = 0;
        }
        self.expect = Expect::Headers(part, count);
        Ok(Token::Headers(part))
    }

    fn one_of_headers<'a>(
        &mut self,
        c: &mut Cursor<'a>,
        part: Part,
        left: u16,
    ) -> Result<Token<'a>, Stop> {
        let header = self.header(c)?;
        if part != Part::List {
            self.announce(&header)?;
        }
        self.expect = Expect::Headers(part, left - 1);
        Ok(Token::Header(part, header))
    }

    const fn headers_end<'a>(&mut self, part: Part) -> Token<'a> {
        self.expect =
            if matches!(self.framing, Framing::A) { Expect::Stamp } else { Expect::Command };
        self.greeted |= !matches!((self.framing, part), (Framing::B, Part::Preamble));
        Token::HeadersEnd(part)
    }

    fn header<'a>(&mut self, c: &mut Cursor<'a>) -> Result<Header<'a>, Stop> {
        let category = full(c.u32())?;
        let space = self.space.unwrap_or(Space::of(category));
        self.strictly(c, space.plausible_category(category));
        let name = string(c, 1)?.ok_or(Violation::StringLength(-1))?;
        let kind = full(c.u32())?;
        self.strictly(c, space.kind(kind) != Kind::Unknown);
        let unit = full(c.u32())?;
        self.strictly(c, space.unit(unit) != Unit::Unknown);
        let variance = full(c.u32())?;
        self.strictly(c, space.variance(variance) != Variance::Unknown);
        let index = full(c.i16())?;
        let index = u16::try_from(index).map_err(|_| Violation::Index(index))?;
        self.space = Some(space);
        Ok(Header { numbers: Numbers { category, kind, unit, variance }, name, index })
    }

    /// Records the offset of the first number that a strict reader rejects.
    fn strictly(&mut self, c: &Cursor<'_>, known: bool) {
        if !known && self.odd.is_none() {
            self.odd = Some(self.consumed + c.position() as u64);
        }
    }

    fn announce(&mut self, header: &Header<'_>) -> Result<(), Stop> {
        let index = usize::from(header.index);
        if self.widths.len() <= index {
            self.widths.resize(index + 1, Width::Absent);
        }
        let kind = self.space.map_or(Kind::Unknown, |s| s.kind(header.numbers.kind));
        match self.widths.get_mut(index) {
            Some(width) if *width == Width::Absent => *width = Width::of(kind),
            _ => return Err(Violation::Repeated(header.index).into()),
        }
        self.known += 1;
        Ok(())
    }

    fn command<'a>(&mut self, c: &mut Cursor<'a>) -> Result<Token<'a>, Stop> {
        let command = full(c.u8())?;
        match (command, self.greeted) {
            (message::HELLO, true) => Err(Violation::SecondHello.into()),
            (message::HELLO, false) => {
                let version = full(c.i16())?;
                if version != message::VERSION {
                    return Err(Violation::Version(version).into());
                }
                self.headers(c, Part::Hello)
            }
            (_, false) => Err(Violation::NotHello(command).into()),
            (message::LIST, true) if self.framing == Framing::B => self.headers(c, Part::List),
            (message::LIST, true) => {
                self.expect = Expect::Pairs;
                Ok(Token::List)
            }
            (message::ADD, true) => {
                let status = status(c)?;
                // In the note a header always follows; all agents send it only with status OK
                // (docs/protocols/mono-counters.md section 2).
                let header = if status == Status::Ok { Some(self.header(c)?) } else { None };
                header.iter().try_for_each(|h| self.announce(h))?;
                Ok(Token::Added(status, header))
            }
            (message::REMOVE, true) => Ok(Token::Removed(status(c)?)),
            (message::SAMPLING, true) => self.sample(c),
            _ => Err(Violation::Command(command).into()),
        }
    }

    fn pair<'a>(&mut self, c: &mut Cursor<'a>) -> Result<Token<'a>, Stop> {
        let Some(first) = string(c, 0)? else {
            self.expect = Expect::Command;
            return Ok(Token::ListEnd);
        };
        let second = string(c, 0)?.unwrap_or_default();
        Ok(Token::Pair(first, second))
    }

    fn sample<'a>(&mut self, c: &mut Cursor<'_>) -> Result<Token<'a>, Stop> {
        /// The years 2000 to 2100 in ticks (docs/protocols/mono-counters.md section 3.2).
        const WALL: std::ops::Range<i64> = 125_911_584_000_000_000..157_469_184_000_000_000;
        /// 317 years in ticks since the boot of the host.
        const UPTIME: std::ops::Range<i64> = 0..100_000_000_000_000_000;
        let time = full(c.i64())?;
        if !(if self.framing == Framing::A { UPTIME } else { WALL }).contains(&time) {
            return Err(Violation::Time(time).into());
        }
        self.values = 0;
        self.expect = Expect::Values;
        Ok(Token::Sample(time))
    }

    fn value<'a>(&mut self, c: &mut Cursor<'a>) -> Result<Token<'a>, Stop> {
        let index = full(c.i16())?;
        if index == message::END_OF_VALUES {
            self.expect = if self.framing == Framing::A { Expect::Stamp } else { Expect::Command };
            return Ok(Token::SampleEnd);
        }
        let index = u16::try_from(index).map_err(|_| Violation::Index(index))?;
        let width = self.width(index);
        if width == Width::Absent {
            return Err(Violation::UnknownIndex(index).into());
        }
        if self.values == self.known {
            return Err(Violation::Values.into());
        }
        let size = full(c.i16())?;
        // Agents of 2014 on big-endian hosts send the upper half of an int here, which is always 0
        // (docs/protocols/mono-counters.md section 1).
        let zero_size = size == 0 && self.order == Order::Big;
        let wrong = |kind: Kind| Violation::Size { size, kind: kind.name() };
        let (length, word) = match width {
            Width::Fixed(n, _) if size == i16::from(n) || zero_size => (usize::from(n), None),
            Width::Word if zero_size => self.word_of_zero_size(*c, index)?,
            Width::Word if size == 4 || size == 8 => (if size == 4 { 4 } else { 8 }, None),
            Width::Fixed(_, kind) => return Err(wrong(kind).into()),
            Width::Stated(kind) => (usize::try_from(size).map_err(|_| wrong(kind))?, None),
            Width::Word | Width::Absent => return Err(wrong(Kind::Word).into()),
        };
        let bytes = full(c.bytes(length))?;
        self.word = self.word.or(word);
        self.values += 1;
        Ok(Token::Value { index, bytes })
    }

    fn width(&self, index: u16) -> Width {
        self.widths.get(usize::from(index)).copied().unwrap_or(Width::Absent)
    }

    /// The length of a WORD whose size field is 0: 8 bytes, unless the bytes behind it are
    /// plausible only with 4 (docs/protocols/mono-counters.md section 1). The second value is the
    /// width of all WORDs of the connection, once it is certain.
    ///
    /// The last WORD of a sample may stay undecided until the next message arrives.
    fn word_of_zero_size(
        &self,
        at: Cursor<'_>,
        index: u16,
    ) -> Result<(usize, Option<usize>), Stop> {
        if let Some(word) = self.word {
            return Ok((word, None));
        }
        if !self.can_follow(at, 4, index)? {
            return Ok((8, Some(8)));
        }
        Ok(if self.can_follow(at, 8, index)? { (8, None) } else { (4, Some(4)) })
    }

    /// Whether the bytes `skip` bytes further can follow a value of `index`: the end of the sample,
    /// or a counter with a higher index and a size field of 0.
    fn can_follow(&self, mut at: Cursor<'_>, skip: usize, index: u16) -> Result<bool, Stop> {
        full(at.bytes(skip))?;
        let next = full(at.i16())?;
        let Ok(next) = u16::try_from(next) else { return Ok(next == message::END_OF_VALUES) };
        Ok(next > index && self.width(next) != Width::Absent && full(at.i16())? == 0)
    }
}

fn status(c: &mut Cursor<'_>) -> Result<Status, Stop> {
    let byte = full(c.u8())?;
    Status::of(byte).ok_or(Violation::Status(byte).into())
}

/// A string of `shortest` to 1024 bytes, or null.
fn string<'a>(c: &mut Cursor<'a>, shortest: usize) -> Result<Option<&'a str>, Stop> {
    let stated = full(c.i32())?;
    if stated == message::NULL_STRING {
        return Ok(None);
    }
    let length = usize::try_from(stated).ok().filter(|n| (shortest..=limits::NAME).contains(n));
    let bytes = full(c.bytes(length.ok_or(Violation::StringLength(stated))?))?;
    if bytes.iter().any(|b| *b < 0x20) {
        return Err(Violation::Control.into());
    }
    Ok(Some(std::str::from_utf8(bytes).map_err(|_| Violation::NotUtf8)?))
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
