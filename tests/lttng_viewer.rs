//! Recorded dialogues with relay daemons, replayed by a relay daemon made of them: whole, byte by
//! byte and cut at many positions, in every minor version, the viewer reports the facts that an
//! independent decoder found (qa/corpus/lttng/live/expected.json).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a test"
)]

use std::time::Duration;

use pmdaapm::sources::lttng::viewer::{Refused, Seek, Settings};
use test_kit::lttng::{
    Connection, Dialogue, NAMES, Observed, Outcome, Relayd, corpus, crc, settings, whole,
};

const START: Duration = Duration::from_secs(100);

fn expected() -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(corpus().join("expected.json")).unwrap()).unwrap()
}

/// Compares the reported events of a session with the facts; if `replayed`, packets that were
/// reported before may be missing.
fn check(name: &str, session: u64, observed: &Observed) {
    let expected = &expected()[name];
    let streams = expected["streams"].as_object().unwrap();
    let mut packets = 0;
    for (id, facts) in streams {
        let id: u64 = id.parse().unwrap();
        if facts["channel"] == "metadata" {
            let (_, bytes) = observed
                .metadata
                .iter()
                .find(|(k, _)| k.session == session && facts["trace"] == k.trace)
                .unwrap();
            assert_eq!(
                (facts["bytes"].as_u64(), &facts["crc32"]),
                (Some(bytes.len() as u64), &crc(bytes).into()),
                "{name}"
            );
            continue;
        }
        let stream = &observed.streams[&(session, id)];
        packets += stream.indexes.len();
        assert_eq!(facts["channel"], stream.channel);
        assert_eq!(facts["path"], stream.path);
        assert_eq!(facts["trace"], stream.trace);
        assert_eq!(facts["packets"], stream.indexes.len(), "{name} {id}");
        assert_eq!(facts["bytes"], stream.bytes.len(), "{name} {id}");
        assert_eq!(facts["crc32"], crc(&stream.bytes), "{name} {id}");
        assert_eq!(facts["beacons"], stream.beacons, "{name} {id}");
        assert_eq!(stream.ended, 1);
    }
    assert!(packets > 10, "{name}: {packets} packets");
}

/// Checks that each packet came after the metadata that was recorded before it.
fn check_order(dialogue: &Dialogue, session: u64, observed: &Observed) {
    let mut later = 0;
    for (id, entries) in &dialogue.streams {
        let needs: Vec<usize> =
            entries.iter().filter(|e| e.packet.is_some()).map(|e| e.needs).collect();
        let there = &observed.streams[&(session, *id)].metadata;
        assert_eq!(needs.len(), there.len());
        assert!(needs.iter().zip(there).all(|(n, t)| n <= t), "{needs:?} {there:?}");
        later += there.iter().filter(|t| **t > there[0]).count();
    }
    assert!(dialogue.name != "live-ust-grow" || later > 5, "metadata grows in it");
}

#[test]
fn every_dialogue_in_every_minor_is_told_as_it_was_recorded() {
    for name in NAMES {
        for minor in 4..=16 {
            let mut relayd = Relayd::new(minor, &[name]);
            let dialogue = relayd.sessions[0].dialogue.clone();
            let (observed, outcome) = whole(&mut relayd, settings(&format!("v*/{name}")));
            outcome.result.unwrap();
            assert_eq!(observed.minors, [(minor, minor.min(15))]);
            if dialogue.format == 1 && minor < 15 {
                assert!(
                    observed.attached.is_empty() && observed.listings > 50,
                    "CTF 2 is hidden from old minors"
                );
                continue;
            }
            assert_eq!(
                (
                    observed.attached.len(),
                    observed.closed,
                    observed.violations.len(),
                    observed.skipped.len()
                ),
                (1, 1, 0, 0),
                "{name}"
            );
            check(name, 1, &observed);
            check_order(&dialogue, 1, &observed);
        }
    }
}

