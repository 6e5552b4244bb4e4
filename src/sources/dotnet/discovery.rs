//! Which .NET processes there are and who may read them, without I/O: texts of /proc, names of
//! sockets, and the words for those that cannot be read (docs/protocols/dotnet.md 1). A text that is not
//! as expected is absent.

use std::path::Path;
use std::sync::Arc;

use super::limits;

/// A process with a .NET runtime. What is here does not change while it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Process id as this host sees it; 0: the process is in another pid namespace that is not
    /// below that of the PMDA.
    pub pid: u32,
    /// Time of the start in clock ticks since boot, which is the key of the socket's name
    /// (docs/protocols/dotnet.md 1); 0 if `pid` is 0.
    pub start: u64,
    /// Time of the start in ms since 1970, if it is known.
    pub started: Option<i64>,
    /// Process id in the innermost pid namespace: what the process calls itself.
    pub container_pid: u32,
    /// Effective user.
    pub uid: u32,
    /// Name of the user, or its number.
    pub owner: String,
    /// The container that it is in.
    pub container: Option<String>,
    /// Name from the command line: `app` for `dotnet /x/app.dll`. At most 200 bytes.
    pub name: String,
    /// Command line with blanks between arguments, at most [`limits::TEXT`]
    /// bytes.
    pub command: String,
    /// Tells processes of one name apart: start time, or the cookie of the runtime.
    pub key: String,
}

impl Target {
    /// The process id for names of instances.
    pub(crate) const fn shown_pid(&self) -> u32 {
        if self.pid == 0 { self.container_pid } else { self.pid }
    }
}

/// How a process is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// Through its diagnostics socket.
    Socket,
    /// Through a connection that it made to `dotnet.listen`.
    Port,
}

/// Whether a process can be read now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It can be connected to.
    Open(Via),
    /// It has a socket, or may have one, that this user may not connect to: why, and what to do.
    Denied(Arc<str>),
    /// It has no socket: why.
    Off(Arc<str>),
}

/// What a look at a process has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Clock ticks since boot.
    pub start: u64,
    /// Name of the program's file or of the main thread.
    pub comm: Vec<u8>,
    /// Effective user.
    pub uid: u32,
    /// Its socket.
    pub socket: Socket,
    /// Whether it has mapped a .NET runtime; `None`: not looked or not allowed to.
    pub runtime: Option<bool>,
}

impl Look {
    /// Whether this is a process of .NET, whatever its socket.
    fn is_dotnet(&self) -> bool {
        self.runtime == Some(true) || (self.runtime.is_none() && self.comm == b"dotnet")
    }
}

/// The socket of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Socket {
    /// There is one. `open`: this user may connect.
    Present { open: bool },
    /// There is a file of that name, but it is no socket of the process's user or of root.
    Fake { owner: u32 },
    /// There is none.
    Absent,
    /// There is none in our own directories, and those of the process may not be looked into.
    Unknown,
}

/// What to do for processes that cannot be read. `listen`: where the PMDA does.
fn advice(listen: Option<&Path>) -> String {
    let (first, path) = match listen {
        Some(path) => ("", path.display().to_string()),
        None => ("set dotnet.listen and ", "PATH".to_owned()),
    };
    format!(
        "start the PMDA as root, or give it CAP_DAC_OVERRIDE and CAP_SYS_PTRACE, or {first}start the process with \
         DOTNET_DiagnosticPorts={path},nosuspend (.NET 5 and later)"
    )
}

