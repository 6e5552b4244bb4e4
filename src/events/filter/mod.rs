//! Filters: which records a client wants, as an expression over the parameters of a record, in the syntax of LTTng's
//! filters.
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
//! A name is the end of a parameter's full name, from a dot on; `timestamp` (seconds since 1970), `flags` and `instance` are
//! always there. A comparison with a parameter that a record does not have is false, also with `!=`. Text is compared with
//! `==` and `!=` only; `\*`, `\"` and `\\` stand for the characters themselves. A name alone is true when it is not 0 and
//! not empty.

mod eval;
mod lex;
mod parse;

use crate::model::{Pmid, ValueType};
use eval::Expr;

/// Most bytes of a filter.
pub const FILTER_MAX: usize = 4096;
/// Most parentheses and `!` inside each other.
const DEPTH_MAX: usize = 64;

/// Knows the parameters of a kind of records.
pub trait Names {
    /// All parameters whose full name ends in `name`, from a dot on or whole, with their types.
    fn find(&self, name: &str) -> Vec<(Pmid, ValueType)>;
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
    expr: Expr,
}

impl Filter {
    /// Reads a filter; `names` says what may be asked for.
    ///
    /// # Errors
    /// [`FilterError`] for what cannot be understood, for a name that no parameter has and for text compared with a number.
    pub fn parse(text: &str, names: &dyn Names) -> Result<Self, FilterError> {
        if text.len() > FILTER_MAX {
            let message = format!("a filter has at most {FILTER_MAX} bytes");
            return Err(FilterError { column: FILTER_MAX, message });
        }
        Ok(Self { text: text.into(), expr: parse::parse(text, names)? })
    }

    /// The filter as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the client wants `record` (packed, high resolution) of `instance`.
    #[must_use]
    pub fn keeps(&self, record: &[u8], instance: &str) -> bool {
        self.expr.is_true(&eval::Subject { record, instance })
    }
}

#[cfg(test)]
mod tests;
