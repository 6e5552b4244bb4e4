//! The metadata of CTF 2 (CTF2-SPEC-2.0, 5): a JSON text sequence (RFC 7464), one fragment for each
//! class.
//!
//! | fragment | into |
//! |---|---|
//! | preamble | version, UUID; extensions are rejected |
//! | field-class-alias | a name for a field class |
//! | trace-class | environment, packet header |
//! | clock-class | a clock |
//! | data-stream-class | a class of streams |
//! | event-record-class | a class of events |
//!
//! A fragment is parsed as soon as its last brace has arrived. Unknown properties are ignored,
//! unknown fragment types and field class types are errors.

mod classes;
mod fields;
mod object;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

use fields::Known;

use super::error::{DeclarationError, MetadataError, bounded, malformed};
use super::limits;
use super::schema::Schema;

const RECORD_SEPARATOR: u8 = 0x1e;

/// The scanner's state within the sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum In {
    /// Before a record separator.
    #[default]
    Between,
    /// After an error: everything before the next separator is skipped.
    Skip,
    /// Between a record separator and the first brace.
    Begun,
    Object,
    Text,
    /// After a backslash.
    Escape,
}

/// Parses growing metadata.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragments {
    state: In,
    depth: u64,
    pending: Vec<u8>,
    /// Bytes and lines before the pending ones; lines count from 0.
    offset: u64,
    lines: u64,
    /// Byte and line where the latest fragment starts.
    latest: (u64, u64),
    /// The preamble has been parsed.
    began: bool,
    known: Known,
}

impl Fragments {
    /// Takes bytes up to the end of a fragment and parses it. `Ok(true)`: a fragment was parsed.
    pub(super) fn read(
        &mut self,
        bytes: &mut &[u8],
        schema: &mut Schema,
    ) -> Result<bool, MetadataError> {
        let end = self.end(bytes);
        let end = match end {
            Ok(end) => end,
            Err((taken, fault)) => {
                let (lost, rest) = bytes.split_at_checked(taken).unwrap_or((bytes, &[]));
                *bytes = rest;
                let (offset, line) = self.passed(lost);
                return Err(fault.at(offset, line));
            }
        };
        let (taken, rest) =
            bytes.split_at_checked(end.unwrap_or(bytes.len())).unwrap_or((bytes, &[]));
        *bytes = rest;
        let length = self.pending.len() as u64 + taken.len() as u64;
        let (offset, line) = (self.offset, self.lines + 1);
        bounded("bytes of a fragment", length, limits::FRAGMENT)
            .map_err(|fault| fault.at(offset, line))?;
        if end.is_none() {
            self.pending.extend_from_slice(taken);
            return Ok(false);
        }
        let fragment = [&self.pending, taken].concat();
        let (offset, line) = self.passed(taken);
        self.latest = (offset, line);
        let text = fragment
            .iter()
            .position(|b| *b == b'{')
            .and_then(|n| fragment.get(n..))
            .unwrap_or_default();
        let read =
            serde_json::from_slice(text).map_err(|e| DeclarationError::Malformed(e.to_string()));
        read.and_then(|value| self.fragment(&value, schema))
            .map_err(|fault| fault.at(offset, line))?;
        Ok(true)
    }

    /// Number of bytes up to the end of the fragment, if it has arrived. An error has the number of
    /// bytes up to it, at least one.
    fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, (usize, DeclarationError)> {
        for (n, b) in bytes.iter().enumerate() {
            self.state = match (self.state, b) {
                (In::Between | In::Begun, b' ' | b'\t' | b'\r' | b'\n') => self.state,
                (In::Between | In::Skip, &RECORD_SEPARATOR) => In::Begun,
                (In::Skip, _) => In::Skip,
                (In::Begun, b'{') => {
                    self.depth = 1;
                    In::Object
                }
                (In::Between | In::Begun, _) => {
                    self.state = In::Skip;
                    return malformed!("byte {b:#04x} between fragments")
                        .map_err(|fault| (n + 1, fault));
                }
                // JSON never contains this byte: the fragment was cut, and the next one begins.
                (_, &RECORD_SEPARATOR) => {
                    self.state = In::Begun;
                    return malformed!("fragment without an end").map_err(|fault| (n + 1, fault));
                }
                (In::Object, b'"') => In::Text,
                (In::Object, b'{') => {
                    self.depth += 1;
                    In::Object
                }
                (In::Object, b'}') => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.state = In::Between;
                        return Ok(Some(n + 1));
                    }
                    In::Object
                }
                (In::Text, b'"') => In::Object,
                (In::Text, b'\\') => In::Escape,
                (In::Escape, _) => In::Text,
                (state, _) => state,
            };
        }
        Ok(None)
    }

    /// Advances past the pending bytes and these. Returns byte and line of the separator among
    /// them.
    fn passed(&mut self, bytes: &[u8]) -> (u64, u64) {
        let pending = std::mem::take(&mut self.pending);
        let all = || pending.iter().chain(bytes);
        let before = all().take_while(|b| **b != RECORD_SEPARATOR);
        let lines =
            |bytes: &mut dyn Iterator<Item = &u8>| bytes.filter(|b| **b == b'\n').count() as u64;
        let start = (
            self.offset + before.clone().count() as u64,
            self.lines + lines(&mut before.into_iter()) + 1,
        );
        self.offset += (pending.len() + bytes.len()) as u64;
        self.lines += lines(&mut all());
        start
    }

    /// Byte and line where the latest fragment starts.
    pub(super) const fn place(&self) -> (u64, u64) {
        self.latest
    }

    /// Whether a fragment has begun.
    pub(super) fn unfinished(&self) -> bool {
        !matches!(self.state, In::Between | In::Skip)
    }
}
