//! Replies other than indexes and packets ([`super::packets`]).

use std::time::Duration;

use super::super::connection::{Step, read};
use super::super::limits;
use super::super::model::{StreamInfo, TraceKey};
use super::super::observer::{Attached, Observer, Refused, SessionEnd, Violation};
use super::super::wire::{self, Flags, ProtocolError, Request, malformed};
use super::Reading;
use super::streams::{Stream, Trace};
use crate::contract::SessionError;

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

    /// The session was destroyed: open streams are read to their ends.
    fn destroyed(&mut self, now: Duration, observer: &mut dyn Observer) {
        self.asked = false;
        if self.streams.is_empty() {
            return self.finish(SessionEnd::Closed, observer);
        }
        self.closing = Some(now + limits::CLOSING);
        let Self { streams, traces, .. } = self;
        for stream in streams.values_mut() {
            stream.index_after = now;
            stream.schedule(traces.get(&stream.info.trace).is_some_and(Trace::ready));
        }
    }

    pub(super) fn on_flags(&mut self, now: Duration, key: TraceKey, flags: Flags) {
        if flags.new_metadata() {
            self.request_metadata(now, key);
        }
        if flags.new_streams() {
            self.expedite_streams();
        }
    }

    pub(super) fn forget(&mut self, key: TraceKey, observer: &mut dyn Observer) {
        observer.trace_gone(key);
        if let Some(stream) = self.traces.remove(&key).and_then(|trace| trace.stream) {
            self.metadata.remove(&stream);
        }
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
}
