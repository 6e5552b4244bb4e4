//! The dialogue with a Java profiler agent on any bytes in any pieces: raw bytes, or commands with
//! sound frames and handles. Events and replies do not depend on the pieces; hello comes once and
//! before all other events; every reply belongs to its command, and only the last one can be an
//! error.
#![no_main]

use std::sync::Arc;

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use pmdaapm::sources::profiler::{
    Connection, Dialogue, Event, Interner, Observer, ProtocolError, Settings, Violation, limits,
};

const SETTINGS: Settings = Settings { version: 100_605, rotation_period_ms: 7, rotation_size: 9 };

#[derive(Debug, Default, PartialEq)]
struct Told {
    events: Vec<String>,
    known: bool,
    /// The replies that follow from the events.
    due: Vec<u8>,
    bytes: usize,
}

impl Told {
    fn event(&mut self, event: Event<'_>) {
        self.events.push(format!("{event:?}"));
        match event {
            Event::Hello(hello) => {
                assert!(!self.known);
                self.known = true;
                if hello.version.is_some() {
                    self.due.extend(SETTINGS.version.to_be_bytes());
                }
            }
            Event::Opened(opened) => {
                assert!(
                    self.known
                        && opened.stream < limits::STREAMS
                        && opened.name.len() <= limits::FIELD
                        && opened.sequence >= 0
                );
                self.due.extend(opened.handle);
                self.due.extend(opened.rotation_period_ms.to_be_bytes());
                self.due.extend(opened.rotation_size.to_be_bytes());
                self.due.extend(opened.sequence.to_be_bytes());
            }
            Event::Data { payload, .. } => {
                assert!(payload.len() <= limits::FIELD);
                self.bytes += payload.len();
                self.due.push(0);
            }
            Event::Flush => self.due.push(0),
            Event::CommandResult { .. } | Event::Close => {}
        }
    }
}

fn talk(bytes: &[u8], piece: usize) -> (Told, Vec<u8>, Result<(), Violation>, bool, u64) {
    let mut transport = Dialogue::new(SETTINGS);
    let (mut told, mut input, mut out, mut end) =
        (Told::default(), BytesMut::new(), BytesMut::new(), Ok(()));
    let mut fed = 0;
    for part in bytes.chunks(piece.max(1)) {
        input.extend_from_slice(part);
        fed += part.len();
        end = transport.feed(&mut input, &mut out, &mut |event| {
            told.event(event);
        });
        while end.is_ok() && transport.unfinished() {
            end = transport.feed(&mut input, &mut out, &mut |event| {
                told.event(event);
            });
        }
        if end.is_err() || transport.ended() {
            break;
        }
        assert!(
            transport.is_gzip() || transport.consumed() as usize + input.len() == fed,
            "bytes are lost"
        );
        assert!(input.len() < 5000, "whole commands are left lying");
    }
    assert!(!transport.ended() || input.is_empty());
    (told, out.to_vec(), end, transport.ended(), transport.consumed())
}

/// Commands with sound frames; their contents and order come from the fuzzer.
fn commands(mut data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x14];
    bytes.extend(100_705u64.to_be_bytes());
    for name in ["vm_1795227482421", "svc", "ns"] {
        bytes.extend((name.len() as u32).to_be_bytes());
        bytes.extend(name.as_bytes());
    }
    let mut handles: u64 = 0;
    while let [op, size, rest @ ..] = data {
        data = rest;
        // INIT_STREAM_V2 uses no bytes of the body.
        let body = if op % 8 > 1 {
            data.split_off(..data.len().min((*size).into())).unwrap_or_default()
        } else {
            &[]
        };
        match op % 8 {
            0 | 1 => {
                const NAMES: [&str; 10] = [
                    "trace",
                    "calls",
                    "xml",
                    "sql",
                    "dictionary",
                    "posDictionary",
                    "suspend",
                    "params",
                    "gc",
                    "heap",
                ];
                let name = NAMES[usize::from(*size) % NAMES.len()];
                bytes.push(0x15);
                bytes.extend((name.len() as u32).to_be_bytes());
                bytes.extend(name.as_bytes());
                bytes.extend(u32::from(op / 8 % 4).to_be_bytes());
                bytes.extend(u32::from(*op >= 128).to_be_bytes());
                handles += 1;
            }
            2..=5 => {
                bytes.push(0x02);
                bytes.extend(0x706d_6461_6170_6d00_u64.to_be_bytes());
                bytes.extend(handles.saturating_sub(u64::from(op / 8 % 4)).to_be_bytes());
                bytes.extend((body.len() as u32).to_be_bytes());
                bytes.extend(body);
            }
            6 => bytes.push(0x11),
            _ => bytes.extend(body),
        }
    }
    bytes
}

struct Nobody;

impl Observer for Nobody {}

fuzz_target!(|data: &[u8]| {
    let Some((how, data)) = data.split_first() else { return };
    let built;
    let bytes = if how & 0x80 == 0 {
        data
    } else {
        built = commands(data);
        &built
    };
    let whole = talk(bytes, bytes.len());
    let parts = talk(bytes, usize::from(how & 0x7f));
    let gzip = |end: &Result<(), Violation>| {
        matches!(end, Err(Violation { what: ProtocolError::Gzip(_), .. }))
    };
    if gzip(&whole.2) || gzip(&parts.2) {
        // The inflated part of a damaged member depends on the pieces.
        assert!(whole.0.events.iter().zip(&parts.0.events).all(|(a, b)| a == b));
    } else {
        assert_eq!(whole, parts);
    }
    let (told, out, end, ..) = whole;
    // The legacy hello has no event; its reply can only be the first.
    let out = out
        .strip_prefix(&100_505u64.to_be_bytes())
        .filter(|_| !told.due.starts_with(&100_605u64.to_be_bytes()))
        .unwrap_or(&out);
    let rest = out.strip_prefix(&told.due[..]).expect("a reply that is not due");
    match end {
        Ok(()) => assert!(rest.is_empty()),
        Err(_) => assert!(rest.is_empty() || rest == [0xff] || rest == [0; 16]),
    }
    // And with the streams behind it.
    let mut connection = Connection::new(SETTINGS, Arc::new(Interner::new(1 << 20)));
    let (mut input, mut replies) = (BytesMut::from(bytes), BytesMut::new());
    while connection.feed(&mut input, &mut replies, &mut Nobody).is_ok() && connection.unfinished()
    {
    }
    connection.close(&mut Nobody);
    let counted: u64 = connection.streams().all().iter().map(|s| s.counts().bytes).sum();
    assert_eq!(counted as usize, told.bytes);
});
