//! What a peer has in common with peers of other sources that are of the same process.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Peer;

/// Whether another source counts the same process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Share {
    /// None does, as far as is known.
    #[default]
    Alone,
    /// That is being found out.
    Awaited,
    /// One does.
    Shared,
}

/// Both ends of a connection, the peer's first.
pub type Ends = (SocketAddr, SocketAddr);

#[derive(Debug, Default)]
pub(super) struct Twin {
    /// A [`Share`].
    share: AtomicU8,
    words: Mutex<Words>,
}

#[derive(Debug, Default)]
struct Words {
    ends: Option<Ends>,
    /// Names of sources, and of their peers.
    links: Vec<(&'static str, String)>,
}

impl Peer {
    /// The connection that it came by, if that tells its process.
    #[must_use]
    pub fn ends(&self) -> Option<Ends> {
        self.twin.with(|words| words.ends)
    }

    /// Whether another source counts its process.
    #[must_use]
    pub fn share(&self) -> Share {
        match self.twin.share.load(Ordering::Relaxed) {
            0 => Share::Alone,
            1 => Share::Awaited,
            _ => Share::Shared,
        }
    }

    /// Sets [`Peer::share`].
    pub fn set_share(&self, share: Share) {
        self.twin.share.store(share as u8, Ordering::Relaxed);
    }

    /// A connection came by these ends, of this process or another one. What was in common stays until it is known
    /// whether it still is, but for another process.
    pub(in crate::store) fn came(&self, ends: Option<Ends>, awaited: bool, is_another: bool) {
        self.set_share(if awaited { Share::Awaited } else { Share::Alone });
        self.twin.with(|words| {
            words.ends = ends;
            if is_another {
                words.links.clear();
            }
        });
    }

    /// The peer of another source that is of the same process.
    #[must_use]
    pub fn linked(&self, source: &str) -> Option<String> {
        self.twin.with(|words| {
            let link = words.links.iter().find(|(of, _)| *of == source);
            link.map(|(_, name)| name.clone())
        })
    }

    /// Sets [`Peer::linked`].
    pub fn link(&self, source: &'static str, name: Option<&str>) {
        self.twin.with(|words| {
            words.links.retain(|(of, _)| *of != source);
            words.links.extend(name.map(|name| (source, name.to_owned())));
        });
    }

    /// Instance labels: each source that has a peer of the same process is one.
    pub(super) fn add_links(&self, labels: &mut Vec<(Cow<'static, str>, String)>) {
        self.twin.with(|words| {
            labels.retain(|(name, _)| words.links.iter().all(|(of, _)| *of != &**name));
            labels.extend(words.links.iter().map(|(of, name)| (Cow::Borrowed(*of), name.clone())));
        });
    }
}

impl Twin {
    fn with<T>(&self, work: impl FnOnce(&mut Words) -> T) -> T {
        work(&mut self.words.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
