//! A Mono peer sends any bytes in any pieces. The updates must not depend on the pieces; the
//! identity is reported at most once and first; no slot is defined twice; nothing is sent before
//! the dialect is decided, and never a Remove to an agent of 2014.
#![no_main]

use std::time::Duration;

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use pmdaapm::contract::{Control, Recorded, Session, SessionError};
use pmdaapm::model::{Now, Stamp};
use pmdaapm::sources::Source;
use pmdaapm::sources::mono::{Inspector, Mono, Origin, Pattern, Settings};

/// What was told, as lines, and what an agent of 2014 has said of itself.
struct Told {
    lines: Vec<String>,
    of_2014: bool,
    big_endian: bool,
}

impl Told {
    fn of(seen: &Recorded) -> Self {
        let log = seen.log();
        assert!(log.identities.len() <= 1);
        let first = log.lines.iter().position(|line| line.starts_with("identity "));
        let named = |line: &String| line.starts_with("define ") || line.starts_with("sample ");
        let other = log.lines.iter().position(named);
        assert!(other.is_none() || first.is_some_and(|first| Some(first) < other));
        let slots = log.samples.iter().flatten().map(|(slot, _)| slot);
        assert!(slots.into_iter().all(|slot| log.specs.contains_key(slot)));
        // Its dialect; other texts follow.
        let dialect = log.lines.iter().find(|line| line.contains(" Text(\"2014"));
        let big_endian = dialect.is_some_and(|line| line.ends_with("big-endian\")"));
        Self { lines: log.lines.clone(), of_2014: dialect.is_some(), big_endian }
    }
}

const NOW: Now =
    Now { wall: Stamp { sec: 1_795_000_000, nsec: 0 }, monotonic: Duration::from_secs(100) };

/// Requests of a user between two pieces.
const REQUESTS: [(&str, &str); 4] = [
    ("control.remove", "GC/*"),
    ("control.add", "Mono GC/Minor GC collections;JIT/x;GC/M*"),
    ("control.list", ""),
    ("control.remove", "*"),
];

fn talk(
    bytes: &[u8],
    piece: usize,
    probe: bool,
    requests: bool,
) -> (Told, Vec<u8>, Result<(), SessionError>) {
    let select = Pattern::parse("GC/*").into_iter().collect();
    let mut session =
        Inspector::new(Origin::default(), Settings { select, probe, ..Settings::default() });
    let mut told = Recorded::new(&Mono::TABLE).with_lines();
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
    let mut end = Ok(());
    let mut next = REQUESTS.iter().cycle();
    for part in bytes.chunks(piece.max(1)) {
        input.extend_from_slice(part);
        end = session.feed(NOW, &mut input, &mut out, &mut told);
        if end.is_err() {
            break;
        }
        if let Some((verb, text)) = next.next().filter(|_| requests) {
            let control = Mono::TABLE.control(verb).unwrap();
            session
                .control(NOW, &Control::Request(control, (*text).into()), &mut out, &mut told)
                .unwrap();
        }
    }
    assert!(out.is_empty() || session.established(), "something was sent before Hello");
    session.close(NOW, &mut out, &mut told);
    let told = Told::of(&told);
    if told.of_2014 {
        check_2014(&out, told.big_endian);
    }
    (told, out.to_vec(), end)
}

/// Parses the sent requests as an agent of 2014 does: List, GoodBye and Add, never a Remove.
fn check_2014(mut out: &[u8], big_endian: bool) {
    while let [command, rest @ ..] = out {
        out = rest;
        match command {
            0 | 127 => {}
            1 => {
                let mut string = || {
                    let (length, rest) = out.split_first_chunk::<4>().unwrap();
                    let length = if big_endian {
                        u32::from_be_bytes(*length)
                    } else {
                        u32::from_le_bytes(*length)
                    };
                    let (string, rest) = rest.split_at(length as usize);
                    out = rest;
                    string
                };
                let (category, name) = (string(), string());
                assert_eq!(
                    category.is_empty(),
                    name.is_empty(),
                    "only the probe has empty strings"
                );
            }
            other => panic!("request {other} to an agent of 2014"),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((how, bytes)) = data.split_first() else { return };
    let (piece, probe) = (usize::from(how & 0x7f), how & 0x80 != 0);
    let whole = talk(bytes, bytes.len(), probe, false);
    let parts = talk(bytes, piece, probe, false);
    assert_eq!(whole.0.lines, parts.0.lines);
    assert_eq!((whole.1, whole.2), (parts.1, parts.2));
    let _ = talk(bytes, piece, probe, true);
});
