//! The buffer for reads of a worker thread. Most connections are idle most of the time and would
//! only keep a buffer of their own: what a read brings is decoded at once, and a rest is short.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Most bytes of one read.
pub(super) const READ_MAX: usize = 64 << 10;
/// Input of more bytes stays where it is: it is not copied with each read.
const REST_MAX: usize = READ_MAX / 2;

thread_local! {
    static SPARE: Cell<BytesMut> = Cell::default();
}

/// Reads at most `most` bytes behind `input`. While it waits, the connection has no more than
/// `input`.
pub(super) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    input: &mut BytesMut,
    most: usize,
) -> io::Result<usize> {
    poll_fn(|cx| {
        let large = input.len() > REST_MAX;
        let mut buffer = if large { std::mem::take(input) } else { SPARE.take() };
        buffer.reserve(READ_MAX);
        if !large {
            buffer.extend_from_slice(input);
        }
        let polled = pin!(stream.read_buf(&mut (&mut buffer).limit(most))).poll(cx);
        match polled {
            Poll::Ready(Ok(1..)) => *input = buffer,
            _ if large => *input = buffer,
            _ => give_back(buffer),
        }
        polled
    })
    .await
}

/// Takes the buffer from a connection whose input is decoded as far as possible.
pub(super) fn release(input: &mut BytesMut) {
    if input.len() <= REST_MAX {
        let rest = BytesMut::from(&**input);
        give_back(std::mem::replace(input, rest));
    }
}

fn give_back(mut buffer: BytesMut) {
    buffer.clear();
    // Now it has the room in front of the decoded bytes again, unless it has enough without.
    buffer.reserve(READ_MAX);
    if buffer.capacity() <= 2 * READ_MAX {
        SPARE.set(buffer);
    }
}