#[test]
fn older_announcements_work_too() {
    for minor in [4, 8, 12, 14] {
        let settings = Settings { minor, ..settings("*/*") };
        let (observed, outcome) = whole(&mut Relayd::new(15, &["live216-ctf-1.8"]), settings);
        outcome.result.unwrap();
        assert_eq!(observed.minors, [(15, minor)]);
        check("live216-ctf-1.8", 1, &observed);
    }
}

/// Runs a viewer of these sessions without a fault until `end`.
fn until(
    relayd: &mut Relayd,
    sessions: &str,
    end: &mut dyn FnMut(&Observed, Duration) -> bool,
) -> Observed {
    let mut observed = Observed::default();
    let connection = Connection {
        settings: settings(sessions),
        roster: None,
        start: START,
        spoil: &mut |_, _, reply| Some(reply),
        piece: &mut |there, _| there,
        end,
    };
    connection.run(relayd, &mut observed).result.unwrap();
    observed
}

#[test]
fn listings_are_frequent_after_a_session_has_gone() {
    let mut seen = Vec::new();
    until(&mut Relayd::new(13, &["live-ust-before"]), "*/*", &mut |observed, time| {
        seen.push((time.as_secs(), observed.closed, observed.listings));
        time > Duration::from_secs(100)
    });
    let at = |second| seen.iter().find(|(s, ..)| *s >= second).unwrap();
    let gone = seen.iter().find(|(_, closed, _)| *closed == 1).unwrap().0;
    assert!(gone > 2 && gone < 60, "{gone}");
    let listings = |from, to| at(to).2 - at(from).2;
    let all = [listings(1, gone - 1), listings(gone, gone + 5), listings(gone + 15, gone + 25)];
    // One a second, ten a second, one a second.
    let [before, after, later] = all;
    assert!(before <= gone as usize && (35..=60).contains(&after), "{all:?}");
    assert!((9..=11).contains(&later), "{all:?}");
}

fn in_pieces(name: &str, piece: &mut dyn FnMut(usize, usize) -> usize) -> (Observed, Outcome) {
    let mut observed = Observed::default();
    let connection = Connection {
        settings: settings("*/*"),
        roster: None,
        start: START,
        spoil: &mut |_, _, reply| Some(reply),
        piece,
        end: &mut |observed, time| observed.closed == 1 || time > Duration::from_secs(60),
    };
    let outcome = connection.run(&mut Relayd::new(13, &[name]), &mut observed);
    (observed, outcome)
}

#[test]
fn byte_by_byte_the_same_is_told() {
    for name in ["live-ust-grow", "live216-ctf-1.8"] {
        let (observed, outcome) = in_pieces(name, &mut |_, _| 1);
        outcome.result.unwrap();
        check(name, 1, &observed);
        assert!(outcome.input < 64 << 10, "{} bytes of input", outcome.input);
    }
}

#[test]
fn cut_at_many_positions_the_same_is_told() {
    // Every cut in the first bytes, in which every kind of reply begins, then cuts in all phases of
    // later replies.
    for cut in (1..700).chain((700..60_000).step_by(977)) {
        let (observed, outcome) =
            in_pieces("live-ust-grow", &mut |there, at| if at < cut { cut - at } else { there });
        outcome.result.unwrap();
        check("live-ust-grow", 1, &observed);
    }
    for piece in [2, 3, 7, 63, 64, 65, 4096, 4371, 4379] {
        let (observed, outcome) = in_pieces("live-ust-grow", &mut |_, _| piece);
        outcome.result.unwrap();
        check("live-ust-grow", 1, &observed);
    }
}

#[test]
fn several_sessions_of_one_name_are_all_read() {
    let mut dialogues: Vec<Dialogue> =
        ["live-ust-grow", "live-ust-before"].map(Dialogue::load).to_vec();
    dialogues.push(Dialogue::load("live216-ctf-1.8"));
    dialogues[0].name = "web".into();
    dialogues[1].name = "web".into();
    let mut relayd = Relayd::of(12, dialogues);
    let observed = until(&mut relayd, "vm/web", &mut |observed, _| observed.closed == 2);
    check("live-ust-grow", 1, &observed);
    check("live-ust-before", 2, &observed);
    assert_eq!(observed.attached.len(), 2, "the third does not fit");
}

