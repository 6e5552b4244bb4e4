//! LTTng.

pub mod control;
