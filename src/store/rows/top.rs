//! Who has a row where there are more keys than rows: those that add most now.
//!
//! A key has a score: what it added, halved every [`HALF_LIFE`]. Keys without a row are kept with
//! their scores, [`WAITING`] times as many as rows; when there are more, the lesser half is forgotten.
//! A key takes the place of the least row
//! * if its score is half as high again as the row's,
//! * if it is as high, the row has added nothing for [`IDLE`], and the key adds steadily,
//! * at once if the row's peers are forgotten.
//!
//! A row that took another's place keeps its own for [`TENURE`], but for a key with [`FAR`] times its
//! score.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;

use super::row::Row;

/// What was added this long ago counts half.
const HALF_LIFE: Duration = Duration::from_secs(600);
/// Most keys without a row, as a multiple of the rows, after the lesser half is forgotten.
pub(super) const WAITING: usize = 4;
/// A row that has added nothing for so long is idle; a key that has added for so long, without a
/// pause of half of it, is steady.
const IDLE: Duration = Duration::from_secs(20);
/// A row that took another's place has its own for so long.
const TENURE: Duration = Duration::from_secs(60);
/// A key with so many times the score of a row takes its place at any time.
const FAR: f64 = 8.0;
/// Any other key needs so many times the score.
const MORE: f64 = 1.5;
/// Scores of rows are older than this at most when a key is compared with them.
const FRESH: Duration = Duration::from_secs(1);
/// Least rows that a key is compared with.
const COMPARED: usize = 16;
/// A key without a row is forgotten when it has added nothing for so long.
const FORGET: Duration = Duration::from_secs(3600);

/// A score at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    value: f64,
    at: Duration,
}

impl Score {
    /// Halves of the time since the score was current.
    fn halves(self, now: Duration) -> f64 {
        now.saturating_sub(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64()
    }

    fn decay(&mut self, now: Duration) {
        self.value *= (-self.halves(now)).exp2();
        self.at = now.max(self.at);
    }

    /// Something was added at this moment.
    fn add(&mut self, more: f64, now: Duration) {
        self.decay(now);
        self.value += more;
    }

    /// Something was added, evenly since the score was current.
    fn add_evenly(&mut self, more: f64, now: Duration) {
        let halves = self.halves(now);
        let left = (-halves).exp2();
        // The mean of what is left of each part.
        let mean =
            if halves > 1e-6 { (1.0 - left) / (halves * std::f64::consts::LN_2) } else { 1.0 };
        self.value = self.value * left + more * mean;
        self.at = now.max(self.at);
    }
}

/// What ranks rows is far below 2^53, or its last digits do not matter.
#[expect(clippy::cast_precision_loss)]
const fn float(more: u64) -> f64 {
    more as f64
}

/// A row and its score.
#[derive(Debug)]
struct Place {
    row: Arc<Row>,
    /// The cell that ranks it, when its score was current.
    sum: u64,
    score: Score,
    /// It has added something since.
    active: Duration,
    /// When it took another's place.
    taken: Option<Duration>,
}

impl Place {
    fn refresh(&mut self, item: u16, now: Duration) {
        let sum = self.row.cells.get(item).unwrap_or_default();
        let more = sum.wrapping_sub(self.sum);
        self.sum = sum;
        self.score.add_evenly(float(more), now);
        if more > 0 {
            self.active = now;
        }
    }

    fn is_idle(&self, now: Duration) -> bool {
        now.saturating_sub(self.active) >= IDLE
    }

    fn is_orphan(&self, now: Duration) -> bool {
        self.is_idle(now) && self.row.is_orphan()
    }
}

/// A key without a row.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    score: Score,
    /// It has added since, without a pause of half of [`IDLE`].
    since: Duration,
}

/// The keys of one table, or of one peer in a table of peers.
#[derive(Debug, Default)]
pub(super) struct Top {
    places: Vec<Place>,
    /// Numbers of places, those that go first first, as of `ranked`. Rows that came since are not
    /// among them.
    least: Vec<u32>,
    ranked: Option<Duration>,
    waiting: HashMap<Box<str>, Waiting, RandomState>,
}

impl Top {
    /// Number of rows.
    pub(super) const fn len(&self) -> usize {
        self.places.len()
    }

    /// A row has a place that was free.
    pub(super) fn fill(&mut self, row: Arc<Row>, item: u16, now: Duration) {
        let known = self.waiting.remove(&*row.key).unwrap_or_default();
        let mut score = known.score;
        score.decay(now);
        let sum = row.cells.get(item).unwrap_or_default();
        self.places.push(Place { row, sum, score, active: now, taken: None });
    }

