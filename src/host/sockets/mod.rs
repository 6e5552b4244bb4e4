//! Which process has a connection or a file open.

pub(super) mod diag;
mod owners;

pub use owners::owners;

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, DirEntry, Mode, OFlags};
use rustix::io::Errno;

use crate::host::files::{ProcDir, ProcFs};
use crate::host::opener::{Request, SOCKETS};

/// Bytes of a list of connections that are read: some 100,000 of them.
const LIST: u64 = 16 << 20;
/// Files of one process that are looked at.
const FILES: usize = 65_536;
/// Time for a connection of this process to itself.
const PROBE: Duration = Duration::from_secs(1);

/// Something that can be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// A socket, by its inode.
    Socket(u64),
    /// A file, by device and inode.
    File(u64, u64),
}

/// A socket, as the kernel tells of it without any rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its inode.
    pub inode: u64,
    /// The user that made it.
    pub user: u32,
}

/// The ends of a connection.
type Ends = (SocketAddr, SocketAddr);

/// A peer's socket: of the one of this host that is connected from `peer` to `ours`, the
/// addresses that a connection of this process has.
#[must_use]
pub fn socket(proc: &ProcFs, peer: SocketAddr, ours: SocketAddr) -> Option<Socket> {
    sockets(proc, &[(peer, ours)]).pop().flatten()
}

/// The same of each of these connections.
fn sockets(proc: &ProcFs, connections: &[Ends]) -> Vec<Option<Socket>> {
    let mut unanswered = HashSet::new();
    let ask = |ends: &Ends| match diag::inode(ends.0, ends.1) {
        Ok(Some(socket)) => Some(socket),
        // The connection is closed. Thousands of peers that leave at once must not cost a list each.
        Ok(None) if kernel_finds() => None,
        Ok(None) | Err(_) => {
            unanswered.insert(canonical(ends.0));
            None
        }
    };
    let mut found: Vec<_> = connections.iter().map(ask).collect();
    if !unanswered.is_empty() {
        let listed = listed(proc, &unanswered);
        for (socket, (peer, _)) in found.iter_mut().zip(connections) {
            *socket = socket.or_else(|| listed.get(&canonical(*peer)).copied());
        }
    }
    found
}

/// Whether the kernel finds connections that are open; one without such answers finds none. A
/// connection of this process to itself tells, once.
fn kernel_finds() -> bool {
    static FINDS: OnceLock<bool> = OnceLock::new();
    *FINDS.get_or_init(|| finds_own().unwrap_or(false))
}

fn finds_own() -> io::Result<bool> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect_timeout(&listener.local_addr()?, PROBE)?;
    Ok(diag::inode(client.local_addr()?, client.peer_addr()?)?.is_some())
}

/// The same from the lists of all connections, by the address of the peer: a port has only one to us. With thousands
/// of them it takes a tenth of a second.
fn listed(proc: &ProcFs, peers: &HashSet<SocketAddr>) -> HashMap<SocketAddr, Socket> {
    let mut found = HashMap::new();
    // What a process of both families connects with is in the second list.
    for text in ["self/net/tcp", "self/net/tcp6"].iter().filter_map(|list| proc.read(list, LIST)) {
        let lines = text.split(|&b| b == b'\n').skip(1).filter_map(connection);
        for ((peer, _), socket) in lines.filter(|((peer, _), _)| peers.contains(peer)) {
            found.entry(peer).or_insert(socket);
        }
    }
    found
}

/// The connection of a line and its socket, if it is open. Its own end comes first.
pub(super) fn connection(line: &[u8]) -> Option<(Ends, Socket)> {
    const ESTABLISHED: &str = "01";
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace().skip(1);
    let mut end = || {
        let (ip, port) = fields.next()?.split_once(':')?;
        Some(SocketAddr::new(ip_of(ip)?.to_canonical(), u16::from_str_radix(port, 16).ok()?))
    };
    let ends = (end()?, end()?);
    if fields.next()? != ESTABLISHED {
        return None;
    }
    // Queues, timer, retransmissions, user, timeout, inode.
    let user = fields.nth(3)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok().filter(|inode| *inode != 0)?;
    Some((ends, Socket { inode, user }))
}

/// An address of four bytes is one, however it is written.
pub(super) fn canonical(end: SocketAddr) -> SocketAddr {
    SocketAddr::new(end.ip().to_canonical(), end.port())
}

/// An address as the kernel prints it: words of 32 bits, each in the order of the host.
fn ip_of(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        u32::from_str_radix(hex.get(8 * at..8 * at + 8)?, 16).ok().map(u32::to_ne_bytes)
    };
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut octets = [0; 16];
            for (at, four) in octets.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(at)?);
            }
            Some(Ipv6Addr::from(octets).into())
        }
        _ => None,
    }
}

/// Whether the process has it open; `None`: this user may not see it.
#[must_use]
pub fn holds(process: &ProcDir, what: Holding) -> Option<bool> {
    let (folder, mut files) = match opened(process) {
        Ok(opened) => opened,
        Err(e) => return asked(process, what, e),
    };
    Some(files.any(|file| is(&folder, file.file_name(), what)))
}

/// The same, as the opener sees it.
fn asked(process: &ProcDir, what: Holding, e: Errno) -> Option<bool> {
    let request = match what {
        Holding::Socket(inode) => Request::Holds(vec![inode]),
        Holding::File(device, inode) => Request::HoldsFile(device, inode),
    };
    let (holds, _) = process.answer(&request).filter(|_| e == Errno::ACCESS)?.ok()?;
    Some(holds != 0)
}

