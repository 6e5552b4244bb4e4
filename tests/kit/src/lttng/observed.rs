//! The events that a viewer reported, in a form that can be compared.

use std::collections::BTreeMap;

use pmdaapm::sources::lttng::viewer::{
    Attached, Beacon, Index, Need, Observer, Packet, Refused, Seek, SessionEnd, SessionInfo,
    Skipped, StreamEnd, StreamInfo, TraceKey, Violation,
};

pub fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct ObservedStream {
    pub path: String,
    pub channel: String,
    pub trace: u64,
    pub bytes: Vec<u8>,
    pub indexes: Vec<Index>,
    /// Bytes of metadata received before each packet.
    pub metadata: Vec<usize>,
    pub beacons: usize,
    pub ended: usize,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Observed {
    pub minors: Vec<(u32, u32)>,
    /// By session and stream.
    pub streams: BTreeMap<(u64, u64), ObservedStream>,
    pub metadata: BTreeMap<TraceKey, Vec<u8>>,
    pub attached: Vec<(u64, Seek)>,
    pub refused: Vec<(u64, Refused)>,
    pub skipped: BTreeMap<String, usize>,
    pub violations: BTreeMap<String, usize>,
    pub listings: usize,
    pub restarts: usize,
    pub gone: usize,
    pub closed: usize,
    pub lost: usize,
    pub disconnected: usize,
    /// Calls of `metadata` up to the first that returns [`Need::Nothing`].
    pub need_more: usize,
    pub open: BTreeMap<u64, Vec<u64>>,
}

impl Observed {
    pub fn packets(&self) -> usize {
        self.streams.values().map(|s| s.indexes.len()).sum()
    }

    fn stream(&mut self, info: &StreamInfo) -> &mut ObservedStream {
        assert!(self.open[&info.trace.session].contains(&info.id), "{info:?} is not open");
        self.streams.get_mut(&(info.trace.session, info.id)).unwrap()
    }
}

impl Observer for Observed {
    fn attached(&mut self, attached: Attached<'_>) {
        let id = attached.session.id;
        assert!(self.open.insert(id, Vec::new()).is_none(), "session {id} twice");
        self.metadata.retain(|key, _| key.session != id);
        self.attached.push((id, attached.seek));
    }
    fn refused(&mut self, session: &SessionInfo, why: Refused) {
        self.refused.push((session.id, why));
    }
    fn session_over(&mut self, session: &SessionInfo, why: SessionEnd) {
        assert!(self.open.remove(&session.id).is_some(), "over before it began");
        match why {
            SessionEnd::Closed => self.closed += 1,
            SessionEnd::Lost => self.lost += 1,
            SessionEnd::Disconnected | SessionEnd::Full => self.disconnected += 1,
        }
    }
    fn stream_opened(&mut self, stream: &StreamInfo) {
        self.open.get_mut(&stream.trace.session).unwrap().push(stream.id);
        let observed = self.streams.entry((stream.trace.session, stream.id)).or_default();
        (observed.path, observed.channel, observed.trace) =
            (stream.path.clone(), stream.channel.clone(), stream.trace.trace);
    }
    fn stream_ended(&mut self, stream: &StreamInfo, _: StreamEnd) {
        self.stream(stream).ended += 1;
        self.open.get_mut(&stream.trace.session).unwrap().retain(|id| *id != stream.id);
    }
    fn metadata(&mut self, trace: TraceKey, bytes: &[u8]) -> Need {
        assert!(!bytes.is_empty() && self.open.contains_key(&trace.session));
        self.metadata.entry(trace).or_default().extend_from_slice(bytes);
        self.need_more = self.need_more.saturating_sub(1);
        if self.need_more > 0 { Need::More } else { Need::Nothing }
    }
    fn metadata_restart(&mut self, trace: TraceKey) {
        self.restarts += 1;
        self.metadata.remove(&trace);
    }
    fn trace_gone(&mut self, _: TraceKey) {
        self.gone += 1;
    }
    fn packet(&mut self, packet: Packet<'_>) -> Need {
        let there = self.metadata.get(&packet.stream.trace).map_or(0, Vec::len);
        assert_eq!(packet.bytes.len() as u64, packet.index.content_size.div_ceil(8));
        let observed = self.stream(packet.stream);
        observed.bytes.extend_from_slice(packet.bytes);
        observed.indexes.push(*packet.index);
        observed.metadata.push(there);
        Need::Nothing
    }
    fn skipped(&mut self, _: &StreamInfo, _: &Index, why: Skipped) {
        *self.skipped.entry(format!("{why:?}")).or_default() += 1;
    }
    fn beacon(&mut self, beacon: Beacon<'_>) {
        self.stream(beacon.stream).beacons += 1;
    }
    fn violation(&mut self, violation: Violation) {
        *self.violations.entry(format!("{violation:?}")).or_default() += 1;
    }
}
