//! A session by host and name, as users know it: its peer, traces and sums.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::super::metrics as m;
use super::super::record::{
    Definitions, RecordBuffers, RecordContext, RecordFilter, StreamPosition, Trace,
};
use super::super::viewer::{Need, Packet, SessionInfo, StreamInfo, TraceKey};
use crate::contract::{Held, Identity, Peer, PeerMaker};
use crate::model::{Departure, HeapSize, Manner, MetricItem, Now, Stamp, Value};
use crate::sources::foreign::ForeignReaders;

/// Most characters of host and of session name in an instance name.
const NAME_PART: usize = 100;

/// Live timers without a packet or beacon after which a session counts as silent.
const QUIET_TIMERS: u32 = 3;

/// Streams whose position is kept over connections.
const POSITIONS: usize = 16_384;

/// Instance name of a session: `host/session`.
pub(super) fn instance(info: &SessionInfo) -> String {
    let part = |text: &str| -> String {
        let clean = text
            .chars()
            .take(NAME_PART)
            .map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c });
        clean.collect()
    };
    format!("{}/{}", part(&info.host), part(&info.name))
}

/// One instance of the domain of sessions.
pub(super) struct Session {
    name: String,
    own_name: String,
    relay: Arc<str>,
    maker: PeerMaker,
    /// Open while the session is read or its state changes.
    peer: Option<Peer>,
    names: Definitions,
    buffers: RecordBuffers,
    traces: HashMap<TraceKey, Trace>,
    /// By session and stream number. Kept after a disconnect, so that losses are counted once.
    positions: HashMap<(u64, u64), StreamPosition>,
    streams: HashSet<u64>,
    /// Numbers of the relay daemon's sessions of this name that are attached.
    attached: HashSet<u64>,
    ever: bool,
    packets: u64,
    state: String,
    /// State changes are not logged: memory is short, and the driver logs that with a throttle.
    quiet: bool,
}

impl Session {
    /// Not connected yet.
    pub(super) fn new(info: &SessionInfo, relay: &Arc<str>, maker: &PeerMaker) -> Self {
        Self {
            name: instance(info),
            own_name: info.name.clone(),
            relay: Arc::clone(relay),
            maker: maker.clone(),
            peer: None,
            names: Definitions::default(),
            buffers: RecordBuffers::default(),
            traces: HashMap::new(),
            positions: HashMap::new(),
            streams: HashSet::new(),
            attached: HashSet::new(),
            ever: false,
            packets: 0,
            state: String::new(),
            quiet: false,
        }
    }

    /// Opens the peer.
    fn connect(&mut self, info: &SessionInfo, now: Now) {
        if self.peer.is_some() {
            return self.at(now);
        }
        let mut peer = self.maker.make();
        peer.at(now);
        let relay = self.relay.to_string();
        let labels = vec![("session", info.name.clone()), ("relay", relay.clone())];
        let identity = Identity {
            name: self.name.clone(),
            peer: relay,
            host: Some(info.host.clone()),
            labels,
            resumes: true,
            ..Identity::default()
        };
        peer.is(identity);
        peer.start_counters(m::METRICS);
        self.peer = Some(peer);
        // Parameters and rows belong to a peer.
        self.names = Definitions::new(&info.host, &info.name);
        self.traces.clear();
    }

    /// Closes the peer.
    fn disconnect(&mut self, departure: Departure) {
        if let Some(mut peer) = self.peer.take() {
            peer.end(departure);
        }
    }

    fn set(&mut self, item: MetricItem, value: impl Into<Value>) {
        if let Some(peer) = &mut self.peer {
            peer.set(item, value);
        }
    }

    fn add(&mut self, item: MetricItem, more: u64) {
        if let Some(peer) = &mut self.peer {
            peer.add(item, more);
        }
    }

    /// Sets the time of the updates that follow.
    pub(super) fn at(&mut self, now: Now) {
        self.peer.iter_mut().for_each(|s| s.at(now));
    }

    /// What was said reaches the store.
    pub(super) fn flush(&mut self) {
        self.peer.iter_mut().for_each(Peer::flush);
    }

    fn state(&mut self, up: bool, text: &str) {
        self.set(m::UP, u32::from(up));
        self.set(m::STATE, Value::Text(text.into()));
        if self.state != text {
            text.clone_into(&mut self.state);
            log::log!(
                if self.quiet { log::Level::Debug } else { log::Level::Info },
                "lttng::{}: {text}",
                self.name
            );
        }
    }

    /// Reports that the session is not read, unless another of the same name is.
    pub(super) fn refused(&mut self, info: &SessionInfo, text: &str, now: Now) {
        if self.attached.is_empty() {
            self.connect(info, now);
            self.state(false, text);
            self.disconnect(Departure::unread(text.to_owned()));
        }
    }

    pub(super) fn attached(&mut self, info: &SessionInfo, now: Now) {
        self.connect(info, now);
        if std::mem::replace(&mut self.ever, true) && self.attached.is_empty() {
            self.add(m::RECONNECTS, 1);
        }
        self.attached.insert(info.id);
        let timer = info.live_timer.max(Duration::from_secs(1));
        self.peer.iter_mut().for_each(|peer| peer.interval(timer * QUIET_TIMERS));
        self.state(true, "reading");
    }

    /// Sets whether the next end is for lack of memory, which is not logged here.
    pub(super) const fn quiet(&mut self, full: bool) {
        self.quiet = full;
    }

