use super::*;

#[test]
fn metadata_that_begins_anew_is_noticed() {
    let first: Vec<u8> = (0..4096u32).map(|i| (i % 251) as u8).collect();
    let mut trace = Trace::new(Duration::ZERO);
    assert!(!trace.append(&first[..100]) && !trace.append(&first[100..]));
    assert_eq!(trace.total, 4096);
    assert!(!trace.append(&first[7..]) && !trace.append(&[1; 400]) && !trace.append(&first[..40]));
    let mut again = first;
    again[25..29].fill(0xee);
    assert!(trace.append(&again));
    assert_eq!(trace.total, 4096);
}

#[test]
fn after_a_vain_wait_packets_wait_again_when_metadata_comes() {
    let metadata: Vec<u8> = (0..400u32).map(|i| (i % 251) as u8).collect();
    let mut trace = Trace::new(Duration::ZERO);
    trace.append(&metadata);
    let waits = Some(Waits { since: Duration::ZERO, pause: FIRST_PAUSE });
    assert!(trace.may_wait(Duration::ZERO, waits));
    assert!(!trace.may_wait(limits::METADATA_TIME, waits));
    assert!(!trace.may_wait(limits::METADATA_TIME, None), "nor do others");
    // The same number of bytes again.
    assert!(trace.append(&metadata) && trace.total == 400);
    assert!(trace.may_wait(limits::METADATA_TIME, None));
}

#[test]
fn metadata_is_waited_for_but_not_for_ever() {
    let mut trace = Trace::new(Duration::ZERO);
    assert!(!trace.ready() && trace.ask(Duration::ZERO).is_none());
    trace.stream = Some(1);
    assert_eq!(
        (trace.ask(Duration::ZERO), trace.ask(Duration::ZERO), trace.again),
        (Some(1), None, true)
    );
    let (mut now, mut asked) = (Duration::ZERO, 0);
    while !trace.settle(now) {
        let MetadataState::Retry(at) = trace.metadata_state else {
            panic!("{:?}", trace.metadata_state)
        };
        (now, asked) = (at, asked + 1);
        assert_eq!((trace.ready(), trace.ask(now)), (false, Some(1)));
    }
    assert!(trace.ready() && now >= limits::METADATA_TIME && asked < 15, "{now:?} {asked}");
}
