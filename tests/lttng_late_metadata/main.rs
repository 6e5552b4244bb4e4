//! Metadata that ends between two declarations, for a time or for ever: packets whose stream class is
//! not there wait for it, and each event is counted once.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a test"
)]

mod play;

use std::cell::Cell;
use std::time::Duration;

use play::{Counts, play, play_broken};
use test_kit::lttng::{Relayd, at};

const METADATA: u32 = 6;

/// A reply to METADATA.
fn metadata(status: u32, bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_be_bytes()[..], &status.to_be_bytes(), bytes].concat()
}

/// A session, its metadata, and where the first data stream class begins in it.
fn session(name: &str) -> (Relayd, Vec<u8>, usize) {
    let relayd = Relayd::new(16, &[name]);
    let all = relayd.sessions[0].dialogue.metadata.values().next().unwrap().clone();
    let find = |what: &str| all.windows(what.len()).position(|w| w == what.as_bytes());
    let cut = find("\nstream {").map_or_else(
        || {
            let class = find("\"data-stream-class\"").unwrap();
            all[..class].iter().rposition(|b| *b == 0x1e).unwrap()
        },
        |at| at + 1,
    );
    (relayd, all, cut)
}

const NAMES: [&str; 2] = ["live216-ctf-1.8", "live216-ctf-2"];

/// A session without a fault.
fn plain(name: &str) -> (Counts, Duration) {
    let (counts, time) = play(&mut session(name).0, &mut |_, reply| reply);
    assert!(counts.events > 100 && counts.errors == 0, "{name}: {counts:?}");
    (counts, time)
}

#[test]
fn packets_wait_for_their_class() {
    for name in NAMES {
        // Packets whole, and in pieces.
        for (nothing, most) in [(1, usize::MAX), (2, usize::MAX), (7, usize::MAX), (3, 1000)] {
            let (mut relayd, all, cut) = session(name);
            (relayd.most, relayd.back) = (most, 2);
            let mut asked = 0;
            // The relay daemon has the rest, and says for a while that there is nothing new.
            let (counts, _) = play(&mut relayd, &mut |command, reply| {
                if command != METADATA {
                    return reply;
                }
                asked += 1;
                match asked {
                    1 => metadata(1, &all[..cut]),
                    n if n == nothing + 2 => metadata(1, &all[cut..]),
                    _ => metadata(2, &[]),
                }
            });
            assert_eq!(counts, plain(name).0, "{name}, {nothing} times");
        }
    }
}

/// Every packet is told once, as one that cannot be decoded.
fn check_lost(name: &str, counts: Counts) {
    let plain = plain(name).0;
    let errors = plain.packets;
    assert_eq!(counts, Counts { events: 0, discarded: 0, errors, ..plain }, "{name}");
}

#[test]
fn a_class_that_never_comes_is_not_waited_for_for_ever() {
    for name in NAMES {
        let (mut relayd, all, cut) = session(name);
        let mut asked = 0;
        let (counts, time) = play(&mut relayd, &mut |command, reply| {
            if command != METADATA {
                return reply;
            }
            asked += 1;
            if asked == 1 { metadata(1, &all[..cut]) } else { metadata(2, &[]) }
        });
        check_lost(name, counts);
        let more = time - plain(name).1;
        assert!((4..8).contains(&more.as_secs()) && asked < 100, "{name}: {more:?}, {asked}");
    }
}

#[test]
fn a_trace_that_is_gone_is_not_waited_for() {
    for name in NAMES {
        let (mut relayd, all, cut) = session(name);
        let mut asked = 0;
        let (counts, time) = play(&mut relayd, &mut |command, reply| {
            if command != METADATA {
                return reply;
            }
            asked += 1;
            match asked {
                1 => metadata(1, &all[..cut]),
                2 => metadata(2, &[]),
                _ => metadata(3, &[]),
            }
        });
        check_lost(name, counts);
        assert!(time < plain(name).1 + Duration::from_secs(1), "{name}: {time:?}");
    }
}

#[test]
fn what_is_there_of_a_trace_that_is_gone_is_used_for_the_rest_of_its_packets() {
    for name in NAMES {
        let (mut relayd, all, _) = session(name);
        let mut asked = 0;
        let (counts, _) = play(&mut relayd, &mut |command, mut reply| match command {
            METADATA => {
                asked += 1;
                match asked {
                    1 => metadata(1, &all),
                    2 => metadata(2, &[]),
                    _ => metadata(3, &[]),
                }
            }
            // INDEX: there is always new metadata.
            4 => {
                reply[63] |= 1;
                reply
            }
            _ => reply,
        });
        assert!(asked > 2, "{name}: {asked}");
        assert_eq!(counts, plain(name).0, "{name}");
    }
}

