//! Looks at a process that may not come back, in a thread that can be left behind: the memory map of a process
//! that waits for a file system of its user's making is locked as long as that likes.

use std::collections::HashMap;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::files::ProcDir;
use super::limits;
use crate::confine::aside;

type Work = Box<dyn FnOnce() + Send>;

/// One part in so many of the time is for the looks at one user's processes, in the long run: each of them may
/// answer slowly, but in time.
const SHARE: u32 = 2;

/// A thread for looks, and those that have been left behind.
#[derive(Debug)]
pub struct Aside {
    patience: Duration,
    worker: Option<Worker>,
    /// The user whose process each is at.
    left: Vec<(u32, JoinHandle<()>)>,
    shares: Shares,
}

/// When the looks at each user's processes will have had no more than their share of the time.
#[derive(Debug, Default)]
struct Shares(HashMap<u32, Instant>);

impl Shares {
    /// The looks at this user's processes have not had more than their share, or not much more.
    fn has_time(&mut self, user: u32, now: Instant, patience: Duration) -> bool {
        self.0.retain(|_, until| *until > now);
        self.0.get(&user).is_none_or(|until| *until - now <= patience * SHARE)
    }

    fn took(&mut self, user: u32, began: Instant, time: Duration) {
        let until = self.0.entry(user).or_insert(began);
        *until = began.max(*until) + time * SHARE;
    }
}

/// The looks that threads which decode wait for, of all sources.
#[derive(Debug, Default)]
struct Asked {
    shares: Shares,
    /// Those that have not come back in time: the user, and what is gone when they have.
    left: Vec<(u32, Weak<()>)>,
}

static ASKED: LazyLock<Mutex<Asked>> = LazyLock::new(Mutex::default);

/// What a look finds at a process of this user, for a thread that decodes and waits for it. `None`: as [`Aside::run`], but
/// the time is [`limits::ASK_TIME`], which all other connections of that thread wait too.
pub fn ask<T: Send + 'static>(user: u32, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let lock = || ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let began = Instant::now();
    let mut asked = lock();
    asked.left.retain(|(_, look)| look.strong_count() > 0);
    let hangs = asked.left.len() >= limits::HANGING || asked.left.iter().any(|(at, _)| *at == user);
    if hangs || !asked.shares.has_time(user, began, limits::ASK_TIME) {
        return None;
    }
    drop(asked);
    let look = Arc::new(());
    let watched = Arc::downgrade(&look);
    let found = aside::wait_at_most(limits::ASK_TIME, move || {
        let found = work();
        drop(look);
        found
    });
    let mut asked = lock();
    // Thousands that connect at once have quick looks.
    asked.shares.took(user, began, began.elapsed().saturating_sub(limits::QUICK));
    if watched.strong_count() > 0 {
        asked.left.push((user, watched));
    }
    found
}

#[derive(Debug)]
struct Worker {
    work: SyncSender<Work>,
    thread: JoinHandle<()>,
}

impl Worker {
    fn start() -> std::io::Result<Self> {
        let (work, given) = mpsc::sync_channel::<Work>(1);
        let thread = thread::Builder::new().name("host-look".to_owned());
        let thread = thread.spawn(move || given.into_iter().for_each(|work| work()))?;
        Ok(Self { work, thread })
    }
}

