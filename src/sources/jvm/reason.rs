//! Why a JVM has no region, or none that can be read, and what to do (docs/protocols/
//! jvm-hsperfdata.md 1.6).

use std::fmt::{Display, Formatter};

use crate::sources::jvm::locate::Located;

/// How a process was started: the texts of /proc/PID/cmdline and /proc/PID/environ. Empty: they
/// cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Start<'a> {
    pub(crate) command: &'a [u8],
    pub(crate) environment: &'a [u8],
}

/// Why a process that is a JVM has no region to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// -XX:-UsePerfData
    Off,
    /// -XX:+PerfDisableSharedMem
    Private,
    /// No option says so: the user has no name, or the file could not be made.
    NoFile { uid: u32 },
    /// A virtual machine that has no such data.
    OpenJ9,
    /// The mapping is another process's of this number, whose child this is.
    Other(u32),
    /// Only this user may read it.
    Denied { user: String },
}

impl Absence {
    /// Of a process of user `uid` whose map shows this. `None`: it has a region, or is no JVM.
    pub(crate) fn of(located: &Located, start: Start<'_>, uid: u32) -> Option<Self> {
        if located.openj9 {
            return Some(Self::OpenJ9);
        }
        if located.area.is_some() {
            return None;
        }
        if let Some(number) = located.other {
            return Some(Self::Other(number));
        }
        located.library.as_ref()?;
        let (mut data, mut shared) = (true, true);
        start.options(|option| match option {
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
}

impl Display for Absence {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Off => f.write_str(
                "it keeps no performance data (-XX:-UsePerfData): start it without that option",
            ),
            Self::Private => f.write_str(
                "it keeps its performance data to itself (-XX:+PerfDisableSharedMem): start it without that option",
            ),
            Self::NoFile { uid } => write!(
                f,
                "it keeps its performance data to itself: its user id {uid} has no name in its passwd, or its \
                 /tmp cannot be written"
            ),
            Self::OpenJ9 => f.write_str("OpenJ9 has no performance data of this kind"),
            Self::Other(number) => write!(f, "its performance data is that of process {number}"),
            Self::Denied { user } => write!(
                f,
                "only user {user} may read its performance data: run the PMDA as root, or give it \
                 CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE"
            ),
        }
    }
}

/// What is missing where a region was full, and an option that makes room: twice of what was
/// needed, at least twice of the default.
pub(crate) fn overflow_words(used: usize, overflow: u64) -> String {
    let needed = u64::try_from(used).unwrap_or_default().saturating_add(overflow).min(8 << 20);
    let size = (2 * needed).next_power_of_two().max(65_536);
    format!(
        "its region was full: {overflow} bytes of counters are missing (-XX:PerfDataMemorySize={size})"
    )
}

impl<'a> Start<'a> {
    /// Options of the JVM in the order in which they count: the last one wins. Those in files
    /// (`@argfiles`, .hotspotrc) are not seen.
    fn options(self, mut each: impl FnMut(&'a [u8])) {
        let mut words = |name| {
            let value = variable(self.environment, name).unwrap_or_default();
            value.split(u8::is_ascii_whitespace).for_each(&mut each);
        };
        words("JAVA_TOOL_OPTIONS");
        words("JDK_JAVA_OPTIONS");
        let mut arguments = self.command.split(|&b| b == 0).skip(1);
        while let Some(argument) = arguments.next() {
            match argument {
                // What follows is the program's.
                b"-jar" | b"-m" | b"--module" => break,
                option if option.starts_with(b"--module=") => break,
                b"-cp"
                | b"-classpath"
                | b"--class-path"
                | b"-p"
                | b"--module-path"
                | b"--upgrade-module-path"
                | b"--add-modules"
                | b"--add-exports"
                | b"--add-opens"
                | b"--add-reads"
                | b"--limit-modules"
                | b"--patch-module"
                | b"--source"
                | b"--enable-native-access"
                | b"--describe-module"
                | b"-d" => {
                    arguments.next();
                }
                option if option.starts_with(b"-") || option.starts_with(b"@") => each(option),
                _ => break,
            }
        }
        let value = variable(self.environment, "_JAVA_OPTIONS").unwrap_or_default();
        value.split(u8::is_ascii_whitespace).for_each(each);
    }
}

/// The value of a variable in the text of /proc/PID/environ; the first of a name counts, as for
/// getenv(3).
pub(crate) fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut variables = environment.split(|&b| b == 0);
    variables.find_map(|one| one.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

#[cfg(test)]
#[path = "reason_tests.rs"]
mod tests;
