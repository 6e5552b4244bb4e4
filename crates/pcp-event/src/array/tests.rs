use super::*;
use crate::flags;
use crate::{HighRes, LowRes, check};

const T: Stamp = Stamp { sec: 1000, nsec: 5000 };

#[test]
fn an_empty_array_is_eight_bytes() {
    for (mut bytes, ty) in
        [(Array::<HighRes>::new().into_bytes(), 10_u32), (Array::<LowRes>::new().into_bytes(), 9)]
    {
        let records = bytes.split_off(4);
        assert_eq!((bytes, records), ((8 | ty << 24).to_ne_bytes().to_vec(), vec![0; 4]));
    }
}

#[test]
fn the_order_of_calls_is_enforced() {
    let mut a = Array::<LowRes>::new();
    let v = Scalar::U32(1);
    assert_eq!(a.add_param(Pmid(1), v), Err(ArrayError::NoRecord));
    assert_eq!(a.add_missed(T, 5), Ok(()));
    assert_eq!(a.add_param(Pmid(1), v), Err(ArrayError::NoRecord));
    assert_eq!(a.add_missed(T, -1), Err(ArrayError::Invalid));
    assert_eq!(a.add_record(T, flags::MISSED | 1), Err(ArrayError::Invalid));
    assert_eq!(a.add_record(T, 1), Ok(()));
    a.reset();
    assert_eq!(a.add_param(Pmid(1), v), Err(ArrayError::NoRecord));
    assert_eq!(a.len(), 8);
}

/// The first record of the dump in docs/protocols/pcp-events.md section 1, and the same in low
/// resolution.
#[cfg(target_endian = "little")]
#[test]
fn the_bytes_are_those_of_the_reference_dump() {
    let id = Pmid::new(30, 0, 5);
    let mut a = Array::<HighRes>::new();
    let t = Stamp { sec: 1_700_000_000, nsec: 123_456_789 };
    a.add_record(t, flags::POINT).expect("fits");
    a.add_i32(id, -2).expect("fits");
    a.add_u64(id, 0x1122_3344_5566_7788).expect("fits");
    a.add_f32(id, 1.5).expect("fits");
    a.add_f64(id, 2.5).expect("fits");
    a.add_text(id, b"abcde").expect("fits");
    a.add_text(id, b"").expect("fits");
    a.add_aggregate(id, b"XYZ").expect("fits");
    a.add_missed(t, 7).expect("fits");
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let expected = "9400000a0200000000f1536500000000 15cd5b070000000001000000070000000500800708000000feffffff 050080070c000003\
                    8877665544332211 05008007080000040000c03f 050080070c0000050000000000000440 05008007090000066162636465000000\
                    0500800704000006 050080070700000758595a00 00f1536500000000 15cd5b07000000000000008007000000";
    assert_eq!(hex(a.bytes()), expected.replace(' ', ""));
    let mut low = Array::<LowRes>::new();
    low.add_record(Stamp { sec: 1_700_000_000, nsec: 654_321_000 }, flags::START | flags::ID)
        .expect("fits");
    low.add_text(id, b"id").expect("fits");
    low.add_missed(Stamp { sec: 1_700_000_000, nsec: 654_321_000 }, 3).expect("fits");
    assert_eq!(
        hex(low.bytes()),
        "340000090200000000f15365f1fb09000a000000010000000500800706000006\
         6964000000f15365f1fb09000000008003000000"
    );
}

#[test]
fn padding_is_zero_even_where_older_bytes_were() {
    let mut a = Array::<HighRes>::new();
    a.add_record(T, 1)
        .and_then(|()| a.add_param(Pmid(1), Scalar::Text(b"SECRETSECRET")))
        .expect("fits");
    a.reset();
    a.add_record(T, 1).and_then(|()| a.add_param(Pmid(1), Scalar::Text(b"x"))).expect("fits");
    assert_eq!(a.bytes().split_at(8 + 24 + 8).1, [b'x', 0, 0, 0]);
}

