use super::*;

fn put(words: &mut Dictionary, id: Option<u32>, word: &str) -> (u32, bool) {
    let bytes: Vec<u8> = word.encode_utf16().flat_map(u16::to_be_bytes).collect();
    words.put(id, Text::new(&bytes, bytes.len() as u32 / 2))
}

#[test]
fn ids_run_from_0_and_an_empty_word_has_one() {
    let interner = Arc::new(Interner::new(1 << 20));
    let mut words = Dictionary::new(Arc::clone(&interner));
    for (n, word) in ["call.info", "", "call.red", "日本🦀"].into_iter().enumerate() {
        assert_eq!(put(&mut words, None, word), (n as u32, true));
        assert_eq!(words.get(n as u32).map(|w| &**w), Some(word));
    }
    assert_eq!(
        (words.len(), words.id_of(KnownWord::Red), words.id_of(KnownWord::Idle)),
        (4, Some(2), None)
    );
    assert_eq!(put(&mut words, Some(2), "call.idle"), (2, true));
    assert_eq!(
        (words.len(), words.id_of(KnownWord::Red), words.id_of(KnownWord::Idle)),
        (4, None, Some(2))
    );
    words.reset();
    assert_eq!((words.len(), words.get(0), words.id_of(KnownWord::Idle)), (0, None, None));
    assert_eq!(put(&mut words, None, "again"), (0, true));
    drop(words);
    assert!(interner.charge((1 << 20) - 5 * 100), "slots were given back");
}

#[test]
fn ids_and_words_are_bounded() {
    let interner = Arc::new(Interner::new(64 << 20));
    let mut words = Dictionary::new(interner);
    assert_eq!(put(&mut words, Some(limits::WORDS as u32), "x"), (limits::WORDS as u32, false));
    assert_eq!(put(&mut words, Some(u32::MAX), "x"), (u32::MAX, false));
    assert!(put(&mut words, Some(limits::WORDS as u32 - 1), "x").1);
    assert_eq!((words.rejected(), words.len()), (2, 1));
    let long = "y".repeat(8000);
    let taken = (0..3000).filter(|n| put(&mut words, None, &format!("{n}{long}")).1).count();
    assert!((2000..2100).contains(&taken) && words.bytes() <= limits::POD_TEXT, "{taken}");
}

#[test]
fn one_sparse_word_does_not_take_the_room_of_all() {
    let interner = Arc::new(Interner::new(limits::WORDS * SLOT / 2));
    let mut words = Dictionary::new(Arc::clone(&interner));
    assert!(!put(&mut words, Some(limits::WORDS as u32 - 1), "x").1);
    assert!(put(&mut words, Some(5), "x").1);
    assert!(interner.bytes() < 10_000);
}

#[test]
fn pods_at_rest_share_slots_until_a_word_comes() {
    let interner = Arc::new(Interner::new(1 << 20));
    let dictionary = |last: &str| {
        let mut words = Dictionary::new(Arc::clone(&interner));
        (0..1000).for_each(|n| assert!(put(&mut words, None, &format!("word {n}")).1));
        assert!(put(&mut words, Some(1003), last).1);
        words
    };
    let mut pods: Vec<_> = (0..20).map(|_| dictionary("call.red")).collect();
    let awake = interner.bytes();
    pods.push(dictionary("call.idle"));
    let slots = interner.bytes() - awake;
    let all = |words: &Dictionary| {
        words.iter().map(|(id, word)| (id, Arc::clone(word))).collect::<Vec<_>>()
    };
    let before: Vec<_> = pods.iter().map(all).collect();
    pods.iter_mut().for_each(Dictionary::rest);
    assert_eq!(interner.pieces(), 1004_usize.div_ceil(PIECE) + 1);
    assert!(interner.bytes() < awake - 18 * slots, "{} of {awake}", interner.bytes());
    for (words, before) in pods.iter_mut().zip(&before) {
        assert_eq!((all(words), words.len()), (before.clone(), 1001));
        assert_eq!(words.get(1000), None);
        assert_eq!(words.get(1004), None);
        assert_eq!(words.get(5000), None);
    }
    let (red, idle) = (KnownWord::Red, KnownWord::Idle);
    assert_eq!((pods[19].id_of(red), pods[20].id_of(idle)), (Some(1003), Some(1003)));
    // A word that comes is the pod's own.
    assert_eq!(put(&mut pods[3], None, "late"), (1000, true));
    assert_eq!(pods[3].get(1000).map(|w| &**w), Some("late"));
    assert_eq!((pods[4].get(1000), pods[3].len(), pods[4].len()), (None, 1002, 1001));
    assert_eq!((0..1000).filter(|id| pods[3].get(*id) == pods[4].get(*id)).count(), 1000);
    pods[5].reset();
    assert_eq!((pods[5].get(0), pods[5].len()), (None, 0));
    pods[3].rest();
    pods[3].rest();
    assert_eq!(interner.pieces(), 1004_usize.div_ceil(PIECE) + 2);
    drop(pods);
    assert_eq!(interner.pieces(), 0);
    assert!(interner.charge((1 << 20) - 1002 * 100), "all was given back: {}", interner.bytes());
}

#[test]
fn without_room_a_dictionary_stays_as_it_is() {
    let mut pods = Vec::new();
    let interner = Arc::new(Interner::new(5 * STEP * SLOT));
    for n in 0..4 {
        let mut words = Dictionary::new(Arc::clone(&interner));
        (0..4).for_each(|m| assert!(put(&mut words, None, &format!("{n} {m}")).1));
        pods.push(words);
    }
    let full = 5 * STEP * SLOT - interner.bytes();
    assert!(interner.charge(full));
    pods[0].rest();
    assert_eq!((interner.pieces(), pods[0].get(3).map(|w| &**w)), (0, Some("0 3")));
    interner.release(full);
    pods[0].rest();
    assert!(interner.charge(5 * STEP * SLOT - interner.bytes()));
    assert_eq!((interner.pieces(), put(&mut pods[0], None, "0 4")), (1, (4, false)));
    assert_eq!((pods[0].get(3).map(|w| &**w), pods[0].get(4)), (Some("0 3"), None));
}
