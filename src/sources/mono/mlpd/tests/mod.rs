//! Captures and streams made by hand.

mod first;
