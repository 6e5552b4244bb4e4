//! `--pprof`, `--speedscope`: stacks instead of records.

use std::io;
use std::time::{Duration, Instant};

use super::exporters::{create, plain};
use super::options::{Options, is_url};
use super::{open, rest};
use crate::exporter::{Exporter, Summary};
use crate::meaning::Service;
use crate::model::Record;
use crate::profile::{Folded, Profile, Push, Stacktraces, folded, pprof, speedscope};
use crate::read::stopped;
use crate::say;
use crate::tree::Tree;

/// Live: the time of a profile, as `pcp apm stacks` has it.
const INTERVAL: Duration = Duration::from_secs(2);
/// Of a profile that is followed, as Pyroscope expects it.
const FOLLOWED: Duration = Duration::from_secs(10);
/// Stacks of trees.
const MOST_STACKS: usize = 1 << 20;

/// Reads stacks and writes them to all places.
pub(super) fn run(options: &Options) -> Result<Summary, String> {
    let mut all = Summary::default();
    if let Some(file) = &options.lines {
        let stacks = folded(open(file)?).map_err(|e| format!("{file}: {e}"))?;
        write(options, &Profile::new(stacks, 0, 0), &mut all)?;
    } else {
        let mut stacks = Stacktraces::open(&options.wanted(), options.service.as_deref())?;
        if options.total || options.archive.is_some() {
            write(options, &stacks.all()?, &mut all)?;
        } else {
            let usual = if options.follow { FOLLOWED } else { INTERVAL };
            let interval = options.interval.unwrap_or(usual);
            let mut away = false;
            loop {
                match stacks.next(interval, stopped) {
                    Ok(profile) => {
                        away = false;
                        write(options, &profile, &mut all)?;
                    }
                    Err(e) if !options.follow => return Err(e),
                    Err(e) => {
                        if !std::mem::replace(&mut away, true) {
                            say(&format!("{e}; waits for pmcd"));
                        }
                        rest(interval);
                        stacks.again();
                    }
                }
                if !options.follow || stopped() {
                    break;
                }
            }
        }
    }
    say(&format!("{} stacks sent, {} rejected", all.sent, all.rejected));
    Ok(all)
}

fn push(options: &Options, to: &str) -> Result<Push, String> {
    Push::new(to, &options.headers, |name| std::env::var(name).ok())
}

/// Checks what can be checked without a receiver.
pub(super) fn check(options: &Options) -> Result<(), String> {
    options.pprof.iter().filter(|to| is_url(to)).try_for_each(|to| push(options, to).map(drop))
}

fn write(options: &Options, profile: &Profile, all: &mut Summary) -> Result<(), String> {
    let number = profile.stacks.len() as u64;
    if number == 0 && !options.follow {
        say(if options.is_profile() {
            "no stacks: the profiles of the agents are off, or nothing has run"
        } else {
            "no stacks: no call that was asked for has a tree"
        });
    }
    for to in &options.pprof {
        if is_url(to) {
            let (sent, refused) = push(options, to)?.send(profile);
            all.sent += sent;
            for (number, why) in refused {
                all.rejected += number;
                say(&why);
            }
        } else {
            // pprof packs it.
            let file = plain(to).map_err(|e| format!("{to}: {e}"))?;
            pprof(profile, file).map_err(|e| format!("{to}: {e}"))?;
            all.sent += number;
        }
    }
    for to in &options.speedscope {
        let file = create(to).map_err(|e| format!("{to}: {e}"))?;
        speedscope(profile, file).map_err(|e| format!("{to}: {e}"))?;
        all.sent += number;
    }
    Ok(())
}

/// Stacks of the trees of calls.
pub(super) struct Trees {
    options: Options,
    stacks: Vec<Folded>,
}

impl Trees {
    pub(super) fn new(options: &Options) -> Self {
        Self { options: options.clone(), stacks: Vec::new() }
    }
}

impl Exporter for Trees {
    fn add(&mut self, record: &Record, _now: Instant) -> io::Result<()> {
        let Some(tree) = Tree::of(record) else { return Ok(()) };
        let source = &record.origin.source;
        let Service { namespace, name } = Service::of(record);
        // As stacks of `pcp apm folded` have it.
        let of_pods = &**source == "profiler" && !namespace.is_empty();
        let service = if of_pods { format!("{namespace}/{name}").into() } else { name };
        self.stacks.extend(tree.stacks().into_iter().map(|(frames, value)| Folded {
            service: service.clone(),
            source: source.clone(),
            frames,
            value,
            sampled: None,
        }));
        if self.stacks.len() > MOST_STACKS {
            return Err(io::Error::other(format!("more than {MOST_STACKS} stacks")));
        }
        Ok(())
    }

    fn tick(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Summary> {
        let (mut all, stacks) = (Summary::default(), std::mem::take(&mut self.stacks));
        write(&self.options, &Profile::new(stacks, 0, 0), &mut all).map_err(io::Error::other)?;
        Ok(all)
    }
}
