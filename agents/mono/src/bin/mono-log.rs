//! `mono-log`: starts Mono with its log profiler on a connection to pmdaapm.
//!
//! The program comes first. It starts if nobody answers, without the profiler then: an output that
//! nobody reads costs, and is never read later. It ends if somebody listens who does not read: the
//! profiler writes with write(2) and waits for ever, so the kernel is told to give the connection
//! up. Mono is executed in the place of this process, which has no part in its signals and status.

use std::io::{Error, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsRawFd as _, IntoRawFd as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::time::Duration;

/// Where the PMDA listens.
const ADDRESS: &str = "127.0.0.1";
const PORT: &str = "8888";
/// What costs nothing that could be measured (docs/mono.md, Options).
const OPTIONS: &str = "counter,monitor,maxframes=8";
/// For the name and the connection: the program waits for no longer.
const CONNECT: Duration = Duration::from_secs(1);
/// A peer that takes nothing for so long loses the connection.
const DEAF_MS: libc::c_uint = 5_000;
/// As env(1): the program was not found, or could not be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTED: u8 = 126;
/// As env(1): this program's own fault.
const USAGE: u8 = 125;

const HELP: &str = "\
usage: mono-log [OPTION...] PROGRAM.EXE [ARGUMENT...]
       mono-log [OPTION...] -- MONO-OPTION... PROGRAM.EXE [ARGUMENT...]
Starts Mono with its log profiler, read by pmdaapm. Without one the program starts without it.

  -a, --address HOST[:PORT]  the PMDA; MONO_LOG_ADDRESS, else 127.0.0.1:8888
  -o, --options LIST         options of the profiler; MONO_LOG_OPTIONS, else counter,monitor,maxframes=8
  -w, --with LIST            more of them: gc, exception, sample=100
  -m, --mono PATH            MONO_LOG_MONO, else mono
  -q, --quiet                say nothing if the PMDA is not there
  -h, --help
";

/// What the command line and the environment ask for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    address: String,
    options: String,
    mono: String,
    quiet: bool,
    /// Arguments of Mono.
    arguments: Vec<std::ffi::OsString>,
}

/// `Ok(None)`: help is asked for.
fn wanted(
    mut arguments: impl Iterator<Item = std::ffi::OsString>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Option<Wanted>, String> {
    let set = |name: &str, or: &str| {
        environment(name).filter(|text| !text.is_empty()).unwrap_or_else(|| or.to_owned())
    };
    let mut wanted = Wanted {
        address: set("MONO_LOG_ADDRESS", ADDRESS),
        options: set("MONO_LOG_OPTIONS", OPTIONS),
        mono: set("MONO_LOG_MONO", "mono"),
        quiet: false,
        arguments: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        let (name, joined) = match argument.to_str() {
            Some("--") => break,
            Some(text) if text.starts_with("--") => match text.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (text.to_owned(), None),
            },
            Some(text) if text.starts_with('-') => (text.to_owned(), None),
            _ => {
                wanted.arguments.push(argument);
                break;
            }
        };
        let mut value = || {
            let next = || arguments.next().and_then(|next| next.into_string().ok());
            joined.clone().or_else(next).ok_or_else(|| format!("{name} needs a value"))
        };
        match name.as_str() {
            "-h" | "--help" => return Ok(None),
            "-q" | "--quiet" => wanted.quiet = true,
            "-a" | "--address" => wanted.address = value()?,
            "-o" | "--options" => wanted.options = value()?,
            "-w" | "--with" => wanted.options = format!("{},{}", wanted.options, value()?),
            "-m" | "--mono" => wanted.mono = value()?,
            _ => return Err(format!("no option {name}; those of Mono come after --")),
        }
    }
    wanted.arguments.extend(arguments);
    if wanted.arguments.is_empty() {
        return Err("no program: see mono-log --help".to_owned());
    }
    Ok(Some(wanted))
}

/// The address with a port.
fn complete(address: &str) -> String {
    let bare = address.matches(':').count() > 1 && !address.starts_with('[');
    match address.rsplit_once(':') {
        _ if bare => format!("[{address}]:{PORT}"),
        Some((host, port)) if !port.ends_with(']') && !host.is_empty() => address.to_owned(),
        _ => format!("{address}:{PORT}"),
    }
}

