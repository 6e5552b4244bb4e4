//! `pcp apm export`: from records to formats.

mod choose;
mod exporters;
mod help;
mod kept;
mod options;
mod profiles;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use self::choose::Choose;
use self::exporters::{Placed, each};
use self::kept::Kept;
use self::options::{Options, Said};
use crate::exporter::Summary;
use crate::meaning::{Item, Pairs};
use crate::model::Record;
use crate::read::{Counters, Lines, LinesError, Pcp, Sampled, Then, stopped};
use crate::say;

/// Between two looks for records.
const INTERVAL: Duration = Duration::from_secs(1);
/// Between two tries of a service to find records.
const LATER: Duration = Duration::from_secs(5);
/// Records of lines that are read before they are taken.
const AHEAD: usize = 256;
/// Between two looks whether a receiver takes more, or the end has come.
const NAP: Duration = Duration::from_millis(50);

/// The program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let options = match Options::parse(arguments, |name| std::env::var(name).ok()) {
        Ok(Said::Run(options)) => options,
        Ok(Said::Help) => return print(help::HELP),
        Ok(Said::Version) => {
            return print(&format!("pmdaapm-export version {}\n", env!("CARGO_PKG_VERSION")));
        }
        Err(e) => return fail(&format!("{e} (pcp apm export --help)"), 2),
    };
    let checked = profiles::check(&options)
        .and_then(|()| if options.is_profile() { Ok(()) } else { exporters::check(&options) });
    if let Err(e) = checked {
        return fail(&e, 2);
    }
    if options.check {
        return ExitCode::SUCCESS;
    }
    pmda::client::at_end(crate::read::end_flag());
    let done = if options.is_profile() {
        profiles::run(&options)
    } else {
        Flow::new(&options).and_then(|flow| flow.run(&options))
    };
    match done {
        Ok(summary) if summary.rejected == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(e) => fail(&e, 1),
    }
}

fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(1),
    }
}

fn fail(text: &str, status: u8) -> ExitCode {
    say(text);
    ExitCode::from(status)
}

/// Records on their way.
struct Flow {
    exporters: Vec<Placed>,
    choose: Choose,
    kept: Option<Kept>,
    pairs: Pairs,
    missed: u64,
    /// Live for longer: spans wait for what belongs to them.
    live: bool,
}

/// Where records come from.
enum From {
    Pcp(Box<Pcp>),
    Lines(Lines<Box<dyn BufRead + Send>>),
}

impl Flow {
    fn new(options: &Options) -> Result<Self, String> {
        let live = options.follow || options.lines.as_deref() == Some("-");
        let waits = options.slowest.is_some() || options.trace.is_some() && !live;
        Ok(Self {
            exporters: Vec::new(),
            choose: Choose::new(options.trace.as_deref(), options.service.as_deref(), options.all),
            kept: waits.then(|| Kept::new(options.slowest)),
            pairs: Pairs::default(),
            missed: 0,
            live,
        })
    }

    fn run(mut self, options: &Options) -> Result<Summary, String> {
        let from = From::wait(options)?;
        let shift = if options.shift { now() - from.newest(options)? } else { 0 };
        self.exporters = exporters::exporters(options, shift)?;
        let read = match from {
            From::Pcp(mut pcp) => self.pcp(&mut pcp, options),
            From::Lines(lines) => self.lines(lines),
        };
        // What was read until then goes out.
        let summary = self.finish();
        read?;
        summary
    }

    fn pcp(&mut self, pcp: &mut Pcp, options: &Options) -> Result<(), String> {
        let interval = options.interval.unwrap_or(INTERVAL);
        let mut counters = match options.counters.as_slice() {
            [] => None,
            names => Some(Counters::open(&options.wanted(), names)?),
        };
        if let (Some(counters), Some(_)) = (&mut counters, &options.archive) {
            self.counters(|emit| counters.read(emit))?;
        }
        while !stopped() {
            // While a receiver is slow nothing is fetched: the PMDA has the memory, and counts what it cannot keep.
            self.ready()?;
            let looked = pcp.look()?;
            let at = Instant::now();
            for record in looked.records {
                self.add(record, at)?;
            }
            if let (Some(counters), None) = (&mut counters, &options.archive) {
                self.counters(|emit| {
                    counters.look(interval, emit);
                    Ok(())
                })?;
            }
            if self.live {
                self.tick()?;
            }
            match looked.then {
                Then::End => break,
                Then::Wait if !options.follow => break,
                Then::Wait => rest(interval),
                Then::More(pause) => rest(pause),
            }
        }
        Ok(())
    }

