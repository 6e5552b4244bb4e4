//! Filters: an expression over the parameters of a record selects a client's records. The syntax is
//! that of C expressions, with `*` in texts as in common tracers.
//!
//! ```text
//! expression   or
//! or           and { "||" and }
//! and          unary { "&&" unary }
//! unary        "!" unary | "(" or ")" | operand [ ("==" | "!=" | "<" | "<=" | ">" | ">=") operand ]
//! operand      name | number | "text with * for any characters"
//! name         duration   call.duration   app.param.call.duration   $ctx.vtid
//! number       12   -3   0x1f   017   2.5   1e6
//! ```
//! A name is the end of a parameter's full name, starting after a dot or at its beginning. Every
//! record has `timestamp` (seconds since 1970), `flags` and `instance`. A comparison with a
//! parameter that is missing in the record is false, also with `!=`. Texts are compared with `==`
//! and `!=` only; `\*`, `\"` and `\\` stand for the characters themselves. A name alone is true if
//! its value is neither 0 nor empty.
//!
//! ```text
//! text → tokens (lex) → expression, names in slots (parse) → questions with jumps (program)
//! record → one pass over its parameters finds the value of each slot → program (eval)
//! ```

mod compiled;
mod error;
mod eval;
mod expression;
mod find;
mod lex;
mod names;
mod parse;
mod program;

pub use compiled::Filter;
pub use error::{FILTER_MAX, FilterError};
pub use eval::RecordMatcher;
pub use names::ParameterNames;

#[cfg(test)]
mod tests;
