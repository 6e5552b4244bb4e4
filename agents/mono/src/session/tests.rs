//! The protocol against a few counters whose values the test sets.

use super::*;
use mono_counters::numbers::{kind, unit, variance};

use crate::catalogue::Pattern;

/// Counters whose values are set by hand.
struct Fake {
    descriptions: Vec<Counter>,
    values: Vec<Vec<u8>>,
}

impl Fake {
    /// Pid, Cmd (ours); Minor, Major (GC), Methods (JIT).
    fn new() -> Self {
        let counter = |section, name: &str, kind, variance| Counter {
            section,
            name: name.to_owned(),
            kind,
            unit: unit::RAW,
            variance,
        };
        Self {
            descriptions: vec![
                counter(0x4000, "Pid", kind::INT, variance::CONSTANT),
                counter(0x2000, "Cmd", kind::STRING, variance::CONSTANT),
                counter(0x200, "Minor", kind::INT, 1 << 28),
                counter(0x200, "Major", kind::INT, 1 << 28),
                counter(0x100, "Methods", kind::INT, 1 << 28),
            ],
            values: vec![vec![7; 4], b"mono x\0".to_vec(), vec![0; 4], vec![0; 4], vec![9; 4]],
        }
    }
}

impl Counters for Fake {
    fn descriptions(&self) -> &[Counter] {
        &self.descriptions
    }

    fn read(&mut self, id: usize, into: &mut [u8; LONGEST_VALUE]) -> usize {
        let value = &self.values[id];
        into[..value.len()].copy_from_slice(value);
        value.len()
    }
}

fn only(items: &[&str]) -> Selection {
    Selection::Only(items.iter().map(|item| Pattern::parse(item).unwrap()).collect())
}

fn open(fake: &Fake, selection: &Selection) -> (Session, Vec<u8>) {
    let mut out = Vec::new();
    let session = Session::open(fake, selection, 2, &mut out);
    (session, out)
}

fn add(name: &str, category: &str) -> Request {
    Request::Add { name: Some(name.to_owned()), category: Some(category.to_owned()) }
}

/// The reply to a request that does not close the connection.
fn reply(session: &mut Session, fake: &Fake, request: &Request) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(session.answer(request, fake, &mut out), Next::Continue);
    out
}

/// Indexes and values of the next sample.
fn sample(session: &mut Session, fake: &mut Fake) -> Vec<(i16, Vec<u8>)> {
    let mut out = Vec::new();
    session.sample(fake, 5, &mut out);
    assert_eq!(out[0], 4);
    assert_eq!(out[1..9], 5_i64.to_ne_bytes());
    let mut values = Vec::new();
    let mut rest = &out[9..];
    loop {
        let index = i16::from_ne_bytes([rest[0], rest[1]]);
        if index == -1 {
            assert_eq!(rest.len(), 2);
            return values;
        }
        let size = usize::try_from(i16::from_ne_bytes([rest[2], rest[3]])).unwrap();
        values.push((index, rest[4..4 + size].to_vec()));
        rest = &rest[4 + size..];
    }
}

fn indexes(values: &[(i16, Vec<u8>)]) -> Vec<i16> {
    values.iter().map(|(index, _)| *index).collect()
}

#[test]
fn hello_has_ours_first_and_then_the_selection() {
    let mut fake = Fake::new();
    let headers = |ids: &[usize]| {
        let mut out = Vec::new();
        let list = (0..).zip(ids.iter().map(|id| &fake.descriptions[*id]));
        wire::hello(&mut out, list.collect::<Vec<_>>().into_iter());
        out
    };
    assert_eq!(open(&fake, &Selection::All).1, headers(&[0, 1, 2, 3, 4]));
    assert_eq!(open(&fake, &only(&[])).1, headers(&[0, 1]));
    assert_eq!(open(&fake, &only(&["gc/*"])).1, headers(&[0, 1, 2, 3]));
    let (mut session, hello) = open(&fake, &only(&["JIT/Methods", "System/Pid"]));
    assert_eq!(hello, headers(&[0, 1, 4]));
    assert_eq!(
        sample(&mut session, &mut fake),
        [(0, vec![7; 4]), (1, b"mono x\0".to_vec()), (2, vec![9; 4]),]
    );
}

#[test]
fn only_changed_values_are_sent() {
    let mut fake = Fake::new();
    let (mut session, _) = open(&fake, &Selection::All);
    assert_eq!(indexes(&sample(&mut session, &mut fake)), [0, 1, 2, 3, 4]);
    assert_eq!(sample(&mut session, &mut fake), []);
    fake.values[3] = vec![1, 0, 0, 0];
    assert_eq!(sample(&mut session, &mut fake), [(3, vec![1, 0, 0, 0])]);
    fake.values[3] = vec![0; 4];
    assert_eq!(sample(&mut session, &mut fake), [(3, vec![0; 4])]);
    let (mut fresh, _) = open(&fake, &Selection::All);
    assert_eq!(indexes(&sample(&mut fresh, &mut fake)).len(), 5);
}

