//! Messages with descriptors, between processes of this program.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Descriptors of one message.
pub const PASSED: usize = 24;

/// Sends a message, with at most [`PASSED`] descriptors, without waiting.
///
/// # Errors
/// [`Errno::INVAL`]: more descriptors; [`Errno::AGAIN`]: there is no room now; [`Errno::PIPE`] and others: the other side
/// has ended.
pub fn send_with(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    passed: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(PASSED))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !passed.is_empty() && !control.push(SendAncillaryMessage::ScmRights(passed)) {
        return Err(Errno::INVAL);
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags).map(drop)
}

/// Receives a message without waiting: how many bytes of it there is room for, and the descriptors that came with it, at
/// most [`PASSED`]. No bytes: the other side has ended.
///
/// # Errors
/// [`Errno::AGAIN`]: there is none now.
pub fn receive_with(
    socket: BorrowedFd<'_>,
    into: &mut [u8],
) -> Result<(usize, Vec<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(PASSED))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = recvmsg(socket, &mut [IoSliceMut::new(into)], &mut control, flags)?;
    let mut passed = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            passed.extend(descriptors);
        }
    }
    Ok((received.bytes, passed))
}
