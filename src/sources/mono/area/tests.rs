//! Pages of Mono 6.8 and 6.12, and pages that lie.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;

use super::page::{Figures, figures};
use super::*;
use crate::contract::Recorded;
use crate::model::{HeapSize, MetricItem, Value};
use crate::read::Order;
use crate::sources::Source;
use crate::sources::mono::process::{
    Facts, Host, Processes, Said, Seat, Share, Stage, Sum, Via, Way,
};
use crate::sources::mono::{Mono, metrics as m};

struct NoHost;

impl Host for NoHost {
    fn find(&self, _: &Via, _: &Said<'_>) -> Option<Facts> {
        None
    }
}

fn facts(pid: u32, inner_pid: u32) -> Facts {
    let command = b"mono\0/srv/Shop.exe\0".to_vec();
    let owner = "www-data".to_owned();
    Facts { pid, start: 7, inner_pid, command, owner, ..Facts::default() }
}

fn seat(pid: u32) -> Seat {
    Processes::new(Arc::new(NoHost)).seat(Way::Area, facts(4000, pid))
}

fn recorded() -> Recorded {
    Recorded::new(&Mono::TABLE)
}

fn text(seen: &Recorded, item: MetricItem) -> String {
    seen.text(item).expect("a text")
}

/// A counter of the program's own.
fn own(seen: &Recorded, path: &str) -> Option<Value> {
    seen.log().metrics.get(&(path.to_owned(), None)).cloned()
}

fn corpus() -> Vec<(String, Vec<u8>, Json)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/mono/shm");
    let mut all = Vec::new();
    for entry in fs::read_dir(&folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "bin") {
            let facts = fs::read(path.with_extension("facts.json")).expect("facts");
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let facts = serde_json::from_slice(&facts).expect("facts");
            all.push((name, fs::read(&path).expect("a page"), facts));
        }
    }
    assert_eq!(all.len(), 16);
    all
}

fn capture(name: &str) -> (Vec<u8>, u32) {
    let (_, page, facts) = corpus().into_iter().find(|c| c.0 == name).expect("a capture");
    (page, pid_of(&facts))
}

fn pid_of(facts: &Json) -> u32 {
    u32::try_from(facts["pid"].as_u64().expect("a pid")).expect("a pid")
}

#[test]
fn all_captures_have_the_figures_of_their_facts() {
    for (name, page, facts) in corpus() {
        let pid = pid_of(&facts);
        let mut meter = Meter::new(seat(pid), Access::Open);
        let mut seen = recorded();
        meter.start(&mut seen);
        meter.read_in(Order::Little, &page, &mut seen).expect("a page");
        let counters = &facts["counters"];
        for (item, field) in [
            (m::RUNTIME_THROWN, "exceptions_thrown"),
            (m::EXCEPTIONS, "exceptions_thrown"),
            (m::RUNTIME_FILTERS, "exceptions_filters"),
            (m::RUNTIME_FINALLYS, "exceptions_finallys"),
            (m::RUNTIME_GC0, "gc_collections0"),
            (m::RUNTIME_GC1, "gc_collections1"),
            (m::RUNTIME_JIT_METHODS, "jit_methods"),
            (m::JIT_METHODS, "jit_methods"),
            (m::RUNTIME_JIT_BYTES, "jit_bytes"),
            (m::RUNTIME_CONTENTIONS, "thread_contentions"),
            (m::RUNTIME_POOL_COMPLETED, "threadpool_workitems"),
            (m::POOL_COMPLETED, "threadpool_workitems"),
            (m::RUNTIME_POOL_THREADS, "threadpool_threads"),
            (m::POOL_THREADS, "threadpool_threads"),
            (m::RUNTIME_APPDOMAINS, "loader_appdomains"),
            (m::RUNTIME_APPDOMAINS_TOTAL, "loader_total_appdomains"),
            (m::RUNTIME_HANDLES, "gc_num_handles"),
            (m::RUNTIME_SYNC_BLOCKS, "gc_sync_blocks"),
            (m::RUNTIME_LOADER_BYTES, "loader_bytes"),
        ] {
            assert_eq!(seen.number(item), counters[field].as_u64(), "{name} {field}");
        }
        // What the program itself counted.
        let truth = &facts["truth"];
        let of = |key: &str| truth[key].as_u64();
        if let Some(thrown) = of("thrown_objects") {
            let rethrown = of("rethrown").expect("a number");
            assert_eq!(seen.number(m::EXCEPTIONS), Some(thrown + rethrown + 1));
            assert_eq!(seen.number(m::RUNTIME_FINALLYS), of("finallys"));
            assert_eq!(seen.number(m::RUNTIME_FILTERS), of("filtered"));
        }
        if let Some(items) = of("items") {
            assert_eq!(seen.number(m::POOL_COMPLETED), Some(items));
        }
        assert_eq!(seen.number(m::RUNTIME_GC0), of("gc0"), "{name}");
        assert_eq!(seen.number(m::RUNTIME_GC1), of("gc1"), "{name}");
        assert_eq!(text(&seen, m::OWNER), "www-data");
        assert_eq!((seen.number(m::STATE), text(&seen, m::VIA)), (Some(0), "area".to_owned()));
        let user = facts["categories"].as_object().expect("categories");
        let values: usize =
            user.values().map(|c| c["values"].as_object().map_or(0, |v| v.len())).sum();
        assert_eq!(seen.log().metrics.len(), values, "{name}");
        // Nothing has changed.
        let before = seen.log().updates;
        meter.read_in(Order::Little, &page, &mut seen).expect("a page");
        assert_eq!((seen.log().updates, seen.log().messages), (before + 1, 2));
    }
}

