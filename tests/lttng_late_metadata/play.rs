//! Plays a session to its end, over one connection or several.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use pmdaapm::sources::lttng::{Collector, Protocol, Reader, RecordFilter};
use pmdaapm::store::{Limits, Store};
use test_kit::lttng::{Relayd, at, settings};

/// What the counters have in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) events: u64,
    pub(crate) discarded: u64,
    pub(crate) lost: u64,
    pub(crate) skipped: u64,
    pub(crate) errors: u64,
}

/// Plays a session. `spoil` may change the replies.
pub(crate) fn play(
    relayd: &mut Relayd,
    spoil: &mut dyn FnMut(u32, Vec<u8>) -> Vec<u8>,
) -> (Counts, Duration) {
    play_broken(relayd, spoil, &mut |_, _| false)
}

/// As [`play`]; the connection that reads breaks when `breaks`.
pub(crate) fn play_broken(
    relayd: &mut Relayd,
    spoil: &mut dyn FnMut(u32, Vec<u8>) -> Vec<u8>,
    breaks: &mut dyn FnMut(&mut Reader, Duration) -> bool,
) -> (Counts, Duration) {
    let store = Store::new(pmdaapm::sources::catalogue(), 400, Limits::default(), 256 << 20);
    let maker = store.peer_maker(store.catalogue().id("lttng").unwrap(), false);
    let filter = RecordFilter::default();
    let mut collector =
        Collector::new("127.0.0.1:5344", settings("*"), filter, maker, Arc::default());
    let start = Duration::from_secs(1);
    let (mut now, mut reader, mut id) = (start, None, 1);
    let (mut list, mut talk) =
        ((BytesMut::new(), BytesMut::new()), (BytesMut::new(), BytesMut::new()));
    let mut reply = |relayd: &mut Relayd, id, out: &mut BytesMut, now| {
        let (length, command, _) = (out.get_u64() as usize, out.get_u32(), out.get_u32());
        let reply = relayd.reply(id, command, &out.split_to(length), now);
        spoil(command, reply)
    };
    collector.start(at(now), &mut list.1);
    let over = |relayd: &Relayd| relayd.sessions.iter().all(|session| session.over);
    while now < Duration::from_secs(100) && !(over(relayd) && reader.is_none()) {
        while !list.1.is_empty() {
            list.0.extend_from_slice(&reply(relayd, 1, &mut list.1, now));
            collector.feed(at(now), &mut list.0, &mut list.1).unwrap();
        }
        for (mut new, ()) in collector.due(at(now), || Some(())) {
            (talk, id) = ((BytesMut::new(), BytesMut::new()), id + 1);
            new.start(at(now), &mut talk.1);
            reader = Some(new);
        }
        let mut wakeup = collector.next_wakeup().unwrap();
        let mut broken = false;
        if let Some(reader) = &mut reader {
            while !talk.1.is_empty() && !reader.is_over() && !broken {
                talk.0.extend_from_slice(&reply(relayd, id, &mut talk.1, now));
                reader.feed(at(now), &mut talk.0, &mut talk.1).unwrap();
                broken = breaks(reader, now);
            }
            wakeup = wakeup.min(reader.next_wakeup().unwrap());
        }
        if let Some(done) = reader.take_if(|reader| reader.is_over() || broken) {
            relayd.disconnect(id);
            collector.ended(at(now), done.close(at(now), "the end"));
        }
        now = now.max(wakeup);
        collector.tick(at(now), &mut list.1).unwrap();
        if let Some(reader) = &mut reader {
            reader.tick(at(now), &mut talk.1).unwrap();
        }
    }
    assert!(over(relayd) && reader.is_none(), "no end");
    collector.close();
    let peer = &store.peers()[0];
    let cell = |item| peer.cells.get(item).unwrap_or_default();
    let counts = Counts {
        packets: cell(3),
        bytes: cell(4),
        events: cell(5),
        discarded: cell(6),
        lost: cell(7),
        skipped: cell(8),
        errors: cell(9),
    };
    (counts, now - start)
}
