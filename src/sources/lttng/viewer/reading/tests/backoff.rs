use super::*;

const STEP: Duration = Duration::from_millis(5);

/// Polls a stream that has news at `actual` times; returns the delay of each news in
/// microseconds, and the number of polls.
fn follow(timer: u64, actual: impl Iterator<Item = u64>) -> (Vec<u64>, u32) {
    let (mut backoff, mut now, mut polls) =
        (Backoff::new(Duration::from_micros(timer)), Duration::from_secs(1), 0);
    let mut delays = Vec::new();
    for news in actual.map(Duration::from_micros) {
        while now < news {
            polls += 1;
            let next = backoff.next(now, STEP);
            assert!(next > now, "a spin at {now:?}");
            now = next;
        }
        delays.push(u64::try_from((now - news).as_micros()).unwrap());
        backoff.news(now, false);
    }
    (delays, polls)
}

#[test]
fn idle_streams_are_followed_closely_and_cheaply() {
    for timer in [100_000, 200_000, 1_000_000] {
        // Timers of the consumer are late by up to 2 ms, never early.
        let (delays, polls) =
            follow(timer, (1..500).map(|i| 1_003_000 + i * timer + (i * 7919) % 2000));
        assert!(
            delays[5..].iter().all(|d| *d <= 7000),
            "timer {timer}: {:?}",
            delays[5..].iter().max()
        );
        assert!(u64::from(polls) <= 500 * (4 + timer / 200_000), "timer {timer}: {polls} polls");
    }
}

#[test]
fn without_news_it_backs_off() {
    let (mut backoff, mut now) = (Backoff::new(Duration::from_millis(100)), Duration::from_secs(5));
    let mut polls = 0;
    while now < Duration::from_secs(65) {
        now = backoff.next(now, STEP);
        polls += 1;
    }
    assert!((600..800).contains(&polls), "{polls}");
}

#[test]
fn full_buffers_are_asked_for_more_often() {
    let mut backoff = Backoff::new(Duration::from_secs(1));
    let now = Duration::from_secs(9);
    backoff.news(now, true);
    assert_eq!(backoff.next(now, STEP), now + QUIET);
    backoff.news(now + Duration::from_millis(30), true);
    assert_eq!(
        backoff.next(now + Duration::from_millis(30), STEP),
        now + Duration::from_millis(30) + BUSY
    );
}