/// Whether a process can be read; `None`: it is none of .NET, as far as this user can see. `owner`
/// is the name of its user. `before`: it had a socket earlier. `listen`: where the PMDA does.
pub(crate) fn access(
    look: &Look,
    owner: impl FnOnce() -> String,
    before: bool,
    listen: Option<&Path>,
) -> Option<Access> {
    let denied =
        |why: String| Some(Access::Denied(Arc::from(format!("{why}: {}", advice(listen)))));
    match look.socket {
        Socket::Present { open: true } => Some(Access::Open(Via::Socket)),
        Socket::Present { open: false } => {
            denied(format!("only its user {} may connect to its socket", owner()))
        }
        // Anybody can make such a file for any process: it does not make the process one of .NET.
        Socket::Fake { owner: other } if before || look.is_dotnet() => {
            Some(Access::Off(Arc::from(format!(
                "the file with the name of its socket is of user {other}, or no socket, and not used"
            ))))
        }
        Socket::Absent if before => Some(Access::Off(Arc::from(
            "its socket was removed, by a cleaner of temporary files perhaps: restart the process",
        ))),
        Socket::Absent if look.runtime == Some(true) => Some(Access::Off(Arc::from(
            "it has no diagnostics socket: DOTNET_EnableDiagnostics=0 or DOTNET_EnableDiagnostics_IPC=0 \
             switches it off, and .NET Framework, Mono and versions before 3.0 have none",
        ))),
        Socket::Unknown if before || look.is_dotnet() => {
            denied(format!("the directories of user {} may not be looked into", owner()))
        }
        Socket::Absent | Socket::Fake { .. } | Socket::Unknown => None,
    }
}

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

/// The folder of temporary files of /proc/PID/environ, if it is set: an absolute path.
pub(crate) fn tmpdir(environ: &[u8]) -> Option<&[u8]> {
    let dir = environ.split(|&b| b == 0).find_map(|variable| variable.strip_prefix(b"TMPDIR="))?;
    dir.starts_with(b"/").then_some(dir)
}

/// A command line as a text of at most [`limits::TEXT`] bytes.
pub(crate) fn command_line(command: &[u8]) -> String {
    let arguments = command.strip_suffix(b"\0").unwrap_or(command);
    let text: Vec<u8> = arguments
        .iter()
        .take(limits::TEXT)
        .map(|&b| if b.is_ascii_control() { b' ' } else { b })
        .collect();
    let mut text = String::from_utf8_lossy(&text).into_owned();
    cut(&mut text, limits::TEXT);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn words() {
        let look =
            |socket, runtime| Look { start: 1, comm: b"dotnet".to_vec(), uid: 33, socket, runtime };
        let listen = Some(Path::new("/run/x.sock"));
        let ask = |look: &Look, before| access(look, || "www-data".into(), before, listen);
        let open = look(Socket::Present { open: true }, None);
        assert_eq!(ask(&open, false), Some(Access::Open(Via::Socket)));
        let Some(Access::Denied(why)) = ask(&look(Socket::Present { open: false }, None), false)
        else {
            panic!("not denied")
        };
        assert_eq!(
            &*why,
            "only its user www-data may connect to its socket: start the PMDA as root, or give it \
             CAP_DAC_OVERRIDE and CAP_SYS_PTRACE, or start the process with \
             DOTNET_DiagnosticPorts=/run/x.sock,nosuspend (.NET 5 and later)"
        );
        assert!(matches!(ask(&look(Socket::Unknown, None), false), Some(Access::Denied(_))));
        let shell = Look { comm: b"sh".to_vec(), ..look(Socket::Unknown, None) };
        assert_eq!(ask(&shell, false), None);
        assert_eq!(ask(&look(Socket::Absent, Some(false)), false), None);
        assert_eq!(ask(&look(Socket::Fake { owner: 1 }, Some(false)), false), None);
        for (socket, runtime, before) in [
            (Socket::Absent, Some(true), false),
            (Socket::Absent, None, true),
            (Socket::Fake { owner: 1 }, None, false),
        ] {
            assert!(matches!(ask(&look(socket, runtime), before), Some(Access::Off(_))));
        }
    }

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

    #[test]
    fn environ() {
        assert_eq!(tmpdir(b"A=1\0TMPDIR=/t\0TMPDIR=/u\0"), Some(&b"/t"[..]));
        assert_eq!(tmpdir(b"XTMPDIR=/t\0TMPDIR=\0"), None);
        assert_eq!(tmpdir(b"TMPDIR=relative\0"), None);
        assert_eq!(tmpdir(b""), None);
    }

    #[test]
    fn commands() {
        assert_eq!(command_line(b"dotnet\0a b\n.dll\0"), "dotnet a b .dll");
        assert_eq!(command_line(b""), "");
        let long = "\u{e9}".repeat(limits::TEXT);
        assert!(command_line(long.as_bytes()).len() <= limits::TEXT);
    }
}
