use super::*;
use crate::{Records, Scalar};

#[test]
fn what_is_larger_than_a_record_is_cut_and_counted() {
    let mut batch = Batch::default();
    batch.text(Pmid(1), "no record to belong to");
    batch.record(Stamp::default(), 1 | MISSED);
    batch.text(Pmid(1), "\u{e9}".repeat(RECORD_MAX).as_str());
    batch.number(Pmid(2), ValueType::U64, 7);
    batch.record(Stamp::default(), 1);
    batch.text(Pmid(3), &"y".repeat(RECORD_MAX / 2 + 1));
    batch.number(Pmid(4), ValueType::U32, 8);
    batch.seal();
    let records: Vec<_> =
        Records::<HighRes>::packed(&batch.bytes).collect::<Result<_, _>>().expect("sound");
    assert_eq!(records.iter().map(|r| r.flags).collect::<Vec<_>>(), [1, 1]);
    let Scalar::Text(cut) = records[0].params[0].value else { panic!("{records:?}") };
    assert!(RECORD_MAX - cut.len() < 40 && std::str::from_utf8(cut).is_ok());
    assert_eq!((records[0].params.len(), records[1].params.len(), batch.truncated), (1, 2, 2));
    assert_eq!(records[1].params[1].value, Scalar::U32(8));
}

#[test]
fn texts_of_all_lengths_are_padded_with_zeros() {
    let long = "0123456789abcdefghijklmnopqrstuvwxyz".repeat(3);
    for len in 0..long.len() {
        let (text, mut batch) = (&long[..len], Batch::default());
        batch.record(Stamp::default(), 1);
        batch.text(Pmid(1), text);
        assert!(batch.utf8(Pmid(2), text.as_bytes()));
        batch.begin_text();
        assert!(batch.text_writer().is_empty());
        text.split_inclusive('a').for_each(|part| batch.text_writer().push(part));
        assert_eq!((batch.text_writer().len(), batch.text_writer().text()), (len, text.into()));
        batch.end_text(Pmid(3));
        let accented = format!("{text}\u{e9}");
        assert!(batch.utf8(Pmid(4), accented.as_bytes()));
        assert!(!batch.utf8(Pmid(4), &accented.as_bytes()[..len + 1]));
        batch.begin_text();
        batch.text_writer().push_ascii(*b"dropped ", 7);
        batch.record(Stamp::default(), 1);
        batch.seal();
        let mut wanted = Vec::new();
        for (pmid, text) in [(1, text), (2, text), (3, text), (4, &accented)] {
            put_bytes(&mut wanted, pmid, ValueType::Text, text.as_bytes());
        }
        assert_eq!(batch.bytes[HighRes::RECORD_HEADER..batch.starts[1]], wanted, "{len}");
        assert_eq!(batch.bytes[COUNT..COUNT + 4], 4_i32.to_ne_bytes());
    }
}

#[test]
fn texts_written_in_pieces_are_cut_like_others() {
    for len in RECORD_MAX - 80..RECORD_MAX + 80 {
        let (mut one, mut other) = (Batch::default(), Batch::default());
        let text = "\u{e9}".repeat(len / 2);
        one.begin_text();
        one.text_writer().push("no record to belong to");
        one.end_text(Pmid(9));
        assert_eq!(one.size(), 0);
        for batch in [&mut one, &mut other] {
            batch.record(Stamp::default(), 1);
            batch.number(Pmid(1), ValueType::U64, 7);
        }
        one.begin_text();
        one.text_writer().push(&text);
        one.end_text(Pmid(2));
        other.text(Pmid(2), &text);
        for batch in [&mut one, &mut other] {
            batch.utf8(Pmid(3), b"and more");
            batch.number(Pmid(4), ValueType::U32, 7);
            batch.seal();
        }
        assert!((&one.bytes, one.truncated) == (&other.bytes, other.truncated), "{len}");
    }
}

#[test]
fn prepared_records_are_those_that_are_written_out() {
    let (mut one, mut other, mut begun) =
        (Batch::default(), Batch::default(), RecordTemplate::default());
    one.record_from(Stamp::default(), &begun);
    assert!(one.is_empty(), "nothing was prepared");
    for n in 0..3_u32 {
        let stamp = Stamp { sec: n.into(), nsec: n };
        other.record(stamp, 2);
        other.text(Pmid(1), "name");
        if n == 0 {
            one.record(stamp, 2);
            one.text(Pmid(1), "name");
            begun = RecordTemplate::of(&one);
        } else {
            one.record_from(stamp, &begun);
        }
        for batch in [&mut one, &mut other] {
            (0..n).for_each(|n| batch.number(Pmid(2), ValueType::U32, n.into()));
        }
        if n == 1 {
            one.record(stamp, 1);
            one.number(Pmid(3), ValueType::U64, 1);
            one.discard_record();
            assert_eq!(one.newest(), Some(stamp));
        }
    }
    one.seal();
    other.seal();
    assert_eq!((&one.bytes, one.starts), (&other.bytes, other.starts));
    let counts: Vec<_> =
        Records::<HighRes>::packed(&one.bytes).map(|r| r.expect("sound").params.len()).collect();
    assert_eq!(counts, [1, 2, 3]);
}

#[test]
fn texts_are_changed_where_they_are() {
    let mut batch = Batch::default();
    for (sec, text) in (0..).zip(["", "a", "secret text"]) {
        batch.record(Stamp { sec, nsec: 5 }, 1);
        batch.number(Pmid(1), ValueType::U32, 7);
        batch.text(Pmid(2), text);
        batch.number(Pmid(3), ValueType::U64, 8);
        batch.text(Pmid(4), "gone");
    }
    batch.change_texts(|text| match text {
        "gone" => "".into(),
        text => text.replace("secret", "much longer than it was").into(),
    });
    let packed = batch.packed().to_vec();
    let records: Vec<_> =
        Records::<HighRes>::packed(&packed).collect::<Result<_, _>>().expect("sound");
    let texts = |n: usize| {
        let params = records[n].params.iter();
        params.map(|p| format!("{} {:?}", p.pmid.0, p.value)).collect::<Vec<_>>()
    };
    assert_eq!((records.len(), batch.len(), texts(0).len()), (3, 3, 2));
    assert_eq!(texts(1).len(), 3);
    let Scalar::Text(text) = records[2].params[1].value else { panic!("{records:?}") };
    assert_eq!(text, b"much longer than it was text");
    assert_eq!((records[2].params[2].value, records[2].params.len()), (Scalar::U64(8), 3));
    // A record that has become too large is cut and counted; more can be added to the last one.
    let mut batch = Batch::default();
    batch.record(Stamp::default(), 1);
    (0..400).for_each(|n| batch.text(Pmid(n), &"x".repeat(1000)));
    batch.number(Pmid(900), ValueType::U64, 8);
    batch.change_texts(|text| text.repeat(2).into());
    assert!(batch.size() <= RECORD_MAX && batch.truncated() > 100, "{}", batch.truncated());
    batch.record(Stamp::default(), 1);
    batch.discard_record();
    assert_eq!(Records::<HighRes>::packed(batch.packed()).filter(Result::is_ok).count(), 1);
}
