//! A file of a process that is found and not open yet: what the kernel knows of it decides whether it is opened. A file
//! system that is another user's need not answer, and is not asked before.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use pmda::process::leaves_reserve;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;

use super::files::{PATH_FLAGS, ProcDir, path_of};
use super::known::Mapped;
use super::opener::{Place, Request};
use super::text::{file_system, file_system_of};

/// File systems that answer by themselves. Others have a server, which need not: of those a read could
/// last as long as it likes.
const LOCAL: [&[u8]; 14] = [
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
    b"squashfs",
    b"erofs",
    b"rootfs",
];

/// Most links of a path.
const LINKS: usize = 40;
/// Bytes of a list of mounts that are read.
const MOUNTS: u64 = 1 << 20;

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
        type_of(&self.stat, mountinfo)
    }

    /// Its file system answers by itself.
    #[must_use]
    pub fn is_local(&self, mountinfo: &[u8]) -> bool {
        is_local(&self.stat, mountinfo)
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

/// A directory of a process, below its root. Links lead to nowhere outside of it, and nothing is looked for in a file
/// system that need not answer: what is mounted is known at each step before the next one.
///
/// # Errors
/// It is not there, or may not be looked into; [`Errno::REMOTE`]: it is on a file system that has a server.
pub fn folder_in(process: &ProcDir, root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mounts = OnceCell::new();
    let answers = |stat: &Statx| {
        let mounts = mounts.get_or_init(|| process.read_most("mountinfo", MOUNTS));
        is_local(stat, mounts.as_deref().unwrap_or_default())
    };
    if !answers(&known(root)?) {
        return Err(Errno::REMOTE);
    }
    let (mut above, mut links): (Vec<OwnedFd>, _) = (Vec::new(), 0);
    let mut rest: Vec<OsString> = Vec::new();
    let add = |rest: &mut Vec<OsString>, path: &Path| {
        let is_name =
            |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
        rest.extend(
            path.components().filter(is_name).rev().map(|part| part.as_os_str().to_owned()),
        );
    };
    add(&mut rest, path);
    while let Some(name) = rest.pop() {
        if name == ".." {
            above.pop();
            continue;
        }
        let next = at(above.last().unwrap_or(root), Path::new(&name))?;
        let stat = known(&next)?;
        match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::Symlink if links < LINKS => {
                links += 1;
                let target = rustix::fs::readlinkat(&next, "", Vec::new())?;
                let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                if target.is_absolute() {
                    above.clear();
                }
                add(&mut rest, target);
            }
            FileType::Symlink => return Err(Errno::LOOP),
            FileType::Directory if answers(&stat) => above.push(next),
            FileType::Directory => return Err(Errno::REMOTE),
            _ => return Err(Errno::NOTDIR),
        }
    }
    above.pop().map_or_else(|| rustix::io::fcntl_dupfd_cloexec(root, 0), Ok)
}

/// What the kernel knows of a file, without a question to its file system.
fn known(file: &OwnedFd) -> Result<Statx, Errno> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(file, "", flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)
}

/// By the mount that it is in, if the kernel tells (since Linux 5.8) and the process has it, else by the device: btrfs
/// gives each subvolume another one than its mount.
fn type_of<'a>(stat: &Statx, mountinfo: &'a [u8]) -> Option<&'a [u8]> {
    let tells = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    let mount = tells.then_some(stat.stx_mnt_id);
    mount
        .and_then(|id| file_system_of(mountinfo, id))
        .or_else(|| file_system(mountinfo, (stat.stx_dev_major, stat.stx_dev_minor)))
}

fn is_local(stat: &Statx, mountinfo: &[u8]) -> bool {
    // The mount that the root of a chroot is in is in no list of its processes, but in that of this one.
    let own = || std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    match type_of(stat, mountinfo) {
        Some(kind) => LOCAL.contains(&kind),
        None => type_of(stat, &own()).is_some_and(|kind| LOCAL.contains(&kind)),
    }
}

/// The file of this name, which is no link.
fn at(folder: impl AsFd, file: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(folder, file, PATH_FLAGS | OFlags::NOFOLLOW, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::host::ProcFs;

    #[test]
    fn folders_are_found_below_the_root_and_not_where_a_server_is_asked() {
        let scene = std::env::temp_dir().join(format!("apm-found-{}", std::process::id()));
        std::fs::create_dir_all(scene.join("root/a/b")).unwrap();
        std::fs::create_dir_all(scene.join("outside")).unwrap();
        std::fs::write(scene.join("root/a/file"), "").unwrap();
        for (link, target) in [
            ("absolute", "/a/b"),
            ("relative", "a/../a/b"),
            ("out", "../../outside"),
            ("again", "again"),
            ("kernel", "/proc/self/root"),
        ] {
            let _ = std::fs::remove_file(scene.join("root").join(link));
            symlink(target, scene.join("root").join(link)).unwrap();
        }
        let process = ProcFs::new("/proc".into()).open(std::process::id()).unwrap();
        let open = |path: &Path| {
            let flags = PATH_FLAGS | OFlags::DIRECTORY;
            rustix::fs::openat(CWD, path, flags, Mode::empty()).unwrap()
        };
        let inode = |folder: &OwnedFd| known(folder).unwrap().stx_ino;
        let (root, b) = (open(&scene.join("root")), open(&scene.join("root/a/b")));
        let find = |path: &str| folder_in(&process, &root, Path::new(path)).map(|at| inode(&at));
        for path in
            ["a/b", "/a/b", "./a/./b/", "absolute", "relative", "/../a/b", "a/b/../../relative"]
        {
            assert_eq!(find(path), Ok(inode(&b)), "{path}");
        }
        assert_eq!(find("/"), Ok(inode(&root)));
        assert_eq!(find("a/b/../../.."), Ok(inode(&root)));
        // As below the root of a process, where there is no folder above.
        assert_eq!(find("out"), Err(Errno::NOENT));
        assert_eq!(find("again"), Err(Errno::LOOP));
        assert_eq!((find("a/file"), find("a/none")), (Err(Errno::NOTDIR), Err(Errno::NOENT)));
        // There is no /proc below this root; below that of this process its files are none that answer by themselves.
        assert_eq!(find("kernel"), Err(Errno::NOENT));
        let all = open(Path::new("/"));
        let here = |path: &Path| folder_in(&process, &all, path).map(|_| ());
        assert_eq!(here(&scene.join("root/a")), Ok(()));
        for far in [Path::new("/proc"), Path::new("/proc/sys/kernel"), &scene.join("root/kernel")] {
            assert_eq!(here(far), Err(Errno::REMOTE), "{}", far.display());
        }
        std::fs::remove_dir_all(scene).unwrap();
    }
}
