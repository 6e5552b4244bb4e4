//! Events of EventSources: which field becomes which parameter, and the packing.

mod class;
mod pack;
mod parameter;
mod value;

pub(super) use class::{Class, Definitions, is_message, message};
pub(super) use pack::{Buffers, pack};
pub(crate) use parameter::restore;
