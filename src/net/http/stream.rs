//! The socket as hyper sees it: notes progress, and has each part of a request acknowledged at once.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::progress::{CoarseClock, Progress};
use crate::net::tcp::acknowledge;
use crate::net::tls::Wire;
use crate::store::{SelfStats, Stat};

/// A connection's socket.
pub(super) struct Stream<'a, W> {
    pub(super) wire: &'a mut W,
    /// Bytes that were read before those of the socket.
    pub(super) prefix: Bytes,
    pub(super) progress: &'a Progress,
    pub(super) clock: &'a CoarseClock,
    pub(super) stats: &'a SelfStats,
}

impl<W: Wire> AsyncRead for Stream<'_, W> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.prefix.is_empty() {
            let n = self.prefix.len().min(buf.remaining());
            buf.put_slice(self.prefix.get(..n).unwrap_or_default());
            self.prefix.advance(n);
            self.progress.read(n, self.clock);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut *self.wire).poll_read(cx, buf);
        match read {
            Poll::Pending if self.progress.is_receiving() => acknowledge(self.wire.tcp()),
            Poll::Ready(Ok(())) => {
                let n = buf.filled().len() - before;
                if n > 0 {
                    self.progress.read(n, self.clock);
                    self.stats.add(Stat::IngestBytes, n as u64);
                }
            }
            _ => {}
        }
        read
    }
}

impl<W: Wire> AsyncWrite for Stream<'_, W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut *self.wire).poll_write(cx, buf);
        self.progress.write_waits(written.is_pending(), self.clock);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut *self.wire).poll_write_vectored(cx, bufs);
        self.progress.write_waits(written.is_pending(), self.clock);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    /// Called when all is written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut *self.wire).poll_flush(cx);
        match flushed {
            Poll::Pending => self.progress.write_waits(true, self.clock),
            Poll::Ready(_) => self.progress.flushed(self.clock),
        }
        flushed
    }

    /// The connection's task ends the socket.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
