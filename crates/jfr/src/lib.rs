#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod chunk;
mod cursor;
mod error;
pub mod limits;
mod metadata;
mod stacks;
mod typed;
mod value;

pub use chunk::{Chunk, Event, Events, HEADER, Header};
pub use error::Error;
pub use metadata::{Class, Field};
pub use stacks::{Names, Stack};
pub use typed::{Collection, Enter, Known, Pause, Sample, Thread, Thrown, class_name, known};
pub use value::{Key, List, Record, Text, Value};
