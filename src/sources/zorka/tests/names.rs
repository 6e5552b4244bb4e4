use super::*;

fn names() -> Names {
    Names::new(&Arc::default())
}

#[test]
fn symbols_and_methods_are_found_and_go_with_a_reset() {
    let mut names = names();
    names.define_symbol(0, b"");
    names.define_symbol(7, b"com.x.A");
    names.define_symbol(u32::MAX, b"run");
    names.define_symbol(9, b"caf\xe9");
    names.define_method(1, 7, u32::MAX, 0);
    assert_eq!(names.symbol(0), Some(""));
    assert_eq!((names.symbol(7), names.symbol(u32::MAX)), (Some("com.x.A"), Some("run")));
    assert_eq!((names.symbol(9), names.symbol(8)), (Some("caf\u{fffd}"), None));
    let method = Method { class: 7, name: u32::MAX, signature: 0, slot: UNBOUND };
    assert_eq!(names.method(1).copied(), Some(method));
    assert_eq!((names.get_method(2), names.symbols(), names.methods()), (None, 4, 1));
    names.reset();
    assert_eq!((names.symbol(7), names.get_method(1), names.symbols()), (None, None, 0));
}

#[test]
fn repeated_definitions_change_nothing_and_new_names_unbind() {
    let mut names = names();
    names.define_symbol(1, b"a");
    names.define_method(1, 1, 2, 0);
    names.method(1).unwrap().slot = 5;
    let before = names.heap_size();
    for _ in 0..1000 {
        names.define_symbol(1, b"a");
        names.define_method(1, 1, 2, 0);
    }
    names.settle();
    assert_eq!((names.heap_size(), names.method(1).unwrap().slot), (before, 5));
    names.define_symbol(2, b"late");
    names.settle();
    assert_eq!(names.method(1).unwrap().slot, UNBOUND, "its symbol has come");
    names.method(1).unwrap().slot = 5;
    names.define_symbol(1, b"other");
    names.settle();
    assert_eq!(names.method(1).unwrap().slot, UNBOUND);
    names.method(1).unwrap().slot = 5;
    names.define_method(1, 2, 2, 0);
    assert_eq!(names.method(1).unwrap().slot, UNBOUND);
}

#[test]
fn texts_are_bounded_and_redefinitions_do_not_add_up() {
    let mut names = names();
    let long = "\u{e9}".repeat(SYMBOL_TEXT);
    names.define_symbol(1, long.as_bytes());
    assert_eq!(names.symbol(1).map(str::len), Some(SYMBOL_TEXT));
    names.define_symbol(2, b"stays");
    for n in 0..1000 {
        names.define_symbol(1, format!("{n}{long}").as_bytes());
    }
    assert!(names.heap_size() < 8 * SYMBOL_TEXT, "{}", names.heap_size());
    assert_eq!((names.symbol(2), names.symbols()), (Some("stays"), 2));
    assert!(names.symbol(1).unwrap().starts_with("999\u{e9}"));
    for id in 0..small(2 * SYMBOL_BYTES / SYMBOL_TEXT) {
        names.define_symbol(100 + id, format!("{id}{long}").as_bytes());
    }
    assert!(names.rejected() > 0 && names.heap_size() <= 2 * SYMBOL_BYTES + (1 << 20));
}

#[test]
fn the_number_of_names_is_bounded() {
    let mut names = names();
    for id in 0..small(SYMBOLS) + 10 {
        names.define_symbol(id.wrapping_mul(0x9e37_79b1), b"");
    }
    assert_eq!((names.symbols(), names.rejected()), (SYMBOLS, 10));
}

#[test]
fn names_are_charged_to_the_budget() {
    let memory = Arc::new(Memory::default());
    memory.set_limits(1 << 20, 0, 1 << 20);
    let mut names = Names::new(&memory);
    for id in 0..100_000 {
        names.define_symbol(id, &[b'x'; 50]);
    }
    assert!(names.rejected() > 90_000 && names.symbols() > 1000, "{}", names.symbols());
    assert!(memory.held(Purpose::Definitions) >= names.heap_size());
    assert!(memory.used() < 2 << 20);
    names.reset();
    assert_eq!(memory.used(), 0);
}

#[test]
fn dense_and_sparse_ids_are_found() {
    let mut ids = ById::default();
    for id in (0..1000).chain([u32::MAX, u32::MAX - 1, 1 << 20, 5000, 4000]) {
        assert_eq!(ids.get(id), None);
        ids.add(id, id);
        assert_eq!(ids.get(id), Some(&id));
    }
    assert!((0..1000).chain([u32::MAX, 5000, 4000]).all(|id| ids.get(id) == Some(&id)));
    assert_eq!((ids.len(), ids.get(1001), ids.get(1 << 21)), (1005, None, None));
    *ids.get_mut(u32::MAX).unwrap() = 7;
    assert_eq!(ids.get(u32::MAX), Some(&7));
}

#[test]
fn what_is_allocated_follows_the_number_of_values() {
    let mut ids = ById::default();
    for n in 0..10_000_u32 {
        ids.add(n.wrapping_mul(0x9e37_79b1), n);
    }
    assert!(ids.heap_size() < 10_000 * 100, "{}", ids.heap_size());
    let mut ids = ById::default();
    (0..1000_u32).for_each(|n| ids.add(u32::MAX - n, n));
    assert!(ids.heap_size() < 1000 * 100, "{}", ids.heap_size());
}
