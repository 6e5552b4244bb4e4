//! A file of a process that is found and not open yet: what the kernel knows of it decides whether it is opened. A file
//! system that is another user's need not answer, and is not asked before.

use std::fs::File;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use pmda::process::leaves_reserve;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;

use super::files::{ProcDir, folder_in, path_of};
use super::known::Mapped;
use super::text::file_system;

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
const FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A file that is found.
#[derive(Debug)]
pub struct Found {
    file: OwnedFd,
    stat: Statx,
}

impl Found {
    /// The file that is mapped in this range of addresses, which has a name in /proc/PID/map_files. Its own
    /// name may be gone.
    ///
    /// # Errors
    /// It is not mapped, or this user may not look there.
    pub fn mapped(process: &ProcDir, range: (u64, u64)) -> Result<Self, Errno> {
        let path = format!("map_files/{:x}-{:x}", range.0, range.1);
        Self::new(rustix::fs::openat(process.file(), path, FLAGS, Mode::empty())?)
    }

    /// The file of this path below the root of the process, which is no link.
    ///
    /// # Errors
    /// It is not there, or this user may not look there.
    pub fn named(process: &ProcDir, path: &Path) -> Result<Self, Errno> {
        let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else {
            return Err(Errno::NOENT);
        };
        Self::at(folder_in(&process.root()?, folder)?, Path::new(file))
    }

    /// The file of this name in a folder, which is no link.
    ///
    /// # Errors
    /// It is not there.
    pub fn at(folder: impl AsFd, file: &Path) -> Result<Self, Errno> {
        let flags = FLAGS | OFlags::NOFOLLOW;
        Self::new(rustix::fs::openat(folder, file, flags, Mode::empty())?)
    }

    fn new(file: OwnedFd) -> Result<Self, Errno> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let stat = rustix::fs::statx(&file, "", flags, StatxFlags::BASIC_STATS)?;
        Ok(Self { file, stat })
    }

    /// What the kernel knows of it.
    #[must_use]
    pub const fn stat(&self) -> &Statx {
        &self.stat
    }

    /// Its device and its inode.
    #[must_use]
    pub const fn file(&self) -> Mapped {
        ((self.stat.stx_dev_major, self.stat.stx_dev_minor), self.stat.stx_ino)
    }

    /// It is a file, not a FIFO or another thing.
    fn is_regular(&self) -> bool {
        FileType::from_raw_mode(self.stat.stx_mode.into()) == FileType::RegularFile
    }

    /// It is a file of such a size, and has no other name: one that was linked there is another's.
    #[must_use]
    pub fn is_plain(&self, sizes: &RangeInclusive<u64>) -> bool {
        self.is_regular() && self.stat.stx_nlink <= 1 && sizes.contains(&self.stat.stx_size)
    }

    /// It belongs to this user.
    #[must_use]
    pub const fn is_of(&self, user: u32) -> bool {
        self.stat.stx_uid == user
    }

    /// The type of its file system, by the process's `mountinfo`.
    #[must_use]
    pub fn file_system<'a>(&self, mountinfo: &'a [u8]) -> Option<&'a [u8]> {
        file_system(mountinfo, self.file().0)
    }

    /// Its file system answers by itself.
    #[must_use]
    pub fn is_local(&self, mountinfo: &[u8]) -> bool {
        self.file_system(mountinfo).is_some_and(|kind| LOCAL.contains(&kind))
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// This user may not; [`Errno::MFILE`]: the limit of open files is reached.
    pub fn open(&self) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(CWD, path_of(&self.file), flags, Mode::empty())?;
        if leaves_reserve(&file) { Ok(File::from(file)) } else { Err(Errno::MFILE) }
    }
}
