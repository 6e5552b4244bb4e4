//! Event arrays compared with libpcp_pmda's in the same run, and the cost of streams: `cargo bench
//! --bench events`.
//!
//! One record with 5 parameters (U32, U64, DOUBLE, STRING of 24 bytes, 64), built by
//! qa/peers/evbench.c with libpcp_pmda, by the same program with libpmdaevent.so in front of it,
//! and by `events::Array`. The three take turns; medians are shown. Then, for both libraries,
//! instructions of records without parameters and of queues (qa/peers/evqueue.c: events of 64 bytes
//! appended and fetched, a record and a text each).
//! Needs cc, libpcp-pmda-dev and, for instruction counts, valgrind.
#![allow(
    clippy::expect_used,
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    reason = "a bench"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use pmdaapm::events::{
    Array, Batch, Budget, HighRes, Limits, ReadRequest, Resolutions, Stream, flags,
};
use pmdaapm::model::{Pmid, Stamp, ValueType};

const TEXT: &str = "java.lang.Thread.run:834";
const ROUNDS: usize = 7;

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Nanoseconds a record, for each of `repetitions` arrays of `records` records.
fn native(records: u32, repetitions: u32) -> Vec<f64> {
    let mut array = Array::<HighRes>::new();
    let pmids: Vec<Pmid> = (1..=5).map(|item| Pmid::new(30, 0, item)).collect();
    let [a, b, c, d, e] = pmids.try_into().expect("five");
    let once = |array: &mut Array<HighRes>| {
        array.reset();
        for i in 0..records {
            let added = array
                .add_record(Stamp { sec: 1_700_000_000, nsec: i }, flags::POINT)
                .and_then(|()| {
                    array.add_u32(a, black_box(i))?;
                    array.add_u64(b, u64::from(i) * 1000)?;
                    array.add_f64(c, f64::from(i) * 0.5)?;
                    array.add_text(d, black_box(TEXT).as_bytes())?;
                    array.add_i64(e, -i64::from(i))
                });
            added.expect("fits");
        }
        black_box(array.bytes());
    };
    (0..repetitions)
        .map(|_| {
            let start = Instant::now();
            once(&mut array);
            start.elapsed().as_nanos() as f64 / f64::from(records)
        })
        .collect()
}

/// Median nanoseconds a record of the C program.
fn c_program(program: &Path, preload: Option<&Path>, records: u32, repetitions: u32) -> f64 {
    let mut command = Command::new(program);
    command.args([records.to_string(), repetitions.to_string(), "hi".into()]);
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    let output = command.output().expect("evbench runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.split(' ')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or_else(|| panic!("evbench: {output:?}"))
}

/// Instructions per record: the difference of two runs, the second with `records` records more.
fn instructions(
    program: &Path,
    preload: Option<&Path>,
    records: u32,
    arguments: impl Fn(u32) -> Vec<String>,
) -> Option<f64> {
    let run = |repetitions| {
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(arguments(repetitions));
        if let Some(library) = preload {
            command.env("LD_PRELOAD", library);
        }
        let output = command.output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().find_map(|l| l.split("Collected :").nth(1)?.trim().parse::<f64>().ok())
    };
    Some((run(2)? - run(1)?) / f64::from(records))
}

fn run_or_panic(command: &mut Command) {
    let status = command.status().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(status.success(), "{command:?} failed");
}

/// evbench, evqueue and libpmdaevent.so, built.
fn build() -> [PathBuf; 3] {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = std::env::current_exe().expect("a path");
    let release = here.ancestors().nth(2).expect("target/release/deps/events");
    let [arrays, queues] = ["evbench", "evqueue"].map(|name| {
        let program = release.join(name);
        let source = top.join("qa/peers").join(name).with_extension("c");
        run_or_panic(
            Command::new("cc")
                .args(["-O2", "-Wall", "-o"])
                .arg(&program)
                .arg(source)
                .args(["-lpcp_pmda", "-lpcp"]),
        );
        program
    });
    run_or_panic(
        Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "-p", "pmdaevent"])
            .env("CARGO_TARGET_DIR", release.parent().expect("target"))
            .current_dir(top),
    );
    [arrays, queues, release.join("libpmdaevent.so")]
}

/// Instructions of both libraries for the work that `arguments` request once, or twice.
fn compare(
    what: &str,
    program: &Path,
    library: &Path,
    records: u32,
    arguments: impl Fn(u32) -> Vec<String>,
) {
    let [c, capi] =
        [None, Some(library)].map(|preload| instructions(program, preload, records, &arguments));
    if let (Some(c), Some(capi)) = (c, capi) {
        println!("{what:<44}{c:>12.0}{capi:>12.0}{:>12}{:>10.2}", "", capi / c);
    }
}

fn queues(arrays: &Path, queues: &Path, library: &Path) {
    println!("instructions");
    for (kind, what) in
        [("lo0", "low"), ("hi0", "high"), ("lo", "low, 5 parameters"), ("hi", "high, 5 parameters")]
    {
        let arguments = |n: u32| vec!["10000".into(), n.to_string(), kind.into()];
        compare(&format!("record, {what}"), arrays, library, 10_000, arguments);
    }
    for (clients, events) in [(1, 100), (4, 100), (1, 1), (4, 1)] {
        let rounds = 10_000 / events;
        let arguments = |n: u32| [n * rounds, clients, events, 64].map(|n| n.to_string()).to_vec();
        compare(
            &format!("event, {clients} clients, {events} a fetch"),
            queues,
            library,
            10_000,
            arguments,
        );
    }
}

