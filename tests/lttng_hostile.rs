//! A relay daemon that breaks its protocol in every way: the result is an error or none, never a
//! panic, unbounded memory or a busy loop.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a test"
)]

use std::time::Duration;

use bytes::BytesMut;
use pmdaapm::contract::SessionError;
use pmdaapm::sources::lttng::viewer::{
    METADATA_REPLY, OUTSTANDING, OpenStreams, Reading, ReplayFilter, Seek, SessionInfo, Settings,
    Start, TraceFormat,
};
use proptest::prelude::*;
use test_kit::lttng::{Connection, Observed, Outcome, Relayd, at, settings};

const START: Duration = Duration::from_secs(100);
const NAME: &str = "live-ust-grow";

type Spoil<'a> = &'a mut dyn FnMut(usize, u32, Vec<u8>) -> Option<Vec<u8>>;

fn talk(settings: Settings, seconds: u64, spoil: Spoil<'_>) -> (Observed, Outcome) {
    let mut relayd = Relayd::new(13, &[NAME]);
    relayd.back = 3;
    talk_to(&mut relayd, settings, seconds, spoil)
}

fn talk_to(
    relayd: &mut Relayd,
    settings: Settings,
    seconds: u64,
    spoil: Spoil<'_>,
) -> (Observed, Outcome) {
    let mut observed = Observed::default();
    let connection = Connection {
        settings,
        roster: None,
        start: START,
        spoil,
        piece: &mut |there, _| there,
        end: &mut |observed, time| observed.closed == 1 || time > Duration::from_secs(seconds),
    };
    let outcome = connection.run(relayd, &mut observed);
    assert!(outcome.outstanding <= OUTSTANDING, "{} outstanding", outcome.outstanding);
    assert!(outcome.input <= 2 * (METADATA_REPLY + 4096), "{} bytes of input", outcome.input);
    // 4000 requests a second for all streams, and the periodic requests besides.
    let most = 500.0 + outcome.time.as_secs_f64() * 4000.0;
    assert!(
        (outcome.requests as f64) < most,
        "{} requests in {:?}",
        outcome.requests,
        outcome.time
    );
    (observed, outcome)
}

fn word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

#[test]
fn a_reply_that_stops_is_a_time_out() {
    let mut timeouts = 0;
    for n in 1..110 {
        let (_, outcome) = talk(settings("*/*"), 60, &mut |i, _, mut reply| {
            match i {
                i if i == n => reply.truncate(reply.len() * (n % 5) / 5),
                i if i > n => reply.clear(),
                _ => {}
            }
            Some(reply)
        });
        timeouts += usize::from(outcome.result == Err(SessionError::Timeout("reply")));
    }
    assert_eq!(timeouts, 109);
}

#[test]
fn counts_and_lengths_beyond_their_limits_are_errors_before_anything_is_allocated() {
    for (command, at, limit) in [
        (2, 0, "sessions.listed"),
        (3, 4, "streams.announced"),
        (7, 4, "streams.announced"),
        (5, 4, "packet.length"),
        (6, 0, "metadata.reply"),
    ] {
        let (_, outcome) = talk(settings("*/*"), 60, &mut |_, c, mut reply| {
            if c == command {
                word(&mut reply, at, 0xffff_fff0);
            }
            Some(reply)
        });
        assert!(
            matches!(&outcome.result, Err(SessionError::Limit { limit: l, .. }) if *l == limit),
            "{command} {outcome:?}"
        );
        assert!(outcome.input < 64 << 10, "{} bytes of input", outcome.input);
    }
}

#[test]
fn statuses_that_do_not_exist_are_errors() {
    for (command, at) in [(8, 0), (3, 0), (4, 56), (5, 0), (6, 8), (7, 0)] {
        for status in [0, 7, 99, u32::MAX] {
            let (_, outcome) = talk(settings("*/*"), 60, &mut |_, c, mut reply| {
                if c == command {
                    word(&mut reply, at, status);
                }
                Some(reply)
            });
            assert!(outcome.result.is_err(), "{command} {status}");
        }
    }
    let (_, outcome) = talk(settings("*/*"), 60, &mut |_, c, mut reply| {
        if c == 1 {
            word(&mut reply, 8, 3);
        }
        Some(reply)
    });
    assert!(matches!(outcome.result, Err(SessionError::Unsupported(_))));
}

#[test]
fn bytes_that_nobody_asked_for_are_an_error() {
    let (_, outcome) = talk(settings("*/*"), 60, &mut |n, _, mut reply| {
        if n == 40 {
            reply.extend([0; 3000]);
        }
        Some(reply)
    });
    assert!(
        matches!(outcome.result, Err(SessionError::Malformed { offset, .. }) if offset > 10_000),
        "{outcome:?}"
    );
}

