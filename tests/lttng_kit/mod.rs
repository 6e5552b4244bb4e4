//! Recorded dialogues with relay daemons, a relay daemon made of them that answers any viewer of any minor version, and a
//! driver with a clock of its own.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "shared by several tests; not every user needs all of it")]

mod relayd;
mod told;

pub use relayd::{Dialogue, Relayd};
pub use told::{Told, crc};

use bytes::{Buf, BytesMut};
use pmdaapm::model::{Now, Stamp};
use pmdaapm::sources::SessionError;
use pmdaapm::sources::lttng::viewer::{Pattern, Seen, Settings, Viewer};
use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/lttng/live")
}

pub const NAMES: [&str; 5] = ["live-ust-before", "live-ust-grow", "live-ust-mid", "live216-ctf-1.8", "live216-ctf-2"];

pub fn read_gz(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    plain
}

pub fn settings(pattern: &str) -> Settings {
    Settings { patterns: vec![Pattern::parse(pattern).unwrap()], ..Settings::default() }
}

/// What a connection did beside what it told.
#[derive(Debug)]
pub struct Outcome {
    pub result: Result<(), SessionError>,
    pub seen: Seen,
    pub requests: usize,
    /// Most requests that were not answered.
    pub outstanding: usize,
    /// Largest capacity of the input.
    pub input: usize,
    pub time: Duration,
}

/// A connection: `spoil` may change each reply, and closes the connection with `None`. Replies reach the viewer in pieces that
/// `piece` cuts (the bytes that are there, the bytes already delivered). Ends when `end` says so, or at an error.
pub struct Connection<'a> {
    pub settings: Settings,
    pub seen: Seen,
    pub start: Duration,
    pub spoil: &'a mut dyn FnMut(usize, u32, Vec<u8>) -> Option<Vec<u8>>,
    pub piece: &'a mut dyn FnMut(usize, usize) -> usize,
    pub end: &'a mut dyn FnMut(&Told, Duration) -> bool,
}

pub fn at(mono: Duration) -> Now {
    Now { wall: Stamp { sec: 1_795_000_000, nsec: 0 }, mono }
}

impl Connection<'_> {
    pub fn run(self, relayd: &mut Relayd, told: &mut Told) -> Outcome {
        let Self { settings, seen, start, spoil, piece, end } = self;
        let mut viewer = Viewer::new(settings, seen);
        let (mut now, mut out, mut input) = (start, BytesMut::new(), BytesMut::new());
        let mut wire: VecDeque<u8> = VecDeque::new();
        let (mut requests, mut unread, mut outstanding, mut capacity, mut delivered) = (0, VecDeque::new(), 0, 0, 0);
        relayd.connect();
        viewer.start(at(now), &mut out);
        let mut idle = 0;
        let result = loop {
            while out.len() >= 16 {
                let (size, command) = (out.get_u64() as usize, out.get_u32());
                assert_eq!(out.get_u32(), 0, "version");
                assert!((1..=9).contains(&command) && size == out.len().min(size), "command {command}");
                requests += 1;
                let Some(reply) = spoil(requests, command, relayd.reply(command, &out.split_to(size), now)) else {
                    let seen = viewer.close(told);
                    let result = Err(SessionError::Closed("by the test"));
                    return Outcome { result, seen, requests, outstanding, input: capacity, time: now - start };
                };
                unread.push_back(delivered + wire.len() + reply.len());
                wire.extend(reply);
            }
            assert!(out.is_empty());
            outstanding = outstanding.max(unread.len());
            let result = if wire.is_empty() {
                if end(told, now - start) {
                    break Ok(());
                }
                let wakeup = viewer.next_wakeup().unwrap();
                idle = if wakeup > now { 0 } else { idle + 1 };
                assert!(idle < 3, "a spin at {now:?}");
                now = now.max(wakeup);
                viewer.tick(at(now), &mut out, told)
            } else {
                let n = piece(wire.len(), delivered).clamp(1, wire.len());
                input.extend(wire.drain(..n));
                delivered += n;
                while unread.front().is_some_and(|at| *at <= delivered) {
                    unread.pop_front();
                }
                let result = viewer.feed(at(now), &mut input, &mut out, told);
                capacity = capacity.max(input.capacity());
                result
            };
            if result.is_err() {
                break result;
            }
        };
        let seen = viewer.close(told);
        Outcome { result, seen, requests, outstanding, input: capacity, time: now - start }
    }
}

/// A connection without faults until all sessions are over.
pub fn whole(relayd: &mut Relayd, settings: Settings, seen: Seen) -> (Told, Outcome) {
    let mut told = Told::default();
    let sessions = relayd.sessions.len();
    let outcome = Connection {
        settings,
        seen,
        start: Duration::from_secs(100),
        spoil: &mut |_, _, reply| Some(reply),
        piece: &mut |there, _| there,
        end: &mut |told, time| told.closed == sessions || time > Duration::from_secs(60),
    }
    .run(relayd, &mut told);
    (told, outcome)
}
