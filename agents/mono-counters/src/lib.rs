//! Numbers and layouts of the Mono counters-agent protocol, for its agent and its inspector
//! (`docs/protocols/mono-counters.md` section 1, 2, 4 and 5). All integers are in the byte order of
//! the agent's host.
//!
//! | element | layout |
//! |---|---|
//! | string | length int, bytes; [`NULL_STRING`](message::NULL_STRING) has no bytes |
//! | headers | count short, headers |
//! | header | category int, name string, type int, unit int, variance int, index short |
//! | value | index short, size short, bytes |
//! | values | values, then [`END_OF_VALUES`](message::END_OF_VALUES) |
//! | status | char: [`Status`](message::Status) |
//!
//! ```
//! use mono_counters::numbers::{Space, section};
//!
//! assert_eq!(Space::E3.category(section::GC), "GC");
//! ```

pub mod message;
pub mod numbers;
pub mod request;
