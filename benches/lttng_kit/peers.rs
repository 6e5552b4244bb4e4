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
    // Benches are in the workspace's root and in crates/* and tests/kit.
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let all = ["../shared/data/lttng/ust-c-all/trace", "qa/corpus/lttng/ust216-ctf-2/trace"];
    let places = [here.clone(), here.join("../..")];
    let there = all
        .iter()
        .flat_map(|dir| places.iter().map(move |root| root.join(dir)))
        .find(|dir| dir.is_dir());
    there.map(|dir| dir.display().to_string()).into_iter().collect()
}

/// What one run took, in seconds.
#[derive(Clone, Copy)]
struct Took {
    wall: f64,
    /// CPU time of all threads, of the user and of the kernel.
    cpu: f64,
}

/// CPU time of all children that have ended, in steps of the kernel's clock (mostly 10 ms).
fn children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields 16 and 17; the name before the first ones may have blanks.
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks = fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>();
    ticks / rustix::param::clock_ticks_per_second() as f64
}

/// CPU time of this process.
fn own() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default().as_secs_f64()
}

/// Measures `run` by the wall and by a clock of CPU time.
fn measure<T>(cpu: fn() -> f64, run: impl FnOnce() -> T) -> (T, Took) {
    let (start, before) = (Instant::now(), cpu());
    let result = run();
    (result, Took { wall: start.elapsed().as_secs_f64(), cpu: cpu() - before })
}

/// What a reader took, including less than 20 ms for its start; `None`: it is not installed or
/// cannot read the trace.
fn run((program, arguments): (&str, &[&str]), dir: &str) -> Option<Took> {
    let mut command = Command::new(program);
    command.args(arguments).arg(dir).stdout(Stdio::null()).stderr(Stdio::null());
    let (status, took) = measure(children, || command.status());
    status.is_ok_and(|status| status.success()).then_some(took)
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

/// The median of some times or ratios, and the least and the greatest.
fn spread(mut values: Vec<f64>) -> Option<(f64, f64, f64)> {
    values.sort_by(f64::total_cmp);
    Some((*values.get(values.len() / 2)?, *values.first()?, *values.last()?))
}

fn median(took: &[Took], of: fn(&Took) -> f64) -> f64 {
    spread(took.iter().map(of).collect()).map_or(0.0, |(median, ..)| median)
}

/// The ratios of each round: the faster of the others to ours.
fn against(ours: &[Took], others: &[Vec<Took>], of: fn(&Took) -> f64) -> String {
    let faster = |n| others.iter().filter_map(|took| took.get(n).map(of)).reduce(f64::min);
    let ratios = ours.iter().enumerate().filter_map(|(n, ours)| Some(faster(n)? / of(ours)));
    match spread(ratios.collect()) {
        Some((median, least, most)) => format!("{median:6.2} x ({least:.2} to {most:.2})"),
        None => "no other reader".to_owned(),
    }
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
/// faster of the others to each of ours. CPU time depends less on the load than time.
pub(crate) fn ratio<T>(rounds: usize, load: impl Fn(&str) -> T, ours: &[Ours<T>]) {
    const CPU: fn(&Took) -> f64 = |took| took.cpu;
    const WALL: fn(&Took) -> f64 = |took| took.wall;
    for dir in dirs() {
        let loaded = load(&dir);
        let mut took = vec![Vec::new(); ours.len()];
        let mut others = [Vec::new(), Vec::new()];
        // The first round is not counted: caches and memory are cold.
        for round in 0..=rounds {
            for ((_, run), took) in ours.iter().zip(&mut took) {
                took.push(measure(own, || run(&loaded)).1);
            }
            for (reader, took) in [BABELTRACE2, BABELTRACE1].into_iter().zip(&mut others) {
                took.extend(run(reader, &dir));
            }
            if round == 0 {
                took.iter_mut().chain(&mut others).for_each(Vec::clear);
            }
        }
        println!("{dir}, {rounds} rounds");
        let readers = [BABELTRACE2, BABELTRACE1].map(|(name, _)| name);
        for (name, took) in readers.into_iter().zip(&others).filter(|(_, took)| !took.is_empty()) {
            println!("  {name:12} CPU {:7.3} s; {:7.3} s", median(took, CPU), median(took, WALL));
        }
        for ((name, _), took) in ours.iter().zip(&took) {
            let [cpu, wall] = [CPU, WALL].map(|of| (median(took, of), against(took, &others, of)));
            println!("  {name:12} CPU {:7.3} s {}; {:7.3} s {}", cpu.0, cpu.1, wall.0, wall.1);
        }
    }
}
