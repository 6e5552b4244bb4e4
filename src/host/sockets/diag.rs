//! The inode of a TCP connection's socket, from the kernel: sock_diag(7), one question for one
//! connection, however many there are on the host.

use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use super::Socket;

/// `SOCK_DIAG_BY_FAMILY`: type of question and answer.
const BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR`: type of the answer that has only an error.
const ERROR: u16 = 2;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// `TCP_ESTABLISHED`: a lookup also finds who listens at the port.
const ESTABLISHED: u8 = 1;
/// Bytes of the header of each message.
const HEADER: usize = 16;
/// Bytes of a question: header and `struct inet_diag_req_v2`.
const QUESTION: usize = HEADER + 56;
/// Where the inode is in an answer: header and `struct inet_diag_msg`.
const INODE: usize = HEADER + 68;
/// Where the user is.
const USER: usize = HEADER + 64;

/// The inode and the user of the socket of this host and network namespace that is connected from `local` to
/// `remote`; `None`: there is none, or it is closed.
///
/// # Errors
/// The kernel does not answer such questions, or not to this process.
pub(super) fn inode(local: SocketAddr, remote: SocketAddr) -> Result<Option<Socket>, Errno> {
    let protocol = Some(netlink::SOCK_DIAG);
    let netlink =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, protocol)?;
    send(&netlink, &question(local, remote), SendFlags::empty())?;
    let mut answer = [0; 1024];
    // The kernel has answered before `send` returns.
    let (length, _) = recv(&netlink, &mut answer, RecvFlags::DONTWAIT)?;
    read(answer.get(..length).unwrap_or_default())
}

fn question(local: SocketAddr, remote: SocketAddr) -> [u8; QUESTION] {
    let (from, to) = (local.ip().to_canonical(), remote.ip().to_canonical());
    let family = if from.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut bytes = [0; QUESTION];
    let mut rest = bytes.as_mut_slice();
    let mut put = |value: &[u8]| {
        if let Some((to, more)) = std::mem::take(&mut rest).split_at_mut_checked(value.len()) {
            to.copy_from_slice(value);
            rest = more;
        }
    };
    put(&u32::try_from(QUESTION).unwrap_or_default().to_ne_bytes());
    put(&BY_FAMILY.to_ne_bytes());
    put(&REQUEST.to_ne_bytes());
    put(&[0; 8]); // Number of the question, port.
    put(&[u8::try_from(family.as_raw()).unwrap_or_default(), TCP, 0, 0]);
    put(&u32::MAX.to_ne_bytes()); // States, which a lookup does not regard.
    put(&local.port().to_be_bytes());
    put(&remote.port().to_be_bytes());
    put(&octets(from));
    put(&octets(to));
    put(&[0; 4]); // Any interface.
    put(&[0xff; 8]); // No cookie.
    bytes
}

/// An address in network order, with zeros behind one of 4 bytes.
fn octets(ip: IpAddr) -> [u8; 16] {
    let mut all = [0; 16];
    match ip {
        IpAddr::V4(ip) => all[..4].copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => all = ip.octets(),
    }
    all
}

pub(in crate::host) fn read(answer: &[u8]) -> Result<Option<Socket>, Errno> {
    let word = |at: usize| answer.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word));
    let kind =
        answer.get(4..).and_then(|rest| rest.first_chunk()).map(|two| u16::from_ne_bytes(*two));
    match kind {
        Some(BY_FAMILY) if answer.get(HEADER + 1) == Some(&ESTABLISHED) => {
            let inode = word(INODE).filter(|inode| *inode != 0).map(u64::from);
            Ok(inode.zip(word(USER)).map(|(inode, user)| Socket { inode, user }))
        }
        Some(BY_FAMILY) => Ok(None),
        Some(ERROR) => {
            let code = word(HEADER).unwrap_or_default().cast_signed();
            match Errno::from_raw_os_error(code.saturating_neg()) {
                Errno::NOENT => Ok(None),
                other => Err(other),
            }
        }
        _ => Err(Errno::BADMSG),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn inode_of(socket: &impl AsFd) -> Socket {
        let own: OwnedFd = socket.as_fd().try_clone_to_owned().expect("a descriptor");
        let metadata = File::from(own).metadata().expect("metadata");
        Socket { inode: metadata.ino(), user: metadata.uid() }
    }

    #[test]
    fn each_end_of_a_connection_and_nothing_else() {
        let ways = [
            ("127.0.0.1:0", "127.0.0.1"),
            ("[::1]:0", "::1"),
            ("[::]:0", "127.0.0.1"),
            ("127.0.0.1:0", "::ffff:127.0.0.1"),
        ];
        for (listens, host) in ways {
            let Ok(listener) = TcpListener::bind(listens) else { continue };
            let port = listener.local_addr().expect("an address").port();
            let to = SocketAddr::new(host.parse().expect("an address"), port);
            let client = TcpStream::connect(to).expect("a connection");
            let (server, peer) = listener.accept().expect("a connection");
            let ours = server.local_addr().expect("an address");
            let Ok(found) = inode(peer, ours) else { return };
            assert_eq!(found, Some(inode_of(&client)), "{listens} {host}");
            assert_eq!(inode(ours, peer), Ok(Some(inode_of(&server))), "{listens} {host}");
            let other = SocketAddr::new(peer.ip(), peer.port() ^ 1);
            assert_eq!(inode(other, ours), Ok(None), "{listens} {host}");
            drop((client, server));
            assert_eq!(inode(peer, ours), Ok(None), "the listener is not the connection");
        }
    }

    #[test]
    fn answers_of_other_lengths() {
        let mut answer = [0_u8; INODE + 4];
        answer[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        answer[HEADER + 1] = ESTABLISHED;
        answer[INODE..].copy_from_slice(&7_u32.to_ne_bytes());
        answer[USER..INODE].copy_from_slice(&8_u32.to_ne_bytes());
        assert_eq!(read(&answer), Ok(Some(Socket { inode: 7, user: 8 })));
        for end in 0..answer.len() {
            assert!(read(&answer[..end]).is_err() || read(&answer[..end]) == Ok(None), "{end}");
        }
        answer[4..6].copy_from_slice(&ERROR.to_ne_bytes());
        for (code, none) in [(-2, true), (-1, false), (i32::MIN, false)] {
            answer[HEADER..HEADER + 4].copy_from_slice(&i32::to_ne_bytes(code));
            assert_eq!(read(&answer) == Ok(None), none, "{code}");
            assert_eq!(read(&answer).is_err(), !none, "{code}");
        }
    }
}