#[test]
fn counters_of_programs() {
    let (page, pid) = capture("shm-counters");
    let mut meter = Meter::new(seat(pid), Access::Open);
    let mut seen = recorded();
    meter.read_in(Order::Little, &page, &mut seen).expect("a page");
    let value = |path: &str| own(&seen, path);
    assert_eq!(value("perfcounters.shop_orders_done"), Some(Value::I64(70)));
    assert_eq!(value("perfcounters.shop_orders_per_second"), Some(Value::U64(10)));
    assert_eq!(value("perfcounters.shop_queue_depth"), Some(Value::I64(2)));
    assert!(seen.log().specs.values().any(|spec| spec.key == "PerfCounters/Shop/orders done"));
    let (page, pid) = capture("shm12-instances");
    let mut meter = Meter::new(seat(pid), Access::Open);
    let mut seen = recorded();
    meter.read_in(Order::Little, &page, &mut seen).expect("a page");
    // 10 of north and 200 of south: Mono adds them up.
    assert_eq!(own(&seen, "perfcounters.cache_hits"), Some(Value::I64(210)));
    // The program removes the category: the type of each stanza becomes D.
    let mut at = usize::from(u16::from_le_bytes([page[24], page[25]]));
    let mut removed = page.clone();
    while removed[at] != 0 {
        removed[at] = b'D';
        at += usize::from(u16::from_le_bytes([removed[at + 2], removed[at + 3]]));
    }
    meter.read_in(Order::Little, &removed, &mut seen).expect("a page");
    assert!(seen.log().metrics.is_empty());
    meter.read_in(Order::Little, &page, &mut seen).expect("a page");
    assert_eq!((seen.log().metrics.len(), seen.log().specs.len()), (2, 2));
}

/// A page of a layout, with all fields of 32 bits at `value` and no categories.
fn made(size: u16, pid: u32, value: u32) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &4096u32.to_le_bytes());
    put(4, &pid.to_le_bytes());
    put(16, &4096u32.to_le_bytes());
    put(20, &32u16.to_le_bytes());
    put(22, &size.to_le_bytes());
    put(24, &(32 + size).to_le_bytes());
    for at in (32..32 + usize::from(size)).step_by(4) {
        put(at, &value.to_le_bytes());
    }
    page
}

#[test]
fn counters_of_32_bits_go_on_when_they_wrap() {
    let mut meter = Meter::new(seat(9), Access::Open);
    let mut seen = recorded();
    for value in [u32::MAX - 1, 3, 2] {
        meter.read_in(Order::Little, &made(296, 9, value), &mut seen).expect("a page");
    }
    let wraps = 1u64 << 32;
    assert_eq!(seen.number(m::RUNTIME_GC0), Some(2 * wraps + 2));
    assert_eq!(seen.number(m::EXCEPTIONS), Some(2 * wraps + 2));
    // What goes up and down does not.
    assert_eq!(seen.number(m::RUNTIME_SYNC_BLOCKS), Some(2));
}

