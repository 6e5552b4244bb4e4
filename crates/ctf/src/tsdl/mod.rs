//! Trace Stream Description Language: the metadata of CTF 1.8 (specification of 2012 and later,
//! chapter 7 and appendix C).
//!
//! Text arrives in pieces of any size. [`Tsdl`] buffers incomplete declarations; each complete one
//! is parsed by recursive descent, without a syntax tree, into the [`Schema`]. A faulty declaration
//! is dropped; the others are not affected.

mod blocks;
mod declare;
mod lexer;
mod location;
mod names;
mod numbers;
mod parser;
mod roles;
mod split;

#[cfg(test)]
mod tests;

use names::Names;
use parser::Parser;
use split::Splitter;

use super::error::{MetadataError, bounded};
use super::limits;
use super::schema::Schema;

/// Parses growing TSDL text.
#[derive(Clone, Debug, Default)]
pub(super) struct Tsdl {
    splitter: Splitter,
    /// An incomplete declaration.
    pending: Vec<u8>,
    names: Names,
    /// Bytes and lines of text before the pending ones; lines count from 0.
    offset: u64,
    lines: u64,
    /// Byte and line where the latest declaration starts.
    latest: (u64, u64),
}

impl Tsdl {
    /// Takes text up to the end of a declaration and parses it. `Ok(true)`: a declaration was
    /// parsed; its text is removed from `text`, which may contain more.
    pub(super) fn declaration(
        &mut self,
        text: &mut &[u8],
        schema: &mut Schema,
    ) -> Result<bool, MetadataError> {
        let end = self.splitter.end(text);
        let (taken, rest) = text.split_at_checked(end.unwrap_or(text.len())).unwrap_or((text, &[]));
        *text = rest;
        let length = self.pending.len() as u64 + taken.len() as u64;
        let (offset, line) = (self.offset, self.lines + 1);
        bounded("bytes of a declaration", length, limits::DECLARATION)
            .map_err(|fault| fault.at(offset, line))?;
        self.pending.extend_from_slice(taken);
        if end.is_none() {
            return Ok(false);
        }
        let declaration = std::mem::take(&mut self.pending);
        self.offset += length;
        self.lines += newlines(&declaration);
        let blank = declaration.len() - trim(&declaration).len();
        let before = declaration.get(..blank).unwrap_or_default();
        self.latest = (offset + blank as u64, line + newlines(before));
        let read = Parser::new(&declaration, (offset, line), &mut self.names)
            .and_then(|mut parser| parser.declaration(schema));
        self.names.reset();
        read.map(|()| true)
    }

    /// Byte and line where the latest declaration starts.
    pub(super) const fn place(&self) -> (u64, u64) {
        self.latest
    }

    /// Whether a token of an incomplete declaration has arrived; white space and comments do not
    /// count.
    pub(super) fn unfinished(&self) -> bool {
        let mut lexer = lexer::Lexer::new(&self.pending);
        !matches!(lexer.next(), Ok(token) if token.word == lexer::Word::End)
    }
}

fn newlines(text: &[u8]) -> u64 {
    text.iter().filter(|b| **b == b'\n').count() as u64
}

/// The text from the first token on.
fn trim(text: &[u8]) -> &[u8] {
    let start = lexer::Lexer::new(text).next().map_or(0, |token| token.at);
    text.get(start..).unwrap_or_default()
}
