use super::*;
use crate::sources::mono::test_kit::{Agent, GC, MONOTONIC, SECOND, T0, gc};

/// All tokens of `bytes` as text, whole and byte by byte; both must be the same.
fn tokens(framing: Framing, order: Order, bytes: &[u8]) -> (Vec<String>, Option<(u64, String)>) {
    let read = |step: usize| {
        let (mut t, mut all, mut at, mut end) = (Tokenizer::new(framing, order), Vec::new(), 0, 0);
        loop {
            match t.token(bytes.get(at..end).unwrap()) {
                Ok(Some((token, length))) => {
                    all.push(format!("{token:?}"));
                    at += length;
                    assert_eq!(t.consumed(), at as u64);
                }
                Ok(None) if end == bytes.len() => return (all, None),
                Ok(None) => end = (end + step).min(bytes.len()),
                Err(error) => return (all, Some((error.offset, error.violation.to_string()))),
            }
        }
    };
    let whole = read(usize::MAX / 2);
    assert_eq!(whole, read(1));
    whole
}

fn fault(agent: &Agent) -> (u64, String) {
    tokens(Framing::N, agent.order, &agent.bytes).1.unwrap()
}

fn bytes_of_values(framing: Framing, agent: &Agent) -> Vec<String> {
    let (all, fault) = tokens(framing, agent.order, &agent.bytes);
    assert_eq!(fault, None);
    all.into_iter().filter(|t| t.starts_with("Value")).collect()
}

#[test]
fn every_message_has_its_tokens() {
    for order in [Order::Little, Order::Big] {
        let a = Agent::new(order)
            .hello(&[gc("a", 0)])
            .sample(T0)
            .number(0, 7)
            .end()
            .list(&[("a", "GC")])
            .added(gc("b", 1));
        let a = a.raw(&[2, 3, 3, 2]).sample(T0 + SECOND).end();
        let (all, fault) = tokens(Framing::N, order, &a.bytes);
        let kinds: Vec<_> = all.iter().map(|t| t.split(['(', ' ']).next().unwrap()).collect();
        let expected = "Headers Header HeadersEnd Sample Value SampleEnd List Pair ListEnd Added Added Removed Sample SampleEnd";
        assert_eq!((kinds.join(" ").as_str(), fault), (expected, None));
    }
}

#[test]
fn a_and_b_begin_with_headers() {
    let a = Agent::little()
        .headers(&[gc("a", 0)])
        .long(36_000 * SECOND)
        .number(0, 7)
        .end()
        .long(36_001 * SECOND)
        .end();
    let (all, fault) = tokens(Framing::A, Order::Little, &a.bytes);
    assert_eq!((all.len(), fault), (8, None), "{all:?}");
    let b = Agent::little()
        .headers(&[gc("a", 0)])
        .hello(&[gc("a", 0)])
        .sample(T0)
        .number(0, 7)
        .end()
        .byte(1)
        .headers(&[gc("a", 0)]);
    let (all, fault) = tokens(Framing::B, Order::Little, &b.bytes);
    assert_eq!((all.len(), fault), (12, None), "{all:?}");
}

#[test]
fn a_strict_reader_would_stop_at_the_first_unknown_number() {
    for (row, odd) in [
        (gc("abc", 0), None),
        ((0x300, "abc", 0, 0, MONOTONIC, 0), Some(9)),
        ((GC, "abc", 9, 0, MONOTONIC, 0), Some(20)),
        ((GC, "abc", 0, 7, MONOTONIC, 0), Some(24)),
        ((GC, "abc", 0, 0, 3, 0), Some(28)),
        ((5, "abc", 3, 5, 3, 0), None),
        ((10, "abc", 3, 5, 3, 0), Some(9)),
        ((5, "abc", 4, 5, 3, 0), Some(20)),
    ] {
        let a = Agent::little().hello(&[row]);
        let mut t = Tokenizer::new(Framing::N, Order::Little);
        let mut rest = a.bytes.as_slice();
        while let Some((_, length)) = t.token(rest).unwrap() {
            rest = rest.get(length..).unwrap();
        }
        assert_eq!((t.odd(), t.hello_complete()), (odd, true), "{row:?}");
    }
}

