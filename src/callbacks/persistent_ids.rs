//! Ids and names that outlive the process: read at the start, written when they have changed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::state_file::StateFile;
use crate::clock::now;
use crate::model::Now;
use crate::state::{Book, Create, Outcome, Restored, Saver};
use crate::store::{DynamicMetric, LogThrottle, Stat, Store};

/// Least time between two writes: this, or this many times the duration of a write if that is
/// longer.
const PAUSE: Duration = Duration::from_secs(1);
const SHARE: u32 = 20;
/// Least time between two writes when only times of leaving have changed.
const PAUSE_TIMES: Duration = Duration::from_secs(10);
/// Time before the next write after a failure.
const RETRY: Duration = Duration::from_secs(5);
/// Longest time that a request waits for the disk, so that new metrics are seen at once.
const WRITE_WAIT: Duration = Duration::from_millis(100);
/// Longest time that the first request waits for it.
const FIRST_WRITE_WAIT: Duration = Duration::from_secs(5);
/// Longest time that new metrics are hidden because a write has not ended.
const HIDE: Duration = Duration::from_secs(10);
/// Longest time that the end of the process waits for the last write.
const LAST_WRITE_WAIT: Duration = Duration::from_secs(5);
/// Most faults of the file that are logged one by one.
const FAULTS_LOGGED: usize = 10;

#[derive(Debug)]
pub(super) struct PersistentIds {
    pub(super) book: Book,
    store: Arc<Store>,
    file: StateFile,
    /// `None`: this process may not replace the file.
    saver: Option<Saver>,
    /// The last write of the process was begun.
    ended: bool,
    /// There are new metrics since the last snapshot.
    names: bool,
    /// Ids have changed since the last snapshot.
    ids: bool,
    comings: u64,
    /// Metrics seen by clients, at the last snapshot.
    seen: u64,
    submitted: Duration,
    pause: Duration,
    /// A file was written, or could not be.
    tried: bool,
    /// The last write failed, or is slow: requests do not wait for the disk.
    trouble: bool,
    /// The last write failed: new metrics do not wait for the disk.
    failing: bool,
    /// New metrics that are not in the file yet: a client that sees one may see its id for ever.
    /// The first `in_write` of them are in the snapshot that is being written.
    hidden: Vec<Arc<DynamicMetric>>,
    in_write: usize,
    /// Metrics that clients may see now.
    ready: Vec<Arc<DynamicMetric>>,
    throttle: LogThrottle,
}

impl PersistentIds {
    /// Reads what earlier runs of this domain left in `dir`, and fills the store. `create` makes the
    /// next file.
    pub(super) fn open(dir: &Path, store: &Arc<Store>, create: Create) -> (Self, Restored) {
        let (file, loaded) = StateFile::open(dir, store, create, now().monotonic);
        let path = file.path();
        let (book, restored) = Book::restore(loaded, store, now());
        for fault in restored.faults.iter().take(FAULTS_LOGGED) {
            log::warn!("{}: {fault}", path.display());
        }
        if restored.faults.len() > FAULTS_LOGGED {
            log::warn!(
                "{}: and {} more like it",
                path.display(),
                restored.faults.len() - FAULTS_LOGGED
            );
        }
        store.stats.add(Stat::StateErrors, restored.faults.len() as u64);
        let ids = Self {
            book,
            store: Arc::clone(store),
            saver: file.saver(),
            file,
            ended: false,
            names: true,
            ids: true,
            comings: 0,
            seen: 0,
            submitted: Duration::ZERO,
            pause: Duration::ZERO,
            tried: false,
            trouble: false,
            failing: false,
            hidden: Vec::new(),
            in_write: 0,
            ready: Vec::new(),
            throttle: LogThrottle::default(),
        };
        (ids, restored)
    }

    /// Ids have changed.
    pub(super) fn changed(&mut self) {
        self.ids = true;
    }

    /// A new metric, which clients see when the file has it ([`PersistentIds::ready`]).
    pub(super) fn add_metric(&mut self, metric: Arc<DynamicMetric>) {
        self.book.add_metric(&metric);
        self.names = true;
        self.hidden.push(metric);
    }

    /// A metric has lost its name, but not its id.
    pub(super) fn drop_metric(&mut self, metric: &DynamicMetric) {
        self.book.drop_metric(metric);
    }

    /// It has it again. Clients know it already.
    pub(super) fn add_again(&mut self, metric: &Arc<DynamicMetric>) {
        self.book.add_metric(metric);
        self.names = true;
    }

