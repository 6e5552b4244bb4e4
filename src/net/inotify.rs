//! Waiting for an inotify instance.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::unix::AsyncFd;

/// Tells when an inotify instance has events; `None`: it cannot be waited for.
#[allow(
    deprecated,
    reason = "its replacement wants a promise that the file stays open; an Arc is that"
)]
pub fn readiness(file: Arc<OwnedFd>) -> Option<AsyncFd<Arc<OwnedFd>>> {
    AsyncFd::new(file).ok()
}

/// Waits until there are events; for ever without an instance. The caller reads until nothing is left.
pub async fn has_events(events: Option<&AsyncFd<Arc<OwnedFd>>>) {
    let Some(events) = events else { return std::future::pending().await };
    match events.readable().await {
        Ok(mut ready) => ready.clear_ready(),
        Err(_) => std::future::pending().await,
    }
}