fn arrays() {
    let [program, queue_program, library] = build();
    println!(
        "{:<44}{:>12}{:>12}{:>12}{:>10}{:>10}",
        "ns a record (medians)", "libpcp_pmda", "pmdaevent", "Array", "capi/C", "Array/C"
    );
    for records in [100, 10_000] {
        let repetitions = 2_000_000 / records;
        let (mut c, mut capi, mut rust) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            c.push(c_program(&program, None, records, repetitions));
            capi.push(c_program(&program, Some(&library), records, repetitions));
            rust.push(median(native(records, repetitions)));
        }
        let (c, capi, rust) = (median(c), median(capi), median(rust));
        let what = format!("high resolution, arrays of {records}");
        println!("{what:<44}{c:>12.1}{capi:>12.1}{rust:>12.1}{:>10.2}{:>10.2}", capi / c, rust / c);
    }
    let c_arguments = |repetitions: u32| vec!["10000".into(), repetitions.to_string(), "hi".into()];
    let own = std::env::current_exe().expect("a path");
    let counts = (
        instructions(&program, None, 10_000, c_arguments),
        instructions(&program, Some(&library), 10_000, c_arguments),
        instructions(&own, None, 10_000, |repetitions| {
            vec!["--native".into(), "10000".into(), repetitions.to_string()]
        }),
    );
    match counts {
        (Some(c), Some(capi), Some(rust)) => {
            println!(
                "{:<44}{c:>12.0}{capi:>12.0}{rust:>12.0}{:>10.2}{:>10.2}",
                "instructions a record (10000)",
                capi / c,
                rust / c
            );
        }
        _ => println!("no instruction counts: is valgrind installed?"),
    }
    queues(&program, &queue_program, &library);
}

fn put_record(batch: &mut Batch, n: u64) {
    batch.record(Stamp { sec: 1_795_000_000, nsec: 123_456_789 }, flags::POINT);
    batch.number(Pmid(1), ValueType::U32, black_box(n) & 0xffff_ffff);
    batch.number(Pmid(2), ValueType::U64, n);
    batch.number(Pmid(3), ValueType::F64, 0.25_f64.to_bits());
    batch.text(Pmid(4), black_box(TEXT));
    batch.number(Pmid(5), ValueType::I64, n);
}

/// Median of `f`, in nanoseconds.
fn time(runs: usize, mut f: impl FnMut()) -> f64 {
    let once = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_nanos() as f64
    };
    median((0..runs).map(|_| once(&mut f)).collect())
}

fn streams() {
    println!();
    for size in [1, 10, 100, 1000] {
        let stream = Stream::new(&Budget::new(1 << 20));
        let mut batch = Batch::default();
        // The stream is full before the measurement, so that every append also drops.
        (0..10_000).for_each(|n| put_record(&mut batch, n));
        stream.append(&mut batch);
        let rounds = 100_000 / size;
        let ns = time(21, || {
            for _ in 0..rounds {
                (0..size).for_each(|n| put_record(&mut batch, n));
                stream.append(&mut batch);
            }
        });
        println!(
            "append (pack and ring), batches of {size:<5}{:>10.1} ns a record",
            ns / (rounds * size) as f64
        );
    }
    const RECORDS: usize = 1000;
    let stream = Stream::new(&Budget::new(32 << 20));
    let mut batch = Batch::default();
    (0..RECORDS as u64).for_each(|n| put_record(&mut batch, n));
    stream.append(&mut batch);
    let want = Resolutions { low: false, high: true };
    let request = ReadRequest::new(want, Limits::new(RECORDS, 1 << 20), Pmid(9));
    for clients in [1, 10] {
        let ns = time(201, || {
            for ctx in 0..clients {
                let delivery = stream.read(ctx, &request);
                assert_eq!(delivery.records, RECORDS);
                black_box(delivery);
            }
            (0..clients).for_each(|ctx| stream.forget(ctx));
        });
        println!(
            "fetch of {RECORDS} records by {clients:>2} clients{:>12.2} us, {:.2} us a client",
            ns / 1e3,
            ns / 1e3 / f64::from(clients)
        );
    }
    let bytes = stream.newest(RECORDS);
    let ns = time(201, || {
        black_box(black_box(&bytes).clone());
    });
    println!("memcpy of these {} bytes{:>17.2} us", bytes.len(), ns / 1e3);
    let all = |_: &[u8]| true;
    let ns = time(201, || {
        black_box(stream.read(1, &ReadRequest { filter: Some(&all), ..request }));
        stream.forget(1);
    });
    println!("fetch through a filter that takes all{:>8.2} us", ns / 1e3);
    let ns = time(201, || {
        black_box(stream.read(
            1,
            &ReadRequest { resolutions: Resolutions { low: true, high: false }, ..request },
        ));
        stream.forget(1);
    });
    println!("fetch in low resolution{:>22.2} us", ns / 1e3);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--native") {
        let mut number = || arguments.next().and_then(|a| a.parse().ok()).expect("a number");
        let (records, repetitions) = (number(), number());
        println!("{:.2}", median(native(records, repetitions)));
        return;
    }
    arrays();
    streams();
}
