//! What text and bytes are read with: the only byte access of the decoders, bounds-checked,
//! byte-order aware, the one place that can say "short"; patterns; numbers with units.

mod cursor;
mod glob;
mod quantity;

pub use cursor::{Cursor, Order};
pub use glob::glob;
pub use quantity::{SIZES, quantity};
