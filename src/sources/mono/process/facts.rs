//! What is known of a process, by the host and by what it says of itself, and the name of its program.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::heap_size;
use crate::model::is_invisible;
use crate::read::glob;

/// A process of this host: an id that is used again has another start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    /// Process id as this host sees it.
    pub pid: u32,
    /// Time of the start in clock ticks since boot.
    pub start: u64,
}

/// The facts about a process that the host knows. They do not change while it lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Process id as this host sees it.
    pub pid: u32,
    /// Time of the start in clock ticks since boot.
    pub start: u64,
    /// Time of the start in ms since 1970, if it is known.
    pub started: Option<i64>,
    /// Process id in the innermost pid namespace: what the process calls itself.
    pub inner_pid: u32,
    /// Name of the main thread.
    pub comm: String,
    /// Arguments, each with a NUL behind it; may be empty.
    pub command: Vec<u8>,
    /// Name of the effective user, or its number.
    pub owner: String,
    /// The container that it is in.
    pub container: Option<String>,
    /// It began before this PMDA.
    pub older: bool,
}

heap_size!(Facts { comm, command, owner, container });

impl Facts {
    /// The command line with blanks between arguments.
    pub(crate) fn command_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.command);
        text.trim_end_matches('\0').replace(|c: char| c.is_control(), " ")
    }

    /// The name of the program.
    pub(crate) fn program(&self) -> String {
        let arguments = self.command.split(|&b| b == 0);
        tidy(program(arguments, true).unwrap_or(self.comm.as_bytes()), PROGRAM, "")
    }

    /// One of these patterns, in which `*` is any text, is that of its name.
    pub(crate) fn matches(&self, patterns: &[String]) -> bool {
        let program = self.program();
        patterns.iter().any(|pattern| glob(pattern.as_bytes(), program.as_bytes()))
    }

    /// The process.
    pub(crate) const fn key(&self) -> Key {
        Key { pid: self.pid, start: self.start }
    }
}

/// What a peer says of its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said<'a> {
    /// Process id in its own pid namespace.
    pub pid: u32,
    /// Command line, blanks between arguments.
    pub command: Option<&'a str>,
    /// Time since 1970 of its start, or of that of the stream.
    pub started: Option<Duration>,
}

/// Where a peer's bytes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// A connection, by the addresses and ports of both ends.
    Tcp {
        /// That of the peer.
        peer: SocketAddr,
        /// That of this process.
        ours: SocketAddr,
    },
    /// A file.
    File(PathBuf),
}

/// Answers of the operating system.
pub(crate) trait Host: Send + Sync {
    /// The process that says so of itself and has the connection or the file open. A file may be
    /// closed again if the start times fit. `None`: it is on another host, has ended or is hidden
    /// from us.
    fn find(&self, via: &Via, said: &Said<'_>) -> Option<Facts>;
}

/// Characters of a program's name in an instance name.
pub(crate) const PROGRAM: usize = 64;
/// Options of `mono` whose value is an argument of its own.
const WITH_VALUE: [&[u8]; 7] = [
    b"--config",
    b"--compile",
    b"--ncompile",
    b"--break",
    b"--statfile",
    b"--inject-async-exc",
    b"--attach",
];

/// The program of a command line: the first argument of `mono` that is no option; of programs that
/// embed Mono their assembly or else themselves. `whole`: arguments are not parted at their blanks.
pub(crate) fn program<'a>(
    arguments: impl Iterator<Item = &'a [u8]>,
    whole: bool,
) -> Option<&'a [u8]> {
    let mut arguments = arguments.filter(|a| !a.is_empty());
    let started = base(arguments.next()?);
    let found = if started.starts_with(b"mono") {
        of_mono(arguments, whole)
    } else {
        arguments.find(|a| is_assembly(a))
    };
    Some(found.map_or(started, base)).filter(|name| !name.is_empty())
}

fn of_mono<'a>(mut arguments: impl Iterator<Item = &'a [u8]>, whole: bool) -> Option<&'a [u8]> {
    let program = loop {
        match arguments.next()? {
            b"--" => break arguments.next()?,
            option if WITH_VALUE.contains(&option) => drop(arguments.next()),
            option if option.starts_with(b"-") => {}
            program => break program,
        }
    };
    if whole || is_assembly(program) {
        return Some(program);
    }
    // It may be the first piece of a path with blanks.
    arguments.find(|a| is_assembly(a)).or(Some(program))
}

fn base(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| b == b'/' || b == b'\\').next().unwrap_or(path)
}

fn is_assembly(argument: &[u8]) -> bool {
    let end = argument.last_chunk::<4>().filter(|_| !argument.starts_with(b"-"));
    end.is_some_and(|end| end.eq_ignore_ascii_case(b".exe") || end.eq_ignore_ascii_case(b".dll"))
}

