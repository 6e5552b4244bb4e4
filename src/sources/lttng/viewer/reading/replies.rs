//! What each reply to a reading does: streams and metadata that come, indexes and packets.

use std::time::Duration;

use super::super::connection::{Step, read};
use super::super::wire::{Flags, IndexStatus, PacketStatus, ProtocolError, Request, malformed};
use super::super::{
    Attached, Beacon, Index, Need, Observer, Packet, Refused, SessionEnd, Skipped, StreamEnd,
    StreamInfo, TraceKey, Violation, wire,
};
use super::Reading;
use super::streams::{FIRST_PAUSE, LAST_PAUSE, PendingPacket, Stream, Trace, Waits};
use crate::contract::SessionError;
use crate::sources::lttng::limits;

impl Reading {
    pub(super) fn reply(
        &mut self,
        now: Duration,
        request: Request,
        input: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<Step, ProtocolError> {
        match request {
            Request::Connect { minor } => {
                read!(self.connection.on_connect(minor, input)?);
                Ok(Step::Last(wire::CONNECT))
            }
            Request::CreateSession => {
                if read!(wire::word(input)) != 1 {
                    return Err(SessionError::Closed("the relay daemon takes no viewers"));
                }
                Ok(Step::Last(wire::WORD))
            }
            Request::AttachSession { .. } => self.on_attach(now, input, observer),
            Request::GetNextIndex { stream } => {
                let (index, status, flags) = read!(wire::index(input));
                self.on_index(now, stream, index, wire::index_status(status)?, flags, observer);
                Ok(Step::Last(wire::INDEX))
            }
            Request::GetPacket { stream, length, .. } => {
                self.on_packet(now, stream, length, input, observer)
            }
            Request::GetMetadata { stream } => self.on_metadata(now, stream, input, observer),
            Request::GetNewStreams { .. } => self.on_new_streams(now, input, observer),
            Request::DetachSession { .. } => {
                read!(wire::word(input));
                Ok(Step::Last(wire::WORD))
            }
            Request::ListSessions => Err(malformed("an answer to what is not asked here")),
        }
    }

    fn on_attach(
        &mut self,
        now: Duration,
        input: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<Step, ProtocolError> {
        if let Some(left) = self.connection.rest {
            return self.on_record(now, left, input, observer);
        }
        let (status, count) = read!(wire::pair(input));
        let why = match (status, count) {
            (1, count) => {
                wire::within("streams.announced", count, limits::RECORDS)?;
                self.attached = Some(now);
                self.schedule_streams(now);
                observer.attached(Attached {
                    session: &self.session,
                    seek: self.seek,
                    streams: count,
                });
                return Ok(self.records(count));
            }
            (2, 0) if self.ours => Refused::Ours,
            (2, 0) => Refused::Busy,
            (3, 0) => Refused::Unknown,
            (4, 0) => Refused::NotLive,
            (5, 0) => Refused::BadSeek,
            _ => {
                return Err(malformed(format!(
                    "status {status} of an attach, with {count} streams"
                )));
            }
        };
        self.refused = Some(why);
        observer.refused(&self.session, why);
        Ok(Step::Last(wire::PAIR))
    }

    /// Stream records follow in the same reply.
    const fn records(&mut self, count: u32) -> Step {
        if count == 0 {
            return Step::Last(wire::PAIR);
        }
        self.connection.rest = Some(count);
        Step::Part(wire::PAIR)
    }

    fn on_record(
        &mut self,
        now: Duration,
        left: u32,
        input: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<Step, ProtocolError> {
        let record = read!(wire::record(input));
        self.open(now, record, observer);
        let left = left.saturating_sub(1);
        self.connection.rest = Some(left);
        Ok(if left == 0 { Step::Last(wire::RECORD) } else { Step::Part(wire::RECORD) })
    }

    fn open(&mut self, now: Duration, record: wire::Record, observer: &mut dyn Observer) {
        let key = TraceKey { session: self.session.id, trace: record.trace };
        let wire::Record { id: stream, metadata, path, channel, .. } = record;
        let info = StreamInfo { id: stream, trace: key, metadata, path, channel };
        if self.streams.contains_key(&stream) || self.metadata.contains_key(&stream) {
            return observer.violation(Violation::StreamRepeated);
        }
        let full = self.streams.len() + self.metadata.len() >= self.settings.streams;
        if full || self.open_streams.len() >= limits::CROWD {
            return observer.violation(Violation::TooManyStreams);
        }
        let trace = self.traces.entry(key).or_insert_with(|| Trace::new(now));
        if metadata && trace.stream.is_some() {
            return observer.violation(Violation::StreamRepeated);
        }
        observer.stream_opened(&info);
        if metadata {
            trace.stream = Some(stream);
            self.metadata.insert(stream, key);
            self.request_metadata(now, key);
        } else {
            trace.count(true, now);
            self.streams.insert(
                stream,
                Stream::new(info, self.session.live_timer, now, self.open_streams.enter()),
            );
        }
    }

    fn on_new_streams(
        &mut self,
        now: Duration,
        input: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<Step, ProtocolError> {
        if let Some(left) = self.connection.rest {
            return self.on_record(now, left, input, observer);
        }
        let (status, count) = read!(wire::pair(input));
        match (status, count) {
            (1, count) => {
                wire::within("streams.announced", count, limits::RECORDS)?;
                self.schedule_streams(now);
                return Ok(self.records(count));
            }
            (2, 0) => self.schedule_streams(now),
            (3, 0) => self.finish(SessionEnd::Lost, observer),
            (4, 0) => self.destroyed(now, observer),
            _ => return Err(malformed(format!("status {status} of new streams, with {count}"))),
        }
        Ok(Step::Last(wire::PAIR))
    }

    fn on_metadata(
        &mut self,
        now: Duration,
        id: u64,
        input: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<Step, ProtocolError> {
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
        let others: u64 = self
            .traces
            .iter()
            .filter(|(other, _)| **other != key)
            .map(|(_, trace)| trace.total)
            .sum();
        let Some(trace) = self.traces.get_mut(&key) else { return Ok(Step::Last(end)) };
        if status == 3 || (bytes.is_empty() && trace.is_past(now)) {
            trace.set_gone(now);
            let open = trace.open;
            self.retry_waiting(now, key);
            self.release(key);
            // Packets of open streams still need what there is.
            if open == 0 {
                self.forget(key, observer);
            }
            return Ok(Step::Last(end));
        }
        if !bytes.is_empty() {
            let identifies = trace.is_unidentified();
            if trace.append(bytes) {
                observer.metadata_restart(key);
            }
            if identifies {
                let of_trace = |stream: &&mut Stream| stream.info.trace == key;
                for stream in self.streams.values_mut().filter(of_trace) {
                    stream.rename(trace, &mut self.replay_filter);
                }
            }
            trace.need = observer.metadata(key, bytes);
            let total = trace.total;
            if total > limits::METADATA {
                return Err(SessionError::Limit {
                    limit: "metadata.trace",
                    got: total,
                    max: limits::METADATA,
                });
            }
            let all = others.saturating_add(total);
            if all > limits::METADATA_SESSION {
                return Err(SessionError::Limit {
                    limit: "metadata.session",
                    got: all,
                    max: limits::METADATA_SESSION,
                });
            }
        }
        if !bytes.is_empty() || std::mem::take(&mut trace.again) {
            // Requested again until there is nothing new.
            self.connection.push(Request::GetMetadata { stream: id });
            if !bytes.is_empty() {
                self.retry_waiting(now, key);
            }
            return Ok(Step::Last(end));
        }
        if trace.settle(now) {
            observer.violation(Violation::MetadataMissing);
        }
        if trace.ready() {
            self.release(key);
        }
        Ok(Step::Last(end))
    }

    pub(super) fn on_index(
        &mut self,
        now: Duration,
        id: u64,
        index: Index,
        status: IndexStatus,
        flags: Flags,
        observer: &mut dyn Observer,
    ) {
        let Some(key) = self.streams.get(&id).map(|stream| stream.info.trace) else { return };
        self.on_flags(now, key, flags);
        let step = self.step();
        let (Some(stream), Some(trace)) = (self.streams.get_mut(&id), self.traces.get(&key)) else {
            return;
        };
        stream.index_requested = false;
        match status {
            IndexStatus::Ok => {
                stream.backoff.news(now, true);
                if self.closing.is_some() {
                    self.closing = Some(now + limits::CLOSING);
                }
                match length(&index, self.settings.packet) {
                    Ok(length) => {
                        stream.index_after = now;
                        stream.packet_after =
                            if stream.pending.is_empty() { now } else { stream.packet_after };
                        stream.pending.push_back(PendingPacket {
                            index,
                            length,
                            tries: 0,
                            pieces: 0,
                        });
                    }
                    Err(why) => {
                        // Skipped packets cost no transfer, so only a pause limits their rate.
                        stream.index_after = now + step;
                        observer.skipped(&stream.info, &index, why);
                    }
                }
            }
            IndexStatus::Retry => stream.index_after = stream.backoff.next(now, step),
            IndexStatus::Inactive => {
                if stream.beacon != Some(index.timestamp_end) {
                    stream.beacon = Some(index.timestamp_end);
                    stream.backoff.news(now, false);
                    // The filter must not pass a beacon before a packet that is still pending.
                    let known = trace.ready() && stream.pending.is_empty();
                    if !known || self.replay_filter.beacon(stream.key(trace), index.timestamp_end) {
                        let (timestamp_end, class) = (index.timestamp_end, index.stream_class);
                        observer.beacon(Beacon { stream: &stream.info, timestamp_end, class });
                    }
                }
                stream.index_after = stream.backoff.next(now, step);
            }
            IndexStatus::HungUp => {
                // Indexed packets are still read.
                stream.hung_up = true;
                if stream.is_drained() {
                    return self.end(now, id, StreamEnd::HungUp, observer);
                }
            }
            IndexStatus::Error => return self.end(now, id, StreamEnd::Error, observer),
        }
        stream.schedule(trace.ready());
    }

    /// A stream has ended.
    pub(super) fn end(
        &mut self,
        now: Duration,
        id: u64,
        why: StreamEnd,
        observer: &mut dyn Observer,
    ) {
        self.give_up_waiting(id, observer);
        let Some(stream) = self.streams.remove(&id) else { return };
        for pending in &stream.pending {
            observer.skipped(&stream.info, &pending.index, Skipped::Unreadable);
        }
        observer.stream_ended(&stream.info, why);
        let key = stream.info.trace;
        if let Some(trace) = self.traces.get_mut(&key) {
            trace.count(false, now);
            if trace.open == 0 && trace.is_gone() {
                self.forget(key, observer);
            }
        }
        self.partial = self.partial.saturating_sub(stream.partial.len());
        if self.closing.is_some() && self.streams.is_empty() {
            self.finish(SessionEnd::Closed, observer);
        } else if self.streams.is_empty() || why == StreamEnd::Error {
            self.expedite_streams();
        }
    }

    pub(super) fn on_packet(
        &mut self,
        now: Duration,
        id: u64,
        asked: u32,
        input: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<Step, ProtocolError> {
        let (status, length, flags) = read!(wire::packet(input));
        let mut status = wire::packet_status(status)?;
        let mut bytes: &[u8] = &[];
        if status == PacketStatus::Ok {
            // The relay daemon sends at most the requested length.
            let end = wire::PACKET + wire::within("packet.length", length, asked)?;
            bytes = read!(input.get(wire::PACKET..end).ok_or(end));
            if bytes.is_empty() {
                status = PacketStatus::Error;
            }
        }
        let read = wire::PACKET + bytes.len();
        let Some(key) = self.streams.get(&id).map(|stream| stream.info.trace) else {
            return Ok(Step::Last(read));
        };
        self.on_flags(now, key, flags);
        let (Some(stream), Some(trace)) = (self.streams.get_mut(&id), self.traces.get_mut(&key))
        else {
            return Ok(Step::Last(read));
        };
        stream.packet_requested = false;
        match (status, stream.pending.front_mut()) {
            (PacketStatus::Ok, Some(pending)) => {
                if length < asked || !stream.partial.is_empty() {
                    // The packet comes in pieces.
                    stream.partial.extend_from_slice(bytes);
                    self.partial += bytes.len();
                    pending.pieces += 1;
                }
                let (index, whole) = (pending.index, length == asked);
                let too_much = self.partial > limits::PARTIAL || pending.pieces > limits::PIECES;
                if whole {
                    let pieces = !stream.partial.is_empty();
                    let room = pieces || self.partial + bytes.len() <= limits::PARTIAL;
                    let may_wait = room && trace.may_wait(now, None);
                    let content = if pieces { &stream.partial } else { bytes };
                    let info = &stream.info;
                    let packet = Packet { stream: info, index: &index, bytes: content, may_wait };
                    if observer.packet(packet) == Need::More && may_wait {
                        if !pieces {
                            stream.partial.extend_from_slice(bytes);
                            self.partial += bytes.len();
                        }
                        stream.waits = Some(Waits { since: now, pause: FIRST_PAUSE });
                        stream.packet_after = now + FIRST_PAUSE;
                        stream.schedule(trace.ready());
                        self.request_metadata(now, key);
                        return Ok(Step::Last(read));
                    }
                    let key = stream.key(trace);
                    self.replay_filter.packet(key, &index);
                } else if too_much {
                    observer.skipped(&stream.info, &index, Skipped::TooLarge);
                }
                if whole || too_much {
                    self.partial -= stream.done();
                }
            }
            // Metadata must be read first, or a rotation is under way.
            (PacketStatus::Retry | PacketStatus::Error, Some(pending))
                if pending.tries < limits::PACKET_TRIES
                    && (status == PacketStatus::Retry || flags.new_metadata()) =>
            {
                let pause = Duration::from_millis(5) * (1 << pending.tries.min(8));
                pending.tries += 1;
                stream.packet_after =
                    if flags.new_metadata() && pending.tries == 1 { now } else { now + pause };
            }
            (_, Some(pending)) => {
                observer.skipped(&stream.info, &pending.index, Skipped::Unreadable);
                self.partial -= stream.done();
            }
            (_, None) => {}
        }
        stream.schedule(trace.ready());
        if stream.is_drained() {
            self.end(now, id, StreamEnd::HungUp, observer);
        }
        Ok(Step::Last(read))
    }
}

impl Reading {
    /// Reports a packet that waits once more. It goes on waiting only if it may.
    pub(super) fn retry_packet(&mut self, now: Duration, id: u64, observer: &mut dyn Observer) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(waits) = stream.waits else { return };
        let Some(trace) = self.traces.get_mut(&stream.info.trace) else { return };
        let may_wait = trace.may_wait(now, Some(waits));
        if self.tell_waiting(id, may_wait, observer) {
            return;
        }
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.waits = Some(Waits { pause: (waits.pause * 2).min(LAST_PAUSE), ..waits });
        stream.packet_after = now + waits.pause;
        let key = stream.info.trace;
        self.request_metadata(now, key);
    }

    /// Reports a packet that waits, whether its class has come or not.
    pub(super) fn give_up_waiting(&mut self, id: u64, observer: &mut dyn Observer) {
        if self.streams.get(&id).is_some_and(|stream| stream.waits.is_some()) {
            self.tell_waiting(id, false, observer);
        }
    }

    /// Reports the first pending packet of a stream, all of which is there. `false`: it must wait.
    fn tell_waiting(&mut self, id: u64, may_wait: bool, observer: &mut dyn Observer) -> bool {
        let Some(stream) = self.streams.get_mut(&id) else { return true };
        let (Some(trace), Some(pending)) =
            (self.traces.get(&stream.info.trace), stream.pending.front())
        else {
            return true;
        };
        let index = pending.index;
        let bytes = &stream.partial;
        let packet = Packet { stream: &stream.info, index: &index, bytes, may_wait };
        if observer.packet(packet) == Need::More && may_wait {
            return false;
        }
        let key = stream.key(trace);
        self.replay_filter.packet(key, &index);
        self.partial -= stream.done();
        true
    }

    /// Metadata has come, or none comes any more: packets that wait for their classes are tried again.
    pub(super) fn retry_waiting(&mut self, now: Duration, key: TraceKey) {
        let waiting = |stream: &&mut Stream| stream.info.trace == key && stream.waits.is_some();
        self.streams.values_mut().filter(waiting).for_each(|stream| stream.packet_after = now);
    }
}

/// Bytes of a packet's content, if a request can have this length.
fn length(index: &Index, max: usize) -> Result<u32, Skipped> {
    if index.content_size == 0 || index.content_size > index.packet_size {
        return Err(Skipped::BadIndex);
    }
    let length = index.content_size.div_ceil(8);
    u32::try_from(length).ok().filter(|_| length <= max as u64).ok_or(Skipped::TooLarge)
}
