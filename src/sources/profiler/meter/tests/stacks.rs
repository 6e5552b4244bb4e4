use crate::sources::profiler::meter::thread::{DEPTH, PENDING};
use std::sync::Arc;

use super::*;
use crate::contract::Recorded;
use crate::sources::Source;
use crate::sources::profiler::dictionary::Text;
use crate::sources::profiler::dictionary::shared::Interner;
use crate::sources::profiler::streams::record::TagValue;
use crate::sources::profiler::{Profiler, metrics as m};

#[test]
fn self_time_is_what_children_did_not_take() {
    let mut stacks = Stacks::default();
    let block = Block { thread: 7, ..Block::default() };
    let mut at = |time_ms, kind| stacks.event(&block, &TraceEvent { index: 0, time_ms, kind });
    at(0, TraceKind::Exit);
    at(10, TraceKind::Enter { method: 1 });
    at(12, TraceKind::Enter { method: 2 });
    at(17, TraceKind::Exit);
    at(20, TraceKind::Enter { method: 2 });
    at(21, TraceKind::Exit);
    at(30, TraceKind::Exit);
    // A time that goes back counts as 0.
    at(5, TraceKind::Enter { method: 1 });
    at(0, TraceKind::Exit);
    let own: Vec<_> =
        stacks.times.tree.nodes.iter().map(|n| (n.method, n.parent, n.self_time)).collect();
    assert_eq!(own, [(1, ROOT, 14), (2, 0, 6)]);
    for depth in 0..500 {
        stacks.event(
            &block,
            &TraceEvent { index: 0, time_ms: depth, kind: TraceKind::Enter { method: 3 } },
        );
    }
    for depth in 0..500 {
        stacks
            .event(&block, &TraceEvent { index: 0, time_ms: 1000 + depth, kind: TraceKind::Exit });
    }
    assert!(
        stacks.threads[0].frames.is_empty()
            && stacks.threads[0].beyond == 0
            && stacks.times.tree.nodes.len() <= DEPTH + 2
    );
}

#[test]
fn threads_that_are_in_no_method_make_room() {
    let mut stacks = Stacks::default();
    let enter = |method| TraceKind::Enter { method };
    let mut at = |thread, kind| {
        stacks.event(
            &Block { thread, ..Block::default() },
            &TraceEvent { index: 0, time_ms: 0, kind },
        )
    };
    for thread in 0..5000 {
        at(thread, enter(1));
        if thread != 3 {
            at(thread, TraceKind::Exit);
        }
    }
    assert!(
        stacks.threads.len() <= THREADS
            && stacks.threads.iter().any(|t| t.id == 3 && t.frames.len() == 1)
    );
    assert!(stacks.threads.iter().any(|t| t.id == 4999));
    for thread in 10_000..20_000 {
        let block = Block { thread, ..Block::default() };
        stacks.event(&block, &TraceEvent { index: 0, time_ms: 0, kind: enter(1) });
    }
    assert_eq!(
        (stacks.threads.len(), stacks.by_id.len()),
        (THREADS, THREADS),
        "all are within a method"
    );
}

/// A thread with the words of a real agent.
struct Traced(Stacks);

const INFO: u32 = 100;

impl Traced {
    /// One root.
    fn new() -> Self {
        let mut new = Self(Stacks::default());
        new.0.word(INFO, Some("call.info"));
        new.enter(0, 1);
        new.end(0, INFO, true);
        new
    }

    fn at(&mut self, time_ms: i64, kind: TraceKind<'_>) {
        self.0.event(
            &Block { thread: 7, ..Block::default() },
            &TraceEvent { index: 0, time_ms, kind },
        );
    }

    fn enter(&mut self, time_ms: i64, method: u32) {
        self.at(time_ms, TraceKind::Enter { method });
    }

    fn exit(&mut self, time_ms: i64) {
        self.at(time_ms, TraceKind::Exit);
    }

    /// The end of a root.
    fn end(&mut self, time_ms: i64, info: u32, sound: bool) {
        let value = TagValue::Inline(Text::default());
        self.at(time_ms, TraceKind::Tag { param: info, value });
        if sound {
            self.at(time_ms, TraceKind::Tag { param: info + 1, value });
        }
        self.exit(time_ms);
    }

    /// Method, depth and self time of the counted nodes.
    fn told(&self) -> Vec<(u32, usize, u64)> {
        let depth = |mut at: u32| {
            let mut depth = 0;
            while let Some(node) = self.0.times.tree.nodes.get(at as usize) {
                (depth, at) = (depth + 1, node.parent);
            }
            depth
        };
        let nodes = (0..).zip(&self.0.times.tree.nodes).filter(|(_, n)| n.self_time > 0);
        nodes.map(|(at, n)| (n.method, depth(at), n.self_time)).collect()
    }
}

#[test]
fn a_lost_exit_costs_only_its_root() {
    let mut t = Traced::new();
    t.enter(0, 1);
    t.enter(5, 2);
    // A buffer is lost; in it the EXIT of 2, the end of 1 and more roots. The next one:
    t.enter(1000, 1);
    t.enter(1003, 2);
    t.exit(1007);
    t.end(1010, INFO, true);
    assert!(t.told().is_empty() && t.0.threads[0].frames.is_empty(), "{:?}", t.told());
    t.enter(2000, 1);
    t.enter(2003, 2);
    t.exit(2007);
    assert!(t.told().is_empty(), "it waits for its end");
    t.end(2010, INFO, true);
    assert_eq!(t.told(), [(1, 1, 6), (2, 2, 4)]);
}

