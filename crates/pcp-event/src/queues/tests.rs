//! The scenarios of tools/pcp/qprobe.c with the correct results; then a model.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::Pmid;
use crate::array::Array;
use crate::layout::Resolution;
use crate::{HighRes, LowRes, Scalar, check};

const T: Stamp = Stamp { sec: 1000, nsec: 5000 };

#[derive(Debug, PartialEq)]
enum Fault {
    Queue(QueueError),
    Decoder,
}

impl From<QueueError> for Fault {
    fn from(e: QueueError) -> Self {
        Self::Queue(e)
    }
}

fn text<R: Resolution>(array: &mut Array<R>, data: &[u8], time: &Stamp) -> Result<(), Fault> {
    array
        .add_record(*time, 1)
        .and_then(|()| array.add_text(Pmid(1), data))
        .map_err(|_| Fault::Decoder)
}

/// The texts that a client receives, and its number of missed events.
fn sees<R: Resolution>(q: &mut Queues, handle: usize, context: i32) -> (Vec<String>, u64) {
    let mut array = Array::<R>::new();
    let fetched = q.records(handle, context, &mut array, T, text).expect("fetches");
    shown(&mut array, fetched)
}

fn shown<R: Resolution>(array: &mut Array<R>, fetched: Fetched) -> (Vec<String>, u64) {
    let (mut texts, mut missed) = (Vec::new(), 0);
    for r in check::<R>(array.bytes()).expect("sound") {
        match r.params.first().map(|p| p.value) {
            Some(Scalar::Text(t)) => texts.push(String::from_utf8(t.to_vec()).expect("text")),
            _ => missed += u64::from(r.missed.expect("a MISSED record")),
        }
    }
    assert_eq!((texts.len(), missed), (fetched.events, fetched.missed));
    (texts, missed)
}

fn queue(memory: usize, contexts: &[i32]) -> (Queues, usize) {
    let mut q = Queues::new();
    let handle = q.new_queue("q", memory).expect("new");
    for c in contexts {
        q.new_client(*c).expect("memory");
        q.set_access(*c, handle, true).expect("known");
        assert_eq!(sees::<LowRes>(&mut q, handle, *c), (vec![], 0));
    }
    (q, handle)
}

#[expect(clippy::unnecessary_wraps, reason = "as begin wants it")]
fn memory() -> Option<Box<Fetch<Stamp>>> {
    Some(Box::default())
}

/// Ends a client; returns the queues that are removed.
fn end(q: &mut Queues, context: i32) -> Vec<usize> {
    let mut queues = Vec::new();
    q.end_client(context, |gone| {
        if let Gone::Queue(handle) = gone {
            queues.push(handle);
        }
    });
    queues
}

fn append(q: &mut Queues, handle: usize, texts: &[&str]) {
    texts.iter().for_each(|t| assert!(q.append(handle, t.as_bytes(), T).is_ok()));
}

#[test]
fn names_handles_and_clients() {
    let mut q = Queues::<Stamp>::new();
    assert_eq!(q.new_queue("x", 0), Err(QueueError::Invalid));
    assert_eq!(q.handle("nosuch"), Err(QueueError::NotFound));
    assert_eq!(
        (q.new_queue("q", 10), q.new_queue("q", 10), q.handle("q")),
        (Ok(0), Err(QueueError::Exists), Ok(0))
    );
    assert_eq!(
        (q.new_client(1), q.new_client(2), q.new_client(1), q.clients()),
        (Ok(0), Ok(1), Ok(0), 2)
    );
    assert_eq!(q.set_access(77, 0, true), Err(QueueError::Invalid));
    assert!(matches!(q.begin(0, 77, memory), Err(QueueError::Invalid)));
    assert!(matches!(q.begin(9, 1, memory), Err(QueueError::Invalid)));
    assert!(end(&mut q, 99).is_empty());
    assert_eq!(q.shutdown(0, drop), Ok(true));
    assert_eq!(q.shutdown(0, drop), Err(QueueError::Invalid));
    assert_eq!(q.handle("q"), Err(QueueError::NotFound));
    assert_eq!(q.new_queue("again", 1), Ok(0), "the lowest free handle");
}

