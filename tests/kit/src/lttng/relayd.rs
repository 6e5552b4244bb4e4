//! A relay daemon made of recorded dialogues.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{corpus, read_gz};

const RECORD: usize = 4371;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.iter().copied().take_while(|b| *b != 0).collect()).unwrap()
}

/// An entry of a stream: the recorded index, and the packet if it has one.
#[derive(Clone, Debug)]
pub struct Entry {
    pub index: [u8; 64],
    pub packet: Option<Vec<u8>>,
    /// Bytes of metadata that the viewer had when it read the packet.
    pub needs: usize,
}

/// A recorded session.
#[derive(Clone, Debug, Default)]
pub struct Dialogue {
    pub name: String,
    pub host: String,
    pub live_timer: u32,
    pub format: u32,
    /// Stream records as they were announced, reply by reply.
    pub groups: Vec<Vec<Vec<u8>>>,
    pub streams: BTreeMap<u64, Vec<Entry>>,
    pub metadata: BTreeMap<u64, Vec<u8>>,
    /// Bytes of the first reply with metadata.
    pub first: BTreeMap<u64, usize>,
    pub traces: BTreeMap<u64, u64>,
}

impl Dialogue {
    pub fn load(name: &str) -> Self {
        let directory = corpus().join(name);
        Self::parse(
            &read_gz(&directory.join("c2s.bin.gz")),
            &read_gz(&directory.join("s2c.bin.gz")),
        )
    }

    /// Reads a dialogue up to the end of either side.
    pub fn parse(mut requests: &[u8], mut replies: &[u8]) -> Self {
        let (mut d, mut minor, mut session) = (Self::default(), 0, None);
        let mut metadata_of = BTreeMap::new();
        while requests.len() >= 16 && !replies.is_empty() {
            let (size, command) = (u64_at(requests, 0) as usize, u32_at(requests, 8));
            let body = &requests[16..16 + size];
            requests = &requests[16 + size..];
            let mut take = |n: usize| {
                let (taken, rest) = replies.split_at(n.min(replies.len()));
                replies = rest;
                (taken.len() == n).then_some(taken)
            };
            let mut step = || -> Option<()> {
                match command {
                    1 => minor = u32_at(take(20)?, 12).min(u32_at(body, 12)),
                    2 => {
                        for _ in 0..u32_at(take(4)?, 0) {
                            let (head, host, name, format) = if minor >= 15 {
                                let head = take(32)?;
                                (
                                    head,
                                    take(u32_at(head, 20) as usize)?,
                                    take(u32_at(head, 24) as usize)?,
                                    u32_at(head, 28),
                                )
                            } else {
                                (take(20)?, take(64)?, take(255)?, 0)
                            };
                            if session.is_none() || session == Some(u64_at(head, 0)) {
                                session = Some(u64_at(head, 0));
                                (d.live_timer, d.host, d.name, d.format) =
                                    (u32_at(head, 8), text(host), text(name), format);
                            }
                        }
                    }
                    3 | 7 => {
                        let head = take(8)?;
                        let records: Option<Vec<_>> =
                            (0..u32_at(head, 4)).map(|_| Some(take(RECORD)?.to_vec())).collect();
                        let records = records?;
                        for r in &records {
                            d.traces.insert(u64_at(r, 0), u64_at(r, 8));
                            if u32_at(r, 16) != 0 {
                                metadata_of.insert(u64_at(r, 8), u64_at(r, 0));
                                d.metadata.insert(u64_at(r, 0), Vec::new());
                            } else {
                                d.streams.insert(u64_at(r, 0), Vec::new());
                            }
                        }
                        if !records.is_empty() {
                            d.groups.push(records);
                        }
                    }
                    4 => {
                        let mut index: [u8; 64] = take(64)?.try_into().unwrap();
                        // Flags are set when the index is served.
                        index[60..].fill(0);
                        let packet = (u32_at(&index, 56) == 1).then(Vec::new);
                        d.streams.get_mut(&u64_at(body, 0))?.push(Entry {
                            index,
                            packet,
                            needs: 0,
                        });
                    }
                    5 => {
                        let head = take(12)?;
                        if u32_at(head, 0) == 1 {
                            let bytes = take(u32_at(head, 4) as usize)?;
                            let entry = d.streams.get_mut(&u64_at(body, 0))?.last_mut()?;
                            entry.packet.as_mut()?.extend_from_slice(bytes);
                            entry.needs =
                                d.metadata[&metadata_of[&d.traces[&u64_at(body, 0)]]].len();
                        }
                    }
                    6 => {
                        let head = take(12)?;
                        let bytes = take(u64_at(head, 0) as usize)?;
                        let all = d.metadata.get_mut(&u64_at(body, 0))?;
                        all.extend_from_slice(bytes);
                        d.first.entry(u64_at(body, 0)).or_insert(bytes.len());
                    }
                    _ => {
                        take(4)?;
                    }
                }
                Some(())
            };
            if step().is_none() {
                break;
            }
        }
        for entries in d.streams.values_mut() {
            let whole = |e: &Entry| {
                e.packet.as_ref().is_none_or(|p| p.len() as u64 >= u64_at(&e.index, 16).div_ceil(8))
            };
            let end = entries
                .iter()
                .position(|e| !whole(e) || u32_at(&e.index, 56) == 3)
                .unwrap_or(entries.len());
            entries.truncate(end);
        }
        d
    }
}