#[test]
fn impossible_values() {
    let hello = || Agent::little().hello(&[gc("a", 0)]);
    for (agent, at, what) in [
        (Agent::little().byte(0).short(2), 3, "version 2"),
        (Agent::little().byte(4), 1, "command 4 before Hello"),
        (Agent::little().byte(0).short(1).short(-1), 5, "count -1"),
        (Agent::little().hello(&[(GC, "", 0, 0, MONOTONIC, 0)]), 13, "string length 0"),
        (
            Agent::little().byte(0).short(1).short(1).int(GC.cast_signed()).int(-1),
            13,
            "string length -1",
        ),
        (
            Agent::little().byte(0).short(1).short(1).int(GC.cast_signed()).int(i32::MAX),
            13,
            "string length 2147483647",
        ),
        (
            Agent::little().hello(&[(GC, "a\nb", 0, 0, MONOTONIC, 0)]),
            16,
            "control character in a string",
        ),
        (Agent::little().hello(&[gc("a", -1)]), 28, "index -1"),
        (Agent::little().hello(&[gc("a", 0), gc("b", 0)]), 51, "index 0 announced twice"),
        (hello().byte(0), 29, "second Hello"),
        (hello().byte(5), 29, "command 5"),
        (hello().byte(127), 29, "command 127"),
        (hello().byte(2).byte(4), 30, "status 4"),
        (hello().added(gc("b", 0)), 53, "index 0 announced twice"),
        (hello().byte(1).int(-2), 33, "string length -2"),
        (hello().sample(0), 37, "time 0"),
        (hello().sample(T0).short(-2), 39, "index -2"),
        (hello().sample(T0).short(1), 39, "value of unknown index 1"),
        (hello().sample(T0).short(0).short(0), 41, "size 0 of a INT value"),
        (hello().sample(T0).short(0).short(8), 41, "size 8 of a INT value"),
        (hello().sample(T0).number(0, 1).number(0, 2), 47, "more values in a sample than counters"),
    ] {
        assert_eq!(fault(&agent), (at, what.to_owned()));
    }
}

#[test]
fn names_are_utf8() {
    let a =
        Agent::little().byte(0).short(1).short(1).int(GC.cast_signed()).int(3).raw(b"\xff\xfe\xfd");
    assert_eq!(fault(&a), (16, "string is not UTF-8".into()));
    assert_eq!(fault(&Agent::little().hello(&[gc(&"x".repeat(1025), 0)])).1, "string length 1025");
    let a = Agent::little().hello(&[gc(&"x".repeat(1024), 0)]);
    assert_eq!(tokens(Framing::N, Order::Little, &a.bytes).1, None);
}

#[test]
fn a_message_has_an_end() {
    let name = "x".repeat(1024);
    let rows: Vec<_> = (0..5000).map(|i| gc(&name, i)).collect();
    assert_eq!(fault(&Agent::little().hello(&rows)).1, "message longer than 4194304 bytes");
}

#[test]
fn sizes_left_unsaid_are_those_of_the_type() {
    let hello = |order| Agent::new(order).hello(&[gc("int", 0), (GC, "long", 3, 0, MONOTONIC, 1)]);
    let a = hello(Order::Big).sample(T0).unsaid(0, 7).short(1).short(0).long(9).end();
    assert_eq!(bytes_of_values(Framing::N, &a).len(), 2);
    let a = hello(Order::Little).sample(T0).unsaid(0, 7);
    assert_eq!(fault(&a).1, "size 0 of a INT value");
}

/// A big-endian agent of 2014 with an INT, a WORD and an INT.
fn with_word() -> Agent {
    let word = |kind, index| (1u32, "x", kind, 0u32, 2u32, index);
    Agent::new(Order::Big).hello(&[word(0, 0), word(2, 1), word(0, 2)])
}

fn word_bytes(agent: &Agent) -> Vec<usize> {
    let (all, fault) = tokens(Framing::N, Order::Big, &agent.bytes);
    assert_eq!(fault, None);
    let words = all.iter().filter(|t| t.starts_with("Value { index: 1,"));
    words.map(|t| t.split_once("bytes: ").unwrap().1.split(',').count()).collect()
}

#[test]
fn an_unsaid_word_is_8_unless_only_4_fits() {
    // 8 bytes: the bytes after the first 4 are no index, whatever the value.
    for value in [0, 1, 77, 65_535, 1 << 20, -1, i64::MAX, 0x0000_0000_0002_0000] {
        let a = with_word()
            .sample(T0)
            .unsaid(0, 1)
            .short(1)
            .short(0)
            .long(value)
            .unsaid(2, 5)
            .end()
            .sample(T0 + 1)
            .end();
        assert_eq!(word_bytes(&a), [8], "{value}");
        let a = with_word().sample(T0).short(1).short(0).long(value).end().sample(T0 + 1).end();
        assert_eq!(word_bytes(&a), [8], "{value} at the end");
    }
    // 4 bytes, with another counter or nothing behind them.
    for value in [0, 1, 77, 1 << 20, -1] {
        for next in [0, 7, 65_536] {
            let a =
                with_word().sample(T0).unsaid(1, value).unsaid(2, next).end().sample(T0 + 1).end();
            assert_eq!(word_bytes(&a), [4], "{value} before {next}");
        }
        let a = with_word().sample(T0).unsaid(1, value).end().sample(T0 + 1).end();
        assert_eq!(word_bytes(&a), [4], "{value} at the end");
    }
}

#[test]
fn the_width_of_a_word_is_remembered() {
    let once = with_word().sample(T0).unsaid(1, 9).unsaid(2, 1).end();
    // The WORD is the last value, but its width is known: no wait for the next message.
    let a = once.sample(T0 + 1).unsaid(1, 9).end();
    assert_eq!(word_bytes(&a), [4, 4]);
}
