//! The time of one request.

use std::time::Instant;

use test_kit::zorka::{capture, corpus};

use crate::kit::{AGD, TRC, World};

const REQUESTS: u32 = 400_000;

#[test]
#[ignore = "a measurement: cargo test --release --test zorka_requests speed -- --ignored --nocapture"]
fn a_trace_of_median_length() {
    let world = World::new();
    let requests = capture(&corpus().join("real-2.0.3/demo-local.jsonl"));
    let session = ("x-zorka-session-id", "0123456789abcdef");
    for request in requests.iter().filter(|r| r.path == AGD).take(1) {
        world.send(1, AGD, &[session, ("x-zorka-session-reset", "true")], &request.body);
    }
    let trace = requests.iter().find(|r| r.path == TRC).unwrap();
    let begin = Instant::now();
    for n in 0..REQUESTS {
        let id = format!("{n:032x}");
        let headers = [session, ("x-zorka-trace-id", &id)];
        assert_eq!(world.send(1, TRC, &headers, &trace.body).status, 202);
    }
    let each = begin.elapsed() / REQUESTS;
    println!("{} bytes: {each:?} each", trace.body.len());
    assert_eq!(world.row("collector.request.count", "trc::accepted"), u64::from(REQUESTS));
}
