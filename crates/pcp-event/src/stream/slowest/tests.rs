use super::*;
use crate::{Budget, Stamp, Stream};

const DURATION: Pmid = Pmid(7);
const TITLE: Pmid = Pmid(8);

/// Appends a record of each duration at a time in seconds.
fn append(stream: &Stream, at: u64, durations: impl IntoIterator<Item = u64>) {
    let mut batch = Batch::default();
    for duration in durations {
        batch.record(Stamp::default(), 1);
        batch.text(TITLE, "GET /");
        batch.number(DURATION, ValueType::U64, duration);
    }
    stream.append_at(&mut batch, Duration::from_secs(at));
}

fn durations(stream: &Stream, at: u64) -> Vec<u64> {
    let (_, packed) = stream.slowest(Duration::from_secs(at)).expect("kept");
    Records::<HighRes>::packed(&packed)
        .map(|record| match record.expect("whole").params.as_slice() {
            [_, duration] => match duration.value {
                Scalar::U64(duration) => duration,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
        .collect()
}

/// The numbers 0 to `n`, mixed.
fn mixed(n: u64) -> impl Iterator<Item = u64> {
    (0..n).map(move |i| i * 7919 % n)
}

#[test]
fn the_slowest_stay_when_the_ring_has_dropped_them() {
    let stream = Stream::with_slowest(&Budget::new(100_000), DURATION);
    append(&stream, 1000, mixed(20_011));
    append(&stream, 1001, mixed(1000));
    let slowest: Vec<u64> = (0..20_011).rev().take(SLOWEST).collect();
    assert_eq!(durations(&stream, 1002), slowest);
    let stats = stream.stats();
    assert!((95_000..=100_000).contains(&stats.memory), "{stats:?}");
    assert_eq!(Stream::new(&Budget::new(100)).slowest(Duration::ZERO), None);
}

#[test]
fn they_are_those_of_the_last_minutes() {
    let stream = Stream::with_slowest(&Budget::new(1 << 20), DURATION);
    // Each half minute has durations of its own, first ever fewer, then ever more.
    let of = |n: u64| mixed(997).map(move |d| 10 * d + (n * 37) % 10 + 1000 * (n % 3));
    for n in 0..40 {
        append(&stream, 30 * n, of(n));
        append(&stream, 30 * n + 29, of(n + 1));
        let kept = n.saturating_sub(10)..=n;
        let mut all: Vec<u64> = kept.flat_map(|n| of(n).chain(of(n + 1))).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.truncate(SLOWEST);
        assert_eq!(durations(&stream, 30 * n + 29), all, "{n}");
    }
    let (changes, _) = stream.slowest(Duration::from_secs(1200)).expect("kept");
    assert_eq!(durations(&stream, 1499).len(), SLOWEST);
    assert_eq!(durations(&stream, 30 * 40 + 300), [], "none is 5 minutes old");
    assert_ne!(stream.slowest_changes(Duration::from_secs(1501)), Some(changes));
    stream.trim(Duration::from_secs(1501));
    append(&stream, 2000, [5]);
    assert_eq!(durations(&stream, 2000), [5]);
}

#[test]
fn few_bytes_have_the_slowest_that_fit() {
    let budget = Budget::new(8 << 10);
    let stream = Stream::with_slowest(&budget, DURATION);
    append(&stream, 10, mixed(5003));
    append(&stream, 40, mixed(5003));
    let kept = durations(&stream, 41);
    assert!((10..SLOWEST).contains(&kept.len()), "{}", kept.len());
    assert!(kept.is_sorted_by(|a, b| a >= b) && *kept.last().expect("some") > 4950, "{kept:?}");
    assert!(budget.held() <= 8 << 10, "{}", budget.held());
    drop(stream);
    assert_eq!(budget.held(), 0);
}

#[test]
fn at_rest_they_are_small_and_the_same_and_expire() {
    let budgets = [Budget::new(1 << 20), Budget::new(1 << 20)];
    let [resting, awake] = budgets.each_ref().map(|b| Stream::with_slowest(b, DURATION));
    let both = |at, n| [&resting, &awake].iter().for_each(|s| append(s, at, mixed(n)));
    let rest = |at| {
        (0..2).for_each(|_| resting.trim(Duration::from_secs(at)));
        resting.rest()
    };
    let same = |at| {
        let now = Duration::from_secs(at);
        assert_eq!(resting.slowest(now), awake.slowest(now), "{at}");
    };
    both(10, 61);
    both(40, 67);
    assert!(rest(50) > 0);
    assert!(3 * budgets[0].held() < budgets[1].held(), "{budgets:?}");
    same(50);
    assert_eq!(rest(60), 0, "once");
    same(329);
    // The first period ends; the other one rests again.
    same(331);
    assert!(rest(331) > 0);
    same(332);
    both(333, 71);
    assert_eq!(budgets[0].held(), budgets[1].held());
    same(334);
    assert!(rest(340) > 0);
    same(400);
    same(800);
    assert_eq!(durations(&resting, 800), []);
    drop(resting);
    assert_eq!(budgets[0].held(), 0);
}

#[test]
fn a_large_record_is_shortened() {
    let stream = Stream::with_slowest(&Budget::new(1 << 20), DURATION);
    let mut batch = Batch::default();
    batch.record(Stamp { sec: 5, nsec: 6 }, 3);
    (0..5).for_each(|_| batch.text(TITLE, &"é".repeat(40_000)));
    batch.number(DURATION, ValueType::U64, 77);
    stream.append_at(&mut batch, Duration::ZERO);
    let (_, packed) = stream.slowest(Duration::ZERO).expect("kept");
    let record = Records::<HighRes>::packed(&packed).next().expect("one").expect("whole");
    assert_eq!((record.stamp, record.flags), (Stamp { sec: 5, nsec: 6 }, 3));
    assert!(packed.len() <= RECORD && record.params.len() == 4, "{}", packed.len());
    assert_eq!(record.params[0].value, Scalar::Text("é".repeat(TEXT / 2).as_bytes()));
    assert_eq!(record.params[3].value, Scalar::U64(77));
    // A record without a duration is not ranked; a cut one is not read beyond its end.
    batch.record(Stamp::default(), 1);
    batch.text(TITLE, "a");
    stream.append_at(&mut batch, Duration::ZERO);
    assert_eq!(stream.slowest(Duration::ZERO).expect("kept").1, packed);
    (0..packed.len() - 12)
        .for_each(|n| assert_eq!(number_of(&packed[..n], duration_header(DURATION)), None));
}
