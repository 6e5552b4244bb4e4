//! Which of some processes has a connection open, in whatever network namespace it is.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};

use super::{Ends, LIST, Socket, canonical, connection, held, sockets};
use crate::host::files::{ProcDir, ProcFs};
use crate::host::opener::Part;
use crate::host::text::ProcStatus;

/// The process, of these, that has each of these connections open: id and start. Connections are those of this
/// process to others: the other's end comes first.
///
/// One in another network namespace is found in the lists of the namespaces that these processes are in, if
/// only one of those has it.
#[must_use]
pub fn owners(
    proc: &ProcFs,
    connections: &[Ends],
    among: &[(u32, u64)],
) -> Vec<Option<(u32, u64)>> {
    // A socket that was passed on at a fork is the parent's.
    let mut among: Vec<_> = among.to_vec();
    among.sort_unstable_by_key(|&(pid, start)| (start, pid));
    let open = |&(pid, start): &(u32, u64)| {
        proc.open(pid).filter(|process| process.start() == Some(start))
    };
    let mut sockets = sockets(proc, connections);
    let far = connections.iter().zip(&sockets);
    // No other namespace has a loopback address of this one.
    let far = far.filter(|((peer, _), socket)| socket.is_none() && !peer.ip().is_loopback());
    let far: HashSet<_> = far.map(|(ends, _)| both(*ends)).collect();
    if !far.is_empty() {
        let found = elsewhere(proc, &far, among.iter().filter_map(open));
        for (socket, ends) in sockets.iter_mut().zip(connections) {
            *socket = socket.or_else(|| found.get(&both(*ends)).copied().flatten());
        }
    }
    let known = sockets.iter().flatten().map(|socket| (socket.inode, socket.user));
    let mut missing: HashMap<u64, u32> = known.collect();
    let mut owners = HashMap::new();
    for process in &among {
        if missing.is_empty() {
            break;
        }
        let Some(open) = open(process) else { continue };
        let Some(ProcStatus { real, uid, .. }) = open.status() else { continue };
        // Others have none of them, and may have many files.
        let own = missing.iter().filter(|(_, user)| [real, uid].contains(user));
        let own: HashSet<u64> = own.map(|(inode, _)| *inode).collect();
        if own.is_empty() {
            continue;
        }
        for inode in held(&open, &own) {
            missing.remove(&inode);
            owners.insert(inode, *process);
        }
    }
    sockets.into_iter().map(|socket| owners.get(&socket?.inode).copied()).collect()
}

fn both((peer, ours): Ends) -> Ends {
    (canonical(peer), canonical(ours))
}

/// The sockets of connections that the namespaces of these processes have; `None`: several have it.
///
/// Whoever has a user namespace of his own makes network namespaces in which he has any address: only what is in that
/// of this process is believed.
fn elsewhere(
    proc: &ProcFs,
    wanted: &HashSet<Ends>,
    processes: impl Iterator<Item = ProcDir>,
) -> HashMap<Ends, Option<Socket>> {
    let Some(this) = proc.open(std::process::id()) else { return HashMap::new() };
    let Some(users) = namespace(&this, Part::Users) else { return HashMap::new() };
    let addresses: HashSet<IpAddr> = wanted.iter().map(|(own, _)| own.ip()).collect();
    let mut known: HashSet<_> = namespace(&this, Part::Network).into_iter().collect();
    let mut found = HashMap::new();
    for process in processes {
        // A list takes a millisecond or more, however short it is.
        if namespace(&process, Part::Users) != Some(users)
            || !namespace(&process, Part::Network).is_some_and(|namespace| known.insert(namespace))
            || !has_address(&process, &addresses)
        {
            continue;
        }
        for text in ["net/tcp", "net/tcp6"].iter().filter_map(|list| process.read_most(list, LIST))
        {
            let lines = text.split(|&b| b == b'\n').skip(1).filter_map(connection);
            for (ends, socket) in lines.filter(|(ends, _)| wanted.contains(ends)) {
                match found.entry(ends) {
                    Entry::Vacant(entry) => drop(entry.insert(Some(socket))),
                    Entry::Occupied(mut entry) => *entry.get_mut() = None,
                }
            }
        }
    }
    found
}

