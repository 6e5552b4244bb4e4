use super::super::TraceKey;
use super::*;

fn key(identity: u64, id: u64) -> StreamKey {
    let trace = TraceKey { session: 1, trace: 1 };
    StreamKey::new(
        identity,
        &StreamInfo { id, trace, metadata: false, path: "p".into(), channel: "c".into() },
    )
}

const fn index(begin: u64, end: u64, offset: u64) -> Index {
    Index {
        offset,
        packet_size: 4096,
        content_size: 4096,
        timestamp_begin: begin,
        timestamp_end: end,
        events_discarded: 0,
        stream_class: 0,
    }
}

#[test]
fn a_replay_is_known_and_what_follows_is_new() {
    let mut replay_filter = ReplayFilter::new();
    // The fourth comes after a clear; the fifth is empty and has the time of its neighbour's
    // end.
    let packets = [
        index(10, 20, 0),
        index(20, 30, 8),
        index(30, 40, 16),
        index(55, 60, 0),
        index(60, 60, 8),
        index(60, 60, 16),
    ];
    for (i, packet) in packets.iter().enumerate() {
        assert!(packets[i..].iter().all(|p| replay_filter.is_new(&key(1, 1), p)));
        replay_filter.packet(key(1, 1), packet);
        assert!(
            packets[..i].iter().chain([packet]).all(|p| !replay_filter.is_new(&key(1, 1), p))
                || i >= 4
        );
    }
    assert!(
        replay_filter.is_new(&key(1, 2), &packets[0])
            && replay_filter.is_new(&key(2, 1), &packets[0])
    );
}

#[test]
fn a_beacon_marks_time_and_never_goes_back() {
    let mut replay_filter = ReplayFilter::new();
    assert!(replay_filter.beacon(key(1, 1), 50) && !replay_filter.beacon(key(1, 1), 50));
    assert!(
        !replay_filter.is_new(&key(1, 1), &index(10, 40, 0))
            && replay_filter.is_new(&key(1, 1), &index(49, 51, 0))
    );
    replay_filter.packet(key(1, 1), &index(49, 70, 0));
    assert!(!replay_filter.beacon(key(1, 1), 60));
    assert!(!replay_filter.is_new(&key(1, 1), &index(60, 65, 8)));
}

#[test]
fn a_stream_with_another_key_does_not_go_back() {
    let (mut replay_filter, packets) = (ReplayFilter::new(), [index(10, 20, 0), index(20, 30, 8)]);
    replay_filter.packet(key(1, 1), &packets[0]);
    replay_filter.renamed(&key(1, 1), key(2, 1));
    let new = |filter: &ReplayFilter| packets.map(|packet| filter.is_new(&key(2, 1), &packet));
    assert_eq!(new(&replay_filter), [false, true]);
    replay_filter.packet(key(2, 1), &packets[1]);
    replay_filter.renamed(&key(1, 1), key(2, 1));
    replay_filter.renamed(&key(3, 1), key(2, 1));
    assert_eq!(new(&replay_filter), [false, false]);
}

#[test]
fn the_oldest_gives_way_in_bounded_memory() {
    let mut replay_filter = ReplayFilter::new();
    for stream in 0..100_000 {
        replay_filter.packet(key(1, stream), &index(1, 2, 0));
        replay_filter.packet(key(9, 9), &index(1, stream + 2, 0));
        assert!(replay_filter.streams() <= limits::SEEN_STREAMS);
    }
    assert!(
        !replay_filter.is_new(&key(1, 99_999), &index(1, 2, 0))
            && replay_filter.is_new(&key(1, 0), &index(1, 2, 0))
    );
    assert!(!replay_filter.is_new(&key(9, 9), &index(1, 2, 0)));
}
