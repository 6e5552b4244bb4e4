//! Names of sockets and of programs.

/// Bytes of a program's name.
const NAME: usize = 200;

/// Name of the diagnostics socket: process id as the process sees it, and its start time
/// (docs/protocols/dotnet.md 1).
pub(crate) fn socket_name(container_pid: u32, start: u64) -> String {
    format!("dotnet-diagnostic-{container_pid}-{start}-socket")
}

/// Process id and start time of a socket's name.
pub(crate) fn parse_socket_name(name: &[u8]) -> Option<(u32, u64)> {
    let name = std::str::from_utf8(name).ok()?;
    let (pid, start) =
        name.strip_prefix("dotnet-diagnostic-")?.strip_suffix("-socket")?.split_once('-')?;
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(pid) || !digits(start) {
        return None;
    }
    Some((pid.parse().ok()?, start.parse().ok()?))
}

/// Name of a program from its arguments: `app` for `dotnet /x/app.dll`, else the file of the
/// program without folder and suffix. Without blanks, at most 200 bytes; `-` if there is none.
pub(crate) fn program_name(command: &[u8]) -> String {
    let mut arguments = command.split(|&b| b == 0).filter(|a| !a.is_empty());
    let program = file(arguments.next().unwrap_or_default());
    let assembly = if program == b"dotnet" { arguments.find(|a| is_assembly(a)) } else { None };
    let name = stem(assembly.map_or(program, file));
    let mut text: String = String::from_utf8_lossy(name)
        .chars()
        .map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c })
        .collect();
    cut(&mut text, NAME);
    if text.is_empty() { "-".to_owned() } else { text }
}

/// Cuts a text to at most `max` bytes.
pub(super) fn cut(text: &mut String, max: usize) {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

fn file(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| b == b'/').next().unwrap_or(path)
}

fn is_assembly(argument: &[u8]) -> bool {
    !argument.starts_with(b"-") && stem(argument).len() < argument.len()
}

fn stem(file: &[u8]) -> &[u8] {
    match file.split_last_chunk::<4>() {
        Some((stem, suffix))
            if suffix.eq_ignore_ascii_case(b".dll") || suffix.eq_ignore_ascii_case(b".exe") =>
        {
            stem
        }
        _ => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets() {
        assert_eq!(socket_name(1, 242_969), "dotnet-diagnostic-1-242969-socket");
        assert_eq!(parse_socket_name(b"dotnet-diagnostic-1-242969-socket"), Some((1, 242_969)));
        for bad in [
            &b"dotnet-diagnostic-1-socket"[..],
            b"dotnet-diagnostic--1-2-socket",
            b"dotnet-diagnostic-1-2-3-socket",
            b"dotnet-diagnostic-+1-2-socket",
            b"dotnet-diagnostic-99999999999-2-socket",
            b"dotnet-diagnostic-1-99999999999999999999999-socket",
            b"dotnet-diagnostic-dsrouter-1-2-socket",
            b"clr-debug-pipe-1-2-in",
            b"\xff",
            b"",
        ] {
            assert_eq!(parse_socket_name(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn programs() {
        for (command, name) in [
            (&b"dotnet\0/x/app.dll\0--urls\0http://other.dll\0"[..], "app"),
            (b"/usr/bin/dotnet\0exec\0--depsfile\0x.json\0My App.DLL\0", "My_App"),
            (b"/usr/bin/dotnet\0run\0", "dotnet"),
            (b"/opt/svc/Service\0a.dll\0", "Service"),
            (b"/opt/svc/Service.exe\0", "Service"),
            (b"/x/\0", "-"),
            (b"\0\0", "-"),
            (b"", "-"),
            (b"a\xffb\nc\0", "a\u{fffd}b_c"),
        ] {
            assert_eq!(program_name(command), name);
        }
        let long = format!("/{}\0", "\u{e9}".repeat(300));
        assert_eq!(program_name(long.as_bytes()).len(), 200);
    }
}
