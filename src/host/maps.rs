//! The files that a process has mapped, by the text of /proc/PID/maps.

use super::known::Mapped;

/// Bytes of a path: the kernel's `PATH_MAX`.
const PATH: usize = 4096;
const DELETED: &[u8] = b" (deleted)";

/// A mapping of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Addresses of begin and end.
    pub range: (u64, u64),
    /// As the reader's root sees it, in a chroot with that one in front; without ` (deleted)`,
    /// newlines decoded.
    pub path: Box<[u8]>,
    /// Major and minor number of the device. On overlayfs old kernels tell those of a lower file
    /// system, and its inode: that a file has others is no reason to refuse it.
    pub device: (u32, u32),
    /// Number of the file.
    pub inode: u64,
}

impl Mapping {
    /// The file's device and inode.
    #[must_use]
    pub const fn file(&self) -> Mapped {
        (self.device, self.inode)
    }
}

/// `7f1c5f4d3000-7f1c5f4d4000 rw-s 00000000 00:1a 12345   /tmp/hsperfdata_app/17 (deleted)`
#[derive(Debug)]
pub struct Line<'a> {
    /// `rwxp`, with `-` for what is not allowed and `s` for one that is shared.
    pub rights: &'a [u8],
    /// Of its begin in the file.
    pub offset: u64,
    /// The file, and where it is.
    pub mapping: Mapping,
}

/// The lines that have these bytes, each once. Nearly all lines have not.
pub fn lines<'a>(maps: &'a [u8], part: &'a [u8]) -> impl Iterator<Item = Line<'a>> {
    let mut rest = maps;
    let next = move || {
        let (before, behind) = rest.split_at_checked(memchr::memmem::find(rest, part)?)?;
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let end = before.len() + memchr::memchr(b'\n', behind).unwrap_or(behind.len());
        let line = rest.get(start..end)?;
        rest = rest.get(end..)?;
        Some(parse(line))
    };
    std::iter::from_fn(next).flatten()
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut fields = line.splitn(6, |&b| b == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let (range, rights, offset) = (text()?.split_once('-')?, text()?, text()?);
    let (device, inode) = (text()?.split_once(':')?, text()?);
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let part = |text| u32::from_str_radix(text, 16).ok();
    // The path is padded, and may have blanks.
    let escaped = fields.next()?.trim_ascii_start();
    // The file has been removed. The mapping lives on.
    let kept = escaped.strip_suffix(DELETED).unwrap_or(escaped);
    let mapping = Mapping {
        range: (hex(range.0)?, hex(range.1)?),
        path: path(kept),
        device: (part(device.0)?, part(device.1)?),
        inode: inode.parse().ok()?,
    };
    let line = Line { rights: rights.as_bytes(), offset: hex(offset)?, mapping };
    Some(line).filter(|_| escaped.len() <= PATH)
}

impl Line<'_> {
    /// Whether the file is `start*.so`.
    #[must_use]
    pub fn is_library(&self, start: &[u8]) -> bool {
        let path = &self.mapping.path;
        let at = path.iter().rposition(|&b| b == b'/').unwrap_or_default();
        path.ends_with(b".so") && path.get(at..).is_some_and(|file| file.starts_with(start))
    }

    /// The same, and it can be executed: whoever debugs a process maps its libraries too.
    #[must_use]
    pub fn is_library_executed(&self, start: &[u8]) -> bool {
        self.rights.get(2) == Some(&b'x') && self.is_library(start)
    }
}

/// The kernel writes a newline as `\012`, and nothing else so.
fn path(escaped: &[u8]) -> Box<[u8]> {
    let mut plain = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(at) = memchr::memmem::find(rest, br"\012") {
        plain.extend_from_slice(rest.get(..at).unwrap_or_default());
        plain.push(b'\n');
        rest = rest.get(at + 4..).unwrap_or_default();
    }
    plain.extend_from_slice(rest);
    plain.into()
}