#[test]
fn layouts_are_told_apart_by_their_size() {
    let mut page = made(264, 9, 0);
    // The positions of tools/mono/shm.py, counted from 32.
    for (at, value) in [(180, 11u32), (256, 12), (152, 13), (84, 14), (116, 15), (172, 16)] {
        page[32 + at..32 + at + 4].copy_from_slice(&value.to_le_bytes());
    }
    page[32 + 240..32 + 248].copy_from_slice(&17u64.to_le_bytes());
    let (read, _) = figures(&page, Order::Little, 9).expect("an early page");
    let expected = Figures {
        contentions: 11,
        pool_threads: 12,
        appdomains: 13,
        handles_created: 14,
        sync_blocks: 15,
        loader_bytes: 16,
        pool_completed: 17,
        ..Figures::default()
    };
    assert_eq!(read, expected);
    for size in [0, 32, 263, 265, 292, 295, 297, 4000, u16::MAX] {
        let page = made(size.min(4000), 9, 1);
        let mut page = page;
        page[22..24].copy_from_slice(&size.to_le_bytes());
        assert_eq!(figures(&page, Order::Little, 9), Err(Refusal::Layout(size)));
    }
    assert_eq!(figures(&made(296, 9, 1), Order::Little, 8), Err(Refusal::Other(9)));
    assert_eq!(figures(&[0; PAGE], Order::Little, 0), Err(Refusal::NoArea));
    // Of a host of the other byte order.
    assert_eq!(figures(&made(296, 9, 1), Order::Big, 9), Err(Refusal::NoArea));
}

#[test]
fn pages_of_the_other_byte_order() {
    let mut page = made(296, 9, 5);
    for (at, size) in [(0, 4), (4, 4), (16, 4), (20, 2), (22, 2), (24, 2)] {
        page[at..at + size].reverse();
    }
    page[32..328].chunks_exact_mut(4).for_each(<[u8]>::reverse);
    let (read, data) = figures(&page, Order::Big, 9).expect("a page");
    assert_eq!((read.exceptions_thrown, data), (5, 328));
}

#[test]
fn any_page_is_read_or_refused() {
    let (page, pid) = capture("shm-counters");
    let read = |bytes: &[u8]| {
        let mut meter = Meter::new(seat(pid), Access::Open);
        let mut seen = recorded();
        let _ = meter.read_in(Order::Little, bytes, &mut seen);
        assert!(seen.log().metrics.len() < 600 && meter.heap_size() < 64 << 10);
    };
    for end in 0..=700 {
        read(&page[..end]);
    }
    for at in 0..700 {
        for change in [1, 0x80, 0xFF] {
            let mut bad = page.clone();
            bad[at] ^= change;
            read(&bad);
        }
    }
    // Stanzas one after another up to the end, all the same.
    for stanza in [b'C', b'I', b'D', b'P', 0xFF] {
        for length in [8u16, 16, 4088, u16::MAX] {
            let mut bad = made(296, pid, 1);
            for at in (328..PAGE - 8).step_by(8) {
                bad[at] = stanza;
                bad[at + 2..at + 4].copy_from_slice(&length.to_le_bytes());
                bad[at + 4..at + 8].copy_from_slice(&328u32.to_le_bytes());
            }
            read(&bad);
        }
    }
}

#[test]
fn a_stream_of_the_process_feeds_what_both_have() {
    let processes = Processes::new(Arc::new(NoHost));
    let (page, pid) = capture("shm-exc");
    let mut meter = Meter::new(processes.seat(Way::Area, facts(4000, pid)), Access::Open);
    let mut seen = recorded();
    meter.start(&mut seen);
    meter.read_in(Order::Little, &page, &mut seen).expect("a page");
    assert_eq!(seen.number(m::EXCEPTIONS), Some(471));
    let stream = processes.seat(Way::Stream, facts(4000, pid));
    assert!(stream.feeds(Share::Exceptions));
    seen.log_mut().values.clear();
    let mut more = page.clone();
    more[32 + 16] = more[32 + 16].wrapping_add(1);
    meter.read_in(Order::Little, &more, &mut seen).expect("a page");
    meter.tick(&mut seen);
    assert_eq!((seen.number(m::EXCEPTIONS), seen.number(m::RUNTIME_THROWN)), (None, Some(472)));
    assert_eq!((text(&seen, m::VIA).as_str(), seen.number(m::STATE)), ("stream,area", Some(3)));
    drop(stream);
    seen.log_mut().values.remove(&m::STATE);
    meter.read_in(Order::Little, &more, &mut seen).expect("a page");
    meter.tick(&mut seen);
    assert_eq!(seen.number(m::EXCEPTIONS), Some(472));
    assert_eq!((text(&seen, m::VIA).as_str(), seen.number(m::STATE)), ("area", None));
}

