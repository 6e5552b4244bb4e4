//! What to make of a reply.

use super::connection::Viewer;
use super::limits;
use super::observer::{Attached, Beacon, Complaint, Ended, Observer, Over, Packet, Refused, Relayd};
use super::observer::{Skipped, StreamInfo, TraceKey};
use super::sessions::Session;
use super::streams::{Stream, Trace, Waiting, Wanted};
use super::wire::{self, Flags, Index, IndexStatus, PacketStatus, Request, Wrong, malformed};
use crate::sources::SessionError;
use bytes::{Buf, BytesMut};
use std::time::Duration;

/// How far the front of the input went.
enum Step {
    /// So many bytes are read; the reply goes on.
    Part(usize),
    /// So many bytes are read; they were the end of the reply.
    Last(usize),
    /// So many bytes must be there to go on.
    Need(usize),
}

/// Reads a fixed part, or says how many bytes it has.
macro_rules! read {
    ($fixed:expr) => {
        match $fixed {
            Ok(read) => read,
            Err(need) => return Ok(Step::Need(need)),
        }
    };
}

impl Viewer {
    /// Reads all replies that are complete.
    pub(super) fn replies(
        &mut self,
        now: Duration,
        input: &mut BytesMut,
        observer: &mut dyn Observer,
    ) -> Result<(), SessionError> {
        loop {
            let Some(request) = self.asks.front() else {
                return if input.is_empty() { Ok(()) } else { Err(malformed("bytes that nobody asked for")) };
            };
            let (read, last) = match self.reply(now, request, input, observer)? {
                Step::Part(read) => (read, false),
                Step::Last(read) => (read, true),
                Step::Need(need) => {
                    // Room for the index behind a packet as well: one read takes both.
                    input.reserve((need + wire::INDEX).saturating_sub(input.len()));
                    return Ok(());
                }
            };
            input.advance(read);
            self.consumed += read as u64;
            if last {
                self.asks.answered();
                self.rest = None;
            }
        }
    }

    fn reply(&mut self, now: Duration, request: Request, input: &[u8], observer: &mut dyn Observer) -> Result<Step, Wrong> {
        match request {
            Request::Connect { minor } => {
                let theirs = wire::minor(read!(wire::connect(input)))?;
                self.minor = theirs.min(minor);
                observer.connected(Relayd { minor: theirs, effective: self.minor });
                Ok(Step::Last(wire::CONNECT))
            }
            Request::CreateSession => {
                if read!(wire::word(input)) != 1 {
                    return Err(SessionError::Closed("the relay daemon takes no viewers"));
                }
                self.ready = true;
                Ok(Step::Last(wire::WORD))
            }
            Request::ListSessions => self.on_list(now, input, observer),
            Request::AttachSession { session, .. } => self.on_attach(now, session, input, observer),
            Request::GetNextIndex { stream } => {
                let (index, status, flags) = read!(wire::index(input));
                self.on_index(now, stream, index, wire::index_status(status)?, flags, observer);
                Ok(Step::Last(wire::INDEX))
            }
            Request::GetPacket { stream, length, .. } => self.on_packet(now, stream, length, input, observer),
            Request::GetMetadata { stream } => self.on_metadata(now, stream, input, observer),
            Request::GetNewStreams { session } => self.on_new_streams(now, session, input, observer),
            Request::DetachSession { .. } => {
                read!(wire::word(input));
                Ok(Step::Last(wire::WORD))
            }
        }
    }

    fn on_list(&mut self, now: Duration, input: &[u8], observer: &mut dyn Observer) -> Result<Step, Wrong> {
        let (left, read) = match self.rest {
            None => {
                let count = read!(wire::word(input));
                wire::within("sessions.listed", count, limits::LISTED)?;
                self.listed = count;
                (count, wire::WORD)
            }
            Some(left) => {
                let (info, read) = read!(wire::session(input, self.minor)?);
                let wanted = self.settings.patterns.iter().any(|pattern| pattern.fits(&info.host, &info.name));
                observer.session_listed(&info, wanted);
                if wanted && !self.sessions.contains_key(&info.id) {
                    let beginning = self.seen.session(&info);
                    if !self.candidates.listed(info, beginning) {
                        observer.complaint(Complaint::TooManySessions);
                    }
                }
                (left.saturating_sub(1), read)
            }
        };
        self.rest = Some(left);
        if left > 0 {
            return Ok(Step::Part(read));
        }
        self.seen.listing_done();
        self.candidates.listing_done();
        observer.listing_done(self.listed);
        self.list_due = Some(now + self.settings.list.max(Duration::from_millis(10)));
        self.attach_candidates(now, observer);
        Ok(Step::Last(read))
    }

