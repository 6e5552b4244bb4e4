//! A row of a table: one instance, to which one peer adds or many do.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::catalogue::{OTHER, RowLayout};
use crate::store::brought::Brought;
use crate::store::peer::{Cells, Peer};

/// A row of a table.
#[derive(Debug)]
pub struct Row {
    /// Instance name. The table and the ids' book share it.
    pub key: Arc<str>,
    /// Values by item number.
    pub cells: Cells,
    /// Values of dynamic metrics by column.
    pub brought: Brought,
    /// The peer that it belongs to, in a table of peers.
    pub peer: Option<Arc<Peer>>,
    /// It has what the keys without a row add.
    rest: bool,
    labels: Mutex<Labels>,
    /// A peer that adds to it, of those that are not forgotten. `None`: no peer brought it.
    bringer: Mutex<Option<Weak<Peer>>>,
    /// See [`Row::gone`].
    gone: AtomicBool,
    /// Connected peers that are members. Changed under the lock of the table only.
    pub(super) members: AtomicU64,
    /// Until this time, in ns of the monotonic clock, values of a sliding period are shown: in a
    /// shared table.
    until: AtomicU64,
}

/// Time for which a shared row shows values of a sliding period after they were set.
const RECENT: Duration = Duration::from_secs(60);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn is_gone(peer: &Weak<Peer>) -> bool {
    peer.upgrade().is_none_or(|peer| peer.is_forgotten())
}

/// Names and values.
type Labels = Vec<(&'static str, String)>;

impl Row {
    /// `rest`: for the keys without a row.
    pub(super) fn new(
        key: &str,
        rest: bool,
        peer: Option<&Arc<Peer>>,
        layout: RowLayout,
    ) -> Arc<Self> {
        Arc::new(Self {
            key: key.into(),
            rest,
            cells: Cells::new(layout.cells.into()),
            brought: Brought::default(),
            peer: peer.cloned(),
            labels: Mutex::default(),
            bringer: Mutex::default(),
            gone: AtomicBool::new(false),
            members: AtomicU64::new(0),
            until: AtomicU64::new(0),
        })
    }

    /// A peer adds to the row.
    pub(super) fn bring(&self, peer: Option<&Arc<Peer>>) {
        let Some(peer) = peer else { return };
        let mut bringer = self.bringer.lock().unwrap_or_else(PoisonError::into_inner);
        if bringer.as_ref().is_none_or(is_gone) {
            *bringer = Some(Arc::downgrade(peer));
        }
    }

    /// The peers that brought the row are forgotten, and it has no member.
    pub(super) fn is_orphan(&self) -> bool {
        let bringer = self.bringer.lock().unwrap_or_else(PoisonError::into_inner);
        bringer.as_ref().is_some_and(is_gone) && self.members() == 0
    }

    /// The row has what several keys add.
    #[must_use]
    pub const fn is_rest(&self) -> bool {
        self.rest
    }

    /// Sets the instance labels. They need not outlive the PMDA: a row is made at its first event,
    /// together with its labels. The last label of the rest of a peer is [`OTHER`], whatever key
    /// brings it; the rest of all peers has none.
    pub(in crate::store) fn set_labels(&self, labels: &[(&'static str, &str)]) {
        if self.rest && self.peer.is_none() {
            return;
        }
        let mut labels: Labels =
            labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        if let Some((_, value)) = labels.last_mut().filter(|_| self.rest) {
            OTHER.clone_into(value);
        }
        *self.labels.lock().unwrap_or_else(PoisonError::into_inner) = labels;
    }

    /// Instance labels.
    #[must_use]
    pub fn labels(&self) -> Labels {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Values of a sliding period may still be shown: those of a peer's row while the peer is
    /// neither silent nor gone (`Liveness::fresh`), those of a shared row for a minute, and for
    /// `stale` after its last member has gone.
    #[must_use]
    pub fn fresh(&self, now: Duration, stale: Duration) -> bool {
        match &self.peer {
            Some(peer) => peer.liveness.fresh(now, stale),
            None => nanos(now) < self.until.load(Ordering::Relaxed),
        }
    }

    /// A value of a sliding period was set.
    pub(in crate::store) fn refresh(&self, now: Duration) {
        self.until.store(nanos(now + RECENT), Ordering::Relaxed);
    }

    /// Connected peers that are members of the row.
    #[must_use]
    pub fn members(&self) -> u64 {
        self.members.load(Ordering::Relaxed)
    }

    /// The row was removed: another key has its place, or its peer is forgotten. Later additions
    /// belong to the rest.
    #[must_use]
    pub fn gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Another row or none has the place from now on.
    pub(super) fn leave(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Values of a sliding period are shown no longer than `until`.
    pub(super) fn fades(&self, until: Duration) {
        self.until.fetch_min(nanos(until), Ordering::Relaxed);
    }
}
