//! The tokenizer: bytes of one framing and byte order in, tokens out
//! (docs/protocols/mono-counters.md sections 1 and 2).
//!
//! A token is one header, one pair, one value or the fixed part of a message: at most 1046 bytes
//! unless it is a text value. Nothing but the token at the front is ever looked at, so a Hello of
//! 32767 headers costs the same in one piece and byte by byte. A token that is not complete changes
//! nothing and is tried again when more bytes are there.
//!
//! ```text
//!  N:         Command ─Hello─▶ Headers ─▶ Command ─Sampling─▶ Values ─▶ Command …
//!  B: Count ─▶ Headers ─▶ Command ─Hello─▶ …  as N, but List is answered with Headers
//!  A: Count ─▶ Headers ─▶ Stamp ─▶ Values ─▶ Stamp …
//! ```

use crate::read::{Cursor, Order};
use crate::sources::mono::limits;
use mono_counters::message::{self, Status};
use mono_counters::numbers::{Kind, Numbers, Space, Unit, Variance};

/// How messages are told apart. The note and source C frame alike (docs/protocols/mono-counters.md
/// section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Hello, then a command byte before each message.
    N,
    /// Headers, then as N.
    B,
    /// Headers, then samples without a command byte.
    A,
}

/// A counter's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    pub(crate) numbers: Numbers,
    pub(crate) name: &'a str,
    pub(crate) index: u16,
}

/// Which message a Headers is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The first thing of A and B.
    Preamble,
    Hello,
    /// Answer to List, B only.
    List,
}

/// One step of a conversation.
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

/// What a stream of this framing cannot contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Wrong {
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

/// A fault and where in the stream it shows: the end of the offending field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: u64,
    pub(crate) what: Wrong,
}

/// Why there is no token.
#[derive(Debug)]
enum Stop {
    Short,
    Wrong(Wrong),
}

impl From<Wrong> for Stop {
    fn from(what: Wrong) -> Self {
        Self::Wrong(what)
    }
}

const fn full<T: Copy>(field: Option<T>) -> Result<T, Stop> {
    match field {
        Some(field) => Ok(field),
        None => Err(Stop::Short),
    }
}

/// How many bytes the values of an index have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// No such counter.
    Absent,
    /// 4 or 8 always, of the type named.
    Fixed(u8, Kind),
    /// A pointer's: 4 or 8.
    Word,
    /// What the size field says: texts and unknown types.
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