#[test]
fn a_relay_daemon_that_never_has_anything_is_asked_seldom() {
    for (flags, most) in [(0, 40 * 60), (3, 150 * 60)] {
        let (observed, outcome) = talk(settings("*/*"), 60, &mut |_, c, mut reply| {
            if c == 4 {
                reply[..56].fill(0);
                word(&mut reply, 56, 2);
                word(&mut reply, 60, flags);
            }
            Some(if c == 6 { vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2] } else { reply })
        });
        outcome.result.unwrap();
        assert_eq!(observed.packets(), 0);
        assert!(
            (60..most).contains(&outcome.requests),
            "flags {flags}: {} requests in a minute",
            outcome.requests
        );
    }
}

#[test]
fn packets_that_cannot_be_read_are_given_up_and_the_stream_goes_on() {
    for (status, flags, once) in
        [(2, 0, true), (3, 1, true), (2, 0, false), (3, 1, false), (3, 0, false), (4, 0, false)]
    {
        let (mut refused, mut asked) = (0, 0);
        let (observed, outcome) = talk(settings("*/*"), 900, &mut |_, c, reply| {
            asked += usize::from(c == 5);
            if c != 5 || (once && asked % 2 == 0) {
                return Some(reply);
            }
            refused += 1;
            let mut reply = vec![0; 12];
            word(&mut reply, 0, status);
            word(&mut reply, 8, flags);
            Some(reply)
        });
        outcome.result.unwrap();
        assert!(refused > 5, "{status} {flags} {once}");
        assert_eq!(
            observed.packets() + observed.skipped.get("Unreadable").copied().unwrap_or_default(),
            31,
            "{status} {flags} {once} {:?} {:?}",
            observed.skipped,
            observed.violations
        );
        assert!(once || observed.packets() == 0);
        assert!(!once || observed.packets() >= 30, "{status} {flags}: {:?}", observed.skipped);
        assert_eq!(observed.closed, 1);
    }
}

#[test]
fn packets_too_large_or_impossible_are_passed_over() {
    let small = Settings { packet: 1000, ..settings("*/*") };
    let (observed, outcome) = talk(small, 60, &mut |_, _, reply| Some(reply));
    outcome.result.unwrap();
    assert!(
        observed.skipped["TooLarge"] > 5
            && observed.packets() > 5
            && observed.packets() + observed.skipped["TooLarge"] == 31
    );
    for (content, why) in [(0, "BadIndex"), (400_000, "BadIndex"), (u32::MAX, "BadIndex")] {
        let (observed, outcome) = talk(settings("*/*"), 60, &mut |_, c, mut reply| {
            if c == 4 {
                word(&mut reply, 20, content);
            }
            Some(reply)
        });
        outcome.result.unwrap();
        assert_eq!((observed.packets(), observed.skipped[why], observed.closed), (0, 31, 1));
    }
}

#[test]
fn packets_whose_pieces_end_are_passed_over_whole() {
    let (observed, outcome) = talk(settings("*/*"), 60, &mut |_, c, mut reply| {
        if c == 5 {
            // 40 bytes from the packet's magic number on, then none.
            let piece = if reply[12..].starts_with(&[0xc1, 0x1f, 0xfc, 0xc1]) { 40 } else { 0 };
            reply.truncate(12 + piece);
            word(&mut reply, 4, piece as u32);
        }
        Some(reply)
    });
    outcome.result.unwrap();
    assert_eq!((observed.packets(), observed.skipped["Unreadable"], observed.closed), (0, 31, 1));
}

#[test]
fn pieces_of_packets_are_bounded() {
    let mut relayd = Relayd::new(13, &[NAME]);
    (relayd.back, relayd.most) = (3, 1);
    let (mut observed, mut pieces) = (Observed::default(), 0);
    let outcome = Connection {
        settings: settings("*/*"),
        roster: None,
        start: START,
        spoil: &mut |_, c, mut reply| {
            pieces += usize::from(c == 5);
            if c == 4 {
                // 15 MiB of content, delivered byte by byte.
                word(&mut reply, 12, 15 << 23);
                word(&mut reply, 20, 15 << 23);
            }
            Some(if c == 5 { vec![0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 7] } else { reply })
        },
        piece: &mut |there, _| there,
        end: &mut |observed, _| observed.skipped.values().sum::<usize>() >= 4,
    }
    .run(&mut relayd, &mut observed);
    outcome.result.unwrap();
    assert!(
        observed.skipped.contains_key("TooLarge") && observed.packets() == 0 && pieces < 200_000,
        "{:?} {pieces}",
        observed.skipped
    );
}

#[test]
fn streams_are_bounded_and_their_numbers_unique() {
    let few = Settings { streams: 2, ..settings("*/*") };
    let (observed, outcome) = talk(few, 60, &mut |_, _, reply| Some(reply));
    outcome.result.unwrap();
    assert_eq!((observed.violations["TooManyStreams"], observed.streams.len()), (1, 2));
    let (observed, outcome) = talk(settings("*/*"), 60, &mut |_, c, mut reply| {
        if c == 3 {
            // The third stream has the number of the second.
            reply.copy_within(8 + 4371..8 + 4379, 8 + 2 * 4371);
        }
        Some(reply)
    });
    outcome.result.unwrap();
    assert_eq!(observed.violations["StreamRepeated"], 1);
}

