//! pmproxy(1), which asks pmcd for clients that may be anywhere.
//!
//! pmcd takes its connections for those of a program of this host: through the Unix socket they have the user and the
//! process of pmproxy, over TCP they come from a local address.

use std::fs;
use std::path::{Path, PathBuf};

/// Its name in /proc/PID/comm.
const NAME: &str = "pmproxy";

/// The end of a TCP connection of this host: the user who opened the socket, and its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) uid: u32,
    pub(super) inode: u64,
}

/// Whether a process is pmproxy. `None`: it cannot be seen, since it has ended or is in another container, and may be.
#[must_use]
pub fn is_pmproxy(pid: u32) -> Option<bool> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end() == NAME)
}

/// Whether a running pmproxy has one of these ends. Where its descriptors cannot be seen, its user counts.
pub(super) fn has_any(ends: &[End]) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    !ends.is_empty()
        && processes.flatten().map(|entry| entry.path()).any(|process| {
            let name = fs::read_to_string(process.join("comm"));
            name.is_ok_and(|name| name.trim_end() == NAME) && has(&process, ends)
        })
}

fn has(process: &Path, ends: &[End]) -> bool {
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else {
        let uid = user_of(process);
        return ends.iter().any(|end| uid.is_none_or(|uid| end.uid == uid));
    };
    let links = descriptors.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter_map(inode).any(|inode| ends.iter().any(|end| end.inode == inode))
}

/// The inode of `socket:[4711]`.
fn inode(link: PathBuf) -> Option<u64> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The effective user of a process; the owner of its files in /proc is another one after a change of users.
fn user_of(process: &Path) -> Option<u32> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    uids.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::process::{Command, Stdio};

    use rustix::fs::fstat;

    use super::*;

    #[test]
    fn a_process_of_its_name_is_it_and_one_that_is_not_seen_may_be() {
        assert_eq!(is_pmproxy(std::process::id()), Some(false));
        assert_eq!((is_pmproxy(0), is_pmproxy(u32::MAX)), (None, None));
    }

    #[test]
    fn its_connections_are_known_by_their_sockets() {
        let dir = std::env::temp_dir().join(format!("pmda-pmproxy-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        let program = dir.join(NAME);
        // A link: a copy that another test's new process still has open for writing is not executed.
        std::os::unix::fs::symlink("/bin/cat", &program).expect("a program");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("there");
        let uid = rustix::process::geteuid().as_raw();
        let end = End { uid, inode: fstat(client.as_fd()).expect("a socket").st_ino };
        assert!(!has_any(&[end]), "it is this test's");
        let mut child = Command::new(&program)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(client)))
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        // Until it runs it has this program's name.
        let (mut far, _) = listener.accept().expect("connected");
        std::io::Write::write_all(&mut far, b"x").expect("open");
        let mut echo = [0];
        child.stdout.as_mut().expect("a pipe").read_exact(&mut echo).expect("it runs");
        assert_eq!(is_pmproxy(child.id()), Some(true));
        assert!(has_any(&[end]));
        assert!(!has_any(&[End { inode: 1, ..end }]) && !has_any(&[]));
        child.kill().and_then(|()| child.wait()).expect("ours");
        assert!(!has_any(&[end]));
        fs::remove_dir_all(&dir).expect("ours");
    }
}
