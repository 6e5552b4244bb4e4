use std::ops::{Deref, DerefMut};

use crate::model::HeapSize;
use crate::sources::dotnet::limits::{OPEN_COLLECTIONS, OPEN_PAUSES};
use crate::sources::dotnet::meter::gc::{Collections, End, Known, Start};

/// Collections of which each event returns what it makes known.
#[derive(Default)]
struct Told(Collections);

impl Deref for Told {
    type Target = Collections;

    fn deref(&self) -> &Collections {
        &self.0
    }
}

impl DerefMut for Told {
    fn deref_mut(&mut self) -> &mut Collections {
        &mut self.0
    }
}

impl Told {
    fn start(&mut self, time: u64, start: Start) -> Known {
        let mut known = Known::default();
        self.0.start(time, start, &mut known);
        known
    }

    fn end(&mut self, time: u64, thread: u64, number: u32) -> Known {
        let mut known = Known::default();
        self.0.end(time, thread, number, &mut known);
        known
    }

    fn statistics(&mut self, thread: u64, sizes: [u64; 5], promoted: [u64; 5]) -> Known {
        let mut known = Known::default();
        self.0.statistics(thread, sizes, promoted, &mut known);
        known
    }

    fn restarted(&mut self, time: u64, thread: u64) -> Known {
        let mut known = Known::default();
        self.0.restarted(time, thread, &mut known);
        known
    }
}

const fn start(number: u32, generation: u32, kind: u32) -> Start {
    Start { number, generation, reason: 0, kind }
}

const PROMOTED: [u64; 5] = [1, 2, 4, 8, 16];

#[test]
fn a_collection_ends_with_its_pause() {
    let mut c = Told::default();
    c.suspend(100, 1, 1);
    assert_eq!(c.suspended(110, 1), Some(10));
    assert_eq!(c.suspended(111, 1), None);
    assert_eq!(c.start(120, start(1, 1, 0)), Default::default());
    let end = End { generation: 1, background: false, duration: 30 };
    assert_eq!(c.end(150, 1, 1).end, Some(end));
    assert_eq!(c.statistics(1, [5; 5], PROMOTED).survivors, Some([1, 2, 0, 0, 0]));
    let known = c.restarted(200, 1);
    assert_eq!(known.pause, Some(100));
    let gc = known.gc.expect("a collection");
    assert_eq!((gc.number, gc.pause, gc.duration, gc.ended), (1, Some(100), 30, 200));
    let heap = gc.heap.expect("statistics");
    assert_eq!((heap.before, heap.after, heap.promoted), (None, 25, 3));
}

/// A background collection 2 of thread 9 beside 3 of thread 1, in any order of the threads.
#[test]
fn threads_may_come_in_any_order() {
    type Part = fn(&mut Told) -> Vec<u32>;
    let one: Part = |c| {
        c.suspend(100, 1, 1);
        let mut all = vec![c.start(110, start(2, 2, 1)), c.start(120, start(3, 1, 0))];
        all.extend([c.end(130, 1, 3), c.statistics(1, [1; 5], PROMOTED), c.restarted(140, 1)]);
        all.into_iter().filter_map(|known| known.gc).map(|gc| gc.number).collect()
    };
    let nine: Part = |c| {
        c.suspend(200, 9, 6);
        let mut all = vec![c.restarted(210, 9), c.end(300, 9, 2)];
        all.push(c.statistics(9, [1; 5], PROMOTED));
        all.into_iter().filter_map(|known| known.gc).map(|gc| gc.number).collect()
    };
    let mut c = Told::default();
    assert_eq!((one(&mut c), nine(&mut c)), (vec![3], vec![2]));
    let mut c = Told::default();
    assert!(nine(&mut c).is_empty());
    let known = c.start(110, start(2, 2, 1));
    let gc = known.gc.expect("a collection");
    assert_eq!((gc.number, gc.pause, gc.duration, gc.ended), (2, Some(10), 190, 300));
    assert_eq!(known.end, Some(End { generation: 2, background: true, duration: 190 }));
    assert_eq!(known.survivors, Some([0, 0, 4, 8, 16]));
}

/// Collection 8 of the capture mixed-9 of another machine: the longest pause of all.
#[test]
fn a_background_collection_that_ends_in_its_pause_has_that_pause() {
    let mut c = Told::default();
    c.suspend(1_770_599, 1, 1);
    assert_eq!(c.start(1_770_689, start(8, 2, 1)).gc, None);
    assert_eq!(c.end(1_801_887, 9, 8).gc, None);
    assert_eq!(c.statistics(9, [1; 5], PROMOTED).gc, None);
    let known = c.restarted(1_808_598, 1);
    assert_eq!(known.pause, Some(37_999));
    assert_eq!(known.gc.map(|gc| (gc.number, gc.pause)), Some((8, Some(37_999))));
    assert_eq!(known.gc.map(|gc| gc.ended), Some(1_801_887));

    // Another one that began later in it has the pause.
    c.suspend(2_000_000, 1, 1);
    c.start(2_000_010, start(9, 2, 1));
    c.end(2_000_020, 9, 9);
    assert_eq!(c.statistics(9, [1; 5], PROMOTED).gc, None);
    let background = c.start(2_000_030, start(10, 0, 0)).gc;
    assert_eq!(background.map(|gc| (gc.number, gc.pause)), Some((9, None)));
    c.end(2_000_040, 1, 10);
    c.statistics(1, [1; 5], PROMOTED);
    let gc = c.restarted(2_000_050, 1).gc;
    assert_eq!(gc.map(|gc| (gc.number, gc.pause)), Some((10, Some(50))));
}

/// With several heaps, one thread suspends and another collects.
#[test]
fn a_pause_of_another_thread_counts() {
    let mut c = Told::default();
    c.suspend(100, 1, 1);
    assert_eq!(c.start(110, start(1, 0, 0)).gc, None);
    assert_eq!(c.end(120, 2, 1).gc, None);
    assert_eq!(c.restarted(130, 1).gc.and_then(|gc| gc.pause), Some(30));
    // The thread that collects comes first.
    assert_eq!(c.start(210, start(2, 0, 0)).gc, None);
    assert_eq!(c.end(220, 2, 2).gc, None);
    c.suspend(200, 1, 1);
    let gc = c.restarted(230, 1).gc;
    assert_eq!(gc.map(|gc| (gc.pause, gc.ended)), Some((Some(30), 230)));
}

#[test]
fn streams_of_starts_or_pauses_alone_are_bounded() {
    let mut c = Told::default();
    for n in 0..1000 {
        assert_eq!(c.start(n, start(u32::try_from(n).unwrap(), 0, 0)).gc, None);
        c.suspend(n, n, 1);
    }
    let most = OPEN_COLLECTIONS * 256 + OPEN_PAUSES * 256;
    assert!(c.heap_size() < most, "{}", c.heap_size());
    for n in 0..1000 {
        c.restarted(n, n);
    }
    assert!(c.heap_size() < most, "{}", c.heap_size());
    c.suspend(5, 5, 0);
    assert_eq!(c.restarted(6, 5).pause, None, "another reason");
}
