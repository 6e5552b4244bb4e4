//! What text and bytes are read with: the only byte access of the decoders, bounds-checked,
//! byte-order aware, the one place that can say "short"; numbers with units.

mod cursor;
mod quantity;

pub use cursor::{Cursor, Order};
pub use pcp_event::glob;
pub use quantity::{SIZES, TIMES, quantity};