/// A connection that breaks after `requests`, then one that continues.
fn broken(requests: usize, seek: Seek, restart: bool) -> Observed {
    let mut observed = Observed::default();
    let mut relayd = Relayd::new(13, &["live-ust-grow"]);
    let settings = Settings { seek, ..settings("*/*") };
    let mut spoil = |n: usize, _: u32, reply: Vec<u8>| (n <= requests).then_some(reply);
    let piece = &mut |there, _| there;
    let end =
        &mut |observed: &Observed, time| observed.closed == 1 || time > Duration::from_secs(30);
    let first = settings.clone();
    let outcome =
        Connection { settings: first, roster: None, start: START, spoil: &mut spoil, piece, end }
            .run(&mut relayd, &mut observed);
    if outcome.result.is_ok() {
        return observed;
    }
    if restart {
        relayd = Relayd::new(13, &["live-ust-grow"]);
    }
    let start = START + outcome.time + Duration::from_secs(1);
    let spoil = &mut |_: usize, _: u32, reply: Vec<u8>| Some(reply);
    let outcome = Connection { settings, roster: Some(outcome.roster), start, spoil, piece, end }
        .run(&mut relayd, &mut observed);
    outcome.result.unwrap();
    assert_eq!(observed.closed, 1);
    observed
}

#[test]
fn after_a_reconnect_nothing_is_lost_and_nothing_is_told_twice() {
    let mut replayed = 0;
    for requests in 0..120 {
        let observed = broken(requests, Seek::Beginning, false);
        for (id, facts) in expected()["live-ust-grow"]["streams"].as_object().unwrap() {
            if let Some(packets) = facts.get("packets") {
                let stream = &observed.streams[&(1, id.parse().unwrap())];
                assert_eq!(*packets, stream.indexes.len(), "broken after {requests}");
                assert_eq!(facts["crc32"], crc(&stream.bytes), "broken after {requests}");
            }
        }
        assert!(observed.skipped.keys().all(|why| why == "Replayed"), "{:?}", observed.skipped);
        replayed += observed.skipped.values().sum::<usize>();
    }
    assert!(replayed > 100, "{replayed}");
}

#[test]
fn a_session_that_was_read_goes_on_whatever_the_seek() {
    let observed = broken(60, Seek::Last, true);
    assert_eq!(observed.attached, [(1, Seek::Last), (1, Seek::Beginning)]);
    let observed = broken(1, Seek::Last, false);
    assert_eq!(observed.attached, [(1, Seek::Last)], "never attached before");
}

#[test]
fn another_viewer_is_waited_for() {
    let mut relayd = Relayd::new(13, &["live-ust-mid"]);
    relayd.sessions[0].clients = 1;
    let mut observed = Observed::default();
    let mut listings = 0;
    let mut run = |relayd: &mut Relayd,
                   spoil: &mut dyn FnMut(usize, u32, Vec<u8>) -> Option<Vec<u8>>,
                   seconds| {
        let connection = Connection {
            settings: settings("*/*"),
            roster: None,
            start: START,
            spoil,
            piece: &mut |there, _| there,
            end: &mut |observed, time| observed.closed == 1 || time > Duration::from_secs(seconds),
        };
        connection.run(relayd, &mut observed).result.unwrap();
        std::mem::take(&mut observed)
    };
    // The listing shows another viewer: no attach is sent.
    let observed = run(&mut relayd, &mut |_, command, reply| (command != 3).then_some(reply), 60);
    assert_eq!((observed.refused, observed.attached.len()), (vec![(1, Refused::Busy)], 0));
    // Another viewer attaches between listing and attach: retried with back-off until it leaves.
    relayd.sessions[0].clients = 0;
    relayd.busy = 4;
    let mut attaches = 0;
    let observed = run(
        &mut relayd,
        &mut |_, command, reply| {
            listings += usize::from(command == 2);
            attaches += usize::from(command == 3);
            Some(reply)
        },
        60,
    );
    assert_eq!((observed.refused.len(), observed.closed, attaches), (4, 1, 5));
    assert!(listings >= 1 + 2 + 4 + 8, "backed off: {listings} listings");
    check("live-ust-mid", 1, &observed);
}

