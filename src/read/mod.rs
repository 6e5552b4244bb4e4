//! The only byte access of the decoders: bounds-checked, byte-order aware, and the one place that can say "short".

mod cursor;
mod glob;

pub use cursor::{Cursor, Order};
pub use glob::glob;