#[test]
fn each_client_sees_every_event_once() {
    let (mut q, h) = queue(1000, &[]);
    append(&mut q, h, &["e0"]);
    assert_eq!(
        (q.counter(h), q.memory(h)),
        (Ok(1), Ok(0)),
        "without clients an event is counted and not kept"
    );
    let (mut q, h) = queue(1000, &[1, 2]);
    append(&mut q, h, &["e1", "e2"]);
    let all = (vec!["e1".to_owned(), "e2".to_owned()], 0);
    assert_eq!(sees::<LowRes>(&mut q, h, 1), all);
    assert_eq!(sees::<LowRes>(&mut q, h, 1), (vec![], 0));
    assert_eq!(q.memory(h), Ok(4), "client 2 has not seen them");
    assert_eq!(sees::<HighRes>(&mut q, h, 2), all);
    assert_eq!((q.memory(h), q.bytes(h), q.queue_clients(h)), (Ok(0), Ok(4), Ok(2)));
}

#[test]
fn what_did_not_fit_is_missed_exactly() {
    let (mut q, h) = queue(1000, &[1, 2]);
    let big = "z".repeat(399);
    append(&mut q, h, &[big.as_str(); 6]);
    assert_eq!((sees::<HighRes>(&mut q, h, 2).1, q.memory(h)), (4, Ok(798)));
    append(&mut q, h, &[&"y".repeat(2000), "last"]);
    assert_eq!(sees::<LowRes>(&mut q, h, 2), (vec!["last".into()], 1), "larger than the queue");
    let (seen, missed) = sees::<LowRes>(&mut q, h, 1);
    assert_eq!((seen.len(), missed), (3, 5));
}

#[test]
fn a_client_that_ends_gives_up_its_claim() {
    let (mut q, h) = queue(1000, &[1, 2]);
    append(&mut q, h, &["f1"]);
    sees::<LowRes>(&mut q, h, 2);
    assert_eq!(q.memory(h), Ok(2));
    end(&mut q, 1);
    assert_eq!((q.memory(h), q.queue_clients(h), q.clients()), (Ok(0), Ok(1), 1));
}

#[test]
fn without_access_nothing_is_seen_consumed_or_missed() {
    let (mut q, h) = queue(10, &[]);
    q.new_client(3).expect("memory");
    assert_eq!(sees::<LowRes>(&mut q, h, 3), (vec![], 0));
    append(&mut q, h, &["g1"]);
    assert_eq!(sees::<LowRes>(&mut q, h, 3), (vec![], 0));
    q.set_access(3, h, true).expect("known");
    assert_eq!(sees::<LowRes>(&mut q, h, 3), (vec!["g1".into()], 0));
    q.set_access(3, h, false).expect("known");
    append(&mut q, h, &["12345", "67890", "abcde"]);
    assert_eq!(sees::<LowRes>(&mut q, h, 3), (vec![], 0));
    q.set_access(3, h, true).expect("known");
    assert_eq!(sees::<LowRes>(&mut q, h, 3), (vec!["67890".into(), "abcde".into()], 0));
}

#[test]
fn a_filter_grants_access_and_is_dropped_when_replaced_or_at_the_end() {
    struct Dropped(Arc<Mutex<Vec<u8>>>, u8);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.lock().expect("lock").push(self.1);
        }
    }
    let log = Arc::new(Mutex::new(Vec::new()));
    let filter = |first: u8| -> Result<Option<QueueFilter>, QueueError> {
        let dropped = Dropped(Arc::clone(&log), first);
        Ok(Some(Box::new(move |data| {
            let whole = &dropped;
            data.first() == Some(&whole.1)
        })))
    };
    let (mut q, h) = queue(1000, &[1]);
    q.new_client(3).expect("memory");
    sees::<LowRes>(&mut q, h, 3);
    q.set_filter(3, h, || filter(b'g')).expect("known");
    append(&mut q, h, &["g2", "h2"]);
    assert_eq!(sees::<LowRes>(&mut q, h, 3), (vec!["g2".into()], 0));
    q.set_filter(3, h, || filter(b'h')).expect("known");
    assert_eq!(*log.lock().expect("lock"), b"g");
    append(&mut q, h, &["g3", "h3"]);
    assert_eq!(sees::<LowRes>(&mut q, h, 3), (vec!["h3".into()], 0));
    end(&mut q, 3);
    assert_eq!(*log.lock().expect("lock"), b"gh");
    assert_eq!(
        sees::<LowRes>(&mut q, h, 1).0,
        ["g2", "h2", "g3", "h3"],
        "another's filter concerns nobody else"
    );
}