#[test]
fn what_is_not_live_is_told_and_left_alone() {
    let mut relayd = Relayd::new(15, &["live-ust-mid"]);
    relayd.sessions[0].dialogue.live_timer = 0;
    let (observed, _) = whole(&mut relayd, settings("*/*"));
    assert_eq!((observed.refused, observed.attached.len()), (vec![(1, Refused::NotLive)], 0));
}

#[test]
fn a_session_that_is_created_again_is_read_from_its_beginning() {
    let mut relayd = Relayd::new(13, &["live-ust-mid", "live-ust-before"]);
    relayd.sessions[1].over = true;
    relayd.sessions[1].dialogue.name = relayd.sessions[0].dialogue.name.clone();
    let settings = Settings { seek: Seek::Last, ..settings("*/live-ust-mid") };
    let mut observed = Observed::default();
    let mut roster = None;
    for closed in 1..=2 {
        let connection = Connection {
            settings: settings.clone(),
            roster,
            start: START,
            spoil: &mut |_, _, reply| Some(reply),
            piece: &mut |there, _| there,
            end: &mut |observed, time| observed.closed == closed || time > Duration::from_secs(60),
        };
        let outcome = connection.run(&mut relayd, &mut observed);
        outcome.result.unwrap();
        roster = Some(outcome.roster);
        relayd.sessions[1].over = false;
    }
    assert_eq!(observed.attached, [(1, Seek::Last), (2, Seek::Beginning)]);
    check("live-ust-before", 2, &observed);
}

#[test]
fn packets_wait_until_the_reader_has_all_the_metadata_it_needs() {
    let mut relayd = Relayd::new(13, &["live-ust-grow"]);
    // The first reply ends inside a declaration; the rest comes with a later request.
    let d = &mut relayd.sessions[0].dialogue;
    let metadata = *d.metadata.keys().next().unwrap();
    d.first.insert(metadata, 1000);
    d.streams.values_mut().flatten().for_each(|e| e.needs = 0);
    let mut asked = 0;
    let mut released = relayd.clone();
    let mut observed = Observed { need_more: 2, ..Observed::default() };
    let connection = Connection {
        settings: settings("*/*"),
        roster: None,
        start: START,
        spoil: &mut |_, command, reply| {
            if command != 6 {
                return Some(reply);
            }
            asked += 1;
            // Only the fifth request gets the rest.
            let rest = &released.sessions[0].dialogue.metadata[&metadata][1000..];
            Some(match asked {
                5 => [&(rest.len() as u64).to_be_bytes()[..], &[0, 0, 0, 1], rest].concat(),
                _ => reply,
            })
        },
        piece: &mut |there, _| there,
        end: &mut |observed, time| observed.closed == 1 || time > Duration::from_secs(60),
    };
    connection.run(&mut relayd, &mut observed).result.unwrap();
    check("live-ust-grow", 1, &observed);
    assert!(
        observed.streams.values().flat_map(|s| &s.metadata).all(|there| *there == 12288)
            && observed.violations.is_empty()
    );
    // If the rest never comes, packets are reported nevertheless.
    let mut observed = Observed { need_more: usize::MAX, ..Observed::default() };
    let connection = Connection {
        settings: settings("*/*"),
        roster: None,
        start: START,
        spoil: &mut |_, _, reply| Some(reply),
        piece: &mut |there, _| there,
        end: &mut |observed, time| observed.closed == 1 || time > Duration::from_secs(60),
    };
    let outcome = connection.run(&mut released, &mut observed);
    outcome.result.clone().unwrap();
    assert_eq!((observed.violations["MetadataMissing"], observed.packets()), (1, 31));
    assert!(outcome.time > Duration::from_secs(5) && outcome.requests < 1000, "{outcome:?}");
}

/// Plays until all sessions are over, or a minute.
fn play(relayd: &mut Relayd, settings: Settings) -> (Observed, Outcome) {
    let (observed, outcome) = whole(relayd, settings);
    outcome.result.clone().unwrap();
    (observed, outcome)
}