    fn attach_candidates(&mut self, now: Duration, observer: &mut dyn Observer) {
        let room = self.settings.sessions.saturating_sub(self.sessions.len());
        for candidate in self.candidates.take(now, room, |session, why| observer.refused(session, why)) {
            let seek = if candidate.beginning { super::Seek::Beginning } else { self.settings.seek };
            let id = candidate.info.id;
            self.asks.push(Request::AttachSession { session: id, seek });
            self.sessions.insert(id, Session::new(candidate, seek, now));
        }
    }

    fn on_attach(&mut self, now: Duration, id: u64, input: &[u8], observer: &mut dyn Observer) -> Result<Step, Wrong> {
        if let Some(left) = self.rest {
            return self.on_record(now, id, left, input, observer);
        }
        let (status, count) = read!(wire::pair(input));
        if status == 1 {
            wire::within("streams.announced", count, limits::RECORDS)?;
            if let Some(session) = self.sessions.get_mut(&id) {
                session.attached = true;
                session.relax(now, session.info.live_timer);
                self.seen.attached(&session.info);
                observer.attached(Attached { session: &session.info, seek: session.seek, streams: count });
            }
            return Ok(self.records(count));
        }
        let why = match (status, count) {
            (2, 0) => Refused::Busy,
            (3, 0) => Refused::Unknown,
            (4, 0) => Refused::NotLive,
            (5, 0) => Refused::BadSeek,
            _ => return Err(malformed(format!("status {status} of an attach, with {count} streams"))),
        };
        if let Some(session) = self.sessions.remove(&id) {
            observer.refused(&session.info, why);
            self.candidates.back_off(session, Some(why), now);
        }
        Ok(Step::Last(wire::PAIR))
    }

    /// Stream records follow.
    const fn records(&mut self, count: u32) -> Step {
        if count == 0 {
            return Step::Last(wire::PAIR);
        }
        self.rest = Some(count);
        Step::Part(wire::PAIR)
    }

    fn on_record(&mut self, now: Duration, id: u64, left: u32, input: &[u8], observer: &mut dyn Observer) -> Result<Step, Wrong> {
        let record = read!(wire::record(input));
        self.open(now, id, record, observer);
        let left = left.saturating_sub(1);
        self.rest = Some(left);
        Ok(if left == 0 { Step::Last(wire::RECORD) } else { Step::Part(wire::RECORD) })
    }

