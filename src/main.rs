//! pmdaapm(1): see `pmdaapm --help` and README.md.

use std::process::exit;

use pmdaapm::host::opener;
use pmdaapm::net::guard;
use pmdaapm::sources::registry::{OPENED, errands};
use pmdaapm::{daemon, options};

/// The heap of all that is Rust. libpcp has the C library's.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static HEAP: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if first == guard::ARGUMENT || first == guard::UNCONFINED {
        exit(guard::main(first == guard::ARGUMENT));
    }
    let words: Vec<_> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = &words[..]
        && first == opener::ARGUMENT
    {
        exit(opener::main(rest, OPENED, &errands()));
    }
    match options::parse(std::env::args_os()) {
        Ok((agent, options)) => exit(daemon::main(agent, &options)),
        Err(status) => exit(status),
    }
}
