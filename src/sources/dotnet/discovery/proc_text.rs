//! Files of /proc/PID that are read for their text. What is not as expected is absent.

use super::names::cut;
use crate::sources::dotnet::limits;

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