/// A name for a part of an instance name: at most `most` characters, those that an instance name
/// should not have become `_`. What is changed so ends with `~` and digits of its own, since two
/// names that differ stay different; no name has a `~` otherwise.
pub(crate) fn tidy(raw: &[u8], most: usize, also: &str) -> String {
    if raw.is_empty() {
        return "mono".to_owned();
    }
    let text = String::from_utf8_lossy(raw);
    let allowed = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '+' | '-' => true,
        _ if c.is_ascii() => also.contains(c),
        // PCP takes any: those that a terminal or a table would not show as they are.
        _ => !(c.is_whitespace() || c.is_control() || is_invisible(c)),
    };
    let valid = matches!(text, Cow::Borrowed(_));
    if valid && text.chars().all(allowed) && text.chars().nth(most).is_none() {
        return text.into_owned();
    }
    let kept = most.saturating_sub(1 + 2 * size_of::<u32>());
    let tidy: String = text.chars().take(kept).map(|c| if allowed(c) { c } else { '_' }).collect();
    format!("{tidy}~{:08x}", digest(raw))
}

/// FNV-1a: the same in every version of this program, as the names in archives are.
fn digest(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(command: &[u8], comm: &str) -> String {
        Facts { command: command.to_vec(), comm: comm.to_owned(), ..Facts::default() }.program()
    }

    #[test]
    fn programs() {
        for (command, name) in [
            (
                &b"mono\0--profile=apm:interval=10\0/opt/my app/gcpressure.exe\x0010\0"[..],
                "gcpressure.exe",
            ),
            (b"/usr/bin/mono-sgen\0--debug\0Server.DLL\0", "Server.DLL"),
            (b"mono\0--config\0x.exe\0-O=all\0/srv/gc pressure.exe\0", "gc_pressure.exe~ae54a2a4"),
            (b"mono\0script\0arg.exe\0", "script"),
            (b"mono\0--\0--odd\0", "--odd"),
            (b"mono\0--debug\0", "mono"),
            (b"/usr/bin/myhost\0--x\0", "myhost"),
            (b"/usr/bin/myhost\0--x=a.dll\0/p/plugin.dll\0", "plugin.dll"),
            (b"mono\0C:\\apps\\a.exe\0", "a.exe"),
            (b"", "comm"),
            (b"\0\0", "comm"),
            (b"/x/\0", "comm"),
        ] {
            assert_eq!(program(command, "comm"), name, "{}", command.escape_ascii());
        }
        let long = format!("/{}\0", "\u{e9}".repeat(300));
        let name = program(long.as_bytes(), "");
        assert_eq!(name.chars().count(), PROGRAM);
        assert!(name.starts_with(&"\u{e9}".repeat(PROGRAM - 9)), "{name}");
    }

    #[test]
    fn names_of_any_language_stay_as_they_are() {
        for name in ["日本.exe", "中国.exe", "Größe.exe", "नमस्ते.exe", "e\u{301}.exe", "🚀.exe"]
        {
            assert_eq!(program(format!("mono\0/srv/{name}\0").as_bytes(), ""), name);
        }
    }

    #[test]
    fn names_that_differ_stay_different() {
        let long = "x".repeat(PROGRAM);
        let longer = [format!("{long}1"), format!("{long}2")];
        let names: [&[u8]; 17] = [
            b"gc_pressure.exe",
            b"gc pressure.exe",
            b"gc\tpressure.exe",
            b"gc\x1bpressure.exe",
            b"gc\"pressure.exe",
            b"gc'pressure.exe",
            b"gc,pressure.exe",
            b"gc:pressure.exe",
            b"gc*pressure.exe",
            b"gc~pressure.exe",
            b"gc\xffpressure.exe",
            b"gc\xfepressure.exe",
            "gc\u{202e}pressure.exe".as_bytes(),
            "gc\u{a0}pressure.exe".as_bytes(),
            long.as_bytes(),
            longer[0].as_bytes(),
            longer[1].as_bytes(),
        ];
        let tidied: Vec<_> = names.iter().map(|name| tidy(name, PROGRAM, "")).collect();
        let different: std::collections::HashSet<_> = tidied.iter().collect();
        assert_eq!(different.len(), names.len(), "{tidied:?}");
        for name in &tidied {
            assert!(name.chars().count() <= PROGRAM, "{name}");
            assert!(!name.contains(|c: char| c.is_whitespace() || "\"',:*".contains(c)), "{name}");
            // What is tidy stays so.
            if !name.contains('~') {
                assert_eq!(tidy(name.as_bytes(), PROGRAM, ""), *name);
            }
        }
    }
}