    /// Gives values of metrics to all exporters.
    fn counters(
        &mut self,
        read: impl FnOnce(&mut dyn FnMut(&Sampled<'_>)) -> Result<(), String>,
    ) -> Result<(), String> {
        let (exporters, mut failed) = (&mut self.exporters, Ok(()));
        read(&mut |value| {
            each(exporters, &mut failed, |_, exporter| exporter.counter(value));
        })?;
        failed
    }

    /// Lines may be those of somebody who follows: what has come goes out also while no more comes.
    fn lines(
        &mut self,
        lines: impl Iterator<Item = Result<Record, LinesError>> + Send + 'static,
    ) -> Result<(), String> {
        let (ahead, records) = sync_channel(AHEAD);
        let read = move || lines.map(|record| ahead.send(record)).find(Result::is_err);
        std::thread::Builder::new().name("lines".into()).spawn(read).map_err(|e| e.to_string())?;
        let mut ticked = Instant::now();
        while !stopped() {
            self.ready()?;
            match records.recv_timeout(NAP) {
                Ok(record) => self.add(record.map_err(|e| e.to_string())?, Instant::now())?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.live && ticked.elapsed() >= INTERVAL {
                self.tick()?;
                ticked = Instant::now();
            }
        }
        Ok(())
    }

    fn add(&mut self, record: Record, at: Instant) -> Result<(), String> {
        self.missed += record.missed;
        if !self.choose.takes(&record) {
            return Ok(());
        }
        match &mut self.kept {
            Some(kept) => kept.add(record).map_or(Ok(()), |record| self.put(record, at)),
            None => self.put(record, at),
        }
    }

    fn put(&mut self, record: Record, at: Instant) -> Result<(), String> {
        let Self { exporters, pairs, .. } = self;
        let mut failed = Ok(());
        pairs.add(record, &mut |record| {
            each(exporters, &mut failed, |_, exporter| exporter.add(&record, at))
        });
        failed
    }

    /// Waits until all receivers take more.
    fn ready(&mut self) -> Result<(), String> {
        while !self.exporters.iter().all(|(_, exporter)| exporter.is_ready()) && !stopped() {
            if self.live {
                self.tick()?;
            }
            std::thread::sleep(NAP);
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<(), String> {
        let (now, mut failed) = (Instant::now(), Ok(()));
        each(&mut self.exporters, &mut failed, |_, exporter| exporter.tick(now));
        failed
    }

    fn finish(&mut self) -> Result<Summary, String> {
        let at = Instant::now();
        let mut waited = self.kept.take().map(Kept::finish).into_iter().flatten();
        let mut failed = waited.try_for_each(|record| self.put(record, at));
        let Self { exporters, pairs, .. } = self;
        pairs.finish(&mut |record| {
            each(exporters, &mut failed, |_, exporter| exporter.add(&record, at))
        });
        let (mut all, missed) = (Summary::default(), self.missed);
        each(exporters, &mut failed, |place, exporter| {
            let one = exporter.finish()?;
            let Summary { sent, rejected } = one;
            say(&format!("{place}: {sent} sent, {rejected} rejected; {missed} records missed"));
            all += one;
            Ok(())
        });
        failed.map(|()| all)
    }
}

/// Sleeps, but not over the end.
fn rest(time: Duration) {
    let until = Instant::now() + time;
    while !stopped() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(NAP));
    }
}

/// ns since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

impl From {
    /// A service waits until there is something to read: pmcd may start later.
    fn wait(options: &Options) -> Result<Self, String> {
        let mut told = String::new();
        loop {
            match Self::open(options) {
                Err(e) if options.is_service() && !stopped() => {
                    if e != told {
                        say(&format!("{e}, waits"));
                        told = e;
                    }
                    rest(LATER);
                }
                opened => return opened,
            }
        }
    }

    fn open(options: &Options) -> Result<Self, String> {
        if let Some(file) = &options.lines {
            return Ok(Self::Lines(Lines::new(open(file)?, "localhost")));
        }
        let pcp = Pcp::open(&options.wanted(), &options.kinds, options.filter.as_deref())?;
        Ok(Self::Pcp(Box::new(pcp)))
    }

    /// The newest time of what is read, in ns since 1970.
    fn newest(&self, options: &Options) -> Result<i64, String> {
        match self {
            Self::Pcp(pcp) => Ok(pcp.end()),
            Self::Lines(_) => {
                let file = options.lines.as_deref().unwrap_or("-");
                let mut newest = 0;
                for record in Lines::new(open(file)?, "localhost") {
                    newest = newest.max(Item::new(&record.map_err(|e| e.to_string())?).end());
                }
                Ok(newest)
            }
        }
    }
}

fn open(file: &str) -> Result<Box<dyn BufRead + Send>, String> {
    if file == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let opened = File::open(file).map_err(|e| format!("{file}: {e}"))?;
    Ok(Box::new(BufReader::new(opened)))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Sender;

    use super::*;
    use crate::exporter::Exporter;

    /// Says when it is told to write what has waited.
    struct Told(Sender<()>, bool);

    impl Exporter for Told {
        fn add(&mut self, _: &Record, _: Instant) -> io::Result<()> {
            self.1 = true;
            Ok(())
        }

        fn tick(&mut self, _: Instant) -> io::Result<()> {
            if self.1 {
                let _ = self.0.send(());
            }
            Ok(())
        }

        fn finish(&mut self) -> io::Result<Summary> {
            Ok(Summary::default())
        }
    }

    #[test]
    fn what_lines_had_goes_out_while_no_more_come() {
        let options = Options { lines: Some("-".into()), ..Options::default() };
        let mut flow = Flow::new(&options).expect("a flow");
        let (told, tells) = std::sync::mpsc::channel();
        flow.exporters.push(("a".into(), Box::new(Told(told, false))));
        let line = r#"{"time":"2026-11-23T16:50:13Z","source":"jvm","kind":"gc","instance":"a"}"#;
        let mut first = Lines::new(line.as_bytes(), "here").next();
        // The second line comes when the first has gone out; else never.
        let second = std::iter::from_fn(move || {
            let next = first.take();
            if next.is_none() {
                tells.recv_timeout(Duration::from_secs(20)).expect("the first has gone out");
            }
            next
        });
        let (ended, ends) = std::sync::mpsc::channel();
        let whole = second.chain(std::iter::from_fn(move || {
            let _ = ended.send(());
            None
        }));
        flow.lines(whole).expect("sound");
        assert_eq!(ends.try_recv(), Ok(()));
    }
}
