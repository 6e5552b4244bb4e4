//! System calls that std does not offer, each as a safe function.

#![allow(unsafe_code)] // a C boundary: poll, socket, send, signal mask and fork handler of libc

use std::ffi::c_int;
use std::io;
use std::mem::{self, MaybeUninit};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

/// Readiness to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    /// Bytes or the end of the stream to read.
    Read,
    /// Room to write, or a connection made.
    Write,
}

/// Waits until one of `fds` is ready (or broken) or `timeout` has passed. Returns readiness by
/// position.
pub(crate) fn poll<const N: usize>(
    fds: [Option<(BorrowedFd<'_>, Ready)>; N],
    timeout: Duration,
) -> io::Result<[bool; N]> {
    let mut list = fds.map(|wanted| libc::pollfd {
        // poll skips negative descriptors.
        fd: wanted.map_or(-1, |(fd, _)| fd.as_raw_fd()),
        events: match wanted {
            Some((_, Ready::Write)) => libc::POLLOUT,
            _ => libc::POLLIN,
        },
        revents: 0,
    });
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    let count = libc::nfds_t::try_from(N).unwrap_or(0);
    // SAFETY: `list` has `count` entries, the timeout outlives the call, no mask is given.
    let result = unsafe { libc::ppoll(list.as_mut_ptr(), count, &raw const timeout, ptr::null()) };
    match status(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(list.map(|fd| fd.revents != 0)),
    }
}

/// Starts a connection without waiting for it. The socket is non-blocking and close-on-exec, and
/// becomes ready to [`Ready::Write`] when the attempt is over.
#[expect(clippy::cast_possible_truncation, reason = "small constants of libc's own headers")]
pub(crate) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: socket takes no pointers.
    let fd = unsafe { libc::socket(family, kind, 0) };
    status(fd)?;
    // SAFETY: the descriptor is new and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let result = match address {
        SocketAddr::V4(v4) => {
            let name = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            let size = mem::size_of_val(&name) as libc::socklen_t;
            // SAFETY: `name` is a whole sockaddr_in of `size` bytes and outlives the call.
            unsafe { libc::connect(fd, (&raw const name).cast(), size) }
        }
        SocketAddr::V6(v6) => {
            let name = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            let size = mem::size_of_val(&name) as libc::socklen_t;
            // SAFETY: `name` is a whole sockaddr_in6 of `size` bytes and outlives the call.
            unsafe { libc::connect(fd, (&raw const name).cast(), size) }
        }
    };
    match status(result) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(TcpStream::from(socket)),
    }
}

/// `send` that never raises SIGPIPE.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: `bytes` is readable for its length.
    let sent = unsafe {
        libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Runs `body` with every signal blocked in this thread; a thread started by `body` inherits this.
pub(crate) fn with_signals_blocked<T>(body: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigfillset initializes the set it is given.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` was filled, `before` has room for the present mask.
    let blocked =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    let result = body();
    if blocked == 0 {
        // SAFETY: the successful call above filled `before`; nothing is asked back.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    }
    result
}

/// Tells a file or socket from any other that is open at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

/// The identity of what a descriptor is open for.
pub(crate) fn identity(fd: BorrowedFd<'_>) -> io::Result<Identity> {
    identity_of(fd.as_raw_fd())
}

fn identity_of(fd: RawFd) -> io::Result<Identity> {
    let mut stat = MaybeUninit::<libc::stat64>::uninit();
    // SAFETY: `stat` has room for what fstat writes; a number that is not open is an error.
    status(unsafe { libc::fstat64(fd, stat.as_mut_ptr()) })?;
    // SAFETY: the successful call above filled `stat`.
    let stat = unsafe { stat.assume_init() };
    Ok(Identity { device: stat.st_dev, inode: stat.st_ino })
}

/// A second descriptor of the same file or socket with the first free number from `lowest` up,
/// close-on-exec.
pub(crate) fn duplicate_from(fd: BorrowedFd<'_>, lowest: c_int) -> io::Result<OwnedFd> {
    // SAFETY: fcntl with this command takes a number.
    let copy = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, lowest) };
    status(copy)?;
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// The socket that a forked child closes, or -1.
static CLOSED_IN_CHILD: AtomicI32 = AtomicI32::new(-1);
/// The [`Identity`] of that socket.
static CLOSED_DEVICE: AtomicU64 = AtomicU64::new(0);
static CLOSED_INODE: AtomicU64 = AtomicU64::new(0);

/// Sets the socket that a child made by fork without exec closes, so that the connection ends with
/// this process. Must be reset to `None` before the socket is closed.
pub(crate) fn close_in_child(socket: Option<(RawFd, Identity)>) {
    let Some((socket, identity)) = socket else {
        return CLOSED_IN_CHILD.store(-1, Ordering::SeqCst);
    };
    CLOSED_DEVICE.store(identity.device, Ordering::SeqCst);
    CLOSED_INODE.store(identity.inode, Ordering::SeqCst);
    CLOSED_IN_CHILD.store(socket, Ordering::SeqCst);
}

/// Installs the fork handler for [`close_in_child`]; called once in a process.
pub(crate) fn watch_forks() {
    unsafe extern "C" {
        /// POSIX; not declared by the libc crate for Linux.
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> c_int;
    }
    extern "C" fn in_child() {
        let socket = CLOSED_IN_CHILD.swap(-1, Ordering::SeqCst);
        let ours = Identity {
            device: CLOSED_DEVICE.load(Ordering::SeqCst),
            inode: CLOSED_INODE.load(Ordering::SeqCst),
        };
        // The program may have closed the socket and use its number.
        if socket >= 0 && identity_of(socket).is_ok_and(|identity| identity == ours) {
            // SAFETY: close is allowed in a fork handler; the thread that owns the descriptor does
            // not exist in the child.
            unsafe { libc::close(socket) };
        }
    }
    // SAFETY: the handler is a static function that allocates nothing and takes no lock.
    unsafe { pthread_atfork(None, None, Some(in_child)) };
}

/// Converts a C result of -1 to the error in errno.
fn status(result: c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Makes `number` another descriptor of `with`, whatever it was before.
    pub(crate) fn replace(number: RawFd, with: BorrowedFd<'_>) {
        // SAFETY: dup2 takes numbers; that `number` has an owner is the purpose of the test.
        assert_eq!(unsafe { libc::dup2(with.as_raw_fd(), number) }, number);
    }

    /// Takes a number for one's own.
    pub(crate) fn adopt<T: From<OwnedFd>>(number: RawFd) -> T {
        // SAFETY: the test has made the number its own by `replace`.
        T::from(unsafe { OwnedFd::from_raw_fd(number) })
    }

    fn blocked_signals() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("SigBlk:"));
        line.unwrap().to_owned()
    }

    #[test]
    fn signals_are_blocked_in_the_new_thread_and_restored_here() {
        let before = blocked_signals();
        let within = with_signals_blocked(|| std::thread::spawn(blocked_signals));
        assert_eq!(blocked_signals(), before);
        let within = within.join().unwrap();
        let mask = u64::from_str_radix(within.trim_start_matches("SigBlk:").trim(), 16).unwrap();
        for signal in [libc::SIGPIPE, libc::SIGPWR, libc::SIGTERM, libc::SIGXCPU] {
            assert_ne!(mask & (1 << (signal - 1)), 0, "signal {signal}");
        }
    }
}
