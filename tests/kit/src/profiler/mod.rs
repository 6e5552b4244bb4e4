//! Captured sessions of Java profiler agents, and agents that replay them to a collector.

mod transcript;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::BytesMut;
use pmdaapm::sources::profiler::{Connection, Interner, Observer, Settings, Violation};

pub use transcript::{Records, Transcript};

/// Captures in the repository.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../qa/corpus/profiler")
}

/// Captures that are too large for the repository.
pub fn shared() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/profiler")
}

/// The bytes of a capture, without the compression of `.gz`.
pub fn read(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if path.extension().is_none_or(|e| e != "gz") {
        return bytes;
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    plain
}

/// One command of a recorded agent.
pub struct Op {
    pub command: u8,
    /// The recorded handle: of RCV_DATA, or in the reply to INIT_STREAM_V2.
    pub handle: [u8; 16],
    /// The bytes of the request, with the recorded handle.
    bytes: Vec<u8>,
    /// The recorded reply.
    pub reply: Vec<u8>,
}

impl Op {
    /// Whether the command opens `stream`.
    pub fn opens(&self, stream: &str) -> bool {
        self.command == 0x15 && self.bytes.get(5..5 + stream.len()) == Some(stream.as_bytes())
    }
}

/// Parses both directions of a session, up to the first unknown command.
pub fn script(bytes: &[u8]) -> Vec<Op> {
    struct At<'a>(&'a [u8]);
    impl<'a> At<'a> {
        fn take(&mut self, n: usize) -> Option<&'a [u8]> {
            let (taken, rest) = self.0.split_at_checked(n)?;
            self.0 = rest;
            Some(taken)
        }
        fn field(&mut self) -> Option<()> {
            let length = u32::from_be_bytes(self.take(4)?.try_into().ok()?);
            self.take(length as usize).map(|_| ())
        }
    }
    fn one(at: &mut At<'_>) -> Option<Op> {
        while at.0.first() == Some(&0) {
            at.take(1);
        }
        let begin = at.0;
        let mut handle = [0; 16];
        let mut reply = Vec::new();
        let command = at.take(1)?[0];
        let mut asked = 0;
        match command {
            0x14 => {
                at.take(8)?;
                (0..3).try_for_each(|_| at.field())?;
                asked = begin.len() - at.0.len();
                reply = at.take(8)?.into();
            }
            0x15 => {
                at.field()?;
                at.take(8)?;
                asked = begin.len() - at.0.len();
                handle = at.take(16)?.try_into().unwrap();
                reply = handle.into();
                if handle != [0; 16] {
                    reply.extend(at.take(20)?);
                }
            }
            0x02 => {
                handle = at.take(16)?.try_into().unwrap();
                at.field()?;
            }
            0x11 | 0x04 => {}
            _ => return None,
        }
        let asked = if asked == 0 { begin.len() - at.0.len() } else { asked };
        Some(Op { command, handle, bytes: begin[..asked].into(), reply })
    }
    let mut at = At(bytes);
    std::iter::from_fn(|| one(&mut at)).collect()
}

/// Recorded handles and those of this collector, in the order of the openings.
pub type Handles = Vec<([u8; 16], [u8; 16])>;

/// Replays a script: returns the requests with this collector's handles, and its replies, which are
/// checked.
pub fn play(script: &[Op], settings: Settings) -> (Vec<u8>, Vec<u8>) {
    let mut connection = connection(settings);
    let (mut handles, mut asked, mut answered) = (Handles::new(), Vec::new(), Vec::new());
    for op in script {
        let (bytes, out) = ask(op, &mut connection, &mut handles);
        match op.command {
            0x14 => assert_eq!(out[..], settings.version.to_be_bytes()),
            0x15 => {
                assert_eq!(out.len(), 36);
                assert_ne!(out[..16], [0; 16]);
                if op.handle != [0; 16] {
                    assert_eq!(out[32..], op.reply[32..], "sequence");
                }
            }
            0x04 => assert!(out.is_empty() && connection.ended()),
            _ => assert_eq!(out[..], [0], "an ack"),
        }
        asked.extend(bytes);
        answered.extend_from_slice(&out);
    }
    (asked, answered)
}

/// Replays one command: returns the request with this collector's handle, and the reply.
pub fn ask(op: &Op, connection: &mut Connection, handles: &mut Handles) -> (Vec<u8>, BytesMut) {
    let mut bytes = op.bytes.clone();
    if op.command == 0x02 {
        let (_, ours) = handles.iter().rev().find(|(theirs, _)| *theirs == op.handle).unwrap();
        bytes[1..17].copy_from_slice(ours);
    }
    let (mut input, mut out) = (BytesMut::from(&bytes[..]), BytesMut::new());
    connection.feed(&mut input, &mut out, &mut IgnoreAll).unwrap();
    assert!(input.is_empty(), "a command was not consumed");
    if op.command == 0x15 {
        handles.push((op.handle, out[..16].try_into().unwrap()));
    }
    (bytes, out)
}

/// An observer that ignores all records.
pub struct IgnoreAll;

impl Observer for IgnoreAll {}

/// A new connection with its own interner.
pub fn connection(settings: Settings) -> Connection {
    Connection::new(settings, Arc::new(Interner::new(64 << 20)))
}

/// Feeds the pieces to a new connection and closes it. Returns the replies, the result and the
/// connection.
pub fn talk<'a>(
    settings: Settings,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    observer: &mut impl Observer,
) -> (Vec<u8>, Result<(), Violation>, Connection) {
    let mut connection = connection(settings);
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
    let mut end = Ok(());
    for piece in pieces {
        input.extend_from_slice(piece);
        end = connection.feed(&mut input, &mut out, observer);
        while end.is_ok() && connection.unfinished() {
            end = connection.feed(&mut input, &mut out, observer);
        }
        if end.is_err() || connection.ended() {
            break;
        }
    }
    connection.close(observer);
    (out.to_vec(), end, connection)
}
