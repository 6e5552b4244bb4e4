//! Opens the area of a process, in one of the ways that this user may.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use pmda::process::leaves_reserve;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;

use crate::host::{Glance, Mapped, ProcDir, file_system, folder_in, path_of};
use crate::sources::mono::area::{Access, Mapping, PAGE, mapping, runtime};
use crate::sources::mono::limits;

/// Where areas are.
const SHM: &str = "/dev/shm";
/// `TMPFS_MAGIC`.
const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;

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
            let file = (mapping.device, mapping.inode);
            if open == Some(file) {
                return Some(Sight::open(file, None));
            }
            let area = mapped(process, &mapping);
            Some(area.map_or_else(denied, |area| Sight::open(file, Some(area))))
        }
        // Its files are hidden from this user.
        None => match named(number, process.pid(), uid, open) {
            Ok(sight) => Some(sight),
            Err(Errno::ACCESS) => Some(denied()),
            Err(_) => glance.stat().comm.starts_with(b"mono").then(denied),
        },
    }
}

/// The area that a process has mapped, if it is on tmpfs: by its mapping, which works when its name
/// is gone, or by its name.
///
/// Its memory is not read, since what it maps there can change at any time: a read of a page of FUSE
/// ends when its server, which may be the same user's, likes.
fn mapped(process: &ProcDir, mapping: &Mapping) -> Option<Area> {
    let mounts = process.read_most("mountinfo", limits::MOUNTS)?;
    if file_system(&mounts, mapping.device) != Some(b"tmpfs") {
        return None;
    }
    let wanted = (mapping.device, mapping.inode);
    let path = format!("map_files/{}", mapping.range);
    let by_mapping = rustix::fs::openat(process.file(), path, FOUND, Mode::empty());
    if let Some(area) = by_mapping.ok().and_then(|found| same(&found, wanted)) {
        return Some(area);
    }
    let shm = folder_in(&process.root().ok()?, Path::new(SHM)).ok()?;
    let name = format!("mono.{}", mapping.number);
    let found = rustix::fs::openat(&shm, name, FOUND | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    same(&found, wanted)
}

/// A file that is found, and that nobody has been asked about yet.
const FOUND: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens what was found, if it is this file: on this device, with this inode, of one page.
fn same(found: &OwnedFd, (device, inode): ((u32, u32), u64)) -> Option<Area> {
    let stat = known(found).ok()?;
    let is = (stat.stx_dev_major, stat.stx_dev_minor) == device && stat.stx_ino == inode;
    (is && stat.stx_size == PAGE as u64).then_some(())?;
    open(found).ok()
}

/// What the kernel knows of a file. No file system is asked: that of another user may not answer.
fn known(found: &OwnedFd) -> Result<Statx, Errno> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(found, "", flags, StatxFlags::BASIC_STATS)
}

fn open(found: &OwnedFd) -> Result<Area, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::openat(CWD, path_of(found), flags, Mode::empty())?;
    if !leaves_reserve(&file) {
        return Err(Errno::MFILE);
    }
    Ok(Area { file: File::from(file) })
}

/// The area of this name, of a process in our own pid namespace whose user it belongs to. It is on
/// the device of its folder: a user may mount something over a file of his.
fn named(number: u32, pid: u32, user: u32, known_as: Option<Mapped>) -> Result<Sight, Errno> {
    if number != pid {
        return Err(Errno::NOENT);
    }
    let shm = rustix::fs::openat(CWD, SHM, FOUND | OFlags::DIRECTORY, Mode::empty())?;
    let folder = known(&shm)?;
    let name = format!("mono.{number}");
    let found = rustix::fs::openat(&shm, name, FOUND | OFlags::NOFOLLOW, Mode::empty())?;
    let stat = known(&found)?;
    let device = |of: &Statx| (of.stx_dev_major, of.stx_dev_minor);
    let own = rustix::fs::statfs(SHM).is_ok_and(|of| of.f_type == TMPFS_MAGIC);
    if !own
        || device(&stat) != device(&folder)
        || stat.stx_uid != user
        || stat.stx_size != PAGE as u64
    {
        return Err(Errno::NOENT);
    }
    let file = (device(&stat), stat.stx_ino);
    let area = if known_as == Some(file) { None } else { Some(open(&found)?) };
    Ok(Sight::open(file, area))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_the_file_that_is_mapped_on_tmpfs() {
        let path = format!("{SHM}/apm-area-{}", std::process::id());
        std::fs::write(&path, [7; PAGE]).unwrap();
        let found = rustix::fs::openat(CWD, path.as_str(), FOUND, Mode::empty()).unwrap();
        let stat = known(&found).unwrap();
        let (device, inode) = ((stat.stx_dev_major, stat.stx_dev_minor), stat.stx_ino);
        let mounts = std::fs::read("/proc/self/mountinfo").unwrap();
        assert_eq!(file_system(&mounts, device), Some(&b"tmpfs"[..]));
        let area = same(&found, (device, inode)).expect("an area");
        std::fs::remove_file(&path).unwrap();
        let mut page = [0; PAGE];
        area.read(&mut page).unwrap();
        assert_eq!(page, [7; PAGE]);
        assert!(same(&found, (device, inode + 1)).is_none());
        assert!(same(&found, ((device.0, device.1 + 1), inode)).is_none());
    }
}
