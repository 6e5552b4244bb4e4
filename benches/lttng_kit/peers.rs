//! The traces to read, and the other readers to compare with: babeltrace2 and babeltrace 1, if they
//! are installed.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;

/// Readers, with a sink that drops decoded events.
pub(crate) const BABELTRACE2: (&str, &[&str]) = ("babeltrace2", &["-c", "sink.utils.dummy"]);
pub(crate) const BABELTRACE1: (&str, &[&str]) = ("babeltrace", &["-o", "dummy"]);

/// Folders of traces: those of `CTF_TRACES`, or a capture.
pub(crate) fn dirs() -> Vec<String> {
    if let Ok(dirs) = std::env::var("CTF_TRACES") {
        return dirs.split(':').map(str::to_owned).collect();
    }
    // Benches are in the workspace's root and in crates/*.
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let all = ["../shared/data/lttng/ust-c-all/trace", "qa/corpus/lttng/ust216-ctf-2/trace"];
    let places = [here.clone(), here.join("../..")];
    let there = all
        .iter()
        .flat_map(|dir| places.iter().map(move |root| root.join(dir)))
        .find(|dir| dir.is_dir());
    there.map(|dir| dir.display().to_string()).into_iter().collect()
}

/// Run time of a reader, including less than 20 ms for its start; `None`: it is not installed or
/// cannot read the trace.
fn run((program, arguments): (&str, &[&str]), dir: &str) -> Option<Duration> {
    let mut command = Command::new(program);
    command.args(arguments).arg(dir).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    command.status().is_ok_and(|status| status.success()).then(|| start.elapsed())
}

/// Measures a reader. `events`: number of events in the trace.
pub(crate) fn peer(
    bencher: Bencher<'_, '_>,
    reader: (&str, &[&str]),
    dir: &str,
    events: impl Fn(&str) -> u64,
) {
    if run(reader, dir).is_none() {
        println!("{} is not installed or cannot read {dir}", reader.0);
        return;
    }
    bencher.counter(ItemsCount::new(events(dir))).bench_local(|| run(reader, dir));
}

fn median<T: Copy>(mut values: Vec<T>, order: impl Fn(&T, &T) -> std::cmp::Ordering) -> T {
    values.sort_by(order);
    values[values.len() / 2]
}

/// The number of rounds, if `--ratio [ROUNDS]` is among the arguments.
pub(crate) fn rounds() -> Option<usize> {
    let mut arguments = std::env::args().skip_while(|a| a != "--ratio");
    arguments.next()?;
    Some(arguments.next().and_then(|n| n.parse().ok()).unwrap_or(7).max(1))
}

/// One of our readers: its name, and its function on a loaded trace.
pub(crate) type Ours<T> = (&'static str, fn(&T));

/// Runs our readers and the others in turn, `rounds` times, so that other load of the machine
/// affects all readers of a round. Prints the medians of times and of the ratios of each round: the
/// faster of the others to each of ours.
pub(crate) fn ratio<T>(rounds: usize, load: impl Fn(&str) -> T, ours: &[Ours<T>]) {
    for dir in dirs() {
        let loaded = load(&dir);
        let mut times = vec![Vec::new(); ours.len()];
        let mut others = [Vec::new(), Vec::new()];
        // The first round is not counted: caches and memory are cold.
        for round in 0..=rounds {
            for ((_, run), times) in ours.iter().zip(&mut times) {
                let start = Instant::now();
                run(&loaded);
                times.push(start.elapsed().as_secs_f64());
            }
            for (reader, times) in [BABELTRACE2, BABELTRACE1].into_iter().zip(&mut others) {
                times.extend(run(reader, &dir).map(|time| time.as_secs_f64()));
            }
            if round == 0 {
                times.iter_mut().chain(&mut others).for_each(Vec::clear);
            }
        }
        println!("{dir}, {rounds} rounds");
        let readers = [BABELTRACE2, BABELTRACE1].map(|(name, _)| name);
        for (name, times) in readers.into_iter().zip(&others).filter(|(_, times)| !times.is_empty())
        {
            println!("  {name:14} {:8.3} s", median(times.clone(), f64::total_cmp));
        }
        let faster: Vec<_> = (0..rounds)
            .filter_map(|n| others.iter().filter_map(|t| t.get(n).copied()).reduce(f64::min))
            .collect();
        for ((name, _), times) in ours.iter().zip(times) {
            let ratios: Vec<_> =
                times.iter().zip(&faster).map(|(ours, other)| other / ours).collect();
            let against = if ratios.is_empty() {
                "no other reader".to_owned()
            } else {
                let of = |part: fn(f64, f64) -> f64| ratios.iter().copied().reduce(part).unwrap();
                format!(
                    "{:6.2} x ({:.2} to {:.2})",
                    median(ratios.clone(), f64::total_cmp),
                    of(f64::min),
                    of(f64::max)
                )
            };
            println!("  {name:14} {:8.3} s {against}", median(times, f64::total_cmp));
        }
    }
}
