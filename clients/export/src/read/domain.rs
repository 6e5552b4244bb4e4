//! The instances of a domain, as long as somebody has records or values of them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::{Instance, Labels, Origin};

/// After this, in ns of the records' clock, instances are asked for again: some labels come late.
const STALE: i64 = 60_000_000_000;

/// The instances of a domain.
#[derive(Debug, Default)]
pub(super) struct Domain {
    asked: i64,
    asked_labels: i64,
    of: HashMap<i32, Known>,
}

/// An instance.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) instance: Arc<Instance>,
    /// By the metric of their records.
    pub(super) origins: HashMap<u32, Arc<Origin>>,
    used: i64,
    /// Somebody had records or values of it.
    seen: bool,
}

impl Domain {
    /// The instance of a number. `None`: it is not known who that is. `live`: instances come and go; of an archive all
    /// are told at once. `ask`: those that there are, `None` if they cannot be told now.
    pub(super) fn get(
        &mut self,
        number: i32,
        now: i64,
        live: bool,
        ask: impl FnOnce() -> Option<Vec<(i32, Instance)>>,
    ) -> Option<&mut Known> {
        let stale = now.saturating_sub(self.asked) >= STALE;
        let missing = live && !self.of.contains_key(&number);
        if (stale || missing) && self.asked != now {
            self.asked = now;
            if let Some(found) = ask() {
                self.renew(found, now);
            }
        }
        let known = self.of.get_mut(&number)?;
        (known.used, known.seen) = (now, true);
        Some(known)
    }

    /// Gives an instance of an archive its labels, before [`get`](Self::get), if it comes later than others: an archive
    /// tells all its instances at once, but only the labels up to now. `ask`: those.
    pub(super) fn label(
        &mut self,
        number: i32,
        now: i64,
        ask: impl FnOnce() -> HashMap<i32, Labels>,
    ) {
        let bare = |known: &Known| known.instance.labels.is_empty();
        let comes = self.of.get(&number).is_some_and(|known| !known.seen && bare(known));
        if !comes || self.asked == now || self.asked_labels == now {
            return;
        }
        self.asked_labels = now;
        for (number, labels) in ask() {
            if let Some(known) = self.of.get_mut(&number).filter(|known| bare(known)) {
                known.instance = Arc::new(Instance { labels, ..(*known.instance).clone() });
                known.origins.clear();
            }
        }
    }

    fn renew(&mut self, found: Vec<(i32, Instance)>, now: i64) {
        let there: HashSet<i32> = found.iter().map(|(number, _)| *number).collect();
        for (number, instance) in found {
            if self.of.get(&number).is_none_or(|known| *known.instance != instance) {
                let (instance, origins) = (Arc::new(instance), HashMap::new());
                self.of.insert(number, Known { instance, origins, used: now, seen: false });
            }
        }
        // One that has ended may have records still.
        let used = |known: &Known| now.saturating_sub(known.used) < STALE;
        self.of.retain(|number, known| there.contains(number) || used(known));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn get(
        domain: &mut Domain,
        number: i32,
        seconds: i64,
        found: Option<&[(i32, &str)]>,
    ) -> Option<String> {
        let named = |name: &str| Instance { name: name.into(), ..Instance::default() };
        let all = |all: &[(i32, &str)]| all.iter().map(|(n, name)| (*n, named(name))).collect();
        let known = domain.get(number, seconds * SECOND, true, || found.map(all));
        known.map(|known| known.instance.name.to_string())
    }

    #[test]
    fn what_cannot_be_told_now_is_asked_for_with_the_next_fetch() {
        let mut domain = Domain::default();
        assert_eq!(get(&mut domain, 1, 100, None), None);
        // The same fetch.
        assert_eq!(get(&mut domain, 1, 100, Some(&[(1, "a")])), None);
        assert_eq!(get(&mut domain, 1, 101, Some(&[(1, "a")])).as_deref(), Some("a"));
        // What is known stays so while nobody answers.
        assert_eq!(get(&mut domain, 1, 200, None).as_deref(), Some("a"));
    }

    #[test]
    fn one_that_comes_later_in_an_archive_has_its_labels_at_once() {
        let labels = |text: &str| Labels::from([("runtime".into(), text.into())]);
        let all = || {
            let first = Instance { labels: labels("java"), ..Instance::default() };
            Some(vec![(1, first), (2, Instance::default()), (3, Instance::default())])
        };
        let (mut domain, mut asked) = (Domain::default(), 0);
        let mut get = |number, seconds: i64, logged: &[(i32, &str)]| {
            domain.label(number, seconds * SECOND, || {
                asked += 1;
                logged.iter().map(|(number, text)| (*number, labels(text))).collect()
            });
            let known = domain.get(number, seconds * SECOND, false, all).expect("an instance");
            known.instance.labels.get("runtime").map(|text| text.to_string())
        };
        assert_eq!(get(1, 100, &[(1, "java")]).as_deref(), Some("java"));
        assert_eq!(get(2, 101, &[(1, "java"), (2, "mono")]).as_deref(), Some("mono"));
        // One that has none is asked for once.
        for seconds in 102..150 {
            assert_eq!(get(2, seconds, &[]).as_deref(), Some("mono"));
            assert_eq!(get(3, seconds, &[]), None);
        }
        assert_eq!(asked, 2);
    }

    #[test]
    fn instances_that_have_ended_are_forgotten() {
        let mut domain = Domain::default();
        let both = [(1, "a"), (2, "b")];
        assert_eq!(get(&mut domain, 1, 100, Some(&both)).as_deref(), Some("a"));
        assert_eq!(get(&mut domain, 2, 155, None).as_deref(), Some("b"));
        // One that was just seen has its name still, the other is gone.
        assert_eq!(get(&mut domain, 2, 161, Some(&[(3, "c")])).as_deref(), Some("b"));
        assert_eq!(domain.of.len(), 2);
        assert_eq!(get(&mut domain, 3, 300, Some(&[(3, "d")])).as_deref(), Some("d"));
        assert_eq!(domain.of.len(), 1);
    }
}
