//! A Mono peer sends any bytes in any pieces. The updates must not depend on the pieces; the
//! identity is reported at most once and first; no slot is defined twice; nothing is sent before
//! the dialect is decided, and never a Remove to an agent of 2014.
#![no_main]

use std::collections::HashSet;
use std::time::Duration;

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use pmdaapm::contract::{Control, Update};
use pmdaapm::model::{Now, Stamp, Value};
use pmdaapm::sources::mono::{self, Inspector, Pattern, Peer, Settings};
use pmdaapm::contract::{Session, SessionError, Sink};
use pmdaapm::sources::Source;

#[derive(Default)]
struct Told {
    lines: Vec<String>,
    slots: HashSet<u32>,
    identities: usize,
    of_2014: bool,
    big_endian: bool,
}

impl Sink for Told {
    fn update(&mut self, update: Update<'_>) {
        self.lines.push(format!("{update:?}"));
        match update {
            Update::Identity(_) => self.identities += 1,
            Update::Define { slot, .. } => assert!(self.identities == 1 && self.slots.insert(slot)),
            Update::Sample { values, .. } => {
                assert_eq!(self.identities, 1);
                assert!(values.iter().all(|(slot, _)| self.slots.contains(slot)));
            }
            // Its dialect; other texts follow.
            Update::Set { value: Value::Text(text), .. } if text.starts_with("2014") => {
                self.of_2014 = true;
                self.big_endian = text.ends_with("big-endian");
            }
            _ => {}
        }
        assert!(self.identities <= 1);
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
        Inspector::new(Peer::default(), Settings { select, probe, ..Settings::default() });
    let (mut told, mut input, mut out) = (Told::default(), BytesMut::new(), BytesMut::new());
    let mut end = Ok(());
    let mut next = REQUESTS.iter().cycle();
    for part in bytes.chunks(piece.max(1)) {
        input.extend_from_slice(part);
        end = session.feed(NOW, &mut input, &mut out, &mut told);
        if end.is_err() {
            break;
        }
        if let Some((verb, text)) = next.next().filter(|_| requests) {
            let control = <mono::Mono as Source>::TABLE.control(verb).unwrap();
            session
                .control(NOW, &Control::Request(control, (*text).into()), &mut out, &mut told)
                .unwrap();
        }
    }
    assert!(out.is_empty() || session.established(), "something was sent before Hello");
    session.close(NOW, &mut out, &mut told);
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
