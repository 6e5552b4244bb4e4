//! pmdaapm(1): see `pmdaapm --help` and README.md.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::process::exit;

use pmdaapm::{daemon, pcp::Agent};

fn main() {
    // Arguments of a process hold no NUL.
    let args: Vec<CString> =
        std::env::args_os().filter_map(|a| CString::new(a.into_vec()).ok()).collect();
    match Agent::from_arguments(&args) {
        Ok((agent, options)) => exit(daemon::main(agent, &options)),
        Err(status) => exit(status),
    }
}