#[test]
fn a_process_that_cannot_be_read_is_listed_with_the_reason() {
    let mut meter = Meter::new(seat(9), Access::denied("www-data"));
    let mut seen = recorded();
    meter.start(&mut seen);
    assert_eq!((seen.number(m::STATE), text(&seen, m::VIA)), (Some(1), String::new()));
    assert!(text(&seen, m::REASON).starts_with("only user www-data and the group"));
    meter.access(Access::refused(Refusal::Layout(292)));
    meter.tick(&mut seen);
    assert_eq!(seen.number(m::STATE), Some(5));
    assert!(text(&seen, m::REASON).contains("(292 bytes of counters)"));
    meter.access(Access::Open);
    meter.tick(&mut seen);
    assert_eq!((seen.number(m::STATE), text(&seen, m::REASON)), (Some(0), String::new()));
    assert_eq!(text(&seen, m::VIA), "area");
}

#[test]
fn states_go_from_found_to_gone() {
    let processes = Processes::new(Arc::new(NoHost));
    let (page, pid) = capture("shm-exc");
    let mut meter = Meter::new(processes.seat(Way::Area, facts(4000, pid)), Access::Open);
    let mut seen = recorded();
    meter.start(&mut seen);
    assert_eq!(seen.number(m::STATE), Some(0));
    meter.read_in(Order::Little, &page, &mut seen).expect("a page");
    meter.tick(&mut seen);
    assert_eq!((seen.number(m::STATE), text(&seen, m::REASON)), (Some(3), String::new()));
    // What cannot be read beside a module that is read is told, and is no state.
    let module = processes.seat(Way::Module, facts(4000, pid));
    module.stage(Stage::Reading);
    meter.access(Access::denied("www-data"));
    meter.tick(&mut seen);
    assert_eq!(seen.number(m::STATE), Some(3));
    assert!(text(&seen, m::REASON).starts_with("only user"));
    // The area is not read any more, and the module is.
    meter.end(false, "mono.discover is false", &mut seen);
    assert_eq!(seen.number(m::STATE), Some(3));
    meter.end(true, "the process has ended", &mut seen);
    let ended = "the process has ended".to_owned();
    assert_eq!((seen.number(m::STATE), text(&seen, m::REASON)), (Some(6), ended));
    assert_eq!(module.look().1, Stage::Gone);
}

#[test]
fn sums_of_a_program_have_a_process_once() {
    let processes = Processes::new(Arc::new(NoHost));
    let rows = |meter: &mut Meter, value: u32| {
        let mut seen = recorded();
        meter.read_in(Order::Little, &made(296, 9, value), &mut seen).expect("a page");
        [m::PROGRAM_EXCEPTIONS, m::PROGRAM_GC_COUNT]
            .map(|item| seen.rows(item).into_values().reduce(|a, b| a + b))
    };
    let area = |older| {
        let facts = Facts { older, start: 7 + u64::from(older), ..facts(4000, 9) };
        Meter::new(processes.seat(Way::Area, facts), Access::Open)
    };
    let mut young = area(false);
    // All fields of the page have the value: two generations.
    assert_eq!(rows(&mut young, 5), [Some(5), Some(10)]);
    assert_eq!(rows(&mut young, 5), [None, None]);
    // Its stream has some of it, then more.
    let stream = processes.seat(Way::Stream, facts(4000, 9)).tally();
    assert_eq!(stream.of_stream(Sum::Exceptions, 4), 0);
    assert_eq!(stream.of_stream(Sum::Exceptions, 8), 3);
    assert_eq!(rows(&mut young, 9), [Some(1), Some(8)]);
    // The area is found anew.
    drop(young);
    assert_eq!(rows(&mut area(false), 10), [Some(1), Some(2)]);
    // What a process did before the PMDA began is not counted.
    let mut old = area(true);
    assert_eq!(rows(&mut old, 100), [None, None]);
    assert_eq!(rows(&mut old, 101), [Some(1), Some(2)]);
}
