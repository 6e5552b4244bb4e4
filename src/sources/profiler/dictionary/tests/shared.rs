use std::sync::Arc;

use super::{Interner, *};
use crate::sources::profiler::dictionary::Text;

#[test]
fn a_word_is_kept_once_and_as_long_as_it_is_used() {
    let interner = Interner::new(2 * (OVERHEAD + 1));
    let a = interner.intern("a").unwrap();
    assert!(Arc::ptr_eq(&a, &interner.intern("a").unwrap()));
    let b = interner.intern("b").unwrap();
    assert_eq!((interner.intern("c"), interner.len()), (None, 2));
    drop(a);
    assert_eq!(interner.intern("c").as_deref(), Some("c"), "the room of a is free");
    assert_eq!((interner.len(), &*b), (2, "b"));
    assert_eq!(interner.bytes(), 2 * (OVERHEAD + 1));
}

#[test]
fn unused_words_go_when_many_have_come() {
    let interner = Interner::new(64 << 20);
    for n in 0..100_000 {
        assert!(interner.intern(&format!("word {n}")).is_some());
    }
    assert!(interner.bytes() <= SWEEP, "{}", interner.bytes());
}

#[test]
fn charges_take_room_from_words() {
    let interner = Interner::new(1000);
    assert!(interner.charge(950) && !interner.charge(51));
    assert_eq!(interner.intern("a"), None);
    interner.release(950);
    assert!(interner.intern("a").is_some() && !interner.charge(1000));
}

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