#[test]
fn a_counter_without_a_value_waits_for_one() {
    let mut fake = Fake::new();
    fake.values[2].clear();
    let (mut session, _) = open(&fake, &Selection::All);
    assert_eq!(indexes(&sample(&mut session, &mut fake)), [0, 1, 3, 4]);
    fake.values[2] = vec![0; 4];
    assert_eq!(indexes(&sample(&mut session, &mut fake)), [2]);
    fake.values[2].clear();
    assert_eq!(sample(&mut session, &mut fake), []);
}

#[test]
fn list_names_all_counters_whatever_is_selected() {
    let fake = Fake::new();
    let (mut session, _) = open(&fake, &only(&[]));
    let mut expected = Vec::new();
    wire::list(&mut expected, &fake.descriptions);
    assert_eq!(reply(&mut session, &fake, &Request::List), expected);
}

#[test]
fn add_gives_every_status() {
    let mut fake = Fake::new();
    let (mut session, _) = open(&fake, &only(&["GC/Minor"]));
    sample(&mut session, &mut fake);
    let mut header = Vec::new();
    wire::added(&mut header, 3, &fake.descriptions[3]);
    assert_eq!(reply(&mut session, &fake, &add("Major", "mono gc")), header);
    assert_eq!(reply(&mut session, &fake, &add("Major", "GC")), [2, 3]);
    assert_eq!(reply(&mut session, &fake, &add("Minor", "GC")), [2, 3]);
    assert_eq!(reply(&mut session, &fake, &add("Pid", "System")), [2, 3]);
    assert_eq!(reply(&mut session, &fake, &add("Major", "JIT")), [2, 2]);
    assert_eq!(reply(&mut session, &fake, &add("Major", "Widgets")), [2, 2]);
    assert_eq!(reply(&mut session, &fake, &add("", "")), [2, 2]);
    let null = Request::Add { name: None, category: Some("GC".to_owned()) };
    assert_eq!(reply(&mut session, &fake, &null), [2, 1]);
    assert_eq!(indexes(&sample(&mut session, &mut fake)), [3]);
}

#[test]
fn a_counter_that_appeared_late_can_be_added() {
    let mut fake = Fake::new();
    let (mut session, _) = open(&fake, &Selection::All);
    sample(&mut session, &mut fake);
    let mut late = fake.descriptions[4].clone();
    late.name = "Late".to_owned();
    fake.descriptions.push(late);
    fake.values.push(vec![1; 4]);
    assert_eq!(sample(&mut session, &mut fake), []);
    assert_eq!(reply(&mut session, &fake, &add("Late", "JIT"))[..2], [2, 0]);
    assert_eq!(sample(&mut session, &mut fake), [(5, vec![1; 4])]);
}

#[test]
fn a_removed_index_never_comes_back() {
    let mut fake = Fake::new();
    let (mut session, _) = open(&fake, &only(&["GC/Minor"]));
    sample(&mut session, &mut fake);
    assert_eq!(reply(&mut session, &fake, &Request::Remove { index: 2 }), [3, 0]);
    assert_eq!(reply(&mut session, &fake, &Request::Remove { index: 2 }), [3, 2]);
    assert_eq!(reply(&mut session, &fake, &Request::Remove { index: 999 }), [3, 2]);
    assert_eq!(sample(&mut session, &mut fake), []);
    reply(&mut session, &fake, &add("Minor", "GC"));
    assert_eq!(indexes(&sample(&mut session, &mut fake)), [3]);
    assert_eq!(reply(&mut session, &fake, &Request::Remove { index: -1 }), [3, 0]);
    assert_eq!(sample(&mut session, &mut fake), []);
    reply(&mut session, &fake, &add("Pid", "System"));
    assert_eq!(indexes(&sample(&mut session, &mut fake)), [4]);
}

#[test]
fn remove_all_includes_ours_and_leaves_empty_samples_of_eleven_bytes() {
    let mut fake = Fake::new();
    let (mut session, _) = open(&fake, &Selection::All);
    reply(&mut session, &fake, &Request::Remove { index: -1 });
    let mut out = Vec::new();
    session.sample(&mut fake, 0, &mut out);
    assert_eq!(out.len(), 11);
}

#[test]
fn the_connection_ends_with_good_bye_and_long_before_indexes_run_out() {
    let fake = Fake::new();
    let (mut session, _) = open(&fake, &only(&[]));
    let mut out = Vec::new();
    assert_eq!(session.answer(&Request::GoodBye, &fake, &mut out), Next::Close);
    assert!(out.is_empty());
    for index in 2..INDEXES {
        reply(&mut session, &fake, &add("Minor", "GC"));
        assert_eq!(reply(&mut session, &fake, &Request::Remove { index }), [3, 0]);
    }
    assert_eq!(session.answer(&add("Minor", "GC"), &fake, &mut out), Next::Close);
    assert!(out.is_empty());
}

#[test]
fn more_counters_than_indexes_are_cut_off() {
    let mut fake = Fake::new();
    let one = fake.descriptions[2].clone();
    fake.descriptions.resize(40_000, one);
    let (session, hello) = open(&fake, &Selection::All);
    assert_eq!(hello[3..5], INDEXES.to_ne_bytes());
    assert_eq!(session.selected.len(), usize::try_from(INDEXES).unwrap());
}
