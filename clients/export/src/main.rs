//! `pcp apm export`.

use std::process::ExitCode;

fn main() -> ExitCode {
    export::command::main(std::env::args_os().skip(1))
}