/// A session that is served, with the position of its viewer.
#[derive(Clone, Debug)]
pub struct Served {
    pub id: u64,
    pub dialogue: Dialogue,
    pub clients: u32,
    pub over: bool,
    /// The connection that has attached the session.
    attached: Option<u64>,
    groups: usize,
    next: BTreeMap<u64, usize>,
    sent: BTreeMap<u64, usize>,
    released: BTreeMap<u64, usize>,
}

impl Served {
    fn reset(&mut self) {
        (self.groups, self.next) = (0, BTreeMap::new());
        self.sent = self.dialogue.metadata.keys().map(|m| (*m, 0)).collect();
        self.released = self.dialogue.first.clone();
    }

    fn announce(&mut self) -> Vec<u8> {
        let records = self.dialogue.groups.get(self.groups).cloned().unwrap_or_default();
        self.groups += 1;
        for r in &records {
            if self.dialogue.streams.contains_key(&u64_at(r, 0)) {
                self.next.insert(u64_at(r, 0), 0);
            }
        }
        let mut out = words(&[1, u32::try_from(records.len()).unwrap()]);
        out.extend(records.into_iter().flatten());
        out
    }

    fn metadata_of(&self, stream: u64) -> u64 {
        let trace = self.dialogue.traces[&stream];
        *self.sent.keys().find(|m| self.dialogue.traces[m] == trace).unwrap()
    }

    fn flags(&self, stream: u64) -> u32 {
        let m = self.metadata_of(stream);
        u32::from(self.released[&m] > self.sent[&m])
            | if self.groups < self.dialogue.groups.len() { 2 } else { 0 }
    }

    fn index(&mut self, stream: u64) -> Vec<u8> {
        let Some(n) = self.next.get(&stream).copied() else {
            return [vec![0; 56], words(&[4, 0])].concat();
        };
        let Some(entry) = self.dialogue.streams[&stream].get(n).cloned() else {
            let flags = self.flags(stream);
            self.next.remove(&stream);
            return [vec![0; 56], words(&[3, flags])].concat();
        };
        self.next.insert(stream, n + 1);
        let m = self.metadata_of(stream);
        let released = self.released.get_mut(&m).unwrap();
        *released = (*released).max(entry.needs);
        [&entry.index[..60], &words(&[self.flags(stream)])].concat()
    }

