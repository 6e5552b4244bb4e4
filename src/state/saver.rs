//! The thread that writes the file, so that the PMDA thread only hands over a snapshot.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::book::Snapshot;
use super::file::{Create, Replace, write};

/// The result of writing a snapshot.
#[derive(Debug)]
pub struct Outcome {
    /// The snapshot's marks, for [`super::Book::is_saved`].
    pub promises: Vec<u32>,
    /// The size of the file in bytes, or why it could not be written.
    pub result: Result<u64, String>,
    /// Duration of the write.
    pub took: Duration,
}

#[derive(Debug, Default)]
struct Jobs {
    job: Option<Snapshot>,
    busy: bool,
    outcome: Option<Outcome>,
    end: bool,
}

#[derive(Debug, Default)]
struct Shared(Mutex<Jobs>, Condvar);

impl Shared {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, path: &std::path::Path, create: Create) {
        let mut jobs = self.jobs();
        loop {
            if let Some(snapshot) = jobs.job.take() {
                jobs.busy = true;
                drop(jobs);
                let start = Instant::now();
                let replace = if snapshot.clean { Replace::AtOnce } else { Replace::Synced };
                let result = write(path, create, replace, snapshot.records(), &snapshot.kept)
                    .map_err(|e| e.to_string());
                let outcome =
                    Outcome { promises: snapshot.promises.clone(), result, took: start.elapsed() };
                drop(snapshot);
                jobs = self.jobs();
                (jobs.busy, jobs.outcome) = (false, Some(outcome));
                self.1.notify_all();
            } else if jobs.end {
                return;
            } else {
                jobs = self.1.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Writes snapshots to one file, one at a time. When dropped, the thread ends after its pending
/// write.
#[derive(Debug)]
pub struct Saver {
    path: PathBuf,
    create: Create,
    shared: Arc<Shared>,
    started: bool,
}

impl Saver {
    /// A saver for one file; `create` makes the next one beside it. The thread starts with the first snapshot.
    #[must_use]
    pub fn new(path: PathBuf, create: Create) -> Self {
        Self { path, create, shared: Arc::default(), started: false }
    }

    /// Submits a snapshot; it replaces one that is still waiting.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn submit(&mut self, snapshot: Snapshot) -> std::io::Result<()> {
        if !self.started {
            let (shared, path, create) = (Arc::clone(&self.shared), self.path.clone(), self.create);
            std::thread::Builder::new()
                .name("apm-state".into())
                .spawn(move || shared.work(&path, create))?;
            self.started = true;
        }
        self.shared.jobs().job = Some(snapshot);
        self.shared.1.notify_all();
        Ok(())
    }

    /// Whether a snapshot is being written or waiting.
    #[must_use]
    pub fn busy(&self) -> bool {
        let jobs = self.shared.jobs();
        jobs.busy || jobs.job.is_some()
    }

    /// Waits until all snapshots are written; `false` if that takes longer than `most`.
    #[must_use]
    pub fn wait(&self, most: Duration) -> bool {
        let jobs = self.shared.jobs();
        let busy = |jobs: &mut Jobs| jobs.busy || jobs.job.is_some();
        let waited = self
            .shared
            .1
            .wait_timeout_while(jobs, most, busy)
            .unwrap_or_else(PoisonError::into_inner);
        !waited.1.timed_out()
    }

    /// Takes the result of the last written snapshot.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.shared.jobs().outcome.take()
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.shared.jobs().end = true;
        self.shared.1.notify_all();
    }
}
