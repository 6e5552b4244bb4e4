//! The area of a process: where it is, by the text of /proc/PID/maps, and whether this user may read it.

use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{CWD, major, minor};
use rustix::io::Errno;

use crate::host::{Found, Glance, Line, Mapped, Mapping, ProcDir, file_system, folder, lines};
use crate::sources::mono::area::{Access, PAGE, Refusal};
use crate::sources::mono::limits;

/// Where areas are.
pub(super) const SHM: &str = "/dev/shm";
/// `TMPFS_MAGIC`.
const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;
/// What the path of an area has in front of its number.
const NAME: &[u8] = b"/shm/mono.";
/// Bytes of one.
const SIZES: RangeInclusive<u64> = PAGE as u64..=PAGE as u64;
/// Libraries and programs that are a Mono runtime.
const RUNTIMES: [&[u8]; 5] = [
    b"/mono-sgen",
    b"/mono-boehm",
    b"/libmonosgen-2.0.so",
    b"/libmonoboehm-2.0.so",
    b"/libmono-2.0.so",
];

/// An area that is open. It stays readable when its name is gone. It is on tmpfs, so that a reading
/// does not wait for anybody.
#[derive(Debug)]
pub(super) struct Area {
    file: File,
}

impl Area {
    /// Reads the page.
    ///
    /// # Errors
    /// It has been truncated.
    pub(super) fn read(&self, page: &mut [u8; PAGE]) -> std::io::Result<()> {
        self.file.read_exact_at(page, 0)
    }
}

/// How a process of Mono can be read.
#[derive(Debug)]
pub(super) struct Sight {
    pub(super) access: Access,
    /// The file of an area that is open.
    pub(super) file: Option<Mapped>,
    /// `None` of one that is open: it was open already.
    pub(super) area: Option<Area>,
}

impl Sight {
    const fn open(file: Mapped, area: Option<Area>) -> Self {
        Self { access: Access::Open, file: Some(file), area }
    }

    const fn closed(access: Access) -> Self {
        Self { access, file: None, area: None }
    }
}

/// Looks at a process, and opens its area, unless it is the one that is open already. `None`: it is none of
/// Mono, as far as this user can see.
pub(super) fn look(
    glance: &Glance,
    open: Option<Mapped>,
    owner: impl FnOnce(u32) -> String,
) -> Option<Sight> {
    let (process, number, uid) = (glance.process(), glance.inner_pid(), glance.status().uid);
    let denied = || Sight::closed(Access::denied(&owner(uid)));
    match glance.maps() {
        Some(maps) => {
            let Some(mapping) = mapping(maps, number) else {
                return runtime(maps).then(|| Sight::closed(Access::absent()));
            };
            let file = mapping.file();
            if open == Some(file) {
                return Some(Sight::open(file, None));
            }
            Some(match mapped(process, &mapping, (number, uid)) {
                Some(Ok(area)) => Sight::open(file, Some(area)),
                Some(Err(refusal)) => Sight::closed(Access::refused(refusal)),
                None => denied(),
            })
        }
        // Its files are hidden from this user.
        None => match named(number, process.pid(), uid, open) {
            Ok(sight) => Some(sight),
            Err(Errno::ACCESS) => Some(denied()),
            Err(_) => glance.stat().comm.starts_with(b"mono").then(denied),
        },
    }
}

/// The area that the process calling itself `pid` has mapped: a child has that of its parent until
/// it executes another program.
pub(crate) fn mapping(maps: &[u8], pid: u32) -> Option<Mapping> {
    lines(maps, NAME).find(|line| number(line) == Some(pid)).map(|line| line.mapping)
}

/// The number of an area, which is mapped shared, to be written and from its begin.
fn number(line: &Line<'_>) -> Option<u32> {
    let path = &line.mapping.path;
    let number = path.get(memchr::memmem::rfind(path, NAME)? + NAME.len()..)?;
    let is_area = line.rights == b"rw-s" && line.offset == 0;
    // A sign would be a part of the number.
    let is_area = is_area && number.iter().all(u8::is_ascii_digit);
    is_area.then(|| std::str::from_utf8(number).ok()?.parse().ok())?
}

/// Whether a Mono runtime is mapped to be executed. A debugger maps its file too, to read symbols.
fn runtime(maps: &[u8]) -> bool {
    let is_executed = |line: Line<'_>| line.rights.get(2) == Some(&b'x');
    RUNTIMES.into_iter().any(|name| lines(maps, name).any(is_executed))
}

/// The area that a process of this user has mapped, if it is on tmpfs: by its mapping, which works when its
/// name is gone, or by its name.
///
/// Its memory is not read, since what it maps there can change at any time: a read of a page of FUSE
/// ends when its server, which may be the same user's, likes.
fn mapped(
    process: &ProcDir,
    mapping: &Mapping,
    (number, user): (u32, u32),
) -> Option<Result<Area, Refusal>> {
    let mounts = process.read_most("mountinfo", limits::MOUNTS)?;
    if file_system(&mounts, mapping.device) != Some(b"tmpfs") {
        return None;
    }
    let path = format!("{SHM}/mono.{number}");
    let same = |found: Result<Found<'_>, Errno>| same(&found.ok()?, mapping.file(), user);
    same(Found::mapped(process, mapping.range))
        .or_else(|| same(Found::named(process, Path::new(&path))))
}

