//! A relay daemon sends any bytes in any pieces. Requests are bounded in number and valid, the
//! input stays within the limits, packets have the length of their index and follow an attach, and
//! at the end all sessions are over.
#![no_main]

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use libfuzzer_sys::fuzz_target;
use pmdaapm::model::{Now, Stamp};
use pmdaapm::sources::lttng::viewer::{
    Attached, Beacon, Lister, Listing, METADATA_REPLY, Need, OUTSTANDING, Observer, OpenStreams,
    PACKET, Packet, Reading, ReplayFilter, Seek, SessionEnd, SessionInfo, Settings, Start,
    StreamInfo, TraceFormat, TraceKey,
};

#[derive(Default)]
struct Observed {
    sessions: HashSet<u64>,
    streams: HashSet<u64>,
    /// The last packet of each stream: time never goes back.
    last: HashMap<u64, u64>,
    more: u8,
}

impl Observed {
    fn check(&self, stream: &StreamInfo) {
        assert!(
            self.sessions.contains(&stream.trace.session)
                && self.streams.contains(&stream.id)
                && !stream.metadata
        );
    }
}

impl Observer for Observed {
    fn attached(&mut self, attached: Attached<'_>) {
        assert!(self.sessions.insert(attached.session.id));
    }
    fn session_over(&mut self, session: &SessionInfo, _: SessionEnd) {
        assert!(self.sessions.remove(&session.id));
    }
    fn stream_opened(&mut self, stream: &StreamInfo) {
        assert!(self.sessions.contains(&stream.trace.session));
        self.streams.insert(stream.id);
    }
    fn metadata(&mut self, trace: TraceKey, bytes: &[u8]) -> Need {
        assert!(self.sessions.contains(&trace.session) && !bytes.is_empty());
        self.more = self.more.wrapping_add(1);
        if self.more % 4 == 1 { Need::More } else { Need::Nothing }
    }
    fn packet(&mut self, packet: Packet<'_>) -> Need {
        self.check(packet.stream);
        self.more = self.more.wrapping_add(1);
        if packet.may_wait && self.more % 4 == 1 {
            return Need::More;
        }
        assert_eq!(packet.bytes.len() as u64, packet.index.content_size.div_ceil(8));
        assert!(packet.index.content_size <= packet.index.packet_size);
        *self.last.entry(packet.stream.id).or_default() = packet.index.timestamp_end;
        Need::Nothing
    }
    fn beacon(&mut self, beacon: Beacon<'_>) {
        self.check(beacon.stream);
    }
}

/// Sessions that were listed.
#[derive(Default)]
struct Listed(u32);

impl Lister for Listed {
    fn session_listed(&mut self, _: SessionInfo) {
        self.0 += 1;
    }
    fn listing_done(&mut self, sessions: u32) {
        assert_eq!(std::mem::take(&mut self.0), sessions);
    }
}

/// Takes the requests out of `out`, and records the size of the fixed part of each reply.
fn requests(out: &mut BytesMut, replies: &mut VecDeque<usize>) {
    while out.has_remaining() {
        let (size, command, version) = (out.get_u64(), out.get_u32(), out.get_u32());
        let (body, reply) = match command {
            1 => (20, 20),
            2 => (0, 4),
            3 => (20, 8),
            4 => (8, 64),
            5 => (20, 12),
            6 => (8, 12),
            7 => (8, 8),
            8 => (0, 4),
            other => panic!("command {other}"),
        };
        assert_eq!((size, version), (body, 0));
        out.advance(body as usize);
        replies.push_back(reply);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((how, data)) = data.split_first_chunk::<2>() else { return };
    let (piece, step) = (usize::from(how[0]).max(1), Duration::from_millis(how[1].into()));
    let session = SessionInfo {
        id: 0,
        host: "h".into(),
        name: "s".into(),
        live_timer: Duration::from_secs(1),
        clients: 0,
        streams: 0,
        format: TraceFormat::Ctf1,
    };
    list(piece, step, data);
    let begin =
        Start { session, seek: Seek::Beginning, ours: false, replay_filter: ReplayFilter::new() };
    let mut viewer = Reading::new(Settings::default(), begin, OpenStreams::default());
    let (mut observed, mut input, mut out, mut replies) =
        (Observed::default(), BytesMut::new(), BytesMut::new(), VecDeque::new());
    let mut now = Now { wall: Stamp::default(), monotonic: Duration::from_secs(1) };
    viewer.start(now, &mut out);
    let mut sent = 0;
    for bytes in data.chunks(piece) {
        requests(&mut out, &mut replies);
        sent += replies.len();
        replies.clear();
        input.extend_from_slice(bytes);
        if viewer.feed(now, &mut input, &mut out, &mut observed).is_err() {
            break;
        }
        assert!(out.len() <= OUTSTANDING * 36, "{} bytes of requests", out.len());
        assert!(input.capacity() <= 2 * (PACKET.max(METADATA_REPLY) + 4096));
        now.monotonic += step;
        if viewer.tick(now, &mut out, &mut observed).is_err() {
            break;
        }
        assert!(viewer.next_wakeup().is_some());
    }
    // A reply has four bytes at least.
    assert!(sent <= OUTSTANDING + data.len() / 4 + 3, "{sent} requests for {} bytes", data.len());
    viewer.close(&mut observed);
    assert!(observed.sessions.is_empty());
});

/// The same bytes as answers to LIST.
fn list(piece: usize, step: Duration, data: &[u8]) {
    let (mut listing, mut listed) = (Listing::new(&Settings::default()), Listed::default());
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
    let mut now = Now { wall: Stamp::default(), monotonic: Duration::from_secs(1) };
    listing.start(now, &mut out);
    for bytes in data.chunks(piece) {
        out.clear();
        input.extend_from_slice(bytes);
        if listing.feed(now, &mut input, &mut out, &mut listed).is_err() {
            return;
        }
        now.monotonic += step;
        if listing.tick(now, &mut out).is_err() {
            return;
        }
        assert!(input.capacity() <= 2 * (PACKET.max(METADATA_REPLY) + 4096) && out.len() <= 16);
    }
}