/// A namespace of a process, if this user or the opener may see it.
fn namespace(process: &ProcDir, kind: Part) -> Option<(u64, u64)> {
    let stat = rustix::fs::fstat(process.part(kind).ok()?).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// The namespace of a process has one of these addresses.
fn has_address(process: &ProcDir, wanted: &HashSet<IpAddr>) -> bool {
    let read = |list| String::from_utf8_lossy(&process.read(list).unwrap_or_default()).into_owned();
    // A line of the first has the address behind "|--", one of the second as 32 digits before a blank.
    let v4 = read("net/fib_trie");
    let mut v4 = v4.lines().filter_map(|line| line.trim().strip_prefix("|-- ")?.parse().ok());
    let v6 = read("net/if_inet6");
    let v6 = v6.lines().filter_map(|line| u128::from_str_radix(line.split(' ').next()?, 16).ok());
    v4.any(|ip| wanted.contains(&ip))
        || v6.map(Ipv6Addr::from).any(|ip| wanted.contains(&ip.into()))
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::path::{Path, PathBuf};

    use super::*;

    fn connected(address: &str) -> (TcpStream, TcpStream, (SocketAddr, SocketAddr)) {
        let listener = TcpListener::bind(address).expect("bound");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (server, peer) = listener.accept().expect("connected");
        let ours = server.local_addr().expect("connected");
        (client, server, (peer, ours))
    }

    #[test]
    fn a_connection_is_that_of_the_process_that_has_it_open() {
        let proc = ProcFs::new(PathBuf::from("/proc"));
        let this = std::process::id();
        let start = proc.open(this).expect("this one").start().expect("it lives");
        let (client, _server, ends) = connected("127.0.0.1:0");
        let parent = std::os::unix::process::parent_id();
        let begun = proc.open(parent).and_then(|parent| parent.start()).unwrap_or_default();
        let among = [(parent, begun), (this, start)];
        let other = (SocketAddr::new(ends.0.ip(), ends.0.port() ^ 1), ends.1);
        assert_eq!(owners(&proc, &[ends, other], &among), [Some((this, start)), None]);
        assert_eq!(owners(&proc, &[ends], &among[..1]), [None], "it is not among them");
        assert_eq!(owners(&proc, &[ends], &[(this, start + 1)]), [None], "its id is used again");
        drop(client);
        assert_eq!(owners(&proc, &[ends], &among), [None]);
    }

    /// A process in a folder like /proc: of this namespace, with these connections and this socket.
    fn process(root: &Path, pid: u32, namespace: &str, lines: &str, socket: u64) {
        let dir = root.join(pid.to_string());
        for folder in ["ns", "net", "fd"] {
            std::fs::create_dir_all(dir.join(folder)).expect("ours");
        }
        let zeros = "0 ".repeat(17);
        std::fs::write(dir.join("stat"), format!("{pid} (java) S {zeros}1 9 0 0")).expect("ours");
        std::fs::write(dir.join("status"), "Uid:\t1000\t0\t0\t0\n").expect("ours");
        for (kind, namespace) in [("net", namespace), ("user", "users")] {
            std::fs::write(root.join(namespace), "").expect("ours");
            let link = dir.join("ns").join(kind);
            std::os::unix::fs::symlink(root.join(namespace), link).expect("ours");
        }
        std::fs::write(dir.join("net/tcp"), format!("  sl\n{lines}\n")).expect("ours");
        let addresses = "+-- 172.17.0.0/16\n  |-- 172.17.0.2\n  /32 host LOCAL\n  |-- 172.17.0.3\n";
        std::fs::write(dir.join("net/fib_trie"), addresses).expect("ours");
        let link = format!("socket:[{socket}]");
        std::os::unix::fs::symlink(link, dir.join("fd/7")).expect("ours");
    }

    #[test]
    fn other_namespaces_are_those_of_the_processes() {
        let root = std::env::temp_dir().join(format!("apm-owners-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(root.join("self/net")).expect("ours");
        let end = |ip: [u8; 4], port: u16| format!("{:08X}:{port:04X}", u32::from_ne_bytes(ip));
        let ours = end([172, 17, 0, 1], 7777);
        let line = |own: String, other: &str, inode: u64| {
            format!(" 0: {own} {other} 01 0:0 0:0 0 1000 0 {inode} 1")
        };
        let (a, b) = (end([172, 17, 0, 2], 4000), end([172, 17, 0, 3], 4000));
        let elsewhere = end([10, 0, 0, 9], 5432);
        let first = format!("{}\n{}", line(a.clone(), &elsewhere, 40), line(a, &ours, 41));
        process(&root, std::process::id(), "host", "", 1);
        process(&root, 51, "one", &first, 41);
        process(&root, 52, "one", &first, 1);
        // Two namespaces with one address: whose connection it is nobody knows.
        process(&root, 53, "two", &line(b.clone(), &ours, 43), 43);
        process(&root, 54, "three", &line(b, &ours, 44), 44);
        let proc = ProcFs::new(root.clone());
        let at = |text: &str| text.parse().expect("an address");
        let to = at("172.17.0.1:7777");
        let connections = [(at("[::ffff:172.17.0.2]:4000"), to), (at("172.17.0.3:4000"), to)];
        let among = [(54, 9), (53, 9), (52, 9), (51, 9)];
        assert_eq!(owners(&proc, &connections, &among), [Some((51, 9)), None]);
        assert_eq!(owners(&proc, &connections, &among[..2]), [None, None]);
        assert_eq!(owners(&proc, &connections, &among[..1]), [None, Some((54, 9))][..].to_vec());
        // One that is of another user has none of its sockets.
        let status = |user| format!("Uid:\t{user}\t1\t0\t0\n");
        std::fs::write(root.join("51/status"), status(1001)).expect("ours");
        assert_eq!(owners(&proc, &connections, &among), [None, None]);
        std::fs::write(root.join("51/status"), status(1000)).expect("ours");
        for pid in ["53", "54"] {
            std::fs::write(root.join(pid).join("net/fib_trie"), "|-- 10.0.0.1\n").expect("ours");
        }
        assert_eq!(
            owners(&proc, &connections, &among),
            [Some((51, 9)), None],
            "of another address"
        );
        // Whoever has a user namespace of his own can have any address.
        std::fs::write(root.join("others"), "").expect("ours");
        for pid in ["51", "52"] {
            std::fs::remove_file(root.join(pid).join("ns/user")).expect("ours");
            let link = root.join(pid).join("ns/user");
            std::os::unix::fs::symlink(root.join("others"), link).expect("ours");
        }
        assert_eq!(owners(&proc, &connections, &among), [None, None]);
        let six = "fd00000000000000000000000000000a 04 40 00 82     eth0\n";
        std::fs::write(root.join("54/net/if_inet6"), six).expect("ours");
        let has = |ip: &str| {
            let process = proc.open(54).expect("ours");
            has_address(&process, &HashSet::from([ip.parse().expect("an address")]))
        };
        assert!(has("fd00::a") && has("10.0.0.1") && !has("fd00::b") && !has("172.17.0.3"));
        std::fs::remove_dir_all(&root).expect("ours");
    }
}
