//! Opens the region of a process, in one of the ways that this user may (docs/protocols/jvm-hsperfdata.md 1.1).
//! It is read, never mapped, locked or written.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::locate::{locate, name};
use super::memory::{Area, find};
use crate::host::limits::MAPS;
use crate::host::{Aside, Found, Glance, Mapped, Mapping, read_at};
use crate::sources::jvm::limits;
use crate::sources::jvm::wire::PROLOGUE;

/// A region that is open. In a file it stays readable when its name is gone and when the process has ended; in
/// memory until the process ends or executes another program.
#[derive(Debug)]
pub(super) struct Region {
    file: Arc<File>,
    area: Area,
    /// It is in the memory of a process of this user.
    user: Option<u32>,
    /// How it was found: `mapping`, `file` or `memory`.
    pub(super) via: &'static str,
    /// Its file: another one is another region.
    pub(super) mapped: Mapped,
}

/// Why a region is not open.
#[derive(Debug)]
pub(super) enum Closed {
    /// This user may not open it.
    Denied,
    /// It is not what it should be: why.
    Refused(&'static str),
}

impl Closed {
    /// It cannot be opened, for no other reason than `why`.
    const fn by(error: Errno, why: &'static str) -> Self {
        match error {
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::MFILE => {
                Self::Refused("the limit of open files (ulimit -n) of the PMDA is reached")
            }
            _ => Self::Refused(why),
        }
    }
}

impl Region {
    /// In a file.
    pub(super) fn of(file: File, via: &'static str, mapped: Mapped) -> Self {
        let area = Area { start: 0, size: limits::REGION };
        Self { file: file.into(), area, user: None, via, mapped }
    }