/// Opens what was found, if it is this file and an area of this user.
fn same(found: &Found<'_>, file: Mapped, user: u32) -> Option<Result<Area, Refusal>> {
    if found.file() != file {
        return None;
    }
    if !found.is_plain(&SIZES) {
        return Some(Err(Refusal::NoArea));
    }
    if !found.is_of(user) {
        return Some(Err(Refusal::Stranger));
    }
    found.open().ok().map(|file| Ok(Area { file }))
}

/// The area of this name, of a process in our own pid namespace whose user it belongs to. It is on
/// the device of its folder: a user may mount something over a file of his.
fn named(number: u32, pid: u32, user: u32, open: Option<Mapped>) -> Result<Sight, Errno> {
    if number != pid {
        return Err(Errno::NOENT);
    }
    let shm = folder(CWD, Path::new(SHM))?;
    let device = rustix::fs::fstat(&shm)?.st_dev;
    let found = Found::at(&shm, format!("mono.{number}").as_ref())?;
    let file = found.file();
    let own = rustix::fs::statfs(SHM).is_ok_and(|of| of.f_type == TMPFS_MAGIC);
    if !own
        || file.0 != (major(device), minor(device))
        || !found.is_of(user)
        || !found.is_plain(&SIZES)
    {
        return Err(Errno::NOENT);
    }
    let area = if open == Some(file) { None } else { Some(Area { file: found.open()? }) };
    Ok(Sight::open(file, area))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings() {
        let maps = b"7f1c5f4d2000-7f1c5f4d3000 rw-s 00000000 00:1a 12 /dev/shm/mono.5\n\
            7f1c5f4d3000-7f1c5f4d4000 rw-s 00000000 00:1a 12345                      /dev/shm/mono.17694 (deleted)\n\
            7f1c5f4d4000-7f1c5f4d5000 r-xp 00000000 00:1a 13 /usr/bin/mono-sgen\n";
        let found = mapping(maps, 17_694).expect("a mapping");
        assert_eq!(found.range, (0x7f1c_5f4d_3000, 0x7f1c_5f4d_4000));
        assert_eq!((found.device, found.inode), ((0, 0x1a), 12_345));
        assert_eq!(mapping(maps, 5).map(|found| found.inode), Some(12));
        // That of a parent, and files that only look like one.
        assert_eq!(mapping(maps, 1769), None);
        for line in [
            "7f1c-7f1d rw-p 00000000 00:1a 12 /dev/shm/mono.5",
            "7f1c-7f1d r--s 00000000 00:1a 12 /dev/shm/mono.5",
            "7f1c-7f1d rw-s 00001000 00:1a 12 /dev/shm/mono.5",
            "7f1c-7f1d rw-s 00000000 00:1a 12 /dev/shm/mono.+5",
            "7f1c-7f1d rw-s 00000000 00:1a 12 /dev/shm/mono.5x",
            "7f1c-7f1d rw-s 00000000 00:1a /dev/shm/mono.5",
            "7f1c rw-s 00000000 00:1a 12 /dev/shm/mono.5",
            "/shm/mono.5",
        ] {
            assert_eq!(mapping(line.as_bytes(), 5), None, "{line}");
        }
        assert!(runtime(maps) && !runtime(b"/usr/bin/monodevelop\n") && !runtime(b""));
        // A debugger reads the symbols of what it debugs.
        let read = b"7f00-7f01 r-xp 00000000 00:1a 13 /usr/bin/gdb\n\
            7f1c-7f1d r--p 00000000 00:1a 13 /usr/bin/mono-sgen\n";
        assert!(!runtime(read));
        let embeds = [&read[..], b"7f1d-7f1e r-xp 00001000 00:1a 14 /usr/lib/libmonosgen-2.0.so\n"];
        assert!(runtime(&embeds.concat()));
    }

    #[test]
    fn an_area_is_the_file_that_is_mapped_on_tmpfs() {
        let path = format!("{SHM}/apm-area-{}", std::process::id());
        std::fs::write(&path, [7; PAGE]).unwrap();
        let found = Found::at(CWD, path.as_ref()).unwrap();
        let (device, inode) = found.file();
        let mounts = std::fs::read("/proc/self/mountinfo").unwrap();
        assert_eq!(file_system(&mounts, device), Some(&b"tmpfs"[..]));
        let user = rustix::process::geteuid().as_raw();
        let area = same(&found, (device, inode), user).expect("the file").expect("an area");
        let refused = |user| {
            let found = Found::at(CWD, path.as_ref()).unwrap();
            same(&found, (device, inode), user).expect("the file").err()
        };
        assert_eq!(refused(user + 1), Some(Refusal::Stranger));
        // One that has another name may be another's.
        let other = format!("{path}-link");
        std::fs::hard_link(&path, &other).unwrap();
        assert_eq!(refused(user), Some(Refusal::NoArea));
        std::fs::remove_file(&other).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(7).unwrap();
        assert_eq!(refused(user), Some(Refusal::NoArea));
        std::fs::write(&path, [7; PAGE]).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut page = [0; PAGE];
        area.read(&mut page).unwrap();
        assert_eq!(page, [7; PAGE]);
        assert!(same(&found, (device, inode + 1), user).is_none());
        assert!(same(&found, ((device.0, device.1 + 1), inode), user).is_none());
    }
}
