//! The thread that writes: the PMDA thread hands over a snapshot and goes on.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::book::Snapshot;
use super::file::write;

/// What became of a snapshot.
#[derive(Debug)]
pub struct Outcome {
    /// The marks that it had, for [`super::Book::is_saved`].
    pub promises: Vec<u32>,
    /// The size of the file in bytes, or why it could not be written.
    pub result: Result<u64, String>,
    /// How long it took.
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

    fn work(&self, path: &std::path::Path) {
        let mut jobs = self.jobs();
        loop {
            if let Some(snapshot) = jobs.job.take() {
                jobs.busy = true;
                drop(jobs);
                let start = Instant::now();
                let result =
                    write(path, snapshot.records(), &snapshot.kept).map_err(|e| e.to_string());
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

/// Writes snapshots to one file, one after the other. Ends when dropped, after what it is at.
#[derive(Debug)]
pub struct Saver {
    path: PathBuf,
    shared: Arc<Shared>,
    started: bool,
}

impl Saver {
    /// For one file. The thread is started with the first snapshot.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, shared: Arc::default(), started: false }
    }

    /// Hands a snapshot over; one that waits is replaced.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn submit(&mut self, snapshot: Snapshot) -> std::io::Result<()> {
        if !self.started {
            let (shared, path) = (Arc::clone(&self.shared), self.path.clone());
            std::thread::Builder::new()
                .name("apm-state".into())
                .spawn(move || shared.work(&path))?;
            self.started = true;
        }
        self.shared.jobs().job = Some(snapshot);
        self.shared.1.notify_all();
        Ok(())
    }

    /// Something is being written or waits to be.
    #[must_use]
    pub fn busy(&self) -> bool {
        let jobs = self.shared.jobs();
        jobs.busy || jobs.job.is_some()
    }

    /// Waits until all is written; `false` if that takes longer than `most`.
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

    /// What became of the last snapshot, once.
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
