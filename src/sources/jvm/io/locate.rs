//! Where a process has its region and its HotSpot, by the text of /proc/PID/maps; or why it has no region, or none
//! that can be read, and what to do (docs/protocols/jvm-hsperfdata.md 1).

use std::fmt::{Display, Formatter};

use crate::host::{Line, Mapping, lines};
use crate::sources::jvm::command::Start;

/// What the map of a process shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Located {
    /// The file of this process's region.
    pub(crate) area: Option<Mapping>,
    /// The region of another process is mapped: the parent's, between fork and exec. Look again.
    pub(crate) other: bool,
    /// The part of `libjvm.so` with offset 0: it begins at the load address.
    pub(crate) library: Option<Mapping>,
    /// `libj9vm*.so`, which has a `libjvm.so` beside it.
    pub(crate) openj9: bool,
}

impl Located {
    /// Whether there is any sign of a JVM.
    pub(crate) const fn is_jvm(&self) -> bool {
        self.area.is_some() || self.library.is_some() || self.openj9
    }
}

const FOLDER: &[u8] = b"/hsperfdata_";
const HOTSPOT: &[u8] = b"/libjvm.so";
const OPENJ9: &[u8] = b"/libj9vm";

/// What is in the map of the process that calls itself `pid` (the last number of `NSpid:`).
pub(crate) fn locate(maps: &[u8], pid: u32) -> Located {
    let mut found = Located::default();
    for line in lines(maps, FOLDER) {
        match number(&line) {
            Some(number) if number == pid => found.area = found.area.or(Some(line.mapping)),
            Some(_) => found.other = true,
            None => {}
        }
    }
    // A debugger maps the library too, to read its symbols.
    if lines(maps, HOTSPOT).any(|line| line.is_library_executed(HOTSPOT)) {
        let mut parts = lines(maps, HOTSPOT).filter(|line| line.offset == 0);
        found.library = parts.find(|line| line.is_library(HOTSPOT)).map(|line| line.mapping);
    }
    found.openj9 = lines(maps, OPENJ9).any(|line| line.is_library_executed(OPENJ9));
    found
}

/// The number of a region's file, which is mapped shared, to be written and from its begin.
fn number(line: &Line<'_>) -> Option<u32> {
    let mut parts = line.mapping.path.rsplit(|&b| b == b'/');
    let (number, folder) = (parts.next()?, parts.next()?);
    let user = folder.strip_prefix(b"hsperfdata_").filter(|user| !user.is_empty());
    // A sign would be a part of the number.
    let digits = number.iter().all(u8::is_ascii_digit);
    if line.rights != b"rw-s" || line.offset != 0 || user.is_none() || !digits {
        return None;
    }
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// The part `hsperfdata_USER/N` of a region's path, which is below /tmp of the process's root. Empty for other files.
pub(super) fn name(path: &[u8]) -> &[u8] {
    let at = path.windows(FOLDER.len()).rposition(|part| part == FOLDER);
    at.and_then(|at| path.get(at + 1..)).unwrap_or_default()
}

/// Why a process that is a JVM has no region to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// -XX:-UsePerfData
    Off,
    /// -XX:+PerfDisableSharedMem
    Private,
    /// No option says so: the user has no name, or the file could not be made.
    NoFile { uid: u32 },
    /// A virtual machine that has no such data.
    OpenJ9,
}

impl Absence {
    /// Of a process of user `uid` whose map shows this. `None`: it has a region, or is no JVM, or none yet.
    pub(crate) fn of(located: &Located, start: Start<'_>, uid: u32) -> Option<Self> {
        if located.openj9 {
            return Some(Self::OpenJ9);
        }
        // Between fork and exec a child has what its parent has mapped.
        if located.area.is_some() || located.other {
            return None;
        }
        located.library.as_ref()?;
        let (mut data, mut shared) = (true, true);
        start.options().for_each(|option| match option {
            b"-XX:-UsePerfData" => data = false,
            b"-XX:+UsePerfData" => data = true,
            b"-XX:+PerfDisableSharedMem" => shared = false,
            b"-XX:-PerfDisableSharedMem" => shared = true,
            _ => {}
        });
        Some(match (data, shared) {
            (false, _) => Self::Off,
            (true, false) => Self::Private,
            (true, true) => Self::NoFile { uid },
        })
    }

    /// Its region is in its memory alone.
    pub(crate) const fn is_private(self) -> bool {
        matches!(self, Self::Private | Self::NoFile { .. })
    }
}

impl Display for Absence {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Off => {
                "it keeps no performance data (-XX:-UsePerfData): start it without that option"
            }
            Self::Private => {
                "it keeps its performance data to itself (-XX:+PerfDisableSharedMem): start it without that option"
            }
            Self::NoFile { uid } => {
                return write!(
                    f,
                    "it keeps its performance data to itself: its user id {uid} has no name in its passwd, or its \
                     /tmp cannot be written"
                );
            }
            Self::OpenJ9 => "OpenJ9 has no performance data of this kind",
        })
    }
}

#[cfg(test)]
#[path = "locate_tests.rs"]
mod tests;
