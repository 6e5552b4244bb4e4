use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn plan_and_types_agree(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        check(&bytes);
    }
}

/// The comparison is meaningless if most packets fail early.
#[test]
fn events_are_really_decoded() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = proptest::collection::vec(any::<u8>(), 300..600);
    let (mut with_events, mut events) = (0, 0);
    for _ in 0..500 {
        let count = check(&strategy.new_tree(&mut runner).unwrap().current());
        events += count;
        with_events += usize::from(count > 1);
    }
    assert!(
        with_events > 100 && events > 1000,
        "{with_events} packets with more than one event, {events} events"
    );
}