/// Reads one stream. See the module for the order of states.
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
    /// Values read of the sample that is being read.
    values: usize,
    /// Bytes read of the message that is being read.
    message: usize,
    consumed: u64,
    odd: Option<u64>,
}

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

    /// Bytes allocated.
    pub(crate) const fn memory(&self) -> usize {
        self.widths.capacity() * size_of::<Width>()
    }

    /// Bytes of the tokens so far.
    pub(crate) const fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Where the first number stood that no known runtime sends: the stream is sound, but a strict
    /// reader refuses it.
    pub(crate) const fn odd(&self) -> Option<u64> {
        self.odd
    }

    /// All of Hello has been read, and nothing after it is incomplete.
    pub(crate) fn said_hello(&self) -> bool {
        self.greeted && self.expect == Expect::Command
    }

    /// The token at the front of `bytes` and its length; `None` when it is not all there.
    pub(crate) fn token<'a>(
        &mut self,
        bytes: &'a [u8],
    ) -> Result<Option<(Token<'a>, usize)>, Fault> {
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
        let fault = |what| Fault { at: self.consumed + length as u64, what };
        match token {
            Err(Stop::Short) => Ok(None),
            Err(Stop::Wrong(what)) => Err(fault(what)),
            Ok(_) if self.message + length > limits::MESSAGE => Err(fault(Wrong::Message)),
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
        let count = u16::try_from(count).map_err(|_| Wrong::Count(count))?;
        if part != Part::List {
            // B announces everything twice, and the second time counts.
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
        let name = string(c, 1)?.ok_or(Wrong::StringLength(-1))?;
        let kind = full(c.u32())?;
        self.strictly(c, space.kind(kind) != Kind::Unknown);
        let unit = full(c.u32())?;
        self.strictly(c, space.unit(unit) != Unit::Unknown);
        let variance = full(c.u32())?;
        self.strictly(c, space.variance(variance) != Variance::Unknown);
        let index = full(c.i16())?;
        let index = u16::try_from(index).map_err(|_| Wrong::Index(index))?;
        self.space = Some(space);
        Ok(Header { numbers: Numbers { category, kind, unit, variance }, name, index })
    }

    /// Notes the place of the first number that a strict reader would refuse.
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
            _ => return Err(Wrong::Repeated(header.index).into()),
        }
        self.known += 1;
        Ok(())
    }

    fn command<'a>(&mut self, c: &mut Cursor<'a>) -> Result<Token<'a>, Stop> {
        let command = full(c.u8())?;
        match (command, self.greeted) {
            (message::HELLO, true) => Err(Wrong::SecondHello.into()),
            (message::HELLO, false) => {
                let version = full(c.i16())?;
                if version != message::VERSION {
                    return Err(Wrong::Version(version).into());
                }
                self.headers(c, Part::Hello)
            }
            (_, false) => Err(Wrong::NotHello(command).into()),
            (message::LIST, true) if self.framing == Framing::B => self.headers(c, Part::List),
            (message::LIST, true) => {
                self.expect = Expect::Pairs;
                Ok(Token::List)
            }
            (message::ADD, true) => {
                let status = status(c)?;
                // The note prints the header unconditionally; every agent leaves it out unless the
                // status is OK (docs/protocols/mono-counters.md section 2).
                let header = if status == Status::Ok { Some(self.header(c)?) } else { None };
                header.iter().try_for_each(|h| self.announce(h))?;
                Ok(Token::Added(status, header))
            }
            (message::REMOVE, true) => Ok(Token::Removed(status(c)?)),
            (message::SAMPLING, true) => self.sample(c),
            _ => Err(Wrong::Command(command).into()),
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
        /// The years 2000 to 2100 in 100 ns since 1601 (docs/protocols/mono-counters.md section
        /// 3.2).
        const WALL: std::ops::Range<i64> = 125_911_584_000_000_000..157_469_184_000_000_000;
        /// 317 years of 100 ns since the machine started.
        const UPTIME: std::ops::Range<i64> = 0..100_000_000_000_000_000;
        let time = full(c.i64())?;
        if !(if self.framing == Framing::A { UPTIME } else { WALL }).contains(&time) {
            return Err(Wrong::Time(time).into());
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
        let index = u16::try_from(index).map_err(|_| Wrong::Index(index))?;
        let width = self.width(index);
        if width == Width::Absent {
            return Err(Wrong::UnknownIndex(index).into());
        }
        if self.values == self.known {
            return Err(Wrong::Values.into());
        }
        let size = full(c.i16())?;
        // Agents of 2014 on big-endian hosts send the upper half of an int here, which is always 0
        // (docs/protocols/mono-counters.md section 1).
        let unsaid = size == 0 && self.order == Order::Big;
        let wrong = |kind: Kind| Wrong::Size { size, kind: kind.name() };
        let (length, word) = match width {
            Width::Fixed(n, _) if size == i16::from(n) || unsaid => (usize::from(n), None),
            Width::Word if unsaid => self.unsaid_word(*c, index)?,
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

    /// The length of a WORD whose size field is 0: 8, unless only 4 makes the bytes behind it
    /// plausible (docs/protocols/mono-counters.md section 1). The second is what to remember for
    /// the connection, when there was no doubt.
    ///
    /// May need bytes of the next message, so the last WORD of a sample can stay undecided until
    /// then.
    fn unsaid_word(&self, at: Cursor<'_>, index: u16) -> Result<(usize, Option<usize>), Stop> {
        if let Some(word) = self.word {
            return Ok((word, None));
        }
        if !self.goes_on(at, 4, index)? {
            return Ok((8, Some(8)));
        }
        Ok(if self.goes_on(at, 8, index)? { (8, None) } else { (4, Some(4)) })
    }

    /// What is `skip` bytes on can follow a value of `index`: the end, or a later counter with the
    /// size field of such agents.
    fn goes_on(&self, mut at: Cursor<'_>, skip: usize, index: u16) -> Result<bool, Stop> {
        full(at.bytes(skip))?;
        let next = full(at.i16())?;
        let Ok(next) = u16::try_from(next) else { return Ok(next == message::END_OF_VALUES) };
        Ok(next > index && self.width(next) != Width::Absent && full(at.i16())? == 0)
    }
}

fn status(c: &mut Cursor<'_>) -> Result<Status, Stop> {
    let byte = full(c.u8())?;
    Status::of(byte).ok_or(Wrong::Status(byte).into())
}

/// A string of `shortest`..=1024 bytes, or null.
fn string<'a>(c: &mut Cursor<'a>, shortest: usize) -> Result<Option<&'a str>, Stop> {
    let stated = full(c.i32())?;
    if stated == message::NULL_STRING {
        return Ok(None);
    }
    let length = usize::try_from(stated).ok().filter(|n| (shortest..=limits::NAME).contains(n));
    let bytes = full(c.bytes(length.ok_or(Wrong::StringLength(stated))?))?;
    if bytes.iter().any(|b| *b < 0x20) {
        return Err(Wrong::Control.into());
    }
    Ok(Some(std::str::from_utf8(bytes).map_err(|_| Wrong::NotUtf8)?))
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