    fn packet(&self, stream: u64, offset: u64, length: u32, back: usize, most: usize) -> Vec<u8> {
        let read =
            self.next.get(&stream).map_or(&[][..], |n| &self.dialogue.streams[&stream][..*n]);
        // Packets are read from the file of the latest index, as if each packet were in a separate
        // file.
        let mut entries = read.iter().rev().filter(|e| e.packet.is_some()).take(back);
        let part = entries.find_map(|e| {
            let from = usize::try_from(offset.checked_sub(u64_at(&e.index, 0))?).ok()?;
            e.packet.as_ref()?.get(from..from + length as usize)
        });
        match part {
            Some(bytes) => {
                let bytes = &bytes[..bytes.len().min(most)];
                [&words(&[1, u32::try_from(bytes.len()).unwrap(), 0]), bytes].concat()
            }
            None => words(&[3, 0, 0]),
        }
    }

    fn metadata(&mut self, stream: u64) -> Vec<u8> {
        let (from, to) = (self.sent[&stream], self.released[&stream]);
        self.sent.insert(stream, to);
        let mut out = (to as u64 - from as u64).to_be_bytes().to_vec();
        out.extend(words(&[if to > from { 1 } else { 2 }]));
        out.extend_from_slice(&self.dialogue.metadata[&stream][from..to]);
        out
    }
}

/// The relay daemon.
#[derive(Clone, Debug)]
pub struct Relayd {
    pub minor: u32,
    pub sessions: Vec<Served>,
    /// Packets behind the latest index that can still be read.
    pub back: usize,
    /// Number of further refusals of ATTACH, although the listing shows no other viewer.
    pub busy: usize,
    /// Most bytes of a packet in one reply.
    pub most: usize,
    /// `NEW_STREAMS` reports the session as over once all its streams are announced, although
    /// they have more packets.
    pub early: bool,
    /// Times that `NEW_STREAMS` fails.
    pub failing: usize,
    /// Listings until a closed connection is noticed.
    pub slow: usize,
    /// Until this time there is no packet.
    pub quiet: Duration,
    /// By connection: the minor version, and whether CREATE has arrived.
    connections: BTreeMap<u64, (u32, bool)>,
    gone: Vec<(usize, u64)>,
}

impl Relayd {
    pub fn new(minor: u32, names: &[&str]) -> Self {
        Self::of(minor, names.iter().map(|name| Dialogue::load(name)).collect())
    }

    pub fn of(minor: u32, dialogues: Vec<Dialogue>) -> Self {
        let served = |(id, dialogue)| Served {
            id,
            dialogue,
            clients: 0,
            over: false,
            attached: None,
            groups: 0,
            next: BTreeMap::new(),
            sent: BTreeMap::new(),
            released: BTreeMap::new(),
        };
        let sessions = (1..).zip(dialogues).map(served).collect();
        Self {
            minor,
            sessions,
            back: 1,
            busy: 0,
            most: usize::MAX,
            early: false,
            failing: 0,
            slow: 0,
            quiet: Duration::ZERO,
            connections: BTreeMap::new(),
            gone: Vec::new(),
        }
    }

    /// A connection is gone.
    pub fn disconnect(&mut self, connection: u64) {
        self.connections.remove(&connection);
        if self.slow > 0 {
            return self.gone.push((self.slow, connection));
        }
        self.release(connection);
    }

    fn release(&mut self, connection: u64) {
        self.sessions
            .iter_mut()
            .filter(|s| s.attached == Some(connection))
            .for_each(|s| s.attached = None);
    }