#[test]
fn a_new_queue_leaves_the_others_alone() {
    let (mut q, h) = queue(1000, &[1]);
    append(&mut q, h, &["g3"]);
    for n in 0..20 {
        q.new_queue(&format!("other {n}"), 10).expect("new");
    }
    assert_eq!(sees::<LowRes>(&mut q, h, 1), (vec!["g3".into()], 0));
}

#[test]
fn a_decoder_that_fails_costs_its_event_only() {
    let (mut q, h) = queue(10, &[1]);
    append(&mut q, h, &["g4", "g5", "g6"]);
    let decode = |array: &mut Array<HighRes>, data: &[u8], time: &Stamp| {
        text(array, data, time)?;
        if data == b"g5" { Err(Fault::Decoder) } else { Ok(()) }
    };
    let mut array = Array::<HighRes>::new();
    let fetched = q.records(h, 1, &mut array, T, decode).expect("the first is sound");
    assert_eq!(shown(&mut array, fetched), (vec!["g4".into()], 0));
    append(&mut q, h, &["123456", "1234"]);
    assert_eq!(q.memory(h), Ok(10));
    // g5 and g6 have been dropped meanwhile.
    let fetched = q.records(h, 1, &mut array, T, decode).expect("sound");
    assert_eq!(shown(&mut array, fetched), (vec!["123456".into(), "1234".into()], 2));
    append(&mut q, h, &["g5", "g7"]);
    assert_eq!(q.records(h, 1, &mut array, T, decode), Err(Fault::Decoder));
    assert!(array.is_empty());
    assert_eq!(sees::<HighRes>(&mut q, h, 1), (vec!["g7".into()], 0));
}

#[test]
fn a_decoder_that_resets_the_array_and_fails_loses_what_was_before() {
    let (mut q, handle) = queue(1000, &[1]);
    sees::<LowRes>(&mut q, handle, 1);
    append(&mut q, handle, &["a", "b", "odd", "c"]);
    let mut array = Array::<LowRes>::new();
    let fetched = q.records(handle, 1, &mut array, T, |array, data, time| {
        if data == b"odd" {
            array.reset();
            return Err(Fault::Decoder);
        }
        text(array, data, time)
    });
    assert!(matches!(fetched, Err(Fault::Decoder)));
    assert!(check::<LowRes>(array.bytes()).is_ok());
    assert_eq!(sees::<LowRes>(&mut q, handle, 1), (vec!["c".into()], 2));
}

#[test]
fn a_failure_is_told_at_once_if_there_are_no_records_to_deliver() {
    let (mut q, h) = queue(1000, &[1]);
    append(&mut q, h, &["nothing", "odd", "b"]);
    let mut array = Array::<HighRes>::new();
    let fetched = q.records(h, 1, &mut array, T, |array, data, time| match data {
        b"nothing" => Ok(()),
        b"odd" => Err(Fault::Decoder),
        _ => text(array, data, time),
    });
    assert_eq!(fetched, Err(Fault::Decoder));
    assert_eq!(sees::<HighRes>(&mut q, h, 1), (vec!["b".into()], 0), "it is skipped");
}

#[test]
fn a_queue_with_announced_clients_keeps_from_the_start() {
    let mut q = Queues::new();
    let h = q.new_active_queue("q", 6, 2).expect("new");
    append(&mut q, h, &["a1", "a2", "a3", "a4"]);
    q.new_client(1).expect("memory");
    q.set_access(1, h, true).expect("known");
    assert_eq!(sees::<LowRes>(&mut q, h, 1), (vec!["a2".into(), "a3".into(), "a4".into()], 0));
    assert_eq!((q.queue_clients(h), q.memory(h)), (Ok(2), Ok(6)), "the other is still expected");
    assert_eq!(q.shutdown(h, drop), Ok(false));
    assert_eq!(end(&mut q, 1), [h]);
    assert_eq!(q.counter(h), Err(QueueError::Invalid));
}

/// A queue announced for three known clients, which have access to it.
fn announced(contexts: &[i32], announced: u32) -> (Queues, usize) {
    let mut q = Queues::new();
    contexts.iter().for_each(|c| assert!(q.new_client(*c).is_ok()));
    let h = q.new_active_queue("q", 6, announced).expect("new");
    contexts.iter().for_each(|c| q.set_access(*c, h, true).expect("known"));
    (q, h)
}

