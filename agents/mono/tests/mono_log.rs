//! `mono-log` with a stand-in for Mono: a program starts and ends whoever listens.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

/// Runs a script of bash in the place of Mono, with the arguments that Mono would have.
fn run(address: &str, script: &str) -> Output {
    let mono = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mono-stand-in");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mono-log"));
    command.args(["--address", address, "--mono", mono, "a.exe", "-x"]).env("SCRIPT", script);
    command.output().unwrap()
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

#[test]
fn mono_writes_to_the_connection_and_its_status_is_its_own() {
    let (listener, address) = listener();
    let output = run(&address, "echo \"$@\"; echo hello >&\"${1##*#}\"; exit 3");
    let mut text = String::new();
    listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), output.status.code()), ("hello\n", Some(3)));
    let arguments = String::from_utf8(output.stdout).unwrap();
    assert!(arguments.starts_with("--profile=log:nodefaults,counter,"), "{arguments}");
    assert!(arguments.ends_with(" a.exe -x\n"), "{arguments}");
    assert!(output.stderr.is_empty());
    assert_eq!(run(&address, "kill -TERM $$").status.signal(), Some(15));
}

#[test]
fn a_program_starts_without_the_profiler_if_nobody_listens() {
    // A port that was free a moment ago may be another test's: nobody listens on tcpmux.
    let output = run("127.0.0.1:1", "echo \"$@\"; exit 4");
    assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"a.exe -x\n"[..], Some(4)));
    assert!(String::from_utf8(output.stderr).unwrap().contains("refused"));
}

#[test]
fn a_peer_that_never_reads_does_not_keep_it_from_ending() {
    let (_never_reads, address) = listener();
    let script = "trap '' PIPE; head -c 100000000 /dev/zero >&\"${1##*#}\" 2>/dev/null; exit 5";
    assert_eq!(run(&address, script).status.code(), Some(5));
}
