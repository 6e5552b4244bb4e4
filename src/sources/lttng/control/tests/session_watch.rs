use super::*;

const AT: fn(u64) -> Duration = Duration::from_secs;

#[test]
fn lost_silent_and_active() {
    let (watch, relay) = (SessionWatch::default(), Arc::from("relay"));
    watch.manage(["a"].into_iter());
    for second in 0..=5 {
        watch.listing_done(&relay, AT(second));
    }
    assert_eq!(watch.take(), [Notice::Lost("a".into())]);
    for second in 6..=60 {
        watch.listed(&relay, "a");
        watch.listed(&relay, "somebody else's");
        watch.listing_done(&relay, AT(second));
    }
    assert_eq!(watch.take(), [36, 46, 56].map(|_| Notice::Silent("a".into())));
    watch.events("a", 0, AT(61));
    watch.events("b", 7, AT(61));
    watch.events("a", 7, AT(67));
    watch.events("a", 7, AT(68));
    assert_eq!(watch.take(), [Notice::Active("a".into())]);
    watch.manage([].into_iter());
    watch.listing_done(&relay, AT(100));
    assert_eq!(watch.take(), []);
}

#[test]
fn a_session_of_one_relay_daemon_is_not_lost_because_another_does_not_list_it() {
    let (watch, one, other) = (SessionWatch::default(), Arc::from("one"), Arc::from("other"));
    watch.manage(["a"].into_iter());
    for second in 0..=20 {
        watch.listed(&one, "a");
        watch.listing_done(&other, AT(second));
        watch.listing_done(&one, AT(second));
    }
    assert_eq!(watch.take(), []);
    watch.disconnected(&one);
    for second in 21..=25 {
        watch.listing_done(&other, AT(second));
    }
    assert_eq!(watch.take(), [Notice::Lost("a".into())]);
}

#[test]
fn each_notice_wakes_the_control() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let wakes = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&wakes);
    let watch = SessionWatch::new(move || _ = count.fetch_add(1, Ordering::Relaxed));
    watch.manage(["a"].into_iter());
    watch.events("a", 1, AT(1));
    watch.listing_done(&Arc::from("relay"), AT(1));
    watch.events("a", 1, AT(2));
    assert_eq!(wakes.load(Ordering::Relaxed), 1);
    watch.notice(Notice::Silent("a".into()));
    assert_eq!((wakes.load(Ordering::Relaxed), watch.take().len()), (2, 2));
}