    fn open(&mut self, now: Duration, id: u64, record: wire::Record, observer: &mut dyn Observer) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let key = TraceKey { session: id, trace: record.trace };
        let wire::Record { id: stream, metadata, path, channel, .. } = record;
        let info = StreamInfo { id: stream, trace: key, metadata, path, channel };
        if self.streams.contains_key(&stream) || self.metadata.contains_key(&stream) {
            return observer.complaint(Complaint::StreamRepeated);
        }
        if self.streams.len() + self.metadata.len() >= self.settings.streams {
            return observer.complaint(Complaint::TooManyStreams);
        }
        let trace = self.traces.entry(key).or_insert_with(|| Trace::new(now));
        if metadata && trace.stream.is_some() {
            return observer.complaint(Complaint::StreamRepeated);
        }
        observer.stream_opened(&info);
        if metadata {
            trace.stream = Some(stream);
            self.metadata.insert(stream, key);
            self.ask_metadata(now, key);
        } else {
            trace.count(true, now);
            session.open += 1;
            let live_timer = session.info.live_timer;
            self.streams.insert(stream, Stream::new(info, live_timer, now));
        }
    }

    fn on_new_streams(&mut self, now: Duration, id: u64, input: &[u8], observer: &mut dyn Observer) -> Result<Step, Wrong> {
        if let Some(left) = self.rest {
            return self.on_record(now, id, left, input, observer);
        }
        let (status, count) = read!(wire::pair(input));
        match (status, count) {
            (1, count) => {
                wire::within("streams.announced", count, limits::RECORDS)?;
                self.relax(now, id);
                return Ok(self.records(count));
            }
            (2, 0) => self.relax(now, id),
            (3, 0) => self.over(now, id, Over::Lost, observer),
            (4, 0) => self.over(now, id, Over::Closed, observer),
            _ => return Err(malformed(format!("status {status} of new streams, with {count}"))),
        }
        Ok(Step::Last(wire::PAIR))
    }

    fn relax(&mut self, now: Duration, id: u64) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.relax(now, session.info.live_timer);
        }
    }

    /// A session is over, and all that was in it.
    fn over(&mut self, now: Duration, id: u64, why: Over, observer: &mut dyn Observer) {
        let Some(session) = self.sessions.remove(&id) else { return };
        self.streams.retain(|_, stream| stream.info.trace.session != id);
        self.metadata.retain(|_, key| key.session != id);
        self.traces.retain(|key, _| key.session != id);
        observer.session_over(&session.info, why);
        // If it is still listed it may be attached again, but not at once.
        self.candidates.back_off(session, None, now);
    }

    fn flagged(&mut self, now: Duration, key: TraceKey, flags: Flags) {
        if flags.new_metadata() {
            self.ask_metadata(now, key);
        }
        if flags.new_streams()
            && let Some(session) = self.sessions.get_mut(&key.session)
        {
            session.hurry();
        }
    }

    fn on_index(&mut self, now: Duration, id: u64, index: Index, status: IndexStatus, flags: Flags, observer: &mut dyn Observer) {
        let Some(key) = self.streams.get(&id).map(|stream| stream.info.trace) else { return };
        self.flagged(now, key, flags);
        let step = self.step();
        let (Some(stream), Some(trace)) = (self.streams.get_mut(&id), self.traces.get(&key)) else { return };
        stream.asked_index = false;
        match status {
            IndexStatus::Ok => {
                stream.pace.news(now, true);
                match length(&index, self.settings.packet) {
                    Ok(length) => {
                        stream.index_after = now;
                        stream.packet_after = if stream.wanted.is_empty() { now } else { stream.packet_after };
                        stream.wanted.push_back(Wanted { index, length, tries: 0 });
                    }
                    Err(why) => {
                        // Not at once: such packets cost no transfer, so nothing else would slow them down.
                        stream.index_after = now + step;
                        observer.skipped(&stream.info, &index, why);
                    }
                }
            }
            IndexStatus::Retry => stream.index_after = stream.pace.next(now, step),
            IndexStatus::Inactive => {
                if stream.beacon != Some(index.timestamp_end) {
                    stream.beacon = Some(index.timestamp_end);
                    stream.pace.news(now, false);
                    // A packet before it may still have to be read: then it must not be remembered.
                    let known = trace.ready() && stream.wanted.is_empty();
                    if !known || self.seen.beacon(stream.key(trace), index.timestamp_end) {
                        let (timestamp_end, class) = (index.timestamp_end, index.stream_class);
                        observer.beacon(Beacon { stream: &stream.info, timestamp_end, class });
                    }
                }
                stream.index_after = stream.pace.next(now, step);
            }
            IndexStatus::HungUp => return self.end(now, id, Ended::HungUp, observer),
            IndexStatus::Error => return self.end(now, id, Ended::Error, observer),
        }
        stream.schedule(trace.ready());
    }

    /// Nothing more comes of a stream.
    fn end(&mut self, now: Duration, id: u64, why: Ended, observer: &mut dyn Observer) {
        let Some(stream) = self.streams.remove(&id) else { return };
        for wanted in &stream.wanted {
            observer.skipped(&stream.info, &wanted.index, Skipped::Unreadable);
        }
        observer.stream_ended(&stream.info, why);
        let key = stream.info.trace;
        if let Some(trace) = self.traces.get_mut(&key) {
            trace.count(false, now);
            if trace.open == 0 && trace.waiting == Waiting::Gone {
                self.forget(key);
            }
        }
        if let Some(session) = self.sessions.get_mut(&key.session) {
            session.open = session.open.saturating_sub(1);
            if session.open == 0 || why == Ended::Error {
                session.hurry();
            }
        }
    }

    fn forget(&mut self, key: TraceKey) {
        if let Some(stream) = self.traces.remove(&key).and_then(|trace| trace.stream) {
            self.metadata.remove(&stream);
        }
    }

    fn on_packet(
        &mut self,
        now: Duration,
        id: u64,
        asked: u32,
        input: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<Step, Wrong> {
        let (status, length, flags) = read!(wire::packet(input));
        let mut status = wire::packet_status(status)?;
        let mut bytes: &[u8] = &[];
        if status == PacketStatus::Ok {
            // The relay daemon sends what was asked or less, never more.
            let end = wire::PACKET + wire::within("packet.length", length, asked)?;
            bytes = read!(input.get(wire::PACKET..end).ok_or(end));
            if length < asked {
                status = PacketStatus::Error;
            }
        }
        let read = wire::PACKET + bytes.len();
        let Some(key) = self.streams.get(&id).map(|stream| stream.info.trace) else { return Ok(Step::Last(read)) };
        self.flagged(now, key, flags);
        let (Some(stream), Some(trace)) = (self.streams.get_mut(&id), self.traces.get(&key)) else { return Ok(Step::Last(read)) };
        stream.asked_packet = false;
        match (status, stream.wanted.front_mut()) {
            (PacketStatus::Ok, Some(wanted)) => {
                observer.packet(Packet { stream: &stream.info, index: &wanted.index, bytes });
                let (index, seen) = (wanted.index, stream.key(trace));
                self.seen.packet(seen, &index);
                stream.wanted.pop_front();
            }
            // Something holds it up: metadata that must be read first, or a rotation.
            (PacketStatus::Retry | PacketStatus::Error, Some(wanted))
                if wanted.tries < limits::PACKET_TRIES && (status == PacketStatus::Retry || flags.new_metadata()) =>
            {
                let pause = Duration::from_millis(5) * (1 << wanted.tries.min(8));
                wanted.tries += 1;
                stream.packet_after = if flags.new_metadata() && wanted.tries == 1 { now } else { now + pause };
            }
            (_, Some(wanted)) => {
                observer.skipped(&stream.info, &wanted.index, Skipped::Unreadable);
                stream.wanted.pop_front();
            }
            (_, None) => {}
        }
        stream.schedule(trace.ready());
        Ok(Step::Last(read))
    }

    fn on_metadata(&mut self, now: Duration, id: u64, input: &[u8], observer: &mut dyn Observer) -> Result<Step, Wrong> {
        let (length, status) = read!(wire::metadata(input));
        let max = limits::METADATA_REPLY as u64;
        if length > max {
            return Err(SessionError::Limit { limit: "metadata.reply", got: length, max });
        }
        // The limit is far below 2^32.
        let end = wire::METADATA + usize::try_from(length).unwrap_or(usize::MAX);
        let bytes = read!(input.get(wire::METADATA..end).ok_or(end));
        if !(1..=3).contains(&status) || (status != 1 && length > 0) {
            return Err(malformed(format!("status {status} of metadata, with {length} bytes")));
        }
        let Some(key) = self.metadata.get(&id).copied() else { return Ok(Step::Last(end)) };
        let Some(trace) = self.traces.get_mut(&key) else { return Ok(Step::Last(end)) };
        if status == 3 || (bytes.is_empty() && trace.is_past(now)) {
            trace.waiting = Waiting::Gone;
            let open = trace.open;
            observer.trace_gone(key);
            self.release(key);
            if open == 0 {
                self.forget(key);
            }
            return Ok(Step::Last(end));
        }
        if !bytes.is_empty() {
            if trace.came(bytes) {
                observer.metadata_restart(key);
            }
            if trace.total > limits::METADATA {
                return Err(SessionError::Limit { limit: "metadata.trace", got: trace.total, max: limits::METADATA });
            }
            trace.need = observer.metadata(key, bytes);
        }
        if !bytes.is_empty() || std::mem::take(&mut trace.again) {
            // Until there is nothing new.
            self.asks.push(Request::GetMetadata { stream: id });
            return Ok(Step::Last(end));
        }
        if trace.settle(now) {
            observer.complaint(Complaint::MetadataMissing);
        }
        if trace.ready() {
            self.release(key);
        }
        Ok(Step::Last(end))
    }
}

/// Bytes of a packet's content, as a request can ask for them.
fn length(index: &Index, max: usize) -> Result<u32, Skipped> {
    if index.content_size == 0 || index.content_size > index.packet_size {
        return Err(Skipped::BadIndex);
    }
    let length = index.content_size.div_ceil(8);
    u32::try_from(length).ok().filter(|_| length <= max as u64).ok_or(Skipped::TooLarge)
}
