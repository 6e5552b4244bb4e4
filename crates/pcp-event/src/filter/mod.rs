//! Filters: which records a client wants, as an expression over the parameters of a record, in the
//! syntax of LTTng's filters.
//!
//! ```text
//! expression   or
//! or           and { "||" and }
//! and          unary { "&&" unary }
//! unary        "!" unary | "(" or ")" | operand [ ("==" | "!=" | "<" | "<=" | ">" | ">=") operand ]
//! operand      name | number | "text with * for any characters"
//! name         duration   call.duration   apm.profiler.param.call.duration   $ctx.vtid
//! number       12   -3   0x1f   017   2.5   1e6
//! ```
//! A name is the end of a parameter's full name, from a dot on; `timestamp` (seconds since 1970),
//! `flags` and `instance` are always there. A comparison with a parameter that a record does not
//! have is false, also with `!=`. Text is compared with `==` and `!=` only; `\*`, `\"` and `\\`
//! stand for the characters themselves. A name alone is true when it is not 0 and not empty.
//!
//! ```text
//! text → words (lex) → expression, names in slots (parse) → comparisons with jumps (program)
//! record → one pass over its parameters puts those that are asked for into their slots → program (eval)
//! ```

mod eval;
mod glob;
mod lex;
mod parse;
mod program;

pub use eval::RecordMatcher;
use program::Program;

use crate::{Pmid, ValueType};

/// Most bytes of a filter.
pub const FILTER_MAX: usize = 4096;
/// Most parentheses and `!` inside each other.
const DEPTH_MAX: usize = 64;
/// Most comparisons of a filter, most different names in it, and most `*` in its texts.
const TERMS_MAX: usize = 128;
const NAMES_MAX: usize = 32;
const STARS_MAX: usize = 128;
/// Most parameters that the names of one filter may stand for together.
const MEANT_MAX: usize = 16 << 10;

/// Knows the parameters of a kind of records.
pub trait ParameterNames {
    /// How many are known: those that come later have higher numbers.
    fn known(&self) -> usize {
        0
    }

    /// All parameters from number `from` on whose full name ends in `name`, from a dot on or whole,
    /// with their types.
    fn find(&self, name: &str, from: usize) -> Vec<(Pmid, ValueType)>;
}

/// What is wrong with a filter, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct FilterError {
    /// Characters before it, plus one.
    pub column: usize,
    /// What was expected.
    pub message: String,
}

/// A filter in force.
#[derive(Clone, Debug)]
pub struct Filter {
    text: String,
    program: Program,
    /// ParameterNames by slot.
    names: Vec<String>,
    /// Parameters and their slots, in the order of parameters.
    meant: Vec<(u32, u16)>,
    /// Parameters known when the names were last looked up.
    known: usize,
}

impl Filter {
    /// Reads a filter; `names` says what may be asked for.
    ///
    /// # Errors
    /// [`FilterError`] for what cannot be understood, for a name that no parameter has, for text
    /// compared with a number, and for more than is allowed.
    pub fn parse(text: &str, names: &dyn ParameterNames) -> Result<Self, FilterError> {
        if text.len() > FILTER_MAX {
            let message = format!("a filter has at most {FILTER_MAX} bytes");
            return Err(FilterError { column: FILTER_MAX, message });
        }
        let parse::Parsed { expr, slots, mut meant } = parse::parse(text, names)?;
        meant.sort_unstable();
        Ok(Self {
            text: text.into(),
            program: Program::new(&expr),
            names: slots,
            meant,
            known: names.known(),
        })
    }

    /// Parameters have come since: names may stand for them too. Only those that are new are looked
    /// at.
    pub fn refresh(&mut self, names: &dyn ParameterNames) {
        let known = names.known();
        if known <= self.known {
            return;
        }
        let before = self.meant.len();
        for (slot, name) in (0..).zip(&self.names) {
            let room = MEANT_MAX.saturating_sub(self.meant.len());
            self.meant.extend(
                names.find(name, self.known).into_iter().take(room).map(|(pmid, _)| (pmid.0, slot)),
            );
        }
        if self.meant.len() > before {
            self.meant.sort_unstable();
            self.meant.dedup();
        }
        self.known = known;
    }

    /// The filter as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let names: usize = self.names.iter().map(|n| size_of::<String>() + n.len()).sum();
        size_of::<Self>()
            + self.text.len()
            + names
            + self.meant.len() * size_of::<(u32, u16)>()
            + self.program.memory()
    }

    /// Judges records of `instance`.
    #[must_use]
    pub fn matcher<'f>(&'f self, instance: &'f str) -> RecordMatcher<'f> {
        RecordMatcher::new(self, instance)
    }
}

#[cfg(test)]
mod tests;
