//! Work that threads which decode may not do themselves: to open, to connect, to start a program, to wait for a disk.
//!
//! A thread that is started has the filter of system calls of the one that starts it, and tokio starts the threads of
//! `spawn_blocking` from the worker that asks. So there is a thread, `apm-aside`, with a small runtime of its own and
//! the process's filter only: what is asked for here runs there, or on threads that it starts. Elsewhere, in tests and
//! on threads with no filter of their own, the work is done where it is asked for.

use std::cell::RefCell;
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task;
use tokio_util::task::AbortOnDropHandle;

/// Time that work which hangs is waited for at the end.
const HANGING: Duration = Duration::from_millis(200);

/// Longest time that a thread which decodes waits for what it has no `await` for: as many threads as there may be can be
/// at files that do not answer.
const LONGEST: Duration = Duration::from_secs(10);

thread_local! {
    /// Where this thread's work is done; `None`: here.
    static ASIDE: RefCell<Option<Handle>> = const { RefCell::new(None) };
}

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub struct Aside {
    handle: Handle,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Aside {
    /// Starts the thread, from one that has no filter of its own.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start() -> io::Result<Self> {
        let runtime =
            Builder::new_current_thread().thread_name("apm-blocking").enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("apm-aside".into()).spawn(move || {
            let _ = runtime.block_on(ended);
            runtime.shutdown_timeout(HANGING);
        })?;
        Ok(Self { handle, end: Some(end), thread: Some(thread) })
    }

    /// What is asked for on `thread`s that call this is done there.
    pub fn helper(&self) -> Helper {
        Helper(self.handle.clone())
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Leads to the thread.
#[derive(Clone, Debug)]
pub struct Helper(Handle);

impl Helper {
    /// From now on this thread's work is done there.
    pub fn serve_this_thread(&self) {
        ASIDE.set(Some(self.0.clone()));
    }
}

fn helper() -> Option<Handle> {
    ASIDE.with_borrow(Clone::clone)
}

/// [`tokio::task::spawn_blocking`], on a thread that may open and connect.
pub fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> task::JoinHandle<T> {
    let Some(aside) = helper() else { return blocking(work) };
    aside.spawn(async move {
        match blocking(work).await.map_err(task::JoinError::try_into_panic) {
            Ok(done) => done,
            Err(Ok(panic)) => resume_unwind(panic),
            // The PMDA ends.
            Err(Err(_)) => std::future::pending().await,
        }
    })
}

#[expect(clippy::disallowed_methods, reason = "here the thread has no filter of its own")]
fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> task::JoinHandle<T> {
    task::spawn_blocking(work)
}

/// Runs a task on the thread, whose tasks have to be short between two waits. It is dropped with the future.
///
/// # Errors
/// It has panicked, or the PMDA ends.
pub async fn run<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    match helper() {
        None => Ok(work.await),
        Some(aside) => AbortOnDropHandle::new(aside.spawn(work)).await.map_err(io::Error::other),
    }
}

/// Does short work there, and waits for it: for what has no `await`. `None`: it has panicked or takes too long, or the
/// PMDA ends.
pub fn wait<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    wait_at_most(LONGEST, work)
}

/// The same for this time.
pub fn wait_at_most<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if helper().is_none() {
        return Some(work());
    }
    let (answer, answered) = sync_channel(1);
    drop(spawn_blocking(move || drop(answer.send(work()))));
    answered.recv_timeout(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    #[test]
    fn work_of_a_worker_is_done_aside_and_that_of_others_here() {
        let aside = Aside::start().unwrap();
        let helper = aside.helper();
        let workers = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("worker")
            .on_thread_start(move || helper.serve_this_thread())
            .build()
            .unwrap();
        let asked = workers.spawn(async {
            let (there, task) = (spawn_blocking(name).await, run(async { name() }).await);
            let panics = spawn_blocking(|| resume_unwind(Box::new(7))).await;
            (there.unwrap(), task.unwrap(), wait(name), panics.unwrap_err().is_panic())
        });
        let (blocking, thread) = ("apm-blocking".to_owned(), "apm-aside".to_owned());
        let found = workers.block_on(asked).unwrap();
        assert_eq!(found, (blocking.clone(), thread, Some(blocking), true));
        assert_eq!(wait(name), Some(name()));
        // Who is asked at the end gives no answer, and nobody waits for it.
        drop(aside);
        let asked = workers.spawn(async { (wait(name), run(async {}).await.is_err()) });
        assert_eq!(workers.block_on(asked).unwrap(), (None, true));
    }
}
