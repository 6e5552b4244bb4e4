//! Prints the events below a directory with the names of their fields, in time order.
//!
//! ```text
//! cargo run -p ctf --example records -- crates/ctf/examples/trace
//! ```
#![allow(clippy::print_stdout, reason = "a tool")]

use ctf::fs::{Error, Session};

fn main() -> Result<(), Error> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "crates/ctf/examples/trace".to_owned());
    let session = Session::open(dir)?;
    for record in session.records() {
        println!("{}", record?);
    }
    Ok(())
}
