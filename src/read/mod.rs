//! Readers of bytes and text: the bounds-checked cursor, aware of byte order, through which
//! decoders access all bytes; and numbers with units.

mod cursor;
mod quantity;

pub use cursor::{Cursor, Order};
pub use pcp_event::glob;
pub use quantity::{SIZES, TIMES, quantity};