#[test]
fn announced_clients_are_waited_for_until_they_fetch_or_end() {
    let (mut q, h) = announced(&[1, 2, 3], 3);
    append(&mut q, h, &["a1", "a2", "a3", "a4"]);
    assert_eq!(q.queue_clients(h), Ok(3));
    let all = (vec!["a2".to_owned(), "a3".into(), "a4".into()], 1);
    assert_eq!(
        sees::<LowRes>(&mut q, h, 1),
        all,
        "what had to go is told: it was there from the start"
    );
    assert_eq!(sees::<LowRes>(&mut q, h, 1), (vec![], 0));
    assert_eq!(sees::<LowRes>(&mut q, h, 2), all);
    assert_eq!((q.queue_clients(h), q.memory(h)), (Ok(3), Ok(6)));
    end(&mut q, 3);
    assert_eq!((q.queue_clients(h), q.memory(h)), (Ok(2), Ok(0)));
}

#[test]
fn nobody_is_waited_for_for_ever() {
    // One client never fetches: sixteen fetches for each client are enough.
    let (mut q, h) = announced(&[1, 2], 2);
    append(&mut q, h, &["a1"]);
    assert_eq!(sees::<LowRes>(&mut q, h, 1), (vec!["a1".into()], 0));
    for _ in 0..32 {
        assert_eq!(q.memory(h), Ok(2));
        sees::<LowRes>(&mut q, h, 1);
    }
    assert_eq!(q.memory(h), Ok(0));
    assert_eq!(sees::<LowRes>(&mut q, h, 2), (vec![], 1), "it is told when it comes after all");
    // Unknown clients: each fetch counts for one of them.
    let (mut q, h) = announced(&[1], 3);
    append(&mut q, h, &["a1"]);
    for left in [2, 2, 0] {
        sees::<LowRes>(&mut q, h, 1);
        assert_eq!(q.memory(h), Ok(left));
    }
    // All clients have ended.
    let (mut q, h) = announced(&[1], 3);
    append(&mut q, h, &["a1"]);
    sees::<LowRes>(&mut q, h, 1);
    end(&mut q, 1);
    assert_eq!((q.memory(h), q.queue_clients(h)), (Ok(0), Ok(0)));
    // But events are kept for clients announced for later.
    let (mut q, h) = announced(&[1], 3);
    append(&mut q, h, &["a1"]);
    end(&mut q, 1);
    assert_eq!((q.memory(h), q.queue_clients(h)), (Ok(2), Ok(2)));
}

#[test]
fn a_client_without_access_does_not_hold_events_for_ever() {
    let (mut q, h) = announced(&[1, 2], 2);
    q.set_access(2, h, false).expect("known");
    append(&mut q, h, &["a1"]);
    sees::<LowRes>(&mut q, h, 1);
    end(&mut q, 1);
    for _ in 0..16 {
        assert_eq!(q.memory(h), Ok(2));
        assert_eq!(sees::<LowRes>(&mut q, h, 2), (vec![], 0));
    }
    assert_eq!(q.memory(h), Ok(0));
}

#[test]
fn events_that_are_not_kept_and_events_without_bytes_take_no_memory_without_bound() {
    let (mut q, h) = queue(100, &[1]);
    for _ in 0..10_000 {
        assert_eq!(q.append(h, &[b'x'; 101], T), Ok(false));
    }
    append(&mut q, h, &["a"]);
    assert_eq!(sees::<LowRes>(&mut q, h, 1), (vec!["a".into()], 10_000));
    for _ in 0..1000 {
        assert_eq!(q.append(h, b"", T), Ok(true));
    }
    assert_eq!(q.memory(h), Ok(0));
    let (seen, missed) = sees::<LowRes>(&mut q, h, 1);
    assert_eq!((seen.len(), missed), (100, 900), "each counts as one byte");
}

#[test]
fn a_count_that_does_not_fit_is_told_with_the_next_fetch() {
    let (mut q, h) = queue(100, &[1]);
    append(&mut q, h, &[&"x".repeat(101), "a"]);
    let mut array = Array::<LowRes>::new();
    let fill = |array: &mut Array<LowRes>, _: &[u8], time: &Stamp| {
        while array.add_record(*time, 1).is_ok() {}
        Ok::<(), Fault>(())
    };
    assert_eq!(
        q.records(h, 1, &mut array, T, fill).expect("sound"),
        Fetched { events: 1, missed: 0 }
    );
    assert_eq!(sees::<LowRes>(&mut q, h, 1), (vec![], 1));
}

