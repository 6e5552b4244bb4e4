//! `--pprof`, `--speedscope`: stacks instead of records.

use std::time::Duration;

use super::options::{Options, is_url};
use super::sinks::{create, plain};
use super::{open, rest};
use crate::profile::{Profile, Push, Stacktraces, folded, pprof, speedscope};
use crate::read::stopped;
use crate::say;
use crate::sink::Summary;

/// Live: the time of a profile, as `pcp apm stacks` has it.
const INTERVAL: Duration = Duration::from_secs(2);
/// Of a profile that is followed, as Pyroscope expects it.
const FOLLOWED: Duration = Duration::from_secs(10);

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
        say("no stacks: the profiles of the agents are off, or nothing has run");
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
