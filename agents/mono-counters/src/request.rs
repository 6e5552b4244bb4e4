//! Command bytes from inspector to agent, in the numbers of the public note. Agents of 2014 have
//! numbers that are lower by one, except [`GOOD_BYE`].

/// List: no arguments.
pub const LIST: u8 = 1;
/// Add: name string, category string.
pub const ADD: u8 = 2;
/// Remove: index short; a negative one means all counters.
pub const REMOVE: u8 = 3;
/// The inspector closes the connection.
pub const GOOD_BYE: u8 = 127;
