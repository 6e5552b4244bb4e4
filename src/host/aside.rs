//! Looks at a process that may not come back, in a thread that can be left behind: the memory map of a process
//! that waits for a file system of its user's making is locked as long as that likes.

use std::collections::HashMap;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::thread;
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
    looks: Looks,
}

/// The looks of one kind at the processes of all users.
#[derive(Debug, Default)]
struct Looks {
    /// Those that have not come back in time: the user, and what is gone when they have.
    left: Vec<(u32, Weak<()>)>,
    /// When those at each user's processes will have had no more than their share of the time.
    busy: HashMap<u32, Instant>,
}

impl Looks {
    /// There may be one at this user's processes: no other one hangs, and they have not had more than their share of the
    /// time, or not much more. The look holds what is returned until it comes back.
    fn begin(&mut self, user: u32, now: Instant, patience: Duration) -> Option<Arc<()>> {
        self.left.retain(|(_, look)| look.strong_count() > 0);
        self.busy.retain(|_, until| *until > now);
        let has_time = self.busy.get(&user).is_none_or(|until| *until - now <= patience * SHARE);
        let hangs =
            self.left.len() >= limits::HANGING || self.left.iter().any(|(left, _)| *left == user);
        (has_time && !hangs).then(Arc::default)
    }

    /// It was waited for so long.
    fn took(&mut self, user: u32, look: Weak<()>, began: Instant, time: Duration) {
        let until = self.busy.entry(user).or_insert(began);
        *until = began.max(*until) + time * SHARE;
        if look.strong_count() > 0 {
            self.left.push((user, look));
        }
    }
}

/// The looks that threads which decode wait for, of all sources.
static ASKED: LazyLock<Mutex<Looks>> = LazyLock::new(Mutex::default);

/// What a look finds at a process of this user, for a thread that decodes and waits for it. `None`: as [`Aside::run`], but
/// the time is [`limits::ASK_TIME`], which all other connections of that thread wait too.
pub fn ask<T: Send + 'static>(user: u32, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let looks = || ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let began = Instant::now();
    let look = looks().begin(user, began, limits::ASK_TIME)?;
    let watched = Arc::downgrade(&look);
    let found = aside::wait_at_most(limits::ASK_TIME, move || {
        let found = work();
        drop(look);
        found
    });
    // Thousands that connect at once have quick looks.
    let time = began.elapsed().saturating_sub(limits::QUICK);
    looks().took(user, watched, began, time);
    found
}

/// A thread that does what is sent, and ends with this.
#[derive(Debug)]
struct Worker(SyncSender<Work>);

impl Worker {
    fn start() -> std::io::Result<Self> {
        let (work, given) = mpsc::sync_channel::<Work>(1);
        let thread = thread::Builder::new().name("host-look".to_owned());
        thread.spawn(move || given.into_iter().for_each(|work| work()))?;
        Ok(Self(work))
    }
}

impl Aside {
    /// Waits so long for each answer.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        Self { patience, worker: None, looks: Looks::default() }
    }

    /// What a look finds at a process of this user. `None`: it has not come back, or another one at that
    /// user's processes has not yet, whoever looked; these are looked at again when it has. So it is if those
    /// that came back have had more than their share of the time.
    pub fn run<T: Send + 'static>(
        &mut self,
        user: u32,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let began = Instant::now();
        let look = self.looks.begin(user, began, self.patience)?;
        let watched = Arc::downgrade(&look);
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => Worker::start().ok()?,
        };
        let (answer, answered) = mpsc::sync_channel(1);
        let work = move || {
            let found = work();
            drop(look);
            drop(answer.send(found));
        };
        worker.0.send(Box::new(work)).ok()?;
        let found = answered.recv_timeout(self.patience);
        self.looks.took(user, watched, began, began.elapsed());
        // A thread that is left behind ends when it comes back.
        if found.is_ok() {
            self.worker = Some(worker);
        }
        found.ok()
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
        self.looks.left.len()
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
        let has_time =
            |aside: &mut Aside, user, at| aside.looks.begin(user, at, patience).is_some();
        let took = |aside: &mut Aside, user, at, time| {
            aside.looks.took(user, Weak::new(), at, time);
        };
        let begin = Instant::now();
        let (mut at, mut looks) = (begin, 0);
        while at < begin + Duration::from_secs(60) {
            if has_time(&mut aside, 1, at) {
                took(&mut aside, 1, at, patience);
                (at, looks) = (at + patience, looks + 1);
            } else {
                assert!(has_time(&mut aside, 2, at));
                at += Duration::from_millis(10);
            }
        }
        assert!((58..=62).contains(&looks), "{looks}");
        // It answers at once again.
        at += Duration::from_secs(1);
        for _ in 0..1_000 {
            assert!(has_time(&mut aside, 1, at));
            took(&mut aside, 1, at, Duration::from_micros(100));
            at += Duration::from_millis(1);
        }
        assert!(has_time(&mut aside, 2, at) && aside.looks.busy.len() <= 1);
        took(&mut aside, 3, Instant::now(), Duration::from_secs(60));
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
