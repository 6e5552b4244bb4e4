//! Prints the events of CTF traces in the order of time, as `babeltrace2 --clock-gmt --clock-date`
//! does.
//!
//! ```text
//! cargo run --no-default-features --example ctfdump -- [--cycles | --counts] DIR...
//! ```
//!
//! `--cycles`: clock values instead of dates. `--counts`: how many events of each class, and what
//! was lost. What was lost and what could not be read is told on stderr; the latter makes the exit
//! status 1.
#![allow(clippy::print_stderr, reason = "a tool")]

mod dump;
mod traces;

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "ctfdump [--cycles | --counts] DIR...";

fn main() -> ExitCode {
    let (mut how, mut dirs) = (dump::How::default(), Vec::new());
    for word in std::env::args().skip(1) {
        match word.as_str() {
            "--cycles" => how = dump::How::Cycles,
            "--counts" => how = dump::How::Counts,
            "-h" | "--help" => {
                eprintln!("{USAGE}");
                return ExitCode::SUCCESS;
            }
            _ => dirs.push(PathBuf::from(word)),
        }
    }
    if dirs.is_empty() {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let faults = match traces::read(&dirs) {
        Ok((traces, mut faults)) => {
            let dumped = dump::dump(&traces, how, &mut out);
            match dumped.and_then(|told| out.flush().map(|()| told)) {
                Ok(told) => {
                    told.lost.iter().for_each(|lost| eprintln!("{lost}"));
                    faults.extend(told.faults);
                    faults
                }
                // Who reads has seen enough.
                Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
                Err(e) => vec![e.to_string()],
            }
        }
        Err(e) => vec![e],
    };
    faults.iter().for_each(|fault| eprintln!("ctfdump: {fault}"));
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