#[test]
fn a_filter_is_only_made_when_it_is_taken() {
    let (mut q, h) = queue(100, &[1]);
    assert!(q.set_filter(2, h, || panic!("no such client")).is_err());
    assert!(q.set_filter(1, h + 1, || panic!("no such queue")).is_err());
    assert!(q.set_filter(1, h, || Ok(Some(Box::new(|_| false)))).is_ok_and(|old| old.is_none()));
    append(&mut q, h, &["a"]);
    // A filter removed during a fetch is not set again.
    let fetch = q.begin(h, 1, memory).expect("known").expect("access");
    assert!(q.set_filter(1, h, || Ok(None)).is_ok_and(|old| old.is_none()));
    assert!(q.finish(fetch).is_some(), "the caller drops it");
    assert_eq!(sees::<LowRes>(&mut q, h, 1), (vec!["a".into()], 0));
}

#[test]
fn a_queue_that_comes_and_goes_during_a_fetch_is_another() {
    let (mut q, h) = queue(100, &[1]);
    append(&mut q, h, &["a", "b"]);
    let mut fetch = q.begin(h, 1, memory).expect("known").expect("access");
    assert!(fetch.next().is_some());
    assert_eq!(q.shutdown(h, drop), Ok(false));
    end(&mut q, 1);
    q.new_client(1).expect("memory");
    assert_eq!(q.new_queue("another", 100), Ok(h));
    q.set_access(1, h, true).expect("known");
    assert_eq!(sees::<LowRes>(&mut q, h, 1), (vec![], 0));
    append(&mut q, h, &["c", "d", "e"]);
    while fetch.next().is_some() {}
    assert_eq!(q.more(&mut fetch), Ok(false));
    q.finish(fetch);
    assert_eq!(sees::<LowRes>(&mut q, h, 1), (vec!["c".into(), "d".into(), "e".into()], 0));
}

#[derive(Clone, Debug)]
enum Step {
    Append(u8),
    Fetch(i32),
    Access(i32, bool),
    End(i32),
}

proptest! {
    /// For each client with access: seen + missed = appended since its first fetch, in order,
    /// without duplicates.
    #[test]
    fn seen_plus_missed_is_appended(steps in prop::collection::vec(prop_oneof![
        6 => (1..40u8).prop_map(Step::Append),
        4 => (0..4).prop_map(Step::Fetch),
        1 => (0..4, any::<bool>()).prop_map(|(c, a)| Step::Access(c, a)),
        1 => (0..4).prop_map(Step::End),
    ], 1..150)) {
        let mut q = Queues::new();
        let h = q.new_queue("q", 60).expect("new");
        let mut next = 0u64;
        // Each client's position after its first fetch with access; and its access.
        let (mut at, mut access) = (BTreeMap::new(), BTreeMap::new());
        for step in steps {
            match step {
                Step::Append(size) => {
                    let event = format!("{next:0width$}", width = usize::from(size));
                    append(&mut q, h, &[&event]);
                    next += 1;
                }
                Step::Access(c, allow) => {
                    q.new_client(c).expect("memory");
                    q.set_access(c, h, allow).expect("known");
                    if access.insert(c, allow) != Some(true) || !allow {
                        at.remove(&c);
                    }
                }
                Step::End(c) => {
                    end(&mut q, c);
                    at.remove(&c);
                    access.remove(&c);
                }
                Step::Fetch(c) => {
                    q.new_client(c).expect("memory");
                    let (seen, missed) = sees::<HighRes>(&mut q, h, c);
                    let seen: Vec<u64> = seen.iter().map(|t| t.parse().expect("a number")).collect();
                    prop_assert!(seen.windows(2).all(|w| w[1] == w[0] + 1));
                    if access.get(&c) != Some(&true) {
                        prop_assert!(seen.is_empty() && missed == 0);
                        continue;
                    }
                    let before = at.insert(c, next).unwrap_or(next - seen.len() as u64 - missed);
                    prop_assert_eq!(before + missed + seen.len() as u64, next);
                    prop_assert!(seen.last().is_none_or(|last| last + 1 == next));
                }
            }
            prop_assert!(q.memory(h).expect("there") <= 60);
        }
    }
}
