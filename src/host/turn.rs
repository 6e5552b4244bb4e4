//! One turn of the thread that looks at processes, for all finders: to wake it and the opener is a large part of what a look
//! costs. It may hang at any of them: what came back before is there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec;

use super::files::ProcDir;
use super::finder::{Finder, Glance, Look};
use super::opener::{Part, Parts};
use super::table::{Before, Finders};
use super::text::{ProcStat, ProcStatus};
use super::watches::Watches;

/// Whom a look has found.
#[derive(Default)]
pub(super) enum Who {
    /// Nothing has come back yet.
    #[default]
    Unknown,
    /// Nobody: it has ended.
    Ended,
    /// A thread of the kernel.
    Kernel,
    /// `due`: the finders that look at it.
    Process { stat: ProcStat, inner_pid: u32, due: Finders },
}

/// What has come back of a look at a process.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) who: Who,
    /// With the numbers of the finders.
    pub(super) looks: Vec<(usize, Look)>,
}

/// A process to look at.
pub(super) struct One {
    pub(super) before: Before,
    pub(super) process: ProcDir,
    pub(super) status: ProcStatus,
}

/// What the thread has not looked at yet, and what has come back, for each process in their order.
struct Board {
    waiting: vec::IntoIter<One>,
    seen: Vec<Seen>,
}

/// Where it comes back.
#[derive(Clone, Default)]
pub(super) struct Back(Arc<Mutex<Option<Board>>>);

impl Back {
    /// What has come back by now. The turn is over: a thread that hangs keeps none of the files of those that wait, and
    /// looks at no other one when it comes back.
    pub(super) fn take(&self) -> Vec<Seen> {
        self.lock().take().map(|board| board.seen).unwrap_or_default()
    }

    /// These wait, unless the turn is over.
    fn begin(&self, all: Vec<One>) {
        if let Some(board) = self.lock().as_mut() {
            board.waiting = all.into_iter();
        }
    }

    /// The next process and its place. `None`: there is none, or the turn is over.
    fn next(&self) -> Option<(usize, One)> {
        let mut lock = self.lock();
        let board = lock.as_mut()?;
        let place = board.seen.len() - board.waiting.len();
        Some((place, board.waiting.next()?))
    }

    fn tell(&self, place: usize, tell: impl FnOnce(&mut Seen)) {
        if let Some(seen) = self.lock().as_mut().and_then(|board| board.seen.get_mut(place)) {
            tell(seen);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Board>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn.
pub(super) struct Turn {
    finders: Arc<[Arc<dyn Finder>]>,
    first: usize,
    all: Vec<One>,
    back: Back,
}

impl Turn {
    /// At processes of one user, at most [`limits::TURN`](super::limits::TURN). `first`: the finder that is first to look.
    pub(super) fn new(finders: &Arc<[Arc<dyn Finder>]>, first: usize, all: Vec<One>) -> Self {
        let seen = all.iter().map(|_| Seen::default()).collect();
        let board = Board { waiting: Vec::new().into_iter(), seen };
        let back = Back(Arc::new(Mutex::new(Some(board))));
        Self { finders: Arc::clone(finders), first, all, back }
    }

    pub(super) fn back(&self) -> Back {
        self.back.clone()
    }

    /// Looks at each.
    pub(super) fn look(mut self, watches: Option<&Arc<Watches>>) {
        let all = std::mem::take(&mut self.all);
        let wanted = all.iter().map(|one| (&one.process, wanted(&one.before)));
        ProcDir::open_ahead(&wanted.collect::<Vec<_>>());
        self.back.begin(all);
        while let Some((place, one)) = self.back.next() {
            self.look_at(one, watches.cloned(), place);
        }
    }

    fn look_at(&self, one: One, watches: Option<Arc<Watches>>, place: usize) {
        let Some(glance) = Glance::new(one.process, one.status, watches) else {
            return self.back.tell(place, |seen| seen.who = Who::Ended);
        };
        let stat = glance.stat();
        if stat.kernel {
            return self.back.tell(place, |seen| seen.who = Who::Kernel);
        }
        let (due, inner_pid) = (one.before.due_at(stat), glance.inner_pid());
        let who = Who::Process { stat: stat.clone(), inner_pid, due };
        self.back.tell(place, |seen| seen.who = who);
        let finders = self.finders.iter().enumerate().cycle().skip(self.first);
        for (n, finder) in finders.take(self.finders.len()).filter(|(n, _)| due & 1 << n != 0) {
            let look = finder.look(&glance, one.before.visit(n, stat));
            self.back.tell(place, |seen| seen.looks.push((n, look)));
        }
    }
}

/// What finders read of each process, whatever it is. To ask the opener for each alone costs more than to open what is not
/// wanted in the end.
fn wanted(before: &Before) -> Parts {
    let always = Parts::from(Part::Root).with(Part::Environ);
    if before.is_settled() { always } else { always.with(Part::Maps) }
}