#[test]
fn asking_for_the_bytes_does_not_close_the_record() {
    let mut a = Array::<HighRes>::new();
    a.add_record(T, 1).and_then(|()| a.add_u32(Pmid(1), 1)).expect("fits");
    assert_eq!(check::<HighRes>(a.bytes()).expect("sound")[0].params.len(), 1);
    a.add_u32(Pmid(2), 2).expect("the record is still open");
    assert_eq!(check::<HighRes>(a.bytes()).expect("sound")[0].params.len(), 2);
}

#[test]
fn a_checkpoint_from_before_a_reset_empties_the_array() {
    let records = |n: u32| {
        let mut array = Array::<LowRes>::new();
        for n in 0..n {
            array.add_record(Stamp::default(), 1).expect("fits");
            array.add_u32(Pmid(1), n).expect("fits");
        }
        array
    };
    for (before, after) in [(3, 0), (3, 1), (3, 3), (1, 4), (0, 2)] {
        let mut array = records(before);
        let checkpoint = array.checkpoint();
        array.reset();
        for _ in 0..after {
            array.add_record(Stamp::default(), 1).expect("fits");
        }
        assert!(!array.rollback(checkpoint), "{before} {after}");
        assert_eq!((array.records(), array.bytes().len()), (0, 8));
        // Another array, with a checkpoint that would fit.
        let mut other = records(5);
        assert!(!other.rollback(records(2).checkpoint()));
        assert_eq!(other.bytes(), Array::<LowRes>::new().bytes());
        // The array can be continued.
        array.add_record(Stamp::default(), 1).expect("fits");
        assert_eq!(check::<LowRes>(array.bytes()).expect("sound").len(), 1);
    }
}

#[test]
fn a_rollback_leaves_no_trace() {
    let mut a = Array::<LowRes>::new();
    a.add_record(T, 1).and_then(|()| a.add_u32(Pmid(1), 1)).expect("fits");
    let before = a.bytes().to_vec();
    let checkpoint = a.checkpoint();
    a.add_u32(Pmid(1), 1).expect("the record before the checkpoint is still open, as in C");
    a.add_record(T, 1).and_then(|()| a.add_u32(Pmid(1), 2)).expect("fits");
    a.add_missed(T, 4).expect("fits");
    assert!(a.rollback(checkpoint));
    assert_eq!(a.bytes(), before);
    a.add_u32(Pmid(1), 2).expect("it is open again");
    assert_eq!(check::<LowRes>(a.bytes()).expect("sound")[0].params.len(), 2);
}

#[test]
fn never_over_24_bits() {
    let mut a = Array::<HighRes>::new();
    let big = "x".repeat(1 << 20);
    let mut added = 0;
    while a.add_record(T, 1).and_then(|()| a.add_text(Pmid(1), big.as_bytes())).is_ok() {
        added += 1;
    }
    assert_eq!(added, 15);
    assert!(a.len() <= ARRAY_MAX);
    let records =
        check::<HighRes>(a.bytes()).expect("a refused parameter leaves a sound array").len();
    assert_eq!(records, 16, "the last one has no parameter");
    let huge = "x".repeat(ARRAY_MAX);
    let mut b = Array::<LowRes>::new();
    b.add_record(T, 1).expect("fits");
    assert_eq!(b.add_text(Pmid(1), huge.as_bytes()), Err(ArrayError::TooBig));
    // One record with one parameter that fills the array to the last whole word.
    let most = ARRAY_MAX - ARRAY_MAX % 4 - ARRAY_HEADER - LowRes::RECORD_HEADER - PARAM_HEADER;
    assert_eq!(b.add_text(Pmid(1), huge.as_bytes().split_at(most + 1).0), Err(ArrayError::TooBig));
    b.add_text(Pmid(1), huge.as_bytes().split_at(most).0).expect("fits exactly");
    assert_eq!(b.len(), ARRAY_MAX - ARRAY_MAX % 4);
    assert_eq!(b.add_record(T, 1), Err(ArrayError::TooBig));
    check::<LowRes>(b.bytes()).expect("sound");
}
