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
    let mut words = std::env::args_os().skip(1);
    let first = words.next().unwrap_or_default();
    if first == guard::ARGUMENT || first == opener::ARGUMENT {
        let rest: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        exit(match first == guard::ARGUMENT {
            true => guard::main(&rest),
            false => opener::main(&rest, OPENED, &errands()),
        });
    }
    match options::parse(std::env::args_os()) {
        Ok((agent, options)) => exit(daemon::main(agent, &options)),
        Err(status) => exit(status),
    }
}
