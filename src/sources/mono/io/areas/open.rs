//! Opens the area of a process, in one of the ways that this user may.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::proc::{ProcDir, folder_in};
use crate::sources::mono::area::{Access, Look, Mapping, PAGE, mapping, runtime};
use crate::sources::mono::limits;

/// Where areas are.
const SHM: &str = "/dev/shm";

/// An area that is open. It stays readable when its name is gone.
#[derive(Debug)]
pub(super) struct Area {
    file: File,
    offset: u64,
}

impl Area {
    /// Reads the page.
    ///
    /// # Errors
    /// The process has ended, and its memory was what is open.
    pub(super) fn read(&self, page: &mut [u8; PAGE]) -> std::io::Result<()> {
        self.file.read_exact_at(page, self.offset)
    }
}

/// Looks at a process, and opens its area. `None`: it has ended.
pub(super) fn look(
    process: &ProcDir,
    owner: impl FnOnce(u32) -> String,
) -> Option<(Look, Option<Area>)> {
    let stat = process.stat()?;
    let mut look = Look {
        start: stat.start,
        comm: stat.comm,
        inner_pid: process.pid(),
        kernel: stat.kernel,
        access: None,
    };
    if look.kernel {
        return Some((look, None));
    }
    let status = process.status()?;
    look.inner_pid = status.container_pid.unwrap_or(process.pid());
    let (access, area) = match process.read_most("maps", limits::MAPS) {
        Some(maps) => match mapping(&maps, look.inner_pid) {
            Some(mapping) => match mapped(process, &mapping) {
                Some(area) => (Some(Access::Open), Some(area)),
                None => (Some(Access::denied(&owner(status.uid))), None),
            },
            None => (runtime(&maps).then(Access::absent), None),
        },
        // Its files are hidden from this user.
        None => match named(look.inner_pid, process.pid(), status.uid) {
            Ok(area) => (Some(Access::Open), Some(area)),
            Err(Errno::ACCESS) => (Some(Access::denied(&owner(status.uid))), None),
            Err(_) if look.comm.starts_with(b"mono") => {
                (Some(Access::denied(&owner(status.uid))), None)
            }
            Err(_) => (None, None),
        },
    };
    look.access = access;
    Some((look, area))
}

/// The area that a process has mapped: by its mapping, which works when its name is gone; by its
/// name; or in the memory of the process.
fn mapped(process: &ProcDir, mapping: &Mapping) -> Option<Area> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let whole = |file: OwnedFd| {
        let stat = rustix::fs::fstat(&file).ok()?;
        let same = stat.st_ino == mapping.inode && stat.st_size == PAGE.cast_signed() as i64;
        same.then(|| Area { file: File::from(file), offset: 0 })
    };
    let path = format!("map_files/{}", mapping.range);
    let file = rustix::fs::openat(process.file(), path, flags, Mode::empty()).ok();
    if let Some(area) = file.and_then(whole) {
        return Some(area);
    }
    let by_name = || {
        let shm = folder_in(&process.root().ok()?, Path::new(SHM)).ok()?;
        let name = format!("mono.{}", mapping.number);
        rustix::fs::openat(&shm, name, flags | OFlags::NOFOLLOW, Mode::empty()).ok()
    };
    if let Some(area) = by_name().and_then(whole) {
        return Some(area);
    }
    let file = rustix::fs::openat(process.file(), "mem", flags, Mode::empty()).ok()?;
    let area = Area { file: File::from(file), offset: mapping.address };
    area.read(&mut [0; PAGE]).is_ok().then_some(area)
}

/// The area of this name, of a process in our own pid namespace whose user it belongs to.
fn named(number: u32, pid: u32, user: u32) -> Result<Area, Errno> {
    if number != pid {
        return Err(Errno::NOENT);
    }
    let path = format!("{SHM}/mono.{number}");
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let metadata = rustix::fs::lstat(&path)?;
    if metadata.st_uid != user || metadata.st_size != PAGE.cast_signed() as i64 {
        return Err(Errno::NOENT);
    }
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    Ok(Area { file: File::from(file), offset: 0 })
}
