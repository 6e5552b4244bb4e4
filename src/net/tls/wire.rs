//! A connection, plain or with TLS, as listeners and drivers see it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// Most bytes that are looked at ahead.
const AHEAD: usize = 16;

/// A byte stream to a peer.
pub(in crate::net) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {
    /// Bytes of memory that it may use of its own.
    const BUFFERS: usize;

    /// Its socket.
    fn tcp(&self) -> &TcpStream;

    /// Waits for bytes and copies the first ones, at most 16, which are read again later. 0: the end.
    fn ahead(&mut self, first: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;
}

impl Wire for TcpStream {
    const BUFFERS: usize = 0;

    fn tcp(&self) -> &TcpStream {
        self
    }

    async fn ahead(&mut self, first: &mut [u8]) -> io::Result<usize> {
        self.peek(first).await
    }
}

/// A connection with TLS.
pub(in crate::net) struct Secure {
    tls: TlsStream<TcpStream>,
    /// Bytes that were looked at and not yet read: `ahead[at..end]`.
    ahead: [u8; AHEAD],
    at: usize,
    end: usize,
}

impl Secure {
    pub(super) const fn new(tls: TlsStream<TcpStream>) -> Self {
        Self { tls, ahead: [0; AHEAD], at: 0, end: 0 }
    }

    fn waiting(&self) -> &[u8] {
        self.ahead.get(self.at..self.end).unwrap_or_default()
    }
}

impl Wire for Secure {
    /// A record that has come and is not yet whole, and the state of both ways.
    const BUFFERS: usize = 20 << 10;

    fn tcp(&self) -> &TcpStream {
        self.tls.get_ref().0
    }

    async fn ahead(&mut self, first: &mut [u8]) -> io::Result<usize> {
        if self.at == self.end {
            // Its result is there at once or nothing was read: whoever drops this loses nothing.
            let n = self.tls.read(&mut self.ahead).await?;
            (self.at, self.end) = (0, n);
        }
        let waiting = self.ahead.get(self.at..self.end).unwrap_or_default();
        let n = waiting.len().min(first.len());
        first.iter_mut().zip(waiting).for_each(|(to, from)| *to = *from);
        Ok(n)
    }
}

impl AsyncRead for Secure {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.at < self.end {
            let n = self.waiting().len().min(buf.remaining());
            buf.put_slice(self.waiting().get(..n).unwrap_or_default());
            self.at += n;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.tls).poll_read(cx, buf)
    }
}

impl AsyncWrite for Secure {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tls).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_shutdown(cx)
    }
}
