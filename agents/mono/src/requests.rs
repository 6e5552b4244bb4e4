//! Inspector to agent: parses the note's requests from a byte stream cut anywhere
//! (docs/protocols/mono-counters.md section 2).
//!
//! | byte | request | then |
//! |---|---|---|
//! | 00 | none: skipped, so that a server may probe for the 2014 dialects (section 3.3) | |
//! | 01 | List | |
//! | 02 | Add | name string, category string |
//! | 03 | Remove | index short, negative = all |
//! | 7F | `GoodBye` | |

use mono_counters::message::{LONGEST_NAME, NULL_STRING};
use mono_counters::request;

/// One request of the inspector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Lists the names of all counters.
    List,
    /// Select a counter; `None` is the null string.
    Add {
        /// Counter name.
        name: Option<String>,
        /// Category name.
        category: Option<String>,
    },
    /// Deselect one counter, or all of them.
    Remove {
        /// Index on this connection; negative = all.
        index: i16,
    },
    /// The inspector closes the connection.
    GoodBye,
}

/// Bytes that are not a request. Nothing after them can be parsed, so the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// A command byte outside the table.
    Command(u8),
    /// A string length outside -1..=[`LONGEST_NAME`].
    Length(i32),
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(byte) => write!(f, "unknown request {byte:#04x}"),
            Self::Length(length) => write!(f, "string length {length}"),
        }
    }
}

/// Buffers the unfinished tail between reads: never more than one request, since lengths are
/// checked as soon as they have arrived.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    pending: Vec<u8>,
}

impl Parser {
    /// Appends the bytes of one read.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next whole request, or `None` when more bytes are needed.
    pub(crate) fn next(&mut self) -> Result<Option<Request>, Malformed> {
        let zeros = self.pending.iter().take_while(|byte| **byte == 0).count();
        self.pending.drain(..zeros);
        let mut cursor = Cursor(&self.pending);
        let request = parse(&mut cursor)?;
        if request.is_some() {
            let used = self.pending.len() - cursor.0.len();
            self.pending.drain(..used);
        }
        Ok(request)
    }
}

fn parse(cursor: &mut Cursor<'_>) -> Result<Option<Request>, Malformed> {
    let Some([command]) = cursor.take() else {
        return Ok(None);
    };
    Ok(match command {
        request::LIST => Some(Request::List),
        request::ADD => {
            let Some(name) = cursor.string()? else {
                return Ok(None);
            };
            let Some(category) = cursor.string()? else {
                return Ok(None);
            };
            Some(Request::Add { name, category })
        }
        request::REMOVE => {
            cursor.take().map(|bytes| Request::Remove { index: i16::from_ne_bytes(bytes) })
        }
        request::GOOD_BYE => Some(Request::GoodBye),
        other => return Err(Malformed::Command(other)),
    })
}

/// Reads parts of a request; `None` means that more bytes are needed.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn string(&mut self) -> Result<Option<Option<String>>, Malformed> {
        let Some(length) = self.take().map(i32::from_ne_bytes) else {
            return Ok(None);
        };
        if length == NULL_STRING {
            return Ok(Some(None));
        }
        let size = usize::try_from(length)
            .ok()
            .filter(|size| *size <= LONGEST_NAME)
            .ok_or(Malformed::Length(length))?;
        let Some((text, rest)) = self.0.split_at_checked(size) else {
            return Ok(None);
        };
        self.0 = rest;
        Ok(Some(Some(String::from_utf8_lossy(text).into_owned())))
    }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    /// List, Add(`Major GC collections`, `GC`), Remove 0, `GoodBye`: the hand-made request vector
    /// `v-req-note-le`.
    const VECTOR: &[u8] =
        b"\x01\x02\x14\x00\x00\x00Major GC collections\x02\x00\x00\x00GC\x03\x00\x00\x7f";

    fn add(name: &str, category: &str) -> Request {
        Request::Add { name: Some(name.to_owned()), category: Some(category.to_owned()) }
    }

    fn drain(parser: &mut Parser) -> Vec<Request> {
        std::iter::from_fn(|| parser.next().unwrap()).collect()
    }

    #[test]
    fn every_cut_gives_the_same_requests() {
        let expected = vec![
            Request::List,
            add("Major GC collections", "GC"),
            Request::Remove { index: 0 },
            Request::GoodBye,
        ];
        assert_eq!(VECTOR.len(), 36);
        for cut in 0..=VECTOR.len() {
            let mut parser = Parser::default();
            let (head, tail) = VECTOR.split_at(cut);
            parser.feed(head);
            let mut got = drain(&mut parser);
            parser.feed(tail);
            got.extend(drain(&mut parser));
            assert_eq!(got, expected, "cut at {cut}");
        }
        let mut parser = Parser::default();
        let mut got = Vec::new();
        for byte in VECTOR {
            parser.feed(&[*byte]);
            got.extend(drain(&mut parser));
        }
        assert_eq!(got, expected);
        assert!(parser.pending.is_empty());
    }

    #[test]
    fn the_probe_for_old_agents_is_a_list_and_nothing_else() {
        let mut parser = Parser::default();
        parser.feed(&[1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(drain(&mut parser), [Request::List]);
        parser.feed(&[127]);
        assert_eq!(drain(&mut parser), [Request::GoodBye]);
    }

    #[test]
    fn null_and_negative_are_values_of_their_own() {
        let mut parser = Parser::default();
        parser.feed(b"\x02\xff\xff\xff\xff\xff\xff\xff\xff\x03\xff\xff");
        let null = Request::Add { name: None, category: None };
        assert_eq!(drain(&mut parser), [null, Request::Remove { index: -1 }]);
    }

    #[test]
    fn nonsense_is_refused_before_it_is_kept() {
        for byte in (4..=255_u8).filter(|byte| *byte != 127) {
            let mut parser = Parser::default();
            parser.feed(&[byte]);
            assert_eq!(parser.next(), Err(Malformed::Command(byte)));
        }
        for (length, taken) in [(1024_i32, true), (1025, false), (-2, false), (i32::MAX, false)] {
            let mut parser = Parser::default();
            parser.feed(&[2]);
            parser.feed(&length.to_ne_bytes());
            let expected = if taken { Ok(None) } else { Err(Malformed::Length(length)) };
            assert_eq!(parser.next(), expected);
        }
    }

    #[test]
    fn a_name_that_is_not_utf8_is_read_with_replacements() {
        let mut parser = Parser::default();
        parser.feed(b"\x02\x01\x00\x00\x00\xff\x02\x00\x00\x00GC");
        assert_eq!(drain(&mut parser), [add("\u{fffd}", "GC")]);
    }
}