#[test]
fn a_flood_of_sessions_and_of_metadata_is_bounded() {
    let (observed, outcome) = talk(
        Settings { list: Duration::from_secs(20), ..settings("*/*") },
        60,
        &mut |_, c, reply| {
            if c != 2 {
                return Some(reply);
            }
            let mut list = 3000u32.to_be_bytes().to_vec();
            for id in 0..3000u64 {
                let mut entry = reply[4..4 + 339].to_vec();
                entry[..8].copy_from_slice(&(id + 2).to_be_bytes());
                list.extend(entry);
            }
            Some(list)
        },
    );
    outcome.result.unwrap();
    assert_eq!(observed.violations["TooManySessions"] % (3000 - 1024), 0);
    assert!(observed.attached.is_empty() && observed.refused.len() > 256);
    let mut asked = 0;
    let (_, outcome) = talk(settings("*/*"), 60, &mut |_, c, reply| {
        if c != 6 {
            return Some(reply);
        }
        asked += 1;
        let mut endless = (200_000u64).to_be_bytes().to_vec();
        endless.extend([0, 0, 0, 1]);
        endless.extend((0..200_000u32).map(|i| (i.wrapping_mul(asked + 7) >> 3) as u8));
        Some(endless)
    });
    assert!(
        matches!(outcome.result, Err(SessionError::Limit { limit: "metadata.trace", .. })),
        "{:?}",
        outcome.result
    );
}

#[test]
fn a_session_that_is_lost_is_attached_again() {
    let mut news = 0;
    let (observed, outcome) = talk(settings("*/*"), 20, &mut |_, c, reply| {
        news += usize::from(c == 7);
        Some(if c == 7 && news == 1 { vec![0, 0, 0, 3, 0, 0, 0, 0] } else { reply })
    });
    outcome.result.unwrap();
    assert_eq!(
        (observed.lost, observed.attached.len(), observed.refused.len(), observed.closed),
        (1, 2, 0, 1)
    );
}

#[test]
fn a_trace_without_streams_is_given_up_though_its_session_goes_on() {
    let mut asked = Vec::new();
    let (observed, outcome) = talk(settings("*/*"), 120, &mut |n, c, reply| match c {
        // Per-process buffers: the process has ended, the session has not.
        7 => Some(vec![0, 0, 0, 1, 0, 0, 0, 0]),
        6 => {
            asked.push(n);
            Some(if reply.len() > 12 { reply } else { vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2] })
        }
        _ => Some(reply),
    });
    outcome.result.unwrap();
    assert_eq!(
        (observed.packets(), observed.gone, observed.closed, observed.disconnected),
        (31, 1, 0, 1)
    );
    assert!(asked.len() < 16, "{} questions for metadata", asked.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Any reply with any bytes changed.
    #[test]
    fn any_change_of_any_reply(changes in proptest::collection::vec((1usize..140, 0usize..80, any::<u8>()), 1..6)) {
        let (_, outcome) = talk(settings("*/*"), 30, &mut |n, _, mut reply| {
            for (_, at, value) in changes.iter().filter(|(reply, ..)| *reply == n) {
                let at = at % reply.len().max(1);
                if let Some(byte) = reply.get_mut(at) {
                    *byte = *value;
                }
            }
            Some(reply)
        });
        prop_assert!(outcome.time < Duration::from_secs(45));
    }

    /// Random bytes as replies.
    #[test]
    fn noise(noise in proptest::collection::vec(prop_oneof![4 => Just(0u8), 2 => 0u8..7, 1 => any::<u8>()], 0..20_000), piece in 1usize..5000) {
        let session = SessionInfo {
            id: 0,
            host: "h".into(),
            name: "s".into(),
            live_timer: Duration::from_secs(1),
            clients: 0,
            streams: 0,
            format: TraceFormat::Ctf1,
        };
        let begin = Start { session, seek: Seek::Beginning, ours: false, replay_filter: ReplayFilter::new() };
        let (mut viewer, mut observed) = (Reading::new(settings("*"), begin, OpenStreams::default()), Observed::default());
        let (mut input, mut out, mut now) = (BytesMut::new(), BytesMut::new(), START);
        viewer.start(at(now), &mut out);
        // Valid replies to CONNECT and CREATE, so that the noise is parsed.
        let mut bytes = vec![0; 20];
        (bytes[11], bytes[15], bytes[23 - 4]) = (2, 15, 0);
        bytes.extend([0, 0, 0, 1]);
        bytes.extend(noise);
        for part in bytes.chunks(piece) {
            input.extend_from_slice(part);
            if viewer.feed(at(now), &mut input, &mut out, &mut observed).is_err() {
                break;
            }
            prop_assert!(out.len() < 40 * OUTSTANDING && input.capacity() < 40 << 20);
            now += Duration::from_millis(7);
            if viewer.tick(at(now), &mut out, &mut observed).is_err() {
                break;
            }
            out.clear();
        }
        viewer.close(&mut observed);
        prop_assert!(observed.open.is_empty());
    }
}
