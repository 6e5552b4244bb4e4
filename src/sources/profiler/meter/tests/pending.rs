use super::*;
use crate::sources::profiler::dictionary::Text;
use crate::sources::profiler::dictionary::shared::Interner;

fn words(known: &[u32]) -> Dictionary {
    let mut words = Dictionary::new(Arc::new(Interner::new(1 << 20)));
    known.iter().for_each(|id| assert!(words.put(Some(*id), Text::new(&[0, b'w'], 1)).1));
    words
}

fn call(method: u32) -> PendingCall {
    PendingCall {
        numbers: Call { method, ..Call::EMPTY },
        text: "x".repeat(1000),
        params: vec![(method, 1000)],
        ..PendingCall::default()
    }
}

fn released(pending: &mut PendingCalls, now: u64, known: &[u32], all: bool) -> Vec<u32> {
    let mut emitted = Vec::new();
    pending.release(
        Duration::from_secs(now),
        all,
        |call| call.is_named(&words(known)),
        |e| emitted.push(e.numbers.method),
    );
    emitted
}

#[test]
fn those_that_have_names_go_first_and_others_when_they_have_waited() {
    let budget = Arc::new(PendingBudget::default());
    let mut pending = PendingCalls::new(Arc::clone(&budget));
    for method in [1, 2, 3] {
        pending.push(Duration::ZERO, &call(method));
    }
    assert!(released(&mut pending, 1, &[2], false).is_empty(), "no word has come");
    pending.news();
    assert_eq!(released(&mut pending, 1, &[2], false), [2]);
    pending.news();
    assert!(released(&mut pending, 1, &[2, 3], false).is_empty(), "not again at once");
    assert_eq!(released(&mut pending, 2, &[2, 3], false), [3]);
    assert!(budget.bytes() > 1000 && released(&mut pending, 10, &[], false).is_empty());
    assert_eq!(released(&mut pending, 11, &[], false), [1]);
    assert_eq!((budget.bytes(), pending.bytes), (0, 0));
    pending.push(Duration::ZERO, &call(1));
    assert_eq!(released(&mut pending, 11, &[], true), [1]);
}

#[test]
fn when_there_is_no_room_the_named_make_it_and_then_the_oldest() {
    let budget = Arc::new(PendingBudget::default());
    let mut pending = PendingCalls::new(Arc::clone(&budget));
    let fill = |pending: &mut PendingCalls| {
        let mut pushed = 0;
        while !pending.is_full() {
            pending.push(Duration::ZERO, &call(if pushed % 2 == 0 { 1 } else { 2 }));
            pushed += 1;
        }
        pushed
    };
    let pushed = fill(&mut pending);
    assert!(pushed > 50_000, "{pushed}");
    pending.news();
    let emitted = released(&mut pending, 1, &[2], false);
    assert!(emitted.iter().all(|m| *m == 2) && emitted.len() == pushed / 2, "{}", emitted.len());
    fill(&mut pending);
    assert_eq!(released(&mut pending, 1, &[2], false), [1], "no more than it takes");
    let mut others: Vec<_> = (0..8).map(|_| PendingCalls::new(Arc::clone(&budget))).collect();
    for _ in 0..20_000 {
        for other in &mut others {
            other.push(Duration::ZERO, &call(3));
            other.release(Duration::ZERO, false, |_| false, |_| ());
        }
    }
    assert!(budget.bytes() <= limits::ALL_PENDING + 10_000, "{}", budget.bytes());
    assert!(others.iter().all(|o| o.bytes >= limits::PENDING_LEAST), "each has a little");
    drop(others);
    assert_eq!(released(&mut pending, 1, &[], true).len(), pushed - 1);
    assert_eq!((budget.bytes(), pending.calls.capacity()), (0, 0), "memory is given back");
}
