//! A Mono peer sends anything in any pieces. Whole and in pieces the same must come out; the identity comes at most once and
//! first; no slot is defined twice; nothing is sent before the dialect is decided, and never a Remove to an agent of 2014.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use pmdaapm::model::{Control, ControlVerb, Now, Stamp, Update, Value};
use pmdaapm::sources::mono::{Inspector, Pattern, Peer, Settings};
use pmdaapm::sources::{Session, SessionError, Sink};
use std::collections::HashSet;
use std::time::Duration;

#[derive(Default)]
struct Told {
    lines: Vec<String>,
    slots: HashSet<u32>,
    identities: usize,
    of_2014: bool,
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
            Update::Set { value: Value::Text(text), .. } => self.of_2014 |= text.starts_with("2014"),
            _ => {}
        }
        assert!(self.identities <= 1);
    }
}

const NOW: Now = Now { wall: Stamp { sec: 1_795_000_000, nsec: 0 }, mono: Duration::from_secs(100) };

fn talk(bytes: &[u8], piece: usize, control: bool) -> (Told, Vec<u8>, Result<(), SessionError>) {
    let select = Pattern::parse("GC/*").into_iter().collect();
    let mut session = Inspector::new(Peer::default(), Settings { select, ..Settings::default() });
    let (mut told, mut input, mut out) = (Told::default(), BytesMut::new(), BytesMut::new());
    for part in bytes.chunks(piece.max(1)) {
        input.extend_from_slice(part);
        if let Err(e) = session.feed(NOW, &mut input, &mut out, &mut told) {
            return (told, out.to_vec(), Err(e));
        }
        if control && session.established() {
            let before = out.len();
            let remove = Control::Request(ControlVerb::Remove, "GC/*".into());
            let _ = session.control(NOW, &remove, &mut out, &mut told);
            assert!(!told.of_2014 || out.len() == before, "something was sent to an agent of 2014 on a Remove");
        }
    }
    (told, out.to_vec(), Ok(()))
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let whole = talk(bytes, bytes.len(), false);
    let parts = talk(bytes, usize::from(*piece), false);
    assert_eq!(whole.0.lines, parts.0.lines);
    assert_eq!((whole.1, whole.2), (parts.1, parts.2));
    talk(bytes, usize::from(*piece), true);
});
