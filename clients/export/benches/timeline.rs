//! A million event records of LTTng as a trace of Perfetto: reading of lines, pairs of starts and ends, writing.
//!
//! `cargo bench -p pmdaapm-export --bench timeline` prints the time, the size of the file and the most memory
//! that the process had.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::time::{Duration, Instant};

use export::exporter::Exporter;
use export::meaning::Pairs;
use export::perfetto::Perfetto;
use export::read::Lines;
use export::timeline::Timeline;

/// Makes lines while they are read.
struct Source {
    left: u64,
    paired: bool,
    line: String,
    at: usize,
}

const RECORDS: u64 = 1_000_000;

impl Source {
    fn next(&mut self) {
        self.line.clear();
        self.at = 0;
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let number = RECORDS - self.left;
        let (second, nanos) = (number / 100_000, number % 100_000 * 10_000);
        let (event, flag) = match (self.paired, number / 4 % 2) {
            (false, _) => ("apm:levels", "point"),
            (true, 0) => ("apm:work_begin", "start"),
            (true, _) => ("apm:work_end", "end"),
        };
        let thread = 22_142 + number % 4;
        let _ = writeln!(
            self.line,
            "{{\"time\": \"2026-11-23T16:50:{second:02}.{nanos:09}Z\", \"source\": \"lttng\", \
             \"kind\": \"record\", \"instance\": \"host/auto-20261123-165000\", \"flags\": [\"{flag}\"], \
             \"parameters\": {{\"event\": \"{event}\", \"cpu\": {}, \"stream\": \"main_{}\", \
             \"ctx.vpid\": 22142, \"ctx.vtid\": {thread}, \"ctx.procname\": \"lttng_app\", \
             \"apm.levels.level\": {}, \"apm.levels.level_label\": \"none\", \
             \"apm.levels.number\": {number}}}}}",
            number % 2,
            number % 2,
            number % 7
        );
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            self.next();
        }
        let rest = self.line.as_bytes().get(self.at..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), rest.get(..length)) {
            to.copy_from_slice(from);
        }
        self.at += length;
        Ok(length)
    }
}

fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default().to_owned()
}

fn run(name: &str, paired: bool) -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("apm-timeline-{}.pftrace", std::process::id()));
    // The making of the lines is no part of it.
    let mut source = Source { left: RECORDS, paired, line: String::new(), at: 0 };
    let start = Instant::now();
    io::copy(&mut source, &mut io::sink())?;
    let making = start.elapsed();

    let source = Source { left: RECORDS, paired, line: String::new(), at: 0 };
    let mut trace = Timeline::new(Perfetto::new(BufWriter::new(File::create(&path)?)));
    let mut pairs = Pairs::default();
    let start = Instant::now();
    let mut failed = None;
    for record in Lines::new(BufReader::with_capacity(64 << 10, source), "host") {
        pairs.add(record?, &mut |record| {
            failed = failed.take().or(trace.add(&record, start).err());
        });
    }
    pairs.finish(&mut |record| failed = failed.take().or(trace.add(&record, start).err()));
    if let Some(failed) = failed {
        return Err(failed.into());
    }
    let summary = trace.finish()?;
    let took = start.elapsed().saturating_sub(making);
    let size = std::fs::metadata(&path)?.len();
    std::fs::remove_file(&path)?;
    println!(
        "{name}: {RECORDS} records, {} slices and instants, in {:.2} s ({} ns each), {size} bytes, {}",
        summary.sent,
        took.as_secs_f64(),
        took.as_nanos() / u128::from(RECORDS),
        most_memory()
    );
    if took > Duration::from_secs(10) {
        return Err("a million records take more than 10 s".into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run("instants", false)?;
    run("pairs", true)
}
