use super::super::TraceFormat;
use super::*;

fn session(id: u64, clients: u32) -> SessionInfo {
    let live_timer = Duration::from_secs(1);
    SessionInfo {
        id,
        host: "h".into(),
        name: format!("s{id}"),
        live_timer,
        clients,
        streams: 0,
        format: TraceFormat::Ctf1,
    }
}

fn roster(seek: Seek) -> Roster {
    Roster::new(&Settings {
        patterns: vec![Pattern::parse("*").unwrap()],
        seek,
        ..Settings::default()
    })
}

/// One listing: returns the sessions taken, and the reasons reported for others.
fn list(
    roster: &mut Roster,
    now: u64,
    sessions: &[(u64, u32)],
    room: usize,
) -> (Vec<Start>, Vec<(u64, Refused)>) {
    for (id, clients) in sessions {
        roster.listed(session(*id, *clients));
    }
    roster.listing_done();
    let (mut told, mut left) = (Vec::new(), room);
    let permit = || {
        left = left.checked_sub(1)?;
        Some(())
    };
    let taken =
        roster.take(Duration::from_secs(now), permit, |info, why| told.push((info.id, why)));
    (taken.into_iter().map(|(start, ())| start).collect(), told)
}

fn ids(starts: &[Start]) -> Vec<u64> {
    starts.iter().map(|start| start.session.id).collect()
}

fn end(session: u64, attached: Option<u64>, over: Option<SessionEnd>) -> End {
    End {
        session,
        attached: attached.map(Duration::from_secs),
        refused: None,
        over,
        replay_filter: ReplayFilter::new(),
    }
}

#[test]
fn as_many_are_read_as_there_is_room_and_the_others_when_there_is() {
    let mut roster = roster(Seek::Beginning);
    let all = [(1, 0), (2, 0), (3, 0)];
    let (taken, told) = list(&mut roster, 1, &all, 2);
    assert_eq!(
        (ids(&taken), told, roster.beyond_limit()),
        (vec![1, 2], vec![(3, Refused::Limit)], 1)
    );
    let (taken, told) = list(&mut roster, 2, &all, 0);
    assert_eq!((ids(&taken), told), (vec![], vec![]), "told once");
    roster.ended(Duration::from_secs(2), end(1, Some(1), Some(SessionEnd::Closed)));
    let (taken, _) = list(&mut roster, 3, &all[1..], 1);
    assert_eq!((ids(&taken), roster.beyond_limit()), (vec![3], 0));
}

#[test]
fn sessions_that_come_later_or_were_attached_are_read_from_the_beginning() {
    let mut roster = roster(Seek::Last);
    let (taken, _) = list(&mut roster, 1, &[(1, 0), (2, 1)], 9);
    assert_eq!((ids(&taken), taken[0].seek), (vec![1], Seek::Last));
    roster.ended(Duration::from_secs(2), end(1, Some(1), Some(SessionEnd::Disconnected)));
    let (taken, _) = list(&mut roster, 9, &[(1, 0), (2, 0), (3, 0)], 9);
    let seeks: Vec<Seek> = taken.iter().map(|start| start.seek).collect();
    assert_eq!(seeks, [Seek::Beginning, Seek::Last, Seek::Beginning]);
}

#[test]
fn what_had_no_memory_comes_again_ever_later_however_long_it_was_read() {
    let mut roster = roster(Seek::Beginning);
    let (mut now, mut pauses) = (0, Vec::new());
    for _ in 0..7 {
        list(&mut roster, now, &[(1, 0)], 9);
        let over = now + 60;
        roster.ended(Duration::from_secs(over), end(1, Some(now), Some(SessionEnd::Full)));
        now = (over..).find(|at| !list(&mut roster, *at, &[(1, 0)], 9).0.is_empty()).unwrap();
        pauses.push(now - over);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
}

#[test]
fn what_was_ours_is_not_another_viewers_until_it_was_free() {
    let mut roster = roster(Seek::Beginning);
    let (taken, told) = list(&mut roster, 1, &[(1, 0), (2, 1)], 9);
    assert_eq!((taken[0].ours, told), (false, vec![(2, Refused::Busy)]));
    roster.ended(Duration::from_secs(2), end(1, Some(1), Some(SessionEnd::Lost)));
    let (taken, told) = list(&mut roster, 2, &[(1, 1)], 9);
    assert_eq!((ids(&taken), told), (vec![], vec![]), "not at once");
    let (taken, told) = list(&mut roster, 4, &[(1, 1)], 9);
    assert!(taken[0].ours && told.is_empty());
    roster
        .ended(Duration::from_secs(4), End { refused: Some(Refused::Ours), ..end(1, None, None) });
    let (_, told) = list(&mut roster, 5, &[(1, 0)], 0);
    let (_, then) = list(&mut roster, 90, &[(1, 1)], 9);
    assert_eq!(
        (told, then),
        (vec![], vec![(1, Refused::Busy)]),
        "it was free, and is another's now"
    );
}

#[test]
fn what_fails_is_tried_ever_more_seldom() {
    let mut roster = roster(Seek::Beginning);
    let (mut tries, mut last) = (Vec::new(), 0);
    for now in 1..200 {
        let (taken, _) = list(&mut roster, now, &[(1, 0)], 9);
        if !taken.is_empty() {
            tries.push(now - last);
            last = now;
            roster.ended(Duration::from_secs(now), end(1, Some(now), Some(SessionEnd::Lost)));
        }
    }
    assert_eq!(tries[..7], [1, 1, 2, 4, 8, 16, 30]);
}
