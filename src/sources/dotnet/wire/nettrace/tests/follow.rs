//! The quick way through a block reads the same as the one that reads everything.

use crate::sources::dotnet::wire::nettrace::metadata::Types;
use crate::sources::dotnet::wire::nettrace::rows::Rows;
use crate::sources::dotnet::wire::nettrace::{Event, EventType};

/// Type, time, stack, number, thread, sorted, payload.
type Seen = (u32, u64, u32, u32, u64, bool, Vec<u8>);

/// The rows of a block up to the first wrong one, and how many were read quickly.
fn read(body: &[u8], six: bool, types: &Types, quickly: bool) -> (Vec<Seen>, usize, usize) {
    let (mut all, mut quick) = (Vec::new(), 0);
    let mut rows = Rows::new(body, six).expect("a header");
    while !rows.is_empty() {
        let Some((row, payload)) = rows.next() else { break };
        let Some(event_type) = types.get(row.type_id) else { break };
        let mut event = row.event(event_type, payload);
        loop {
            let Event { time, thread, sequence, stack, sorted, payload, .. } = event;
            let index = event.event_type.index;
            all.push((index, time, stack, sequence, thread, sorted, payload.to_vec()));
            if !quickly || !rows.follow(&mut event, types) {
                break;
            }
            quick += 1;
        }
        rows.followed(&event);
    }
    (all, rows.left(), quick)
}

#[test]
fn rows_that_follow_are_read_the_same() {
    let mut types = Types::default();
    for id in 0..5 {
        let event_type = EventType {
            index: 0,
            provider: "p".into(),
            id,
            version: 0,
            level: 0,
            keywords: 0,
            name: "".into(),
            opcode: 0,
            fields: Vec::new(),
            complete: true,
        };
        types.define(id, event_type).expect("few types");
    }
    let (mut seed, mut quick) = (1_u64, 0);
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u8::try_from((seed >> 33) % below).expect("below 256")
    };
    for n in 0..20_000 {
        let mut body = vec![20, 0, u8::from(n % 16 != 0), 0];
        body.resize(20, 0);
        for _ in 0..random(100) {
            body.push(match random(8) {
                0 => [0x81, 0x89, 0xc1, 0xcf, 0x46, 0x91][usize::from(random(6))],
                1 => random(256),
                2 => 0x80 | random(128),
                _ => random(6),
            });
        }
        let six = n % 2 == 0;
        let (expected, left, _) = read(&body, six, &types, false);
        let (rows, end, followed) = read(&body, six, &types, true);
        assert_eq!((rows, end), (expected, left), "{body:x?}");
        quick += followed;
    }
    assert!(quick > 2_000, "{quick}");
}