    /// Reads at most so many bytes of the begin. What may hang is read aside.
    ///
    /// # Errors
    /// The file system cannot read it; [`ErrorKind::UnexpectedEof`]: it was in memory that is gone.
    pub(super) fn read(
        &self,
        want: usize,
        into: &mut Vec<u8>,
        aside: &mut Aside,
    ) -> std::io::Result<()> {
        let Area { start, size } = self.area;
        let want = want.min(size);
        let Some(user) = self.user else { return read_at(&self.file, start, want, into) };
        let (memory, mut bytes) = (Arc::clone(&self.file), std::mem::take(into));
        let read = aside.run(user, move || {
            let read = read_at(&memory, start, want, &mut bytes);
            (bytes, read)
        });
        let read = read.ok_or_else(|| {
            Error::new(ErrorKind::TimedOut, "a process of its user does not answer in time")
        })?;
        *into = read.0;
        // The kernel has no bytes of a memory that nobody uses.
        let gone = read.1.is_ok() && into.is_empty();
        if gone { Err(ErrorKind::UnexpectedEof.into()) } else { read.1 }
    }
}

/// The region that a process has mapped: by its mapping, which works when its name is gone, or by
/// its name below the root of the process.
pub(super) fn open(glance: &Glance, area: &Mapping) -> Result<Region, Closed> {
    let process = glance.process();
    let mounts = process.read_most("mountinfo", limits::MOUNTS).ok_or(Closed::Denied)?;
    if let Ok(found) = Found::mapped(process, area.range) {
        return opened(&found, "mapping", glance, (&mounts, area));
    }
    let mut refused = None;
    // As printed, which has the path of a chroot in front, and as the process sees it.
    let in_tmp = [b"/tmp/", name(&area.path)].concat();
    for path in [&area.path[..], &in_tmp] {
        let found = match Found::named(process, Path::new(std::ffi::OsStr::from_bytes(path))) {
            Ok(found) => found,
            Err(Errno::ACCESS | Errno::PERM) => return Err(Closed::Denied),
            Err(_) => continue,
        };
        // On overlayfs old kernels tell another device and inode in the map.
        let is =
            area.inode == found.stat().stx_ino || found.file_system(&mounts) == Some(b"overlay");
        match opened(&found, "file", glance, (&mounts, area)) {
            Ok(region) if is => return Ok(region),
            Ok(_) => refused = Some(Closed::Refused("the file of its name is of another process")),
            Err(why) => refused = Some(why),
        }
    }
    Err(refused.unwrap_or(Closed::Refused(
        "its file was removed, and the PMDA may not look at its mapping: run the PMDA as root, or give it \
         CAP_CHECKPOINT_RESTORE",
    )))
}

/// What tells a memory from others of the process: the address at which its library was loaded.
pub(super) const fn loaded(library: &Mapping) -> Mapped {
    (library.device, library.range.0)
}

/// The region in the memory of a process, which shows only its map of itself. `None`: it has none.
pub(super) fn open_memory(glance: &Glance, library: &Mapping) -> Result<Option<Region>, Closed> {
    let (process, user) = (glance.process(), glance.status().uid);
    let memory = process.memory().map_err(|e| Closed::by(e, "it cannot be opened"))?;
    // It is that of the program that runs now, which may be another one than was looked at.
    let is_same = process.start() == Some(glance.stat().start)
        && process.status().is_some_and(|status| status.uid == user)
        && process.read_most("maps", MAPS).is_some_and(|maps| {
            locate(&maps, glance.inner_pid()).library.as_ref() == Some(library)
        });
    if !is_same {
        return Err(Closed::Refused("it executes another program"));
    }
    let area = find(&memory, library.range.0).map_err(Closed::Refused)?;
    let (file, mapped) = (memory.into(), loaded(library));
    Ok(area.map(|area| Region { file, area, user: Some(user), via: "memory", mapped }))
}

/// Opens what was found, if it is a file of the process's user on a file system that answers.
fn opened(
    found: &Found<'_>,
    via: &'static str,
    glance: &Glance,
    (mounts, area): (&[u8], &Mapping),
) -> Result<Region, Closed> {
    if !found.is_local(mounts) {
        return Err(Closed::Refused(
            "its performance data is on a file system that has a server: reading it could take any time",
        ));
    }
    if !found.is_plain(&(PROLOGUE as u64..=limits::REGION as u64)) {
        return Err(Closed::Refused("not a performance data file"));
    }
    if !found.is_of(glance.status().uid) {
        return Err(Closed::Refused("its performance data is of another user"));
    }
    let file = found.open().map_err(|e| Closed::by(e, "its file cannot be opened"))?;
    Ok(Region::of(file, via, area.file()))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;
    use crate::host::ProcFs;

    fn of(pid: u32, at: u64, size: usize) -> Region {
        let memory = Arc::new(File::open(format!("/proc/{pid}/mem")).unwrap());
        let area = Area { start: at, size };
        Region { file: memory, area, user: Some(7), via: "memory", mapped: ((0, 1), at) }
    }

    /// Where the first file of a process is mapped.
    fn mapped(pid: u32) -> u64 {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        u64::from_str_radix(maps.split_once('-').unwrap().0, 16).unwrap()
    }

    #[test]
    fn a_memory_is_read_until_it_is_gone() {
        let mut command = Command::new("sh");
        let mut shell = command
            .args(["-c", "echo; read -r line; exec sleep 1000"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = shell.id();
        let proc = ProcFs::new("/proc".into()).open(pid).unwrap();
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let at = mapped(pid);
        let mut aside = Aside::new(Duration::from_secs(60));
        let region = of(pid, at, 4096);
        let mut bytes = Vec::new();
        region.read(64, &mut bytes, &mut aside).unwrap();
        assert_eq!((bytes.len(), &bytes[..4]), (64, &b"\x7fELF"[..]));
        region.read(1 << 20, &mut bytes, &mut aside).unwrap();
        assert_eq!(bytes.len(), 4096, "no more than the region has");
        for at in [0, 8, u64::MAX, 1 << 63] {
            let error = of(pid, at, 64).read(64, &mut bytes, &mut aside).unwrap_err();
            assert_ne!(error.kind(), ErrorKind::UnexpectedEof, "{at:x}");
        }
        // It has no library of this kind.
        let library =
            Mapping { range: (at, at + 4096), path: Box::default(), device: (0, 0), inode: 0 };
        let glance = |pid| Glance::of(ProcFs::new("/proc".into()).open(pid).unwrap()).unwrap();
        assert!(matches!(open_memory(&glance(pid), &library), Err(Closed::Refused(_))));
        drop(shell.stdin.take());
        while proc.stat().unwrap().comm != b"sleep" {
            std::thread::sleep(Duration::from_millis(1));
        }
        let gone = |region: &Region, aside: &mut Aside| {
            let error = region.read(64, &mut Vec::new(), aside).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        };
        gone(&region, &mut aside);
        let later = of(pid, mapped(pid), 4096);
        shell.kill().unwrap();
        shell.wait().unwrap();
        gone(&later, &mut aside);
    }
}
