//! pmdaapm(1): see `pmdaapm --help` and README.md.

use std::process::exit;

use pmdaapm::{daemon, options};

fn main() {
    match options::parse(std::env::args_os()) {
        Ok((agent, options)) => exit(daemon::main(agent, &options)),
        Err(status) => exit(status),
    }
}
