//! Dictionaries of JVMs whose connections have gone. An agent that connects again in the middle of
//! a rotation opens only some of its streams and sends no dictionary: its ids are those of the
//! connection before, because they are those of the JVM, which is who the name of the pod with its
//! start says it is.

use std::collections::HashMap;
use std::time::Duration;

use crate::sources::profiler::dictionary::Dictionary;
use crate::sources::profiler::limits;
use crate::sources::profiler::wire::command::Hello;

/// One JVM: namespace, service, and pod with the start of the JVM.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Jvm([Box<str>; 3]);

impl Jvm {
    pub(crate) fn of(hello: &Hello<'_>) -> Self {
        Self([hello.namespace, hello.service, hello.pod].map(Into::into))
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|part| part.len()).sum()
    }
}

#[derive(Debug)]
struct One {
    words: Dictionary,
    since: Duration,
    cost: usize,
}

/// Dictionaries without a connection: bounded in number, bytes and time, of which the oldest go
/// first.
#[derive(Debug)]
pub(crate) struct DictionaryCache {
    by_jvm: HashMap<Jvm, One>,
    bytes: usize,
    max: usize,
    /// Nothing is too old before.
    due: Duration,
}

impl DictionaryCache {
    /// For dictionaries of at most `max` bytes in all.
    pub(crate) fn new(max: usize) -> Self {
        Self { by_jvm: HashMap::new(), bytes: 0, max, due: Duration::ZERO }
    }

    /// The connection of a JVM has gone. If two have, the one with more words stays.
    pub(crate) fn put(&mut self, now: Duration, jvm: Jvm, words: Dictionary) {
        self.expire(now);
        let before = self.take(now, &jvm);
        let words = match before {
            Some(before) if before.len() > words.len() => before,
            _ => words,
        };
        let cost = words.cost() + jvm.bytes() + size_of::<(Jvm, One)>();
        if words.is_empty() || cost > self.max {
            return;
        }
        while self.by_jvm.len() >= limits::KEPT_PODS || self.bytes + cost > self.max {
            let Some(oldest) =
                self.by_jvm.iter().min_by_key(|(_, one)| one.since).map(|(jvm, _)| jvm.clone())
            else {
                return;
            };
            self.remove(&oldest);
        }
        self.bytes += cost;
        self.by_jvm.insert(jvm, One { words, since: now, cost });
    }

    /// A JVM is back.
    pub(crate) fn take(&mut self, now: Duration, jvm: &Jvm) -> Option<Dictionary> {
        self.expire(now);
        self.remove(jvm)
    }

    /// Forgets what is too old.
    pub(crate) fn expire(&mut self, now: Duration) {
        if now < self.due {
            return;
        }
        let (bytes, time) = (&mut self.bytes, Duration::from_secs(limits::KEPT_SECONDS));
        // What comes later is due later than this.
        let mut due = now + time;
        self.by_jvm.retain(|_, one| {
            let keep = now < one.since + time;
            if keep {
                due = due.min(one.since + time);
            } else {
                *bytes -= one.cost;
            }
            keep
        });
        self.due = due;
    }

    fn remove(&mut self, jvm: &Jvm) -> Option<Dictionary> {
        let one = self.by_jvm.remove(jvm)?;
        self.bytes -= one.cost;
        Some(one.words)
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sources::profiler::dictionary::interner::Interner;
    use crate::sources::profiler::streams::scan::Text;

    fn words(count: usize) -> Dictionary {
        let mut words = Dictionary::new(Arc::new(Interner::new(1 << 20)));
        (0..count).for_each(|_| assert!(words.put(None, Text::new(&[0, b'w'], 1)).1));
        words
    }

    fn jvm(pod: &str) -> Jvm {
        Jvm::of(&Hello { version: None, namespace: "n", service: "s", pod })
    }

    fn len(kept: &mut DictionaryCache, now: u64, pod: &str) -> Option<usize> {
        kept.take(Duration::from_secs(now), &jvm(pod)).map(|w| w.len())
    }

    #[test]
    fn a_dictionary_is_there_once_and_for_an_hour() {
        let mut kept = DictionaryCache::new(1 << 20);
        let at = Duration::from_secs;
        kept.put(at(0), jvm("a_1"), words(3));
        kept.put(at(1), jvm("a_1"), words(2));
        kept.put(at(2), jvm("a_2"), words(4));
        kept.put(at(2), jvm("a_3"), words(0));
        kept.put(at(900), jvm("a_4"), words(4));
        assert_eq!(
            (len(&mut kept, 3, "a_1"), len(&mut kept, 3, "a_1"), len(&mut kept, 3, "a_3")),
            (Some(3), None, None)
        );
        assert_eq!(len(&mut kept, 2 + limits::KEPT_SECONDS, "a_2"), None);
        assert_eq!(kept.by_jvm.len(), 1);
        kept.expire(at(899 + limits::KEPT_SECONDS));
        assert_eq!(kept.by_jvm.len(), 1);
        kept.expire(at(900 + limits::KEPT_SECONDS));
        assert_eq!((kept.bytes, kept.by_jvm.len()), (0, 0));
    }

    #[test]
    fn number_and_bytes_are_bounded_and_the_oldest_go() {
        let mut kept = DictionaryCache::new(1 << 30);
        for n in 0..limits::KEPT_PODS as u64 + 10 {
            kept.put(Duration::from_secs(n), jvm(&n.to_string()), words(1));
        }
        assert_eq!(
            (kept.by_jvm.len(), len(&mut kept, 1040, "9"), len(&mut kept, 1040, "10")),
            (limits::KEPT_PODS, None, Some(1))
        );
        let one = words(1).cost() + 500;
        let mut kept = DictionaryCache::new(3 * one);
        for n in 0..9 {
            kept.put(Duration::from_secs(n), jvm(&n.to_string()), words(1));
            assert!(kept.bytes <= 3 * one);
        }
        kept.put(Duration::from_secs(9), jvm("large"), words(10_000));
        assert!(
            (2..=4).contains(&kept.by_jvm.len()) && len(&mut kept, 9, "8") == Some(1),
            "{}",
            kept.by_jvm.len()
        );
    }
}
