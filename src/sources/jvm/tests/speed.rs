//! What a reading costs; printed, not asserted: `cargo test --release speed -- --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use super::build::{self, Is};
use super::captures;
use crate::sources::jvm::wire::Directory;
use crate::sources::jvm::{Hints, Reader};

#[test]
fn speed() {
    for (name, region, want) in captures() {
        if !name.ends_with("loaded.hsperf.gz") || !name.contains("g1") && !name.contains("jdk8-par")
        {
            continue;
        }
        let region = &region[..want["head"]["used"].as_u64().unwrap() as usize];
        let mut reader = Reader::new(Hints::default());
        let parse =
            fastest(|| Reader::new(Hints::default()).read(black_box(region)).unwrap().entries);
        let again = fastest(|| reader.read(black_box(region)).unwrap().figures);
        println!("{name}: {} bytes, {parse} ns to parse, {again} ns to read again", region.len());
    }
    let (figures, directory) = (size_of::<crate::sources::jvm::Figures>(), size_of::<Directory>());
    println!("{figures} bytes of figures, {directory} of a directory");
    // The most that a hostile region can cost.
    let many: Vec<_> =
        (0..65_536).map(|i| build::entry(&format!("a.{i:05}"), Is::Long(i))).collect();
    let region = build::region(&many, 1);
    let parse = fastest(|| Reader::new(Hints::default()).read(black_box(&region)).unwrap().entries);
    println!("65536 entries: {parse} ns to parse");
}

/// Nanoseconds of one run, the least of some rounds: others run on this machine too.
fn fastest<T>(mut run: impl FnMut() -> T) -> u128 {
    let (rounds, runs) = if cfg!(debug_assertions) { (1, 2) } else { (100, 50) };
    let times = (0..rounds).map(|_| {
        let start = Instant::now();
        for _ in 0..runs {
            black_box(run());
        }
        start.elapsed().as_nanos() / runs
    });
    times.min().unwrap()
}