    /// A key without a row adds to its score. Returns its row if it takes a place: `make` is told which
    /// row loses it, and makes the new one.
    pub(super) fn add(
        &mut self,
        key: &str,
        more: u64,
        item: u16,
        now: Duration,
        make: impl FnOnce(&Arc<Row>) -> Arc<Row>,
    ) -> Option<Arc<Row>> {
        let waiting = self.wait(key, more, now);
        let number = self.loser(waiting, item, now)?;
        let place = self.places.get_mut(number as usize)?;
        let row = make(&place.row);
        // What is added now will be in the row's cell.
        let score = Score { value: waiting.score.value - float(more), at: now };
        let sum = row.cells.get(item).unwrap_or_default();
        let new = Place { row: Arc::clone(&row), sum, score, active: now, taken: Some(now) };
        let lost = std::mem::replace(place, new);
        self.least.retain(|n| *n != number);
        self.waiting.remove(key);
        let since = now;
        self.waiting.insert((*lost.row.key).into(), Waiting { score: lost.score, since });
        Some(row)
    }

    fn wait(&mut self, key: &str, more: u64, now: Duration) -> Waiting {
        let add = |of: &mut Waiting| {
            if now.saturating_sub(of.score.at) >= IDLE / 2 {
                of.since = now;
            }
            of.score.add(float(more), now);
            *of
        };
        if let Some(known) = self.waiting.get_mut(key) {
            return add(known);
        }
        if self.waiting.len() >= 2 * WAITING * self.places.len().max(1) {
            self.forget_half(now);
        }
        let mut new = Waiting { score: Score { value: 0.0, at: now }, since: now };
        add(&mut new);
        self.waiting.insert(key.into(), new);
        new
    }

    /// Forgets the lesser half of the waiting keys, and those equal to the greatest of it: a key that
    /// comes often is not among thousands that come once.
    fn forget_half(&mut self, now: Duration) {
        self.waiting.values_mut().for_each(|of| of.score.decay(now));
        let mut scores: Vec<f64> = self.waiting.values().map(|of| of.score.value).collect();
        let half = scores.len() / 2;
        let (_, middle, _) = scores.select_nth_unstable_by(half, f64::total_cmp);
        let middle = *middle;
        self.waiting.retain(|_, of| of.score.value > middle);
    }

    /// The place that a waiting key takes.
    fn loser(&mut self, waiting: Waiting, item: u16, now: Duration) -> Option<u32> {
        if self.ranked.is_none_or(|at| now.saturating_sub(at) >= FRESH) {
            self.rank(item, now);
        }
        let steady = now.saturating_sub(waiting.since) >= IDLE;
        let score = waiting.score.value;
        for number in self.least.iter().take(COMPARED) {
            let place = self.places.get_mut(*number as usize)?;
            // Scores only grow until rows are ranked again.
            if place.score.value > score && !place.is_orphan(now) {
                return None;
            }
            place.refresh(item, now);
            if place.is_orphan(now) {
                return Some(*number);
            }
            let least = place.score.value;
            let tenured = place.taken.is_some_and(|at| now.saturating_sub(at) < TENURE);
            let enough = if steady && place.is_idle(now) { least } else { least * MORE };
            if score > 0.0 && score >= enough && (!tenured || score >= least * FAR) {
                return Some(*number);
            }
        }
        None
    }

    /// Brings scores of rows up to date.
    pub(super) fn refresh(&mut self, item: u16, now: Duration) {
        self.places.iter_mut().for_each(|place| place.refresh(item, now));
    }

    /// Brings scores up to date and sorts places.
    fn rank(&mut self, item: u16, now: Duration) {
        self.refresh(item, now);
        let mut least: Vec<(bool, f64, u32)> = (0..)
            .zip(&self.places)
            .map(|(number, place)| (!place.is_orphan(now), place.score.value, number))
            .collect();
        least.sort_unstable_by(|(a, x, n), (b, y, m)| a.cmp(b).then(x.total_cmp(y)).then(n.cmp(m)));
        self.least.clear();
        self.least.extend(least.into_iter().map(|(_, _, number)| number));
        self.ranked = Some(now);
    }

    /// Forgets keys that have added nothing for an hour.
    pub(super) fn forget(&mut self, now: Duration) {
        self.waiting.retain(|_, of| now.saturating_sub(of.score.at) < FORGET);
        if self.waiting.is_empty() {
            self.waiting.shrink_to_fit();
        }
    }

    /// Estimate of the bytes allocated.
    pub(super) fn memory(&self) -> usize {
        self.places.capacity() * size_of::<Place>()
            + self.least.capacity() * size_of::<u32>()
            + self.waiting.capacity() * (size_of::<(Box<str>, Waiting)>() + 1)
            + self.waiting.keys().map(|key| key.len()).sum::<usize>()
    }
}
