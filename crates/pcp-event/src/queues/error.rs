//! Errors of queue calls.

/// The reason why a call failed; in brackets the code returned by the C library. A call that failed
/// did nothing, but for those of [`QueueError::NoMemory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// No such queue, no such client, or a queue without memory (`-EINVAL`).
    #[error("no such queue or client, or an argument that makes no sense")]
    Invalid,
    /// A queue of this name exists (`-EEXIST`).
    #[error("a queue of this name exists")]
    Exists,
    /// No queue of this name (`-ESRCH`).
    #[error("no queue of this name")]
    NotFound,
    /// The system is out of memory (`-ENOMEM`). The call has no effect, with two exceptions: an append
    /// may have dropped the oldest events ([`Queues::append`](super::Queues::append)), and a fetch
    /// counts as one of its client.
    #[error("no memory")]
    NoMemory,
}
