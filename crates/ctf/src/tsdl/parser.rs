//! The state of parsing one declaration: tokens, names, position.

use super::lexer::{Lexer, Token, Word};
use super::names::Names;
use crate::error::{DeclarationError, MetadataError, bounded};
use crate::limits;

pub(super) type Parsed<T> = Result<T, MetadataError>;

/// Right side of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Integer(i128),
    Text(String),
    /// `clock.monotonic.value`
    Path(String),
}

/// Parses one declaration.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    text: &'a [u8],
    /// Byte and line of the declaration's start in the metadata.
    base: (u64, u64),
    lexer: Lexer<'a>,
    /// The next token.
    pub(super) token: Token<'a>,
    pub(super) names: &'a mut Names,
    depth: u64,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a [u8], base: (u64, u64), names: &'a mut Names) -> Parsed<Self> {
        let token = Token { word: Word::End, at: 0 };
        let mut parser = Self { text, base, lexer: Lexer::new(text), token, names, depth: 0 };
        parser.advance()?;
        Ok(parser)
    }

    /// An error at a byte offset of the declaration.
    fn fault_at(&self, at: usize, fault: DeclarationError) -> MetadataError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let lines = before.iter().filter(|b| **b == b'\n').count();
        fault.at(self.base.0 + at as u64, self.base.1 + lines as u64)
    }

    /// An error at the next token.
    pub(super) fn fault(&self, fault: DeclarationError) -> MetadataError {
        self.fault_at(self.token.at, fault)
    }

    /// A syntax error or broken rule at the next token.
    pub(super) fn wrong<T>(&self, what: impl Into<String>) -> Parsed<T> {
        Err(self.fault(DeclarationError::Malformed(what.into())))
    }

    /// Adds the position to an error.
    pub(super) fn check<T>(&self, result: Result<T, DeclarationError>) -> Parsed<T> {
        result.map_err(|fault| self.fault(fault))
    }

    /// Returns the next token and advances.
    pub(super) fn advance(&mut self) -> Parsed<Token<'a>> {
        let next = self.lexer.next().map_err(|(at, fault)| self.fault_at(at, fault))?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    pub(super) fn at_punctuation(&self, mark: &str) -> bool {
        matches!(self.token.word, Word::Punctuation(m) if m == mark)
    }

    pub(super) fn at_name(&self, name: &str) -> bool {
        matches!(self.token.word, Word::Name(n) if n == name)
    }

    /// Advances if this punctuation is next.
    pub(super) fn skip(&mut self, mark: &str) -> Parsed<bool> {
        let there = self.at_punctuation(mark);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    pub(super) fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.skip(mark)? {
            Ok(())
        } else {
            self.wrong(format!("{mark} expected, not {}", self.shown()))
        }
    }

    /// The next token as text, for error messages.
    pub(super) fn shown(&self) -> String {
        match &self.token.word {
            Word::Name(name) => (*name).to_owned(),
            Word::Integer(n) => n.to_string(),
            Word::Text(text) => format!("{text:?}"),
            Word::Punctuation(mark) => (*mark).to_owned(),
            Word::End => "the end".to_owned(),
        }
    }

    pub(super) fn name(&mut self, what: &str) -> Parsed<&'a str> {
        let Word::Name(name) = self.token.word else {
            return self.wrong(format!("{what} expected, not {}", self.shown()));
        };
        self.advance()?;
        Ok(name)
    }

    /// Runs `inner` one nesting level deeper.
    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        self.check(bounded("depth of declarations", self.depth, limits::DEPTH))?;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Runs `inner` in a new lexical scope.
    pub(super) fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.names.enter();
        let result = self.deeper(inner);
        self.names.leave();
        result
    }

    /// Parses an integer constant with its signs.
    pub(super) fn integer(&mut self) -> Parsed<i128> {
        let mut negative = false;
        while self.at_punctuation("-") || self.at_punctuation("+") {
            negative ^= self.at_punctuation("-");
            self.advance()?;
        }
        let Word::Integer(n) = self.token.word else {
            return self.wrong(format!("integer expected, not {}", self.shown()));
        };
        self.advance()?;
        Ok(if negative { -i128::from(n) } else { i128::from(n) })
    }

    /// Parses names separated by dots.
    pub(super) fn path(&mut self) -> Parsed<String> {
        let mut path = self.name("name")?.to_owned();
        while self.skip(".")? || self.skip("->")? {
            path.push('.');
            path.push_str(self.name("name")?);
            self.check(bounded("length of a path", path.len() as u64, limits::NAME))?;
        }
        Ok(path)
    }

    /// Parses the right side of `=`.
    pub(super) fn value(&mut self) -> Parsed<Value> {
        match &self.token.word {
            Word::Name(_) => Ok(Value::Path(self.path()?)),
            Word::Text(_) => {
                let mut whole = String::new();
                while let Word::Text(text) = &self.token.word {
                    whole.push_str(text);
                    self.check(bounded("length of a string", whole.len() as u64, limits::NAME))?;
                    self.advance()?;
                }
                Ok(Value::Text(whole))
            }
            _ => Ok(Value::Integer(self.integer()?)),
        }
    }
}

impl Value {
    /// An unsigned number.
    pub(super) fn unsigned(&self) -> Result<u64, DeclarationError> {
        match self {
            Self::Integer(n) => u64::try_from(*n).map_err(|_| {
                DeclarationError::Malformed(format!("{n} is no unsigned number of 64 bits"))
            }),
            other => Err(DeclarationError::Malformed(format!("number expected, not {other}"))),
        }
    }

    /// A signed number.
    pub(super) fn signed(&self) -> Result<i64, DeclarationError> {
        match self {
            Self::Integer(n) => i64::try_from(*n).map_err(|_| {
                DeclarationError::Malformed(format!("{n} is no signed number of 64 bits"))
            }),
            other => Err(DeclarationError::Malformed(format!("number expected, not {other}"))),
        }
    }

    /// A text, quoted or not.
    pub(super) fn text(&self) -> Result<&str, DeclarationError> {
        match self {
            Self::Text(text) | Self::Path(text) => Ok(text),
            Self::Integer(n) => Err(DeclarationError::Malformed(format!("text expected, not {n}"))),
        }
    }

    /// A boolean in any spelling.
    pub(super) fn truth(&self) -> Result<bool, DeclarationError> {
        match self {
            Self::Integer(n) => Ok(*n != 0),
            Self::Text(text) | Self::Path(text) => match text.as_str() {
                "true" | "TRUE" => Ok(true),
                "false" | "FALSE" => Ok(false),
                other => {
                    Err(DeclarationError::Malformed(format!("true or false expected, not {other}")))
                }
            },
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(n) => write!(f, "{n}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Path(path) => f.write_str(path),
        }
    }
}