impl Aside {
    /// Waits so long for each answer.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        Self { patience, worker: None, left: Vec::new(), shares: Shares::default() }
    }

    /// What a look finds at a process of this user. `None`: it has not come back, or another one at that
    /// user's processes has not yet, whoever looked; these are looked at again when it has. So it is if those
    /// that came back have had more than their share of the time.
    pub fn run<T: Send + 'static>(
        &mut self,
        user: u32,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.left.retain(|(_, thread)| !thread.is_finished());
        let began = Instant::now();
        if !self.shares.has_time(user, began, self.patience) {
            return None;
        }
        if self.left.len() >= limits::HANGING || self.left.iter().any(|(left, _)| *left == user) {
            return None;
        }
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => Worker::start().ok()?,
        };
        let (answer, answered) = mpsc::sync_channel(1);
        worker.work.send(Box::new(move || drop(answer.send(work())))).ok()?;
        let answer = answered.recv_timeout(self.patience);
        self.shares.took(user, began, began.elapsed());
        match answer {
            Ok(found) => {
                self.worker = Some(worker);
                Some(found)
            }
            Err(RecvTimeoutError::Timeout) => {
                // It ends when it comes back.
                self.left.push((user, worker.thread));
                None
            }
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// What a look finds at this process, whose real user pays for it. `None`: as [`Self::run`], or it has ended.
    pub fn look<T: Send + 'static>(
        &mut self,
        process: ProcDir,
        work: impl FnOnce(&ProcDir) -> T + Send + 'static,
    ) -> Option<T> {
        let user = process.status()?.real;
        self.run(user, move || work(&process))
    }

    /// Looks that have not come back.
    #[must_use]
    pub const fn hanging(&self) -> usize {
        self.left.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_that_hangs_does_not_hold_up_others() {
        let mut aside = Aside::new(Duration::from_millis(50));
        let (release, held) = mpsc::channel::<()>();
        assert_eq!(aside.run(1, move || held.recv().is_err()), None);
        assert_eq!(aside.hanging(), 1);
        // The user's other processes wait, those of others do not.
        let again = |aside: &mut Aside| {
            aside.patience = Duration::from_secs(60);
            (aside.run(1, || 5), aside.run(2, || 6))
        };
        assert_eq!(again(&mut aside), (None, Some(6)));
        drop(release);
        while aside.run(1, || 7).is_none() {
            thread::yield_now();
        }
        assert_eq!(again(&mut aside), (Some(5), Some(6)));
        assert_eq!(aside.hanging(), 0);
    }

    #[test]
    fn who_decodes_waits_for_one_look_that_hangs_and_no_more() {
        let thread = aside::Aside::start().expect("a thread");
        let helper = thread.helper();
        let asks = thread::spawn(move || {
            helper.serve_this_thread();
            let (release, held) = mpsc::channel::<()>();
            let began = Instant::now();
            // Users of this test alone.
            assert_eq!(ask(4_000_000_001, move || held.recv().is_err()), None);
            assert!(began.elapsed() >= limits::ASK_TIME);
            let again = Instant::now();
            assert!((0..1_000).all(|_| ask(4_000_000_001, || 1).is_none()));
            assert_eq!(ask(4_000_000_002, || 2), Some(2));
            assert!(again.elapsed() < limits::ASK_TIME);
            drop(release);
            while ask(4_000_000_001, || 3).is_none() {
                thread::yield_now();
            }
        });
        asks.join().expect("it asks");
    }

    /// Each answers a moment before it would be left behind.
    #[test]
    fn one_user_whose_processes_are_slow_has_a_part_of_the_time() {
        let patience = Duration::from_millis(500);
        let mut aside = Aside::new(patience);
        let begin = Instant::now();
        let (mut at, mut looks) = (begin, 0);
        while at < begin + Duration::from_secs(60) {
            if aside.shares.has_time(1, at, patience) {
                aside.shares.took(1, at, patience);
                (at, looks) = (at + patience, looks + 1);
            } else {
                assert!(aside.shares.has_time(2, at, patience));
                at += Duration::from_millis(10);
            }
        }
        assert!((58..=62).contains(&looks), "{looks}");
        // It answers at once again.
        at += Duration::from_secs(1);
        for _ in 0..1_000 {
            assert!(aside.shares.has_time(1, at, patience));
            aside.shares.took(1, at, Duration::from_micros(100));
            at += Duration::from_millis(1);
        }
        assert!(aside.shares.has_time(2, at, patience) && aside.shares.0.len() <= 1);
        aside.shares.took(3, Instant::now(), Duration::from_secs(60));
        assert_eq!((aside.run(3, || 5), aside.run(4, || 6)), (None, Some(6)));
    }

    #[test]
    fn the_threads_left_behind_are_bounded() {
        let mut aside = Aside::new(Duration::from_millis(1));
        let (release, held) = mpsc::channel::<()>();
        let held = std::sync::Arc::new(std::sync::Mutex::new(held));
        for user in 0..100 {
            let held = std::sync::Arc::clone(&held);
            let look = move || drop(held.lock().map(|held| held.recv()));
            assert_eq!(aside.run(user, look), None);
        }
        assert_eq!(aside.hanging(), limits::HANGING);
        drop(release);
    }
}
