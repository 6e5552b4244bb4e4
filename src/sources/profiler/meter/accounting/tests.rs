use std::collections::BTreeMap;

use super::*;
use crate::sources::profiler::dictionary::interner::Interner;
use crate::sources::profiler::streams::scan::Text;

#[test]
fn buckets_hold_their_lower_ends() {
    for (ms, name) in [
        (0, "0-1"),
        (1, "1-2"),
        (2, "2-5"),
        (9, "5-10"),
        (10, "10-20"),
        (99_999, "50000-100000"),
        (u64::MAX, "100000-inf"),
    ] {
        assert_eq!(m::buckets()[bucket_of(&m::EDGES, ms)], name, "{ms}");
    }
}

/// Calls by row.
#[derive(Default)]
struct Rows(BTreeMap<u32, String>, BTreeMap<String, u64>);

impl Sink for Rows {
    fn update(&mut self, update: Update<'_>) {
        match update {
            Update::Row { table: m::METHODS, slot, key } => {
                drop(self.0.insert(slot, key.unwrap_or("other").into()))
            }
            Update::RowCount { slot, item: m::METHOD_COUNT, more } => {
                let key = self.0.get(&slot).cloned().unwrap_or_else(|| "other".into());
                *self.1.entry(key).or_default() += more;
            }
            _ => {}
        }
    }
}

#[test]
fn sums_wait_for_the_name_and_only_then_belong_to_the_rest() {
    let (mut methods, mut rows) = (RootMethods::default(), Rows::default());
    let mut words = Dictionary::new(Arc::new(Interner::new(1 << 20)));
    let second = Duration::from_secs;
    for id in [1, 2, 3, 2] {
        methods.add(id, &[5, 1, 0, 0, 0], second(0), &words, &mut rows);
    }
    methods.report(&mut rows);
    assert!(rows.1.is_empty(), "{:?}", rows.1);
    words.put(Some(2), Text::new(&[0, b'b'], 1));
    methods.word(2, words.get(2).map(|w| &**w), &mut rows);
    methods.word(3, None, &mut rows);
    methods.add(2, &[5, 1, 0, 0, 0], second(1), &words, &mut rows);
    methods.expire(second(10), false);
    methods.report(&mut rows);
    assert_eq!(rows.1, [("b".to_owned(), 3), ("other".to_owned(), 1)].into());
    assert_eq!((methods.name(2), methods.name(1)), (Some("b"), None));
    methods.expire(second(11), false);
    methods.report(&mut rows);
    assert_eq!(rows.1["other"], 2);
    for id in 100..10_000 {
        methods.add(id, &[0, 1, 0, 0, 0], second(0), &words, &mut rows);
    }
    assert_eq!(methods.unnamed.len(), limits::UNNAMED);
    methods.reset_dictionary();
    methods.report(&mut rows);
    assert_eq!((rows.1["other"], methods.unnamed.len()), (2 + 9900, 0));
}
