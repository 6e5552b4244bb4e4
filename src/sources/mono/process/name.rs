//! The name of a program.

/// Characters of a program's name in an instance name.
const PROGRAM: usize = 64;
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

/// The program of a command line whose arguments end in NULs: the first argument of `mono` that is
/// no option; of programs that embed Mono their assembly or else themselves. `comm` without
/// arguments.
pub(super) fn program(command: &[u8], comm: &str) -> String {
    let mut arguments = command.split(|&b| b == 0).filter(|a| !a.is_empty());
    let started = arguments.next().map(base).unwrap_or_default();
    let found = if started.starts_with(b"mono") {
        of_mono(arguments)
    } else {
        arguments.find(|a| !a.starts_with(b"-") && is_assembly(a))
    };
    let name = found.map_or(started, base);
    let name = if name.is_empty() { comm.as_bytes() } else { name };
    tidy(&String::from_utf8_lossy(name), PROGRAM, "")
}

fn of_mono<'a>(mut arguments: impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    loop {
        match arguments.next()? {
            b"--" => return arguments.next(),
            option if WITH_VALUE.contains(&option) => drop(arguments.next()),
            option if option.starts_with(b"-") => {}
            program => return Some(program),
        }
    }
}

fn base(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| b == b'/' || b == b'\\').next().unwrap_or(path)
}

fn is_assembly(argument: &[u8]) -> bool {
    argument
        .last_chunk::<4>()
        .is_some_and(|end| end.eq_ignore_ascii_case(b".exe") || end.eq_ignore_ascii_case(b".dll"))
}

/// At most `most` characters; those that an instance name should not have become `_`.
pub(crate) fn tidy(raw: &str, most: usize, also: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c) || also.contains(c);
    let tidy: String = raw.chars().take(most).map(|c| if allowed(c) { c } else { '_' }).collect();
    if tidy.is_empty() { "mono".to_owned() } else { tidy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs() {
        for (command, name) in [
            (
                &b"mono\0--profile=apm:interval=10\0/opt/my app/gcpressure.exe\x0010\0"[..],
                "gcpressure.exe",
            ),
            (b"/usr/bin/mono-sgen\0--debug\0Server.DLL\0", "Server.DLL"),
            (b"mono\0--config\0x.exe\0-O=all\0/srv/gc pressure.exe\0", "gc_pressure.exe"),
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
        assert_eq!(program(long.as_bytes(), ""), "_".repeat(PROGRAM));
    }
}