/// Those of these sockets that the process has open, as far as this user or the opener may see it.
pub(super) fn held(process: &ProcDir, sockets: &HashSet<u64>) -> Vec<u64> {
    let (folder, files) = match opened(process) {
        Ok(opened) => opened,
        Err(Errno::ACCESS) => return all_asked(process, sockets),
        Err(_) => return Vec::new(),
    };
    let inodes = files.filter_map(|file| inode(&folder, file.file_name()));
    inodes.filter(|inode| sockets.contains(inode)).collect()
}

fn all_asked(process: &ProcDir, sockets: &HashSet<u64>) -> Vec<u64> {
    let sockets: Vec<_> = sockets.iter().copied().collect();
    let answers = sockets.chunks(SOCKETS).map(|some| {
        let (bits, _) = process.answer(&Request::Holds(some.to_vec()))?.ok()?;
        Some(some.iter().enumerate().filter(move |(n, _)| bits & 1 << n != 0))
    });
    answers.map_while(|some| some).flatten().map(|(_, inode)| *inode).collect()
}

/// The folder of the files that a process has open, and its entries. What they are only who may debug it sees.
fn opened(process: &ProcDir) -> Result<(OwnedFd, impl Iterator<Item = DirEntry>), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(process.file(), "fd", flags, Mode::empty())?;
    let files = Dir::read_from(&folder)?;
    Ok((folder, files.filter_map(Result::ok).take(FILES)))
}

/// The inode of an open file, if it is a socket.
fn inode(folder: &OwnedFd, name: &CStr) -> Option<u64> {
    let link = rustix::fs::readlinkat(folder, name, Vec::new()).ok()?;
    link.to_str().ok()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

fn is(folder: &OwnedFd, name: &CStr, what: Holding) -> bool {
    match what {
        Holding::Socket(socket) => inode(folder, name) == Some(socket),
        Holding::File(device, inode) => rustix::fs::statat(folder, name, AtFlags::empty())
            .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (device, inode)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn lines() {
        let line = b"   3: 0100007F:A2C4 0100007F:22B8 01 00000000:00000000 00:00000000 00000000  1000        0 83417 1 0";
        let at = |text: &str| -> SocketAddr { text.parse().expect("an address") };
        if cfg!(target_endian = "little") {
            let ends = (at("127.0.0.1:41668"), at("127.0.0.1:8888"));
            assert_eq!(connection(line), Some((ends, Socket { inode: 83_417, user: 1000 })));
        }
        let text = String::from_utf8_lossy(line);
        for other in [text.replace(" 01 ", " 06 "), text.replace("83417", "0")] {
            assert_eq!(connection(other.as_bytes()), None, "{other}");
        }
        for end in 0..90 {
            assert_eq!(connection(&line[..end]), None, "{end}");
        }
        let mapped = "0000000000000000FFFF00000100007F";
        if cfg!(target_endian = "little") {
            assert_eq!(ip_of(mapped).map(|ip| ip.to_canonical()), Some([127, 0, 0, 1].into()));
        }
        for odd in ["", "0", "0100007G", "é100007", "0000000000000000FFFF00000100007"] {
            assert_eq!(ip_of(odd), None);
        }
    }

    fn in_list(proc: &ProcFs, local: SocketAddr) -> Option<Socket> {
        listed(proc, &HashSet::from([local])).remove(&local)
    }

    /// A /proc whose list has this connection.
    fn listing(local: SocketAddr) -> ProcFs {
        let root = std::env::temp_dir().join(format!("apm-list-{}", std::process::id()));
        let net = root.join("self/net");
        std::fs::create_dir_all(&net).expect("a folder");
        let ip = match local.ip() {
            IpAddr::V4(ip) => format!("{:08X}", u32::from_ne_bytes(ip.octets())),
            IpAddr::V6(_) => "0".repeat(24) + &format!("{:08X}", u32::from_ne_bytes([0, 0, 0, 1])),
        };
        let line = format!("\n 0: {ip}:{:04X} {ip}:0001 01 0:0 0:0 0 0 0 5 1\n", local.port());
        std::fs::write(net.join("tcp"), line).expect("a file");
        let proc = ProcFs::new(root);
        assert_eq!(in_list(&proc, local), Some(Socket { inode: 5, user: 0 }));
        proc
    }

    #[test]
    fn connections_and_files_of_this_process() {
        let proc = ProcFs::new(PathBuf::from("/proc"));
        let this = proc.open(std::process::id()).expect("this process");
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let ours = listener.local_addr().expect("an address");
            let client = TcpStream::connect(ours).expect("a connection");
            let local = client.local_addr().expect("an address");
            let found = socket(&proc, local, ours).expect("a socket");
            assert_eq!(found.user, rustix::process::geteuid().as_raw());
            assert_eq!(in_list(&proc, local), Some(found));
            let inode = found.inode;
            assert_eq!(holds(&this, Holding::Socket(inode)), Some(true));
            assert_eq!(holds(&this, Holding::Socket(inode + 1_000_000)), Some(false));
            drop(client);
            assert_eq!(socket(&proc, local, ours), None);
            assert_eq!(in_list(&proc, local), None);
            drop(listener);
            if kernel_finds() {
                assert_eq!(socket(&listing(local), local, ours), None, "no list is read");
            }
        }
        _ = std::fs::remove_dir_all(
            std::env::temp_dir().join(format!("apm-list-{}", std::process::id())),
        );
        let path = std::env::temp_dir().join(format!("apm-holds-{}", std::process::id()));
        let file = File::create(&path).expect("a file");
        let metadata = file.metadata().expect("metadata");
        let what = Holding::File(metadata.dev(), metadata.ino());
        assert_eq!(holds(&this, what), Some(true));
        drop(file);
        assert_eq!(holds(&this, what), Some(false));
        std::fs::remove_file(&path).expect("removed");
    }
}
