//! Prints the events of CTF traces in time order, as `babeltrace2 --clock-gmt --clock-date` does.
//!
//! ```text
//! cargo run -p ctf --example ctfdump -- [--cycles | --counts] DIR...
//! ```
//!
//! `--cycles`: clock values instead of dates. `--counts`: the number of events of each class.
//! Discarded events and packets, and errors, go to stderr; an error makes the exit status 1.
#![allow(clippy::print_stderr, reason = "a tool")]

mod dump;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ctf::fs::Session;

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
    let mut out = std::io::stdout().lock();
    let errors = match Session::open_all(&dirs) {
        Ok((session, errors)) => {
            let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let dumped = dump::dump(&session, how, &mut out);
            match dumped.and_then(|report| out.flush().map(|()| report)) {
                Ok(report) => {
                    report.lost.iter().for_each(|lost| eprintln!("{lost}"));
                    errors.extend(report.errors);
                    errors
                }
                // The reader has closed the output.
                Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
                Err(e) => vec![e.to_string()],
            }
        }
        Err(e) => vec![e.to_string()],
    };
    errors.iter().for_each(|error| eprintln!("ctfdump: {error}"));
    if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
