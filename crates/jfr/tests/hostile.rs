//! A chunk made by hand says what was put in; cut at each position and with each byte changed it is refused or
//! read, and never does more work than its bytes.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test"
)]

mod kit;

use jfr::{Chunk, Error, Header, Known, Names, Value, known, limits};
use kit::{capture, made, walk};

#[test]
fn what_was_put_in_comes_out() {
    let made = made();
    let chunk = Chunk::open(&made.bytes).unwrap();
    let events: Vec<_> = chunk.events().map(Result::unwrap).collect();
    let [first, second, all] = events.as_slice() else { panic!("{}", events.len()) };
    let mut names = Names::new(&chunk);
    for (event, time) in [(first, 1_700_000_000_001_000_000), (second, 1_700_000_002_002_000_000)] {
        let Some(Known::Sample(sample)) = known(chunk.header(), event) else { panic!() };
        assert_eq!((sample.time, sample.is_native, &sample.thread), (time, false, &None));
        let stack = names.stack(sample.stack.unwrap());
        assert!(stack.is_cut);
        assert_eq!(stack.folded(), "?;a.B.run;a.B.g€");
    }
    let int = |field| all.get(field).int();
    assert_eq!(
        ["int", "long", "boolean", "char", "short", "text"].map(int),
        [Some(-7), Some(i64::MIN), Some(1), Some(0xe9), Some(-2), None]
    );
    assert!(
        matches!(all.get("float"), Value::Float(1.5))
            && matches!(all.get("double"), Value::Float(-2.5))
    );
    let text = |field| all.get(field).text().map(String::from);
    assert_eq!(
        ["text", "latin", "units", "key", "none", "missing", "nothing"].map(text),
        [Some("grün"), Some("xé"), Some("€"), Some("by key"), None, None, None]
            .map(|t| t.map(str::to_owned))
    );
    let ints: Vec<_> = all.get("list").list().unwrap().map(|value| value.int()).collect();
    assert_eq!(ints, [Some(1), Some(2), Some(3)]);
    let keys: Vec<_> =
        all.get("keys").list().unwrap().map(|value| value.text().map(String::from)).collect();
    assert_eq!(keys, [Some("run".to_owned()), None]);
    assert_eq!((all.key("missing").is_some(), all.key("keys"), all.key("int")), (true, None, None));
    assert_eq!(walk(&made.bytes), Ok((3, 60)));
    let byte = chunk.classes().find(|class| class.name() == "byte").unwrap();
    assert!(byte.fields().is_empty(), "a number has no fields, whatever the metadata says");
}

#[test]
fn what_is_walked_has_an_end() {
    let made = made();
    let chunk = Chunk::open(&made.bytes).unwrap();
    let all = chunk.events().last().unwrap().unwrap();
    // As of constants that many events refer to.
    let most = limits::STEPS * made.bytes.len() as u64;
    let read = (0..most).take_while(|_| all.get("key").text().is_some()).count();
    assert!((100..most as usize / 2).contains(&read), "{read} of {most}");
    assert!(matches!(chunk.events().next(), Some(Err(Error::Limit { .. }))));
}

#[test]
fn a_header_needs_all_of_itself() {
    let whole = made().bytes;
    for at in 0..=whole.len() {
        let header = Header::decode(&whole[..at]);
        match at {
            0..4 => assert!(header == Ok(None) || header == Err(Error::Magic), "{at} {header:?}"),
            4..68 => assert_eq!(header, Ok(None), "{at}"),
            _ => assert_eq!(header.unwrap().unwrap().size, whole.len() as u64),
        }
        if at < whole.len() {
            assert!(walk(&whole[..at]).is_err(), "{at}");
        }
    }
    let with = |at: usize, byte| {
        let mut bytes = made().bytes;
        bytes[at] = byte;
        Header::decode(&bytes)
    };
    assert_eq!(with(0, b'X'), Err(Error::Magic));
    assert_eq!(with(5, 1), Err(Error::Version(1, 1, 1)));
    assert_eq!(with(67, 2), Err(Error::Version(2, 1, 2)));
    assert!(matches!(with(8, 1), Err(Error::Limit { .. })));
    // Ticks a second that are negative.
    assert!(matches!(with(56, 0x80), Err(Error::Malformed { .. })));
}

#[test]
fn a_cut_chunk_is_refused_or_read() {
    let whole = made().bytes.len();
    let mut read = 0;
    for at in 68..whole {
        let mut cut = made();
        cut.bytes.truncate(at);
        cut.seal();
        read += usize::from(walk(&cut.bytes).is_ok());
    }
    // Metadata is the last of it.
    assert_eq!(read, 0);
}

#[test]
fn each_byte_may_be_any() {
    let whole = made().bytes;
    let (mut read, mut refused) = (0, 0);
    for at in 0..whole.len() {
        for byte in [0, 1, 2, 3, 4, 0x7f, 0x80, 0xff, whole[at] ^ 1, whole[at].wrapping_add(1)] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            match walk(&bytes) {
                Ok((events, values)) => {
                    assert!(events <= 12 && values < 1000, "{at} {byte}: {events} {values}");
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read > 4000 && refused > 1000, "{read} {refused}");
}

#[test]
fn a_recording_with_a_fault_is_refused_or_read() {
    let whole = capture("jdk17.jfr.gz");
    for step in 1..60 {
        let mut bytes = whole.clone();
        let at = 68 + (step * 7919) % (bytes.len() - 68);
        bytes[at] ^= 0x55;
        let _ = walk(&bytes);
        bytes.truncate(at);
        let _ = walk(&bytes);
        bytes[8..16].copy_from_slice(&(at as u64).to_be_bytes());
        let _ = walk(&bytes);
    }
}

#[test]
fn checkpoints_do_not_go_round() {
    let mut made = made();
    // The first one refers to itself, forwards, to what is none.
    let first = made.bytes.iter().rposition(|_| true).unwrap();
    assert!(first > made.checkpoint);
    let head = 68 + 4 + 1 + 3 + 1;
    for delta in [0x01_u8, 0x40, 0x7f] {
        let at = head + 4 + 1 + 1 + 1;
        let before = made.bytes[at];
        assert_eq!(before, 0, "the delta of the first checkpoint");
        made.bytes[at] = delta;
        assert!(matches!(Chunk::open(&made.bytes), Err(Error::Malformed { .. })), "{delta}");
        made.bytes[at] = before;
    }
    made.checkpoint = 20;
    made.seal();
    assert!(matches!(Chunk::open(&made.bytes), Err(Error::Malformed { .. })));
}
