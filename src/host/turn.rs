//! One turn of the thread that looks at a process, for all finders. It may hang at any of them: what came back before is
//! there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::files::ProcDir;
use super::finder::{Finder, Glance, Look, Visit};
use super::opener::{Part, Parts};
use super::table::{Before, Finders};
use super::text::{ProcStat, ProcStatus};
use super::watches::Watches;

/// Whom a turn has found.
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

/// What has come back.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) who: Who,
    /// With the numbers of the finders.
    pub(super) looks: Vec<(usize, Look)>,
}

/// Where it comes back.
#[derive(Clone, Default)]
pub(super) struct Back(Arc<Mutex<Seen>>);

impl Back {
    /// What is there now. What comes later is lost.
    pub(super) fn take(&self) -> Seen {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn.
pub(super) struct Turn {
    finders: Arc<[Arc<dyn Finder>]>,
    first: usize,
    before: Before,
    back: Back,
}

impl Turn {
    /// `first`: the finder that is first to look.
    pub(super) fn new(finders: &Arc<[Arc<dyn Finder>]>, first: usize, before: Before) -> Self {
        Self { finders: Arc::clone(finders), first, before, back: Back::default() }
    }

    pub(super) fn back(&self) -> Back {
        self.back.clone()
    }

    /// Looks.
    pub(super) fn look(self, process: ProcDir, status: ProcStatus, watches: Option<Arc<Watches>>) {
        let Some(glance) = Glance::new(process, status, watches) else {
            self.back.lock().who = Who::Ended;
            return;
        };
        let stat = glance.stat();
        if stat.kernel {
            self.back.lock().who = Who::Kernel;
            return;
        }
        let (due, inner_pid) = (self.before.due(stat), glance.inner_pid());
        let finders = self.finders.iter().enumerate().cycle().skip(self.first);
        let finders = finders.take(self.finders.len()).filter(|(n, _)| due & 1 << n != 0);
        let visits: Vec<_> =
            finders.map(|(n, finder)| (n, finder, self.before.visit(n, stat))).collect();
        glance.process().want(wanted(visits.iter().map(|(.., visit)| *visit)));
        self.back.lock().who = Who::Process { stat: stat.clone(), inner_pid, due };
        for (n, finder, visit) in visits {
            let look = finder.look(&glance, visit);
            self.back.lock().looks.push((n, look));
        }
    }
}

/// What finders read of each process, whatever it is. The opener is asked once, which costs more than to open a file that is
/// not wanted in the end.
fn wanted(mut visits: impl Iterator<Item = Visit>) -> Parts {
    let always = Parts::from(Part::Root).with(Part::Environ);
    if visits.all(|visit| visit.settled) { always } else { always.with(Part::Maps) }
}