/// A connection that Mono inherits.
fn connect(address: &str) -> Result<TcpStream, Error> {
    let (answer, answered) = mpsc::channel();
    let address = complete(address);
    // A name server that is silent must not hold up the start: the thread is left behind.
    std::thread::Builder::new().spawn(move || {
        let connected = address.to_socket_addrs().and_then(|found| {
            let mut failed = Error::from(ErrorKind::NotFound);
            for address in found {
                match TcpStream::connect_timeout(&address, CONNECT) {
                    Ok(stream) => return Ok(stream),
                    Err(error) => failed = error,
                }
            }
            Err(failed)
        });
        let _ = answer.send(connected);
    })?;
    let stream =
        answered.recv_timeout(CONNECT).unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))?;
    // A port of this host that nobody listens at may have been given to the connection itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(ErrorKind::ConnectionRefused.into());
    }
    let (socket, deaf) = (stream.as_raw_fd(), &DEAF_MS);
    let length = libc::socklen_t::try_from(size_of_val(&DEAF_MS)).unwrap_or_default();
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT);
    // SAFETY: setsockopt(2) reads `length` bytes of an unsigned int that lives.
    #[expect(unsafe_code, reason = "std has no such option")]
    let set =
        unsafe { libc::setsockopt(socket, level, name, std::ptr::from_ref(deaf).cast(), length) };
    // SAFETY: fcntl(2) with F_SETFD has an int; the descriptor is open.
    #[expect(unsafe_code, reason = "std closes its descriptors at exec")]
    let kept = unsafe { libc::fcntl(socket, libc::F_SETFD, 0) };
    if set < 0 || kept < 0 { Err(Error::last_os_error()) } else { Ok(stream) }
}

fn main() -> ExitCode {
    let environment = |name: &str| std::env::var(name).ok();
    let wanted = match wanted(std::env::args_os().skip(1), environment) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(wrong) => {
            eprintln!("mono-log: {wrong}");
            return ExitCode::from(USAGE);
        }
    };
    let mut mono = Command::new(&wanted.mono);
    match connect(&wanted.address) {
        Ok(stream) => {
            let (options, descriptor) = (&wanted.options, stream.into_raw_fd());
            mono.arg(format!("--profile=log:nodefaults,{options},output=#{descriptor}"));
        }
        Err(_) if wanted.quiet => {}
        Err(error) => {
            let address = complete(&wanted.address);
            eprintln!("mono-log: {address}: {error}: the program runs without the log profiler");
        }
    }
    let error = mono.args(&wanted.arguments).exec();
    eprintln!("mono-log: {}: {error}", wanted.mono);
    ExitCode::from(if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTED })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str, environment: &[(&str, &str)]) -> Result<Option<Wanted>, String> {
        let set = |name: &str| {
            environment.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned())
        };
        wanted(line.split_whitespace().map(Into::into), set)
    }

    #[test]
    fn the_first_that_is_no_option_is_the_program() {
        let of = |line: &str| parsed(line, &[]).unwrap().unwrap();
        let plain = of("a.exe -q --help");
        assert_eq!((plain.arguments.len(), plain.quiet), (3, false));
        assert_eq!((plain.options.as_str(), plain.mono.as_str()), (OPTIONS, "mono"));
        let all = of("-q -a pcp:1 --options=gc -w sample=100 -m /m -- --debug a.exe -- x");
        assert_eq!(all.arguments, ["--debug", "a.exe", "--", "x"]);
        assert_eq!((all.address.as_str(), all.options.as_str()), ("pcp:1", "gc,sample=100"));
        assert_eq!((all.mono.as_str(), all.quiet), ("/m", true));
        assert_eq!(parsed("--help", &[]), Ok(None));
        for wrong in ["", "--", "-a", "--debug a.exe", "-q"] {
            assert!(parsed(wrong, &[]).is_err(), "{wrong}");
        }
        let environment = [("MONO_LOG_ADDRESS", "pcp"), ("MONO_LOG_OPTIONS", "")];
        let set = parsed("a.exe", &environment).unwrap().unwrap();
        assert_eq!((set.address.as_str(), set.options.as_str()), ("pcp", OPTIONS));
    }

    #[test]
    fn addresses() {
        for (address, full) in [
            ("pcp", "pcp:8888"),
            ("pcp:1", "pcp:1"),
            ("10.0.0.1", "10.0.0.1:8888"),
            ("::1", "[::1]:8888"),
            ("[::1]", "[::1]:8888"),
            ("[::1]:7", "[::1]:7"),
        ] {
            assert_eq!(complete(address), full);
        }
    }
}