#[test]
fn a_lost_enter_costs_only_its_root() {
    let mut t = Traced::new();
    // The events are within a root whose ENTER is lost.
    t.enter(0, 2);
    t.exit(9);
    t.exit(10);
    t.end(12, INFO, true);
    t.enter(20, 1);
    t.end(30, INFO, true);
    assert_eq!(t.told(), [(1, 1, 10)]);
}

#[test]
fn roots_that_the_agent_does_not_mark_as_sound_do_not_count() {
    let mut t = Traced::new();
    // Lost: the ENTER of one root and the end of another.
    t.enter(0, 1);
    t.end(5000, INFO, false);
    t.enter(6000, 1);
    t.enter(6001, 2);
    t.exit(6002);
    t.end(6003, INFO, false);
    assert!(t.told().is_empty(), "{:?}", t.told());
    // Short roots without nested methods never have tags behind call.info.
    t.enter(7000, 1);
    t.end(7020, INFO, false);
    assert_eq!(t.told(), [(1, 1, 20)]);
}

#[test]
fn a_root_that_goes_on_counts_meanwhile() {
    let mut t = Traced::new();
    t.enter(0, 1);
    for n in 0..1000 {
        t.enter(10 * n, 2 + u32::from(n % 2 == 1));
        t.exit(10 * n + 3);
    }
    let at_once: u64 = t.told().iter().map(|(_, _, ms)| ms).sum();
    assert!(
        (1000..3000).contains(&at_once) && t.0.threads[0].pending.len() == PENDING,
        "what waits is bounded: {at_once}"
    );
    (0..ROUNDS).for_each(|_| t.0.count_deferred(false));
    assert_eq!(t.told().iter().map(|(_, _, ms)| ms).sum::<u64>(), 3000);
    t.enter(10_000, 4);
    t.exit(10_001);
    t.0.count_deferred(true);
    assert_eq!(t.told().len(), 3);
    t.end(20_000, INFO, true);
    assert_eq!(t.told().iter().map(|(_, _, ms)| ms).sum::<u64>(), 20_000);
}

#[test]
fn before_the_dictionary_comes_the_first_word_is_believed_to_be_the_first_of_all_agents() {
    let mut t = Traced(Stacks::default());
    for (enter, info) in [(0, 0), (1000, 7)] {
        // The first has lost its end.
        t.enter(enter, 1);
        t.enter(enter + 100, 1);
        t.end(enter + 200, info, true);
        t.enter(enter + 300, 1);
        t.end(enter + 310, info, true);
        assert_eq!(t.told(), [(1, 1, if enter == 0 { 10 } else { 20 })]);
        t.0.word(0, Some("something else"));
        t.0.word(7, Some("call.info"));
    }
    // Agents without the tags are trusted.
    let mut t = Traced(Stacks::default());
    t.0.word(0, Some("something else"));
    t.enter(0, 1);
    t.enter(100, 2);
    t.exit(100);
    t.exit(200);
    t.enter(300, 1);
    t.enter(301, 2);
    t.exit(302);
    t.end(400, 7, false);
    assert_eq!(t.told(), [(1, 1, 299), (2, 2, 1)]);
}

#[test]
fn a_stack_has_a_row_however_many_there_were() {
    let (mut t, mut rows) = (Traced::new(), Recorded::new(&Profiler::TABLE));
    let mut words = Dictionary::new(Arc::new(Interner::new(1 << 20)));
    let name = |id: u16| id.to_be_bytes().map(|byte| byte % 26 + b'a');
    for id in 1..=10_240 {
        words.put(Some(id.into()), Text::new(&name(id), 1));
        t.enter(0, id.into());
        t.end(1, INFO, true);
        if id % 64 == 0 {
            t.0.report(&words, &mut rows, false);
        }
    }
    assert_eq!(rows.rows(m::STACK_TIME).values().sum::<u64>(), 10_240 * 1_000_000);
}

#[test]
fn a_silence_changes_nothing_but_memory() {
    let play = |silent: bool| {
        let (mut t, mut rows) = (Traced::new(), Recorded::new(&Profiler::TABLE));
        let mut words = Dictionary::new(Arc::new(Interner::new(1 << 20)));
        let name = |id: u8| [0, b'a' + id];
        (0..5).for_each(|id| assert!(words.put(Some(id.into()), Text::new(&name(id), 1)).1));
        for method in [1, 2, 60] {
            t.enter(0, method);
            t.enter(1, 3);
            t.exit(5);
            t.end(10, INFO, true);
        }
        // A root that does not end.
        t.enter(100, 4);
        t.enter(101, 3);
        t.exit(102);
        t.enter(103, 2);
        t.0.report(&words, &mut rows, false);
        if silent {
            t.0.shrink(&mut rows);
            // An open root, of which one method has taken time, and one without a name.
            let nodes: Vec<_> =
                t.0.times.tree.nodes.iter().map(|n| (n.method, n.self_time)).collect();
            assert_eq!(nodes, [(60, 6), (3, 4), (4, 0), (3, 0)]);
            assert!(t.0.threads.capacity() == 1);
        }
        t.exit(110);
        t.end(120, INFO, true);
        t.enter(200, 1);
        t.enter(201, 3);
        t.exit(203);
        t.end(210, INFO, true);
        t.0.report(&words, &mut rows, true);
        rows.rows(m::STACK_TIME)
    };
    let told = play(false);
    assert_eq!(told, play(true));
    let expected = [
        ("b", 14),
        ("b,d", 6),
        ("c", 6),
        ("c,d", 4),
        ("#60", 6),
        ("#60,d", 4),
        ("e", 12),
        ("e,d", 1),
        ("e,c", 7),
    ];
    assert_eq!(
        told,
        expected.into_iter().map(|(name, ms)| (name.to_owned(), ms * 1_000_000)).collect()
    );
}
