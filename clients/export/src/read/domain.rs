//! The instances of a domain, as long as somebody has records or values of them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::{Instance, Origin};

/// After this, in ns of the records' clock, instances are asked for again: some labels come late.
const STALE: i64 = 60_000_000_000;

/// The instances of a domain.
#[derive(Debug, Default)]
pub(super) struct Domain {
    asked: i64,
    of: HashMap<i32, Known>,
}

/// An instance.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) instance: Arc<Instance>,
    /// By the metric of their records.
    pub(super) origins: HashMap<u32, Arc<Origin>>,
    used: i64,
    /// It had records or values before.
    seen: bool,
}

impl Domain {
    /// The instance of a number. `None`: it is not known who that is. `live`: instances come and go; of an archive all
    /// are told at once, and the labels that it has up to now. `ask`: those that there are, `None` if they cannot be
    /// told now.
    pub(super) fn get(
        &mut self,
        number: i32,
        now: i64,
        live: bool,
        ask: impl FnOnce() -> Option<Vec<(i32, Instance)>>,
    ) -> Option<&mut Known> {
        let stale = now.saturating_sub(self.asked) >= STALE;
        let missing = match self.of.get(&number) {
            None => live,
            Some(known) => !live && !known.seen && known.instance.labels.is_empty(),
        };
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
        let named = |label: Option<&str>| Instance {
            labels: label.map(|label| ("runtime".into(), label.into())).into_iter().collect(),
            ..Instance::default()
        };
        let (mut domain, mut asked) = (Domain::default(), 0);
        let mut get = |number, seconds: i64, later: Option<&str>| {
            let ask = || {
                asked += 1;
                Some(vec![(1, named(Some("java"))), (2, named(later))])
            };
            let known = domain.get(number, seconds * SECOND, false, ask).expect("an instance");
            known.instance.labels.get("runtime").map(|text| text.to_string())
        };
        // The labels of 2 are logged when it comes.
        assert_eq!(get(1, 100, None).as_deref(), Some("java"));
        assert_eq!(get(2, 101, Some("mono")).as_deref(), Some("mono"));
        assert_eq!(get(2, 102, None).as_deref(), Some("mono"));
        assert_eq!(asked, 2);
        // One that never has any is not asked for each time.
        let mut domain = Domain::default();
        let all = || Some(vec![(1, named(None))]);
        for seconds in 100..130 {
            let ask = || {
                asked += 1;
                all()
            };
            let known = domain.get(1, seconds * SECOND, false, ask).expect("an instance");
            assert!(known.instance.labels.is_empty());
        }
        assert!(asked <= 2 + 2, "{asked}");
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