    /// Metrics that clients may see from now on, in the order of their ids.
    pub(super) fn ready(&mut self, at: Duration) -> Vec<Arc<DynamicMetric>> {
        let hangs = self.in_write > 0 && at.saturating_sub(self.submitted) > HIDE;
        if self.saver.is_none() || self.failing || hangs {
            self.show(self.hidden.len());
        }
        std::mem::take(&mut self.ready)
    }

    fn show(&mut self, first: usize) {
        self.ready.extend(self.hidden.drain(..first));
        self.in_write = self.in_write.saturating_sub(first);
    }

    /// Writes the file when it is due. Waits for the disk at most 100 ms (the first time 5 s), and
    /// only for ids that could be given again after a crash.
    pub(super) fn turn(&mut self) {
        if self.saver.is_none() {
            self.saver = self.file.again(now().monotonic);
            (self.names, self.ids) = (true, true);
        }
        if let Some(outcome) = self.saver.as_ref().and_then(Saver::outcome) {
            self.written(outcome);
        }
        let Some(saver) = &self.saver else { return };
        let (comings, seen) = (self.store.comings(), self.store.seen());
        if !self.names && !self.ids && self.comings == comings && self.seen == seen {
            return;
        }
        let at = now();
        let since = at.monotonic.saturating_sub(self.submitted);
        let urgent = !self.trouble && (self.names || self.ids && self.book.is_ahead());
        let soon = self.ids && since >= self.pause
            || (self.comings != comings || self.seen != seen)
                && since >= self.pause.max(PAUSE_TIMES);
        if !urgent && !soon || saver.busy() && !(urgent && saver.wait(WRITE_WAIT / 2)) {
            return;
        }
        (self.comings, self.seen) = (comings, seen);
        self.submit(at, false);
        if urgent && let Some(saver) = &self.saver {
            self.trouble = !saver.wait(if self.tried { WRITE_WAIT } else { FIRST_WRITE_WAIT });
            self.tried = true;
            if let Some(outcome) = saver.outcome() {
                self.written(outcome);
            }
        }
    }

    fn submit(&mut self, at: Now, clean: bool) {
        let snapshot = self.book.snapshot(at, clean);
        (self.names, self.ids, self.submitted) = (false, false, at.monotonic);
        self.in_write = self.hidden.len();
        if let Some(saver) = &mut self.saver
            && let Err(e) = saver.submit(snapshot)
        {
            self.failed(&e.to_string());
        }
    }

    fn written(&mut self, outcome: Outcome) {
        match outcome.result {
            Ok(size) => {
                self.book.is_saved(&outcome.promises);
                self.show(self.in_write);
                self.pause = PAUSE.max(outcome.took * SHARE);
                (self.trouble, self.failing) = (false, false);
                self.store.stats.add(Stat::StateSaves, 1);
                self.store.stats.set(Stat::StateBytes, size);
                self.store.stats.set(
                    Stat::StateTime,
                    u64::try_from(outcome.took.as_nanos()).unwrap_or(u64::MAX),
                );
            }
            Err(why) => self.failed(&why),
        }
    }

    fn failed(&mut self, why: &str) {
        (self.names, self.ids) = (true, true);
        (self.trouble, self.failing, self.pause) = (true, true, RETRY);
        self.store.stats.add(Stat::StateErrors, 1);
        if let Some(n) = self.throttle.allow(now().monotonic) {
            let advice =
                "what was saved before is kept, ids given since may differ after a restart";
            log::error!("cannot save ids and names: {why}; {advice}{}", LogThrottle::more(n));
        }
    }
}

impl PersistentIds {
    /// Writes the file for the last time. Waits for the disk at most 5 s.
    pub(super) fn save_last(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.submit(now(), true);
        let Some(saver) = &self.saver else { return };
        if !saver.wait(LAST_WRITE_WAIT) {
            log::error!("ids and names are not saved within {LAST_WRITE_WAIT:?}");
        } else if let Some(Outcome { result: Err(why), .. }) = saver.outcome() {
            log::error!("cannot save ids and names: {why}");
        }
    }
}

/// A program that ends for another reason than pmcd's end.
impl Drop for PersistentIds {
    fn drop(&mut self) {
        self.save_last();
    }
}

#[cfg(test)]
#[path = "persistent_ids_tests.rs"]
mod tests;
