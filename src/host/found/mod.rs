//! A file of a process that is found and not open yet: what the kernel knows of it decides whether it is opened. A file
//! system that is another user's need not answer, and is not asked before.

mod folder;
mod mounts;

use std::fs::File;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use pmda::process::leaves_reserve;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;

pub use folder::folder_in;

use super::files::{PATH_FLAGS, ProcDir, path_of};
use super::known::Mapped;
use super::opener::{Place, Request};

/// A file that is found.
#[derive(Debug)]
pub struct Found<'p> {
    file: OwnedFd,
    stat: Statx,
    /// Of which process, and where.
    of: Option<(&'p ProcDir, Place)>,
}

impl Found<'static> {
    /// The file of this name in a folder, which is no link.
    ///
    /// # Errors
    /// It is not there.
    pub fn at(folder: impl AsFd, file: &Path) -> Result<Self, Errno> {
        Self::new(at(folder, file)?, None)
    }
}

impl<'p> Found<'p> {
    /// The file that is mapped in this range of addresses, which has a name in /proc/PID/map_files. Its own
    /// name may be gone.
    ///
    /// # Errors
    /// It is not mapped, or neither this user nor the opener may look there.
    pub fn mapped(process: &'p ProcDir, range: (u64, u64)) -> Result<Self, Errno> {
        let path = format!("map_files/{:x}-{:x}", range.0, range.1);
        let found = rustix::fs::openat(process.file(), path, PATH_FLAGS, Mode::empty());
        Self::of(process, found, Place::Mapped(range.0, range.1))
    }

    /// The file of this path below the root of the process, which is no link.
    ///
    /// # Errors
    /// It is not there, or neither this user nor the opener may look there.
    pub fn named(process: &'p ProcDir, path: &Path) -> Result<Self, Errno> {
        let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else {
            return Err(Errno::NOENT);
        };
        let root = process.root()?;
        let found = folder_in(process, &root, folder);
        let found = found.and_then(|folder| at(folder, Path::new(file)));
        Self::of(process, found, Place::Path(path.to_owned()))
    }

    fn of(
        process: &'p ProcDir,
        found: Result<OwnedFd, Errno>,
        place: Place,
    ) -> Result<Self, Errno> {
        let found = process.or_ask(found, || Some(Request::Find(place.clone())))?;
        Self::new(found, Some((process, place)))
    }

    fn new(file: OwnedFd, of: Option<(&'p ProcDir, Place)>) -> Result<Self, Errno> {
        let stat = known(&file)?;
        Ok(Self { file, stat, of })
    }

    /// This user may write to it, or connect to it if it is a socket.
    #[must_use]
    pub fn may_be_written(&self) -> bool {
        let (path, access) = (path_of(&self.file), rustix::fs::Access::WRITE_OK);
        rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
    }

    /// The file, not open for reading.
    #[must_use]
    pub fn into_file(self) -> OwnedFd {
        self.file
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

    /// It is a socket.
    #[must_use]
    pub fn is_socket(&self) -> bool {
        FileType::from_raw_mode(self.stat.stx_mode.into()) == FileType::Socket
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
        mounts::type_of(&self.stat, mountinfo)
    }

    /// Its file system answers by itself.
    #[must_use]
    pub fn is_local(&self, mountinfo: &[u8]) -> bool {
        mounts::is_local(&self.stat, || Some(mountinfo))
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// Neither this user nor the opener may; [`Errno::MFILE`]: the limit of open files is reached.
    pub fn open(&self) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = rustix::fs::openat(CWD, path_of(&self.file), flags, Mode::empty());
        let file = match &self.of {
            Some((process, place)) => {
                process.or_ask(opened, || Some(Request::Read(place.clone(), self.file())))
            }
            None => opened,
        }?;
        if leaves_reserve(&file) { Ok(File::from(file)) } else { Err(Errno::MFILE) }
    }
}

/// What the kernel knows of a file, without a question to its file system.
fn known(file: &OwnedFd) -> Result<Statx, Errno> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(file, "", flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)
}

/// The file of this name, which is no link.
fn at(folder: impl AsFd, file: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(folder, file, PATH_FLAGS | OFlags::NOFOLLOW, Mode::empty())
}
