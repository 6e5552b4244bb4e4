//! A directory of a process, found without a question to a file system that need not answer.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{FileType, Statx};
use rustix::io::Errno;

use super::mounts::is_local;
use super::{at, known};
use crate::host::files::ProcDir;

/// Most links of a path.
const LINKS: usize = 40;
/// Bytes of a list of mounts that are read.
const MOUNTS: u64 = 1 << 20;

/// A directory of a process, below its root. Links lead to nowhere outside of it, and nothing is looked for in a file
/// system that need not answer: what is mounted is known at each step before the next one.
///
/// # Errors
/// It is not there, or may not be looked into; [`Errno::REMOTE`]: it is on a file system that has a server.
pub fn folder_in(process: &ProcDir, root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mounts = OnceCell::new();
    let answers = |stat: &Statx| {
        is_local(stat, || mounts.get_or_init(|| process.read_most("mountinfo", MOUNTS)).as_deref())
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, OFlags};

    use super::*;
    use crate::host::ProcFs;
    use crate::host::files::PATH_FLAGS;

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
