//! Decodes bodies: pure, no names and no sums.
//!
//! `unwrap` undoes encodings, `definitions` and `trace` walk what is inside. The dialect
//! is chosen by the bytes, for each record anew.

pub mod body;
mod definitions;
mod error;
mod items;
mod trace;
mod unwrap;

pub use definitions::{Definition, definitions};
pub use error::{BodyError, ErrorKind};
pub use trace::trace;
pub use unwrap::{Content, Encoding, Unwrapped, field, unwrap};