#[test]
fn each_session_has_a_connection_of_its_own() {
    // The relay daemon refuses a second session on a connection.
    let mut relayd =
        Relayd::new(13, &["live-ust-grow", "live-ust-before", "live216-ctf-1.8", "live-ust-mid"]);
    let (observed, outcome) = play(&mut relayd, settings("*/*"));
    assert_eq!((outcome.connections, observed.attached.len(), observed.closed), (5, 4, 4));
    for (session, name) in
        [(1, "live-ust-grow"), (2, "live-ust-before"), (3, "live216-ctf-1.8"), (4, "live-ust-mid")]
    {
        check(name, session, &observed);
    }
}

#[test]
fn new_streams_that_fail_cost_a_new_connection_and_nobody_else_is_blamed() {
    for (failing, slow) in [(1, 0), (1, 7), (3, 0), (3, 5)] {
        let mut relayd = Relayd::new(13, &["live-ust-grow", "live-ust-before"]);
        (relayd.failing, relayd.slow) = (failing, slow);
        let (observed, _) = play(&mut relayd, settings("*/*"));
        assert_eq!((observed.lost, observed.closed), (failing, 2), "{failing} {slow}");
        assert!(
            observed.refused.iter().all(|(_, why)| *why == Refused::Ours),
            "{:?}",
            observed.refused
        );
        assert!(slow == 0 || !observed.refused.is_empty());
        check("live-ust-grow", 1, &observed);
        check("live-ust-before", 2, &observed);
    }
}

#[test]
fn a_session_that_always_fails_is_tried_ever_more_seldom() {
    let mut relayd = Relayd::new(13, &["live-ust-grow"]);
    relayd.failing = usize::MAX;
    let (observed, _) = play(&mut relayd, settings("*/*"));
    assert!((4..10).contains(&observed.lost), "{} times in a minute", observed.lost);
}

#[test]
fn what_is_indexed_when_the_session_is_over_is_read() {
    for name in ["live-ust-grow", "live216-ctf-1.8", "live-ust-before"] {
        let mut relayd = Relayd::new(13, &[name]);
        relayd.early = true;
        let (observed, _) = play(&mut relayd, settings("*/*"));
        assert_eq!(
            (observed.closed, observed.skipped.len(), observed.attached.len()),
            (1, 0, 1),
            "{name} {:?}",
            observed.skipped
        );
        check(name, 1, &observed);
    }
}

#[test]
fn a_session_that_is_over_is_not_waited_for_for_ever() {
    let mut relayd = Relayd::new(13, &["live-ust-grow"]);
    relayd.early = true;
    let mut observed = Observed::default();
    let mut indexes = 0;
    let connection = Connection {
        settings: settings("*/*"),
        roster: None,
        start: START,
        // The streams never end: after ten indexes there are no more, and no end.
        spoil: &mut |_, command, mut reply| {
            indexes += usize::from(command == 4);
            if command == 4 && indexes > 10 {
                reply[..56].fill(0);
                reply[56..64].copy_from_slice(&[0, 0, 0, 2, 0, 0, 0, 0]);
            }
            Some(reply)
        },
        piece: &mut |there, _| there,
        end: &mut |observed, time| observed.closed == 1 || time > Duration::from_secs(60),
    };
    let outcome = connection.run(&mut relayd, &mut observed);
    assert!(
        observed.closed == 1 && observed.packets() > 3 && outcome.time < Duration::from_secs(10),
        "{outcome:?}"
    );
}

#[test]
fn packets_that_come_in_pieces_are_put_together() {
    for most in [40, 1000, 4096] {
        let mut relayd = Relayd::new(13, &["live-ust-grow"]);
        // The index behind a packet has been requested before its second piece.
        (relayd.most, relayd.back) = (most, 2);
        let (observed, _) = play(&mut relayd, settings("*/*"));
        assert!(observed.skipped.is_empty(), "{:?}", observed.skipped);
        check("live-ust-grow", 1, &observed);
    }
}