    fn list(&mut self, effective: u32) -> Vec<u8> {
        let shown: Vec<_> = self
            .sessions
            .iter()
            .filter(|s| !s.over && (effective >= 15 || s.dialogue.format == 0))
            .collect();
        let mut out = words(&[u32::try_from(shown.len()).unwrap()]);
        for Served { id, dialogue: d, clients, attached, .. } in shown {
            out.extend(id.to_be_bytes());
            let clients = clients + u32::from(attached.is_some());
            out.extend(words(&[d.live_timer, clients, u32::try_from(d.traces.len()).unwrap()]));
            let padded = |text: &str, n: usize| {
                text.bytes().chain(std::iter::repeat(0)).take(n).collect::<Vec<u8>>()
            };
            if effective >= 15 {
                let length = |text: &str| u32::try_from(text.len()).unwrap();
                out.extend(words(&[length(&d.host), length(&d.name), d.format]));
                out.extend([d.host.as_bytes(), d.name.as_bytes()].concat());
            } else {
                out.extend([padded(&d.host, 64), padded(&d.name, 255)].concat());
            }
        }
        self.gone.iter_mut().for_each(|(left, _)| *left -= 1);
        for (_, connection) in self.gone.extract_if(.., |(left, _)| *left == 0).collect::<Vec<_>>()
        {
            self.release(connection);
        }
        out
    }

    pub fn reply(&mut self, connection: u64, command: u32, body: &[u8], now: Duration) -> Vec<u8> {
        let one = if body.len() >= 8 { u64_at(body, 0) } else { 0 };
        let (effective, created) = self.connections.get(&connection).copied().unwrap_or_default();
        let (back, most, early) = (self.back, self.most, self.early);
        let mine = Some(connection);
        let session = self.sessions.iter_mut().find(|s| s.id == one && !s.over);
        match (command, session) {
            (1, _) => {
                self.connections.insert(connection, (u32_at(body, 12).min(self.minor), false));
                [&7u64.to_be_bytes()[..], &words(&[2, self.minor, 0])].concat()
            }
            (2, _) => self.list(effective),
            (8, _) => {
                self.connections.insert(connection, (effective, true));
                words(&[1])
            }
            (3, _) if !created => words(&[6, 0]),
            (3, _) if self.busy > 0 => {
                self.busy -= 1;
                words(&[2, 0])
            }
            (3, Some(s)) if s.dialogue.format == 0 || effective >= 15 => {
                match (s.dialogue.live_timer, s.clients, s.attached) {
                    (0, ..) => words(&[4, 0]),
                    (_, 0, None) => {
                        s.attached = mine;
                        s.reset();
                        s.announce()
                    }
                    _ => words(&[2, 0]),
                }
            }
            (3, _) => words(&[3, 0]),
            (7, Some(s)) if s.attached == mine => {
                if self.failing > 0 {
                    self.failing -= 1;
                    return words(&[3, 0]);
                }
                if s.groups >= s.dialogue.groups.len() && (s.next.is_empty() || early) {
                    s.over = true;
                    return words(&[4, 0]);
                }
                s.announce()
            }
            (7, _) => words(&[3, 0]),
            (9, Some(s)) if s.attached == mine && effective >= 8 => {
                s.attached = None;
                words(&[1])
            }
            (9, _) => words(&[2]),
            _ => {
                // One viewer session has one folder: that of the session whose streams were opened
                // last.
                assert!(
                    self.sessions.iter().filter(|s| s.attached == mine).count() <= 1,
                    "two sessions on one connection"
                );
                let mine = self
                    .sessions
                    .iter_mut()
                    .find(|s| s.attached == mine && s.dialogue.traces.contains_key(&one));
                match (command, mine) {
                    (4, Some(_)) if now < self.quiet => [vec![0; 56], words(&[2, 0])].concat(),
                    (4, Some(s)) if s.dialogue.streams.contains_key(&one) => s.index(one),
                    (4, _) => [vec![0; 56], words(&[4, 0])].concat(),
                    (5, Some(s)) if s.dialogue.streams.contains_key(&one) => {
                        s.packet(one, u64_at(body, 8), u32_at(body, 16), back, most)
                    }
                    (5, _) => words(&[3, 0, 0]),
                    (6, Some(s)) if s.dialogue.metadata.contains_key(&one) => s.metadata(one),
                    _ => words(&[0, 0, 3]),
                }
            }
        }
    }
}
