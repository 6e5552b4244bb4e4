//! Opens the region of a process, in one of the ways that this user may (docs/protocols/jvm-hsperfdata.md 1.1).
//! It is read, never mapped, locked or written.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use pmda::process::leaves_reserve;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::host::{Glance, Mapped, ProcDir, file_system, folder_in, path_of};
use crate::sources::jvm::limits;
use crate::sources::jvm::locate::Mapping;
use crate::sources::jvm::wire::PROLOGUE;

/// File systems that answer by themselves. Others have a server, which need not: of those a read could
/// last as long as it likes.
const LOCAL: [&[u8]; 11] = [
    b"tmpfs",
    b"ramfs",
    b"overlay",
    b"ext4",
    b"ext3",
    b"ext2",
    b"xfs",
    b"btrfs",
    b"f2fs",
    b"zfs",
    b"bcachefs",
];
/// A file that is found, and that nobody has been asked about yet.
const FOUND: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A region that is open. It stays readable when its name is gone and when the process has ended.
#[derive(Debug)]
pub(super) struct Region {
    file: File,
    /// How it was found: `mapping` or `file`.
    pub(super) via: &'static str,
    /// Its file: another one is another region.
    pub(super) mapped: Mapped,
    /// The inode as the file system has it.
    inode: u64,
}

/// Why a region is not open.
#[derive(Debug)]
pub(super) enum Closed {
    /// This user may not open it.
    Denied,
    /// It is not what it should be: why.
    Refused(&'static str),
}

impl Region {
    /// Of a test.
    #[cfg(test)]
    pub(super) const fn of(file: File, mapped: Mapped) -> Self {
        Self { file, via: "file", mapped, inode: mapped.1 }
    }

    /// Reads at most so many bytes of the begin.
    ///
    /// # Errors
    /// The file system cannot read it.
    pub(super) fn read(&self, want: usize, into: &mut Vec<u8>) -> std::io::Result<()> {
        into.resize(want, 0);
        let mut read = 0;
        while let Some(rest) = into.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        into.truncate(read);
        Ok(())
    }
}

/// The region that a process has mapped: by its mapping, which works when its name is gone, or by
/// its name below the root of the process.
pub(super) fn open(glance: &Glance, area: &Mapping) -> Result<Region, Closed> {
    let process = glance.process();
    let mounts = process.read_most("mountinfo", limits::MOUNTS).ok_or(Closed::Denied)?;
    let path = format!("map_files/{}", area.map_file());
    let by_mapping = rustix::fs::openat(process.file(), path, FOUND, Mode::empty());
    if let Ok(found) = by_mapping {
        return opened(&found, "mapping", glance, (&mounts, area));
    }
    let mut refused = None;
    // As printed, which has the path of a chroot in front, and as the process sees it.
    let name = [b"/tmp/", area.name()].concat();
    for path in [&area.path[..], &name] {
        let found = match named(process, Path::new(std::ffi::OsStr::from_bytes(path))) {
            Ok(found) => found,
            Err(Errno::ACCESS | Errno::PERM) => return Err(Closed::Denied),
            Err(_) => continue,
        };
        // On overlayfs old kernels tell another device and inode in the map.
        match opened(&found, "file", glance, (&mounts, area)) {
            Ok(region) if area.inode == region.inode || is_overlay(&found, &mounts) => {
                return Ok(region);
            }
            Ok(_) => refused = Some(Closed::Refused("the file of its name is of another process")),
            Err(why) => refused = Some(why),
        }
    }
    Err(refused.unwrap_or(Closed::Refused(
        "its file was removed, and the PMDA may not look at its mapping: run the PMDA as root, or give it \
         CAP_CHECKPOINT_RESTORE",
    )))
}

fn named(process: &ProcDir, path: &Path) -> Result<OwnedFd, Errno> {
    let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else {
        return Err(Errno::NOENT);
    };
    let folder = folder_in(&process.root()?, folder)?;
    rustix::fs::openat(&folder, file, FOUND | OFlags::NOFOLLOW, Mode::empty())
}

/// Opens what was found, if it is a file of the process's user on a file system that answers.
fn opened(
    found: &OwnedFd,
    via: &'static str,
    glance: &Glance,
    (mounts, area): (&[u8], &Mapping),
) -> Result<Region, Closed> {
    // What the kernel knows of a file. No file system is asked.
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let stat = rustix::fs::statx(found, "", flags, StatxFlags::BASIC_STATS)
        .map_err(|_| Closed::Refused("its file cannot be looked at"))?;
    let device = (stat.stx_dev_major, stat.stx_dev_minor);
    if !file_system(mounts, device).is_some_and(|kind| LOCAL.contains(&kind)) {
        return Err(Closed::Refused(
            "its performance data is on a file system that has a server: reading it could take any time",
        ));
    }
    let regular = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::RegularFile;
    let sizes = PROLOGUE as u64..=limits::REGION as u64;
    if !regular || stat.stx_nlink > 1 || !sizes.contains(&stat.stx_size) {
        return Err(Closed::Refused("not a performance data file"));
    }
    if stat.stx_uid != glance.status().uid {
        return Err(Closed::Refused("its performance data is of another user"));
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::openat(CWD, path_of(found), flags, Mode::empty());
    let file = match file {
        Ok(file) => file,
        Err(Errno::ACCESS | Errno::PERM) => return Err(Closed::Denied),
        Err(_) => return Err(Closed::Refused("its file cannot be opened")),
    };
    if !leaves_reserve(&file) {
        return Err(Closed::Refused("the limit of open files (ulimit -n) of the PMDA is reached"));
    }
    let (mapped, inode) = ((area.device, area.inode), stat.stx_ino);
    Ok(Region { file: File::from(file), via, mapped, inode })
}

fn is_overlay(found: &OwnedFd, mounts: &[u8]) -> bool {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let stat = rustix::fs::statx(found, "", flags, StatxFlags::BASIC_STATS);
    let device = stat.map(|stat| (stat.stx_dev_major, stat.stx_dev_minor));
    device.is_ok_and(|device| file_system(mounts, device) == Some(b"overlay"))
}
