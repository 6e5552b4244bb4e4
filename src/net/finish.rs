//! The end of a stream.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, sink};
use tokio::time::timeout;

/// Ends the stream after its last bytes. A close with unread input would reset the connection, and
/// the peer could lose these bytes, so the input is discarded until the peer ends its side, or for
/// `time`.
pub(super) async fn finish(mut stream: impl AsyncRead + AsyncWrite + Unpin, time: Duration) {
    let discard = async {
        stream.shutdown().await?;
        copy(&mut stream, &mut sink()).await
    };
    // An error ends the stream as well.
    let _ = timeout(time, discard).await;
}
