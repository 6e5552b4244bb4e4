//! A relay daemon with one session, made of a trace in files. It supports minor version 15 and only
//! the commands that the viewer sends.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::BytesMut;
use pmdaapm::ctf::{Packet, PacketInfo, Trace};

/// A packet in its file.
struct Place {
    at: u64,
    info: PacketInfo,
}

/// A trace: its metadata, its files and where packets are in them.
pub(crate) struct Recorded {
    metadata: Vec<u8>,
    streams: Vec<(File, Vec<Place>)>,
    pub(crate) events: u64,
}

/// The first directory with metadata, at any depth.
fn find(dir: &Path) -> Option<PathBuf> {
    if dir.join("metadata").is_file() {
        return Some(dir.to_owned());
    }
    let inner = std::fs::read_dir(dir).ok()?.flatten().map(|e| e.path());
    inner.filter(|p| p.is_dir()).find_map(|p| find(&p))
}

impl Recorded {
    /// The first trace below a directory.
    pub(crate) fn load(dir: &str) -> Self {
        let dir = find(Path::new(dir)).unwrap();
        let metadata = std::fs::read(dir.join("metadata")).unwrap();
        let mut trace = Trace::new();
        trace.metadata(&metadata).unwrap();
        let (mut streams, mut events) = (Vec::new(), 0);
        for entry in std::fs::read_dir(&dir).unwrap().flatten() {
            let path = entry.path();
            if !path.is_file() || path.ends_with("metadata") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let (mut places, mut at) = (Vec::new(), 0);
            while at < bytes.len() {
                let mut packet = Packet::open(&trace, &bytes[at..], 0).unwrap();
                while packet.peek().unwrap().is_some() {
                    packet.skip().unwrap();
                    events += 1;
                }
                places.push(Place { at: at as u64, info: packet.info().clone() });
                at += (packet.info().packet_bits / 8) as usize;
            }
            streams.push((File::open(&path).unwrap(), places));
        }
        Self { metadata, streams, events }
    }
}

/// The relay daemon of one connection. The metadata stream has number 1, the others from 2 on.
pub(crate) struct Relayd<'r> {
    recorded: &'r Recorded,
    share: usize,
    shares: usize,
    next: Vec<usize>,
    told: bool,
    ended: usize,
    /// The end of the session has been reported.
    pub(crate) over: bool,
    /// Rest of the packet that is being sent.
    sending: Option<(usize, u64)>,
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl<'r> Relayd<'r> {
    /// Serves every packet `share` + n * `shares`.
    pub(crate) fn new(recorded: &'r Recorded, share: usize, shares: usize) -> Self {
        let next = vec![share; recorded.streams.len()];
        Self { recorded, share, shares, next, told: false, ended: 0, over: false, sending: None }
    }

    fn words(out: &mut Vec<u8>, words: &[u32]) {
        out.extend(words.iter().flat_map(|w| w.to_be_bytes()));
    }

    /// The reply, without the packet that belongs to it.
    pub(crate) fn reply(&mut self, command: u32, body: &[u8], out: &mut Vec<u8>) {
        out.clear();
        self.sending = None;
        let streams = self.recorded.streams.len();
        match command {
            1 => {
                out.extend_from_slice(&7_u64.to_be_bytes());
                Self::words(out, &[2, 15, 0]);
            }
            2 => {
                let name = format!("big-{}", self.share);
                Self::words(out, &[1]);
                out.extend_from_slice(&1_u64.to_be_bytes());
                Self::words(out, &[100_000, 0, streams as u32 + 1, 4, name.len() as u32, 0]);
                out.extend_from_slice(b"host");
                out.extend_from_slice(name.as_bytes());
            }
            3 => {
                Self::words(out, &[1, streams as u32 + 1]);
                for id in 1..=streams as u64 + 1 {
                    out.extend_from_slice(&id.to_be_bytes());
                    out.extend_from_slice(&1_u64.to_be_bytes());
                    Self::words(out, &[u32::from(id == 1)]);
                    let text = |out: &mut Vec<u8>, text: &str, n: usize| {
                        out.extend(text.bytes().chain(std::iter::repeat(0)).take(n));
                    };
                    text(out, "/trace", 4096);
                    text(out, &format!("ch1_{}", id - 1), 255);
                }
            }
            4 => self.index((u64_at(body, 0) - 2) as usize, out),
            5 => {
                let (length, stream) = (
                    u32::from_be_bytes(body[16..20].try_into().unwrap()),
                    (u64_at(body, 0) - 2) as usize,
                );
                Self::words(out, &[1, length, 0]);
                self.sending = Some((stream, u64_at(body, 8)));
            }
            6 => {
                let new = if std::mem::replace(&mut self.told, true) {
                    &[][..]
                } else {
                    &self.recorded.metadata
                };
                out.extend_from_slice(&(new.len() as u64).to_be_bytes());
                Self::words(out, &[if new.is_empty() { 2 } else { 1 }]);
                out.extend_from_slice(new);
            }
            7 => {
                self.over = self.ended == streams;
                Self::words(out, &[if self.over { 4 } else { 2 }, 0]);
            }
            _ => Self::words(out, &[1]),
        }
    }

    fn index(&mut self, stream: usize, out: &mut Vec<u8>) {
        let (_, places) = &self.recorded.streams[stream];
        let Some(place) = places.get(self.next[stream]) else {
            self.ended += 1;
            out.extend_from_slice(&[0; 56]);
            return Self::words(out, &[3, 0]);
        };
        self.next[stream] += self.shares;
        let info = &place.info;
        let clock = [info.begin, info.end].map(Option::unwrap_or_default);
        for word in [
            place.at,
            info.packet_bits,
            info.content_bits,
            clock[0],
            clock[1],
            0,
            info.stream as u64,
        ] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        Self::words(out, &[1, u32::from(!self.told)]);
    }

    /// Appends the reply and the beginning of its packet, if it has one. Returns the number of
    /// packet bytes still to follow.
    pub(crate) fn packet(&mut self, input: &mut BytesMut, reply: &[u8], piece: usize) -> usize {
        input.extend_from_slice(reply);
        if self.sending.is_none() {
            return 0;
        }
        let length = u32::from_be_bytes(reply[4..8].try_into().unwrap()) as usize;
        length - self.more(input, length.min(piece))
    }

    /// Appends the next `length` bytes of the packet.
    pub(crate) fn more(&mut self, input: &mut BytesMut, length: usize) -> usize {
        let Some((stream, at)) = &mut self.sending else { return 0 };
        let from = input.len();
        input.resize(from + length, 0);
        self.recorded.streams[*stream].0.read_exact_at(&mut input[from..], *at).unwrap();
        *at += length as u64;
        length
    }
}
