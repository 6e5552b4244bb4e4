//! Deliveries of a stream, and its slowest records: nanoseconds and, where valgrind is installed,
//! instructions of a record. `cargo bench -p pcp-event --bench delivery [-- MODE…]`.
//!
//! 1,000 records of 116 bytes with 5 parameters (U32, U64, DOUBLE, STRING of 24 bytes, 64). Each
//! line ends with a sum of the bytes delivered, which must not change.
#![allow(clippy::expect_used, clippy::cast_precision_loss, reason = "a bench")]

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use pcp_event::{
    Batch, Budget, Delivery, Filter, Limits, ParameterNames, Pmid, ReadRequest, RecordFilter,
    Resolutions, Stamp, Stream, ValueType, flags,
};

const RECORDS: usize = 1000;
/// Short ones, most of which no other process interrupts.
const ROUNDS: u32 = 3001;

/// What is measured, and its filter.
const MODES: &[(&str, Option<&str>)] = &[
    ("high", None),
    ("low", None),
    ("number", Some("a >= 0")),
    ("none", Some("a > 100000")),
    ("time", Some("timestamp > 1.5")),
    ("three", Some("a >= 0 && d < 100000 && s == \"a text*\"")),
    ("glob", Some("s == \"*24*\"")),
    ("append", None),
    ("slowest", None),
    // With the duration as a sixth parameter.
    ("append6", None),
    ("slowest6", None),
];

struct Names;

impl ParameterNames for Names {
    fn find(&self, name: &str, _: usize) -> Vec<(Pmid, ValueType)> {
        let of = |item, ty| vec![(Pmid::new(60, 1, item), ty)];
        match name {
            "a" => of(1, ValueType::U32),
            "d" => of(5, ValueType::I64),
            "s" => of(4, ValueType::Text),
            _ => Vec::new(),
        }
    }
}

fn fill(batch: &mut Batch, six: bool) {
    for (n, sec) in (0..RECORDS as u64).zip(1_700_000_000..) {
        batch.record(Stamp { sec, nsec: 123_456_789 }, flags::POINT);
        let pmid = |item| Pmid::new(60, 1, item);
        batch.number(pmid(1), ValueType::U32, n);
        batch.number(pmid(2), ValueType::U64, n * 7919 % 1009);
        batch.number(pmid(3), ValueType::F64, (n as f64).to_bits());
        batch.text(pmid(4), "a text of 24 characters.");
        batch.number(pmid(5), ValueType::I64, n);
        if six {
            batch.number(pmid(6), ValueType::U64, n * 7919 % 1009);
        }
    }
}

/// FNV-1a.
fn sum(bytes: &[u8]) -> u64 {
    let of = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, of)
}

/// A mode, ready to be run.
struct Mode {
    stream: Stream,
    batch: Batch,
    filter: Option<Filter>,
    resolutions: Resolutions,
    appends: bool,
    six: bool,
}

impl Mode {
    fn new(name: &str) -> Self {
        let (_, filter) = MODES.iter().find(|(other, _)| *other == name).expect("a mode");
        let budget = Budget::new(1 << 20);
        let stream = match name {
            "slowest" => Stream::with_slowest(&budget, Pmid::new(60, 1, 2)),
            "slowest6" => Stream::with_slowest(&budget, Pmid::new(60, 1, 6)),
            _ => Stream::new(&budget),
        };
        let mut batch = Batch::default();
        let six = name.ends_with('6');
        fill(&mut batch, six);
        stream.append(&mut batch);
        Self {
            stream,
            batch,
            filter: filter.map(|text| Filter::parse(text, &Names).expect("sound")),
            resolutions: Resolutions { low: name == "low", high: name != "low" },
            appends: name.starts_with("append") || name.starts_with("slowest"),
            six,
        }
    }

    fn deliver(&self) -> Delivery {
        let matcher = self.filter.as_ref().map(|filter| filter.matcher("instance"));
        let keeps = matcher.as_ref().map(|matcher| |record: &[u8]| matcher.matches(record));
        let limits = Limits::new(RECORDS, 1 << 20);
        let mut request = ReadRequest::new(self.resolutions, limits, Pmid::new(60, 1, 0));
        request.filter = keeps.as_ref().map(|keeps| keeps as RecordFilter<'_>);
        let delivery = self.stream.read(1, &request);
        self.stream.forget(1);
        delivery
    }

    /// Handles all records once.
    fn run(&mut self) {
        if self.appends {
            fill(&mut self.batch, self.six);
            self.stream.append_at(&mut self.batch, Duration::from_secs(1));
        } else {
            black_box(self.deliver());
        }
    }

    fn sum(&self) -> u64 {
        let delivery = self.deliver();
        let slowest = self.stream.slowest(Duration::from_secs(1)).unwrap_or_default().1;
        [&delivery.low, &delivery.high]
            .into_iter()
            .flatten()
            .fold(sum(&slowest), |all, array| all ^ sum(array))
    }

    /// Median nanoseconds of a record.
    fn nanoseconds(&mut self) -> f64 {
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                self.run();
                start.elapsed().as_nanos() as f64 / RECORDS as f64
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        rounds.get(rounds.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// Instructions of a record: the difference of two runs of this program.
fn instructions(mode: &str) -> Option<f64> {
    let own = std::env::current_exe().ok()?;
    let count = |runs: u32| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        let output = command.arg(&own).args(["--runs", mode, &runs.to_string()]).output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().find_map(|l| l.split("Collected :").nth(1)?.trim().parse::<f64>().ok())
    };
    Some((count(30)? - count(10)?) / (20 * RECORDS) as f64)
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [first, mode, runs] = arguments.as_slice()
        && first == "--runs"
    {
        let mut mode = Mode::new(mode);
        (0..runs.parse().expect("a number")).for_each(|_| mode.run());
        return;
    }
    // As in a process that has freed larger memory: malloc returns that of a delivery no more.
    drop(black_box(vec![0_u8; 16 << 20]));
    println!("{:<10}{:>12}{:>16}  sum", "a record", "ns", "instructions");
    for (name, _) in MODES {
        if !arguments.is_empty() && !arguments.iter().any(|argument| argument == name) {
            continue;
        }
        let mut mode = Mode::new(name);
        let (ns, sum) = (mode.nanoseconds(), mode.sum());
        let count = instructions(name).map_or_else(|| "-".into(), |count| format!("{count:.1}"));
        println!("{name:<10}{ns:>12.2}{count:>16}  {sum:016x}");
    }
}
