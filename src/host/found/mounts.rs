//! Which file systems answer by themselves.

use std::fs::File;
use std::io::Read;
use std::sync::{LazyLock, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Statx, StatxFlags};

use crate::host::text::{file_system, file_system_of};

/// Others have a server, which need not: of those a read could last as long as it likes.
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

/// The mounts that this process sees, as they are now: the kernel says when they change.
#[derive(Debug, Default)]
struct Own {
    list: Option<File>,
    text: Vec<u8>,
}

static OWN: LazyLock<Mutex<Own>> = LazyLock::new(Mutex::default);

impl Own {
    fn text(&mut self) -> &[u8] {
        let changed = |list: &File| {
            let mut files = [PollFd::new(list, PollFlags::PRI)];
            poll(&mut files, Some(&Timespec::default())).is_err() || !files[0].revents().is_empty()
        };
        if self.list.as_ref().is_none_or(changed) {
            self.text.clear();
            self.list = File::open("/proc/self/mountinfo").ok();
            if self.list.as_mut().is_none_or(|list| list.read_to_end(&mut self.text).is_err()) {
                (self.list, self.text) = (None, Vec::new());
            }
        }
        &self.text
    }
}

/// The file system answers by itself. `mountinfo`: that of a process, for what this one does not see. This one's comes first:
/// most processes of a host have the same, and that of a chroot has not the mount that its root is in.
pub(super) fn is_local<'m>(stat: &Statx, mountinfo: impl FnOnce() -> Option<&'m [u8]>) -> bool {
    let local = |kind: &[u8]| LOCAL.contains(&kind);
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = type_of(stat, own.text()).map(local);
    drop(own);
    known.or_else(|| type_of(stat, mountinfo()?).map(local)).unwrap_or_default()
}

/// By the mount that it is in, if the kernel tells (since Linux 5.8) and it is in the list, else by the device: btrfs
/// gives each subvolume another one than its mount.
pub(super) fn type_of<'a>(stat: &Statx, mountinfo: &'a [u8]) -> Option<&'a [u8]> {
    let tells = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    tells
        .then(|| file_system_of(mountinfo, stat.stx_mnt_id))
        .flatten()
        .or_else(|| file_system(mountinfo, (stat.stx_dev_major, stat.stx_dev_minor)))
}
