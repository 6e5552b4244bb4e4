//! Decodes bodies: pure, no names and no sums.

pub(crate) mod body;