#[test]
fn what_comes_of_a_trace_that_was_gone_is_read() {
    for name in NAMES {
        // Something, or nothing, before the relay daemon says that there is none.
        for first in [true, false] {
            let (mut relayd, all, cut) = session(name);
            relayd.quiet = Duration::from_secs(6);
            let (mut asked, mut gone, cut) = (0, 0, if first { cut } else { 0 });
            let (counts, _) = play(&mut relayd, &mut |command, reply| {
                if command != METADATA {
                    return reply;
                }
                asked += 1;
                match asked {
                    1 if first => metadata(1, &all[..cut]),
                    2..5 => {
                        gone += 1;
                        metadata(3, &[])
                    }
                    1 => metadata(3, &[]),
                    5 => metadata(1, &all[cut..]),
                    _ => metadata(2, &[]),
                }
            });
            assert_eq!((counts, gone), (plain(name).0, 3), "{name}, {first}");
        }
    }
}

#[test]
fn a_trace_that_is_gone_is_asked_for_seldom() {
    for name in NAMES {
        let (mut relayd, ..) = session(name);
        relayd.quiet = Duration::from_secs(31);
        let mut asked = 0;
        let (counts, _) = play(&mut relayd, &mut |command, mut reply| match command {
            METADATA => {
                asked += 1;
                metadata(3, &[])
            }
            // INDEX: there is always new metadata.
            4 => {
                reply[63] |= 1;
                reply
            }
            _ => reply,
        });
        check_lost(name, counts);
        assert!((25..40).contains(&asked), "{name}: {asked}");
    }
}

const NEW_STREAMS: u32 = 7;

/// How reading ends for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// The connection is gone.
    Disconnected,
    /// The relay daemon has lost the viewer.
    Lost,
    /// There is no memory.
    Full,
}

#[test]
fn packets_that_wait_when_reading_breaks_come_again_and_count_once() {
    for (name, how) in NAMES
        .iter()
        .flat_map(|name| [Broken::Disconnected, Broken::Lost, Broken::Full].map(|how| (*name, how)))
    {
        let (mut relayd, all, cut) = session(name);
        let (asked, broken, mut waiting) = (Cell::new(0), Cell::new(false), 0);
        let (counts, _) = play_broken(
            &mut relayd,
            &mut |command, reply| match command {
                NEW_STREAMS if how == Broken::Lost && asked.get() > 5 && !broken.get() => {
                    [0, 0, 0, 3, 0, 0, 0, 0].to_vec()
                }
                METADATA if !broken.get() => {
                    asked.set(asked.get() + 1);
                    if asked.get() == 1 { metadata(1, &all[..cut]) } else { metadata(2, &[]) }
                }
                _ => reply,
            },
            &mut |reader, now| {
                let breaks = asked.get() > 5 && (how != Broken::Lost || reader.is_over());
                if !breaks || broken.replace(true) {
                    waiting = if broken.get() { waiting } else { reader.held().own };
                    return false;
                }
                if how == Broken::Full {
                    reader.give_up(at(now), "no memory");
                }
                let freed = waiting.saturating_sub(reader.held().own);
                assert!(freed > 4096 || how == Broken::Disconnected, "{name}, {how:?}: {freed}");
                true
            },
        );
        assert_eq!((counts, broken.get()), (plain(name).0, true), "{name}, {how:?}");
    }
}

#[test]
fn packets_read_before_any_metadata_are_not_read_again() {
    for name in NAMES {
        let (mut relayd, all, _) = session(name);
        let (asked, broken) = (Cell::new(0), Cell::new(false));
        let (counts, _) = play_broken(
            &mut relayd,
            &mut |command, reply| {
                if command != METADATA || broken.get() {
                    return reply;
                }
                asked.set(asked.get() + 1);
                match asked.get() {
                    1 => metadata(3, &[]),
                    2 => metadata(1, &all),
                    _ => metadata(2, &[]),
                }
            },
            &mut |_, _| asked.get() == 3 && !broken.replace(true),
        );
        let (plain, errors) = (plain(name).0, counts.errors);
        assert!(broken.get() && errors > 5, "{name}: {counts:?}");
        assert_eq!(counts, Counts { events: 0, errors, ..plain }, "{name}");
    }
}