    /// A session of the relay daemon has ended; `text` becomes the state if it was the last one.
    pub(super) fn over(&mut self, info: &SessionInfo, manner: Manner, text: &str, now: Now) {
        self.at(now);
        self.attached.remove(&info.id);
        self.traces.retain(|key, _| key.session != info.id);
        if self.attached.is_empty() {
            self.traces.clear();
            self.streams.clear();
            self.set(m::STREAMS, 0u32);
            self.peer.iter_mut().for_each(|peer| peer.unset(m::LATENCY));
            self.state(false, text);
            self.disconnect(Departure { manner, why: text.to_owned().into() });
        }
    }

    /// The session was destroyed: drops the positions of its streams if no session of its name is
    /// attached.
    pub(super) fn forget(&mut self) {
        if self.attached.is_empty() {
            self.positions.clear();
        }
    }

    /// Adds a stream. `joined`: losses before its first packet are older than the attach and are
    /// not counted.
    pub(super) fn opened(&mut self, stream: &StreamInfo, joined: bool) {
        if stream.metadata {
            return;
        }
        self.streams.insert(stream.id);
        self.set(m::STREAMS, u32::try_from(self.streams.len()).unwrap_or(u32::MAX));
        let key = (stream.trace.session, stream.id);
        if self.positions.len() >= POSITIONS {
            let Self { positions, streams, .. } = self;
            positions.retain(|(_, stream), _| streams.contains(stream));
        }
        self.positions.entry(key).or_insert(StreamPosition { joined, ..StreamPosition::default() });
    }

    pub(super) fn ended(&mut self, stream: &StreamInfo) {
        self.streams.remove(&stream.id);
        self.set(m::STREAMS, u32::try_from(self.streams.len()).unwrap_or(u32::MAX));
    }

    pub(super) fn restart(&mut self, trace: TraceKey) {
        self.traces.remove(&trace);
    }

    pub(super) fn metadata(&mut self, key: TraceKey, bytes: &[u8]) -> Need {
        let trace = self.traces.entry(key).or_default();
        let faults = trace.metadata(bytes);
        let need = if trace.unfinished() { Need::More } else { Need::Nothing };
        self.peer.iter_mut().for_each(|peer| peer.count_io(bytes.len(), 0));
        for fault in faults {
            self.add(m::DECODE_ERRORS, 1);
            self.peer.iter_mut().for_each(|peer| peer.error(&format!("metadata: {fault}")));
        }
        need
    }

    /// Memory of one of the relay daemon's sessions: its traces. The shared peer and positions
    /// count for the session with the lowest number.
    pub(super) fn held(&self, relay_session: u64) -> Held {
        let traces: usize = self
            .traces
            .iter()
            .filter(|(key, _)| key.session == relay_session)
            .map(|(_, t)| size_of::<Trace>() + t.heap_size())
            .sum();
        if self.attached.iter().min() != Some(&relay_session) {
            return Held { own: traces, shared: 0 };
        }
        let Held { own, shared } = self.peer.as_ref().map(|s| s.held()).unwrap_or_default();
        let positions = self.positions.heap_size();
        Held {
            own: own + traces + positions + self.names.heap_size() + self.buffers.batch.heap_size(),
            shared,
        }
    }

    /// The session's name, without its host.
    pub(super) fn own_name(&self) -> &str {
        &self.own_name
    }

    /// Decodes a packet; returns its number of events. `None`: its class is not there yet, and nothing
    /// was counted; only if it may wait.
    pub(super) fn packet(
        &mut self,
        packet: &Packet<'_>,
        filter: &RecordFilter,
        foreign: &ForeignReaders,
        now: Now,
    ) -> Option<u64> {
        let Self { name, peer, names, buffers, traces, positions, packets, .. } = self;
        let Some(peer) = peer else { return Some(0) };
        let trace = traces.entry(packet.stream.trace).or_default();
        if packet.may_wait && trace.lacks_class(packet.index.stream_class, packet.bytes) {
            return None;
        }
        *packets += 1;
        peer.count_io(packet.bytes.len(), 0);
        peer.message();
        peer.add(m::PACKETS, 1);
        peer.add(m::BYTES, packet.bytes.len() as u64);
        // Every stream is opened before its first packet.
        let Some(position) = positions.get_mut(&(packet.stream.trace.session, packet.stream.id))
        else {
            return Some(0);
        };
        let tools = RecordContext { session: name, filter, foreign, now, peer, names, buffers };
        let result = trace.packet(packet.bytes, *packets, &packet.stream.channel, position, tools);
        let counts = [
            (m::EVENTS, result.events),
            (m::DISCARDED, result.lost.events),
            (m::PACKETS_LOST, result.lost.packets),
        ];
        for (item, more) in counts.into_iter().filter(|(_, more)| *more > 0) {
            peer.add(item, more);
        }
        if let Some(behind) = result.end.map(|end| now.wall.as_nanos() - Stamp::as_nanos(end)) {
            let ns = u64::try_from(behind.max(0)).unwrap_or_default();
            peer.set(m::LATENCY, ns);
        }
        if let Some(fault) = result.fault {
            peer.add(m::DECODE_ERRORS, 1);
            peer.error(&format!("a packet of stream {}: {fault}", packet.stream.channel));
        }
        Some(result.events)
    }

    pub(super) fn skipped(&mut self, stream: &StreamInfo, why: &str) {
        self.add(m::PACKETS_SKIPPED, 1);
        self.peer.iter_mut().for_each(|peer| {
            peer.error(&format!("a packet of stream {} is passed over: {why}", stream.channel))
        });
    }

    /// A beacon: the session is alive.
    pub(super) fn beacon(&mut self) {
        self.peer.iter_mut().for_each(Peer::message);
    }

    pub(super) fn error(&mut self, text: &str) {
        self.peer.iter_mut().for_each(|peer| peer.error(text));
    }
}
