//! Captures of Mono 6.8 and 6.12 against what the programs counted themselves, and the traps of
//! docs/protocols/mono-mlpd.md 6.

mod captures;
mod kit;
mod options;
mod records;
mod traps;
