//! Dictionaries of disconnected JVMs. An agent that reconnects during a rotation opens only some of
//! its streams and sends no dictionary. Word ids belong to the JVM, and the pod's name identifies
//! the JVM by its start time, so the dictionary of the earlier connection is still right.

use std::collections::HashMap;
use std::time::Duration;

use crate::sources::profiler::dictionary::Dictionary;
use crate::sources::profiler::limits;
use crate::sources::profiler::wire::command::Hello;

/// Key of a JVM: namespace, service, and pod with the start of the JVM.
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
struct CacheEntry {
    words: Dictionary,
    since: Duration,
    cost: usize,
}

/// Dictionaries without a connection, bounded in number, bytes and age. The oldest are dropped
/// first.
#[derive(Debug)]
pub(crate) struct DictionaryCache {
    by_jvm: HashMap<Jvm, CacheEntry>,
    bytes: usize,
    max: usize,
    /// Time before which no dictionary expires.
    due: Duration,
}

impl DictionaryCache {
    /// A cache of at most `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self { by_jvm: HashMap::new(), bytes: 0, max, due: Duration::ZERO }
    }

    /// Keeps the dictionary of a lost connection. Of two dictionaries of one JVM, the one with more
    /// words stays.
    pub(crate) fn put(&mut self, now: Duration, jvm: Jvm, words: Dictionary) {
        self.expire(now);
        let before = self.take(now, &jvm);
        let words = match before {
            Some(before) if before.len() > words.len() => before,
            _ => words,
        };
        let cost = words.cost() + jvm.bytes() + size_of::<(Jvm, CacheEntry)>();
        if words.is_empty() || cost > self.max {
            return;
        }
        while self.by_jvm.len() >= limits::KEPT_PODS || self.bytes + cost > self.max {
            let Some(oldest) =
                self.by_jvm.iter().min_by_key(|(_, entry)| entry.since).map(|(jvm, _)| jvm.clone())
            else {
                return;
            };
            self.remove(&oldest);
        }
        self.bytes += cost;
        self.by_jvm.insert(jvm, CacheEntry { words, since: now, cost });
    }

    /// Takes the dictionary of a JVM that has reconnected.
    pub(crate) fn take(&mut self, now: Duration, jvm: &Jvm) -> Option<Dictionary> {
        self.expire(now);
        self.remove(jvm)
    }

    /// Drops dictionaries older than [`limits::KEPT_SECONDS`].
    pub(crate) fn expire(&mut self, now: Duration) {
        if now < self.due {
            return;
        }
        let (bytes, time) = (&mut self.bytes, Duration::from_secs(limits::KEPT_SECONDS));
        // Later dictionaries expire later than this.
        let mut due = now + time;
        self.by_jvm.retain(|_, entry| {
            let keep = now < entry.since + time;
            if keep {
                due = due.min(entry.since + time);
            } else {
                *bytes -= entry.cost;
            }
            keep
        });
        self.due = due;
    }

    fn remove(&mut self, jvm: &Jvm) -> Option<Dictionary> {
        let entry = self.by_jvm.remove(jvm)?;
        self.bytes -= entry.cost;
        Some(entry.words)
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

    fn len(cache: &mut DictionaryCache, now: u64, pod: &str) -> Option<usize> {
        cache.take(Duration::from_secs(now), &jvm(pod)).map(|w| w.len())
    }

    #[test]
    fn a_dictionary_is_there_once_and_for_an_hour() {
        let mut cache = DictionaryCache::new(1 << 20);
        let at = Duration::from_secs;
        cache.put(at(0), jvm("a_1"), words(3));
        cache.put(at(1), jvm("a_1"), words(2));
        cache.put(at(2), jvm("a_2"), words(4));
        cache.put(at(2), jvm("a_3"), words(0));
        cache.put(at(900), jvm("a_4"), words(4));
        assert_eq!(
            (len(&mut cache, 3, "a_1"), len(&mut cache, 3, "a_1"), len(&mut cache, 3, "a_3")),
            (Some(3), None, None)
        );
        assert_eq!(len(&mut cache, 2 + limits::KEPT_SECONDS, "a_2"), None);
        assert_eq!(cache.by_jvm.len(), 1);
        cache.expire(at(899 + limits::KEPT_SECONDS));
        assert_eq!(cache.by_jvm.len(), 1);
        cache.expire(at(900 + limits::KEPT_SECONDS));
        assert_eq!((cache.bytes, cache.by_jvm.len()), (0, 0));
    }

    #[test]
    fn number_and_bytes_are_bounded_and_the_oldest_go() {
        let mut cache = DictionaryCache::new(1 << 30);
        for n in 0..limits::KEPT_PODS as u64 + 10 {
            cache.put(Duration::from_secs(n), jvm(&n.to_string()), words(1));
        }
        assert_eq!(
            (cache.by_jvm.len(), len(&mut cache, 1040, "9"), len(&mut cache, 1040, "10")),
            (limits::KEPT_PODS, None, Some(1))
        );
        let one = words(1).cost() + 500;
        let mut cache = DictionaryCache::new(3 * one);
        for n in 0..9 {
            cache.put(Duration::from_secs(n), jvm(&n.to_string()), words(1));
            assert!(cache.bytes <= 3 * one);
        }
        cache.put(Duration::from_secs(9), jvm("large"), words(10_000));
        assert!(
            (2..=4).contains(&cache.by_jvm.len()) && len(&mut cache, 9, "8") == Some(1),
            "{}",
            cache.by_jvm.len()
        );
    }
}
