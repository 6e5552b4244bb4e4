//! What a process has mapped, by /proc/PID/maps.

/// Libraries and programs that are a Mono runtime.
const RUNTIMES: [&[u8]; 5] = [
    b"/mono-sgen",
    b"/mono-boehm",
    b"/libmonosgen-2.0.so",
    b"/libmonoboehm-2.0.so",
    b"/libmono-2.0.so",
];

/// The mapping of an area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// The addresses as /proc/PID/map_files calls them.
    pub range: String,
    /// The number in the area's name.
    pub number: u32,
    /// Major and minor number of the device that the area is on.
    pub device: (u32, u32),
    /// Inode of the area.
    pub inode: u64,
}

/// The area that the process calling itself `pid` has mapped: a child has that of its parent until
/// it executes another program.
pub(crate) fn mapping(maps: &[u8], pid: u32) -> Option<Mapping> {
    // Nearly all lines are of other files.
    let mut found = memchr::memmem::find_iter(maps, b"/shm/mono.");
    found.find_map(|at| {
        let start = maps.get(..at)?.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let line = maps.get(start..)?.split(|&b| b == b'\n').next()?;
        parse(std::str::from_utf8(line).ok()?).filter(|mapping| mapping.number == pid)
    })
}

/// `7f1c5f4d3000-7f1c5f4d4000 rw-s 00000000 00:1a 12345   /dev/shm/mono.17694 (deleted)`
fn parse(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let (major, minor) = fields.next()?.split_once(':')?;
    let device = (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
    let inode = fields.next()?.parse().ok()?;
    let (_, number) = fields.next()?.rsplit_once("/shm/mono.")?;
    let shared = rights.ends_with('s') && offset.bytes().all(|b| b == b'0');
    let digits = number.bytes().all(|b| b.is_ascii_digit());
    range.split_once('-')?;
    let number = number.parse().ok()?;
    let mapping = Mapping { range: range.to_owned(), number, device, inode };
    (shared && digits).then_some(mapping)
}

/// Whether a Mono runtime is mapped to be executed. A debugger maps its file too, to read symbols.
pub(crate) fn runtime(maps: &[u8]) -> bool {
    let executed = |at: usize| {
        let before = maps.get(..at).unwrap_or_default();
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let mut fields = before.get(start..).unwrap_or_default().split(|&b| b == b' ');
        fields.nth(1).is_some_and(|rights| rights.get(2) == Some(&b'x'))
    };
    RUNTIMES.iter().any(|name| memchr::memmem::find_iter(maps, name).any(executed))
}
